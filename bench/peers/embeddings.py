"""Embeds a file with one peer: `python -m bench.peers.embeddings TOOL ROWS.npy DIMENSIONS OUT.npy GRAPH.npz|- SEED|-`

Writes the embedding to OUT and prints a JSON line: CPU seconds to import the tool, to compile it (the difference between a first and
a second fit of a few rows, for tools that compile at run time), and wall time, CPU time and peak memory of the fit alone.

Each tool runs with its default settings, except that all t-SNE programs do the same work (perplexity 30, 250 + 500 iterations) and
that a seed is given where reproducibility is tested."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from bench.paths import RUST_PEERS
from bench.peers.common import THREADS, peak_mb


def with_self(graph, width):
    """Returns indices and distances with the row itself as its first neighbor."""
    indices, distances = (values[:, : width - 1] for values in graph)
    own = np.arange(len(indices), dtype=np.int32)[:, None]
    return np.hstack([own, indices]), np.hstack([np.zeros((len(indices), 1), np.float32), distances])


def umap_learn(rows, d, graph, seed):
    import umap

    options = {}
    if graph:
        # umap-learn's own search returns the row itself first.
        options["precomputed_knn"] = with_self(graph, 15)
    return umap.UMAP(n_components=d, random_state=seed, **options).fit_transform(rows)


def pacmap(rows, d, graph, seed):
    import pacmap

    options = {}
    if graph:
        own = np.repeat(np.arange(len(rows), dtype=np.int32), 10)
        options["pair_neighbors"] = np.column_stack([own, graph[0][:, :10].ravel()])
    return pacmap.PaCMAP(n_components=d, random_state=seed, **options).fit_transform(rows)


def trimap(rows, d, graph, seed):
    import trimap

    if seed is not None:
        np.random.seed(seed)
    options = {}
    if graph:
        # trimap scales the rows itself only when it is given no graph.
        rows = rows - rows.min()
        scale = rows.max()
        rows = rows / scale
        rows -= rows.mean(0)
        indices, distances = with_self(graph, 62)
        options = {"knn_tuple": (indices, distances / scale), "apply_pca": False}
    return trimap.TRIMAP(n_dims=d, verbose=False, **options).fit_transform(rows)


def opentsne(rows, d, graph, seed):
    import openTSNE

    options = {"n_jobs": THREADS, "random_state": seed}
    if not graph:
        return np.asarray(openTSNE.TSNE(n_components=d, **options).fit(rows))
    index = openTSNE.nearest_neighbors.PrecomputedNeighbors(graph[0], graph[1].astype(float))
    affinities = openTSNE.affinity.PerplexityBasedNN(perplexity=30, knn_index=index, **options)
    start = openTSNE.initialization.pca(rows, n_components=d, random_state=seed)
    embedding = openTSNE.TSNEEmbedding(start, affinities, **options).optimize(250, exaggeration=12)
    return np.asarray(embedding.optimize(500))


def pymde(rows, d, graph, seed):
    import pymde
    import torch

    torch.set_num_threads(THREADS)
    if seed is not None:
        pymde.seed(seed)
    return pymde.preserve_neighbors(rows, embedding_dim=d).embed().numpy()


def manifolds(name, **settings):
    def work(rows, d, graph, seed):
        import manifolds_rs

        manifolds_rs.set_num_threads(THREADS)
        model = getattr(manifolds_rs, name)(n_components=d, **settings, **({} if seed is None else {"seed": seed}))
        width = {"UMAP": 15, "PaCMAP": 50, "TSNE": 90}[name]
        near = {} if not graph else {"knn_indices": graph[0][:, :width], "knn_distances": graph[1][:, :width]}
        return model.fit(rows, **near).embedding_

    return work


def sklearn(name, **settings):
    def work(rows, d, graph, seed):
        import sklearn.decomposition
        import sklearn.manifold

        make = getattr(sklearn.manifold, name, None) or getattr(sklearn.decomposition, name)
        options = settings | ({"random_state": seed} if name != "Isomap" else {})
        if name != "PCA":
            options["n_jobs"] = THREADS
        return make(n_components=d, **options).fit_transform(rows)

    return work


def rust(name):
    def work(rows, d, graph, seed):
        with tempfile.TemporaryDirectory() as folder:
            rows_file, out_file = f"{folder}/rows", f"{folder}/embedding"
            rows.astype("<f4").tofile(rows_file)
            command = [RUST_PEERS, name, rows_file, str(rows.shape[1]), out_file]
            environment = os.environ | {"RAYON_NUM_THREADS": str(THREADS)}
            done = subprocess.run(command, stdout=subprocess.PIPE, env=environment)
            if done.returncode:
                # Its message is on stderr already.
                sys.exit(abs(done.returncode))
            # The program's own measurements exclude reading and writing files.
            RUST_MEASUREMENTS.update(json.loads(done.stdout.splitlines()[-1]))
            return np.fromfile(out_file, "<f4").reshape(len(rows), 2)

    return work


RUST_MEASUREMENTS = {}
# Function that runs the tool; module whose import is timed; whether the tool compiles code at run time.
TOOLS = {
    "umap-learn": (umap_learn, "umap", True),
    "pacmap": (pacmap, "pacmap", True),
    "trimap": (trimap, "trimap", True),
    "openTSNE": (opentsne, "openTSNE", False),
    "pymde": (pymde, "pymde", False),
    "manifolds-rs UMAP": (manifolds("UMAP"), "manifolds_rs", False),
    "manifolds-rs PaCMAP": (manifolds("PaCMAP"), "manifolds_rs", False),
    "manifolds-rs t-SNE": (manifolds("TSNE", n_epochs=750), "manifolds_rs", False),
    "manifolds-rs t-SNE fft": (manifolds("TSNE", n_epochs=750, approx="fft_3k"), "manifolds_rs", False),
    "bhtsne": (rust("bhtsne"), None, False),
    "annembed": (rust("annembed"), None, False),
    "sklearn t-SNE": (sklearn("TSNE", max_iter=750), "sklearn.manifold", False),
    "sklearn spectral": (sklearn("SpectralEmbedding", affinity="nearest_neighbors"), "sklearn.manifold", False),
    "sklearn Isomap": (sklearn("Isomap"), "sklearn.manifold", False),
    "sklearn LLE": (sklearn("LocallyLinearEmbedding"), "sklearn.manifold", False),
    "sklearn LTSA": (sklearn("LocallyLinearEmbedding", method="ltsa"), "sklearn.manifold", False),
    "sklearn PCA": (sklearn("PCA"), "sklearn.manifold", False),
}


def clock():
    """Returns the wall time and the CPU time of this process and its children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in usages)


