//! The choice of a device, and what is known of a card.

use std::fmt;
use std::str::FromStr;

use lowland_core::Error;

/// Where computations run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// On a card where that is expected to be faster, if there is one.
    #[default]
    Auto,
    /// On the processor.
    Cpu,
    /// On the card of this number, for everything that can be computed there.
    Cuda(usize),
}

impl Device {
    /// What is accepted as text.
    pub const EXPECTS: &'static str = "auto, cpu, cuda or cuda:N";
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid =
            || Error::Parameter { name: "device", value: text.into(), allowed: format!("expected {}", Self::EXPECTS) };
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let ordinal = text.strip_prefix("cuda:").ok_or_else(invalid)?;
                ordinal.parse().map(Self::Cuda).map_err(|_| invalid())
            }
        }
    }
}

/// What is known of a card.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceInfo {
    /// Its number.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Its compute capability, such as (9, 0).
    pub compute_capability: (i32, i32),
    /// Its memory in bytes.
    pub memory: u64,
    /// The memory that is free now, in bytes.
    pub free_memory: u64,
    /// Why it cannot be used, if so.
    pub unusable: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_parsed_and_printed() {
        for (text, device) in [("auto", Device::Auto), ("cpu", Device::Cpu), ("cuda:3", Device::Cuda(3))] {
            assert_eq!(text.parse(), Ok(device));
            assert_eq!(device.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for wrong in ["gpu", "cuda:", "cuda:x", "cuda:-1", ""] {
            let error = wrong.parse::<Device>().unwrap_err().to_string();
            assert!(error.contains("auto, cpu, cuda or cuda:N"), "{error}");
        }
    }
}
