"""Scatter plots of embeddings with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _input
from ._view import reliability_columns

#: Largest number of classes for which a legend is drawn.
_MAX_LEGEND_CLASSES = 20


def plot(
    map: Any,
    labels: Any = None,
    *,
    std: Any = None,
    color: Any = None,
    reliability: Any = None,
    flagged: str = "hollow",
    bridges: bool = True,
    size: float | None = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw an embedding as a scatter plot.

    Points with a large standard deviation are drawn paler, and points that are flagged as unreliable hollow.

    Parameters
    ----------
    map : fitted estimator or array-like of shape (n_samples, n_components)
        If there are more than two dimensions, the first two are drawn.
    labels : array-like of shape (n_samples,), default=None
        Class of each point, by which it is colored.
    std : array-like of shape (n_samples,), default=None
        Standard deviation of each point. By default that of the estimator, if it has one.
    color : str or array-like of shape (n_samples,), default=None
        Numbers that the points are colored by instead of the classes, or the name of a column of `reliability`.
    reliability : dict of array-like of shape (n_samples,), or object with such an attribute ``columns``, default=None
        How far each point can be believed, as ``lowland.trust`` returns it.
    flagged : {'hollow', 'fade', 'none'}, default='hollow'
        How points are drawn that are flagged in `reliability`.
    bridges : bool, default=True
        Whether to draw lines between islands that are connected in the data (columns ``island`` and ``bridge_to``).
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
    columns = reliability_columns(reliability)
    if isinstance(color, str):
        if color not in columns:
            raise ValueError(f"color={color!r}: reliability has the columns {', '.join(columns) or 'none'}")
        color = columns[color]
    if flagged not in ("hollow", "fade", "none"):
        raise ValueError(f"flagged={flagged!r}: expected 'hollow', 'fade' or 'none'")
    for name, values in (("labels", labels), ("std", std), ("color", color), *columns.items()):
        if values is not None and len(values) != len(points):
            raise ValueError(f"{name}: expected {len(points)} values, found {len(values)}")
    ax = plt.gca() if ax is None else ax
    size = float(np.clip(20_000 / max(len(points), 1), 1, 25)) if size is None else size
    alpha = np.full(len(points), 0.8) if std is None else _opacity(np.asarray(std, dtype=np.float64))
    flags = columns.get("flagged", np.zeros(len(points))) > 0
    if flagged == "fade":
        alpha = np.where(flags, 0.2 * alpha, alpha)
    hollow = flags if flagged == "hollow" else np.zeros(len(points), dtype=bool)

    if color is not None:
        numbers = np.asarray(color, dtype=np.float64)
        scale = plt.Normalize(np.nanmin(numbers), np.nanmax(numbers)) if np.isfinite(numbers).any() else plt.Normalize()
        shades = plt.get_cmap("viridis")
        x, y = points[~hollow, :2].T
        ax.scatter(x, y, s=size, alpha=alpha[~hollow], c=shades(scale(numbers[~hollow])), linewidths=0)
        _draw_hollow(ax, points[hollow], shades(scale(numbers[hollow])), size)
        ax.figure.colorbar(plt.cm.ScalarMappable(scale, shades), ax=ax)
    elif labels is None:
        ax.scatter(points[~hollow, 0], points[~hollow, 1], s=size, alpha=alpha[~hollow], linewidths=0)
        _draw_hollow(ax, points[hollow], "tab:blue", size)
    else:
        classes, codes = _input.classes(labels)
        has_legend = len(classes) <= _MAX_LEGEND_CLASSES
        colors = plt.get_cmap("tab10" if len(classes) <= 10 else "tab20" if has_legend else "turbo")
        for code, name in enumerate(classes):
            mask = codes == code
            shade = colors(code if has_legend else code / (len(classes) - 1))
            x, y = points[mask & ~hollow, :2].T
            ax.scatter(x, y, s=size, alpha=alpha[mask & ~hollow], color=shade, linewidths=0, label=str(name))
            _draw_hollow(ax, points[mask & hollow], shade, size)
        if has_legend:
            ax.legend(title="class", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    if bridges:
        for from_end, to_end in _bridges(points, columns):
            ax.plot(*np.transpose([from_end, to_end]), color="black", linewidth=1.5)
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


def _draw_hollow(ax: Any, points: np.ndarray, colors: Any, size: float) -> None:
    """Draw points as rings."""
    if len(points) > 0:
        ax.scatter(points[:, 0], points[:, 1], s=1.8 * size, facecolors="none", edgecolors=colors, linewidths=0.9)


def _bridges(points: np.ndarray, columns: dict[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the ends of a line for each two islands that are connected in the data: means of the points with neighbors there."""
    if "island" not in columns or "bridge_to" not in columns:
        return []
    island, target = columns["island"], columns["bridge_to"]
    lines = []
    for a, b in sorted({(a, b) for a, b in zip(island, target) if 0 < a < b}):
        sides = [points[(island == x) & (target == y), :2] for x, y in ((a, b), (b, a))]
        if all(len(side) > 0 for side in sides):
            lines.append((sides[0].mean(axis=0), sides[1].mean(axis=0)))
    return lines