def compile_seconds(tool, work, shape, d, graph, seed):
    """Returns the difference in CPU seconds between a first and a second fit of a few rows."""
    from sklearn.neighbors import NearestNeighbors

    # umap-learn uses (and compiles) another search from 4,096 rows on.
    count = 4_500 if tool == "umap-learn" and shape[0] >= 4_096 else 500
    few = np.random.default_rng(0).normal(size=(count, shape[1])).astype(np.float32)
    if graph:
        distances, indices = NearestNeighbors(n_neighbors=90).fit(few).kneighbors()
        graph = indices.astype(np.int32), distances.astype(np.float32)
    seconds = []
    for _ in range(2):
        start = clock()[1]
        work(few, d, graph, seed)
        seconds.append(clock()[1] - start)
    return max(seconds[0] - seconds[1], 0.0)


def main():
    if "WARNINGS" not in os.environ:
        warnings.simplefilter("ignore")
    tool, array, d, out, graph, seed = sys.argv[1:]
    d, seed = int(d), None if seed == "-" else int(seed)
    # Large files are memory-mapped; whether they are copied is up to the tool.
    rows = np.load(array, mmap_mode="r") if os.path.getsize(array) > 2**33 else np.load(array)
    if graph == "-":
        graph = None
    else:
        with np.load(graph) as arrays:
            graph = (arrays["indices"].astype(np.int32), arrays["distances"])
    work, module, compiles = TOOLS[tool]
    line = {}
    start = clock()[1]
    if module:
        __import__(module)
    line["import_s"] = clock()[1] - start
    if compiles and len(rows) > 1:
        line["compile_s"] = compile_seconds(tool, work, rows.shape, d, graph, seed)
        # Resets the peak, so that it does not include compilation.
        Path("/proc/self/clear_refs").write_text("5")
    start = clock()
    embedding = work(rows, d, graph, seed)
    line["wall_s"], line["cpu_s"] = (end - begin for end, begin in zip(clock(), start))
    line["peak_mb"] = peak_mb()
    np.save(out, np.ascontiguousarray(embedding))
    print(json.dumps(line | RUST_MEASUREMENTS))


if __name__ == "__main__":
    main()
