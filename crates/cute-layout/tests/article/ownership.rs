//! L1 to L8 and E1: who owns which element of Q, K, S, P and O.

use std::collections::BTreeSet;

use cute_layout::{Layout, MmaAtom, Partition, c_to_a, row_col_view};

use crate::{BLOCK, D, THREADS, article_mma, coordinate, identity, wgq};

#[test]
fn l1_a_layout_is_a_function() {
    let row_major = Layout::new((4, 8), (8, 1));
    let column_major = Layout::new((4, 8), (1, 4));
    for i in 0..4 {
        for j in 0..8 {
            assert_eq!(row_major.at((i, j)), 8 * i + j);
            assert_eq!(column_major.at((i, j)), i + 4 * j);
        }
    }
}

#[test]
fn l2_the_accumulator_layout_is_its_register_formula() {
    let layout = Layout::new(((2, 2), 1, 8), ((1, 2), 0, 4));
    assert_eq!(layout.to_string(), "((_2,_2),_1,_8):((_1,_2),_0,_4)");
    for c0 in 0..2 {
        for c1 in 0..2 {
            for nu in 0..8 {
                assert_eq!(layout.at(((c0, c1), 0, nu)), c0 + 2 * c1 + 4 * nu);
            }
        }
    }
}

#[test]
fn l3_repeats_and_fragment_shapes() {
    let mma = article_mma();
    let [m, n, k] = mma.atom().tile();
    assert_eq!((64 / (4 * m), 64 / n, 64 / k), (1, 8, 4));
    assert_eq!(mma.fragment_a(BLOCK, D).unwrap().mode_sizes(), [8, 1, 4]);
    assert_eq!(mma.fragment_b(BLOCK, D).unwrap().mode_sizes(), [4, 8, 4]);
    assert_eq!(
        mma.fragment_c(BLOCK, BLOCK).unwrap().mode_sizes(),
        [4, 1, 8]
    );
}

#[test]
fn l4_a_warp_owns_16_rows_and_every_column() {
    let mma = article_mma();
    for warp in 0..4 {
        let owned: BTreeSet<(usize, usize)> = (32 * warp..32 * (warp + 1))
            .flat_map(|tid| {
                let part = mma.partition_c(&identity(), tid).unwrap();
                part.indices().map(coordinate).collect::<Vec<_>>()
            })
            .collect();
        let rows = 16 * warp..16 * (warp + 1);
        assert!(
            owned
                .into_iter()
                .eq(rows.flat_map(|m| (0..64).map(move |n| (m, n))))
        );
    }
}

#[test]
fn l5_the_accumulator_of_one_instruction() {
    let atom = MmaAtom::m16n8k16();
    for lane in 0..32 {
        let (_, g, q) = wgq(lane);
        let registers = [
            (g, 2 * q),
            (g, 2 * q + 1),
            (g + 8, 2 * q),
            (g + 8, 2 * q + 1),
        ];
        for (register, (row, col)) in registers.into_iter().enumerate() {
            assert_eq!(atom.c().at((lane, register)), row + 16 * col);
        }
    }
}

#[test]
fn l6_operand_a_of_every_thread() {
    for tid in 0..THREADS {
        let (w, g, q) = wgq(tid);
        let part = article_mma().partition_a(&identity(), tid).unwrap();
        for (a0, a1, a2, kappa) in bits_and(4) {
            let m = 16 * w + g + 8 * a1;
            let d = 16 * kappa + 2 * q + a0 + 8 * a2;
            assert_eq!(coordinate(part.at(((a0, a1, a2), 0, kappa))), (m, d));
        }
    }
}

#[test]
fn l6_operand_b_of_every_thread_is_the_same_for_every_warp() {
    for tid in 0..THREADS {
        let (_, g, q) = wgq(tid);
        let part = article_mma().partition_b(&identity(), tid).unwrap();
        for (b0, b1, _, kappa) in bits_and(4) {
            for nu in 0..8 {
                let n = 8 * nu + g;
                let d = 16 * kappa + 2 * q + b0 + 8 * b1;
                assert_eq!(coordinate(part.at(((b0, b1), nu, kappa))), (n, d));
            }
        }
        assert_eq!(
            part,
            article_mma().partition_b(&identity(), tid % 32).unwrap()
        );
    }
}

