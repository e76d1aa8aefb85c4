"""Maps of high-dimensional data, with a standard deviation for every point.

>>> import lowland
>>> X, y = lowland.datasets.load("digits", return_X_y=True)
>>> model = lowland.LVM(max_iter=20).fit(X[:300])
>>> model.embedding_.shape, model.embedding_std_.shape
((300, 2), (300,))

Importing the package imports numpy and nothing else: scikit-learn is imported with the first estimator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._lowland import __version__

if TYPE_CHECKING:
    from . import anndata, datasets, quality
    from ._graph import NeighborGraph, neighbors
    from ._plot import plot
    from ._select import Selection, select
    from ._view import View, view
    from .estimators import (
        GPLVM,
        LLLVM,
        LTSA,
        LVM,
        PCA,
        TSM,
        TSNE,
        ElasticEmbedding,
        Isomap,
        LocallyLinearEmbedding,
        MapIt,
        SpectralEmbedding,
        SymmetricSNE,
        TruncatedSVD,
        load,
    )

_MODULE_OF = {
    **dict.fromkeys(["NeighborGraph", "neighbors"], "_graph"),
    "plot": "_plot",
    **dict.fromkeys(["Selection", "select"], "_select"),
    **dict.fromkeys(["View", "view"], "_view"),
    **dict.fromkeys(
        [
            "LVM",
            "LLLVM",
            "TSM",
            "ElasticEmbedding",
            "SymmetricSNE",
            "TSNE",
            "MapIt",
            "PCA",
            "TruncatedSVD",
            "SpectralEmbedding",
            "Isomap",
            "LocallyLinearEmbedding",
            "LTSA",
            "GPLVM",
            "load",
        ],
        "estimators",
    ),
}
_MODULES = ("anndata", "datasets", "estimators", "quality")

__all__ = ["__version__", *_MODULE_OF, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
