//! Vector loads and stores of global and of shared memory.

use crate::kernel::{computes, run};

/// Every width moves its elements in order: by threads 0 to 15, to the same words of the result.
fn moves(load: &str, store: &str) {
    computes(
        &format!(
            "setp.ge.u32 %p1, %r1, 16; @%p1 bra $end;
            mul.wide.u32 %rd7, %r1, 16; add.s64 %rd3, %rd1, %rd7; add.s64 %rd4, %rd2, %rd7;
            shl.b32 %r9, %r1, 4; cvt.u32.u64 %r8, %rd6; add.s32 %r8, %r8, %r9;
            {load}
            {store}
            $end: ret;"
        ),
        |i| i,
    );
}

#[test]
fn vectors_of_four_words_move_through_every_memory() {
    for ty in ["b32", "f32", "u32"] {
        moves(
            &format!("ld.global.v4.{ty} {{%r4, %r5, %r6, %r7}}, [%rd3];"),
            &format!("st.global.v4.{ty} [%rd4], {{%r4, %r5, %r6, %r7}};"),
        );
        moves(
            &format!(
                "ld.global.v4.{ty} {{%r4, %r5, %r6, %r7}}, [%rd3];
                st.shared.v4.{ty} [%r8], {{%r7, %r6, %r5, %r4}};"
            ),
            &format!(
                "ld.shared.v4.{ty} {{%r4, %r5, %r6, %r7}}, [%r8];
                st.global.v4.{ty} [%rd4], {{%r7, %r6, %r5, %r4}};"
            ),
        );
    }
}

#[test]
fn vectors_of_two_words_move_through_every_memory() {
    for ty in ["b32", "f32"] {
        moves(
            &format!(
                "ld.global.v2.{ty} {{%r4, %r5}}, [%rd3]; ld.global.v2.{ty} {{%r6, %r7}}, [%rd3+8];
                st.shared.v2.{ty} [%r8], {{%r4, %r5}}; st.shared.v2.{ty} [%r8+8], {{%r6, %r7}};"
            ),
            &format!(
                "ld.shared.v2.{ty} {{%r6, %r7}}, [%r8+8]; ld.shared.v2.{ty} {{%r4, %r5}}, [%r8];
                st.global.v2.{ty} [%rd4], {{%r4, %r5}}; st.global.v2.{ty} [%rd4+8], {{%r6, %r7}};"
            ),
        );
    }
}

/// A wide element, read by the words that a store of narrow ones left.
#[test]
fn widths_may_differ_between_a_store_and_a_load() {
    moves(
        "ld.global.v2.b64 {%rd3, %rd5}, [%rd3]; st.shared.v2.b64 [%r8], {%rd3, %rd5};",
        "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r8];
        st.global.v4.b32 [%rd4], {%r4, %r5, %r6, %r7};",
    );
}

/// Narrow elements are extended by their sign; a store takes the low bits.
#[test]
fn narrow_elements_are_extended() {
    computes(
        "mov.b32 %r4, -2; st.shared.b16 [%r2], %r4; st.shared.u8 [%r2+2], %r4;
        ld.shared.s16 %r5, [%r2]; ld.shared.u8 %r6, [%r2+2]; ld.shared.s8 %r7, [%r2+2];
        add.s32 %r5, %r5, %r6; add.s32 %r5, %r5, %r7; st.global.b32 [%rd5], %r5; ret;",
        |_| (-2 + 0xfe - 2) as u32,
    );
}

/// 32 lanes of 16 bytes are 512 bytes: four accesses of shared memory, sixteen sectors of global.
#[test]
fn a_vector_access_is_measured_as_a_whole() {
    let (_, measures) = run("mov.b32 %r4, 7; shl.b32 %r5, %r1, 4; and.b32 %r5, %r5, 511;
        cvt.u32.u64 %r6, %rd6; add.s32 %r6, %r6, %r5; setp.ge.u32 %p1, %r1, 32;
        @%p1 bra $end; st.shared.v4.b32 [%r6], {%r4, %r4, %r4, %r4};
        $end: ret;")
    .expect("clean");
    let store = |one: &&ptx_machine::InstructionMeasures| one.name == "st.shared.v4.b32";
    let store = measures.instructions.values().find(store).expect("ran");
    assert_eq!((store.shared_minimum, store.shared_wavefronts), (4, 4));
    assert_eq!(measures.shared_written, 512);
}