#[test]
fn l6_accumulator_of_every_thread() {
    for tid in 0..THREADS {
        let (w, g, q) = wgq(tid);
        let part = article_mma().partition_c(&identity(), tid).unwrap();
        for (c0, c1, _, nu) in bits_and(8) {
            let m = 16 * w + g + 8 * c1;
            let n = 8 * nu + 2 * q + c0;
            assert_eq!(coordinate(part.at(((c0, c1), 0, nu))), (m, n));
        }
    }
}

#[test]
fn l7_the_four_lanes_of_a_group_own_whole_rows() {
    let mma = article_mma();
    let parts: Vec<Partition> = (0..THREADS)
        .map(|tid| mma.partition_c(&identity(), tid).unwrap())
        .collect();
    for row in 0..BLOCK {
        let owners: BTreeSet<usize> = (0..THREADS)
            .filter(|&tid| parts[tid].indices().any(|i| coordinate(i).0 == row))
            .collect();
        let (w, g) = (row / 16, row % 8);
        let first = 32 * w + 4 * g;
        assert!(owners.iter().copied().eq(first..first + 4), "row {row}");
        // xor 1 and 2 stay among the four, and reach all of them.
        assert!(
            owners
                .iter()
                .all(|tid| owners.contains(&(tid ^ 1)) && owners.contains(&(tid ^ 2)))
        );
        let columns: usize = owners
            .iter()
            .map(|&tid| {
                parts[tid]
                    .indices()
                    .filter(|&i| coordinate(i).0 == row)
                    .count()
            })
            .sum();
        assert_eq!(columns, 64);
    }
    // Two rows a thread: two running maxima and sums.
    let view = row_col_view(&mma.fragment_c(BLOCK, BLOCK).unwrap()).unwrap();
    assert_eq!(view.mode_sizes(), [2, 16]);
}

#[test]
fn l8_p_as_a_is_a_view_of_the_registers_of_p_as_c() {
    let mma = article_mma();
    let as_c = mma.partition_c(&identity(), 0).unwrap().layout;
    let as_a = mma.partition_a(&identity(), 0).unwrap().layout;
    let view = as_c.left_inverse().unwrap().compose(&as_a).unwrap();
    assert_eq!(view.to_string(), "((_2,_2,_2),_1,_4):((_1,_2,_4),_0,_8)");
    for (a0, a1, a2, kappa) in bits_and(4) {
        let register = view.at(((a0, a1, a2), 0, kappa));
        assert_eq!(register, a0 + 2 * a1 + 4 * a2 + 8 * kappa);
        // r_C = c0 + 2 c1 + 4 nu with c0 = a0, c1 = a1, nu = 2 kappa + a2.
        assert_eq!(register, a0 + 2 * a1 + 4 * (2 * kappa + a2));
    }
    // The same view serves every thread, and each finds its own elements.
    assert_eq!(c_to_a(&mma, BLOCK, BLOCK).unwrap(), view);
}

#[test]
fn e1_eight_neighbouring_outputs_lie_in_four_lanes_two_each() {
    let mma = article_mma();
    let parts: Vec<Partition> = (0..THREADS)
        .map(|tid| mma.partition_c(&identity(), tid).unwrap())
        .collect();
    for row in 0..BLOCK {
        for vector in 0..D / 8 {
            let held: Vec<usize> = parts
                .iter()
                .map(|part| {
                    let here = |&i: &usize| coordinate(i).0 == row && coordinate(i).1 / 8 == vector;
                    part.indices().filter(here).count()
                })
                .filter(|&count| count > 0)
                .collect();
            assert_eq!(held, [2, 2, 2, 2]);
        }
    }
}

/// All `(x0, x1, x2, repeat)` with three bits and `repeats`.
fn bits_and(repeats: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    (0..8 * repeats).map(|i| (i % 2, i / 2 % 2, i / 4 % 2, i / 8))
}
