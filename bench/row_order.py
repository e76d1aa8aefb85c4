"""What a permutation of the rows does to each method's map: python -m bench.row_order ROWS.npy [METHOD..]

Fits every method to the rows and to the same rows in another order, and prints two numbers for each: the largest difference of a
coordinate relative to the root mean square of the map (after the best rotation, reflection and shift), and the share of the 10 nearest
neighbors in one map that are neighbors in the other. Run from the repository root, after `cargo build --release`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.paths import PROGRAM

METHODS = ["lvm", "tsne", "ssne", "ee", "mapit", "tsm", "spectral", "isomap", "lle", "ltsa", "gplvm", "lllvm", "pca", "svd"]
# Methods for few rows, and the number that they get.
FEW_ROWS = {"lllvm": 300, "gplvm": 500}


def fit(rows, method, folder):
    np.save(folder / "rows.npy", rows)
    out = folder / "map.npy"
    command = [PROGRAM, "embed", folder / "rows.npy", "--method", method, "--no-quality", "--quiet", "--out", out]
    subprocess.run(list(map(str, command)), check=True)
    return np.load(out)[:, :2].astype(float)


def align(a, b):
    """Returns both maps centered, the second one rotated or reflected to fit the first."""
    a, b = a - a.mean(0), b - b.mean(0)
    u, _, v = np.linalg.svd(b.T @ a)
    return a, b @ (u @ v)


def neighbors(points, k=10):
    squares = (points**2).sum(1)
    distances = squares[:, None] + squares[None] - 2 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    return np.argpartition(distances, k, axis=1)[:, :k]


def main():
    path, *methods = sys.argv[1:]
    rows = np.load(path).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        for method in methods or METHODS:
            some = rows[: FEW_ROWS.get(method, len(rows))]
            order = np.random.default_rng(5).permutation(len(some))
            first, second = fit(some, method, Path(folder)), fit(some[order], method, Path(folder))
            back = np.empty_like(second)
            back[order] = second
            a, b = align(first, back)
            largest = np.abs(a - b).max() / np.sqrt((a**2).mean())
            shared = np.mean([len(np.intersect1d(i, j)) / 10 for i, j in zip(neighbors(a), neighbors(b))])
            print(f"| {method} | {len(some)} | {largest:.1e} | {shared:.3f} |", flush=True)


main()
