//! The words of the command line: parameters are flags.

use std::fmt::Display;

use lowland::message::Terms;

/// Refers to parameters as flags: `--max-memory`, `--landmarks 5000`.
pub struct FlagTerms;

/// Flags without a value.
const SWITCHES: [&str; 3] = ["log1p", "standardize", "normalize"];

impl Terms for FlagTerms {
    fn parameter(&self, name: &str) -> String {
        format!("--{}", flag_name(name))
    }

    fn setting(&self, name: &str, value: &dyn Display) -> String {
        if SWITCHES.contains(&name) { self.parameter(name) } else { format!("{} {value}", self.parameter(name)) }
    }
}

/// The flag of a parameter, without the leading dashes.
pub fn flag_name(name: &str) -> String {
    name.replace('_', "-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_worded_as_flags() {
        assert_eq!(FlagTerms.parameter("max_memory"), "--max-memory");
        assert_eq!(FlagTerms.setting("landmarks", &5000), "--landmarks 5000");
        assert_eq!(FlagTerms.setting("log1p", &true), "--log1p");
        // PaCMAP's own names have capitals.
        assert_eq!(FlagTerms.parameter("MN_ratio"), "--mn-ratio");
    }
}
