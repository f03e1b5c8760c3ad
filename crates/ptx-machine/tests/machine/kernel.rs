//! A small kernel around a few instructions, its run under several schedules, and what to expect of it.

use ptx_machine::{GlobalMemory, Launch, LaunchError, Measures, Module, ViolationKind};

/// Threads of the kernels here.
pub(crate) const THREADS: u32 = 64;

/// A kernel `k(u64 source, u64 result)` with some registers and 1 KiB of shared memory.
pub(crate) fn module(body: &str) -> Module {
    Module::parse(&format!(
        ".version 9.0
            .target sm_80
            .address_size 64
        .shared .align 16 .b8 tile[1024];
        .visible .entry k(.param .u64 source, .param .u64 result) {{
        .reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
        ld.param.b64 %rd1, [source];
        ld.param.b64 %rd2, [result];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
        mov.b64 %rd6, tile; cvt.u32.u64 %r2, %rd6;
        shl.b32 %r3, %r1, 2;
        add.s32 %r2, %r2, %r3;
        {body}
        }}"
    ))
    .expect("parses")
}

/// Runs the kernel on `source[i] = i`, and returns `result`.
pub(crate) fn run(body: &str) -> Result<(Vec<u32>, Measures), LaunchError> {
    let module = module(body);
    let mut memory = GlobalMemory::new();
    let bytes: Vec<u8> = (0..THREADS).flat_map(u32::to_le_bytes).collect();
    let source = memory.allocate("source", &bytes);
    let result = memory.allocate("result", &vec![0; bytes.len()]);
    let measures = Launch::new(&module, "k")?
        .block([THREADS, 1, 1])
        .pointer(source)
        .pointer(result)
        .limit(10_000)
        .run_seeds(&memory, 8)?;
    let bytes = memory.read(result, bytes.len()).expect("inside");
    let words = bytes.chunks_exact(4);
    let result = words.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    Ok((result.collect(), measures))
}

#[track_caller]
pub(crate) fn computes(body: &str, expected: impl Fn(u32) -> u32) {
    let (result, _) = run(body).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result, (0..THREADS).map(expected).collect::<Vec<_>>());
}

#[track_caller]
pub(crate) fn is_caught(body: &str, expected: impl Fn(&ViolationKind) -> bool) {
    match run(body) {
        Err(LaunchError::Violations(found)) => {
            assert!(found.iter().any(|one| expected(&one.kind)), "{found:?}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("nobody saw it"),
    }
}
