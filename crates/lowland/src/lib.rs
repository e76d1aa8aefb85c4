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

pub mod methods;
pub mod prepare;
pub mod select;

pub use lowland_algorithms::{
    affinity, gplvm, lllvm, llx, lvm, mapit, neighbor_embedding, objective, optim, out_of_sample, tsm,
};
pub use lowland_core::{Data, Dense, Embedding, Error, Metric, Points, Result, Seed, Shape, Sparse, with_threads};
pub use lowland_core::{archive, params, run};
pub use lowland_neighbors::graph;
pub use {
    lowland_linalg as linalg, lowland_nbody as nbody, lowland_neighbors as neighbors, lowland_quality as quality,
};
/// Sizes in words.
pub mod points {
    pub use lowland_core::bytes;
}
