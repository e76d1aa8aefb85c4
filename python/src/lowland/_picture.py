"""Pictures of embeddings as PNG, SVG and PDF, like those of the command line."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _input, _lowland
from ._labels import Column, column, table
from ._palette import as_palette
from ._view import _describe_embedding, _reliability, _to_lists
from ._warnings import LowlandWarning

#: Pixels per inch of a picture whose size has a unit.
_PRINT_DPI = 300.0
#: Units of lengths per inch.
_UNITS = {"mm": 25.4, "cm": 2.54, "in": 1.0, "pt": 72.0}


class Picture:
    """A picture of embeddings, which notebooks display.

    Parameters
    ----------
    arguments : dict
        Arguments of the function that draws the picture in a format.
    """

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self._files: dict[str, bytes] = {}

    def file(self, format: str) -> bytes:
        """Return the content of a file in the format ``'png'``, ``'svg'`` or ``'pdf'``."""
        if format not in self._files:
            content, missing = _lowland.draw(format, **self._arguments)
            if missing:
                shown = ", ".join(f"{letter} (U+{ord(letter):04X})" for letter in missing[:8])
                warnings.warn(f"no font has {shown}: they are drawn as boxes; install a font with them", LowlandWarning, stacklevel=3)
            self._files[format] = content
        return self._files[format]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the picture. The extension selects the format: ``.png``, ``.svg`` or ``.pdf``."""
        extension = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
        _lowland.write_file(path, self.file(extension))

    def _repr_png_(self) -> bytes:
        return self.file("png")

    def __repr__(self) -> str:
        return "Picture(use .save('map.png'), .svg or .pdf to write it to a file)"


def draw(
    map: Any,
    labels: Any = None,
    *,
    color: Any = None,
    ids: Any = None,
    words: bool = False,
    X: Any = None,
    columns: Any = None,
    reliability: Any = None,
    title: str = "",
    caption: str = "",
    width: float | str = 1600,
    height: float | str | None = None,
    dpi: float | None = None,
    font_size: float | None = None,
    palette: str | Sequence[str] | Mapping[str, str] = "default",
    background: str = "light",
    map_labels: Any = "auto",
    legend: str = "auto",
    letters: bool = False,
    plain: bool = False,
    border: bool | None = None,
    inset: Sequence[float] | None = None,
    n_columns: int | None = None,
    point_size: float | None = None,
    density: str = "auto",
    uncertainty: str = "none",
    certain: float = 1.0,
    flagged: str = "hollow",
    bridges: bool = True,
    n_jobs: int | None = None,
) -> Picture:
    """Draw one or several embeddings of the same rows, as ``lowland plot`` does.

    Parameters
    ----------
    map : fitted estimator, array-like of shape (n_samples, n_components), or dict of these by name
        Of more than two dimensions, the first two are drawn.
    labels : array-like of shape (n_samples,), default=None
        Classes or numbers that the points are colored by (see :func:`lowland.plot`).
    color : array-like of shape (n_samples,), default=None
        Numbers that the points are colored by instead of `labels`.
    ids : array-like of shape (n_samples,), default=None
        Name of each point.
    words : bool, default=False
        Whether to write the names of the points next to them, where there is space.
    X : array-like of shape (n_samples, n_features) or list of str, default=None
        The rows or texts, which name islands (see `map_labels`).
    columns : list of str, default=None
        Names of the columns of `X`. By default those of a table.
    reliability : dict of array-like of shape (n_samples,), or object with such an attribute ``columns``, default=None
        How far each point can be believed, as ``lowland.trust`` returns it.
    title, caption : str, default=''
        Text above and below the maps.
    width, height : float or str, default=1600 and what the maps need
        Size in pixels, or with a unit: ``'85mm'``, ``'3.3in'``.
    dpi : float, default=None
        Pixels per inch; 300 if a size has a unit.
    font_size : float, default=None
        Size of the text in points. By default by the width.
    palette : str, sequence or dict of str, default='default'
        Name of a palette (``default``, ``okabe-ito``, ``violet-yellow``, ``ember``, ``blues``, ``greens``, ``blue-red``,
        ``purple-green``), colors such as ``'#1f77b4'`` in order, or colors by class.
    background : str, default='light'
        ``'light'``, ``'dark'``, or a color such as ``'#202830'``.
    map_labels : {'auto', 'on', 'off', 'islands'} or list of array-like of shape (n_samples,), default='auto'
        Names on the map: of the classes (by default in place of the legend, if they are mostly apart), of islands by their most
        characteristic words, columns or ids, or of groups of points, from coarse to fine.
    legend : {'auto', 'right', 'below', 'none'}, default='auto'
        Where the legend of classes is.
    letters : bool, default=False
        Whether maps have letters: a, b, c.
    plain : bool, default=False
        Whether to leave out the last line, with the number of points.
    border : bool, default=None
        Whether maps have a border. By default several maps have.
    inset : sequence of 4 floats, default=None
        Region to draw larger in a corner: from and to in the first dimension, from and to in the second.
    n_columns : int, default=None
        Number of maps per row.
    point_size : float, default=None
        Diameter of a point in pixels. By default by the number of points.
    density : {'auto', 'on', 'off'}, default='auto'
        Whether to draw the density of the points instead of points.
    uncertainty : {'none', 'fade', 'ellipses'}, default='none'
        How standard deviations are drawn, if the embeddings have them.
    certain : float, default=1.0
        Share of the points to draw, the most certain ones.
    flagged : {'hollow', 'fade', 'none'}, default='hollow'
        How points are drawn that are flagged in `reliability`.
    bridges : bool, default=True
        Whether to draw lines between islands that are connected in the data.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS.

    Returns
    -------
    picture : Picture

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> picture = lowland.draw(lowland.PCA().fit(X), y, width="85mm", font_size=7)
    >>> picture.file("pdf")[:5]
    b'%PDF-'
    """
    embeddings = map if isinstance(map, Mapping) else {"": map}
    maps = [_describe_embedding(name, embedding) for name, embedding in embeddings.items()]
    n_points = len(maps[0][2])
    found = column(labels) if labels is not None else None
    if color is not None:
        found = Column(None, np.empty(0, int), np.asarray(color, dtype=np.float64))
    if found is not None:
        found_points = len(found.numbers if found.names is None else found.codes)
        if found_points != n_points:
            raise ValueError(f"labels: expected {n_points} values, found {found_points}")
    names = None if ids is None else [str(name) for name in ids]
    has_unit = isinstance(width, str) or isinstance(height, str)
    dpi = _PRINT_DPI if dpi is None and has_unit else dpi
    is_choice = isinstance(map_labels, str)
    options = {
        "title": title,
        "caption": caption,
        "width": _pixels("width", width, dpi),
        "height": None if height is None else _pixels("height", height, dpi),
        "dpi": dpi,
        "font_size": font_size,
        "columns": n_columns,
        "point_size": point_size,
        "density": density,
        "uncertainty": uncertainty,
        "flagged": flagged,
        "bridges": bridges,
        "certain": certain,
        "plain": plain,
        "border": border,
        "letters": letters,
        "legend": legend,
        "map_labels": "on" if not is_choice or map_labels == "islands" else map_labels,
        "inset": None if inset is None else [float(value) for value in inset],
        "palette": as_palette(palette),
        "background": _background(background),
    }
    if is_choice:
        levels = [_island_names(maps[0][2], X, columns, names)] if map_labels == "islands" else []
    else:
        levels = [_level(level, n_points) for level in map_labels]
    classes = None if found is None or found.names is None else (found.codes.tolist(), [str(name) for name in found.names])
    if found is None and levels:
        # Without other colors, points have those of the names on the map.
        classes = levels[-1]
    return Picture(
        {
            "maps": [(*_to_lists(each), _reliability(name, reliability)) for each, name in zip(maps, embeddings)],
            "options": options,
            "classes": classes,
            "values": None if found is None or found.names is not None else ("", found.numbers.tolist()),
            "levels": levels,
            "ids": names if words else None,
            "threads": _input.threads(n_jobs),
        }
    )


