"""Built-in data sets: handwritten digits, and surfaces with known coordinates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from . import _input, _lowland


def names() -> dict[str, str]:
    """Return the names of the data sets, each with a description.

    Examples
    --------
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
    """Load or generate a data set.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    n_points : int, default=None
        Number of rows, for generated data sets.
    noise : float, default=None
        Standard deviation of the noise, for generated data sets.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the random number generator. None means the seed 0.
    return_X_y : bool, default=False
        Whether to return a pair (data, target) instead of a namespace.

    Returns
    -------
    dataset : SimpleNamespace
        With attributes ``data``, ``target`` and ``target_names`` (None if there are no classes), and ``coordinates``
        (None if the true coordinates are not known).
    (data, target) : tuple of ndarray
        If ``return_X_y=True``. If there are no classes, the target is the first true coordinate, such as the position along
        the roll, as in ``sklearn.datasets.make_swiss_roll``.

    Examples
    --------
    >>> import lowland
    >>> roll = lowland.datasets.load("swiss-roll", n_points=200, noise=0.1)
    >>> roll.data.shape, roll.coordinates.shape
    ((200, 3), (200, 2))
    """
    data, classes, coordinates = _lowland.dataset(name, n_points, noise, _input.seed(random_state))
    target = None if classes is None else np.asarray(classes[0], dtype=np.int64)
    if return_X_y:
        if target is None:
            return data, None if coordinates is None else np.ascontiguousarray(coordinates[:, 0])
        return data, target
    target_names = None if classes is None else classes[1]
    return SimpleNamespace(data=data, target=target, target_names=target_names, coordinates=coordinates)
