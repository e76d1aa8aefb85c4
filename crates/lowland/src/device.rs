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

pub use lowland_cuda::{Device, DeviceInfo, current_device, device_failure, devices, used_devices, with_device};