def _pixels(name: str, length: float | str, dpi: float | None) -> int:
    """Return a length in pixels."""
    if isinstance(length, str):
        for unit, per_inch in _UNITS.items():
            if length.endswith(unit):
                return round(float(length[: -len(unit)]) / per_inch * (dpi or _PRINT_DPI))
        raise ValueError(f"{name}={length!r}: expected pixels, or a length such as '85mm', '8.5cm', '3.3in' or '240pt'")
    return round(length)


def _background(color: str) -> tuple[int, int, int]:
    """Return red, green and blue of a background."""
    digits = {"light": "ffffff", "dark": "16181d"}.get(color, color.removeprefix("#"))
    try:
        red, green, blue = bytes.fromhex(digits)
    except ValueError:
        raise ValueError(f"background={color!r}: expected 'light', 'dark' or a color such as '#202830'") from None
    return red, green, blue


def _level(values: Any, n_points: int) -> tuple[list[int], list[str]]:
    """Return names of groups of points."""
    found = column(values, max_integers=float("inf"))
    if found.names is None or len(found.codes) != n_points:
        raise ValueError(f"map_labels: expected lists of {n_points} names of groups")
    return found.codes.tolist(), [str(name) for name in found.names]


def _island_names(points: np.ndarray, X: Any, columns: Any, ids: list[str] | None) -> tuple[list[int], list[str]]:
    """Find the islands of a map and name them."""
    if columns is None and X is not None and hasattr(X, "columns"):
        columns = list(table(X))
    names = None if columns is None else [str(name) for name in columns]
    rows = None if X is None else _input.rows(X)
    return _lowland.islands(np.ascontiguousarray(points, dtype=np.float64), rows=rows, columns=names, ids=ids)
