//! Maps of high-dimensional data.
//!
//! The library takes points, sparse rows or strings ([`Data`]), finds their neighbours ([`neighbors`]), and fits a
//! low-dimensional map with one of the [`methods`]. It performs no I/O, prints nothing and keeps no global state: progress,
//! checkpoints and cancelling go through an [`Observer`](run::Observer).
//!
//! Results are the same bytes for any number of threads. Work runs on the rayon pool it is called from;
//! [`with_threads`] gives a call a pool of its own.

pub mod archive;
pub mod graph;
pub mod linalg;
pub mod methods;
pub mod neighbors;
pub mod params;
pub mod points;
pub mod prepare;
pub mod quality;
pub mod run;

pub use points::{Data, Dense, Embedding, Error, Metric, Points, Result, Seed, Sparse};

/// Runs `work` on a private pool of `threads` threads (all cores when `None`).
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| Error::Threads { reason: e.to_string() })?;
    Ok(pool.install(work))
}
