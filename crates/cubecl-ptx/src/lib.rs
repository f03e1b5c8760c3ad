//! PTX instructions for kernels written in CubeCL, on its default LLVM backend.
//!
//! CubeCL's LLVM backend for NVIDIA GPUs lowers ordinary arithmetic, but has no `cp.async`, no
//! `ex2.approx`, no packed conversions and no inline assembly. This crate adds them from outside:
//! [`op`] defines one inline-PTX operation with its lowering, and each other module wraps one
//! family of instructions in `#[cube]` functions:
//!
//! | module | instructions |
//! |---|---|
//! | [`address`] | pointers as integer addresses of shared and global memory |
//! | [`async_copy`] | `cp.async`, `commit_group`, `wait_group` |
//! | [`matrix`] | `ldmatrix`, `stmatrix`, `mma.sync` |
//! | [`math`] | `ex2.approx`, `lg2.approx`, `rcp.approx`, `fma.rn`, `max` |
//! | [`convert`] | `cvt` of two f32 to packed f16 or bf16, and back |
//! | [`shuffle`] | `shfl.sync.bfly`, `shfl.sync.idx`, `vote.sync.any`, `bar.warp.sync` |
//! | [`memory`] | loads and stores of shared and global memory |
//! | [`atomic`] | `red`, `atom`: sums in global memory |
//! | [`ordering`] | `ld.acquire`, `st.release`: what one cube sees of another |
//! | [`topology`] | positions read anew, opaque values, marks of branches |
//! | [`barrier`] | named barriers: `bar.sync`, `bar.arrive` |
//! | [`mbarrier`] | barriers in shared memory that count arrivals and copied bytes |
//! | [`tma`] | `cp.async.bulk`, `cp.async.bulk.tensor`: bytes, and boxes of a tensor, into shared memory; `cp.reduce.async.bulk`: sums out of it |
//! | [`proxy`] | `fence.proxy.async` |
//! | [`tensor_map`] | `tensormap.replace`: tensor maps made on the device |
//! | [`wgmma`] | `wgmma.mma_async` and its fence, commit and wait |
//! | [`registers`] | `setmaxnreg` |
//!
//! An instruction is text here, not meaning: which lane holds which element is the business of the
//! caller. Everything is compiled into PTX, so a GPU driver is all that a user of the kernel needs.
//!
//! Addresses are plain integers (`u32` in the shared window, `u64` in the global one) and comptime
//! byte offsets become immediates of the instruction, which keeps address arithmetic out of loops.
//!
//! All functions must be called in control flow that is uniform over the plane (warp): LLVM does
//! not know that the instructions inside are collective.

#![allow(
    missing_docs,
    reason = "`#[cube]` puts undocumented items beside each function"
)]

mod access;
pub mod address;
pub mod async_copy;
pub mod atomic;
pub mod barrier;
pub mod convert;
pub mod math;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod op;
pub mod ordering;
pub mod proxy;
pub mod registers;
pub mod shuffle;
pub mod tensor_map;
pub mod tma;
pub mod topology;
pub mod wgmma;
