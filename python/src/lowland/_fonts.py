"""The fonts of pictures, for matplotlib."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from . import _lowland

#: Family and weights by PostScript name. The bold font of pictures is semibold: as any other weight than 400 and 700, matplotlib would report
#: that fonts for other scripts do not have it.
_FAMILIES = {
    "Inter-Regular": ("Inter", (400,)),
    "Inter-SemiBold": ("Inter", (700,)),
    "NotoSansHebrew-Regular": ("Noto Sans Hebrew", (400, 700)),
    "NotoSansArabic-Regular": ("Noto Sans Arabic", (400, 700)),
}


def families() -> list[str]:
    """Return the font families of text in plots: those of pictures, then those of matplotlib.

    If matplotlib was told to use other fonts, by `rcParams` or a style, these are returned alone.
    """
    import matplotlib as mpl

    chosen = list(mpl.rcParams["font.family"])
    is_default = all(mpl.rcParams[name] == mpl.rcParamsDefault[name] for name in ("font.family", "font.sans-serif"))
    return [*_register(), *chosen] if is_default else chosen


@cache
def _register() -> tuple[str, ...]:
    """Make the fonts known to matplotlib, which reads them from files, and return their families."""
    import matplotlib as mpl
    from matplotlib import font_manager

    try:
        folder = Path(mpl.get_cachedir()) / "lowland-fonts"
        folder.mkdir(parents=True, exist_ok=True)
        files = dict(_lowland.embedded_fonts())
        found = [_write(folder, name, files[name]) for name in _FAMILIES]
    except OSError:
        # Without a folder to write to, text has the fonts of matplotlib.
        return ()
    manager = font_manager.fontManager
    for path, (family, weights) in zip(found, _FAMILIES.values()):
        manager.addfont(path)
        entry = manager.ttflist.pop()
        manager.ttflist += [dataclasses.replace(entry, name=family, weight=weight) for weight in weights]
    return tuple(dict.fromkeys(family for family, _ in _FAMILIES.values()))


def _write(folder: Path, name: str, content: bytes) -> Path:
    """Write a font unless it is there, and return its path. Several processes may do so at the same time."""
    path = folder / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.ttf"
    if not path.exists():
        handle, unfinished = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(unfinished).replace(path)
    return path
