//! Every form of every instruction that the machine takes; the lanewise ones run as well.

use super::parse;
use crate::{
    alu::{LANES, execute},
    module::{Op, ScalarType, Space},
};

/// Text in which `<a;b;c>` stands for each of its choices.
fn expand(pattern: &str) -> Vec<String> {
    let Some((head, rest)) = pattern.split_once('<') else {
        return vec![pattern.to_owned()];
    };
    let (choices, tail) = rest.split_once('>').unwrap();
    let tails = expand(tail);
    let join = |choice| {
        tails
            .iter()
            .map(move |tail| format!("{head}{choice}{tail}"))
    };
    choices.split('/').flat_map(join).collect()
}

const LANEWISE: &[&str] = &[
    "<add/sub>.<u16/s16> %h0, %h1, %h2",
    "<add/sub/min/max/div/rem/mul.lo/mul.hi>.<u32/s32> %r0, %r1, %r2",
    "<add/sub/min/max/div/rem/mul.lo/mul.hi>.<u64/s64> %d0, %d1, %d2",
    "<add/sub>.sat.s32 %r0, %r1, %r2",
    "mul.wide.<u16/s16> %r0, %h1, %h2",
    "mul.wide.<u32/s32> %d0, %r1, 5",
    "mad.<lo/hi>.<u32/s32> %r0, %r1, %r2, -1",
    "mad.wide.<u32/s32> %d0, %r1, %r2, %d3",
    "mad.wide.<u16/s16> %r0, %h1, %h2, %r3",
    "mad.lo.<u64/s64> %d0, %d1, %d2, %d3",
    "<abs/neg>.s16 %h0, %h1",
    "<abs/neg>.s32 %r0, %r1",
    "<abs/neg>.<s64/f64> %d0, %d1",
    "<abs/neg></.ftz>.<f32/f16x2> %r0, %r1",
    "<abs/neg></.ftz>.f16 %h0, %h1",
    "<abs/neg>.bf16 %h0, %h1",
    "<abs/neg>.bf16x2 %r0, %r1",
    "<add/sub/mul></.rn/.rz/.rm/.rp></.ftz></.sat>.f32 %r0, %r1, 0f3F800000",
    "<add/sub/mul></.rn></.ftz></.sat>.f16x2 %r0, %r1, %r2",
    "<add/sub/mul></.rn></.ftz></.sat>.f16 %h0, %h1, %h2",
    "<add/sub/mul></.rn>.bf16 %h0, %h1, %h2",
    "<add/sub/mul></.rn>.bf16x2 %r0, %r1, %r2",
    "<add/sub/mul></.rn>.f64 %d0, %d1, %d2",
    "<fma/mad>.<rn/rz/rm/rp></.ftz></.sat>.f32 %r0, %r1, %r2, %r3",
    "fma.rn</.ftz></.sat>.f16 %h0, %h1, %h2, %h3",
    "fma.rn</.ftz></.sat>.f16x2 %r0, %r1, %r2, %r3",
    "fma.rn.bf16 %h0, %h1, %h2, %h3",
    "fma.rn.bf16x2 %r0, %r1, %r2, %r3",
    "fma.rn.f64 %d0, %d1, %d2, %d3",
    "<min/max>.relu.s32 %r0, %r1, %r2",
    "<min/max></.ftz></.NaN>.<f32/f16x2> %r0, %r1, %r2",
    "<min/max></.ftz></.NaN>.f16 %h0, %h1, %h2",
    "<min/max></.NaN>.bf16 %h0, %h1, %h2",
    "<min/max></.NaN>.bf16x2 %r0, %r1, %r2",
    "<min/max>.f64 %d0, %d1, %d2",
    "div<.approx/.full/.rn/.rz/.rm/.rp></.ftz>.f32 %r0, %r1, %r2",
    "div.rn.f64 %d0, %d1, %d2",
    "<ex2/lg2/rcp/sqrt/rsqrt/sin/cos>.approx</.ftz>.f32 %r0, %r1",
    "tanh.approx.<f32/f16x2/bf16x2> %r0, %r1",
    "<tanh/ex2>.approx.f16 %h0, %h1",
    "ex2.approx.ftz.bf16x2 %r0, %r1",
    "<rcp/sqrt>.<rn/rz/rm/rp></.ftz>.f32 %r0, %r1",
    "<rcp/sqrt>.rn.f64 %d0, %d1",
    "<and/or/xor>.pred %p0, %p1, %p2",
    "<and/or/xor>.b16 %h0, %h1, 3",
    "<and/or/xor>.b32 %r0, %r1, 0xFFFFFFFF",
    "<and/or/xor>.b64 %d0, %d1, %d2",
    "not.pred %p0, %p1",
    "<not/cnot>.b16 %h0, %h1",
    "<not/cnot/brev/popc/clz>.b32 %r0, %r1",
    "<not/cnot/brev>.b64 %d0, %d1",
    "<popc/clz>.b64 %r0, %d1",
    "<shl.b16/shr.b16/shr.u16/shr.s16> %h0, %h1, %r2",
    "<shl.b32/shr.b32/shr.u32/shr.s32> %r0, %r1, 31",
    "<shl.b64/shr.b64/shr.u64/shr.s64> %d0, %d1, %r2",
    "shf.<l/r>.<wrap/clamp>.b32 %r0, %r1, %r2, 8",
    "bfe.<u32/s32> %r0, %r1, 8, %r2",
    "bfe.<u64/s64> %d0, %d1, 8, %r2",
    "bfi.b32 %r0, %r1, %r2, 4, 8",
    "bfi.b64 %d0, %d1, %d2, 4, 8",
    "prmt.b32 %r0, %r1, %r2, 0x5410",
    "lop3.b32 %r0, %r1, %r2, %r3, 0xE8",
    "setp.<eq/ne>.b16 %p0, %h0, %h1",
    "setp.<eq/ne/lt/le/gt/ge>.<u32/s32> %p0, %r0, 5",
    "setp.<lo/ls/hi/hs>.u64 %p0, %d0, %d1",
    "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.f32 %p0, %r0, %r1",
    "setp.<lt/geu>.<f16/bf16> %p0, %h0, %h1",
    "setp.<lt/geu>.f64 %p0, %d0, %d1",
    "setp.lt.<and/or/xor>.s32 %p0|%p1, %r0, %r1, </!>%p2",
    "selp.<b16/u16/s16> %h0, %h1, %h2, %p0",
    "selp.<b32/u32/s32/f32> %r0, %r1, 0f40A00000, %p0",
    "selp.<b64/u64/s64/f64> %d0, %d1, %d2, %p0",
    "mov.<b32/u32/s32/f32> %r0, %r1",
    "mov.<b64/u64/s64/f64> %d0, %d1",
    "mov.<b16/u16/s16> %h0, %h1",
    "mov.pred %p0, %p1",
    "mov.b32 %r0, {%h0, %h1}",
    "mov.b64 %d0, {%r0, %r1}",
    "mov.b64 %d0, {%h0, %h1, %h2, 0}",
    "mov.b32 {%h0, %h1}, %r0",
    "mov.b64 {%h0, %h1, %h2, %h3}, %d0",
    "cvt</.sat>.<u8/s8/u16/s16/u32/s32>.<u8/s8/u16/s16/u32/s32> %r0, %r1",
    "cvt.<u64/s64>.<u32/s32> %d0, %r1",
    "cvt.<u32/s32>.<u64/s64> %r0, %d1",
    "cvt.<rni/rzi/rmi/rpi></.ftz></.sat>.<u8/s16/u32/s32>.f32 %r0, %r1",
    "cvt.rzi.<u64/s64>.f64 %d0, %d1",
    "cvt.rzi.<u16/s16>.<f16/bf16> %h0, %h1",
    "cvt.<rn/rz/rm/rp></.sat>.f32.<u8/s16/u32/s32> %r0, %r1",
    "cvt.rn.f64.<u64/s64> %d0, %d1",
    "cvt.<rn/rz>.<f16/bf16>.<u32/s32> %h0, %r1",
    "cvt.<rn/rz/rm/rp></.ftz></.sat>.<f16/bf16>.f32 %h0, %r1",
    "cvt</.ftz></.sat>.f32.<f16/bf16> %r0, %h1",
    "cvt.<rn/rz/rm/rp></.ftz>.f32.f64 %r0, %d1",
    "cvt</.ftz>.f64.f32 %d0, %r1",
    "cvt</.rni/.rzi/.rmi/.rpi></.ftz></.sat>.f32.f32 %r0, %r1",
    "cvt.rni.f16.f16 %h0, %h1",
    "cvt.<rn/rz>.<f16x2/bf16x2>.f32 %r0, %r1, %r2",
    "cvta</.to>.<global/shared>.u64 %d0, %d1",
];

