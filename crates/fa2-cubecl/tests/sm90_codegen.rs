//! The machine code of the kernels for SM90 in every configuration that the heuristics choose: no local
//! memory, no product that ptxas serializes, the instructions that the sizes say, and a census held by a
//! snapshot. Needs ptxas and nvdisasm, no GPU.

mod long_problem;

use expect_test::expect_file;
use fa2_cubecl::offline::sm90::{SM, compile, compile_maps};
use fa2_cubecl::{
    Alignment, Dtype, FwdSm90Config, HEAD_DIMS, Mask, MaskKind, choose_sm90, offline::Ptx,
};
use fa2_testing::census::{self, Census, Counts};
use long_problem::problem;
use rayon::prelude::*;
use std::path::Path;

/// The head sizes that use all registers: with three warpgroups, and with two.
const TIGHT: [u32; 2] = [64, 128];

/// What the heuristics choose, over all head sizes and masks. bf16 differs from f16 in the names of
/// instructions, padded columns from exact ones in the epilogue: both are built for the tight sizes, without
/// a mask.
fn grid() -> Vec<FwdSm90Config> {
    let mut configs = Vec::new();
    for head_dim in HEAD_DIMS {
        for mask in [Mask::None, Mask::Causal(Alignment::BottomRight)] {
            let mut kinds = vec![(Dtype::F16, head_dim)];
            if TIGHT.contains(&head_dim) && mask == Mask::None {
                kinds.extend([(Dtype::Bf16, head_dim), (Dtype::F16, head_dim - 8)]);
            }
            for (dtype, columns) in kinds {
                let problem = problem(dtype, columns, mask);
                let plan = choose_sm90(&problem).expect("a plan for every size");
                configs.push(plan.config);
            }
        }
    }
    configs
}

/// Assembles `ptx` as `kernel` of `config`.
fn assemble(ptx: &Ptx, kernel: &str, config: &FwdSm90Config) -> Result<Census, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sm90_codegen");
    let name = format!("{kernel}_{config}").replace([' ', '='], "_");
    census::assemble(&ptx.text, SM, &folder, &name)
}

fn census(kernel: &str, config: &FwdSm90Config, compiled: Result<Ptx, String>) -> Census {
    compiled
        .and_then(|ptx| assemble(&ptx, kernel, config))
        .unwrap_or_else(|error| panic!("{kernel} {config}: {error}"))
}

/// No local memory and no complaint of ptxas.
fn assert_clean(kernel: &str, config: &FwdSm90Config, census: &Census) {
    let local = Census::count(&census.kernel, "LDL") + Census::count(&census.kernel, "STL");
    assert_eq!(
        (
            local,
            census.stack,
            census.spill_stores,
            census.spill_loads,
            census.warnings.as_slice()
        ),
        (0, 0, 0, 0, [].as_slice()),
        "{kernel} {config}"
    );
}

/// The loop over full blocks: the shortest that multiplies.
fn full_loop(census: &Census) -> &Counts {
    census
        .loops
        .iter()
        .min_by_key(|counts| counts.values().sum::<usize>())
        .expect("the kernel has loops")
}

#[test]
fn forward_has_no_local_memory_and_the_census_holds() {
    let configs = grid();
    let censuses: Vec<Census> = configs
        .par_iter()
        .map(|config| census("forward", config, compile(*config)))
        .collect();
    let mut table = String::from(
        "Instructions of the whole kernel; then of the loop over full blocks.\n\
         regs | HGMMA UTMALDG SYNCS BAR SHFL STG.128 all | HGMMA SYNCS R2UR SHFL MUFU all | configuration\n",
    );
    for (config, census) in configs.iter().zip(&censuses) {
        assert_clean("forward", config, census);
        assert_derived(config, census);
        let (kernel, full) = (&census.kernel, full_loop(census));
        let [k, l] = [kernel, full].map(|counts| move |name| Census::count(counts, name));
        table += &format!(
            "{:4} | {:5} {:7} {:5} {:3} {:4} {:7} {:3} | {:5} {:5} {:4} {:4} {:4} {:3} | {config}\n",
            census.registers,
            k("HGMMA"),
            k("UTMALDG"),
            k("SYNCS"),
            k("BAR"),
            k("SHFL"),
            Census::count_with(kernel, "STG", ".128"),
            kernel.values().sum::<usize>(),
            l("HGMMA"),
            l("SYNCS"),
            l("R2UR"),
            l("SHFL"),
            l("MUFU"),
            full.values().sum::<usize>(),
        );
    }
    println!("{table}");
    expect_file!["./sm90_codegen.txt"].assert_eq(&table);
}

