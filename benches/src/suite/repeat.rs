//! The same launch many times must give the same bits.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::loaded::Loaded;
use crate::suite::tally::Tally;
use cubecl::client::Client;
use fa2_testing::{Case, Causal, inputs};
use half::f16;

const CASES: [Case; 2] = [
    Case::new("repeat-full", 2, 16, 1000, 64),
    Case::new("repeat-causal", 2, 16, 1000, 128)
        .kv_heads(4)
        .causal(Causal::BottomRight),
];

/// Repeats each case `args.repeats` times.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    for case in CASES.iter().filter(|case| args.selects(case)) {
        let qkv = inputs::generate::<f16>(case, 7);
        let loaded = Loaded::new(client, case, &qkv);
        for engine in args.engines() {
            tally.record(
                format!("{case} [{}, {} repeats]", engine.name(), args.repeats),
                repeated(client, &loaded, engine, args.repeats),
            );
        }
    }
}

fn repeated(
    client: &Client,
    loaded: &Loaded<f16>,
    engine: EngineArg,
    repeats: usize,
) -> Result<(), String> {
    let run = || {
        let output = loaded.run(client, engine.chosen())?;
        let lse: Vec<u32> = output.lse.iter().map(|value| value.to_bits()).collect();
        let bits: Vec<u16> = output.output.iter().map(|value| value.to_bits()).collect();
        Ok::<_, String>((bits, lse))
    };
    let first = run()?;
    for repeat in 1..repeats {
        if run()? != first {
            return Err(format!(
                "repeat {repeat} gave other bits than the first run"
            ));
        }
    }
    Ok(())
}
