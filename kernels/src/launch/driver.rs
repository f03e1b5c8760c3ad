//! Modules in the driver, and launches inside CubeCL's device queue.
//!
//! CubeCL makes all driver calls of a device on one thread, from a queue, with the device's primary
//! context current. What is submitted to that queue here runs between the client's own tasks; inside
//! it, the server tells on which CUDA stream they go, what a buffer's address is, and makes the stream
//! wait for others that wrote the buffers. These are parts of CubeCL that it does not advertise, hence
//! the pinned version, and this is the only file that names them.

use super::error::CuteError;
use crate::{FATBIN, KernelInfo};
use cubecl::client::Client;
use cubecl::cuda::CudaRuntime;
use cubecl::device_handle::DeviceHandle;
use cubecl::server::{BufferBinding, Handle, LaunchError, ServerError};
use cubecl_environment::backtrace::BackTrace;
use cubecl_environment::stream::StreamId;
use cubecl_server::id::KernelId;
use cubecl_server::runtime::Runtime;
use cubecl_server::stream::{ExecuteScope, ScopedOutcome, WriteScoped};
use cudarc::driver::{result, sys};
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::{Mutex, PoisonError};

type CudaServer = <CudaRuntime as Runtime>::Server;

/// Dynamic shared memory that a launch may have without being asked for.
const DEFAULT_SHARED_BYTES: u32 = 48 * 1024;

/// A kernel in a device's memory.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

// SAFETY: the driver's handles mean the same in every thread, and no module is ever unloaded.
unsafe impl Send for Function {}
// SAFETY: as above; a handle is only ever read.
unsafe impl Sync for Function {}

/// The fatbin in a device's memory.
#[derive(Clone, Copy)]
struct Module(sys::CUmodule);

// SAFETY: as for `Function`.
unsafe impl Send for Module {}

/// What is loaded, by device.
#[derive(Default)]
struct Loaded {
    modules: HashMap<u16, Module>,
    functions: HashMap<(u16, &'static str), Function>,
}

/// `kernel` on the client's device, loaded at its first use.
pub(super) fn function(
    client: &Client,
    kernel: &'static KernelInfo,
) -> Result<Function, CuteError> {
    static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);
    let device = client.service_id().device;
    let key = (device.index_id, kernel.name);
    // The maps are whole after every step, so another thread's panic can't have broken them.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = loaded.get_or_insert_default();
    if let Some(function) = loaded.functions.get(&key) {
        return Ok(*function);
    }
    let refused = |step: String, reason: String| CuteError::Driver {
        step,
        device: device.index_id,
        reason,
    };
    let module = loaded.modules.get(&device.index_id).copied();
    // The queue's thread is where the context is; loading waits for it, once per kernel.
    let (module, function) = DeviceHandle::<CudaServer>::new(device)
        .submit_blocking(move |_: &mut CudaServer| {
            let module = match module {
                Some(module) => module,
                None => load_module(device.index_id)
                    .map_err(|error| ("load the kernels".to_owned(), error))?,
            };
            let function = load_function(module, kernel)
                .map_err(|error| (format!("load the kernel {}", kernel.name), error))?;
            Ok((module, function))
        })
        .map_err(|error| refused("reach CubeCL's queue".into(), format!("{error:?}")))?
        .map_err(|(step, error): (String, result::DriverError)| refused(step, error.to_string()))?;
    loaded.modules.insert(device.index_id, module);
    loaded.functions.insert(key, function);
    Ok(function)
}

fn load_module(ordinal: u16) -> Result<Module, result::DriverError> {
    result::init()?;
    let device = result::device::get(i32::from(ordinal))?;
    // SAFETY: `device` was just given by the driver. The context is the one that CubeCL uses, so
    // making it current changes nothing; it is never released, because the module stays.
    unsafe {
        let context = result::primary_ctx::retain(device)?;
        result::ctx::set_current(context)?;
    }
    // SAFETY: `FATBIN` is the whole image that nvcc's fatbinary wrote.
    unsafe { result::module::load_data(FATBIN.as_ptr().cast()) }.map(Module)
}

