//! How an interface refers to parameters and values.

/// The words of one interface: `--max-memory` on the command line, `max_memory` in Python, a field in Rust.
pub trait Terms {
    /// Refers to a parameter or option by its name, which is spelled with underscores.
    fn parameter(&self, name: &str) -> String;

    /// Refers to a parameter set to a value, as the user would type it.
    fn setting(&self, name: &str, value: &dyn std::fmt::Display) -> String;
}

/// The terms of the Rust API: names as they are, values with an equals sign.
#[derive(Debug, Clone, Copy, Default)]
pub struct RustTerms;

impl Terms for RustTerms {
    fn parameter(&self, name: &str) -> String {
        name.into()
    }

    fn setting(&self, name: &str, value: &dyn std::fmt::Display) -> String {
        format!("{name} = {value}")
    }
}
