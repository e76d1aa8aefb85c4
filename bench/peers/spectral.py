"""The eigenvectors of kernels/spectral.rs with scipy and umap-learn, for the neighbor graph in the file that `GRAPH` names."""

import os
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, lobpcg

from bench.peers.common import main, value


def prepare(_, setting, program):
    warnings.filterwarnings("ignore")
    d = value(setting)
    indices = np.load(os.environ["GRAPH"])["indices"]
    n, k = indices.shape
    graph = sp.csr_matrix((np.ones(n * k), (np.repeat(np.arange(n), k), indices.ravel())), shape=(n, n))
    graph = graph.maximum(graph.T).tocsr()
    root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    laplacian = sp.identity(n) - sp.diags(1 / root) @ graph @ sp.diags(1 / root)

    def scipy_lobpcg():
        start = np.random.default_rng(0).normal(size=(n, d + 4))
        return lobpcg(laplacian, start, Y=root[:, None], tol=1e-5, maxiter=500, largest=False)[1]

    def scipy_eigsh():
        """Computes the largest eigenvalues of 2 - L instead of the smallest of L, as scikit-learn does."""
        return eigsh(2 * sp.identity(n) - laplacian, d + 1, which="LM", tol=1e-5, v0=np.ones(n))[1]

    def umap_learn():
        from umap.spectral import _spectral_layout

        return _spectral_layout(None, graph.tocoo(), d, np.random.RandomState(0), tol=1e-4)

    def evaluate(vectors):
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        values = np.sum(vectors * (laplacian @ vectors), axis=0)
        # Without the trivial vector, where it was found too, and without the extra vectors of the block.
        kept = np.argsort(values)
        kept = kept[values[kept] > 1e-9][:d]
        values, vectors = values[kept], vectors[:, kept]
        residual = np.linalg.norm(laplacian @ vectors - vectors * values, axis=0) / values
        return {"residual": residual.max(), "smallest": values[0]}

    if program == "umap-learn":
        import umap.spectral  # compiled before the clock starts
    return {"scipy-lobpcg": scipy_lobpcg, "scipy-eigsh": scipy_eigsh, "umap-learn": umap_learn}[program], evaluate


main(prepare)
