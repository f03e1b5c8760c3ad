//! Tensors of more than 2^31 elements: offsets must be 64 bits wide.
//!
//! They are filled on the device by a function of the place, which the host evaluates where it
//! checks; so nothing of their size crosses the bus but O.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::tally::Tally;
use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;
use fa2_cubecl::{FwdTensors, TensorRef};
use fa2_machine::problem;
use fa2_testing::{Case, Element, Expected, poison};
use half::f16;
use rayon::prelude::*;

/// Bytes of a 32-bit word, which holds two elements.
const WORD_BYTES: u64 = 4;
const THREADS: u32 = 256;
/// Query rows checked at a place.
const ROWS: usize = 16;
/// Bytes filled or read at once.
const CHUNK_BYTES: u64 = 1 << 28;
/// Multiplier that tells the tensors' words apart (2^32 over the golden ratio).
const SALT: u32 = 0x9e37_79b9;

/// Replays BIG-04 in its full size: 3.2e9 elements a tensor.
const MANY_HEADS: Case = Case::new("BIG-04-full", 768, 8, 2048, 256);
/// One head whose keys alone are 2.2e9 elements.
const MANY_KEYS: Case = Case::new("many-keys", 1, 1, ROWS, 128).keys(17_000_000);

/// Two f16 of magnitude 1 to 2 and either sign, by an integer hash (Wellons' lowbias32) of a place.
///
/// Products wrap, on the device and in a release build.
#[cube]
fn word(place: u32, salt: u32) -> u32 {
    let a = place ^ salt;
    let b = (a ^ (a >> 16u32)) * 0x7feb_352du32;
    let c = (b ^ (b >> 15u32)) * 0x846c_a68bu32;
    let d = c ^ (c >> 16u32);
    (d & 0x83ff_83ffu32) | 0x3c00_3c00u32
}

#[cube(launch_unchecked)]
fn fill_words(out: &mut [u32], first: u32, salt: u32, words: u32) {
    let at = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if at < words {
        out[at as usize] = word(first + at, salt);
    }
}

#[cube(launch_unchecked)]
fn fill_constant(out: &mut [u32], value: u32, words: u32) {
    let at = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if at < words {
        out[at as usize] = value;
    }
}

/// What fills a tensor.
#[derive(Clone, Copy)]
enum Contents {
    Salted(u32),
    Poison,
}

/// Checks both cases on every engine.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    for case in [MANY_HEADS, MANY_KEYS]
        .iter()
        .filter(|case| args.selects(case))
    {
        for engine in args.engines() {
            tally.record(
                format!("{case} [{}, over 2^31 elements]", engine.name()),
                conforms(client, case, engine),
            );
        }
    }
}

fn conforms(client: &Client, case: &Case, engine: EngineArg) -> Result<(), String> {
    let tensor = |shape: [usize; 4], contents| {
        let [_, heads, rows, columns] = shape;
        TensorRef {
            handle: filled(client, shape.iter().product(), contents),
            strides: [heads * rows * columns, rows * columns, columns],
        }
    };
    let rows = case.batch * case.heads_q * case.seq_q;
    let tensors = FwdTensors {
        q: tensor(case.shape_q(), Contents::Salted(0)),
        k: tensor(case.shape_kv(), Contents::Salted(1)),
        v: tensor(case.shape_kv(), Contents::Salted(2)),
        o: tensor(case.shape_q(), Contents::Poison),
        // Two elements of f16 poison are a NaN in f32 too.
        lse: filled(client, 2 * rows, Contents::Poison),
    };
    engine
        .chosen()
        .launch(client, &problem::<f16>(case), &tensors)?;
    all_written(client, &tensors.o.handle)?;
    places(case)
        .into_iter()
        .try_for_each(|head| judge(client, case, &tensors, head))
}

/// Heads at both ends, and on both sides of element 2^31 where they are small enough to lie there.
fn places(case: &Case) -> Vec<usize> {
    let heads = case.batch * case.heads_q;
    let border = (1_usize << 31) / (case.seq_q * case.head_dim);
    let mut places = vec![0, border.saturating_sub(1), border, heads - 1];
    places.retain(|&head| head < heads);
    places.dedup();
    places
}