/// What the sizes alone say.
fn assert_derived(config: &FwdSm90Config, census: &Census) {
    let (kernel, full) = (&census.kernel, full_loop(census));
    let is = |counts, name, expected: u32, why| {
        let found = Census::count(counts, name);
        assert_eq!(found, expected as usize, "{config}: {name}, {why}");
    };
    // A product takes 16 of depth: S sums over columns, O over keys.
    let (of_s, of_o) = (config.head_dim() / 16, config.block_n() / 16);
    is(full, "HGMMA", of_s + of_o, "S of a block, O of the last");
    // S of the first block, O of the last; between them one loop, or two under a causal mask.
    let loops = 1 + u32::from(config.mask() == MaskKind::Causal);
    let all = (1 + loops) * (of_s + of_o);
    is(kernel, "HGMMA", all, "of the whole kernel");
    // A box has as many columns as the swizzle permutes.
    let box_columns = config.kv_tile().atom_cols() as u32;
    let boxes = (config.head_dim() / box_columns) as usize;
    let copies = Census::count(kernel, "UTMALDG");
    // Q's once; K's and V's as often as the loop over them was unrolled.
    assert!(
        copies >= 3 * boxes && copies % (2 * boxes) == boxes,
        "{config}: {copies} copies"
    );
    is(kernel, "UTMACCTL", 3, "each map is acquired");
    // Two rows a thread, two exchanges each for the maximum.
    is(full, "SHFL", 2 * 2, "the maxima");
    // The first block and the loops; the sums of the rows; a word of O for each pair of columns. More
    // would be copies on both sides of a branch, in which lanes wait for each other in vain.
    let exchanges = 2 * 2 * (2 + loops) + config.head_dim() / 4;
    is(kernel, "SHFL", exchanges, "lanes meet in one place");
    is(
        kernel,
        "STG.E.128",
        config.head_dim() / 16,
        "O leaves by 16 bytes",
    );
    for other in ["HMMA", "LDSM", "LDGSTS", "LDS.", "STS"] {
        is(full, other, 0, "operands stay in shared memory");
    }
}

#[test]
fn maps_are_made_without_local_memory_and_the_census_holds() {
    // Rows of 64 and of 128 bytes; other sizes differ in constants.
    let configs = [32, 64].map(|head_dim| {
        let problem = problem(Dtype::F16, head_dim, Mask::None);
        choose_sm90(&problem).expect("a plan for every size").config
    });
    let mut table = String::from("regs | LDC STS LDS ATOMG all | configuration\n");
    for config in configs {
        let ptx = compile_maps(config).unwrap_or_else(|error| panic!("{config}: {error}"));
        let census = census("maps", &config, Ok(ptx.clone()));
        assert_clean("maps", &config, &census);
        let k = |name| Census::count(&census.kernel, name);
        // Behind a branch on the lane there would be more: all lanes must meet in one place.
        let published = ptx.text.matches("tensormap.cp_fenceproxy").count();
        assert_eq!(published, 3, "{config}: each map is published once");
        table += &format!(
            "{:4} | {:3} {:3} {:3} {:5} {:3} | {config}\n",
            census.registers,
            k("LDC"),
            k("STS"),
            k("LDS"),
            k("ATOMG"),
            census.kernel.values().sum::<usize>(),
        );
    }
    println!("{table}");
    expect_file!["./sm90_maps_codegen.txt"].assert_eq(&table);
}

/// Before CUDA 12.5 assemblers count the strides of a map otherwise, and CubeCL emits the PTX version of the
/// driver's assembler, 8.4 at most there. Such a kernel must not assemble.
#[test]
fn an_assembler_of_old_ptx_refuses_the_forward() {
    let config = grid()[0];
    let ptx = compile(config).expect("the first configuration compiles");
    assert!(ptx.text.contains("\n.version 9.0\n"));
    let old = |version: &str| Ptx {
        text: ptx
            .text
            .replace(".version 9.0", &format!(".version {version}")),
        ..ptx.clone()
    };
    let refused = assemble(&old("8.4"), "old", &config).expect_err("8.4 is too old");
    assert!(refused.contains("8.6 or later"), "{refused}");
    assert!(assemble(&old("8.6"), "old", &config).is_ok());
}
