//! The article's own shapes under its own tolerance (claim V1), on every engine and on the teaching
//! kernels.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::loaded::Loaded;
use crate::suite::tally::Tally;
use cubecl::client::Client;
use fa2_cubecl::FwdTensors;
use fa2_cute::{Family, KernelInfo, MaskKind};
use fa2_testing::{ARTICLE, Case, Causal, Element, Expected, inputs};
use half::f16;

/// The article's absolute and relative tolerance.
const TOLERANCE: f64 = 2e-3;
/// The largest error that the article saw.
const ARTICLE_ERROR: f64 = 1.26e-3;
const SEED: u64 = 20;

/// Runs the shapes and prints each path's largest error beside the article's.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    let mut paths: Vec<Path> = args.engines().map(Path::Engine).collect();
    if args.engines().any(|engine| engine == EngineArg::Cute) {
        let teaching = |kernel: &&KernelInfo| kernel.family == Family::Teaching && kernel.is_built;
        paths.extend(
            fa2_cute::kernels()
                .iter()
                .filter(teaching)
                .map(Path::Teaching),
        );
    }
    let mut largest = vec![0.0_f64; paths.len()];
    for case in ARTICLE.iter().filter(|case| args.selects(case)) {
        let qkv = inputs::generate::<f16>(case, SEED);
        let expected = Expected::of(case, &qkv);
        let loaded = Loaded::new(client, case, &qkv);
        for (path, largest) in paths.iter().zip(&mut largest) {
            if !path.serves(case) {
                continue;
            }
            let result = path
                .run(client, case, &loaded)
                .and_then(|output| error(&output, &expected.reference.output))
                .map(|error| *largest = largest.max(error));
            let name = format!("{case} [{}, article's tolerance]", path.name());
            tally.record(name, result);
        }
    }
    for (path, largest) in paths.iter().zip(largest) {
        // Zero: the filter left none of the shapes.
        if largest > 0.0 {
            tally.say(format!(
                "article's shapes on {}: largest absolute error {largest:.2e} (the article saw {ARTICLE_ERROR:.2e})",
                path.name()
            ));
        }
    }
}

/// What computes a shape.
enum Path {
    Engine(EngineArg),
    Teaching(&'static KernelInfo),
}

impl Path {
    fn name(&self) -> &'static str {
        match self {
            Self::Engine(engine) => engine.name(),
            Self::Teaching(kernel) => kernel.name,
        }
    }

    fn serves(&self, case: &Case) -> bool {
        match self {
            Self::Engine(_) => true,
            Self::Teaching(kernel) => {
                (kernel.mask == MaskKind::Causal) == (case.causal != Causal::None)
            }
        }
    }

    /// O.
    fn run(&self, client: &Client, case: &Case, loaded: &Loaded<f16>) -> Result<Vec<f16>, String> {
        let output = match self {
            Self::Engine(engine) => loaded.run(client, engine.chosen())?,
            Self::Teaching(kernel) => {
                let sizes = [case.batch * case.heads_q, case.seq_q];
                let tensors = loaded.tensors(client);
                let FwdTensors { q, k, v, o, .. } = &tensors;
                let handles = [q, k, v, o].map(|tensor| &tensor.handle);
                fa2_cute::launch::teaching(client, sizes, handles, kernel)
                    .map_err(|error| error.to_string())?;
                loaded.read(client, &tensors)?
            }
        };
        Ok(output.output)
    }
}

/// The largest absolute error, if every element is within the tolerance.
fn error(actual: &[f16], expected: &[f64]) -> Result<f64, String> {
    let mut worst = 0.0;
    for (actual, expected) in actual.iter().zip(expected) {
        let error = (Element::to_f64(*actual) - expected).abs();
        let bound = TOLERANCE * (1.0 + expected.abs());
        if error.is_nan() || error > bound {
            return Err(format!("error {error:.2e} against a bound of {bound:.2e}"));
        }
        worst = f64::max(worst, error);
    }
    Ok(worst)
}
