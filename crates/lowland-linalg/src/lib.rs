//! Linear algebra: dense products, and what sparse symmetric problems need.
//!
//! Everything here is deterministic: reductions run over fixed chunks of rows and are combined in order, whatever the
//! number of threads.

pub mod block;
mod cg;
mod covariance;
mod csr;
pub mod dense;
mod eigen;
mod inverse;
mod laplacian;
mod linear_map;
mod lobpcg;
mod operator;
mod precondition;
mod sparse_cholesky;
mod sparse_product;
mod svd;

pub use cg::{NullSpace, PcgOptions, SolveReport, pcg};
pub use csr::Csr;
pub use eigen::{Eigen, EigenOptions, EigenReport, EigenState, Solver, Which, eigenpairs};
pub use inverse::{mirror, spd_inverse};
pub use laplacian::{Laplacian, LaplacianKind};
pub use linear_map::LinearMap;
pub use lobpcg::EigenSolver;
pub use operator::SymOp;
pub use precondition::{ApproxCholesky, Identity, Jacobi, Preconditioner, laplacian_preconditioner};
pub use sparse_cholesky::SparseCholesky;
pub use svd::{PcaRoute, RandomizedSvd, Svd, SvdOptions, exact_svd, linear_memory, pca_route, svd};
