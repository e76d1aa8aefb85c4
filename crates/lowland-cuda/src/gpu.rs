//! A card: its memory, its kernels and their launches.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::sys::CUfunction_attribute as FunctionAttribute;
use cudarc::driver::sys::CUresult;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig,
    PushKernelArg, ValidAsZeroBits,
};
use lowland_core::Result;

use crate::error::{out_of_memory, unusable};
use crate::launch::{Arg, Frame, Kernel, Shape};
use crate::ptx::ptx;
use crate::{Device, DeviceInfo};

/// The oldest architecture that the kernels are compiled for.
const MIN_COMPUTE_CAPABILITY: (i32, i32) = (7, 5);
/// The oldest driver that accepts them, as the driver counts versions of CUDA.
const MIN_DRIVER: i32 = 12_000;

/// Shared memory of a launch that need not be asked for, besides what kernels declare: 48 KiB in all.
const ALWAYS_SHARED: usize = 16 << 10;

// SAFETY: a plain struct of numbers, laid out as in the kernels.
unsafe impl DeviceRepr for Frame {}

/// A card.
pub struct Gpu {
    device: Device,
    name: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    processors: usize,
    shared_memory: usize,
    modules: Mutex<HashMap<&'static str, Arc<CudaModule>>>,
    /// With the shared memory that was asked for.
    functions: Mutex<HashMap<Kernel, (CudaFunction, usize)>>,
}

/// Memory on a card.
pub(crate) struct Buffer<T> {
    slice: CudaSlice<T>,
    address: u64,
}

impl<T> Buffer<T> {
    pub fn arg(&self) -> Arg {
        Arg::Address(self.address)
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// The address of an item.
    pub fn arg_from(&self, at: usize) -> Arg {
        Arg::Address(self.address + (at * size_of::<T>()) as u64)
    }
}

/// Returns why there is no driver that can be used, or `Ok`.
fn check_driver() -> std::result::Result<(), String> {
    // SAFETY: looks for the library without calling it.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        return Err("NVIDIA's driver was not found (libcuda)".into());
    }
    let mut version = 0;
    // SAFETY: writes one number; needs no initialization.
    unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version) };
    if version < MIN_DRIVER {
        let [found, needed] = [version, MIN_DRIVER].map(|v| format!("{}.{}", v / 1000, v % 1000 / 10));
        return Err(format!("NVIDIA's driver is too old: it supports CUDA {found}, and {needed} is needed; update it"));
    }
    Ok(())
}

/// Lists the cards, usable or not; fails with the reason if there is no driver.
pub fn devices() -> std::result::Result<Vec<DeviceInfo>, String> {
    check_driver()?;
    let count = CudaContext::device_count().map_err(|error| describe(&error))?;
    Ok((0..count.max(0) as usize).map(info).collect())
}

fn info(ordinal: usize) -> DeviceInfo {
    let unknown = |reason| DeviceInfo {
        ordinal,
        name: "unknown".into(),
        compute_capability: (0, 0),
        memory: 0,
        free_memory: 0,
        unusable: Some(reason),
    };
    let read = || -> std::result::Result<DeviceInfo, DriverError> {
        let context = CudaContext::new(ordinal)?;
        let (free, memory) = context.mem_get_info()?;
        let compute_capability = context.compute_capability()?;
        Ok(DeviceInfo {
            ordinal,
            name: context.name()?,
            compute_capability,
            memory: memory as u64,
            free_memory: free as u64,
            unusable: check_capability(compute_capability).err(),
        })
    };
    read().unwrap_or_else(|error| unknown(describe(&error)))
}

fn check_capability(found: (i32, i32)) -> std::result::Result<(), String> {
    if found >= MIN_COMPUTE_CAPABILITY {
        return Ok(());
    }
    let (major, minor) = MIN_COMPUTE_CAPABILITY;
    Err(format!("its compute capability is {}.{}, and {major}.{minor} is needed", found.0, found.1))
}

fn describe(error: &DriverError) -> String {
    match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("the driver reported {:?}", error.0),
    }
}

impl Gpu {
    /// Opens a card; fails if it cannot be used.
    pub fn open(ordinal: usize) -> Result<Self> {
        let device = Device::Cuda(ordinal);
        check_driver().map_err(|reason| unusable(device, reason))?;
        let failed = |error: DriverError| unusable(device, describe(&error));
        let count = CudaContext::device_count().map_err(failed)?;
        if ordinal as i64 >= i64::from(count) {
            let cards = if count == 1 { "card" } else { "cards" };
            return Err(unusable(device, format!("there is no such card; the driver lists {count} {cards}")));
        }
        let context = CudaContext::new(ordinal).map_err(failed)?;
        check_capability(context.compute_capability().map_err(failed)?).map_err(|reason| unusable(device, reason))?;
        let attribute = |which| context.attribute(which).map_err(failed);
        let processors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as usize;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize;
        Ok(Self {
            device,
            name: context.name().map_err(failed)?,
            stream: context.new_stream().map_err(failed)?,
            context,
            processors,
            shared_memory: shared,
            modules: Mutex::default(),
            functions: Mutex::default(),
        })
    }

