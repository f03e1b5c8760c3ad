//! `ldmatrix` and `stmatrix` in every form: which half of which row each lane gets.

use crate::kernel::computes;

/// Fills the shared memory with 512 halves, half `i` being `i`, and gives a row's address in `%r8`
/// to each lane: lane `l` names row `l`, of 16 bytes.
const ROWS: &str = "shl.b32 %r4, %r1, 4; shl.b32 %r5, %r1, 3; cvt.u32.u64 %r8, %rd6;
    add.s32 %r8, %r8, %r4;
    mul.lo.u32 %r5, %r5, 65537; add.u32 %r5, %r5, 65536; add.u32 %r6, %r5, 131074;
    st.shared.v2.b32 [%r8], {%r5, %r6};
    add.u32 %r5, %r5, 262148; add.u32 %r6, %r6, 262148; st.shared.v2.b32 [%r8+8], {%r5, %r6};
    bar.sync 0; and.b32 %r4, %r4, 511; cvt.u32.u64 %r8, %rd6; add.s32 %r8, %r8, %r4;";

/// The two halves that lane `lane` has of matrix `matrix`, whose row `r` starts at half `8 r`.
fn halves(lane: u32, matrix: u32, transposed: bool) -> u32 {
    let element = |half| {
        let (slow, fast) = (lane / 4, lane % 4 * 2 + half);
        let (row, column) = if transposed {
            (fast, slow)
        } else {
            (slow, fast)
        };
        64 * matrix + 8 * row + column
    };
    element(0) | element(1) << 16
}

#[test]
fn loads_of_one_two_and_four_matrices_give_their_halves() {
    for (suffix, transposed) in [("", false), (".trans", true)] {
        for (count, registers) in [(1, "{%r4}"), (2, "{%r4, %r5}"), (4, "{%r4, %r5, %r6, %r7}")] {
            for matrix in 0..count {
                computes(
                    &format!(
                        "{ROWS} ldmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 {registers}, [%r8];
                        st.global.b32 [%rd5], %r{}; ret;",
                        4 + matrix
                    ),
                    |i| halves(i % 32, matrix, transposed),
                );
            }
        }
    }
}

/// A store is the inverse of a load of the same form.
#[test]
fn stores_put_back_what_loads_took() {
    for suffix in ["", ".trans"] {
        for (count, registers) in [(1, "{%r4}"), (2, "{%r4, %r5}"), (4, "{%r4, %r5, %r6, %r7}")] {
            computes(
                &format!(
                    "{ROWS} setp.ge.u32 %p1, %r1, 32; @%p1 bra $end;
                    ldmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 {registers}, [%r8];
                    bar.warp.sync -1;
                    mov.b32 %r9, 0; st.shared.v4.b32 [%r8], {{%r9, %r9, %r9, %r9}}; bar.warp.sync -1;
                    stmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 [%r8], {registers};
                    bar.warp.sync -1;
                    ld.shared.b32 %r9, [%r8+4]; st.global.b32 [%rd5], %r9;
                    $end: ret;"
                ),
                // Halves 2 and 3 of row `i`, of the matrices that were stored.
                |i| match i < 8 * count {
                    true => (8 * i + 2) | ((8 * i + 3) << 16),
                    false => 0,
                },
            );
        }
    }
}