#[test]
fn lanewise_forms_parse_and_run() {
    let mut forms = 0;
    for text in LANEWISE.iter().flat_map(|pattern| expand(pattern)) {
        let kernel = parse(&format!("{text};")).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(!kernel.code.is_empty());
        for instruction in &kernel.code {
            let Op::Alu {
                op,
                destination,
                sources,
            } = &instruction.op
            else {
                panic!("{text}")
            };
            let values = vec![[0x3C00_3F80_4000_3F80; LANES]; sources.len()];
            let result = execute(op, &values, u32::MAX);
            let bits = kernel.registers[destination.0 as usize].class.bits();
            assert_eq!(
                result[0] & !(u64::MAX >> (64 - bits)),
                0,
                "{text} exceeds its register"
            );
            assert_eq!(instruction.name, text.split(' ').next().unwrap());
            forms += 1;
        }
    }
    assert!(forms > 600, "{forms}");
}

const OTHERS: &[&str] = &[
    "ld.param.<u32/b32/f32/s32> %r0, [p1]",
    "ld.param.v2.b32 {%r0, %r1}, [p2+8]",
    "ld.global</.nc></.ca/.cg/.cs/.L1::no_allocate/.L1::evict_last></.L2::128B>.u32 %r0, [%d0+4]",
    "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%r0,%r1,%r2,%r3}, [%d0], %d1",
    "ld<.volatile/.relaxed.gpu/.acquire.sys/.weak>.global.<u8/s8/u16/b32> %r0, [%d0]",
    "ld.<shared/shared::cta>.v2.<b32/f32> {%r0, %r1}, [%r2]",
    "ld.shared.v4.u16 {%h0, %h1, %h2, %h3}, [tile]",
    "ld.<u64/b64/f64> %d0, [%d1]",
    "ld.global.v2.f64 {%d0, %d1}, [%d2]",
    "st.global</.wb/.cg/.cs/.wt></.L1::no_allocate>.v4.<b32/f32> [%d0], {%r0, %r1, %r2, %r3}",
    "st.global.v2.b32 [%d0], {0, -1}",
    "st<.volatile/.relaxed.gpu/.release.gpu>.global.b32 [%d0], 0f00000000",
    "st.shared.<b8/u8/b16> [%r0], %h0",
    "st.<b32/f32> [%d0], %r0",
    "atom</.relaxed.gpu/.acq_rel.cta>.<global/shared>.<add/min/max>.<u32/s32> %r0, [%d0], 1",
    "atom.global.<and/or/xor/exch>.b32 %r0, [%d0], %r1",
    "atom.global.<inc/dec>.u32 %r0, [%d0], %r1",
    "atom.global.cas.b64 %d0, [%d1], %d2, %d3",
    "atom.add.f32 %r0, [%d0], %r1",
    "atom.global.add.noftz.f16x2 %r0, [%d0], %r1",
    "atom.global.add.f32 _, [%d0], %r1",
    "red</.relaxed.gpu>.global.add.<f32/u32/s32> [%d0], %r1",
    "red.global</.relaxed.gpu>.add</.L1::no_allocate>.v2.f32 [%d0], {%r0, %r1}",
    "red.global.add.v4.f32 [%d0], {%r0, %r1, %r2, %r3}",
    "cp.async.ca.shared</::cta>.global</.L2::64B/.L2::128B/.L2::256B> [%r0], [%d0], <4/8/16>",
    "cp.async.cg.shared.global [%r0+16], [%d0+16], 16, <%r1/0>",
    "cp.async.cg.shared.global.L2::cache_hint [%r0], [%d0], 16, %d1",
    "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%r0], [%d0], 16, %r1, %d1",
    "cp.async.commit_group",
    "cp.async.wait_group <0/3>",
    "cp.async.wait_all",
    "bar</.cta>.sync <0/%r0>",
    "bar.sync 1, 64",
    "barrier</.cta>.sync</.aligned> 0",
    "bar.warp.sync <-1/0xffffffff/%r0>",
    "membar.<cta/gl/sys>",
    "fence</.sc/.acq_rel>.<cta/gpu/sys>",
    "shfl.sync.<up/down/bfly/idx>.b32 %r0</|%p0>, %r1, %r2, 31, -1",
    "vote.sync.<any/all/uni>.pred %p0, </!>%p1, -1",
    "vote.sync.ballot.b32 %r0, %p1, 0xffffffff",
    "ldmatrix.sync.aligned.m8n8.x1</.trans>.shared.b16 {%r0}, [%r1]",
    "ldmatrix.sync.aligned.m8n8.x2</.trans>.shared.b16 {%r0, %r1}, [%r2+32]",
    "ldmatrix.sync.aligned.m8n8.x4</.trans>.shared</::cta>.b16 {%r0,%r1,%r2,%r3}, [%r4]",
    "stmatrix.sync.aligned.m8n8.x4</.trans>.shared.b16 [%r4], {%r0, %r1, %r2, %r3}",
    "mma.sync.aligned.m16n8k16.row.col.f32.<f16.f16/bf16.bf16>.f32 \
     {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,0f00000000}",
    "L: bra</.uni> L",
    "<ret/ret.uni/exit>",
];

