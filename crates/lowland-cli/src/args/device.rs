//! Where a command computes.

use clap::Args;
use lowland::device::Device;

#[derive(Args, Clone)]
pub struct DeviceArgs {
    /// Where to compute: auto (an NVIDIA card where it is faster, if there is one), cpu, cuda or cuda:N (see `lowland devices`)
    #[arg(long, value_name = "WHERE", default_value_t = Device::Auto, help_heading = "Run")]
    pub device: Device,
}