/// Compares the last [`ROWS`] rows of a head, counted over the batch.
fn judge(client: &Client, case: &Case, tensors: &FwdTensors, head: usize) -> Result<(), String> {
    let row = (head + 1) * case.seq_q - ROWS;
    let q = elements(row * case.head_dim, ROWS * case.head_dim, 0);
    let span = case.seq_k * case.head_dim;
    let [k, v] = [1, 2].map(|seed| elements(head * span, span, seed));
    let part = Case {
        batch: 1,
        heads_q: 1,
        heads_kv: 1,
        seq_q: ROWS,
        ..*case
    };
    let o: Vec<f16> = read(client, &tensors.o.handle, row * case.head_dim, q.len())?;
    let lse: Vec<f32> = read(client, &tensors.lse, row, ROWS)?;
    Expected::new(&part, &q, &k, &v)
        .judge(&o, &lse)
        .map_err(|wrong| format!("head {head}: {wrong}"))
}

/// A buffer of `length` f16 on the device.
fn filled(client: &Client, length: usize, contents: Contents) -> Handle {
    let bytes = (length * size_of::<f16>()) as u64;
    let handle = client.empty(bytes as usize);
    for (start, end) in chunks(bytes) {
        let words = ((end - start) / WORD_BYTES) as u32;
        let part = part(&handle, start, end);
        let count = CubeCount::Static(words.div_ceil(THREADS), 1, 1);
        let dim = CubeDim::new_1d(THREADS);
        // SAFETY: the length is that of the part, and the kernels write no further.
        unsafe {
            let out = BufferArg::from_raw_parts(part, words as usize);
            match contents {
                Contents::Salted(seed) => {
                    let first = (start / WORD_BYTES) as u32;
                    fill_words::launch_unchecked(client, count, dim, out, first, salt(seed), words);
                }
                Contents::Poison => {
                    let value = u32::from(f16::POISON.to_bits()) * 0x1_0001;
                    fill_constant::launch_unchecked(client, count, dim, out, value, words);
                }
            }
        }
    }
    handle
}

fn salt(seed: u32) -> u32 {
    seed.wrapping_mul(SALT)
}

/// `length` elements of the tensor of `seed`, from element `first` on; both are even.
fn elements(first: usize, length: usize, seed: u32) -> Vec<f16> {
    (0..length / 2)
        .into_par_iter()
        .flat_map_iter(|at| {
            let word = word((first / 2 + at) as u32, salt(seed));
            [word as u16, (word >> 16) as u16].map(f16::from_bits)
        })
        .collect()
}

/// Reads all of O: no element may still be poison.
fn all_written(client: &Client, handle: &Handle) -> Result<(), String> {
    for (start, end) in chunks(handle.size_in_used()) {
        let first = start as usize / size_of::<f16>();
        let length = (end - start) as usize / size_of::<f16>();
        let values: Vec<f16> = read(client, handle, first, length)?;
        if let Some(at) = poison::first_unwritten(&values) {
            return Err(format!("element {} of O was not written", first + at));
        }
    }
    Ok(())
}

fn chunks(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..bytes.div_ceil(CHUNK_BYTES)).map(move |chunk| {
        let start = chunk * CHUNK_BYTES;
        (start, bytes.min(start + CHUNK_BYTES))
    })
}

/// Bytes `start..end` of a buffer.
fn part(handle: &Handle, start: u64, end: u64) -> Handle {
    let behind = handle.size_in_used() - end;
    handle.clone().offset_start(start).offset_end(behind)
}

fn read<T: bytemuck::Pod>(
    client: &Client,
    handle: &Handle,
    first: usize,
    length: usize,
) -> Result<Vec<T>, String> {
    let [start, end] = [first, first + length].map(|at| (at * size_of::<T>()) as u64);
    let bytes = client
        .read_one(part(handle, start, end))
        .map_err(|error| format!("{error:?}"))?;
    Ok(bytemuck::pod_collect_to_vec(&bytes[..]))
}
