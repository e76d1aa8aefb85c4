"""Where computations run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import _lowland, _parameters


@contextmanager
def using(device: Any) -> Iterator[None]:
    """Compute what this thread starts in the block on a device."""
    if not isinstance(device, str):
        raise _parameters.invalid("device", device, "'auto', 'cpu', 'cuda' or 'cuda:N'")
    previous = _lowland.set_device(device)
    try:
        yield
    finally:
        _lowland.set_device(previous)


def devices() -> list[dict[str, Any]]:
    """List the NVIDIA cards that computations can run on, as ``lowland devices`` does.

    If there is none, a warning says why.

    Returns
    -------
    devices : list of dict
        For each card ``device`` (the value for the parameter ``device``), ``name``, ``compute_capability``, ``memory`` and
        ``free_memory`` in bytes, and ``unusable``, the reason if it cannot be used, or None.

    Examples
    --------
    >>> import lowland, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     cards = lowland.devices()
    >>> isinstance(cards, list)
    True
    """
    found, reason = _lowland.devices()
    if reason is not None:
        warnings.warn(f"no card: {reason}", stacklevel=2)
    return found