#[test]
fn other_forms_parse_to_one_instruction() {
    for text in OTHERS.iter().flat_map(|pattern| expand(pattern)) {
        let kernel = parse(&format!("{text};")).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(kernel.code.len(), 1, "{text}");
    }
}

fn op(text: &str) -> Op {
    parse(text).unwrap().code.remove(0).op
}

#[test]
fn spaces_and_types_of_accesses() {
    assert!(matches!(
        op("ld.global.nc.v2.u16 {%r0, %r1}, [%d0];"),
        Op::Load { space: Space::Global, ty: ScalarType::U16, destinations, .. }
            if destinations.len() == 2
    ));
    assert!(matches!(
        op("st.f32 [%d0], %r0;"),
        Op::Store {
            space: Space::Generic,
            ..
        }
    ));
    assert!(matches!(
        op("ld.param.u32 %r0, [p1];"),
        Op::Load {
            space: Space::Parameter,
            ..
        }
    ));
}

#[test]
fn optional_operands() {
    assert!(matches!(
        op("cp.async.cg.shared.global.L2::cache_hint [%r0], [%d0], 16, %d1;"),
        Op::AsyncCopy {
            bytes: 16,
            source_bytes: None,
            ..
        }
    ));
    assert!(matches!(
        op("cp.async.cg.shared.global [%r0], [%d0], 16, %r1;"),
        Op::AsyncCopy {
            source_bytes: Some(_),
            ..
        }
    ));
    assert!(matches!(
        op("cp.async.wait_all;"),
        Op::AsyncWait {
            pending: 0,
            all: true
        }
    ));
    assert!(matches!(
        op("cp.async.wait_group 2;"),
        Op::AsyncWait {
            pending: 2,
            all: false
        }
    ));
    assert!(matches!(
        op("atom.global.cas.b32 %r0, [%d0], %r1, %r2;"),
        Op::Atomic {
            compare: Some(_),
            ..
        }
    ));
    assert!(matches!(
        op("atom.global.add.f32 _, [%d0], %r1;"),
        Op::Atomic { destinations, compare: None, .. } if destinations.is_empty()
    ));
    assert!(matches!(
        op("vote.sync.any.pred %p0, !%p1, -1;"),
        Op::Vote { negated: true, .. }
    ));
    assert!(matches!(
        op("shfl.sync.bfly.b32 %r0|%p0, %r1, 1, 31, -1;"),
        Op::Shuffle {
            in_range: Some(_),
            ..
        }
    ));
}
