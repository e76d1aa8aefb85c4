"""Data larger than one machine, on the cluster of a dask ``Client``: transform, neighbors, and fits to all rows.

Install with ``pip install lowland[dask]``. Everything runs on the cluster that the current ``distributed.Client`` points to.

- :func:`transform` places the rows of a dask array or dataframe on the map of a fitted estimator, block by block.
- :func:`fit_sample` draws a sample of the rows, and fits an estimator to it: with :func:`transform`, any method maps any number of rows.
- :func:`far_rows` tells which rows are far from all rows of the sample.
- :func:`neighbors` finds the nearest neighbors of all rows, in pieces.
- :func:`fit` fits t-SNE, symmetric SNE, the elastic embedding or MAP IT to all rows, across the workers.
"""

from __future__ import annotations

from ._fit import DistributedMap, fit
from ._neighbors import DistributedGraph, neighbors
from ._transform import far_rows, fit_sample, transform

__all__ = ["DistributedGraph", "DistributedMap", "far_rows", "fit", "fit_sample", "neighbors", "transform"]
