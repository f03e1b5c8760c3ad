//! Runs PTX on the CPU, and checks what hardware does not.
//!
//! The machine parses a module, launches a kernel with a grid, blocks, shared memory and buffers,
//! and runs its warps in lockstep, with divergence. Every access is checked - bounds, alignment,
//! memory never written, races in shared memory, asynchronous copies that nobody waited for - and so
//! are barriers, branches and registers. A launch gives measures: instructions, bank conflicts,
//! sectors, bytes.
//!
//! ```
//! use ptx_machine::{GlobalMemory, Launch, Module};
//!
//! let module = Module::parse(
//!     ".version 9.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry double(.param .u64 data) {
//!          .reg .b32 %r<3>; .reg .b64 %rd<4>;
//!          ld.param.b64 %rd1, [data];
//!          mov.u32 %r1, %tid.x;
//!          mul.wide.u32 %rd2, %r1, 4;
//!          add.s64 %rd3, %rd1, %rd2;
//!          ld.global.b32 %r2, [%rd3];
//!          add.s32 %r2, %r2, %r2;
//!          st.global.b32 [%rd3], %r2;
//!          ret;
//!      }",
//! )?;
//! let mut memory = GlobalMemory::new();
//! let data = memory.allocate("data", &[1, 0, 0, 0, 2, 0, 0, 0]);
//! let measures = Launch::new(&module, "double")?
//!     .block([2, 1, 1])
//!     .pointer(data)
//!     .run(&memory)?;
//! assert_eq!(memory.read(data, 8)?, [2, 0, 0, 0, 4, 0, 0, 0]);
//! assert_eq!(measures.lane_instructions(), 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The program `ptx-machine` does the same from a shell; the feature `cli`, which is on by default,
//! builds it.
//!
//! # What is the same in every run
//!
//! Everything, for one seed, unless blocks race in global memory: without atomics they run in parallel.
//! Those of a kernel with atomics run one after another in the order of their indices, and the lanes of
//! a warp add in their order: a sum of floats in memory has one order for each seed, which only decides
//! how the warps of a block take turns.
//!
//! # Where shared memory lies
//!
//! As on hardware from compute capability 8.0 up, the system keeps the first 1024 bytes of a block's
//! shared addresses. Each symbol lies behind them, at an odd multiple of its `.align`: code that flips a
//! bit of an address which the alignment does not cover gets a wrong address, whatever luck it has on
//! a GPU. Accesses before the first symbol or behind the last are out of bounds. What alignment leaves free
//! between two symbols is memory that was never written.
//!
//! # What it does not have
//!
//! Functions, global and local variables, textures, clusters, and the instructions of SM90 but
//! `stmatrix` and reductions of vectors, which `.target` does not decide. A module that needs one is
//! refused with the line and the instruction's name. Races are looked for in shared memory, where
//! atomics count as plain accesses, and not in global memory. A `bar.warp.sync` of a part of a warp
//! orders nothing.

pub mod alu;
mod block;
mod execute;
mod flow;
pub mod fragment;
mod launch;
mod measure;
mod memory;
pub mod mma;
pub mod module;
mod operand;
pub mod parse;
mod shared;
mod violation;
mod warp;

pub use launch::{Launch, LaunchError};
pub use measure::{BufferMeasures, InstructionMeasures, Measures};
pub use memory::{GlobalMemory, MemoryError, Pointer};
pub use module::Module;
pub use parse::ParseError;
pub use violation::{Violation, ViolationKind};
