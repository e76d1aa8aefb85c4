//! All targets: the environment variable `LOWLAND_FUZZ_TARGET` selects the entry point of `lowland_testkit::entry_points`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lowland_testkit::entry_points::{EntryPoint, entry_point};
use std::sync::OnceLock;

static ENTRY: OnceLock<&EntryPoint> = OnceLock::new();

fn init() {
    let name = std::env::var("LOWLAND_FUZZ_TARGET").expect("LOWLAND_FUZZ_TARGET is the name of an entry point");
    ENTRY.get_or_init(|| entry_point(&name));
    // libFuzzer ends the process at every panic. The readers of parquet and HDF5 files are written by others, and their panics are
    // caught and become errors; ours are always defects. What is not caught still ends the process.
    std::panic::set_hook(Box::new(|info| {
        if info.location().is_some_and(|at| at.file().contains("lowland")) {
            eprintln!("{info}\n{}", std::backtrace::Backtrace::force_capture());
            std::process::abort();
        }
    }));
}

fuzz_target!(init: init(), |bytes: &[u8]| {
    let entry = ENTRY.get().expect("init has run");
    (entry.run)(bytes);
});
