"""Scatter plots of embeddings with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _input

#: Largest number of classes for which a legend is drawn.
_MAX_LEGEND_CLASSES = 20


def plot(
    map: Any, labels: Any = None, *, std: Any = None, size: float | None = None, title: str = "", ax: Any = None
) -> Any:
    """Draw an embedding as a scatter plot.

    Points with a large standard deviation are drawn paler.

    Parameters
    ----------
    map : fitted estimator or array-like of shape (n_samples, n_components)
        If there are more than two dimensions, the first two are drawn.
    labels : array-like of shape (n_samples,), default=None
        Class of each point, by which it is colored.
    std : array-like of shape (n_samples,), default=None
        Standard deviation of each point. By default that of the estimator, if it has one.
    size : float, default=None
        Size of the points, as in ``Axes.scatter``. By default it depends on the number of points.
    title : str, default=''
        Title of the axes.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. By default the current axes.

    Returns
    -------
    ax : matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("agg")
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> lowland.plot(lowland.PCA().fit(X), y).get_legend().get_title().get_text()
    'class'
    """
    import matplotlib.pyplot as plt

    points = _input.points(getattr(map, "embedding_", map))
    std = getattr(map, "embedding_std_", None) if std is None else std
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    for name, values in (("labels", labels), ("std", std)):
        if values is not None and len(values) != len(points):
            raise ValueError(f"{name}: expected {len(points)} values, found {len(values)}")
    ax = plt.gca() if ax is None else ax
    size = float(np.clip(20_000 / max(len(points), 1), 1, 25)) if size is None else size
    alpha = np.full(len(points), 0.8) if std is None else _opacity(np.asarray(std, dtype=np.float64))
    if labels is None:
        ax.scatter(points[:, 0], points[:, 1], s=size, alpha=alpha, linewidths=0)
    else:
        classes, codes = _input.classes(labels)
        has_legend = len(classes) <= _MAX_LEGEND_CLASSES
        colors = plt.get_cmap("tab10" if len(classes) <= 10 else "tab20" if has_legend else "turbo")
        for code, name in enumerate(classes):
            mask = codes == code
            color = colors(code if has_legend else code / (len(classes) - 1))
            x, y = points[mask, :2].T
            ax.scatter(x, y, s=size, alpha=alpha[mask], color=color, linewidths=0, label=str(name))
        if has_legend:
            ax.legend(title="class", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    # Both axes have the same scale. The coordinates themselves have no meaning, so there are no ticks.
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(title)
    return ax


def _opacity(std: np.ndarray) -> np.ndarray:
    """Return an opacity between 0.9 (smallest standard deviation) and 0.15 (largest), by rank.

    Ranks are used because standard deviations vary over orders of magnitude.
    """
    rank = np.argsort(np.argsort(std, kind="stable"), kind="stable")
    return 0.9 - 0.75 * (rank / max(len(std) - 1, 1)) ** 2
