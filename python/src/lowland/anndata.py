"""Embeddings of single-cell data in AnnData objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _lowland
from ._embed import estimator_class
from ._graph import NeighborGraph
from ._registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from ._base import Estimator


def embed(
    adata: Any,
    estimator: Estimator | str | None = None,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    neighbors: bool | str = "auto",
    neighbors_key: str = "neighbors",
    key_added: str | None = None,
    overwrite: bool = False,
    copy: bool = False,
) -> Any:
    """Compute an embedding of the cells and store it in `adata`.

    Parameters
    ----------
    adata : AnnData
        May be backed by a file. The representation that is embedded is read into memory.
    estimator : estimator or str, default=None
        An estimator of this package, or the name of a method such as ``'tsne'``. None means ``TSNE()``.
    use_rep : str, default=None
        The representation to embed: ``'X'``, a key of ``obsm`` or a key of ``layers``. None means ``'X_pca'`` if it exists,
        else ``'X'``.
    layer : str, default=None
        A key of ``layers`` to embed, instead of `use_rep`.
    neighbors : bool or 'auto', default='auto'
        Whether to use the neighbor graph stored by ``scanpy.pp.neighbors`` instead of searching. With ``'auto'``, the
        graph is used if it is one of the same representation and has enough neighbors for the method.
    neighbors_key : str, default='neighbors'
        Key of the graph in ``uns``.
    key_added : str, default=None
        The embedding is stored in ``obsm['X_<key>']``, its parameters in ``uns['<key>']``, standard deviations in
        ``obs['<key>_std']`` and covariances in ``obsm['<key>_cov']``. None means the name of the method.
    overwrite : bool, default=False
        Whether to replace what is stored under these keys. By default that is an error, and nothing is changed.
    copy : bool, default=False
        Whether to return a copy instead of changing `adata`.

    Returns
    -------
    adata : AnnData or None
        The copy if ``copy=True``, else None.

    Examples
    --------
    >>> import anndata, lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> cells = anndata.AnnData(X[:200])
    >>> lowland.anndata.embed(cells)
    >>> cells.obsm["X_tsne"].shape
    (200, 2)
    """
    from . import __version__

    model = _as_estimator(estimator)
    key = key_added or model._method
    entries = [("obsm", f"X_{key}"), ("obsm", f"{key}_cov"), ("obs", f"{key}_std"), ("uns", key)]
    existing = [f"{part}[{name!r}]" for part, name in entries if name in getattr(adata, part)]
    if existing and not overwrite:
        raise ValueError(
            f"{', '.join(existing)} exists already: choose another key (key_added=...), or replace it (overwrite=True)"
        )
    if copy:
        # The copy of an object that is backed by a file would be another file.
        adata = adata.to_memory() if getattr(adata, "isbacked", False) else adata.copy()
    rows, source = _representation(adata, use_rep, layer)
    graph = _stored_graph(adata, neighbors_key, source) if neighbors else None
    uses_graphs = "neighbors" in model.get_params() and model._given_graph() is None
    usable = graph is not None and uses_graphs
    if neighbors is True and not usable:
        name = type(model).__name__
        raise ValueError(f"there is no neighbor graph of {source!r} in uns[{neighbors_key!r}] that {name} can use")
    use_graph = usable and graph is not None and (neighbors is True or graph.n_neighbors >= _required(model, len(graph)))
    if use_graph:
        model.set_params(neighbors=graph)
    try:
        model.fit(rows)
    finally:
        if use_graph:
            # The graph belongs to these cells; the estimator may be used for others.
            model.set_params(neighbors=None)
    for part, name in entries:
        # Nothing of an earlier embedding remains beside the new one.
        if name in getattr(adata, part):
            del getattr(adata, part)[name]
    adata.obsm[f"X_{key}"] = model.embedding_
    if hasattr(model, "embedding_std_"):
        adata.obs[f"{key}_std"] = getattr(model, "embedding_std_")
    if hasattr(model, "embedding_cov_"):
        adata.obsm[f"{key}_cov"] = getattr(model, "embedding_cov_").reshape(len(model.embedding_), -1)
    adata.uns[key] = {
        "method": model._method,
        "version": __version__,
        "params": dict(model.model_.params),
        "preparation": dict(model.model_.preprocessing),
        "use_rep": source,
        "neighbors_key": neighbors_key if use_graph else "",
        "notes": list(model.notes_),
    }
    return adata if copy else None


def _as_estimator(estimator: Any) -> Estimator:
    if estimator is None or isinstance(estimator, str):
        return estimator_class(estimator or DEFAULT_METHOD, "estimator")()
    if isinstance(estimator, type) or not hasattr(estimator, "_method"):
        shown = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        hint = f": call it, {shown}()" if isinstance(estimator, type) and hasattr(estimator, "_method") else ""
        raise ValueError(f"estimator: expected an estimator of this package or the name of a method, got {shown}{hint}")
    return estimator


def _representation(adata: Any, use_rep: str | None, layer: str | None) -> tuple[Any, str]:
    """Return the rows to embed, in memory, and the name of their source."""
    if layer is not None:
        if use_rep is not None:
            raise ValueError("use_rep and layer cannot be used together")
        if layer not in adata.layers:
            raise ValueError(f"layer={layer!r}: expected one of {', '.join(map(repr, adata.layers)) or 'no layers'}")
        return _in_memory(adata.layers[layer]), layer
    if use_rep is None:
        use_rep = "X_pca" if "X_pca" in adata.obsm else "X"
    if use_rep == "X":
        if adata.X is None:
            raise ValueError("use_rep='X': there is no X; choose a key of obsm or layers")
        return _in_memory(adata.X), use_rep
    if use_rep in adata.obsm:
        return _in_memory(adata.obsm[use_rep]), use_rep
    if use_rep in adata.layers:
        return _in_memory(adata.layers[use_rep]), use_rep
    known = ["X", *adata.obsm, *adata.layers]
    raise ValueError(f"use_rep={use_rep!r}: expected one of {', '.join(map(repr, known))}")


def _in_memory(values: Any) -> Any:
    """Read rows of a file."""
    if hasattr(values, "to_memory"):  # a sparse matrix of a backed object
        return values.to_memory()
    return values if hasattr(values, "tocsr") or hasattr(values, "columns") else np.asarray(values)


def _stored_graph(adata: Any, key: str, source: str) -> NeighborGraph | None:
    """Return the neighbor graph that scanpy stored for this representation, if any."""
    if key not in adata.uns:
        return None
    entry = adata.uns[key]
    matrix = adata.obsp.get(entry.get("distances_key", "distances"))
    if matrix is None:
        return None
    params = entry.get("params", {})
    # scanpy records the representation only if it was named, and otherwise uses X_pca or X.
    named = params.get("use_rep")
    if source != named and not (named is None and source in ("X", "X_pca")):
        return None
    metric = str(params.get("metric", "precomputed"))
    try:
        return NeighborGraph.from_csr(matrix, metric)
    except ValueError:
        # scanpy has metrics that this package does not have; the distances can be used all the same.
        return NeighborGraph.from_csr(matrix)


def _required(estimator: Estimator, n_rows: int) -> int:
    """Return the number of neighbors that the method searches for."""
    return _lowland.required_neighbors(estimator._method, estimator._parameter_values(None), n_rows)
