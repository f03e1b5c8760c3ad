//! The thread-value layouts of instructions against the formulas of the PTX ISA, in its own words.

use cute_layout::{CopyAtom, Layout, MmaAtom};

/// `groupID` and `threadID_in_group` of the PTX ISA.
fn group(lane: usize) -> (usize, usize) {
    (lane >> 2, lane % 4)
}

/// Every N that a wgmma can have.
fn wgmma_columns() -> impl Iterator<Item = usize> {
    (8..=256).step_by(8)
}

#[test]
fn the_a_fragment_is_that_of_the_ptx_isa() {
    let atom = MmaAtom::m16n8k16();
    for lane in 0..32 {
        let (group_id, thread_in_group) = group(lane);
        for i in 0..8 {
            let row = match i {
                0 | 1 | 4 | 5 => group_id,
                _ => group_id + 8,
            };
            let col = thread_in_group * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
            assert_eq!(
                atom.a().at((lane, i)),
                row + 16 * col,
                "a{i} of lane {lane}"
            );
        }
    }
}

#[test]
fn the_b_fragment_is_that_of_the_ptx_isa() {
    let atom = MmaAtom::m16n8k16();
    for lane in 0..32 {
        let (group_id, thread_in_group) = group(lane);
        for i in 0..4 {
            // The PTX ISA speaks of B as k x n: its row is k.
            let row = thread_in_group * 2 + (i & 1) + if i < 2 { 0 } else { 8 };
            let col = group_id;
            assert_eq!(atom.b().at((lane, i)), col + 8 * row, "b{i} of lane {lane}");
        }
    }
}

#[test]
fn the_c_fragment_is_that_of_the_ptx_isa() {
    let atom = MmaAtom::m16n8k16();
    for lane in 0..32 {
        let (group_id, thread_in_group) = group(lane);
        for i in 0..4 {
            let row = if i < 2 { group_id } else { group_id + 8 };
            let col = thread_in_group * 2 + (i & 1);
            assert_eq!(
                atom.c().at((lane, i)),
                row + 16 * col,
                "c{i} of lane {lane}"
            );
        }
    }
}

#[test]
fn a_fragment_holds_each_element_once() {
    let atom = MmaAtom::m16n8k16();
    let [m, n, k] = atom.tile();
    for (layout, size) in [(atom.a(), m * k), (atom.b(), n * k), (atom.c(), m * n)] {
        assert_is_permutation(layout, size);
    }
    for n in wgmma_columns() {
        let atom = MmaAtom::wgmma_rs(n);
        assert_is_permutation(atom.a(), 64 * 16);
        assert_is_permutation(atom.c(), 64 * n);
    }
}

#[test]
fn the_registers_of_a_wgmma_are_those_of_the_ptx_isa() {
    for n in wgmma_columns() {
        let atom = MmaAtom::wgmma_rs(n);
        assert_eq!(atom.tile(), [64, n, 16]);
        for thread in 0..128 {
            let (warp, lane) = (thread / 32, thread % 32);
            let (group_id, thread_in_group) = group(lane);
            let row = |i: usize| 16 * warp + group_id + if i & 2 == 0 { 0 } else { 8 };
            for i in 0..8 {
                let col = thread_in_group * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
                assert_eq!(atom.a().at((thread, i)), row(i) + 64 * col, "a{i}");
            }
            for i in 0..n / 2 {
                let col = i / 4 * 8 + thread_in_group * 2 + (i & 1);
                assert_eq!(atom.c().at((thread, i)), row(i) + 64 * col, "d{i}");
            }
        }
    }
}

#[test]
fn a_wgmma_reads_operands_in_shared_memory_whole_for_every_thread() {
    for n in wgmma_columns() {
        let atom = MmaAtom::wgmma_ss(n);
        assert_eq!(*atom.c(), *MmaAtom::wgmma_rs(n).c());
        for (operand, size) in [(atom.a(), 64 * 16), (atom.b(), 16 * n)] {
            assert_eq!(operand.mode_sizes(), [128, size]);
            for thread in [0, 31, 32, 127] {
                assert!((0..size).all(|i| operand.at((thread, i)) == i));
            }
        }
    }
}

#[test]
fn a_wgmma_has_columns_in_eights_up_to_256() {
    for n in [0, 4, 12, 264] {
        assert!(std::panic::catch_unwind(|| MmaAtom::wgmma_rs(n)).is_err());
    }
}

#[test]
fn a_copy_reads_and_writes_each_element_once() {
    for (atom, size) in [
        (CopyAtom::ldmatrix_x4(), 256),
        (CopyAtom::ldmatrix_x4_trans(), 256),
        (CopyAtom::cp_async_16(), 8),
        (CopyAtom::vector_16(), 8),
    ] {
        assert_is_permutation(atom.src(), size);
        assert_is_permutation(atom.dst(), size);
        assert_eq!(atom.threads() * atom.values(), size);
    }
}

#[test]
fn ldmatrix_takes_the_row_address_of_a_lane_and_gives_pairs() {
    let (plain, trans) = (CopyAtom::ldmatrix_x4(), CopyAtom::ldmatrix_x4_trans());
    // Element (matrix, row, col), counted along the source.
    let element = |matrix, row, col| 64 * matrix + 8 * row + col;
    for lane in 0..32 {
        for col in 0..8 {
            let named = element(lane / 8, lane % 8, col);
            assert_eq!(plain.src().at((lane, col)), named);
            assert_eq!(trans.src().at((lane, col)), named);
        }
        let (group_id, thread_in_group) = group(lane);
        for register in 0..4 {
            for half in 0..2 {
                let value = 2 * register + half;
                let pair = 2 * thread_in_group + half;
                assert_eq!(
                    plain.dst().at((lane, value)),
                    element(register, group_id, pair)
                );
                assert_eq!(
                    trans.dst().at((lane, value)),
                    element(register, pair, group_id)
                );
            }
        }
    }
}

fn assert_is_permutation(layout: &Layout, size: usize) {
    let mut indices: Vec<usize> = layout.indices().collect();
    indices.sort_unstable();
    assert!(indices.into_iter().eq(0..size), "{layout}");
}
