"""Scatter plots of embeddings with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _input
from ._labels import Column, column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Classes in a column of the legend, and in the whole legend.
_LEGEND_ROWS, _LEGEND_CLASSES = 20, 60


def plot(
    map: Any, labels: Any = None, *, std: Any = None, size: float | None = None, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw an embedding as a scatter plot.

    Points with a large standard deviation are drawn paler.

    Parameters
    ----------
    map : fitted estimator or array-like of shape (n_samples, n_components)
        If there are more than two dimensions, the first two are drawn.
    labels : array-like of shape (n_samples,), default=None
        What the points are colored by. Text, categories (in their order), truth values and integers with at most 20 distinct
        values are classes, which have a legend. Other numbers and dates have a color bar; convert numbers to text to draw
        them as classes.
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

    points = _input.embedding(map)
    std = getattr(map, "embedding_std_", None) if std is None else std
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    for name, values in (("labels", labels), ("std", std)):
        if values is not None and len(values) != len(points):
            raise ValueError(f"{name}: expected {len(points)} values, found {len(values)}")
    ax = plt.gca() if ax is None else ax
    size = float(np.clip(20_000 / max(len(points), 1), 1, 25)) if size is None else size
    alpha = np.full(len(points), 0.8) if std is None else _opacity(np.asarray(std, dtype=np.float64))
    style: dict[str, Any] = {"s": size, "alpha": alpha, "linewidths": 0}
    if labels is None:
        ax.scatter(points[:, 0], points[:, 1], **style)
    else:
        try:
            colors = column(labels)
        except ValueError as error:
            raise ValueError(f"labels: {error}") from None
        if colors.names is None:
            _draw_numbers(ax, points, colors, style)
        else:
            _draw_classes(ax, points, colors, style)
    # Both axes have the same scale. The coordinates themselves have no meaning, so there are no ticks.
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(title)
    return ax


def _draw_numbers(ax: Axes, points: np.ndarray, colors: Column, style: dict[str, Any]) -> None:
    """Draw points colored by a number, with a color bar."""
    from matplotlib.cm import ScalarMappable

    drawn = ax.scatter(points[:, 0], points[:, 1], c=colors.numbers, cmap="viridis", plotnonfinite=True, **style)
    # A mappable of its own: that of the points would give the bar their opacity.
    bar = ax.figure.colorbar(ScalarMappable(drawn.norm, drawn.cmap), ax=ax, fraction=0.046, pad=0.04)
    if colors.is_date:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator()
        bar.ax.yaxis.set_major_locator(locator)
        bar.ax.yaxis.set_major_formatter(ConciseDateFormatter(locator))


def _draw_classes(ax: Axes, points: np.ndarray, colors: Column, style: dict[str, Any]) -> None:
    """Draw points colored by their class, with a legend of the classes, or of the largest if there are very many."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    names = colors.names or []
    palette = plt.get_cmap("tab10" if len(names) <= 10 else "tab20" if len(names) <= 20 else "turbo")
    positions = np.arange(len(names)) if len(names) <= 20 else np.arange(len(names)) / (len(names) - 1)
    shades = palette(positions)
    ax.scatter(points[:, 0], points[:, 1], c=shades[colors.codes], **style)
    counts = np.bincount(colors.codes, minlength=len(names))
    listed = np.sort(np.argsort(-counts, kind="stable")[:_LEGEND_CLASSES])
    # Swatches of their own, opaque: those of the points would have the opacity of one of them.
    swatches = [
        Line2D([], [], linestyle="", marker="o", markersize=5, color=shades[code], label=str(names[code])) for code in listed
    ]
    if len(listed) < len(names):
        swatches.append(Line2D([], [], linestyle="", label=f"and {len(names) - len(listed)} more"))
    columns = -(-len(swatches) // _LEGEND_ROWS)
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False}
    ax.legend(handles=swatches, title="class", ncols=columns, fontsize="small" if columns > 1 else None, **place)


def _opacity(std: np.ndarray) -> np.ndarray:
    """Return an opacity between 0.9 (smallest standard deviation) and 0.15 (largest), by rank.

    Ranks are used because standard deviations vary over orders of magnitude.
    """
    rank = np.argsort(np.argsort(std, kind="stable"), kind="stable")
    return 0.9 - 0.75 * (rank / max(len(std) - 1, 1)) ** 2
