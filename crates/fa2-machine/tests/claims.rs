//! The article's claims about data movement, measured on the real PTX; and bugs planted in it.

use fa2_cubecl::{FwdConfig, FwdPlan, MaskKind, RowCopy, Tile};
use fa2_machine::{Error, Kernel, KernelElement};
use fa2_testing::{Case, inputs};
use half::f16;
use ptx_machine::alu::AluKind;
use ptx_machine::module::{Guard, Op};
use ptx_machine::{GlobalMemory, Launch, LaunchError, Measures, Module, ViolationKind};

const SM: u32 = 80;
/// Four blocks of 64 queries and of 64 keys.
const SEQ: usize = 256;
/// The last block is cut: the kernel masks it, and then visits full ones.
const RAGGED: usize = 250;

/// The article's kernel: D = 64, 64 x 64 tiles, four warps, two stages.
fn article() -> Kernel {
    kernel(RowCopy::HalfRow)
}

fn kernel(copy: RowCopy) -> Kernel {
    let tile = Tile {
        block_m: 64,
        block_n: 64,
        warps: 4,
        stages: 2,
    };
    let config = FwdConfig::new(f16::DTYPE, 64, MaskKind::None, tile)
        .and_then(|config| config.with_row_copy(copy))
        .expect("valid");
    Kernel::new(FwdPlan { config, section: 1 }, SM).expect("compiles")
}

fn run(kernel: &Kernel, seq: usize) -> Result<Measures, Error> {
    run_case(kernel, &Case::new("claims", 1, 1, seq, 64))
}

fn run_case(kernel: &Kernel, case: &Case) -> Result<Measures, Error> {
    let qkv = inputs::generate::<f16>(case, 1);
    kernel.forward(case, &qkv, 1).map(|run| run.measures)
}

