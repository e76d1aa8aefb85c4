"""A million deformed MNIST digits: python deformed.py FOLDER OUT.npy [ROWS]

Each digit is rotated, scaled, sheared and moved a little, at random and seeded; rows are the 50 principal components of the
original 70,000, so that the map shows the same classes. The labels go to OUT-labels.npy."""

import gzip
import sys
from pathlib import Path

import numpy as np

BATCH = 5000


def images(folder, name):
    with gzip.open(Path(folder) / f"{name}-images-idx3-ubyte.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)


def labels(folder, name):
    with gzip.open(Path(folder) / f"{name}-labels-idx1-ubyte.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=8)


def deform(batch, rng):
    """Bilinear sampling of each image at places moved by an affine map of its own."""
    count = len(batch)
    angle, shear = rng.normal(0, 0.12, count), rng.normal(0, 0.1, count)
    scale = np.exp(rng.normal(0, 0.08, (count, 2)))
    shift = rng.normal(0, 1.0, (count, 2))
    cos, sin = np.cos(angle), np.sin(angle)
    maps = np.empty((count, 2, 2), np.float32)
    maps[:, 0, 0], maps[:, 0, 1] = cos * scale[:, 0], -sin + shear
    maps[:, 1, 0], maps[:, 1, 1] = sin, cos * scale[:, 1]
    grid = np.stack(np.meshgrid(np.arange(28), np.arange(28), indexing="ij"), -1).reshape(-1, 2).astype(np.float32) - 13.5
    places = np.einsum("nij,pj->npi", maps, grid) + 13.5 + shift[:, None].astype(np.float32)
    padded = np.pad(batch, ((0, 0), (1, 2), (1, 2))).astype(np.float32)
    places = np.clip(places + 1, 0, 28.999)
    low = places.astype(np.int32)
    part = places - low
    row, rows, columns = np.arange(count)[:, None], low[..., 0], low[..., 1]
    top = padded[row, rows, columns] * (1 - part[..., 1]) + padded[row, rows, columns + 1] * part[..., 1]
    below = padded[row, rows + 1, columns] * (1 - part[..., 1]) + padded[row, rows + 1, columns + 1] * part[..., 1]
    return top * (1 - part[..., 0]) + below * part[..., 0]


def make(folder, rows):
    """That many rows, and their classes."""
    digits = np.concatenate([images(folder, "train"), images(folder, "t10k")])
    classes = np.concatenate([labels(folder, "train"), labels(folder, "t10k")])
    flat = digits.reshape(len(digits), -1).astype(np.float32)
    mean = flat.mean(0)
    _, vectors = np.linalg.eigh(np.cov((flat - mean).T))
    components = vectors[:, ::-1][:, :50].astype(np.float32)
    rng = np.random.default_rng(0)
    result = np.empty((rows, 50), np.float32)
    chosen = np.arange(rows) % len(digits)
    for start in range(0, rows, BATCH):
        part = chosen[start : start + BATCH]
        # The first round is the digits as they are.
        batch = flat[part] if start + BATCH <= len(digits) else deform(digits[part], rng)
        result[start : start + BATCH] = (batch - mean) @ components
    return result, classes[chosen]


def main():
    folder, out = sys.argv[1:3]
    rows, classes = make(folder, int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
    np.save(out, rows)
    np.save(str(Path(out).with_suffix("")) + "-labels.npy", classes)


if __name__ == "__main__":
    main()
