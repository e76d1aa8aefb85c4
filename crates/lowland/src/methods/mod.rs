//! The built-in methods, one file each.
//!
//! A method is a parameter struct that implements [`Method`](crate::method::Method) and one line in the
//! [registry](crate::registry); the command line, Python and model files follow from that.

pub(crate) mod bottom_eigenvectors;
mod component_count;
mod components;
mod divided_method;
mod ee;
mod gplvm;
mod gplvm_transformer;
mod init;
mod isomap;
mod linear;
mod linear_transformer;
mod lle;
mod lllvm;
mod lllvm_missing;
mod ltsa;
mod lvm;
mod lvm_transformer;
mod mapit;
mod mapit_transformer;
mod neighbor_embedding;
mod neighbor_embedding_macro;
mod neighbor_embedding_transformer;
mod pacmap;
mod pca;
mod spectral;
mod ssne;
mod svd;
mod tsm;
mod tsm_layers;
mod tsm_transformer;
mod tsne;
mod umap;
mod umap_transformer;

pub use component_count::ComponentCount;
pub use divided_method::{DividedKind, DividedMethod};
pub use ee::Ee;
pub use gplvm::GpLvm;
pub use init::Init;
pub use isomap::Isomap;
pub use linear::LinearSolver;
pub use lle::Lle;
pub use lllvm::Lllvm;
pub(crate) use lllvm::model_edges;
pub use ltsa::Ltsa;
pub use lvm::{ComponentHandling, Lvm};
pub use mapit::{MapIt, MapItVariant};
pub use neighbor_embedding::RepulsionWeights;
pub use pacmap::{Pacmap, PhaseIterations};
pub use pca::Pca;
pub use spectral::{Spectral, SpectralAffinity};
pub use ssne::Ssne;
pub use svd::Svd;
pub use tsm::{HiddenLayers, MatrixStorage, NormRule, TransformRule, Tsm};
pub use tsne::Tsne;
pub use umap::{Affinity, LayoutOptimizer, Memberships, Umap};

pub use lowland_algorithms::lvm::{AdjacencyRule, Variances};
pub use lowland_algorithms::tsm::AngleHistogram;
