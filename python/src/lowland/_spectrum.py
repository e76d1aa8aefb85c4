"""t-SNE from strong repulsion to strong attraction."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _input, _lowland
from ._graph import NeighborGraph
from ._view import View, view
from .quality import Report, label_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Exaggerations of a spectrum by default.
EXAGGERATIONS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


class Spectrum:
    """Result of :func:`lowland.spectrum`.

    Attributes
    ----------
    exaggerations : list of float
    embeddings : list of ndarray of shape (n_samples, n_components)
        The map at each exaggeration, aligned to the one before.
    scores : list of Report
        The scores of each map.
    """

    def __init__(
        self, exaggerations: list[float], embeddings: list[NDArray[np.float64]], scores: list[Report], page: dict[str, Any]
    ) -> None:
        self.exaggerations: list[float] = exaggerations
        self.embeddings: list[NDArray[np.float64]] = embeddings
        self.scores: list[Report] = scores
        self._page = page

    def view(self, *, title: str = "", height: int = 640) -> View:
        """Create an interactive page with a slider that moves the points from one map to the next."""
        maps = {f"exaggeration {value:g}": points for value, points in zip(self.exaggerations, self.embeddings)}
        return view(maps, **self._page, title=title, height=height, slider=self.exaggerations)

    def save(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Save the page to a single file that needs no other files."""
        self.view(title=title).save(path)

    def _repr_html_(self) -> str:
        return self.view()._repr_html_()

    def __repr__(self) -> str:
        lines = ["exaggeration  knn recall  trustworthiness"]
        for value, scores in zip(self.exaggerations, self.scores):
            recall, trust = (scores.get(name, float("nan")) for name in ("knn recall", "trustworthiness"))
            lines.append(f"{value:>12g}  {recall:>10.3f}  {trust:>15.3f}")
        return "\n".join(lines)


def spectrum(X: Any, labels: Any = None, *, exaggerations: Iterable[float] = EXAGGERATIONS, **params: Any) -> Spectrum:
    """Fit t-SNE at several exaggerations, each map started from the one before and aligned to it.

    A small exaggeration keeps more neighbors, a large one shows more compact clusters: 1 is t-SNE, 4 is close to UMAP, and
    30 is close to Laplacian eigenmaps.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    labels : array-like of shape (n_samples,), default=None
        Class of each row, for the colors of the page and the scores.
    exaggerations : iterable of float, default=(1, 2, 4, 8, 16, 30)
        The factors of the attraction, ascending.
    **params
        Other parameters of :class:`lowland.TSNE`, such as ``perplexity``, ``metric`` or ``random_state``.

    Returns
    -------
    spectrum : Spectrum

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> found = lowland.spectrum(X[:200], y[:200], exaggerations=[1, 4], max_iter=100, exaggeration_iter=40)
    >>> [points.shape for points in found.embeddings]
    [(200, 2), (200, 2)]
    >>> found.view().html[:15]
    b'<!doctype html>'
    """
    from ._graph import as_graph
    from ._progress import Progress
    from .estimators import TSNE

    if "exaggeration" in params:
        raise ValueError("exaggeration: a spectrum has several; use exaggerations=[...]")
    estimator = TSNE(**params)
    if estimator.landmarks:
        raise ValueError(f"landmarks={estimator.landmarks}: a spectrum fits all rows; pass fewer rows instead")
    rows, _ = estimator._check_rows(X, reset=True)
    graph = as_graph(estimator.neighbors)
    classes, codes, reasons = label_codes(labels, _input.n_rows(rows))
    values = [(name, text) for name, text in estimator._parameter_values(graph) if name not in ("landmarks", "exaggeration")]
    progress = Progress("Spectrum") if estimator.verbose else None
    finished = False
    try:
        maps, found, raised = _lowland.fit_spectrum(
            values,
            [float(value) for value in exaggerations],
            rows,
            labels=codes,
            preprocessing=estimator._preprocessing_values(),
            graph=None if graph is None else graph._graph,
            seed=_input.seed(estimator.random_state),
            threads=_input.threads(estimator.n_jobs),
            max_memory=_input.memory(estimator.max_memory),
            on_progress=None if progress is None else progress.update,
            on_note=None if progress is None else progress.note,
        )
        finished = raised is None
    finally:
        if progress is not None:
            progress.close(finished)
    if raised is not None:
        raise raised
    reports = [Report.from_parts(parts, classes, reasons) for _, _, parts in maps]
    shown = X if isinstance(X, np.ndarray) else None
    page = {"labels": labels, "X": shown, "neighbors": graph if found is None else NeighborGraph(found)}
    return Spectrum([value for value, _, _ in maps], [points for _, points, _ in maps], reports, page)
