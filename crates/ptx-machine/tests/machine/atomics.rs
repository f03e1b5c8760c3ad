//! Atomics and reductions.

use crate::kernel::{THREADS, run};

#[test]
fn atomics_add_up() {
    let (result, _) = run("red.global.add.u32 [%rd2], %r1; ret;").expect("clean");
    assert_eq!(result[0], (0..THREADS).sum());
}
