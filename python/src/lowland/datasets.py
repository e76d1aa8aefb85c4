"""Data that need no file: the digits, and surfaces with known coordinates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from . import _input, _lowland


def names() -> dict[str, str]:
    """What `load` can make, each with a description.

    >>> import lowland
    >>> "digits" in lowland.datasets.names()
    True
    """
    return {name: f"{text} ({rows} x {dim})" for name, text, rows, dim in _lowland.datasets()}


def load(
    name: str,
    *,
    n_points: int | None = None,
    noise: float | None = None,
    random_state: Any = None,
    return_X_y: bool = False,
) -> Any:
    """A data set: ``data``; ``target`` and ``target_names`` where it has classes; ``coordinates`` where they are known.

    With ``return_X_y``: the pair of the data and their classes, or their true coordinates where there are no classes.
    `n_points` and `noise` are for those that are generated.

    >>> import lowland
    >>> roll = lowland.datasets.load("swiss-roll", n_points=200, noise=0.1)
    >>> roll.data.shape, roll.coordinates.shape
    ((200, 3), (200, 2))
    """
    data, classes, coordinates = _lowland.dataset(name, n_points, noise, _input.seed(random_state))
    target = None if classes is None else np.asarray(classes[0], dtype=np.int64)
    if return_X_y:
        return data, coordinates if target is None else target
    target_names = None if classes is None else classes[1]
    return SimpleNamespace(data=data, target=target, target_names=target_names, coordinates=coordinates)
