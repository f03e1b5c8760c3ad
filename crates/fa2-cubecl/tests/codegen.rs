//! The machine code of every configuration that the heuristics choose: no spills, no local memory,
//! and a census of its instructions, held by a snapshot. Needs ptxas and nvdisasm, no GPU.

mod long_problem;

use expect_test::expect_file;
use fa2_cubecl::{
    Alignment, Dtype, FwdConfig, Gpu, HEAD_DIMS, Mask, MaskKind, Tile, choose, offline,
};
use fa2_testing::census::{self, Census, Counts};
use long_problem::problem;
use rayon::prelude::*;
use std::path::Path;

/// An A100, an RTX 40 and an H100: compute capability, shared memory of a cube.
const GPUS: [Gpu; 3] = [
    Gpu {
        sm: 80,
        shared_bytes: 163 * 1024,
    },
    Gpu {
        sm: 89,
        shared_bytes: 99 * 1024,
    },
    Gpu {
        sm: 90,
        shared_bytes: 227 * 1024,
    },
];

/// A configuration on a GPU.
#[derive(Clone, Copy)]
struct Build {
    config: FwdConfig,
    sm: u32,
}

impl Build {
    fn census(&self) -> Census {
        let ptx = offline::compile(self.config, self.sm)
            .unwrap_or_else(|error| panic!("{}, sm_{}: {error}", self.config, self.sm));
        assert_eq!(
            ptx.shared_bytes as u32,
            self.config.shared_bytes(),
            "{}",
            self.config
        );
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen");
        let name = format!("sm{}_{}", self.sm, self.config).replace([' ', '='], "_");
        census::assemble(&ptx.text, self.sm, &folder, &name)
            .unwrap_or_else(|error| panic!("{}, sm_{}: {error}", self.config, self.sm))
    }
}

/// Bytes that a head size's kernels may spill, loads and stores counted apart.
///
/// Measured faster so than without, on an H200 at D = 128, S = 4096, no mask: 396 TFLOP/s with 28
/// bytes stored and 44 loaded, 358 for the softmax that moves its base with every block, and 395 for
/// 128 x 48 tiles, which spill nothing (docs/perf/forward.md). The kernel for padded columns
/// under a causal mask at D = 64 (48 bytes on sm_90) was not measured apart.
const ALLOWED_SPILLS: [(u32, usize); 2] = [(64, 48), (128, 44)];

/// What the heuristics choose for long sequences, over all head sizes and masks. bf16 differs from
/// f16 in the names of instructions, padded columns from exact ones in the copies: both are built
/// for the two head sizes that use all registers.
fn grid() -> Vec<Build> {
    let mut builds = Vec::new();
    for gpu in GPUS {
        for head_dim in HEAD_DIMS {
            for mask in [Mask::None, Mask::Causal(Alignment::BottomRight)] {
                let mut kinds = vec![(Dtype::F16, head_dim)];
                if ALLOWED_SPILLS.iter().any(|(tight, _)| *tight == head_dim) {
                    kinds.extend([(Dtype::Bf16, head_dim), (Dtype::F16, head_dim - 8)]);
                }
                for (dtype, columns) in kinds {
                    let plan =
                        choose(&problem(dtype, columns, mask), gpu).expect("a plan for every size");
                    builds.push(Build {
                        config: plan.config,
                        sm: gpu.sm,
                    });
                }
            }
        }
    }
    builds
}

#[test]
fn spills_are_none_or_measured_and_the_census_holds() {
    let builds = grid();
    let rows: Vec<(Build, Census)> = builds.par_iter().map(|b| (*b, b.census())).collect();
    let mut table = String::from(
        "Instructions of the whole kernel; then of the loop over full blocks.\n\
         sm   regs spills | HMMA LDSM (.T) LDGSTS SHFL BAR | HMMA LDSM (.T) SHFL MUFU all | configuration\n",
    );
    let mut spilling = Vec::new();
    for (build, census) in &rows {
        let Build { config, sm } = build;
        let allowed = ALLOWED_SPILLS
            .iter()
            .find(|(dim, _)| *dim == config.head_dim());
        let allowed = allowed.map_or(0, |(_, bytes)| *bytes);
        if census
            .spill_stores
            .max(census.spill_loads)
            .max(census.stack)
            > allowed
        {
            spilling.push(format!(
                "sm_{sm} {config}: stack {} B, spill stores {} B, spill loads {} B",
                census.stack, census.spill_stores, census.spill_loads
            ));
        }
        let full = full_loop(census);
        let k = |name| Census::count(&census.kernel, name);
        let l = |name| Census::count(full, name);
        table += &format!(
            "{sm:2} {:6} {:6} | {:4} {:4} {:4} {:6} {:4} {:3} | {:4} {:4} {:4} {:4} {:4} {:4} | {config}\n",
            census.registers,
            census.spill_stores.max(census.spill_loads),
            k("HMMA"),
            k("LDSM"),
            transposed(&census.kernel),
            k("LDGSTS"),
            k("SHFL"),
            k("BAR"),
            l("HMMA"),
            l("LDSM"),
            transposed(full),
            l("SHFL"),
            l("MUFU"),
            full.values().sum::<usize>(),
        );
    }
    println!("{table}");
    assert!(
        spilling.is_empty(),
        "local memory:\n{}",
        spilling.join("\n")
    );
    expect_file!["./codegen.txt"].assert_eq(&table);
}

/// The loop over full blocks: the last in the code, and the shortest.
fn full_loop(census: &Census) -> &Counts {
    census
        .loops
        .iter()
        .min_by_key(|counts| counts.values().sum::<usize>())
        .expect("the kernel has loops")
}

fn transposed(counts: &Counts) -> usize {
    Census::count_with(counts, "LDSM", ".MT")
}

/// Claims L7, L8, K3, K4, E1, V2 and V3 on the article's own configuration.
#[test]
fn article_configuration_has_the_derived_instruction_counts() {
    for stages in [2, 3] {
        let tile = Tile {
            block_m: 64,
            block_n: 64,
            warps: 4,
            stages,
        };
        let config = FwdConfig::new(Dtype::F16, 64, MaskKind::None, tile).unwrap();
        let census = Build { config, sm: 80 }.census();
        let full = full_loop(&census);
        let count = |name| Census::count(full, name);
        // S: R_M R_N R_K = 1 x 8 x 4 products, O as many.
        assert_eq!(count("HMMA"), 32 + 32);
        // ldmatrix.x4: Q 4, K 16, V 16, the last of them transposing.
        assert_eq!(count("LDSM"), 4 + 16 + 16);
        assert_eq!(transposed(full), 16);
        // 512 vectors of 16 bytes over 128 threads, for K and for V.
        assert_eq!(count("LDGSTS"), 4 + 4);
        // Two rows, two exchanges each for the maximum; none for P, and l is summed after the loop.
        assert_eq!(count("SHFL"), 2 * 2);
        assert_eq!(
            Census::count(&census.kernel, "LDL") + Census::count(&census.kernel, "STL"),
            0
        );
        // P goes from C to A without shared memory: nothing in the loop stores there.
        assert_eq!(count("STS") + count("LDS."), 0);
        // O leaves in 16-byte stores: 4 a thread.
        assert_eq!(Census::count_with(&census.kernel, "STG", ".128"), 4);
        assert_eq!(
            (census.stack, census.spill_stores, census.spill_loads),
            (0, 0, 0)
        );
    }
}
