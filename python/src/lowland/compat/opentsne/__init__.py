"""Drop-in replacement of the package ``openTSNE``.

    from lowland.compat import opentsne as openTSNE

    embedding = openTSNE.TSNE(perplexity=30).fit(X)
    placed = embedding.transform(new)

The modules, classes and parameters are those of openTSNE: ``affinity``, ``callbacks``, ``initialization``, ``metrics``,
``nearest_neighbors``, ``sklearn`` and ``tsne``. The neighbors, affinities, spectral initializations and gradients are computed by
lowland; the iterations are openTSNE's rule.

- ``negative_gradient_method`` ``'bh'``, ``'fft'`` and ``'auto'`` all choose the fastest engine for the points, with an error of the
  repulsion of about 1 %; ``theta=0`` sums all pairs. ``n_interpolation_points``, ``min_num_intervals`` and ``ints_in_interval`` are
  accepted and have no effect: there is no grid to choose them for.
- ``neighbors`` ``'annoy'``, ``'pynndescent'`` and ``'hnsw'`` are lowland's approximate search, and ``knn_kwargs`` of it is refused.
"""

from __future__ import annotations

from . import affinity, callbacks, initialization, metrics, nearest_neighbors, sklearn, tsne
from .tsne import TSNE, OptimizationInterrupt, PartialTSNEEmbedding, TSNEEmbedding

__all__ = [
    "TSNE",
    "OptimizationInterrupt",
    "PartialTSNEEmbedding",
    "TSNEEmbedding",
    "affinity",
    "callbacks",
    "initialization",
    "metrics",
    "nearest_neighbors",
    "sklearn",
    "tsne",
]
