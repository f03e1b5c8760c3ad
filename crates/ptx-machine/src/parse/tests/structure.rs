//! Declarations, scopes, labels and operands.

use super::parse;
use crate::{
    alu::AluKind,
    module::{
        Address, AddressBase, Axis, Comparison, Guard, Kernel, Module, Op, Operand, Parameter,
        RegisterClass, RegisterId, SharedSymbol, Special,
    },
};

/// Index of the first register of a class, in the order that the tests declare them.
const P: u32 = 0;
const R: u32 = 16;
const D: u32 = 32;
/// Registers that the tests declare.
const DECLARED: u32 = 48;

fn source(text: &str) -> Operand {
    let kernel = parse(text).unwrap();
    match &kernel.code[0].op {
        Op::Alu { sources, .. } => *sources.last().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Kind and destination of each lanewise instruction.
fn results(kernel: &Kernel) -> Vec<(AluKind, u32)> {
    let result = |op: &Op| match op {
        Op::Alu {
            op, destination, ..
        } => (op.kind, destination.0),
        other => panic!("{other:?}"),
    };
    kernel
        .code
        .iter()
        .map(|instruction| result(&instruction.op))
        .collect()
}

#[test]
fn header_gives_target_threads_and_the_parameter_space() {
    let text = "
        .version 8.5 // comment
        .target sm_90a, debug
        .address_size 64
        /* a block
           comment */
        .file 1 \"kernel.cu\"
        .visible .entry k(
            .param .u32 a,
            .param .u64 .ptr .global .align 1 b,
            .param .b16 c,
            .param .align 16 .b8 d[20]
        )
        .maxntid 256 .reqntid 32, 4 .minnctapersm 1
        .pragma \"nounroll\";
        { .loc 1 2 3
          ret; }
        .entry empty { ret; }
        .section .debug_abbrev { .b8 1 }";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.sm, 90);
    let [kernel, empty] = &module.kernels[..] else {
        panic!()
    };
    assert_eq!(kernel.required_threads, Some([32, 4, 1]));
    assert_eq!(empty.required_threads, None);
    let expected = [
        ("a", 0, 4, 4),
        ("b", 8, 8, 8),
        ("c", 16, 2, 2),
        ("d", 32, 20, 16),
    ];
    let parameter = |(name, offset, bytes, align)| Parameter {
        name: String::from(name),
        offset,
        bytes,
        align,
    };
    assert_eq!(kernel.parameters, expected.map(parameter));
    assert_eq!(kernel.code[0].line, 17);
}

#[test]
fn shared_symbols_of_module_and_kernel() {
    let kernel = parse(".shared .align 8 .f32 local[4][8]; .shared .b32 word; ret;").unwrap();
    let expected = [
        ("tile", 16, Some(1024)),
        ("dynamic", 16, None),
        ("local", 8, Some(128)),
        ("word", 4, Some(4)),
    ];
    let symbol = |(name, align, bytes)| SharedSymbol {
        name: String::from(name),
        align,
        bytes,
    };
    assert_eq!(kernel.shared, expected.map(symbol));
}

#[test]
fn registers_have_the_width_of_their_type() {
    let kernel = parse(".reg .f32 %f<2>; .reg .s64 a, b; .reg .f16x2 v; ret;").unwrap();
    let added = &kernel.registers[DECLARED as usize..];
    let found: Vec<_> = added.iter().map(|r| (r.name.as_str(), r.class)).collect();
    let (word, long) = (RegisterClass::B32, RegisterClass::B64);
    assert_eq!(
        found,
        [
            ("%f0", word),
            ("%f1", word),
            ("a", long),
            ("b", long),
            ("v", word)
        ]
    );
}

#[test]
fn inner_registers_shadow_outer_ones_until_the_brace() {
    let text = "mov.b32 %r0, 1;
        { .reg .b32 %r0; mov.b32 %r0, 2; { mov.b32 %r0, 3; } }
        mov.b32 %r0, 4;";
    let kernel = parse(text).unwrap();
    let destinations: Vec<_> = results(&kernel).into_iter().map(|(_, id)| id).collect();
    assert_eq!(destinations, [R, DECLARED, DECLARED, R]);
}

#[test]
fn labels_lead_forwards_backwards_outwards_and_to_the_end() {
    let kernel = parse("A: @%p1 bra A; @!%p2 bra.uni B; { A: bra A; bra B; } B:").unwrap();
    let branch = |op: &Op| match *op {
        Op::Branch { target, uniform } => (target, uniform),
        _ => panic!("{op:?}"),
    };
    let branches: Vec<_> = kernel
        .code
        .iter()
        .map(|instruction| branch(&instruction.op))
        .collect();
    assert_eq!(branches, [(0, false), (4, true), (2, false), (4, false)]);
    let guard = |index, negated| {
        Some(Guard {
            predicate: RegisterId(P + index),
            negated,
        })
    };
    assert_eq!(kernel.code[0].guard, guard(1, false));
    assert_eq!(kernel.code[1].guard, guard(2, true));
    assert_eq!(kernel.code[2].guard, None);
}

#[test]
fn constants_have_the_width_of_the_type() {
    let cases = [
        ("mov.b32 %r0, -1;", 0xFFFF_FFFF),
        ("mov.b32 %r0, 0x1F;", 31),
        ("mov.b32 %r0, 017;", 15),
        ("mov.b32 %r0, 0b101;", 5),
        ("mov.b32 %r0, 12U;", 12),
        ("mov.b64 %d0, -2;", u64::MAX - 1),
        ("mov.b16 %h0, -32768;", 0x8000),
        ("mov.f32 %r0, 0f3F800000;", 0x3F80_0000),
        ("mov.b32 %r0, 0fFF800000;", 0xFF80_0000),
        ("mov.f32 %r0, 1.5;", 0x3FC0_0000),
        ("mov.f32 %r0, -1.5e0;", 0xBFC0_0000),
        ("mov.f64 %d0, 0d3FF0000000000000;", 0x3FF0_0000_0000_0000),
        ("add.f64 %d0, %d1, 0f3F800000;", 0x3FF0_0000_0000_0000),
        ("add.f32 %r0, %r1, 0d3FF0000000000000;", 0x3F80_0000),
        ("mov.u32 %r0, WARP_SZ;", 32),
        ("add.s16 %h0, %h1, -1;", 0xFFFF),
        ("mul.wide.u16 %r0, %h1, 0xFFFF;", 0xFFFF),
        ("mov.pred %p0, 1;", 1),
        ("mov.b64 %d0, p2;", 16),
        ("mov.b64 %d0, p2+8;", 24),
    ];
    for (text, bits) in cases {
        assert_eq!(source(text), Operand::Immediate(bits), "{text}");
    }
}

#[test]
fn special_registers_and_symbols() {
    let cases = [
        ("%tid.x", Operand::Special(Special::ThreadId(Axis::X))),
        ("%ntid.y", Operand::Special(Special::Threads(Axis::Y))),
        ("%ctaid.z", Operand::Special(Special::BlockId(Axis::Z))),
        ("%nctaid.x", Operand::Special(Special::Blocks(Axis::X))),
        ("%laneid", Operand::Special(Special::Lane)),
        ("%warpid", Operand::Special(Special::Warp)),
        (
            "%lanemask_lt",
            Operand::Special(Special::LaneMask(Comparison::Lt)),
        ),
        ("%clock", Operand::Special(Special::Clock)),
        (
            "tile",
            Operand::SharedAddress {
                symbol: 0,
                offset: 0,
            },
        ),
        (
            "dynamic+32",
            Operand::SharedAddress {
                symbol: 1,
                offset: 32,
            },
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(source(&format!("mov.u32 %r0, {name};")), expected);
    }
}

#[test]
fn addresses() {
    let register = |id| AddressBase::Operand(Operand::Register(RegisterId(id)));
    let cases = [
        ("[%r1]", register(R + 1), 0),
        ("[%d1+16]", register(D + 1), 16),
        ("[%d1+-8]", register(D + 1), -8),
        ("[%d1-8]", register(D + 1), -8),
        (
            "[tile+4]",
            AddressBase::Operand(Operand::SharedAddress {
                symbol: 0,
                offset: 0,
            }),
            4,
        ),
        ("[128]", AddressBase::Operand(Operand::Immediate(128)), 0),
        ("[p2+8]", AddressBase::Parameter(2), 8),
    ];
    for (text, base, offset) in cases {
        let space = if text == "[p2+8]" { "param" } else { "shared" };
        let kernel = parse(&format!("ld.{space}.b32 %r0, {text};")).unwrap();
        let Op::Load { address, .. } = &kernel.code[0].op else {
            panic!("{text}")
        };
        assert_eq!(*address, Address { base, offset }, "{text}");
    }
}

#[test]
fn second_result_of_setp_is_the_opposite_and_does_not_spoil_its_source() {
    let kernel = parse("setp.lt.and.f32 %p0|%p1, %r0, %r1, !%p0;").unwrap();
    let comparisons: Vec<_> = results(&kernel)
        .into_iter()
        .map(|(kind, id)| match kind {
            AluKind::Setp { comparison, .. } => (id, comparison),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(comparisons, [(P + 1, Comparison::Geu), (P, Comparison::Lt)]);
    assert_eq!(parse("setp.ne.b32 _|%p1, %r0, %r1;").unwrap().code.len(), 1);
    assert!(parse("@%p1 setp.lt.and.f32 %p0|%p1, %r0, %r1, %p0;").is_err());
}

#[test]
fn unpacking_skips_the_sink() {
    let kernel = parse("mov.b32 {_, %h1}, %r0; mov.b64 {%r0, %r1}, %d0;").unwrap();
    let kinds: Vec<_> = results(&kernel).into_iter().map(|(kind, _)| kind).collect();
    let unpack = |index| AluKind::Unpack { index };
    assert_eq!(kinds, [unpack(1), unpack(0), unpack(1)]);
}
