"""Scatter plots of embeddings with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _input
from ._labels import Column, column
from ._view import reliability_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Classes in a column of the legend, and in the whole legend.
_LEGEND_ROWS, _LEGEND_CLASSES = 20, 60


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
    ax: Axes | None = None,
) -> Axes:
    """Draw an embedding as a scatter plot.

    Points with a large standard deviation are drawn paler, and points that are flagged as unreliable hollow.

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

    points = _input.embedding(map)
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
    shades = _shades(ax, len(points), labels, color)
    x, y = points[~hollow, :2].T
    style: dict[str, Any] = {"s": size, "alpha": alpha[~hollow], "linewidths": 0}
    ax.scatter(x, y, c=shades[~hollow], **style)
    _draw_hollow(ax, points[hollow], shades[hollow], size)
    if bridges:
        for from_end, to_end in _bridges(points, columns):
            ax.plot(*np.transpose([from_end, to_end]), color="black", linewidth=1.5)
    # Both axes have the same scale. The coordinates themselves have no meaning, so there are no ticks.
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(title)
    return ax


def _shades(ax: Axes, n_points: int, labels: Any, color: Any) -> np.ndarray:
    """Return the color of each point, and add the legend or color bar that explains it."""
    from matplotlib.colors import to_rgba

    if color is not None:
        return _number_shades(ax, Column(None, np.empty(0, int), np.asarray(color, dtype=np.float64)))
    if labels is None:
        return np.tile(to_rgba("tab:blue"), (n_points, 1))
    try:
        found = column(labels)
    except ValueError as error:
        raise ValueError(f"labels: {error}") from None
    return _number_shades(ax, found) if found.names is None else _class_shades(ax, found)


def _number_shades(ax: Axes, colors: Column) -> np.ndarray:
    """Return colors by a number, and add a color bar."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    present = colors.numbers[np.isfinite(colors.numbers)]
    scale = Normalize(present.min(), present.max()) if len(present) else Normalize()
    mappable = ScalarMappable(scale, "viridis")
    bar = ax.figure.colorbar(mappable, ax=ax, fraction=0.046, pad=0.04)
    if colors.is_date:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator()
        bar.ax.yaxis.set_major_locator(locator)
        bar.ax.yaxis.set_major_formatter(ConciseDateFormatter(locator))
    shades = np.asarray(mappable.to_rgba(np.nan_to_num(colors.numbers, nan=float(scale.vmin or 0))))
    # Points without a number are gray.
    shades[~np.isfinite(colors.numbers)] = (0.7, 0.7, 0.7, 1.0)
    return shades


def _class_shades(ax: Axes, colors: Column) -> np.ndarray:
    """Return colors by class, and add a legend of the classes, or of the largest if there are very many."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    names = colors.names or []
    palette = plt.get_cmap("tab10" if len(names) <= 10 else "tab20" if len(names) <= 20 else "turbo")
    positions = np.arange(len(names)) if len(names) <= 20 else np.arange(len(names)) / (len(names) - 1)
    shades = palette(positions)
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
    return np.asarray(shades[colors.codes])


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
