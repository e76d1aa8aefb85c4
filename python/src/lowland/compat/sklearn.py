"""Drop-in replacements of classes of ``sklearn.manifold`` and ``sklearn.decomposition``.

    from lowland.compat.sklearn import TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding
    from lowland.compat.sklearn import PCA, TruncatedSVD, trustworthiness

Each class is a subclass of scikit-learn's, with its parameters and defaults, whose fit is computed by lowland. Beyond the
original, ``TSNE`` has ``transform``. The fitted estimator of lowland is the attribute ``model_``, of the classes that
have one.
"""

from __future__ import annotations

from ._isomap import Isomap
from ._linear import PCA, TruncatedSVD
from ._locally_linear import LocallyLinearEmbedding
from ._spectral import SpectralEmbedding
from ._trustworthiness import trustworthiness
from ._tsne import TSNE

__all__ = [
    "PCA",
    "TSNE",
    "Isomap",
    "LocallyLinearEmbedding",
    "SpectralEmbedding",
    "TruncatedSVD",
    "trustworthiness",
]
