"""Interactive pages of embeddings."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
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
        [_describe_embedding(name, embedding) for name, embedding in embeddings.items()],
        rows=None if X is None else _input.rows(X),
        classes=classes,
        numbers=numbers,
        ids=None if ids is None else [str(name) for name in ids],
        graph=None if graph is None else graph._graph,
        threads=_input.threads(n_jobs),
    )
    return View(html, height)


def _describe_embedding(name: str, embedding: Any) -> tuple[str, str, np.ndarray, list[float] | None]:
    """Return name, caption, points and standard deviations of an estimator or array."""
    is_estimator = hasattr(embedding, "embedding_")
    std = getattr(embedding, "embedding_std_", None)
    caption = repr(embedding) if is_estimator else ""
    name = name or (type(embedding).__name__ if is_estimator else "map")
    points = _input.points(getattr(embedding, "embedding_", embedding))
    return name, caption, points, None if std is None else np.asarray(std, dtype=np.float64).tolist()
