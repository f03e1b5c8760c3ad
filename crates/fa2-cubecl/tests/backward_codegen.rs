//! The machine code of every backward configuration that the heuristics choose: no more spills than
//! allowed, and a census of its instructions, held by a snapshot. Needs ptxas and nvdisasm, no GPU.

mod long_problem;

use expect_test::expect_file;
use fa2_cubecl::offline::backward::{BwdKernel, compile};
use fa2_cubecl::{
    Alignment, BwdPlan, Dtype, Gpu, HEAD_DIMS, LseGradient, Mask, QuerySums, choose_backward,
};
use fa2_testing::census::{self, Census, Counts};
use long_problem::problem;
use rayon::prelude::*;
use std::path::Path;

/// Bytes of local memory that a kernel may have, the largest of stack, spill stores and spill loads.
///
/// At D = 64 and 128 the main kernel needs every register. What it spills there is loop-invariant parts of
/// addresses, read once for a block of queries; smaller tiles would read Q and dO from shared memory more
/// often.
const ALLOWED_SPILL: usize = 48;

/// An A100, an RTX 40 and an H100.
const CAPABILITIES: [u32; 3] = [80, 89, 90];

/// A kernel on a GPU.
#[derive(Clone, Copy)]
struct Build {
    kernel: BwdKernel,
    plan: BwdPlan,
    sm: u32,
}

impl Build {
    fn census(&self) -> Census {
        let Self { kernel, plan, sm } = *self;
        let config = self.name();
        let ptx =
            compile(kernel, &plan, sm).unwrap_or_else(|error| panic!("{config}, sm_{sm}: {error}"));
        if kernel == BwdKernel::Keys {
            assert_eq!(ptx.shared_bytes as u32, plan.config.shared_bytes());
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen");
        let name = format!("sm{sm}_{config}").replace([' ', '=', '(', ')', ','], "_");
        census::assemble(&ptx.text, sm, &folder, &name)
            .unwrap_or_else(|error| panic!("{config}, sm_{sm}: {error}"))
    }

    fn name(&self) -> String {
        match (self.kernel, self.plan.queries) {
            (BwdKernel::Queries, Some(pass)) => format!("Queries, {}", pass.config),
            (kernel, _) => format!("{kernel:?}, {}", self.plan.config),
        }
    }
}

/// Every head size and mask; padded columns and bf16 once.
fn grid() -> Vec<Build> {
    let mut builds = Vec::new();
    let causal = Mask::Causal(Alignment::BottomRight);
    for sm in CAPABILITIES {
        let mut add = |kernel, dtype, columns, mask, sums| {
            let gpu = Gpu::of_capability(sm);
            let plan = choose_backward(&problem(dtype, columns, mask), gpu, sums);
            builds.push(Build {
                kernel,
                plan: plan.expect("a plan for every size"),
                sm,
            });
        };
        for head_dim in HEAD_DIMS {
            for mask in [Mask::None, causal] {
                add(
                    BwdKernel::Keys,
                    Dtype::F16,
                    head_dim,
                    mask,
                    QuerySums::Atomic,
                );
            }
        }
        add(BwdKernel::Keys, Dtype::Bf16, 64, causal, QuerySums::Atomic);
        add(BwdKernel::Keys, Dtype::F16, 56, causal, QuerySums::Atomic);
        add(BwdKernel::Keys, Dtype::F16, 64, causal, QuerySums::Owned);
        add(BwdKernel::Keys, Dtype::F16, 128, causal, QuerySums::Owned);
        for head_dim in HEAD_DIMS {
            add(
                BwdKernel::Queries,
                Dtype::F16,
                head_dim,
                causal,
                QuerySums::Owned,
            );
        }
        let preprocess = BwdKernel::Preprocess(LseGradient::Zero);
        add(preprocess, Dtype::F16, 64, causal, QuerySums::Atomic);
        add(
            BwdKernel::Convert,
            Dtype::F16,
            64,
            causal,
            QuerySums::Atomic,
        );
    }
    builds
}

#[test]
fn spills_are_few_and_the_census_of_the_backward_holds() {
    let builds = grid();
    let rows: Vec<(Build, Census)> = builds.par_iter().map(|b| (*b, b.census())).collect();
    let mut table = String::from(
        "Instructions of the whole kernel; then of the loop over query blocks.\n\
         sm   regs spills | HMMA LDSM (.T) STS STSM LDGSTS RED BAR | HMMA LDSM F2FP MUFU LDS all | kernel, configuration\n",
    );
    for (build, census) in &rows {
        let Build { sm, .. } = build;
        let local = census
            .spill_stores
            .max(census.spill_loads)
            .max(census.stack);
        assert!(local <= ALLOWED_SPILL, "{}: {local} bytes", build.name());
        let k = |name| Census::count(&census.kernel, name);
        let longest = census
            .loops
            .iter()
            .max_by_key(|counts| counts.values().sum::<usize>())
            .cloned()
            .unwrap_or_default();
        let l = |name| Census::count(&longest, name);
        table += &format!(
            "{sm:2} {:6} {:6} | {:4} {:4} {:4} {:3} {:4} {:6} {:3} {:3} | {:4} {:4} {:4} {:4} {:3} {:4} | {}\n",
            census.registers,
            local,
            k("HMMA"),
            k("LDSM"),
            transposed(&census.kernel),
            k("STS") - k("STSM"),
            k("STSM"),
            k("LDGSTS"),
            k("RED"),
            k("BAR"),
            l("HMMA"),
            l("LDSM"),
            l("F2FP"),
            l("MUFU"),
            l("LDS."),
            longest.values().sum::<usize>(),
            build.name(),
        );
    }
    println!("{table}");
    expect_file!["./backward_codegen.txt"].assert_eq(&table);
}

fn transposed(counts: &Counts) -> usize {
    Census::count_with(counts, "LDSM", ".MT")
}
