//! What a launch takes and what it gives.

use crate::kernel::{module, run};
use ptx_machine::{GlobalMemory, Launch, LaunchError};

#[test]
fn measures_count_what_ran() {
    let (_, measures) =
        run("ld.global.b32 %r4, [%rd4]; st.global.b32 [%rd5], %r4; ret;").expect("clean");
    assert_eq!(measures.count("ld.global"), 2);
    assert_eq!(measures.lane_instructions(), 64 * 13);
    assert_eq!(
        measures.buffer("source").map(|buffer| buffer.read),
        Some(256)
    );
    assert_eq!(
        measures.buffer("result").map(|buffer| buffer.written),
        Some(256)
    );
    assert!(measures.to_string().contains("ld.global.b32"));
}

#[test]
fn a_launch_must_fit_its_kernel() {
    let module = module("ret;");
    let memory = GlobalMemory::new();
    let launch = Launch::new(&module, "k").expect("exists");
    let error = launch.clone().run(&memory);
    assert!(matches!(
        error,
        Err(LaunchError::Arguments {
            expected: 2,
            found: 0
        })
    ));
    let error = launch
        .clone()
        .argument(&[0; 4])
        .argument(&[0; 8])
        .run(&memory);
    assert!(matches!(
        error,
        Err(LaunchError::ArgumentSize { index: 0, .. })
    ));
    let error = launch.block([2048, 1, 1]).run(&memory);
    assert!(matches!(error, Err(LaunchError::BlockSize { .. })));
    assert!(matches!(
        Launch::new(&module, "other"),
        Err(LaunchError::NoKernel { .. })
    ));
}
