//! Embeddings of high-dimensional data: t-SNE and fifteen other methods, each with out-of-sample transform.
//!
//! ```
//! use lowland::{Data, methods::Tsne};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (values, more) = (lowland::Seed(1).normals(200 * 50), lowland::Seed(2).normals(3 * 50));
//! # let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
//! # let new = Data::dense(more.into_iter().map(|v| v as f32).collect(), 50)?;
//! # let folder = std::env::temp_dir().join(format!("lowland-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # std::env::set_current_dir(&folder)?;
//! let x = Data::dense(values, 50)?;                                        // row-major f32, 50 columns
//! let model = Tsne { perplexity: 50.0, ..Tsne::default() }.fit(&x)?;       // parameters are validated first
//! let map = model.embedding();                                             // rows x n_components
//! let placed = model.transform(&new)?;                                     // row by row
//! model.save("map.lowland")?;
//! let again = lowland::Model::load("map.lowland")?;
//! # assert_eq!((map.rows(), map.dim(), placed.rows()), (200, 2, 3));
//! # assert_eq!(again.transform(&new)?, placed);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! All options besides the parameters of the method are in [`FitOptions`]: seed, preprocessing, landmarks, known
//! positions, precomputed neighbors, an observer for progress and checkpoints, a memory limit, and the number of threads.
//!
//! ```
//! use lowland::methods::Lvm;
//! use lowland::preprocessing::Preprocessing;
//! use lowland::{Data, FitOptions, Seed};
//!
//! let x = Data::dense(Seed(1).normals(600).into_iter().map(|v| v as f32).collect(), 6)?;
//! let options = FitOptions {
//!     seed: Seed(7),
//!     preprocessing: Preprocessing { standardize: true, ..Preprocessing::default() },
//!     landmarks: Some(50),
//!     threads: Some(2),
//!     ..FitOptions::default()
//! };
//! let model = Lvm::default().fit_with(&x, options)?;
//! assert_eq!(model.std().map(|std| std.len()), Some(100));
//! # Ok::<(), lowland::Error>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`data`] | rows, embeddings, labels, metrics, seeds |
//! | [`divided`] | embeddings of rows that are divided among several processes |
//! | [`device`] | where computations run: processor or graphics card |
//! | [`neighbors`] | nearest neighbors, exact and approximate |
//! | [`methods`] | the methods and their parameters |
//! | [`method`] | the traits for methods defined outside of this crate |
//! | [`model`] | fitted models |
//! | [`quality`] | scores of embeddings |
//! | [`trust`] | which points and gaps of an embedding can be believed |
//! | [`growth`] | maps that keep the positions of an earlier one, and sequences of maps |
//! | [`reruns`] | how far points move between runs |
//! | [`run`] | observers, progress, checkpoints |
//! | [`method_choice`] | choosing a method by its scores on a part of the rows |
//! | [`spectrum`] | t-SNE at several exaggerations |
//! | [`steps`] | steps of the methods one by one |
//! | [`select`] | choosing parameters by the bound of `lllvm` |
//! | [`registry`], [`mod@params`] | methods by name and parameters as text, for front ends |
//! | [`message`] | remedies and notes, and how front ends render them |
//!
//! Results are bit-identical for any number of threads. The library prints nothing, keeps no global state, and accesses no
//! files except in [`Model::save`] and [`Model::load`].

mod alignment;
mod combined_graphs;
pub mod data;
pub mod device;
pub mod divided;
pub mod files;
pub mod fit;
mod fixed;
pub mod growth;
mod landmarks;
pub mod method;
pub mod method_choice;
pub mod methods;
pub mod model;
mod neighbor_stage;
pub mod neighbors;
pub mod pipeline;
pub mod preprocessing;
pub mod registry;
pub mod reruns;
pub mod run;
pub mod select;
pub mod sequence;
pub mod spectrum;
pub mod steps;
mod target;
mod training_rows;

pub use alignment::MapAlignment;
pub use fit::{Fit, FitOptions};
pub use fixed::FixedPositions;
pub use lowland_algorithms::anchors::Anchors;
pub use lowland_algorithms::density::LocalRadii;
pub use lowland_core::{
    AnnotatedEmbedding, Data, Embedding, Error, IslandBridge, Labels, MemoryBudget, Metric, Points, Reliability,
    ReliabilityColumn, Result, Seed, address_space_limit, available_memory, check_computed_embedding, message, params,
    resident_memory, threads_within_limits, with_threads,
};
/// Scores of embeddings.
pub use lowland_quality as quality;
/// Which points and gaps of an embedding can be believed.
pub use lowland_trust as trust;
pub use model::Model;
pub use target::{Target, TargetMetric};
