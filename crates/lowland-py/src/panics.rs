//! Panics as Python exceptions.
//!
//! PyO3 turns a panic into a PanicException, which is no Exception in Python: `except Exception` does not catch it. Every function
//! of this module that computes something therefore runs inside of [`catch_panics`].

use std::any::Any;
use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Where the latest panic happened, and its backtrace if LOWLAND_BACKTRACE=1 asks for one. The payload of a panic has neither.
static LATEST: Mutex<Option<String>> = Mutex::new(None);

/// Records panics instead of printing them. The hook is that of this library alone.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or("an unknown place".into(), ToString::to_string);
        // Not RUST_BACKTRACE: the stack of the interpreter would be in every message of those who have set it.
        let wanted = std::env::var_os("LOWLAND_BACKTRACE").is_some_and(|value| value == "1");
        let trace = if wanted { format!("\n{}", Backtrace::force_capture()) } else { String::new() };
        *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = Some(place + &trace);
    }));
}

/// Runs `work`, and turns a panic into a RuntimeError.
pub fn catch_panics<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let work = || {
        #[cfg(debug_assertions)]
        testing::panic_if_requested(testing::Place::EntryPoint);
        work()
    };
    // What the closure shares with others is either dropped with it or guarded by locks that recover from panics.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))
}

/// The exception for a panic.
pub fn panic_error(panic: &(dyn Any + Send)) -> PyErr {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => *text,
        (None, Some(text)) => text.as_str(),
        _ => "a panic without a message",
    };
    let place =
        LATEST.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_else(|| "an unknown place".into());
    PyRuntimeError::new_err(format!(
        "internal error of lowland {}: {message}\nThis is a defect of the package. Please report it with this message, the \
         parameters, and the shape and type of the data (or the data).\nAt {place}",
        env!("CARGO_PKG_VERSION")
    ))
}

/// Panics on request, for tests of the debug build.
#[cfg(debug_assertions)]
pub mod testing {
    use std::sync::atomic::{AtomicU8, Ordering};

    use pyo3::prelude::*;

    /// Where to panic.
    #[derive(Clone, Copy)]
    pub enum Place {
        EntryPoint = 1,
        Worker = 2,
    }

    static REQUESTED: AtomicU8 = AtomicU8::new(0);

    /// Lets the next call of a function of this module panic, at its start or on its worker thread.
    #[pyfunction]
    pub fn panic_next(on_worker: bool) {
        let place = if on_worker { Place::Worker } else { Place::EntryPoint };
        REQUESTED.store(place as u8, Ordering::SeqCst);
    }

    pub fn panic_if_requested(place: Place) {
        let requested = REQUESTED.compare_exchange(place as u8, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        assert!(!requested, "requested by a test");
    }
}
