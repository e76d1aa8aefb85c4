"""Scatter plots of embeddings with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _fonts, _input, _lowland
from ._labels import Column, column
from ._palette import as_palette
from ._view import reliability_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Classes in a column of the legend, and in the whole legend; characters of a name in it.
_LEGEND_ROWS, _LEGEND_CLASSES, _LEGEND_NAME = 20, 60, 60


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
    palette: str | Sequence[str] | Mapping[str, str] = "default",
    map_labels: str = "auto",
    ax: Axes | None = None,
) -> Axes:
    """Draw an embedding as a scatter plot.

    Points with a large standard deviation are drawn paler, and points that are flagged as unreliable hollow. Text has the fonts of
    :func:`lowland.draw` and the command line (Inter, Noto Sans), unless matplotlib was told to use others, and is never parsed as
    formulas; ``ax.set_title`` does parse them.

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
    palette : str, sequence or dict of str, default='default'
        Colors, as in :func:`lowland.draw`.
    map_labels : {'auto', 'on', 'off'}, default='auto'
        Whether the names of the classes are written on the map. By default they are, in place of the legend, if the classes are mostly
        apart.
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
    >>> lowland.plot(lowland.PCA().fit(X), y, map_labels="off").get_legend().get_title().get_text()
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
    if map_labels not in ("auto", "on", "off"):
        raise ValueError(f"map_labels={map_labels!r}: expected 'auto', 'on' or 'off'")
    look = _Look(as_palette(palette), _background(ax))
    shades = _shades(ax, points, labels, color, map_labels, look)
    x, y = points[~hollow, :2].T
    style: dict[str, Any] = {"s": size, "alpha": alpha[~hollow], "linewidths": 0}
    ax.scatter(x, y, c=shades[~hollow], **style)
    _draw_hollow(ax, points[hollow], shades[hollow], size)
    if bridges:
        for from_end, to_end in _bridges(points, columns):
            ax.plot(*np.transpose([from_end, to_end]), color=look.text, linewidth=1.5)
    # Both axes have the same scale. The coordinates themselves have no meaning, so there are no ticks.
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_visible(False)
    lines = [_lowland.plain_text(line) for line in title.splitlines()]
    ax.set_title("\n".join(lines), fontfamily=_fonts.families(), parse_math=False)
    return ax


class _Look(NamedTuple):
    """Colors of a plot."""

    palette: str
    background: tuple[int, int, int]

    @property
    def text(self) -> str:
        """Color of text on the background."""
        return "#f2f2f2" if sum(self.background) < 384 else "#222222"


def _background(ax: Axes) -> tuple[int, int, int]:
    """Return red, green and blue of the background of axes; a transparent one counts as white."""
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(ax.get_facecolor())
    return tuple(round(255 * (value * alpha + 1 - alpha)) for value in (red, green, blue))  # type: ignore[return-value]


def _shades(ax: Axes, points: np.ndarray, labels: Any, color: Any, map_labels: str, look: _Look) -> np.ndarray:
    """Return the color of each point, and add the names, the legend or the color bar that explains it."""
    if color is not None:
        return _number_shades(ax, Column(None, np.empty(0, int), np.asarray(color, dtype=np.float64)), look)
    if labels is None:
        (plain,) = _lowland.palette_classes([0], [], look.palette, look.background)
        return np.tile([*plain, 1.0], (len(points), 1))
    try:
        found = column(labels)
    except ValueError as error:
        raise ValueError(f"labels: {error}") from None
    return _number_shades(ax, found, look) if found.names is None else _class_shades(ax, points, found, map_labels, look)


