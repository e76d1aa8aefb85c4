"""The same work with scipy, umap-learn and scikit-learn.

python peers.py INDICES.npy             eigenvectors, beside bench-spectral
python peers.py pca ROWS.npy COMPONENTS principal components, beside bench-pca
"""
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, lobpcg

warnings.filterwarnings("ignore")

if sys.argv[1] == "pca":
    from sklearn.decomposition import PCA

    rows, components = np.load(sys.argv[2]), int(sys.argv[3])
    exact = None
    for solver in ("covariance_eigh", "randomized"):
        wall, cpu = time.perf_counter(), time.process_time()
        values = PCA(components, svd_solver=solver, random_state=0).fit(rows).singular_values_
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        exact = values if exact is None else exact
        error = np.abs(values / exact - 1).max()
        print(f"scikit-learn PCA, {solver}: {cpu:.2f} s CPU, {wall:.2f} s wall, largest relative error of a singular value {error:.1e}")
    sys.exit()

indices = np.load(sys.argv[1])
n, k = indices.shape
graph = sp.csr_matrix((np.ones(n * k), (np.repeat(np.arange(n), k), indices.ravel())), shape=(n, n))
graph = graph.maximum(graph.T).tocsr()
root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
laplacian = sp.identity(n) - sp.diags(1 / root) @ graph @ sp.diags(1 / root)
null = (root / np.linalg.norm(root))[:, None]


def report(name, compute):
    wall, cpu = time.perf_counter(), time.process_time()
    values, vectors = compute()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    residual = np.linalg.norm(laplacian @ vectors - vectors * values, axis=0) / np.linalg.norm(vectors, axis=0) / values
    print(f"{name}: {cpu:.2f} s CPU, {wall:.2f} s wall, largest residual/eigenvalue {residual.max():.1e}, values {values[:3]}", flush=True)


def scipy_lobpcg(d):
    start = np.random.default_rng(0).normal(size=(n, d + 4))
    values, vectors = lobpcg(laplacian, start, Y=null, tol=1e-5, maxiter=500, largest=False)
    order = np.argsort(values)[:d]
    return values[order], vectors[:, order]


def umap_spectral(d):
    from umap.spectral import _spectral_layout

    vectors = _spectral_layout(None, graph.tocoo(), d, np.random.RandomState(0), tol=1e-4)
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    return np.sum(vectors * (laplacian @ vectors), axis=0), vectors


def arpack(d):
    """What umap-learn did before, and scikit-learn does: the largest of 2 - L instead of the smallest of L."""
    values, vectors = eigsh(2 * sp.identity(n) - laplacian, d + 1, which="LM", tol=1e-5, v0=np.ones(n))
    order = np.argsort(-values)[1 : d + 1]
    return 2 - values[order], vectors[:, order]


for d in (2, 6):
    report(f"scipy lobpcg, no preconditioner, d={d}", lambda: scipy_lobpcg(d))
    report(f"scipy eigsh of 2I - L, tol 1e-5, d={d}", lambda: arpack(d))
    try:
        report(f"umap-learn spectral_layout, d={d}", lambda: umap_spectral(d))
    except Exception as error:  # a peer's failure is a result
        print(f"umap-learn spectral_layout, d={d}: {error!r}", flush=True)
