"""Nearest-neighbor search on MNIST: kernels/neighbors.rs and the libraries of peers/neighbors.py."""

import functools
import sys
import tempfile
from pathlib import Path

from bench import lowland_program
from bench.paths import BINARIES
from bench.process import measure_json_process

LOWLAND = ["exact", "approximate"]
PEERS = ["faiss", "hnswlib", "pynndescent", "pynndescent-again", "scikit-learn"]


def cases(quick):
    name = "mnist-10k" if quick else "mnist-70k"
    for k in (15, 90):
        for way in LOWLAND + PEERS:
            yield f"{name}/k={k}/{way}", functools.partial(measure, name, k, way)


def measure(name, k, way, limit):
    from bench import datasets

    rows, _ = datasets.dataset_files(name)
    program = [BINARIES / "neighbors"] if way in LOWLAND else [sys.executable, "-m", "bench.peers.neighbors"]
    # An empty numba cache, so that the first measurement of pynndescent includes compilation.
    with tempfile.TemporaryDirectory() as cache:
        record = measure_json_process([*program, rows, f"k={k}", way], limit, {"NUMBA_CACHE_DIR": cache})
    if "failed" not in record and way in LOWLAND:
        record["found"]["recall"] = recall(rows, k, way)
    return record


def recall(rows, k, way):
    """Returns the recall of lowland's search, computed like that of the peers."""
    import numpy as np

    from bench.peers.common import search_recall

    with tempfile.TemporaryDirectory() as folder:
        graph = lowland_program.search(rows, k, Path(folder) / "graph.npz", way)
        with np.load(graph) as arrays:
            return search_recall(np.load(rows), arrays["indices"], k)
