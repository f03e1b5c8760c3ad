//! CubeCL's own map of the m16n8k16 fragments against `cute_layout`'s (claims L5, L6).

use crate::suite::tally::Tally;
use cubecl::client::Client;
use cubecl::cmma::{MatrixIdent, MmaDefinition};
use cubecl::prelude::*;
use cute_layout::{Layout, MmaAtom};
use half::f16;

/// Writes (row, column) of every element of every lane.
#[cube(launch_unchecked)]
fn positions(out: &mut [u32], #[comptime] ident: MatrixIdent, #[comptime] values: u32) {
    let definition = MmaDefinition::<f16, f16, f32>::new(16usize, 8usize, 16usize);
    for value in 0..values {
        let (row, column) = definition.position_of_nth(UNIT_POS_X, value, ident);
        let at = ((UNIT_POS_X * values + value) * 2) as usize;
        out[at] = row;
        out[at + 1] = column;
    }
}

/// Compares the three operands.
pub fn check(client: &Client, tally: &mut Tally) {
    let atom = MmaAtom::m16n8k16();
    // Rows and columns of the operands: A is (M, K), the accumulator (M, N). CubeCL's B is (K, N),
    // the algebra's (N, K).
    let operands = [
        ("A", MatrixIdent::A, atom.a(), 16, false),
        ("B", MatrixIdent::B, atom.b(), 8, true),
        ("C", MatrixIdent::Accumulator, atom.c(), 16, false),
    ];
    for (name, ident, layout, rows, swapped) in operands {
        let result = compare(client, ident, layout, rows, swapped);
        tally.record(format!("fragment map of {name}"), result);
    }
}

fn compare(
    client: &Client,
    ident: MatrixIdent,
    layout: &Layout,
    rows: usize,
    swapped: bool,
) -> Result<(), String> {
    let lanes = layout.mode(0).size();
    let values = layout.mode(1).size();
    let length = lanes * values * 2;
    let handle = client.empty(length * size_of::<u32>());
    // SAFETY: the buffer holds a pair for every lane and value.
    unsafe {
        positions::launch_unchecked(
            client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(lanes as u32),
            BufferArg::from_raw_parts(handle.clone(), length),
            ident,
            values as u32,
        );
    }
    let bytes = client
        .read_one(handle)
        .map_err(|error| format!("{error:?}"))?;
    let actual: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes[..]);
    for lane in 0..lanes {
        for value in 0..values {
            let index = layout.nth(lane + lanes * value);
            let (mut row, mut column) = (index % rows, index / rows);
            if swapped {
                std::mem::swap(&mut row, &mut column);
            }
            let at = (lane * values + value) * 2;
            let found = (actual[at] as usize, actual[at + 1] as usize);
            if found != (row, column) {
                return Err(format!(
                    "lane {lane}, value {value}: CubeCL says {found:?}, the layout {:?}",
                    (row, column)
                ));
            }
        }
    }
    Ok(())
}
