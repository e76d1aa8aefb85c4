//! Computations on NVIDIA cards, through the driver alone.
//!
//! This crate is an implementation detail of `lowland`, which re-exports what is public. The rest of the library asks
//! [`gpu_for`] for a card at the few places where one helps, and computes on the processor if there is none. What is asked for
//! is in effect for the current thread, like rayon's current pool: see [`with_device`].
//!
//! Built without the feature `driver`, there are no cards: [`Gpu`] has no values.

mod affinity;
mod device;
mod error;
mod grid;
#[cfg_attr(not(feature = "driver"), allow(dead_code))]
mod launch;
mod layout;
mod map;
mod nearest;
mod pairs;
mod params;
#[cfg_attr(not(any(test, feature = "driver")), allow(dead_code))]
mod ptx;
mod scope;

#[cfg(not(feature = "driver"))]
#[path = "absent.rs"]
mod gpu;
#[cfg(feature = "driver")]
mod gpu;

pub use affinity::{AFFINITY_SHARED_MEMORY, entropic_affinities};
pub use device::{Device, DeviceInfo};
pub use error::unusable;
pub use gpu::{Gpu, devices};
pub use layout::DeviceLayout;
pub use map::DeviceMap;
pub use nearest::{nearest, nearest_memory, nearest_shared_memory};
pub use pairs::DevicePairs;
pub use params::{
    AffinityRequest, DeviceEdges, EdgeAttraction, GainStep, Gradient, LayoutEpoch, LayoutForces, MAX_DIM,
    MAX_NEIGHBORS, MAX_ROWS, MapForces, MomentumStep, NearestOutput, NearestRequest, NearestRows, PairEnds, PairKernel,
    PairStep, RatedEdges, RowMetric, SparseMatrix, StepResult, affinity_memory, layout_memory, map_memory,
    map_shared_memory, pairs_memory,
};
pub use scope::{Work, current_device, gpu_for, or_processor, take_device_failure, take_used_device, with_device};
