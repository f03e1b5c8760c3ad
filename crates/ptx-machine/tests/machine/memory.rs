//! Loads and stores: where they may go, and what is there.

use crate::kernel::is_caught;
use ptx_machine::ViolationKind;

#[test]
fn accesses_outside_and_askew_are_caught() {
    is_caught("ld.global.b32 %r4, [%rd4+256]; ret;", |kind| {
        matches!(kind, ViolationKind::OutOfBounds { bytes: 4 })
    });
    is_caught("ld.global.b32 %r4, [%rd4+2]; ret;", |kind| {
        matches!(kind, ViolationKind::Misaligned { bytes: 4 })
    });
    is_caught("st.shared.b32 [%r2+1024], %r1; ret;", |kind| {
        matches!(kind, ViolationKind::OutOfBounds { bytes: 4 })
    });
    is_caught(
        "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1+8]; ret;",
        |kind| matches!(kind, ViolationKind::Misaligned { bytes: 16 }),
    );
}

#[test]
fn what_was_never_set_is_caught() {
    is_caught("ld.shared.b32 %r4, [%r2]; ret;", |kind| {
        matches!(kind, ViolationKind::UninitializedMemory)
    });
    is_caught(
        "add.s32 %r4, %r5, 1; ret;",
        |kind| matches!(kind, ViolationKind::UndefinedRegister { name } if name == "%r5"),
    );
    is_caught(
        "@%p1 ret; ret;",
        |kind| matches!(kind, ViolationKind::UndefinedRegister { name } if name == "%p1"),
    );
}
