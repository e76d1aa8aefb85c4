"""Nearest-neighbor search with faiss, hnswlib, pynndescent (with and without compilation) and scikit-learn."""

import numpy as np

from bench.peers.common import THREADS, main, search_recall, value


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
    return search, lambda found: {"recall": search_recall(x, found, k)}


def without_self(found, k):
    """Returns the first k neighbors of each row other than the row itself."""
    order = np.argsort(found == np.arange(len(found))[:, None], axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)[:, :k]


main(prepare)
