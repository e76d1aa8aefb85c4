"""Time and memory of each lowland method against the number of rows: MNIST's digits, above 70,000 rows deformed ones."""

import functools

from bench import lowland_program
from bench.paths import EMBEDDINGS

SIZES = [2_500, 10_000, 40_000, 160_000, 1_000_000]
# Up to a million rows, unless the method keeps a matrix of all pairs or would take hours.
METHODS = {"lvm": SIZES, "tsne": SIZES, "ssne": SIZES, "ee": SIZES, "mapit": SIZES, "pca": SIZES, "spectral": SIZES}
METHODS |= {"lle": SIZES[:3], "ltsa": SIZES[:4], "isomap": SIZES[:2], "tsm": SIZES[:2], "lllvm": [250, 500, 1_000]}


def cases(quick):
    for method, sizes in METHODS.items():
        for size in sizes[:2] if quick else sizes:
            yield f"{method}/n={size}", functools.partial(measure, method, size)


def measure(method, size, limit):
    from bench import datasets

    name = "deformed-1m" if size == SIZES[-1] else f"deformed-first-{size}"
    rows, _ = datasets.dataset_files(name)
    EMBEDDINGS.mkdir(parents=True, exist_ok=True)
    return lowland_program.embed(method, rows, 2, EMBEDDINGS / "growth.npy", 2 * limit)
