//! Both passes in memory that moves: buffers are freed while their launches wait, and others of other sizes
//! take their place, in several threads.
//!
//! The kernels for SM90 read tensors through maps of their addresses. One that outlived its buffers would show
//! here: each result must have the bits of a pass alone.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::passes::{Outputs, Passes, Results, Values, compare};
use crate::suite::tally::Tally;
use crate::suite::threads::{THREADS, together};
use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::QuerySums;
use fa2_testing::{Case, Causal};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{HashSet, VecDeque};

/// Sizes that don't fit into each other's place.
const SHAPES: [Case; 5] = [
    Case::new("buffers", 1, 2, 97, 64),
    Case::new("buffers", 2, 4, 333, 64)
        .kv_heads(2)
        .causal(Causal::BottomRight),
    Case::new("buffers", 1, 4, 200, 128).keys(451),
    Case::new("buffers", 3, 2, 512, 128).causal(Causal::TopLeft),
    Case::new("buffers", 1, 6, 130, 96).kv_heads(3),
];
const SEED: u64 = 50;
/// Calls of each thread.
const CALLS: usize = 200;
/// Calls whose outputs are not read yet.
const UNREAD: usize = 3;
/// Unused buffers between those of the calls, and the most bytes of one.
const FILLERS: usize = 6;
const FILLER_BYTES: usize = 3 << 20;
/// Calls after which free memory goes back to the driver.
const CALLS_A_CLEANUP: usize = 40;

/// Checks each engine that has both passes.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    if !args.selects(&SHAPES[0]) {
        return;
    }
    for engine in args.engines().filter(|engine| *engine != EngineArg::Cute) {
        let result = moving(client, engine, tally);
        let name = engine.name();
        tally.record(
            format!("buffers [{name}, {THREADS} threads x {CALLS} calls in moving memory]"),
            result,
        );
    }
}

fn moving(client: &Client, engine: EngineArg, tally: &Tally) -> Result<(), String> {
    let shapes: Vec<(Values, Results)> = SHAPES
        .iter()
        .map(|case| {
            let values = Values::new(case, SEED);
            let expected = launch(client, engine, &values)?.read(client)?;
            Ok((values, expected))
        })
        .collect::<Result<_, String>>()?;
    let places = together(|thread| {
        let random = StdRng::seed_from_u64(thread as u64);
        calls(client, engine, &shapes, random)
    })?;
    let places: HashSet<u64> = places.into_iter().flatten().collect();
    let (calls, places) = (THREADS * CALLS, places.len());
    tally.say(format!(
        "buffers [{}]: O of {calls} calls at {places} addresses",
        engine.name()
    ));
    // Memory that stays, or is never used again, would show nothing.
    match (2 * SHAPES.len()..calls).contains(&places) {
        true => Ok(()),
        false => Err(format!("O of {calls} calls lay at {places} addresses")),
    }
}

/// Calls of one thread; the addresses at which O lay.
fn calls(
    client: &Client,
    engine: EngineArg,
    shapes: &[(Values, Results)],
    mut random: StdRng,
) -> Result<HashSet<u64>, String> {
    let mut places = HashSet::new();
    let mut unread = VecDeque::new();
    let mut fillers: Vec<Handle> = Vec::new();
    for call in 0..CALLS {
        if fillers.len() == FILLERS {
            fillers.swap_remove(random.random_range(0..FILLERS));
        }
        fillers.push(client.empty(random.random_range(1..FILLER_BYTES)));
        let (values, expected) = &shapes[random.random_range(0..shapes.len())];
        let outputs = launch(client, engine, values)?;
        let [o, ..] = outputs.tensors();
        let place = fa2_cute::launch::address(client, o);
        places.insert(place.map_err(|error| error.to_string())?);
        unread.push_back((call, outputs, expected));
        if unread.len() > UNREAD {
            read(client, unread.pop_front())?;
        }
        if call % CALLS_A_CLEANUP == CALLS_A_CLEANUP - 1 {
            client
                .memory_cleanup()
                .map_err(|error| format!("{error:?}"))?;
        }
    }
    while !unread.is_empty() {
        read(client, unread.pop_front())?;
    }
    Ok(places)
}

/// Enqueues both passes; all buffers but the outputs are free when it returns.
fn launch(client: &Client, engine: EngineArg, values: &Values) -> Result<Outputs, String> {
    let passes = Passes::new(client, values);
    passes.forward(engine)?;
    passes.backward(engine, engine.deterministic_sums())?;
    Ok(passes.outputs())
}

fn read(client: &Client, call: Option<(usize, Outputs, &Results)>) -> Result<(), String> {
    let Some((call, outputs, expected)) = call else {
        return Ok(());
    };
    compare(&outputs.read(client)?, expected, QuerySums::Owned)
        .map_err(|wrong| format!("call {call}: {wrong}"))
}
