//! Every case against the f64 oracle, in the chosen plan and in the forced ones.

use crate::engine::{Engine, EngineArg};
use crate::suite::SuiteArgs;
use crate::suite::loaded::{Loaded, Output};
use crate::suite::plans;
use crate::suite::tally::Tally;
use cubecl::client::Client;
use fa2_cubecl::{Gpu, Problem};
use fa2_machine::KernelElement;
use fa2_testing::{CASES, Case, Expected, REPLAY, inputs};

/// Largest query-key products for which every forced plan is run.
const FORCED_PRODUCTS: usize = 1 << 26;
const SEED: u64 = 20;

/// A case on the device, and what it should give.
struct Prepared<E> {
    loaded: Loaded<E>,
    expected: Expected,
}

/// Cases that the kernel takes as they are; the op pads or answers the rest itself.
fn is_kernel_case(case: &Case) -> bool {
    let empty = [case.batch, case.heads_q, case.seq_q].contains(&0);
    !empty && case.head_dim.is_multiple_of(8)
}

/// Runs the conformance grid and the replayed reports in one element type.
pub fn check<E: KernelElement>(client: &Client, gpu: Gpu, args: &SuiteArgs, tally: &mut Tally) {
    for case in CASES
        .iter()
        .chain(REPLAY)
        .filter(|c| is_kernel_case(c) && args.selects(c))
    {
        let prepared = Prepared::<E>::new(client, case);
        for engine in args.engines() {
            prepared.check(client, case, engine.chosen(), tally);
            if args.chosen_only || case.products() > FORCED_PRODUCTS {
                continue;
            }
            for forced in forced(engine, &prepared.loaded.problem, gpu) {
                prepared.check(client, case, forced, tally);
            }
        }
    }
}

/// Every kernel of `engine` for `problem`.
fn forced(engine: EngineArg, problem: &Problem, gpu: Gpu) -> Vec<Engine> {
    match engine {
        EngineArg::Cubecl => plans::forced(problem, gpu)
            .into_iter()
            .map(|plan| Engine::CubeCl(Some(plan)))
            .collect(),
        EngineArg::Hopper => plans::hopper(problem, gpu)
            .into_iter()
            .map(|plan| Engine::Hopper(Some(plan)))
            .collect(),
        EngineArg::Cute => plans::cute(problem)
            .into_iter()
            .map(|kernel| Engine::Cute(Some(kernel)))
            .collect(),
    }
}

impl<E: KernelElement> Prepared<E> {
    fn new(client: &Client, case: &Case) -> Self {
        let qkv = inputs::generate::<E>(case, SEED);
        Self {
            loaded: Loaded::new(client, case, &qkv),
            expected: Expected::of(case, &qkv),
        }
    }

    fn check(&self, client: &Client, case: &Case, engine: Engine, tally: &mut Tally) {
        let output = self.loaded.run(client, engine);
        let result = output.and_then(|output| self.judge(&output));
        tally.record(format!("{} {case} [{engine}]", E::NAME), result);
    }

    fn judge(&self, output: &Output<E>) -> Result<(), String> {
        self.expected.judge(&output.output, &output.lse)?;
        if !output.padding_intact {
            return Err("elements between the rows of O were written".into());
        }
        Ok(())
    }
}
