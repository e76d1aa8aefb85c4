//! One error type for the whole library. Every variant carries what a person needs to mend the input: where, what was
//! found, what is allowed, and what to do.

use thiserror::Error as ThisError;

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A cell is NaN or infinite.
    #[error(
        "row {row}, column {column} is {value} (counting from 0; {count} such cells in all): values must be finite. Drop such rows (missing = drop) or fill them in"
    )]
    NotFinite {
        /// Row of the first such cell.
        row: usize,
        /// Column of the first such cell.
        column: usize,
        /// What stands there.
        value: f32,
        /// How many such cells there are.
        count: usize,
    },

    /// Sizes that should agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Which sizes.
        what: &'static str,
        /// The size asked for.
        expected: usize,
        /// The size found.
        found: usize,
    },

    /// There are not enough points for what was asked.
    #[error("{what} needs at least {needed} points, found {found}. {remedy}")]
    TooFewPoints {
        /// Who needs them.
        what: String,
        /// How many.
        needed: usize,
        /// How many there are.
        found: usize,
        /// What to do.
        remedy: &'static str,
    },

    /// A parameter is outside its range or does not apply.
    #[error("{name} = {value}: {allowed}")]
    Parameter {
        /// The parameter's name, as in Python.
        name: &'static str,
        /// The value given.
        value: String,
        /// What is allowed.
        allowed: String,
    },

    /// The metric cannot be used on this data.
    #[error("metric {metric} {reason}")]
    Metric {
        /// The metric's name.
        metric: String,
        /// Why not, and what to use.
        reason: String,
    },

    /// The data are of a kind that this cannot use.
    #[error("{what} cannot use {kind} data. {remedy}")]
    Kind {
        /// Who cannot.
        what: &'static str,
        /// Dense, sparse or text.
        kind: &'static str,
        /// What to do.
        remedy: &'static str,
    },

    /// The work would need more memory than allowed.
    #[error("{what} needs about {} of memory, the limit is {}. {remedy}", bytes(*needed), bytes(*limit))]
    Memory {
        /// The work.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// What to do.
        remedy: &'static str,
    },

    /// A saved model, checkpoint or graph cannot be used.
    #[error("not a usable {what}: {reason}")]
    Format {
        /// Model, checkpoint or graph.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// A numerical routine did not reach its goal and has no fallback.
    #[error("{what} failed: {reason}")]
    Numerical {
        /// The routine.
        what: &'static str,
        /// Why.
        reason: String,
    },

    /// The observer asked to stop before there was a map to keep.
    #[error("stopped during {stage}, before there was a map to keep")]
    Stopped {
        /// The stage that was running.
        stage: &'static str,
    },

    /// The thread pool could not be built.
    #[error("cannot start the threads: {reason}")]
    Threads {
        /// Why not.
        reason: String,
    },
}

/// A size in words: `1.5 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_given_in_the_unit_people_read() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
        assert_eq!(bytes(1536 << 10), "1.5 MiB");
    }
}
