//! Every case against the f64 oracle, in the chosen plan and in the forced ones.

use crate::suite::SuiteArgs;
use crate::suite::engine::{Loaded, Output};
use crate::suite::plans;
use crate::suite::tally::Tally;
use cubecl::client::Client;
use fa2_cubecl::{FwdPlan, Gpu};
use fa2_machine::KernelElement;
use fa2_testing::{ARTICLE, CASES, Case, Expected, REPLAY, inputs};
use half::f16;
use std::fmt::Display;

/// The article's absolute and relative tolerance (claim V1).
const ARTICLE_TOLERANCE: f64 = 2e-3;
/// The largest error that the article saw.
const ARTICLE_ERROR: f64 = 1.26e-3;
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
        let name = format!("{} {case}", E::NAME);
        prepared.check(client, None, format!("{name} [chosen]"), tally);
        if args.chosen_only || case.products() > FORCED_PRODUCTS {
            continue;
        }
        for plan in plans::forced(&prepared.loaded.problem, gpu) {
            let name = format!("{name} [{}, section {}]", plan.config, plan.section);
            prepared.check(client, Some(plan), name, tally);
        }
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

    fn check(&self, client: &Client, plan: Option<FwdPlan>, name: impl Display, tally: &mut Tally) {
        let output = self
            .loaded
            .launch(client, plan)
            .map_err(|error| error.to_string())
            .and_then(|_| self.loaded.read(client));
        tally.record(name, output.and_then(|output| self.judge(&output)));
    }

    fn judge(&self, output: &Output<E>) -> Result<(), String> {
        self.expected.judge(&output.output, &output.lse)?;
        if !output.padding_intact {
            return Err("elements between the rows of O were written".into());
        }
        Ok(())
    }
}

/// Runs the article's shapes with its own tolerance and prints the largest error beside the
/// article's.
pub fn check_article(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    let mut largest: f64 = 0.0;
    for case in ARTICLE.iter().filter(|case| args.selects(case)) {
        let prepared = Prepared::<f16>::new(client, case);
        let result = prepared
            .loaded
            .launch(client, None)
            .map_err(|error| error.to_string())
            .and_then(|_| prepared.loaded.read(client))
            .and_then(|output| {
                let mut worst = 0.0;
                for (actual, expected) in output
                    .output
                    .iter()
                    .zip(&prepared.expected.reference.output)
                {
                    let error = (actual.to_f64() - expected).abs();
                    let bound = ARTICLE_TOLERANCE * (1.0 + expected.abs());
                    if error.is_nan() || error > bound {
                        return Err(format!("error {error:.2e} against a bound of {bound:.2e}"));
                    }
                    worst = f64::max(worst, error);
                }
                largest = largest.max(worst);
                Ok(())
            });
        tally.record(format!("{case} [article's tolerance]"), result);
    }
    if largest == 0.0 {
        return; // The filter left none of the shapes.
    }
    tally.say(format!(
        "article's shapes: largest absolute error {largest:.2e} (the article saw {ARTICLE_ERROR:.2e})"
    ));
}
