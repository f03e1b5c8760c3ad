//! A kernel compiled to PTX without a GPU, and the arguments that a launch would give it: for tests,
//! and for reading the code.

pub mod backward;
pub mod sm90;

use crate::arguments::{Arguments, cubes};
use crate::config::FwdConfig;
use crate::error::Fa2Error;
use crate::heuristics::FwdPlan;
use crate::kernel::forward_sm80::forward_sm80::ForwardSm80;
use crate::problem::Problem;
use crate::scheduler::FwdShapeCompilationArg;
use crate::tensor::gmem::ByteStridesCompilationArg;
use cubecl::ir::features::Features;
use cubecl::ir::nvidia::SmArch;
use cubecl::ir::{
    AddressType, DeviceIdentity, DeviceProperties, HardwareProperties, MemoryDeviceProperties,
};
use cubecl::prelude::*;
use cubecl::{Compiler, InfoBuilder};
use cubecl_llvm::nvptx::ptx_version::PtxVersion;
use cubecl_llvm::{LlvmTarget, PlironArtifact, PlironCompiler, PlironOptions};
use std::sync::Arc;

/// CUDA driver whose PTX version is emitted, in the driver's own notation (13.0).
const DRIVER_VERSION: i32 = 13000;

/// Q, K, V, O and LSE.
const BUFFERS: usize = 5;

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// The text.
    pub text: String,
    /// Dynamic shared memory of a launch, in bytes.
    pub shared_bytes: usize,
}

/// Compiles the forward kernel of `config` for compute capability `sm` (80, 89, 90, ...).
///
/// # Errors
/// The compiler's message.
pub fn compile(config: FwdConfig, sm: u32) -> Result<Ptx, String> {
    let kernel = ForwardSm80::new(
        settings(config.threads()),
        device_properties(),
        Arc::new(TargetProperties::default()),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        shape(),
        config,
    );
    let definition = cubecl::define_kernel(&kernel).map_err(|error| format!("{error:?}"))?;
    compile_definition(definition, sm)
}

/// How every kernel is compiled.
fn settings(threads: u32) -> KernelSettings {
    KernelSettings::new(
        *CubeDim::new_1d(threads),
        ExecutionMode::Unchecked,
        AddressType::U32,
    )
}

/// A buffer of its own.
fn buffer() -> BufferCompilationArg {
    BufferCompilationArg { inplace: None }
}

/// Compiles an expanded kernel.
fn compile_definition(definition: KernelDefinition, sm: u32) -> Result<Ptx, String> {
    let mut compiler = PlironCompiler {
        target: LlvmTarget::Nvptx,
    };
    let options = PlironOptions {
        sm_arch: Some(SmArch::new(sm, true)),
        ptx_version: PtxVersion::for_driver(DRIVER_VERSION),
        grid_constants: true,
        ..Default::default()
    };
    match compiler
        .compile(definition, &options)
        .map_err(|error| format!("{error:?}"))?
    {
        PlironArtifact::NvptxCode(module) => Ok(Ptx {
            text: text(&module.ptx),
            shared_bytes: module.shared_memory_size,
        }),
        _ => Err("the compiler gave something other than PTX".into()),
    }
}

/// Arguments of a launch beside its buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchArguments {
    /// Cubes (CTAs) along x.
    pub cubes: u32,
    /// The kernel's last parameter: the shape, packed as CubeCL packs it.
    pub shape: Vec<u8>,
}

/// What a launch of `plan` passes for `problem`; `strides` of Q, K, V and O in elements, between
/// batch entries, heads and rows.
///
/// # Errors
/// The rule that the problem breaks.
pub fn arguments(
    problem: &Problem,
    plan: &FwdPlan,
    strides: [[usize; 3]; 4],
) -> Result<LaunchArguments, Fa2Error> {
    problem.validate()?;
    let mut info = InfoBuilder::default();
    push(&mut info, Arguments::new(problem, plan, strides));
    Ok(LaunchArguments {
        cubes: cubes(problem, &plan.config) as u32,
        shape: finish(info, BUFFERS),
    })
}

/// Packs the fields of a forward shape.
fn push(info: &mut InfoBuilder, arguments: Arguments) {
    for count in arguments.counts {
        info.scalars.push(count);
    }
    info.scalars.push(arguments.diagonal);
    info.scalars.push(arguments.scale_log2);
    for stride in arguments.strides.as_flattened() {
        info.scalars.push(*stride);
    }
}

/// The packed scalars, and the buffers' lengths, which an unchecked kernel never reads.
fn finish(mut info: InfoBuilder, buffers: usize) -> Vec<u8> {
    for _ in 0..buffers {
        info.metadata.register_buffer(0, AddressType::U32);
    }
    let words = info.finish(AddressType::U32).data;
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The shape's fields are run-time scalars: nothing of them is compiled in.
fn shape() -> FwdShapeCompilationArg {
    FwdShapeCompilationArg {
        seq_q: (),
        seq_k: (),
        head_dim: (),
        heads_q: (),
        group_size: (),
        heads_total: (),
        section: (),
        m_blocks: (),
        diagonal: (),
        scale_log2: (),
        q: strides(),
        k: strides(),
        v: strides(),
        o: strides(),
    }
}

fn strides() -> ByteStridesCompilationArg {
    ByteStridesCompilationArg {
        batch: (),
        head: (),
        row: (),
        pass: (),
        block: (),
    }
}

/// The characters before the final NUL.
fn text(ptx: &[std::ffi::c_char]) -> String {
    ptx.iter()
        .map(|&c| c as u8 as char)
        .take_while(|&c| c != '\0')
        .collect()
}

/// A device with the limits of SM90; the kernel asks for none of the optional features.
fn device_properties() -> Arc<DeviceProperties> {
    let hardware = HardwareProperties {
        load_width: 128,
        vector_register_count: None,
        plane_size_min: 32,
        plane_size_max: 32,
        max_bindings: 32,
        max_shared_memory_size: crate::config::MAX_SHARED_BYTES as usize,
        max_cube_count: (u32::MAX, u32::from(u16::MAX), u32::from(u16::MAX)),
        max_units_per_cube: 1024,
        max_cube_dim: (1024, 1024, 1024),
        num_streaming_multiprocessors: None,
        num_tensor_cores: None,
        min_tensor_cores_dim: None,
        num_cpu_cores: None,
        last_level_cache_size: None,
        max_vector_size: VectorSize::MAX,
        cube_mma_reserved_shared_memory: 0,
    };
    let identity = DeviceIdentity {
        name: "offline".into(),
        fingerprint: "offline".into(),
        physical: None,
    };
    Arc::new(DeviceProperties::new(
        Features::default(),
        MemoryDeviceProperties::new(u64::MAX, 256),
        hardware,
        cubecl::profile::TimingMethod::Device,
        identity,
    ))
}
