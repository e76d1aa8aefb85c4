//! Panics of third-party readers as errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::error::{FileErrorKind, Result};

thread_local! {
    /// Whether this thread is inside a third-party reader.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Runs the reader of a third-party crate and turns a panic into an error, without printing it: such readers have been seen
/// to panic on damaged files. Panics elsewhere are reported as before.
pub(crate) fn catch_panics<T>(format: &'static str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_READING.get() {
                before(info);
            }
        }));
    });
    let outer = IS_READING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_READING.set(outer);
    result.unwrap_or_else(|_| Err(FileErrorKind::format(format, "the content contradicts itself; the file is damaged")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors_and_later_panics_are_reported_again() {
        let error = catch_panics("parquet", || -> Result<()> { panic!("made to fail") }).unwrap_err();
        assert!(error.to_string().contains("parquet file: the content contradicts itself"), "{error}");
        assert!(!IS_READING.get());
        let nested = catch_panics("h5ad", || {
            let _ = catch_panics("parquet", || -> Result<()> { panic!("made to fail") });
            assert!(IS_READING.get());
            Ok(1)
        });
        assert_eq!(nested.unwrap(), 1);
    }
}
