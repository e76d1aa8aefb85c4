"""The interactive page: in a notebook, or as one file."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _input, _lowland
from ._graph import as_graph


class View:
    """An interactive page. A notebook shows it; `save` writes it as one file that needs nothing else."""

    def __init__(self, html: bytes, height: int) -> None:
        #: The page.
        self.html = html
        self._height = height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, under a temporary name first, so that no reader sees half of it."""
        # In a folder of its own, so that the file has the permissions that any new file gets.
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(path)), suffix=".tmp") as folder:
            temporary = os.path.join(folder, "page.html")
            with open(temporary, "wb") as file:
                file.write(self.html)
            os.replace(temporary, path)

    def _repr_html_(self) -> str:
        content = base64.b64encode(self.html).decode()
        return (
            f'<iframe src="data:text/html;base64,{content}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self._height}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"View({len(self.html) / 2**20:.1f} MiB; .save('map.html') writes it)"


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
    """An interactive page of a map: a fitted estimator, its points, or several of them by name.

    Parameters
    ----------
    map : a fitted estimator, an array, or a dictionary of either
    labels : a class for each point
    X : the rows; where they look like square images, these are shown
    columns : more to colour by: words or numbers, one a point
    ids : a name for each point
    neighbors : a NeighborGraph of the rows, to see which true neighbours the map keeps
    title : name of the data
    height : pixels in a notebook

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> page = lowland.view(lowland.PCA().fit(X), y, X=X, title="digits")
    >>> page.html[:15]
    b'<!doctype html>'
    """
    shown = [_shown(name, each) for name, each in map.items()] if isinstance(map, Mapping) else [_shown("", map)]
    classes, numbers = [], []
    given = {} if labels is None else {"label": labels}
    for name, values in {**given, **(columns or {})}.items():
        values = np.asarray(values)
        if name == "label" or values.dtype.kind not in "fiu":
            names, codes = _input.classes(values)
            classes.append((name, codes.tolist(), [str(each) for each in names]))
        else:
            numbers.append((name, values.astype(np.float32).tolist()))
    graph = as_graph(neighbors)
    html = _lowland.page(
        title,
        shown,
        rows=None if X is None else _input.rows(X),
        classes=classes,
        numbers=numbers,
        ids=None if ids is None else [str(each) for each in ids],
        graph=None if graph is None else graph._graph,
        threads=_input.threads(n_jobs),
    )
    return View(html, height)


def _shown(name: str, each: Any) -> tuple[str, str, np.ndarray, list[float] | None]:
    """Name, caption, points and standard deviations of a map."""
    std = getattr(each, "embedding_std_", None)
    caption = repr(each) if hasattr(each, "embedding_") else ""
    name = name or (type(each).__name__ if hasattr(each, "embedding_") else "map")
    points = _input.points(getattr(each, "embedding_", each))
    return name, caption, points, None if std is None else np.asarray(std, dtype=np.float64).tolist()