fn load_function(module: Module, kernel: &KernelInfo) -> Result<Function, result::DriverError> {
    let name = CString::new(kernel.name).map_err(|_| {
        result::DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE) // A zero byte in a name.
    })?;
    // SAFETY: `module` is loaded and never unloaded.
    let function = unsafe { result::module::get_function(module.0, name) }?;
    if kernel.shared_bytes > DEFAULT_SHARED_BYTES {
        let attribute =
            sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: `function` was just found in a loaded module.
        unsafe {
            result::function::set_function_attribute(
                function,
                attribute,
                kernel.shared_bytes as i32,
            )
        }?;
    }
    Ok(Function(function))
}

/// The device address of a buffer's first byte, at which it stays while the handle lives.
pub(super) fn address(client: &Client, handle: &Handle) -> Result<u64, ServerError> {
    let resource = client.get_resource::<CudaServer>(handle.clone())?;
    Ok(resource.resource().ptr)
}

/// One launch along x.
pub(super) struct Launch {
    pub(super) function: Function,
    pub(super) grid_x: u32,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    /// Buffers that the kernel reads.
    pub(super) reads: Vec<BufferBinding>,
    /// Buffers that it writes, and whose earlier content it may ignore.
    pub(super) writes: Vec<BufferBinding>,
}

impl Launch {
    /// Puts the launch into the client's queue. `arguments` makes the kernel's one parameter of the
    /// buffers' device addresses, reads before writes.
    ///
    /// The bindings keep the buffers alive until the launch is in the stream; CubeCL gives their
    /// memory to later work of the stream only.
    ///
    /// # Safety
    /// `function` must take one parameter of type `P` by value, and touch no memory but that of the
    /// buffers.
    ///
    /// # Panics
    /// Where there are not `N` buffers.
    pub(super) unsafe fn enqueue<P: 'static, const N: usize>(
        self,
        client: &Client,
        arguments: impl FnOnce([u64; N]) -> P + Send + 'static,
    ) {
        assert_eq!(self.reads.len() + self.writes.len(), N, "buffers");
        if cubecl::dry_run::launch_mode().is_skipped() {
            return;
        }
        let stream = StreamId::current();
        DeviceHandle::<CudaServer>::new(client.service_id().device).submit(move |server| {
            let mut written = server.write_set();
            written.extend(self.writes.iter().cloned());
            let kernel = KernelId::new::<Self>();
            let scope = ExecuteScope::launching(server, kernel, stream, self.reads.iter(), written);
            let outcome = scope.execute(|server| self.launch(server, stream, arguments));
            if let ScopedOutcome::Failed(error) = outcome {
                // The scope has marked the outputs, so whoever reads one gets the error.
                log::error!("a CuTe kernel was not launched: {error}");
            }
        });
    }

    fn launch<P, const N: usize>(
        &self,
        server: &mut CudaServer,
        stream: StreamId,
        arguments: impl FnOnce([u64; N]) -> P,
    ) -> Result<(), ServerError> {
        let buffers = || self.reads.iter().chain(&self.writes);
        let mut streams = server.write_streams().resolve(stream, buffers())?;
        let mut addresses = [0; N];
        for (address, buffer) in addresses.iter_mut().zip(buffers()) {
            let memory = &mut streams.get(&buffer.stream).memory_management_gpu;
            let (start, end) = (buffer.offset_start, buffer.offset_end);
            *address = memory.get_resource(buffer.memory.clone(), start, end)?.ptr;
        }
        // A graph that is being captured must keep these buffers where they are.
        for buffer in buffers() {
            let location = buffer.memory.descriptor().location();
            streams.current().capturing.touch(buffer.stream, location);
        }
        let mut parameter = arguments(addresses);
        let mut parameters = [std::ptr::from_mut(&mut parameter).cast::<c_void>()];
        // SAFETY: `enqueue`'s caller vouches for the function and its parameter, which the driver
        // copies before it returns.
        unsafe {
            result::launch_kernel(
                self.function.0,
                (self.grid_x, 1, 1),
                (self.threads, 1, 1),
                self.shared_bytes,
                streams.current().sys,
                &mut parameters,
            )
        }
        .map_err(|error| {
            ServerError::Launch(LaunchError::Unknown {
                reason: error.to_string(),
                backtrace: BackTrace::capture(),
            })
        })
    }
}
