"""Drop-in replacements of the classes of ``umap``, the package umap-learn.

    from lowland.compat import umap

    reducer = umap.UMAP(n_neighbors=15, min_dist=0.1).fit(X)
    placed = reducer.transform(new)

The parameters, defaults and fitted attributes are those of umap-learn. The neighbors, the fuzzy graph and the layout are computed by
lowland, so that results do not depend on the number of threads. What cannot be honored is refused with the reason.
"""

from __future__ import annotations

from ._aligned_umap import AlignedUMAP
from ._umap import UMAP

__all__ = ["UMAP", "AlignedUMAP"]
