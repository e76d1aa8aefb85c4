//! Errors about devices.

use lowland_core::Error;
use lowland_core::message::Remedy;

use crate::Device;

/// The remedy for everything that a card cannot do.
const USE_CPU: Remedy = Remedy::Set { name: "device", value: "cpu" };

/// A card that cannot be used, or not for the work at hand.
pub fn unusable(device: Device, reason: String) -> Error {
    Error::Device { device: device.to_string(), reason, remedies: vec![USE_CPU] }
}

/// Work that needs more memory than is free on a card.
pub(crate) fn too_little_memory(what: &str, device: Device, needed: u64, free: u64) -> Error {
    Error::Memory {
        what: format!("{what} on {device}"),
        needed,
        limit: free,
        remedies: vec![USE_CPU, Remedy::FewerRows],
    }
}

/// An allocation that failed although the estimate had said that it would fit: other programs use the card, too.
#[cfg_attr(not(feature = "driver"), expect(dead_code, reason = "nothing is allocated"))]
pub(crate) fn out_of_memory(device: Device, needed: u64, free: u64) -> Error {
    too_little_memory("an allocation", device, needed, free)
}
