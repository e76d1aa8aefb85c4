"""Nearest neighbours with faiss, hnswlib, pynndescent (compiling as it goes, and compiled before) and scikit-learn."""

import numpy as np
from common import THREADS, main, recall, value

PROGRAMS = ["faiss", "hnswlib", "pynndescent", "pynndescent-again", "scikit-learn"]
CASES = [f"k={k} {program}" for k in (15, 90) for program in PROGRAMS]


def prepare(x, setting, program):
    k = value(setting)
    if program == "faiss":
        import faiss

        faiss.omp_set_num_threads(THREADS)

        def search():
            index = faiss.IndexFlatL2(x.shape[1])
            index.add(x)
            return without_self(index.search(x, k + 1)[1], k)

    elif program == "hnswlib":
        import hnswlib

        def search():
            index = hnswlib.Index(space="l2", dim=x.shape[1])
            index.init_index(max_elements=len(x), M=16, ef_construction=100)
            index.set_num_threads(THREADS)
            index.add_items(x)
            index.set_ef(max(40, int(1.2 * k) + 10))
            return without_self(index.knn_query(x, k + 1)[0], k)

    elif program == "scikit-learn":
        from sklearn.neighbors import NearestNeighbors

        def search():
            return NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=THREADS).fit(x).kneighbors()[1]

    else:
        import pynndescent

        def search():
            index = pynndescent.NNDescent(x, n_neighbors=k + 1, random_state=0, n_jobs=THREADS)
            return without_self(index.neighbor_graph[0], k)

        if program == "pynndescent-again":
            search()
    return search, lambda found: {"recall": recall(x, found, k)}


def without_self(found, k):
    """The first k of each row that are not the row itself."""
    order = np.argsort(found == np.arange(len(found))[:, None], axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)[:, :k]


main(CASES, prepare)
