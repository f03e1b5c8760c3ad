//! The program `ptx-machine`, from its options to its exit status.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Adds `%step` to each word of `data`, and counts the threads in `count`.
const KERNEL: &str = ".version 9.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 data, .param .u64 count, .param .u32 step) {
.reg .b32 %r<6>; .reg .b64 %rd<5>;
ld.param.b64 %rd1, [data]; ld.param.b64 %rd4, [count]; ld.param.b32 %r2, [step];
mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
mad.lo.u32 %r1, %r3, %r4, %r1;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
ld.global.b32 %r3, [%rd3];
add.s32 %r3, %r3, %r2;
st.global.b32 [%rd3], %r3;
red.global.add.u32 [%rd4], 1;
ret; }";

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        fs::create_dir_all(&path).expect("a folder");
        let folder = Self(path);
        folder.write("step.ptx", KERNEL.as_bytes());
        let words: Vec<u8> = (0..128_u32).flat_map(u32::to_le_bytes).collect();
        folder.write("data.bin", &words);
        folder
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).expect("a file");
    }

    fn words(&self, name: &str) -> Vec<u32> {
        let bytes = fs::read(self.0.join(name)).expect("a file");
        let words = bytes.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
            .collect()
    }

    /// Runs the program here with `options`, separated by spaces.
    fn run(&self, options: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ptx-machine"))
            .current_dir(&self.0)
            .args(options.split_whitespace())
            .output()
            .expect("starts")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

const GOOD: &str = "run step.ptx --kernel step --grid 2 --block 64 \
    --buffer data=data.bin --buffer count=zeros:4 --arg data --arg count --arg u32:10";

#[test]
fn a_clean_run_prints_its_measures_and_writes_its_buffers() {
    let folder = Folder::new("clean");
    for schedule in ["", "--seed 3", "--seeds 2"] {
        let done = folder.run(&format!(
            "{GOOD} {schedule} --out data=out.bin --out count=count.bin"
        ));
        assert_eq!(text(&done.stderr), "");
        assert_eq!(done.status.code(), Some(0));
        assert_eq!(
            folder.words("out.bin"),
            (10..138).collect::<Vec<_>>(),
            "{schedule}"
        );
        assert_eq!(folder.words("count.bin"), [128]);
        let table = text(&done.stdout);
        assert!(table.starts_with("2 blocks, 4 warps,"), "{table}");
        assert!(table.contains("red.global.add.u32"), "{table}");
    }
}

#[test]
fn measures_are_printed_as_json() {
    let done = Folder::new("json").run(&format!("{GOOD} --json"));
    assert_eq!(done.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let measures = &report["measures"];
    assert_eq!(measures["warps"], 4);
    assert_eq!(measures["buffers"][0]["name"], "data");
    assert_eq!(measures["buffers"][0]["read"], 512);
    let instructions = measures["instructions"].as_object().expect("a map");
    let load = instructions
        .values()
        .find(|one| one["name"] == "ld.global.b32");
    assert_eq!(load.expect("ran")["sectors"], 16);
}

/// Three blocks of 64 threads, and 128 words.
#[test]
fn violations_are_printed_with_their_place() {
    let folder = Folder::new("violation");
    let options = GOOD.replace("--grid 2", "--grid 3");
    let done = folder.run(&format!("{options} --out data=never.bin"));
    assert_eq!(done.status.code(), Some(1));
    let table = text(&done.stdout);
    let first = table.lines().next().expect("a line");
    assert_eq!(
        first,
        "step, line 10 (ld.global.b32), block (2, 0, 0), warp 0, lane 0, address 0x100000000200: \
        4 bytes out of bounds"
    );
    assert!(!folder.0.join("never.bin").exists());
    let done = folder.run(&format!("{options} --json"));
    assert_eq!(done.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let violation = &report["violations"][0];
    assert_eq!(violation["kernel"], "step");
    assert_eq!(violation["line"], 10);
    assert_eq!(violation["block"][0], 2);
    assert_eq!(violation["warp"], 0);
    assert_eq!(violation["lane"], 0);
    assert_eq!(violation["kind"]["OutOfBounds"]["bytes"], 4);
}

/// Its parts that nobody wrote can't be saved, and what was never written can't be read.
#[test]
fn bytes_that_were_never_written_are_no_result() {
    let folder = Folder::new("unwritten");
    let done = folder.run(&format!(
        "{GOOD} --buffer spare=uninitialized:8 --out spare=spare.bin"
    ));
    assert_eq!(done.status.code(), Some(2));
    assert_eq!(
        text(&done.stderr),
        "error: reading a buffer: byte 0 of spare was never written\n"
    );
    let done = folder.run(&GOOD.replace("data=data.bin", "data=uninitialized:512"));
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stdout).contains("read of memory that was never written"));
}

#[test]
fn what_can_not_run_says_why() {
    let folder = Folder::new("wrong");
    folder.write("wrong.ptx", b".version 9.0\n.target sm_80\n.texref t;\n");
    let fails = |options: &str, message: &str| {
        let done = folder.run(options);
        assert_eq!(done.status.code(), Some(2), "{options}");
        assert_eq!(text(&done.stdout), "", "{options}");
        let error = text(&done.stderr);
        assert!(error.contains(message), "{options}: {error}");
    };
    fails(&GOOD.replace("step.ptx", "none.ptx"), "error: none.ptx: ");
    fails(
        &GOOD.replace("step.ptx", "wrong.ptx"),
        "error: wrong.ptx, line 3: ",
    );
    fails(
        &GOOD.replace("--kernel step", "--kernel stop"),
        "error: the module has no kernel stop",
    );
    fails(
        &GOOD.replace("--arg count", "--arg counts"),
        "error: no buffer is called counts; there are data, count",
    );
    fails(
        &format!("{GOOD} --out o=o.bin"),
        "error: no buffer is called o; there are data, count",
    );
    fails(
        &format!("{GOOD} --buffer data=zeros:4"),
        "error: two buffers are called data",
    );
    fails(
        &format!("{GOOD} --arg u32:1"),
        "error: the kernel takes 3 arguments, not 4",
    );
    fails(
        &GOOD.replace("u32:10", "u64:10"),
        "error: argument 2 has 8 bytes, its parameter 4",
    );
    fails(
        &GOOD.replace("--block 64", "--block 64,32"),
        "the kernel takes 1 to 1024",
    );
    fails(
        &GOOD.replace("data=data.bin", "data=none.bin"),
        "error: none.bin: ",
    );
    fails(&GOOD.replace("u32:10", "u16:10"), "no type of an argument");
    fails(&format!("{GOOD} --seed 1 --seeds 2"), "cannot be used with");
}
