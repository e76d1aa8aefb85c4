//! Output to the terminal: messages go to stderr, data to stdout.

use std::io::Write;

use serde_json::Value;

use crate::failure::Failure;

/// Prints a line to stderr. A closed stderr is ignored.
pub fn print_stderr(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints a JSON value as a line to stdout. A closed stdout is ignored: the run goes on to write its files.
pub fn print_json(value: &Value) {
    let _ = writeln!(std::io::stdout(), "{value}");
}

/// Prints text to stdout.
pub fn print_stdout(text: &str) -> Result<(), Failure> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// Formats a duration: `450 ms`, `3.2 s`, `4 min 10 s`.
pub fn format_duration(seconds: f64) -> String {
    if seconds < 0.995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else if seconds < 3600.0 {
        format!("{} min {:02.0} s", (seconds / 60.0) as u64, (seconds % 60.0).floor())
    } else {
        format!("{} h {:02} min", (seconds / 3600.0) as u64, (seconds % 3600.0 / 60.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_formatted_in_readable_units() {
        assert_eq!(format_duration(0.25), "250 ms");
        assert_eq!(format_duration(12.34), "12.3 s");
        assert_eq!(format_duration(250.0), "4 min 10 s");
        assert_eq!(format_duration(7300.0), "2 h 01 min");
    }
}
