"""Interactive pages of embeddings."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _input, _lowland
from ._graph import as_graph
from ._labels import column, table
from ._palette import as_palette


class View:
    """An interactive page, which notebooks display.

    Parameters
    ----------
    html : bytes
        The page.
    height : int
        Height in a notebook, in pixels.
    """

    def __init__(self, html: bytes, height: int) -> None:
        #: The page.
        self.html: bytes = html
        self._height = height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the page to a single file that needs no other files.

        The file is replaced atomically, and keeps its mode.
        """
        _lowland.write_file(path, self.html)

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.html).decode()
        return (
            f'<iframe src="data:text/html;base64,{content}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self._height}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"View({len(self.html) / 2**20:.1f} MiB; use .save('map.html') to write it to a file)"


def view(
    map: Any,
    labels: Any = None,
    *,
    X: Any = None,
    columns: Any = None,
    ids: Any = None,
    neighbors: Any = None,
    reliability: Any = None,
    slider: Iterable[float] | None = None,
    title: str = "",
    palette: str | Sequence[str] | Mapping[str, str] = "default",
    height: int = 640,
    n_jobs: int | None = None,
) -> View:
    """Create an interactive page of one or several embeddings of the same rows.

    Parameters
    ----------
    map : fitted estimator, array-like of shape (n_samples, n_components), or dict of these by name
        Rows whose position is NaN are left out.
    labels : array-like of shape (n_samples,), default=None
        Class of each point, or a number.
    X : array-like of shape (n_samples, n_features), default=None
        The rows. If they look like square images, the images are shown.
    columns : dict of array-like of shape (n_samples,) or table (pandas, polars, pyarrow), default=None
        More columns to color the points by, as classes or numbers (see :func:`lowland.plot`).
    ids : array-like of shape (n_samples,), default=None
        Name of each point.
    neighbors : NeighborGraph, sparse matrix or pair of arrays, default=None
        Nearest neighbors of the rows, to show which of them the embedding preserves.
    reliability : dict of array-like of shape (n_samples,), object with such an attribute ``columns``, or dict of these by \
name of the embedding, default=None
        How far each point can be believed, as ``lowland.trust`` returns it: columns ``kept``, ``lost``, ``intruders``,
        ``jump``, ``fragile``, ``unstable``, ``p_value``, ``flagged``, ``island`` and ``bridge_to``, as far as they are known.
        Points can be colored by them, flagged points are hollow, and lines join islands that are connected in the data.
    slider : iterable of float, default=None
        Exaggeration of each embedding, for a slider that moves the points from one to the next.
    title : str, default=''
        Title of the page.
    palette : str, sequence or dict of str, default='default'
        Colors, as in :func:`lowland.draw`.
    height : int, default=640
        Height in a notebook, in pixels.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS.

    Returns
    -------
    view : View

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> page = lowland.view(lowland.PCA().fit(X), y, X=X, title="digits")
    >>> page.html[:15]
    b'<!doctype html>'
    """
    embeddings = map if isinstance(map, Mapping) else {"": map}
    maps = [_describe_embedding(name, embedding) for name, embedding in embeddings.items()]
    rows = None if X is None else _input.rows(X)
    names = None if ids is None else [str(name) for name in ids]
    label_column = {} if labels is None else {"label": labels}
    described = [_describe_column(name, values) for name, values in {**label_column, **table(columns)}.items()]
    reliabilities = [_reliability(name, reliability) for name in embeddings]
    kept = _finite_rows(maps)
    if kept is not None:
        if neighbors is not None:
            raise ValueError("neighbors: a graph of all rows cannot be shown if rows have no position (NaN)")
        maps = [_take_points(each, kept) for each in maps]
        rows = None if rows is None else _input.take_rows(rows, kept)
        names = None if names is None else [name for name, keep in zip(names, kept) if keep]
        reliabilities = [[(name, [v for v, keep in zip(values, kept) if keep]) for name, values in each] for each in reliabilities]
        described = [(name, values[kept] if len(values) == len(kept) else values, found) for name, values, found in described]
    graph = as_graph(neighbors)
    html = _lowland.page(
        title,
        [(*_to_lists(each), trusted) for each, trusted in zip(maps, reliabilities)],
        rows=rows,
        classes=[(name, codes.tolist(), found) for name, codes, found in described if found is not None],
        numbers=[(name, values.tolist()) for name, values, found in described if found is None],
        ids=names,
        graph=None if graph is None else graph._graph,
        palette=as_palette(palette),
        slider=None if slider is None else [float(value) for value in slider],
        threads=_input.threads(n_jobs),
    )
    return View(html, height)


#: Name, caption, points, standard deviations, covariances.
_Map = tuple[str, str, np.ndarray, "np.ndarray | None", "np.ndarray | None"]


def _describe_embedding(name: str, embedding: Any) -> _Map:
    is_estimator = hasattr(embedding, "embedding_")
    points = _input.embedding(embedding)
    caption = repr(embedding) if is_estimator else ""
    name = name or (type(embedding).__name__ if is_estimator else "map")
    std, cov = (getattr(embedding, attribute, None) for attribute in ("embedding_std_", "embedding_cov_"))
    return name, caption, points, _floats(std), _floats(cov)


def _describe_column(name: str, values: Any) -> tuple[str, np.ndarray, list[str] | None]:
    """Return a column with the names of its classes, or None if it contains numbers."""
    try:
        found = column(values)
    except ValueError as error:
        raise ValueError(f"{'labels' if name == 'label' else name}: {error}") from None
    if found.names is None:
        return name, found.numbers.astype(np.float32), None
    return name, found.codes, [str(label) for label in found.names]


def _finite_rows(maps: list[_Map]) -> np.ndarray | None:
    """Return which rows have a position in every map; None if all do, or if the maps differ in length."""
    if len({len(points) for _, _, points, _, _ in maps}) != 1:
        return None
    kept = np.all([np.isfinite(points).all(axis=1) for _, _, points, _, _ in maps], axis=0)
    return None if kept.all() else kept


def _take_points(map: _Map, kept: np.ndarray) -> _Map:
    name, caption, points, std, cov = map
    return name, caption, points[kept], None if std is None else std[kept], None if cov is None else cov[kept]


def _floats(values: Any) -> np.ndarray | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _to_lists(map: _Map) -> tuple[str, str, np.ndarray, list[float] | None, list[float] | None]:
    name, caption, points, *rest = map
    std, cov = (None if values is None else values.ravel().tolist() for values in rest)
    return name, caption, points, std, cov


def reliability_columns(reliability: Any) -> dict[str, np.ndarray]:
    """Return the columns of reliability by name, of a mapping or of an object with such an attribute ``columns``."""
    if reliability is None:
        return {}
    columns = getattr(reliability, "columns", reliability)
    if not isinstance(columns, Mapping):
        raise TypeError(f"reliability: expected a dict of columns or the result of lowland.trust, found {type(reliability).__name__}")
    return {str(name): np.asarray(values, dtype=np.float64) for name, values in columns.items()}


def _reliability(name: str, reliability: Any) -> list[tuple[str, list[float]]]:
    """Return the columns of one embedding; a dict may have them by name of the embedding."""
    if isinstance(reliability, Mapping) and name in reliability:
        reliability = reliability[name]
    elif isinstance(reliability, Mapping) and reliability and not any(np.ndim(each) for each in reliability.values()):
        # By name of the embedding, and this one has none.
        return []
    return [(column, values.tolist()) for column, values in reliability_columns(reliability).items()]
