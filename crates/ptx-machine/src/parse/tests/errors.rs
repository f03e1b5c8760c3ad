//! Each error, with its line and names.

use super::{message, module, parse};
use crate::{module::Module, parse::ParseError};

const UNSUPPORTED: &[&str] = &[
    "add.b32 %r0, %r1, %r2;",
    "add.rn.u32 %r0, %r1, %r2;",
    "add.rz.f64 %d0, %d1, %d2;",
    "add.ftz.bf16 %h0, %h1, %h2;",
    "div.approx.f64 %d0, %d1, %d2;",
    "fma.rn.relu.f16 %h0, %h1, %h2, %h3;",
    "mul.wide.u64 %d0, %d1, %d2;",
    "neg.u32 %r0, %r1;",
    "max.rn.f32 %r0, %r1, %r2;",
    "max.relu.u32 %r0, %r1, %r2;",
    "ex2.f32 %r0, %r1;",
    "cvt.f16.f32 %h0, %r0;",
    "cvt.s32.f32 %r0, %r1;",
    "cvt.rn.s32.f32 %r0, %r1;",
    "cvta.local.u64 %d0, %d1;",
    "setp.lt.b32 %p0, %r0, %r1;",
    "setp.lt.f16x2 %p0|%p1, %r0, %r1;",
    "prmt.b32.f4e %r0, %r1, %r2, %r3;",
    "ld.const.u32 %r0, [%d0];",
    "ld.local.u32 %r0, [%d0];",
    "ld.global.v4.f64 {%d0, %d1, %d2, %d3}, [%d4];",
    "st.param.u32 [p1], %r0;",
    "ldmatrix.sync.aligned.m8n8.x4.b16 {%r0,%r1,%r2,%r3}, [%d0];",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0}, {%r4}, {%r6}, {%r0};",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0}, {%r4}, {%r8}, {%r0};",
    "cp.async.bulk.commit_group;",
    "cp.async.mbarrier.arrive.shared.b64 [%r0];",
    "bar.arrive 0, 64;",
    "bar.red.popc.u32 %r0, 0, %p0;",
    "shfl.up.b32 %r0, %r1, 1, 0;",
    "red.global.exch.b32 [%d0], %r0;",
    "red.shared.add.v4.f32 [%r8], {%r0, %r1, %r2, %r3};",
    "red.global.add.v8.f32 [%d0], {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7};",
    "red.global.min.v2.u32 [%d0], {%r0, %r1};",
    "atom.global.add.s64 %d0, [%d1], %d2;",
    "call f;",
    "trap;",
];

#[test]
fn unknown_instructions_and_suffixes_are_named_in_full() {
    assert_eq!(
        message("wgmma.fence.sync.aligned;"),
        "line 6: instruction wgmma.fence.sync.aligned is not supported"
    );
    for text in UNSUPPORTED {
        let name = text.split([' ', ';']).next().unwrap();
        assert_eq!(
            message(text),
            format!("line 6: instruction {name} is not supported")
        );
    }
}

#[test]
fn undeclared_names() {
    assert_eq!(
        message("\nadd.s32 %r0, %r1, %r99;"),
        "line 7: %r99 is not declared"
    );
    assert_eq!(
        message("add.s32 %q, %r1, %r2;"),
        "line 6: %q is not declared"
    );
    assert_eq!(
        message("mov.u32 %r0, %smid;"),
        "line 6: %smid is not declared"
    );
    assert_eq!(
        message("mov.u32 %r0, %tid.w;"),
        "line 6: %tid.w is not declared"
    );
    assert_eq!(
        message("ld.param.u32 %r0, [p9];"),
        "line 6: p9 is not declared"
    );
    assert_eq!(message("@%p9 ret;"), "line 6: %p9 is not declared");
    assert_eq!(message("bra L;"), "line 6: label L does not exist");
    assert_eq!(
        message("{ L: ret; }\nbra L;"),
        "line 7: label L does not exist"
    );
    assert_eq!(
        message("{ .reg .b32 t; }\nmov.b32 t, 1;"),
        "line 7: t is not declared"
    );
}

#[test]
fn operand_counts() {
    assert_eq!(
        message("add.s32 %r0, %r1;"),
        "line 6: add.s32 takes 3 operands, found 2"
    );
    assert_eq!(message("ret %r0;"), "line 6: ret takes 0 operands, found 1");
    assert_eq!(
        message("cp.async.ca.shared.global [%r0], [%d0];"),
        "line 6: cp.async.ca.shared.global takes 3 or 4 operands, found 2"
    );
}

