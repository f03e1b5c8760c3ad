//! The machine code of the backward's main kernel for SM90 in every configuration that the heuristics choose:
//! no local memory, no product that ptxas serializes, the instructions that the sizes say, and a census held
//! by a snapshot. Needs ptxas and nvdisasm, no GPU.

mod long_problem;

use expect_test::expect_file;
use fa2_cubecl::offline::backward::{BwdKernel, compile};
use fa2_cubecl::offline::sm90::SM;
use fa2_cubecl::{
    Alignment, BwdConfig, BwdPlan, Dtype, Gpu, LseGradient, Mask, QuerySums, choose_backward_sm90,
};
use fa2_testing::census::{self, Census, Counts};
use long_problem::problem;
use rayon::prelude::*;
use std::path::Path;

/// Head sizes with kernels of their own: 96 columns go to those of 128.
const HEAD_DIMS: [u32; 5] = [32, 64, 128, 192, 256];

/// What the heuristics choose, over head sizes, masks and ways to sum dQ. bf16 differs from f16 in the names of
/// instructions, padded columns from exact ones in the epilogue: both are built once for each size.
fn grid() -> Vec<BwdPlan> {
    let mut plans = Vec::new();
    for head_dim in HEAD_DIMS {
        for mask in [Mask::None, Mask::Causal(Alignment::BottomRight)] {
            let mut kinds = vec![
                (Dtype::F16, head_dim, QuerySums::Atomic),
                (Dtype::F16, head_dim, QuerySums::Ordered),
                (Dtype::F16, head_dim, QuerySums::Owned),
            ];
            if mask == Mask::None {
                kinds.extend([
                    (Dtype::Bf16, head_dim, QuerySums::Atomic),
                    (Dtype::F16, head_dim - 8, QuerySums::Atomic),
                ]);
            }
            for (dtype, columns, sums) in kinds {
                let problem = problem(dtype, columns, mask);
                let plan = choose_backward_sm90(&problem, Gpu::of_capability(SM), sums);
                plans.push(plan.expect("a plan for every size"));
            }
        }
    }
    plans
}

fn assemble(kernel: BwdKernel, plan: &BwdPlan) -> Result<Census, String> {
    let ptx = compile(kernel, plan, SM)?;
    if kernel == BwdKernel::KeysSm90 {
        assert_eq!(ptx.shared_bytes as u32, plan.config.shared_bytes());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("backward_sm90_codegen");
    let name = format!("{kernel:?}_{}", plan.config).replace([' ', '=', '(', ')', ','], "_");
    census::assemble(&ptx.text, SM, &folder, &name)
}

/// The code of `kernel`, without local memory and complaints of ptxas.
fn clean(kernel: BwdKernel, plan: &BwdPlan) -> Census {
    let config = plan.config;
    let census =
        assemble(kernel, plan).unwrap_or_else(|error| panic!("{kernel:?} {config}: {error}"));
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
        "{kernel:?} {config}"
    );
    census
}

/// The loops over blocks of queries: those that multiply, the shortest first. Warpgroups that share keys have
/// one each.
fn main_loops(census: &Census) -> Vec<&Counts> {
    let multiplies = |counts: &&Counts| Census::count(counts, "HGMMA") > 0;
    let mut loops: Vec<&Counts> = census.loops.iter().filter(multiplies).collect();
    loops.sort_by_key(|counts| counts.values().sum::<usize>());
    loops
}

