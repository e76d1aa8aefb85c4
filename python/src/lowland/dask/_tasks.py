"""The tasks of a fit to all rows that run on the workers, and what the client computes between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._neighbors import PartGraph, PartRows
from ._part import PartInput

#: Rows on which the error of the repulsion is measured.
MEASURED_ROWS = 256


def mix(z: int) -> int:
    """The finalizer of splitmix64, as in ``lowland_core::Seed``."""
    z = (z + 0x9E3779B97F4A7C15) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def measured_rows(n: int) -> np.ndarray:
    """Return the rows on which the error is measured: those of a fit on one machine."""
    count = min(MEASURED_ROWS, n)
    state = mix(n)
    for byte in b"accuracy":
        state = mix(state ^ byte)
    offset, step = state / (2**64 - 1), n / count
    return np.array([min(int((i + offset) * step), n - 1) for i in range(count)])


def add(parts: list[Any]) -> list[float]:
    """Add up lists of numbers, in order."""
    total = [0.0] * len(parts[0])
    for part in parts:
        total = [sum_ + value for sum_, value in zip(total, part)]
    return total


def pick(pieces: list[Any], part: int) -> Any:
    return pieces[part]


def identity(value: Any) -> Any:
    return value


def row_ids(rows: PartRows) -> np.ndarray:
    return rows.ids


def nearest_only(graph: Any, k: int) -> Any:
    """Return the graph with the `k` nearest neighbors of each row."""
    return PartGraph(graph.ids, graph.indices[:, :k], graph.distances[:, :k], graph.owners[:, :k])


def make_input(index: int, method: Any, rows: PartRows, start: np.ndarray, own: list[Any], *incoming: Any) -> PartInput:
    empty = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    # What the part sends to itself is among what it receives.
    return PartInput(index, method, rows.ids, start, [piece if len(piece[0]) else empty for piece in own], list(incoming))


def save_input(given: PartInput, folder: str) -> None:
    given.save(folder)


def row_moments(rows: PartRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the columns and of their products."""
    values = rows.rows.astype(np.float64)
    return values.sum(axis=0), values.T @ values


def noise(ids: np.ndarray, seed: int, dim: int) -> np.ndarray:
    """Return normally distributed numbers that depend on the number of each row, and not on where it lives."""
    # Box-Muller on splitmix64, vectorized over rows.
    with np.errstate(over="ignore"):
        keys = ids.astype(np.uint64)[:, None] * np.uint64(2 * dim) + np.arange(2 * dim, dtype=np.uint64) + np.uint64(1)
        z: np.ndarray = (keys + np.uint64(seed % 2**32) * np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    uniform = ((z >> np.uint64(11)).astype(np.float64) + 1.0) / 2.0**53
    return np.sqrt(-2.0 * np.log(uniform[:, :dim])) * np.cos(2.0 * np.pi * uniform[:, dim:])


def random_start(rows: PartRows, seed: int, dim: int, size: float) -> np.ndarray:
    return size * noise(rows.ids, seed, dim)


def pca_start(rows: PartRows, mean: np.ndarray, axes: np.ndarray, seed: int, dim: int, jitter: float) -> np.ndarray:
    start = jitter * noise(rows.ids, seed, dim)
    start[:, : axes.shape[1]] += (rows.rows.astype(np.float64) - mean) @ axes
    return start


def part_result(actor: Any) -> tuple[np.ndarray, np.ndarray]:
    found = actor.result()
    # A task that depends on an actor gets the actor's proxy.
    return found if isinstance(found, tuple) else found.result()


def rows_between(result: tuple[np.ndarray, np.ndarray], first: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    ids, positions = result
    low, high = np.searchsorted(ids, [first, end])
    return ids[low:high], positions[low:high]


def in_order(first: int, end: int, *pieces: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    rows = np.empty((end - first, pieces[0][1].shape[1]))
    for ids, positions in pieces:
        rows[ids - first] = positions
    return rows