/// What the checks say of a broken kernel, on cut blocks and where there is no key at all: then only
/// the drain behind the loops waits for Q.
fn faults(kernel: &Kernel) -> Vec<ViolationKind> {
    let ragged = Case::new("ragged", 1, 1, RAGGED, 64);
    let mut found = Vec::new();
    for case in [ragged, ragged.keys(0)] {
        match run_case(kernel, &case) {
            Err(Error::Launch(LaunchError::Violations(violations))) => {
                found.extend(violations.into_iter().map(|one| one.kind));
            }
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
    found
}

/// Q once, K and V once for each block of queries; every byte of a warp's K and V four times from
/// shared memory, once for each warp.
#[test]
fn keys_come_once_a_cube_from_global_and_four_times_from_shared_memory() {
    let measures = run(&article(), SEQ).expect("clean");
    let matrix = (SEQ * 64 * 2) as u64;
    let cubes = (SEQ / 64) as u64;
    let read = |name| measures.buffer(name).expect("allocated").read;
    assert_eq!(read("Q"), matrix);
    assert_eq!(read("K"), cubes * matrix);
    assert_eq!(read("V"), cubes * matrix);
    assert_eq!(measures.buffer("O").expect("allocated").written, matrix);
    // Beside K and V, Q is read for each block of keys, and O once.
    let blocks = (SEQ / 64) as u64;
    let expected = 4 * 2 * cubes * matrix + blocks * matrix + matrix;
    assert_eq!(measures.shared_read, expected);
}

#[test]
fn no_access_of_shared_memory_has_a_bank_conflict() {
    let measures = run(&kernel(RowCopy::WholeRow), SEQ).expect("clean");
    for prefix in ["ldmatrix", "cp.async.cg", "st.shared", "ld.shared"] {
        assert!(measures.count(prefix) > 0, "{prefix}");
        assert_eq!(measures.bank_conflicts(prefix), 0, "{prefix}");
    }
}

/// The article's copies give four lanes to a row. Eight lanes, which shared memory serves at once,
/// then write the same half of two rows, and the swizzle moves chunks within that half: two turns.
#[test]
fn copies_of_half_rows_take_two_turns() {
    let measures = run(&article(), SEQ).expect("clean");
    assert_eq!(measures.bank_conflicts("ldmatrix"), 0);
    let copies = measures.count("cp.async.cg");
    assert_eq!(measures.bank_conflicts("cp.async.cg"), 4 * copies);
}

/// Without the swizzle the eight rows of an 8x8 matrix lie in the same four banks: eight turns. The
/// kernel has no such form, so its addresses are taken apart: a swizzled row starts at chunk `row mod
/// 8`, an unswizzled one at chunk 0.
#[test]
fn rows_without_swizzle_would_conflict_eight_ways() {
    let text = |swizzle: &str| {
        format!(
            ".version 9.0
            .target sm_80
            .address_size 64
            .extern .shared .align 128 .b8 tile[];
            .visible .entry k() {{
            .reg .b32 %r<8>; .reg .b64 %rd<2>;
            mov.u32 %r1, %laneid;
            mov.b64 %rd1, tile; cvt.u32.u64 %r2, %rd1;
            mad.lo.u32 %r3, %r1, 128, %r2;
            {swizzle}
            mov.b32 %r7, 0;
            st.shared.v4.b32 [%r3], {{%r7, %r7, %r7, %r7}};
            bar.sync 0;
            ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r3];
            ret; }}"
        )
    };
    let conflicts = |swizzle: &str| {
        let module = Module::parse(&text(swizzle)).expect("parses");
        let launch = Launch::new(&module, "k").expect("exists");
        let measures = launch
            .block([32, 1, 1])
            .dynamic_shared(32 * 128)
            .run(&GlobalMemory::new())
            .expect("clean");
        measures.bank_conflicts("ldmatrix")
    };
    assert_eq!(conflicts(""), 4 * (8 - 1));
    let swizzle = "and.b32 %r4, %r1, 7; shl.b32 %r4, %r4, 4; xor.b32 %r3, %r3, %r4;";
    assert_eq!(conflicts(swizzle), 0);
}

/// Each row of O leaves in 16-byte stores, and every sector is touched once.
#[test]
fn stores_of_the_output_are_coalesced() {
    let measures = run(&article(), SEQ).expect("clean");
    let stores: Vec<_> = measures
        .instructions
        .values()
        .filter(|one| one.name == "st.global.v4.b32")
        .collect();
    let sectors: u64 = stores.iter().map(|one| one.sectors).sum();
    assert_eq!(sectors, (SEQ * 64 * 2 / 32) as u64);
    assert!(stores.iter().all(|one| one.sectors == one.sectors_minimum));
}

/// Per warp and pair of tiles: 4 ldmatrix.x4 of Q, 16 of K, 16 of V, 64 products (claim M).
#[test]
fn instruction_counts_are_the_derived_ones() {
    let measures = run(&article(), SEQ).expect("clean");
    let (warps, blocks) = (4 * (SEQ / 64) as u64, (SEQ / 64) as u64);
    assert_eq!(measures.count("mma.sync"), warps * blocks * 64);
    let transposed = "ldmatrix.sync.aligned.m8n8.x4.trans";
    assert_eq!(measures.count(transposed), warps * blocks * 16);
    let all = measures.count("ldmatrix");
    // Q stays in registers or is read again for each block of keys: the article's kernel reads it
    // again.
    assert_eq!(all - measures.count(transposed), warps * blocks * (4 + 16));
}

/// Breaks the kernel at its `nth` instruction whose name starts with `prefix`, and returns what the
/// checks say.
fn planted(prefix: &str, nth: usize, change: impl Fn(&mut Op)) -> Vec<ViolationKind> {
    let mut kernel = article();
    let code = &mut kernel.module_mut().kernels[0].code;
    let instruction = code
        .iter_mut()
        .filter(|instruction| instruction.name.starts_with(prefix))
        .nth(nth)
        .expect("the kernel has it");
    change(&mut instruction.op);
    faults(&kernel)
}

fn count(prefix: &str) -> usize {
    let kernel = article();
    let code = &kernel.module().kernels[0].code;
    code.iter().filter(|i| i.name.starts_with(prefix)).count()
}

/// Every wait, removed by itself: what it waited for is read in flight, or left in flight.
#[test]
fn every_wait_is_needed() {
    for nth in 0..count("cp.async.wait") {
        let found = planted("cp.async.wait", nth, |op| *op = Op::Fence);
        assert!(!found.is_empty(), "wait {nth} can go and nobody sees it");
        let expected = |kind: &ViolationKind| {
            matches!(
                kind,
                ViolationKind::InFlight { .. }
                    | ViolationKind::LeakedCopy
                    | ViolationKind::UninitializedMemory
                    | ViolationKind::Race { .. }
            )
        };
        assert!(found.iter().any(expected), "{found:?}");
    }
}

/// A wait that lets one more group pass is seen too.
#[test]
fn a_wait_that_is_one_group_short_is_caught() {
    let found = planted("cp.async.wait", 0, |op| {
        if let Op::AsyncWait { pending, .. } = op {
            *pending += 1;
        }
    });
    let in_flight = |kind: &ViolationKind| matches!(kind, ViolationKind::InFlight { .. });
    assert!(found.iter().any(in_flight), "{found:?}");
}

/// Every barrier, removed by itself: a race.
#[test]
fn every_barrier_is_needed() {
    for nth in 0..count("bar.sync") {
        let found = planted("bar.sync", nth, |op| *op = Op::Fence);
        let race = |kind: &ViolationKind| {
            matches!(
                kind,
                ViolationKind::Race { .. } | ViolationKind::InFlight { .. }
            )
        };
        assert!(found.iter().any(race), "barrier {nth}: {found:?}");
    }
}

/// The barrier of a warp before O goes into Q's tile.
#[test]
fn the_barrier_of_a_warp_is_needed() {
    let found = planted("bar.warp.sync", 0, |op| *op = Op::Fence);
    let race = |kind: &ViolationKind| matches!(kind, ViolationKind::Race { .. });
    assert!(found.iter().any(race), "{found:?}");
}

/// Copies that read one row further than they should: behind the last key there is nothing.
#[test]
fn a_copy_one_row_off_is_out_of_bounds() {
    let row_bytes = 128;
    let found = planted("cp.async.cg", count("cp.async.cg") - 1, |op| {
        if let Op::AsyncCopy { source, .. } = op {
            source.offset += row_bytes * RAGGED as i64;
        }
    });
    let outside = |kind: &ViolationKind| matches!(kind, ViolationKind::OutOfBounds { .. });
    assert!(found.iter().any(outside), "{found:?}");
}

/// Ragged lengths without the zero fill: rows behind the last key are read.
#[test]
fn a_missing_zero_fill_is_out_of_bounds() {
    let mut kernel = article();
    for instruction in &mut kernel.module_mut().kernels[0].code {
        if let Op::AsyncCopy { source_bytes, .. } = &mut instruction.op {
            *source_bytes = None;
        }
    }
    let found = faults(&kernel);
    assert!(matches!(found[0], ViolationKind::OutOfBounds { bytes: 16 }));
}

/// A matrix loaded at an address that is no multiple of 16.
#[test]
fn a_misaligned_matrix_is_caught() {
    let found = planted("ldmatrix", 0, |op| {
        if let Op::MatrixLoad { address, .. } = op {
            address.offset += 2;
        }
    });
    let wrong = |kind: &ViolationKind| matches!(kind, ViolationKind::Misaligned { bytes: 16 });
    assert!(found.iter().any(wrong), "{found:?}");
}

/// A product that only half of the lanes reach.
#[test]
fn a_product_of_half_a_warp_is_caught() {
    let mut kernel = article();
    let kernel_code = &mut kernel.module_mut().kernels[0];
    let at = kernel_code
        .code
        .iter()
        .position(|i| matches!(i.op, Op::Mma { .. }))
        .expect("a product");
    // Some predicate that differs between lanes: the one before the first store of the LSE.
    let guard = kernel_code.code.iter().rev().find_map(|i| i.guard);
    kernel_code.code[at].guard = guard.map(|guard| Guard {
        negated: !guard.negated,
        ..guard
    });
    assert!(!faults(&kernel).is_empty());
}

/// A register that nobody set.
#[test]
fn an_unset_register_is_caught() {
    let mut kernel = article();
    let code = &mut kernel.module_mut().kernels[0].code;
    let first = code
        .iter()
        .position(|i| matches!(&i.op, Op::Alu { op, .. } if op.kind == AluKind::Add))
        .expect("an addition");
    code[first].op = Op::Fence;
    let found = faults(&kernel);
    assert!(matches!(found[0], ViolationKind::UndefinedRegister { .. }));
}
