"""Cells of k-means, by which rows are divided among workers so that neighbors are together."""

from __future__ import annotations

import numpy as np

#: Rows of the sample per cell.
SAMPLE_PER_CELL = 64
#: Most rows of the sample.
MAX_SAMPLE = 200_000
_ITERATIONS = 12
#: Most rows whose distances to all centers are computed at a time, and most distances.
_CHUNK, _MAX_DISTANCES = 8192, 2**23


def normalize(rows: np.ndarray, metric: str) -> np.ndarray:
    """Return rows whose Euclidean distances have the order of the metric's."""
    rows = rows.astype(np.float32, copy=False)
    if metric != "cosine":
        return rows
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)


def nearest_cells(rows: np.ndarray, centers: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` nearest centers of each row, nearest first."""
    count = min(count, len(centers))
    squares = (centers**2).sum(axis=1)
    found = np.empty((len(rows), count), dtype=np.int32)
    chunk = max(min(_CHUNK, _MAX_DISTANCES // len(centers)), 1)
    for start in range(0, len(rows), chunk):
        part = squares - 2.0 * (rows[start : start + chunk] @ centers.T)
        near = np.argpartition(part, count - 1, axis=1)[:, :count] if count < len(centers) else None
        if near is None:
            near = np.argsort(part, axis=1, kind="stable")
        else:
            order = np.argsort(np.take_along_axis(part, near, axis=1), axis=1, kind="stable")
            near = np.take_along_axis(near, order, axis=1)
        found[start : start + chunk] = near
    return found


def find_centers(sample: np.ndarray, cells: int, least_share: float, seed: int) -> np.ndarray:
    """Return at most `cells` centers of k-means; cells with less than `least_share` of the sample are dissolved."""
    random = np.random.default_rng([seed, 1])
    centers = sample[np.sort(random.choice(len(sample), size=min(cells, len(sample)), replace=False))].astype(np.float32)
    for iteration in range(_ITERATIONS):
        home = nearest_cells(sample, centers, 1)[:, 0]
        counts = np.bincount(home, minlength=len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, home, sample)
        kept = counts > 0
        if iteration >= _ITERATIONS // 2:
            kept &= counts >= min(least_share * len(sample), counts.max())
        centers = np.asarray(sums[kept] / counts[kept, None])
    return centers


def divide_cells(centers: np.ndarray, counts: np.ndarray, parts: int) -> np.ndarray:
    """Return the part of each cell: the cells are halved along their principal direction until there are `parts` groups of about
    equal size."""
    part_of = np.zeros(len(centers), dtype=np.int32)

    def halve(cells: np.ndarray, first: int, count: int) -> None:
        if count == 1 or len(cells) == 0:
            part_of[cells] = first
            return
        left = count // 2
        centered = centers[cells] - centers[cells].mean(axis=0)
        direction = np.linalg.svd(centered, full_matrices=False)[2][0] if len(cells) > 1 else centered[0]
        # The sign of a singular vector is arbitrary.
        direction = direction * (1 if direction[np.argmax(np.abs(direction))] >= 0 else -1)
        order = cells[np.argsort(centered @ direction, kind="stable")]
        filled = np.cumsum(counts[order])
        split = int(np.searchsorted(filled, filled[-1] * left / count))
        split = min(max(split, min(left, len(order))), max(len(order) - (count - left), 0))
        halve(order[:split], first, left)
        halve(order[split:], first + left, count - left)

    halve(np.arange(len(centers)), 0, parts)
    return part_of
