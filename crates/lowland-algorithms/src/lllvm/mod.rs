//! The locally linear latent variable model (Park, Jitkrittum, Qamar, Szabo, Buesing and Sahani 2015): every point
//! has latent coordinates `x` and a linear map `C` from the latent space to the data; neighbors should differ in the
//! data as `C` maps the difference of their latent coordinates. Latent coordinates and maps have Gaussian
//! posteriors, found by variational EM in closed form, along with a bound on the evidence by which graphs and
//! dimensions can be compared.
//!
//! [`LllvmProblem`] holds the data and the graph, [`LllvmEm`] iterates from one start, [`MultiStartEm`] from
//! several, and [`Posterior`] is the result. [`LowRankEm`] does the same for many points, with posteriors of a simpler form. `docs/methods/lllvm.md` maps equations to functions.

mod column_scales;
mod em;
mod evidence;
mod graph;
mod inverse;
mod laplacian_graph;
mod linear_terms;
mod low_rank;
mod missing_cells;
mod model_rows;
mod multi_start;
mod options;
mod posterior;
mod problem;
mod quadratic_form;
mod sums;
mod transform;

#[cfg(test)]
mod tests;

pub use em::LllvmEm;
pub use graph::ModelGraph;
pub use inverse::Reconstruction;
pub use laplacian_graph::LaplacianGraph;
pub use low_rank::{LaplacianModes, LowRankEm, LowRankProblem};
pub use multi_start::{EmRun, MultiStartEm};
pub use options::{Alpha, ColumnNoise, LllvmOptions, LllvmStart, MissingValues, PosteriorRank};
pub use posterior::{Hyperparameters, Posterior};
pub use problem::{LllvmProblem, ScaledRows};
pub use quadratic_form::{FormKind, quadratic_form};
pub use transform::LllvmTransformOutput;
