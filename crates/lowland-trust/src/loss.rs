//! The losses by which points are placed.

use lowland_algorithms::lvm::LvmPointLoss;
use lowland_algorithms::mapit::MapItLoss;
use lowland_algorithms::neighbor_embedding::NeighborEmbeddingLoss;
use lowland_algorithms::point_loss::PointLoss;
use lowland_algorithms::umap::UmapLoss;

/// The loss of single points of the method that made a map.
pub enum MapLoss<'a> {
    /// Elastic embedding, symmetric SNE and t-SNE.
    NeighborEmbedding(NeighborEmbeddingLoss<'a>),
    /// UMAP.
    Umap(UmapLoss<'a>),
    /// The latent variable model.
    Lvm(LvmPointLoss<'a>),
    /// MAP IT.
    MapIt(MapItLoss<'a>),
}

impl MapLoss<'_> {
    /// Returns the number of nearest rows that the loss uses if there are as many.
    pub fn n_neighbors(&self) -> usize {
        match self {
            Self::NeighborEmbedding(loss) => loss.n_neighbors(),
            Self::Umap(loss) => loss.n_neighbors(),
            Self::Lvm(loss) => loss.n_neighbors(),
            Self::MapIt(loss) => loss.n_neighbors(),
        }
    }
}