#[test]
fn main_kernel_has_no_local_memory_and_the_census_holds() {
    let plans = grid();
    let censuses: Vec<Census> = plans
        .par_iter()
        .map(|plan| clean(BwdKernel::KeysSm90, plan))
        .collect();
    let mut table = String::from(
        "Instructions of the whole kernel; then of the loop over blocks of queries.\n\
         regs | UTMALDG UBLKCP SYNCS BAR all | HGMMA R2UR MUFU LDS STSM RED UBLKRED BAR all | configuration\n",
    );
    for (plan, census) in plans.iter().zip(&censuses) {
        let loops = main_loops(census);
        let expected = if plan.config.shares_keys() { 2 } else { 1 };
        assert_eq!(loops.len(), expected, "{}", plan.config);
        for counts in &loops {
            assert_derived(&plan.config, counts);
        }
        // A count is set behind a fence of all that came before; there is nothing else to fence for other cubes.
        let fences = Census::count(&census.kernel, "MEMBAR.ALL.GPU");
        let is_ordered = plan.config.query_sums() == QuerySums::Ordered;
        assert_eq!(fences > 0, is_ordered, "{}: {fences} fences", plan.config);
        let [k, l] =
            [&census.kernel, loops[0]].map(|counts| move |name| Census::count(counts, name));
        table += &format!(
            "{:4} | {:7} {:6} {:5} {:3} {:4} | {:5} {:4} {:4} {:3} {:4} {:3} {:7} {:3} {:3} | {}\n",
            census.registers,
            k("UTMALDG"),
            k("UBLKCP"),
            k("SYNCS"),
            k("BAR"),
            census.kernel.values().sum::<usize>(),
            l("HGMMA"),
            l("R2UR"),
            l("MUFU"),
            l("LDS."),
            l("STSM"),
            l("RED"),
            l("UBLKRED"),
            l("BAR"),
            loops[0].values().sum::<usize>(),
            plan.config,
        );
    }
    println!("{table}");
    expect_file!["./backward_sm90_codegen.txt"].assert_eq(&table);
}

/// What the sizes alone say of a step.
fn assert_derived(config: &BwdConfig, counts: &Counts) {
    let (block_m, block_n, head_dim) = (config.block_m(), config.block_n(), config.head_dim());
    let has_dq = config.query_sums().in_memory();
    let of_dq = |count: u32| if has_dq { count } else { 0 };
    let shares = config.shares_keys();
    // Of two warpgroups that share keys each has a block of queries, and 64 columns of its dQ at once.
    let (threads, dq_parts) = match shares {
        true => (config.threads() / 2, head_dim / 64),
        false => (config.threads(), 1),
    };
    let fours = block_m * head_dim / threads / 4;
    // The copy engine adds a warp's sums: those that lie in dS's tile by its atoms, 16 rows of 128 bytes each.
    let in_bulk = config.query_sums() == QuerySums::Atomic && !shares;
    let is_in_ds = 4 * head_dim <= 2 * block_n;
    let warp_bytes = 4 * block_m * head_dim / (threads / 32);
    let parts = if is_in_ds {
        warp_bytes.div_ceil(16 * 128)
    } else {
        1
    };
    for (name, expected, why) in [
        (
            "HGMMA",
            (2 * head_dim + 2 * block_m + of_dq(dq_parts * block_n)) / 16,
            "16 of depth each: S and dP over columns, dV and dK over queries, dQ over keys",
        ),
        (
            "STSM",
            match shares {
                true => 2 * block_n / 16,
                false => of_dq(block_m / 16),
            },
            "dS of 16 queries each; or P and dS of 16 keys",
        ),
        (
            "RED",
            if in_bulk { 0 } else { of_dq(fours) },
            "four sums of a lane each",
        ),
        (
            "STS.128",
            if in_bulk { fours } else { 0 },
            "four sums of a lane each, for the copy engine",
        ),
        (
            "UBLKRED",
            if in_bulk { parts } else { 0 },
            "a warp's sums, or as many as lie together in a tile of dS",
        ),
        (
            "BAR",
            if shares { 4 } else { 1 },
            "one barrier of the computing threads; or two for each of P and dS",
        ),
    ] {
        let found = Census::count(counts, name);
        assert_eq!(found, expected as usize, "{config}: {name}, {why}");
    }
    let exponentials = Census::count(counts, "MUFU");
    assert_eq!(exponentials as u32, block_m / 2, "{config}: one a score");
}

#[test]
fn kernels_around_the_main_one_are_clean() {
    grid().par_iter().for_each(|plan| {
        let others = [BwdKernel::Queries, BwdKernel::KeysSm90];
        let kernels = BwdKernel::of(plan, LseGradient::Given).into_iter();
        for kernel in kernels.filter(|kernel| !others.contains(kernel)) {
            clean(kernel, plan);
        }
    });
}