#[test]
fn operand_forms_and_widths() {
    let cases = [
        ("add.s32", "%r0, %d1, %r2", "a value of 32 bits", 2, "%d1"),
        ("add.f32", "%r0, %p1, %r2", "a value of 32 bits", 2, "%p1"),
        ("setp.eq.u32", "%r0, %r1, %r2", "a predicate", 1, "%r0"),
        (
            "ld.global.v4.u32",
            "{%r0, %r1}, [%d0]",
            "4 registers",
            1,
            "{%r0, %r1}",
        ),
        (
            "ld.global.u32",
            "%r0, %d0",
            "an address in brackets",
            2,
            "%d0",
        ),
        (
            "ld.global.u64",
            "%r0, [%d0]",
            "a register of at least 64 bits",
            1,
            "%r0",
        ),
        ("cp.async.cg.shared.global", "[%r0], [%d0], 8", "16", 3, "8"),
        // `ignore-src` is a predicate where a size may stand.
        (
            "cp.async.cg.shared.global",
            "[%r0], [%d0], 16, %p0",
            "a value of 32 bits",
            4,
            "%p0",
        ),
        (
            "mov.b64",
            "{%r0, %r1, %r2}, %d0",
            "2 or 4 equal parts of at least 16 bits",
            1,
            "{%r0, %r1, %r2}",
        ),
        (
            "lop3.b32",
            "%r0, %r1, %r2, %r3, 256",
            "a constant of 8 bits",
            5,
            "256",
        ),
        (
            "ld.global.u32",
            "%r0, [p1]",
            "an address of its state space",
            2,
            "[p1+0]",
        ),
        ("bra", "5", "a label", 1, "5"),
    ];
    for (name, operands, takes, position, found) in cases {
        let expected = format!("line 6: {name} takes {takes} as operand {position}, found {found}");
        assert_eq!(message(&format!("{name} {operands};")), expected);
    }
}

#[test]
fn constants_that_do_not_fit() {
    assert_eq!(
        message("mov.b16 %h0, 65536;"),
        "line 6: 65536 does not fit in 16 bits"
    );
    assert_eq!(
        message("mov.b16 %h0, -32769;"),
        "line 6: -32769 does not fit in 16 bits"
    );
    assert_eq!(
        message("cvt.u32.u8 %r0, 256;"),
        "line 6: 256 does not fit in 8 bits"
    );
}

#[test]
fn constants_of_the_wrong_kind() {
    assert_eq!(
        message("add.f32 %r0, %r1, 1;"),
        "line 6: add.f32 takes a floating-point constant as operand 3, found 1"
    );
    assert_eq!(
        message("add.f64 %d0, %d1, 1;"),
        "line 6: add.f64 takes a floating-point constant as operand 3, found 1"
    );
}

#[test]
fn declared_twice() {
    assert_eq!(message("L: ret;\nL: ret;"), "line 7: L is declared twice");
    assert_eq!(message(".reg .b32 %r0;"), "line 6: %r0 is declared twice");
    assert_eq!(
        message(".shared .b8 tile[4];"),
        "line 6: tile is declared twice"
    );
    let text = ".target sm_80\n.entry k(.param .u32 a,\n.param .u32 a) { ret; }";
    assert_eq!(
        Module::parse(text).unwrap_err().to_string(),
        "line 3: a is declared twice"
    );
}

#[test]
fn broken_grammar() {
    let cases = [
        ("add.s32 %r0 %r1;", "a comma or a semicolon, found %r1"),
        ("add.s32 %r0, ;", "an operand, found ;"),
        ("ld.global.u32 %r0, [%d0+x];", "an offset in bytes, found x"),
        ("@%r0 ret;", "a predicate, found %r0"),
        ("#", "a name, a number or punctuation, found #"),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text), format!("line 6: expected {expected}"));
    }
    assert_eq!(
        message(".local .b8 depot[8];"),
        "line 6: directive .local is not supported"
    );
}

#[test]
fn missing_brace_ends_in_an_error() {
    let text = module("ret;");
    let open = text.trim_end().strip_suffix('}').unwrap();
    let error = Module::parse(open).unwrap_err();
    assert!(
        matches!(
            error,
            ParseError::Syntax {
                expected: "a statement",
                ..
            }
        ),
        "{error}"
    );
    assert!(parse("ret;").is_ok());
}

#[test]
fn module_directives() {
    let error = |text: &str| Module::parse(text).unwrap_err().to_string();
    assert_eq!(error(".version 8.0"), "the module has no .target sm_NN");
    assert_eq!(
        error(".target compute_80"),
        "line 1: expected a target of the form sm_NN, found compute_80"
    );
    assert_eq!(
        error(".target sm_80\n.func f() { ret; }"),
        "line 2: directive .func is not supported"
    );
    assert_eq!(
        error(".target sm_80\n.global .b8 g[4];"),
        "line 2: directive .global is not supported"
    );
    assert_eq!(
        error(".target sm_80\n.entry k(.param .b8 a[]) { ret; }"),
        "line 2: expected a parameter of known size, found .b8"
    );
}
