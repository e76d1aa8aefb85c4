//! Thread pools.

use crate::{Error, Result};

/// Runs `work` on a private pool of `threads` threads (`None` for all cores).
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| Error::Threads { reason: e.to_string() })?;
    Ok(pool.install(work))
}
