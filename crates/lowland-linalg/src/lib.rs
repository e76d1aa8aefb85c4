//! Linear algebra: dense products and decompositions, sparse matrices, eigensolvers and linear solvers for sparse
//! symmetric problems.
//!
//! Everything here is deterministic: reductions run over fixed chunks of rows and are combined in order, whatever the
//! number of threads.

pub mod block;
mod covariance;
mod csr;
pub mod dense;
mod eigen;
mod inverse;
mod laplacian;
mod linear_map;
mod lobpcg;
mod operator;
mod pcg;
mod precondition;
mod sparse_cholesky;
mod sparse_product;
mod svd;

pub use csr::Csr;
pub use eigen::{EigenMethod, EigenOptions, EigenReport, EigenState, Eigenpairs, SpectrumEnd, eigenpairs};
pub use inverse::{mirror_upper_triangle, spd_inverse};
pub use laplacian::{Laplacian, LaplacianKind};
pub use linear_map::LinearMap;
pub use lobpcg::EigenSolver;
pub use operator::SymmetricOperator;
pub use pcg::{NullSpace, PcgOptions, PcgReport, pcg};
pub use precondition::{ApproxCholesky, Identity, Jacobi, Preconditioner, laplacian_preconditioner};
pub use sparse_cholesky::SparseCholesky;
pub use svd::{
    PcaAlgorithm, RandomizedSvd, Svd, SvdOptions, choose_pca_algorithm, exact_svd, exact_svd_with, pca_memory, svd,
    svd_with,
};
