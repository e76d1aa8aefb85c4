"""Interactive pages of embeddings."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _input, _lowland
from ._graph import as_graph


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
        self.html = html
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
    columns: Mapping[str, Any] | None = None,
    ids: Any = None,
    neighbors: Any = None,
    reliability: Any = None,
    slider: Iterable[float] | None = None,
    title: str = "",
    height: int = 640,
    n_jobs: int | None = None,
) -> View:
    """Create an interactive page of one or several embeddings of the same rows.

    Parameters
    ----------
    map : fitted estimator, array-like of shape (n_samples, n_components), or dict of these by name
    labels : array-like of shape (n_samples,), default=None
        Class of each point.
    X : array-like of shape (n_samples, n_features), default=None
        The rows. If they look like square images, the images are shown.
    columns : dict of array-like of shape (n_samples,), default=None
        More columns to color the points by: text or numbers.
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
    height : int, default=640
        Height in a notebook, in pixels.
    n_jobs : int, default=None
        Number of threads. None and -1 mean all cores.

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
    classes, numbers = [], []
    label_column = {} if labels is None else {"label": labels}
    for name, values in {**label_column, **(columns or {})}.items():
        values = np.asarray(values)
        if name == "label" or values.dtype.kind not in "fiu":
            names, codes = _input.classes(values)
            classes.append((name, codes.tolist(), [str(label) for label in names]))
        else:
            numbers.append((name, values.astype(np.float32).tolist()))
    graph = as_graph(neighbors)
    html = _lowland.page(
        title,
        [(*_describe_embedding(name, each), _reliability(name, reliability)) for name, each in embeddings.items()],
        rows=None if X is None else _input.rows(X),
        classes=classes,
        numbers=numbers,
        ids=None if ids is None else [str(name) for name in ids],
        graph=None if graph is None else graph._graph,
        slider=None if slider is None else [float(value) for value in slider],
        threads=_input.threads(n_jobs),
    )
    return View(html, height)


def _describe_embedding(
    name: str, embedding: Any
) -> tuple[str, str, np.ndarray, list[float] | None, list[float] | None]:
    """Return name, caption, points, standard deviations and covariances of an estimator or array."""
    is_estimator = hasattr(embedding, "embedding_")
    std = getattr(embedding, "embedding_std_", None)
    caption = repr(embedding) if is_estimator else ""
    name = name or (type(embedding).__name__ if is_estimator else "map")
    points = _input.points(getattr(embedding, "embedding_", embedding))
    covariances = getattr(embedding, "embedding_cov_", None)
    std, covariances = (None if each is None else np.ravel(each).astype(np.float64).tolist() for each in (std, covariances))
    return name, caption, points, std, covariances


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
