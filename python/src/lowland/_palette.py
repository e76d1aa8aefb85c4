"""Colors of pictures, plots and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def as_palette(palette: str | Sequence[str] | Mapping[str, str]) -> str:
    """Return a palette as its name, or as the content of a file of colors."""
    if isinstance(palette, str):
        return palette
    if isinstance(palette, Mapping):
        return "\n".join(f"{name} = {color}" for name, color in palette.items())
    return "\n".join(palette)
