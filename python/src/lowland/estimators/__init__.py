"""The methods as scikit-learn estimators. Names and defaults of the parameters are the command line's."""

from .._base import load
from .latent import GPLVM, LLLVM, LVM
from .linear import PCA, TSM, TruncatedSVD
from .manifold import LTSA, Isomap, LocallyLinearEmbedding, SpectralEmbedding
from .neighbor_embedding import TSNE, ElasticEmbedding, MapIt, SymmetricSNE

__all__ = [
    "GPLVM",
    "LLLVM",
    "LTSA",
    "LVM",
    "PCA",
    "TSM",
    "TSNE",
    "ElasticEmbedding",
    "Isomap",
    "LocallyLinearEmbedding",
    "MapIt",
    "SpectralEmbedding",
    "SymmetricSNE",
    "TruncatedSVD",
    "load",
]
