//! Where computations run.

use std::cell::Cell;

use lowland::device::Device;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::PyFailure;

thread_local! {
    /// The device of what this thread starts next: the processor, except within `_device.using`.
    static DEVICE: Cell<Device> = const { Cell::new(Device::Cpu) };
}

/// The device of computations that this thread starts.
pub fn device() -> Device {
    DEVICE.get()
}

/// Sets the device of computations that this thread starts; returns the one before.
#[pyfunction]
pub fn set_device(name: &str) -> PyResult<String> {
    let device = name.parse().map_err(PyFailure::from)?;
    Ok(DEVICE.replace(device).to_string())
}

/// Returns the cards, and why there is none that can be used, or None.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<(Vec<Bound<'_, PyDict>>, Option<String>)> {
    let cards = match py.detach(lowland::device::devices) {
        Ok(cards) => cards,
        Err(reason) => return Ok((Vec::new(), Some(reason))),
    };
    let to_dict = |card: lowland::device::DeviceInfo| {
        let found = PyDict::new(py);
        found.set_item("device", Device::Cuda(card.ordinal).to_string())?;
        found.set_item("name", card.name)?;
        found.set_item("compute_capability", card.compute_capability)?;
        found.set_item("memory", card.memory)?;
        found.set_item("free_memory", card.free_memory)?;
        found.set_item("unusable", card.unusable)?;
        Ok(found)
    };
    Ok((cards.into_iter().map(to_dict).collect::<PyResult<_>>()?, None))
}
