"""Times other programs' neighbour searches on one array: `peers.py ARRAY.npy K NAME` prints one JSON line.

NAME is faiss, hnswlib, pynndescent, pynndescent-again (compiled before) or scikit-learn. Recall is measured on 500 seeded
rows against a search of all pairs in float64. Two threads, which sleep when they wait.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "2")

import json
import resource
import sys
import time

import numpy as np


def faiss(x, k):
    import faiss

    faiss.omp_set_num_threads(2)

    def search():
        index = faiss.IndexFlatL2(x.shape[1])
        index.add(x)
        return without_self(index.search(x, k + 1)[1], k)

    return search


def hnswlib(x, k):
    import hnswlib

    def search():
        index = hnswlib.Index(space="l2", dim=x.shape[1])
        index.init_index(max_elements=len(x), M=16, ef_construction=100)
        index.set_num_threads(2)
        index.add_items(x)
        index.set_ef(max(40, int(1.2 * k) + 10))
        return without_self(index.knn_query(x, k + 1)[0], k)

    return search


def pynndescent(x, k, again=False):
    import pynndescent

    def search():
        index = pynndescent.NNDescent(x, n_neighbors=k + 1, random_state=0, n_jobs=2)
        return without_self(index.neighbor_graph[0], k)

    if again:
        search()
    return search


def scikit_learn(x, k):
    from sklearn.neighbors import NearestNeighbors

    def search():
        return NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=2).fit(x).kneighbors()[1]

    return search


PEERS = {
    "faiss": faiss,
    "hnswlib": hnswlib,
    "pynndescent": pynndescent,
    "pynndescent-again": lambda x, k: pynndescent(x, k, again=True),
    "scikit-learn": scikit_learn,
}


def without_self(found, k):
    """The first k of each row that are not the row itself."""
    other = found != np.arange(len(found))[:, None]
    order = np.argsort(~other, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)[:, :k]


def recall(x, found, k):
    """The share of found rows that are as near as the true k-th."""
    x = x.astype(np.float64)
    rows = np.random.default_rng(0).choice(len(x), min(500, len(x)), replace=False)
    hits = 0
    for i in rows:
        distances = ((x - x[i]) ** 2).sum(axis=1)
        distances[i] = np.inf
        reach = np.partition(distances, k - 1)[k - 1]
        hits += (distances[found[i]] <= reach * (1 + 1e-6)).sum()
    return hits / (len(rows) * k)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    path, k, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    x = np.ascontiguousarray(np.load(path), dtype=np.float32)
    search = PEERS[name](x, k)
    wall, cpu = time.perf_counter(), cpu_seconds()
    found = search()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(
        json.dumps(
            {
                "program": name,
                "rows": len(x),
                "columns": x.shape[1],
                "k": k,
                "threads": 2,
                "wall_s": wall,
                "cpu_s": cpu,
                "found": {"recall": recall(x, found, k)},
            }
        )
    )


if __name__ == "__main__":
    main()
