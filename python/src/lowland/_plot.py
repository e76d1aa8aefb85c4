"""A map on matplotlib axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _input

#: More classes than this get a colour bar's worth of colours instead of a legend.
_LEGEND = 20


def plot(
    map: Any, labels: Any = None, *, std: Any = None, size: float | None = None, title: str = "", ax: Any = None
) -> Any:
    """Draws a map: a fitted estimator, or its points. Gives the matplotlib axes.

    Points that the map is uncertain of (`std`, which a fitted estimator brings where it has one) are drawn paler. Of
    a map with more than two dimensions the first two are drawn.

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
    for name, given in (("labels", labels), ("std", std)):
        if given is not None and len(given) != len(points):
            raise ValueError(f"{name}: expected {len(points)}, found {len(given)}")
    ax = plt.gca() if ax is None else ax
    size = float(np.clip(20_000 / max(len(points), 1), 1, 25)) if size is None else size
    alpha = np.full(len(points), 0.8) if std is None else _certainty(np.asarray(std, dtype=np.float64))
    if labels is None:
        ax.scatter(points[:, 0], points[:, 1], s=size, alpha=alpha, linewidths=0)
    else:
        classes, codes = _input.classes(labels)
        colors = plt.get_cmap("tab10" if len(classes) <= 10 else "tab20" if len(classes) <= _LEGEND else "turbo")
        for code, name in enumerate(classes):
            at = codes == code
            color = colors(code if len(classes) <= _LEGEND else code / (len(classes) - 1))
            x, y = points[at, :2].T
            ax.scatter(x, y, s=size, alpha=alpha[at], color=color, linewidths=0, label=str(name))
        if len(classes) <= _LEGEND:
            ax.legend(title="class", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    # Distances mean the same in both directions; the numbers on the axes mean nothing.
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(title)
    return ax


def _certainty(std: np.ndarray) -> np.ndarray:
    """From 0.9 for the points that are best known to 0.15 for the least, by rank: sizes differ by decades."""
    rank = np.argsort(np.argsort(std, kind="stable"), kind="stable")
    return 0.9 - 0.75 * (rank / max(len(std) - 1, 1)) ** 2
