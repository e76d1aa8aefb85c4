//! How kernels are called.

/// A kernel: the unit of compilation and the name of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kernel(pub &'static str, pub &'static str);

/// Blocks, threads of a block, and bytes of shared memory besides those that the kernel declares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub blocks: (usize, usize),
    pub threads: usize,
    pub shared: usize,
}

/// Number of threads of most kernels: the macro THREADS.
pub(crate) const THREADS: usize = 256;

impl Shape {
    /// Blocks of [`THREADS`] threads.
    pub fn blocks(count: usize) -> Self {
        Self { blocks: (count, 1), threads: THREADS, shared: 0 }
    }

    /// A thread for each item.
    pub fn for_each(items: usize) -> Self {
        Self::blocks(items.div_ceil(THREADS))
    }
}

/// Nodes of a grid over the map: its position, and the number of nodes of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub(crate) struct Frame {
    pub per_unit: f32,
    pub first: [f32; 2],
    pub nodes: [i32; 2],
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arg {
    /// The address of a buffer.
    Address(u64),
    Int(i32),
    Long(u64),
    Float(f32),
    Double(f64),
    Frame(Frame),
}

impl From<usize> for Arg {
    /// Sizes are below 2^31 wherever a kernel takes an integer; callers check them.
    fn from(value: usize) -> Self {
        Self::Int(value as i32)
    }
}

impl From<bool> for Arg {
    fn from(value: bool) -> Self {
        Self::Int(i32::from(value))
    }
}

impl From<f32> for Arg {
    fn from(value: f32) -> Self {
        Self::Float(value)
    }
}

impl From<f64> for Arg {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<Frame> for Arg {
    fn from(value: Frame) -> Self {
        Self::Frame(value)
    }
}