    /// Returns the memory that is free, in bytes.
    pub fn free_memory(&self) -> Result<u64> {
        Ok(self.context.mem_get_info().map_err(|error| self.error(error))?.0 as u64)
    }

    /// Returns number and name.
    pub fn description(&self) -> String {
        format!("{} ({})", self.device, self.name)
    }

    /// Number of multiprocessors.
    pub(crate) fn processors(&self) -> usize {
        self.processors
    }

    /// Largest shared memory of a block, in bytes.
    pub(crate) fn shared_memory(&self) -> usize {
        self.shared_memory
    }

    /// Copies numbers to the card.
    pub(crate) fn upload<T: DeviceRepr>(&self, values: &[T]) -> Result<Buffer<T>> {
        // SAFETY: written below before anything reads it; the driver refuses allocations of size zero.
        let slice = unsafe { self.stream.alloc(values.len().max(1)) };
        let mut buffer = self.buffer(slice, size_of_val(values))?;
        self.write(values, &mut buffer)?;
        Ok(buffer)
    }

    /// Copies numbers to a buffer of at least their number.
    pub(crate) fn write<T: DeviceRepr>(&self, values: &[T], buffer: &mut Buffer<T>) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let mut target = buffer.slice.slice_mut(..values.len());
        self.stream.memcpy_htod(values, &mut target).map_err(|error| self.error(error))
    }

    /// Allocates zeros.
    pub(crate) fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, count: usize) -> Result<Buffer<T>> {
        self.buffer(self.stream.alloc_zeros(count.max(1)), count * size_of::<T>())
    }

    /// Sets a buffer to zeros.
    pub(crate) fn clear<T: DeviceRepr + ValidAsZeroBits>(&self, buffer: &mut Buffer<T>) -> Result<()> {
        self.stream.memset_zeros(&mut buffer.slice).map_err(|error| self.error(error))
    }

    /// Copies the first numbers of a buffer from the card, as many as `values` holds. Waits for the work before.
    pub(crate) fn download<T: DeviceRepr>(&self, buffer: &Buffer<T>, values: &mut [T]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let source = buffer.slice.slice(..values.len());
        self.stream.memcpy_dtoh(&source, values).map_err(|error| self.error(error))?;
        self.stream.synchronize().map_err(|error| self.error(error))
    }

    /// Starts a kernel. The caller gives arguments of the kernel's types, and buffers as large as the kernel expects.
    pub(crate) fn launch(&self, kernel: Kernel, shape: Shape, args: &[Arg]) -> Result<()> {
        let function = self.function(kernel, shape.shared)?;
        let mut builder = self.stream.launch_builder(&function);
        for arg in args {
            match arg {
                Arg::Address(address) => builder.arg(address),
                Arg::Int(value) => builder.arg(value),
                Arg::Long(value) => builder.arg(value),
                Arg::Float(value) => builder.arg(value),
                Arg::Double(value) => builder.arg(value),
                Arg::Frame(frame) => builder.arg(frame),
            };
        }
        let config = LaunchConfig {
            grid_dim: (shape.blocks.0 as u32, shape.blocks.1 as u32, 1),
            block_dim: (shape.threads as u32, 1, 1),
            shared_mem_bytes: shape.shared as u32,
        };
        // SAFETY: the kernels are those of this crate, which stay within the buffers that their callers allocate for them.
        unsafe { builder.launch(config) }.map(|_| ()).map_err(|error| self.error(error))
    }

    fn function(&self, kernel: Kernel, shared: usize) -> Result<CudaFunction> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let (function, allowed) = match functions.entry(kernel) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let function = self.module(kernel.0)?.load_function(kernel.1).map_err(|error| self.error(error))?;
                entry.insert((function, ALWAYS_SHARED))
            }
        };
        if shared > *allowed {
            let most = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(most, shared as i32).map_err(|error| self.error(error))?;
            *allowed = shared;
        }
        Ok(function.clone())
    }

    fn module(&self, unit: &'static str) -> Result<Arc<CudaModule>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(unit) {
            return Ok(module.clone());
        }
        let code = cudarc::nvrtc::Ptx::from_src(ptx(unit));
        let module = self.context.load_module(code).map_err(|error| self.error(error))?;
        modules.insert(unit, module.clone());
        Ok(module)
    }

    fn buffer<T>(&self, slice: std::result::Result<CudaSlice<T>, DriverError>, bytes: usize) -> Result<Buffer<T>> {
        let slice = slice.map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                out_of_memory(self.device, bytes as u64, self.free_memory().unwrap_or(0))
            }
            _ => self.error(error),
        })?;
        let address = slice.device_ptr(&self.stream).0;
        Ok(Buffer { slice, address })
    }

    fn error(&self, error: DriverError) -> lowland_core::Error {
        unusable(self.device, describe(&error))
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Gpu({})", self.description())
    }
}
