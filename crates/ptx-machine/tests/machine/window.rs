//! Where shared memory lies: behind the bytes that the system keeps, and aligned as declared.

use crate::kernel::{computes, is_caught};
use ptx_machine::{GlobalMemory, Launch, LaunchError, Module, ViolationKind};

/// Threads of the kernel that flips a bit, one for each word of 64 bytes of its tile.
const THREADS: u32 = 64;

/// Each thread stores at its place with a bit of the address flipped, and loads from where the tile
/// has the place with that bit of the offset flipped: the same if the bit lies below the alignment.
fn flip(align: u32, bit: u32) -> Result<Vec<u32>, LaunchError> {
    let module = Module::parse(&format!(
        ".version 9.0
        .target sm_80
        .address_size 64
        .extern .shared .align {align} .b8 tile[];
        .visible .entry k(.param .u64 result) {{
        .reg .b32 %r<8>; .reg .b64 %rd<4>;
        ld.param.b64 %rd1, [result];
        mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
        mov.u32 %r2, tile; shl.b32 %r3, %r1, 6;
        add.u32 %r4, %r2, %r3; xor.b32 %r4, %r4, {bit};
        st.shared.b32 [%r4], %r1;
        bar.sync 0;
        xor.b32 %r5, %r3, {bit}; add.u32 %r5, %r2, %r5;
        ld.shared.b32 %r6, [%r5];
        st.global.b32 [%rd2], %r6;
        ret; }}"
    ))
    .expect("parses");
    let mut memory = GlobalMemory::new();
    let result = memory.allocate("result", &[0; 4 * THREADS as usize]);
    Launch::new(&module, "k")?
        .block([THREADS, 1, 1])
        .dynamic_shared(64 * THREADS as usize)
        .pointer(result)
        .run(&memory)?;
    let bytes = memory.read(result, 4 * THREADS as usize).expect("inside");
    let words = bytes.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect())
}

/// A tile of 4096 bytes with the alignment of one swizzle, and a wider swizzle of its addresses.
#[test]
fn swizzle_wider_than_the_alignment_is_caught() {
    for align in [64, 128, 1024] {
        let own = (0..THREADS).collect::<Vec<_>>();
        assert_eq!(flip(align, align / 2).expect("clean"), own);
        for bit in [align, 2048] {
            match flip(align, bit) {
                Err(LaunchError::Violations(found)) => assert!(
                    { found.iter() }.any(|one| one.kind == ViolationKind::OutOfBounds { bytes: 4 }),
                    "{found:?}"
                ),
                other => panic!("alignment {align}, bit {bit}: {other:?}"),
            }
        }
    }
}

/// Between two symbols a wrong address need not leave the window, but it is another one.
#[test]
fn flipped_bit_of_a_later_symbol_finds_another_place() {
    let body = |bit: u32| {
        format!(
            ".shared .align 512 .b8 wide[512];
            mov.u32 %r4, wide; xor.b32 %r5, %r4, {bit};
            add.u32 %r4, %r4, %r3; st.shared.b32 [%r4+256], %r1;
            add.u32 %r5, %r5, %r3; ld.shared.b32 %r6, [%r5];
            st.global.b32 [%rd5], %r6; ret;"
        )
    };
    computes(&body(256), |i| i);
    is_caught(&body(512), |kind| {
        matches!(kind, ViolationKind::UninitializedMemory)
    });
}

/// The tile asks for 16 bytes, so that it begins 16 bytes behind the kilobyte that the system keeps.
#[test]
fn bytes_before_the_first_symbol_belong_to_nobody() {
    let first = "setp.ne.u32 %p1, %r1, 0; @%p1 bra $end; cvt.u32.u64 %r4, %rd6; cvta.shared.u64 %rd7, %rd6;";
    let clean = |access: &str| computes(&format!("{first} {access} $end: ret;"), |_| 0);
    let outside = |access: &str, size: u32| {
        is_caught(
            &format!("{first} {access} $end: ret;"),
            |kind| matches!(kind, ViolationKind::OutOfBounds { bytes } if *bytes == size),
        );
    };
    clean("st.shared.b32 [1040], %r1; ld.shared.b32 %r5, [%r4]; ld.b32 %r5, [%rd7];");
    clean("st.shared.u8 [%r4+1023], %r1; ld.shared.u8 %r5, [2063];");
    for address in ["0", "16", "1020", "1024", "%r4-4", "tile-1040"] {
        outside(&format!("st.shared.b32 [{address}], %r1;"), 4);
        outside(&format!("ld.shared.b32 %r5, [{address}];"), 4);
        outside(&format!("red.shared.add.u32 [{address}], 1;"), 4);
        outside(
            &format!("cp.async.ca.shared.global [{address}], [%rd1], 4; cp.async.wait_all;"),
            4,
        );
    }
    outside("st.b32 [%rd7-4], %r1;", 4);
    outside("ld.b32 %r5, [%rd7-1040];", 4);
    outside(
        "cvta.to.shared.u64 %rd7, %rd7; cvt.u32.u64 %r5, %rd7; ld.shared.b32 %r5, [%r5-16];",
        4,
    );
    outside("atom.shared.exch.b32 %r5, [%r4-1036], 1;", 4);
    is_caught(
        "cvt.u32.u64 %r4, %rd6; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4-16]; ret;",
        |kind| matches!(kind, ViolationKind::OutOfBounds { bytes: 16 }),
    );
}
