//! CuTe's program: compiled for the host, and run.

use std::env;
use std::path::Path;
use std::process::{Command, Output};

/// Folders of CuTe's and CUDA's headers, as the build script found them.
const INCLUDES: &str = env!("FA2_CUTE_INCLUDES");

/// What `layouts/print.cu` prints.
pub(crate) fn output() -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("print-layouts");
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let mut compile = Command::new(compiler);
    compile.args(["-x", "c++", "-std=c++17", "-w"]);
    compile.arg("-I").arg(package.join("include"));
    for include in env::split_paths(INCLUDES) {
        compile.arg("-I").arg(include);
    }
    compile.arg(package.join("layouts/print.cu"));
    run(compile.arg("-o").arg(&program));
    String::from_utf8(run(&mut Command::new(&program)).stdout).unwrap()
}

fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} can't be started: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    output
}
