"""The files that pages of the documentation speak of, small."""

import subprocess
from pathlib import Path

import numpy as np

import lowland

#: Rows of tables.
ROWS = 160


def _write_table(path: Path, names: list[str], columns: list[object]) -> None:
    with path.open("w") as file:
        print(",".join(names), file=file)
        for row in zip(*columns, strict=True):
            print(",".join(str(value) for value in row), file=file)


def write_cells(folder: Path, ids: bool, types: bool) -> None:
    """Write tables of cells, with the columns ``cell`` and ``type`` if a page names them."""
    kinds = np.arange(ROWS) % 4
    counts = np.random.default_rng(0).poisson(2 + 6 * np.eye(4)[kinds].repeat(15, axis=1))
    new = counts[:20] + 1
    for name, rows in (("cells", counts), ("new-cells", new), ("all-cells", np.vstack([counts, new]))):
        columns: list[object] = [[f"{name.removesuffix('s')}{number}" for number in range(len(rows))]] if ids else []
        columns += list(rows.T)
        columns += [np.array(["B", "T", "NK", "monocyte"])[np.arange(len(rows)) % 4]] if types else []
        genes = [f"gene{number}" for number in range(rows.shape[1])]
        _write_table(folder / f"{name}.csv", ["cell"] * ids + genes + ["type"] * types, columns)


#: Maps that pages speak of, with the arguments of the command that makes them.
MAPS = [
    "embed swiss-roll --n-points 800 --method pca --out umap-of-roll.npy",
    "embed mnist.npy --labels labels.npy --method lvm --out mnist.csv",
    "embed cells.csv --pca 20 --trust --out map.csv",
    "embed coil.npy --method pca --out coil.csv",
    "embed vectors.csv --id-column word --method pca --out words.csv",
    "embed october.csv --id-column user --method pca --out october-map.csv",
    "embed digits --method pca --out a.csv --report a.json",
    "embed digits --method svd --out b.csv --report b.json",
    "embed digits --method pca --out tsne.csv --out lvm.csv --out pca.csv",
]


def make(folder: Path, program: str) -> None:
    """Write the files into a folder."""
    generator = np.random.default_rng(0)
    write_cells(folder, ids=False, types=False)
    _write_table(folder / "known.csv", ["id", "projection_x", "projection_y"], [[f"cell{number}" for number in range(20)], *generator.normal(size=(2, 20))])
    np.save(folder / "umap.npy", lowland.PCA().fit_transform(np.loadtxt(folder / "cells.csv", delimiter=",", skiprows=1)))

    images, labels = lowland.datasets.load("digits", return_X_y=True)
    images, labels = images[:ROWS].astype(np.float32), labels[:ROWS].astype(np.int64)
    np.save(folder / "mnist.npy", images)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "coil.npy", np.pad(images, ((0, 0), (0, 32 * 24 - 64))))
    words = ["king", "queen", "man", "woman", "paris", "france", "rome", "italy"]
    _write_table(folder / "vectors.csv", ["word", "a", "b", "c", "d"], [words, *generator.normal(size=(4, len(words)))])
    gaps = generator.normal(size=(60, 4)).round(3).astype(object)
    gaps[::7, 1] = ""
    _write_table(folder / "gaps.csv", ["a", "b", "c", "d"], list(gaps.T))
    for table in ("genes", "proteins"):
        _write_table(folder / f"{table}.csv", [f"{table}{number}" for number in range(8)], list(generator.normal(size=(8, ROWS)).round(3)))
    # The same users on several days; every day some leave and others come.
    users = (np.arange(2 * ROWS) % 3)[:, None] * 4 + generator.normal(size=(2 * ROWS, 5))
    for day, name in enumerate(("monday", "tuesday", "wednesday", "october", "november")):
        rows = range(20 * day, 20 * day + ROWS)
        _write_table(folder / f"{name}.csv", ["user", *"abcde"], [[f"user{row}" for row in rows], *users[rows].T.round(3)])
    for command in MAPS:
        subprocess.run([program, *command.split(), "--quiet"], cwd=folder, check=True)
