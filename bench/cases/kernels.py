"""Parts of the methods by themselves: the programs in kernels/ and, where there are any, libraries that compute the same."""

import functools
import sys

from bench import lowland_program
from bench.paths import BINARIES, GRAPHS
from bench.process import measure_json_process, measure_process

SPECTRAL = [(f"d={d}", f"tolerance={tolerance}") for d in (2, 6) for tolerance in ("1e-3", "1e-2", "1e-9")]
SPECTRAL += [(setting, "graph") for setting in ("search", "symmetrize", "tree", "reach=1", "reach=2", "reach=3")]
# Program in kernels/ -> its cases, each a setting and a way.
LOWLAND = {
    "spectral": SPECTRAL,
    "pca": [("components=50", "covariance"), ("components=50", "iteration"), ("components=50", "sparse-iteration"), ("projection=50", "covariance")],
    "quality": [("rows=all", "report"), ("rows=6000", "report"), ("picture", "classes=10")],
}
# Module in peers/ -> its cases. scikit-learn's scores need a matrix of all distances, hence 6,000 rows.
PEERS = {
    "spectral": [(f"d={d}", way) for d in (2, 6) for way in ("scipy-lobpcg", "scipy-eigsh", "umap-learn")],
    "pca": [("components=50", "scikit-learn-covariance_eigh"), ("components=50", "scikit-learn-randomized")],
    "quality": [("rows=6000", "scikit-learn")],
}


def cases(quick):
    for kernel, own in LOWLAND.items():
        name = "mnist-10k" if quick else "mnist-pixels" if kernel == "pca" else "mnist-70k"
        for setting, way in own:
            yield f"{kernel}/{name}/{setting}/{way}", functools.partial(measure, [BINARIES / kernel], name, setting, way)
        for setting, way in PEERS[kernel]:
            program = [sys.executable, "-m", f"bench.peers.{kernel}"]
            yield f"{kernel}/{name}/{setting}/{way}", functools.partial(measure, program, name, setting, way)
    yield "kernel-sums", functools.partial(measure_kernel_sums, 10_000 if quick else 1_000_000)


def measure(program, name, setting, way, limit):
    from bench import datasets

    rows, _ = datasets.dataset_files(name)
    environment = {}
    if "spectral" in str(program[-1]):
        # The programs share the graph of 15 exact neighbors.
        environment["GRAPH"] = lowland_program.cached_neighbor_graph(rows, 15, GRAPHS / f"{name}-15.npz")
    return measure_json_process([*program, rows, setting, way], limit, environment)


def measure_kernel_sums(max_points, limit):
    """Measures time and error of the engines that sum kernels; the record holds the table that the program prints."""
    printed, record = measure_process([BINARIES / "kernel_sums", max_points], 4 * limit)
    return record if "failed" in record else record | {"table": printed.splitlines()}