def _number_shades(ax: Axes, colors: Column, look: _Look) -> np.ndarray:
    """Return colors by a number, and add a color bar."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    scale_colors, is_diverging = _lowland.palette_scale(256, look.palette, look.background)
    present = colors.numbers[np.isfinite(colors.numbers)]
    low, high = (present.min(), present.max()) if len(present) else (0.0, 1.0)
    if is_diverging and low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    scale = Normalize(low, high)
    mappable = ScalarMappable(scale, ListedColormap(scale_colors))
    bar = ax.figure.colorbar(mappable, ax=ax, fraction=0.046, pad=0.04)
    bar.outline.set_visible(False)
    families = _fonts.families()
    bar.ax.tick_params(labelfontfamily=families)
    bar.ax.yaxis.get_offset_text().set_fontfamily(families)
    if colors.is_date:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator()
        bar.ax.yaxis.set_major_locator(locator)
        bar.ax.yaxis.set_major_formatter(ConciseDateFormatter(locator))
    shades = np.asarray(mappable.to_rgba(np.nan_to_num(colors.numbers, nan=float(scale.vmin or 0))))
    # Points without a number are gray.
    shades[~np.isfinite(colors.numbers)] = (0.77, 0.78, 0.79, 1.0)
    return shades


def _class_shades(ax: Axes, points: np.ndarray, colors: Column, map_labels: str, look: _Look) -> np.ndarray:
    """Return colors by class, and add the names of the classes to the map, or a legend of them."""
    names = [str(name) for name in colors.names or []]
    codes = colors.codes.tolist()
    shades = np.array(_lowland.palette_classes(codes, names, look.palette, look.background)).reshape(-1, 3)
    if not (map_labels != "off" and _write_names(ax, points, codes, names, map_labels, look)):
        _add_legend(ax, names, shades, np.bincount(colors.codes, minlength=len(names)))
    return np.column_stack([shades[colors.codes], np.ones(len(points))])


def _write_names(ax: Axes, points: np.ndarray, codes: list[int], names: list[str], map_labels: str, look: _Look) -> bool:
    """Write the names of classes next to their points, and return whether they take the place of a legend."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import ScaledTranslation

    size = FontProperties(size=mpl.rcParams["font.size"]).get_size_in_points()
    box = ax.get_window_extent()
    shorter = min(box.width, box.height) / ax.get_figure().dpi * 72  # type: ignore[union-attr]
    places, leaders, is_complete = _lowland.label_places(
        np.ascontiguousarray(points[:, :2], dtype=np.float64), codes, names, look.palette, look.background, size / max(shorter, 1.0)
    )
    if not is_complete and map_labels == "auto":
        return False
    background = tuple(value / 255 for value in look.background)
    for ends in leaders:
        ax.plot(*np.transpose(ends), color=look.text, alpha=0.6, linewidth=0.6, zorder=4)
    for text, position, scale, color, mark in places:
        halo = [withStroke(linewidth=2.5, foreground=background, alpha=0.85)]
        # Text of the data is never parsed as formulas.
        x, y = position
        style: dict[str, Any] = {"color": color, "size": size * scale, "ha": "center", "va": "baseline", "path_effects": halo}
        style |= {"fontfamily": _fonts.families(), "fontweight": "bold"}
        ax.text(x, y, text, zorder=5, parse_math=False, **style)
        if mark is not None:
            (right, up), side, shade = mark
            # Its distance from the text is in points, like the text, and does not change with the size of the axes.
            unit = size * scale
            beside = ax.transData + ScaledTranslation(right * unit / 72, up * unit / 72, ax.figure.dpi_scale_trans)
            square: dict[str, Any] = {"marker": "s", "markersize": side * unit, "color": shade, "markeredgecolor": background}
            ax.add_artist(Line2D([x], [y], transform=beside, zorder=5, linestyle="", markeredgewidth=0.8, **square))
    return is_complete


def _add_legend(ax: Axes, names: list[str], shades: np.ndarray, counts: np.ndarray) -> None:
    """Add a legend of the classes, or of the largest if there are very many."""
    from matplotlib.lines import Line2D

    listed = np.sort(np.argsort(-counts, kind="stable")[:_LEGEND_CLASSES])
    # Swatches of their own, opaque: those of the points would have the opacity of one of them.
    swatches = [Line2D([], [], linestyle="", marker="o", markersize=5, color=(*shades[code], 1.0), label=str(code)) for code in listed]
    shown = [_legend_name(names[code]) for code in listed]
    if len(listed) < len(names):
        shown.append(f"and {len(names) - len(listed)} more")
        swatches.append(Line2D([], [], linestyle="", label=shown[-1]))
    columns = -(-len(swatches) // _LEGEND_ROWS)
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False}
    font = {"family": _fonts.families(), "size": "small" if columns > 1 else None}
    legend = ax.legend(handles=swatches, title="class", ncols=columns, prop=font, title_fontproperties={"family": font["family"]}, **place)
    for text, name in zip(legend.get_texts(), shown):
        # Set here because matplotlib leaves out labels that begin with an underscore.
        text.set_text(name)
        text.set_parse_math(False)


def _legend_name(name: str) -> str:
    """Return a name for a legend, on one line."""
    plain = _lowland.plain_text(name)
    return (f"{plain[:_LEGEND_NAME]}…" if len(plain) > _LEGEND_NAME else plain) or "(empty)"


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
