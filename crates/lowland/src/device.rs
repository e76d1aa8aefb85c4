//! Where computations run: the processor, or an NVIDIA card.
//!
//! A device is in effect for what [`with_device`] runs on the current thread, or for a fit by
//! [`FitOptions::device`](crate::FitOptions::device). Neighbor searches have the same results on every device, to the last bit.
//! Maps of iterative methods differ between devices, as they do between seeds, but not between runs on cards of one kind with one
//! driver.
//!
//! ```
//! use lowland::device::{Device, current_device, with_device};
//!
//! assert_eq!(with_device(Device::Auto, current_device)?, Device::Auto);
//! assert_eq!("cuda:1".parse(), Ok(Device::Cuda(1)));
//! # Ok::<(), lowland::Error>(())
//! ```

use lowland_core::message::Note;
pub use lowland_cuda::{Device, DeviceInfo, current_device, devices, with_device};
use lowland_cuda::{take_device_failure, take_used_device};

/// Returns what was computed on a card, or why not, since [`with_device`] or the last call. Fits make notes of their models of it.
pub fn take_notes() -> Vec<Note> {
    let used = take_used_device().map(|(device, work)| Note::DeviceUsed { device, work });
    used.into_iter().chain(take_device_failure().map(|reason| Note::DeviceFailed { reason })).collect()
}
