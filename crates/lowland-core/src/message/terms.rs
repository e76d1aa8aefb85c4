//! How an interface refers to parameters and values.

/// How an interface names parameters: `--max-memory` on the command line, `max_memory` in Python and Rust.
pub trait Terms {
    /// Formats the name of a parameter, which is spelled with underscores.
    fn parameter(&self, name: &str) -> String;

    /// Formats a parameter with a value, as the user would type it.
    fn setting(&self, name: &str, value: &dyn std::fmt::Display) -> String;

    /// How rows with missing values are left out.
    fn drop_missing(&self) -> String {
        self.setting("missing", &"drop")
    }
}

/// Terms of the Rust API: unchanged names, and values after an equals sign.
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
