//! A captured CUDA graph of both passes, replayed over other values in the same buffers: each replay must
//! have the bits of a direct launch over these.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::passes::{Passes, Results, Values, compare};
use crate::suite::tally::Tally;
use cubecl::client::{Client, Graph};
use fa2_cubecl::QuerySums;
use fa2_testing::{Case, Causal};

const CASES: [Case; 2] = [
    Case::new("graph-full", 1, 4, 333, 128).kv_heads(2),
    Case::new("graph-causal", 2, 4, 500, 64).causal(Causal::BottomRight),
];
/// Seeds of the values, by the replay; the graph is captured over those of the first.
const SEEDS: [u64; 4] = [60, 70, 60, 80];

/// Checks each engine that has both passes, with every way to sum up dQ.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    for case in CASES.iter().filter(|case| args.selects(case)) {
        for engine in args.engines() {
            for &sums in engine.query_sums() {
                let name = engine.name();
                tally.record(
                    format!("{case} [{name}, {sums:?}, a graph replayed]"),
                    replays(client, case, engine, sums),
                );
            }
        }
    }
}

fn replays(client: &Client, case: &Case, engine: EngineArg, sums: QuerySums) -> Result<(), String> {
    let launch = |passes: &Passes| {
        passes.forward(engine)?;
        passes.backward(engine, sums)
    };
    let values = SEEDS.map(|seed| Values::new(case, seed));
    let mut expected: Vec<Results> = Vec::new();
    for values in &values {
        let passes = Passes::new(client, values);
        launch(&passes)?;
        expected.push(passes.outputs().read(client)?);
    }
    let passes = Passes::new(client, &values[0]);
    let graph = captured(client, &passes, launch)?;
    // What the run before the capture left must not pass for a replay's.
    passes.poison();
    for (replay, (values, expected)) in values.iter().zip(&expected).enumerate() {
        passes.write(values);
        // SAFETY: `passes` keeps the buffers, and this thread alone uses them, on the stream of the capture.
        unsafe { graph.replay() }.map_err(|error| format!("{error:?}"))?;
        compare(&passes.outputs().read(client)?, expected, sums)
            .map_err(|wrong| format!("replay {replay}: {wrong}"))?;
    }
    Ok(())
}

/// The graph of `launch`. CubeCL wants a run before it, for the memory that the recorded one takes.
fn captured(
    client: &Client,
    passes: &Passes,
    launch: impl Fn(&Passes) -> Result<(), String>,
) -> Result<Graph, String> {
    let said = |error: cubecl::server::ServerError| format!("{error:?}");
    client.graph_prepare().map_err(said)?;
    launch(passes)?;
    passes.outputs().read(client)?;
    client.start_capture().map_err(said)?;
    let launched = launch(passes);
    // A window that was opened must be closed, whatever was recorded.
    let graph = client.stop_capture().map_err(said);
    launched?;
    graph
}
