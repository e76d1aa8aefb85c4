//! Maps of high-dimensional data.
//!
//! The library takes points, sparse rows or strings ([`Data`]), finds their neighbours ([`neighbors`]), and fits a
//! low-dimensional map with one of the [`methods`]. It performs no I/O, prints nothing and keeps no global state: progress,
//! checkpoints and cancelling go through an [`Observer`](run::Observer).
//!
//! ```
//! use lowland::methods::Job;
//! use lowland::run::{Limits, Silent};
//! use lowland::{Data, Seed};
//!
//! let data = Data::dense(vec![0.0, 0.0, 1.0, 2.0, 2.0, 4.0, 3.0, 6.0], 2)?;
//! let job = Job::new("pca", &[("n_components", "1")], Seed(0))?;
//! let fitted = job.fit(&data, None, &Limits::default(), &mut Silent)?;
//! let again = fitted.transform(&data, &mut |_| Ok(()))?;
//! assert_eq!(again, fitted.embedding);
//! # Ok::<(), lowland::Error>(())
//! ```
//!
//! Results are the same bytes for any number of threads. Work runs on the rayon pool it is called from;
//! [`with_threads`] gives a call a pool of its own.

pub mod affinity;
pub mod archive;
pub mod gplvm;
pub mod graph;
pub mod linalg;
pub mod lllvm;
pub mod llx;
pub mod lvm;
pub mod methods;
pub mod nbody;
pub mod neighbors;
pub mod objective;
pub mod optim;
pub mod params;
pub mod points;
pub mod prepare;
pub mod quality;
pub mod run;
pub mod select;
pub mod tsm;

pub use points::{Data, Dense, Embedding, Error, Metric, Points, Result, Seed, Shape, Sparse};

/// Runs `work` on a private pool of `threads` threads (all cores when `None`).
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| Error::Threads { reason: e.to_string() })?;
    Ok(pool.install(work))
}
