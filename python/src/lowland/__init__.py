"""Nonlinear dimensionality reduction: t-SNE and fifteen other methods.

Importing the package imports neither numpy nor scikit-learn, which come with the first use.

Examples
--------
>>> import lowland
>>> X, y = lowland.datasets.load("digits", return_X_y=True)
>>> lowland.embed(X[:300]).shape
(300, 2)
>>> model = lowland.TSNE(perplexity=20).fit(X[:300])
>>> model.embedding_.shape, model.transform(X[300:310]).shape
((300, 2), (10, 2))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._lowland import __version__
from ._registry import ESTIMATORS as _ESTIMATORS

if TYPE_CHECKING:
    from . import anndata, compat, datasets, estimators, quality
    from ._aligned import AlignedMaps
    from ._compare import Comparison, compare
    from ._convergence import ConvergenceWarning
    from ._device import devices
    from ._embed import MethodChoice, choose_method, embed
    from ._graph import NeighborGraph, neighbors
    from ._picture import Picture, draw
    from ._plot import plot
    from ._select import EdgeComparison, Selection, select, select_edges
    from ._spectrum import Spectrum, spectrum
    from ._trust import Trust, trust
    from ._view import View, view
    from ._warnings import DataWarning, LowlandWarning, ParameterWarning
    from .estimators import (
        GPLVM,
        LLLVM,
        LTSA,
        LVM,
        PCA,
        TSM,
        TSNE,
        UMAP,
        ElasticEmbedding,
        Isomap,
        LocallyLinearEmbedding,
        MapIt,
        PaCMAP,
        SpectralEmbedding,
        SymmetricSNE,
        TruncatedSVD,
        load,
    )

#: Module of each name that is imported on first use.
_MODULE_OF = {
    "AlignedMaps": "_aligned",
    **dict.fromkeys(["Comparison", "compare"], "_compare"),
    "ConvergenceWarning": "_convergence",
    "devices": "_device",
    **dict.fromkeys(["MethodChoice", "choose_method", "embed"], "_embed"),
    **dict.fromkeys(["NeighborGraph", "neighbors"], "_graph"),
    **dict.fromkeys(["Picture", "draw"], "_picture"),
    "plot": "_plot",
    **dict.fromkeys(["EdgeComparison", "Selection", "select", "select_edges"], "_select"),
    **dict.fromkeys(["Spectrum", "spectrum"], "_spectrum"),
    **dict.fromkeys(["Trust", "trust"], "_trust"),
    **dict.fromkeys(["View", "view"], "_view"),
    **dict.fromkeys(["DataWarning", "LowlandWarning", "ParameterWarning"], "_warnings"),
    **dict.fromkeys([*_ESTIMATORS.values(), "load"], "estimators"),
}
_SUBMODULES = ("anndata", "compat", "datasets", "estimators", "quality")

__all__ = [
    "GPLVM",
    "LLLVM",
    "LTSA",
    "LVM",
    "PCA",
    "TSM",
    "TSNE",
    "UMAP",
    "AlignedMaps",
    "Comparison",
    "ConvergenceWarning",
    "DataWarning",
    "EdgeComparison",
    "ElasticEmbedding",
    "Isomap",
    "LocallyLinearEmbedding",
    "LowlandWarning",
    "MapIt",
    "MethodChoice",
    "NeighborGraph",
    "PaCMAP",
    "ParameterWarning",
    "Picture",
    "Selection",
    "SpectralEmbedding",
    "Spectrum",
    "SymmetricSNE",
    "TruncatedSVD",
    "Trust",
    "View",
    "__version__",
    "anndata",
    "choose_method",
    "compare",
    "compat",
    "datasets",
    "devices",
    "draw",
    "embed",
    "estimators",
    "load",
    "neighbors",
    "plot",
    "quality",
    "select",
    "select_edges",
    "spectrum",
    "trust",
    "view",
]


if not TYPE_CHECKING:
    # Type checkers know all names from the imports above.

    def __getattr__(name: str) -> Any:
        import importlib

        if name in _SUBMODULES:
            return importlib.import_module(f".{name}", __name__)
        if name in _MODULE_OF:
            value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
