//! Tiled operations: every element once, and copies that end where the MMA begins.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cute_layout::{
    CopyAtom, Layout, LayoutError, MmaAtom, Partition, SmemTile, TiledCopy, TiledMma,
    owners_per_element,
};
use proptest::prelude::*;

const HEAD_DIMS: [usize; 6] = [32, 64, 96, 128, 192, 256];

/// Warps along M; copies to fragments move whole `ldmatrix.x4` tiles of 16 rows or columns.
fn mma(warps: usize) -> TiledMma {
    TiledMma::new(MmaAtom::m16n8k16(), [warps, 1, 1], [16 * warps, 16, 16])
}

fn all<'a>(
    threads: usize,
    partition: impl Fn(usize) -> Result<Partition, LayoutError> + 'a,
) -> Vec<Partition> {
    (0..threads).map(|t| partition(t).unwrap()).collect()
}

#[test]
fn warps_along_an_axis_split_it_and_share_the_operand_without_it() {
    // 2 x 2 warps on a 64 x 32 x 32 product: A is read by the 2 warps along N, B by the 2 along M,
    // C by one.
    let mma = TiledMma::new(MmaAtom::m16n8k16(), [2, 2, 1], [32, 16, 16]);
    let (m, n, k) = (64, 32, 32);
    let (a, b, c) = (
        Layout::compact((m, k)),
        Layout::compact((n, k)),
        Layout::compact((m, n)),
    );
    let a = owners_per_element(m * k, &all(mma.threads(), |t| mma.partition_a(&a, t)));
    let b = owners_per_element(n * k, &all(mma.threads(), |t| mma.partition_b(&b, t)));
    let c = owners_per_element(m * n, &all(mma.threads(), |t| mma.partition_c(&c, t)));
    assert_eq!(mma.threads(), 128);
    assert!(a.into_iter().all(|owners| owners == 2));
    assert!(b.into_iter().all(|owners| owners == 2));
    assert!(c.into_iter().all(|owners| owners == 1));
}

#[test]
fn thread_value_layouts_are_the_partitions_of_the_identity() {
    let mma = TiledMma::new(MmaAtom::m16n8k16(), [4, 1, 1], [64, 32, 16]);
    let tv = mma.layout_c_tv().unwrap();
    let identity = Layout::compact((64, 32));
    for thread in 0..mma.threads() {
        let part = mma.partition_c(&identity, thread).unwrap();
        let values = 0..part.layout.size();
        assert!(
            part.indices()
                .eq(values.map(|value| tv.at((thread, value))))
        );
    }
}

#[test]
fn a_thread_or_tile_that_the_operation_does_not_have_is_an_error() {
    let mma = mma(4);
    let tile = Layout::compact((64, 64));
    assert_eq!(
        mma.partition_c(&tile, 128).unwrap_err().to_string(),
        "thread 128 is not one of 128"
    );
    assert!(matches!(
        mma.partition_c(&Layout::compact(4096), 0),
        Err(LayoutError::Rank { expected: 2, .. })
    ));
    // 72 rows are no whole number of 16-row atoms.
    assert!(mma.partition_c(&Layout::compact((72, 64)), 0).is_err());
}

/// Asserts that `ldmatrix`, run by each warp, leaves every register with the address that the MMA
/// wants there.
///
/// An independent account of the instruction: lanes supply row addresses, the formulas of the PTX
/// ISA say who receives what. `fragment` partitions a tile as the MMA does: it says which address
/// each register wants.
fn assert_delivers(
    copy: &TiledCopy,
    stored: &Layout,
    transposed: bool,
    fragment: impl Fn(&Layout, usize) -> Partition,
) {
    let [rows, cols] = stored.mode_sizes()[..] else {
        panic!("{stored} has no rows and columns");
    };
    let identity = Layout::compact((rows, cols));
    for warp in 0..copy.threads() / 32 {
        let named: Vec<Partition> = (0..32)
            .map(|lane| copy.partition_src(stored, 32 * warp + lane).unwrap())
            .collect();
        for lane in 0..32 {
            let thread = 32 * warp + lane;
            let registers = copy
                .retile_dst(&fragment(&identity, thread), rows, cols, thread)
                .unwrap();
            let mut received = vec![usize::MAX; registers.size()];
            for value in 0..registers.size() {
                let (instruction, matrix, half) = (value / 8, value % 8 / 2, value % 2);
                let (row, col) = if transposed {
                    (2 * (lane % 4) + half, lane / 4)
                } else {
                    (lane / 4, 2 * (lane % 4) + half)
                };
                let source = &named[8 * matrix + row];
                let address = source.offset + source.layout.nth(8 * instruction);
                received[registers.nth(value)] = address + col;
            }
            let wanted = fragment(stored, thread);
            assert!(wanted.indices().eq(received), "{stored} thread {thread}");
        }
    }
}

#[test]
fn ldmatrix_delivers_the_a_fragment() {
    let mma = mma(4);
    let copy = TiledCopy::for_a(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    for d in HEAD_DIMS {
        let sq = SmemTile::new(64, d).layout().layout;
        assert_delivers(&copy, &sq, false, |tile, t| {
            mma.partition_a(tile, t).unwrap()
        });
    }
}

#[test]
fn ldmatrix_delivers_the_b_fragment() {
    let mma = mma(2);
    let copy = TiledCopy::for_b(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    for d in HEAD_DIMS {
        let sk = SmemTile::new(64, d).layout().layout;
        assert_delivers(&copy, &sk, false, |tile, t| {
            mma.partition_b(tile, t).unwrap()
        });
    }
}

#[test]
fn transposing_ldmatrix_delivers_the_b_fragment_of_a_tile_stored_by_k() {
    let mma = mma(2);
    let copy = TiledCopy::for_b(CopyAtom::ldmatrix_x4_trans(), &mma).unwrap();
    for d in HEAD_DIMS {
        // Stored (n, d); the second product sees (d, n).
        let sv = SmemTile::new(64, d).layout().layout;
        let svt = Layout::from_modes([sv.mode(1), sv.mode(0)]);
        assert_delivers(&copy, &svt, true, |tile, t| {
            mma.partition_b(tile, t).unwrap()
        });
    }
}

#[test]
fn elements_that_a_thread_does_not_own_cannot_be_viewed() {
    let at_zero = |layout| Partition { offset: 0, layout };
    let evens = at_zero(Layout::new(2, 2));
    for others in [Layout::new(2, 1), Layout::new(2, 8)] {
        assert!(matches!(
            evens.reinterpret(&at_zero(others)),
            Err(LayoutError::DifferentOwner { .. })
        ));
    }
}

#[test]
fn another_threads_fragment_cannot_be_retiled() {
    let copy = TiledCopy::for_a(CopyAtom::ldmatrix_x4(), &mma(4)).unwrap();
    let fragment = mma(4).partition_a(&Layout::compact((64, 64)), 1).unwrap();
    assert!(matches!(
        copy.retile_dst(&fragment, 64, 64, 0),
        Err(LayoutError::DifferentOwner { .. })
    ));
}

proptest! {
    #[test]
    fn a_copy_covers_each_element_once(
        (rows_log, cols_log) in (0_u32..=5, 0_u32..=3),
        (tall, wide) in (1_usize..=2, 1_usize..=2),
        (rest_rows, rest_cols) in (1_usize..=3, 1_usize..=3),
        row_major in prop::bool::ANY,
    ) {
        let shape = (1 << rows_log, 1 << cols_log);
        let threads = if row_major { Layout::compact_row(shape) } else { Layout::compact(shape) };
        // Whole vectors of 8 along a row, `tall` rows of `wide` vectors a thread.
        let values = Layout::compact_row((tall, 8 * wide));
        let copy = TiledCopy::new(CopyAtom::vector_16(), &threads, &values).unwrap();
        prop_assert_eq!(copy.tile(), [shape.0 * tall, shape.1 * 8 * wide]);

        let (rows, cols) = (copy.tile()[0] * rest_rows, copy.tile()[1] * rest_cols);
        let tile = Layout::new((rows, cols), (cols, 1));
        for partitions in [
            all(copy.threads(), |t| copy.partition_src(&tile, t)),
            all(copy.threads(), |t| copy.partition_dst(&tile, t)),
        ] {
            let owners = owners_per_element(rows * cols, &partitions);
            prop_assert!(owners.into_iter().all(|owners| owners == 1));
        }
    }

    #[test]
    fn source_and_destination_of_a_copy_meet_in_the_same_elements(
        warp in 0_usize..4, d in prop::sample::select(&HEAD_DIMS[..]),
    ) {
        // What a warp's lanes name at the source is what they receive, each by other lanes.
        let copy = TiledCopy::for_a(CopyAtom::ldmatrix_x4(), &mma(4)).unwrap();
        let tile = Layout::compact((64, d));
        let lanes = 32 * warp..32 * (warp + 1);
        let elements = |side: &dyn Fn(usize) -> Partition| {
            let mut elements: Vec<usize> =
                lanes.clone().flat_map(|t| side(t).indices().collect::<Vec<_>>()).collect();
            elements.sort_unstable();
            elements
        };
        prop_assert_eq!(
            elements(&|t| copy.partition_src(&tile, t).unwrap()),
            elements(&|t| copy.partition_dst(&tile, t).unwrap())
        );
    }
}

#[test]
fn pairs_of_a_c_fragment_are_copied_from_the_registers_that_hold_them() {
    let mma = mma(4);
    let copy = TiledCopy::for_c(CopyAtom::vector_4(), &mma).unwrap();
    let identity = Layout::compact((128, 64));
    for thread in 0..mma.threads() {
        let fragment = mma.partition_c(&identity, thread).unwrap();
        let registers = copy.retile_dst(&fragment, 128, 64, thread).unwrap();
        let stored = copy.partition_dst(&identity, thread).unwrap();
        for value in 0..registers.size() {
            let register = registers.nth(value);
            assert_eq!(register % 2, value % 2, "a pair fills one 32-bit store");
            let held = fragment.offset + fragment.layout.nth(register);
            assert_eq!(held, stored.offset + stored.layout.nth(value));
        }
    }
}

#[test]
fn owners_of_a_tile_are_its_partitions_thread_by_thread() {
    let mma = mma(4);
    let copy = TiledCopy::for_b(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    let tile = SmemTile::new(64, 128).layout().layout;
    for (owners, partition) in [
        (copy.owners_src(&tile), 0),
        (copy.owners_dst(&tile), 1),
        (mma.owners_b(&tile), 2),
    ] {
        let owners = owners.unwrap();
        assert_eq!(owners.mode(0).size(), 128);
        for thread in 0..128 {
            let part = match partition {
                0 => copy.partition_src(&tile, thread),
                1 => copy.partition_dst(&tile, thread),
                _ => mma.partition_b(&tile, thread),
            }
            .unwrap();
            let values = 0..owners.mode(1).size();
            assert!(
                part.indices()
                    .eq(values.map(|value| owners.at((thread, value))))
            );
        }
    }
}
