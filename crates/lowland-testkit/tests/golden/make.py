"""Makes the golden arrays of the baselines with scikit-learn and scipy: python3 make.py (written with scikit-learn 1.x)."""
import numpy as np
from scipy.linalg import eigh
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import Isomap, LocallyLinearEmbedding
from sklearn.neighbors import kneighbors_graph

rng = np.random.default_rng(7)
t = np.sort(rng.uniform(0, 3 * np.pi, 200))
curve = np.c_[t * np.cos(t), t * np.sin(t), 3 * rng.uniform(size=200), np.sin(2 * t), t, rng.normal(size=200)]
X = (curve + [3, -2, 0, 1, 0, 0]).astype(np.float32)


def unit(Y):
    """Coordinates with standard deviation 1."""
    return Y / Y.std(axis=0)


# Laplacian eigenmaps as SpectralEmbedding defines them on W, a point not its own neighbor, by a dense solver.
K = kneighbors_graph(X, 12, mode="connectivity", include_self=False).toarray()
W = (K + K.T) / 2
d = W.sum(axis=1)
values, U = eigh(np.eye(200) - W / np.sqrt(np.outer(d, d)))
assert values[1] > 1e-6 and np.diff(values[:6]).min() > 1e-4, "connected, and no two eigenvalues alike"

X64 = X.astype(np.float64)
np.save("x.npy", X)
np.save("pca.npy", PCA(3, svd_solver="full").fit_transform(X64))
np.save("svd.npy", TruncatedSVD(3, algorithm="arpack", tol=1e-14).fit_transform(X64))
np.save("spectral.npy", unit((U / np.sqrt(d)[:, None])[:, 1:4]))

new = ((X64[:-1:7] + X64[1::7]) / 2).astype(np.float32)
isomap = Isomap(n_neighbors=12, n_components=3, eigen_solver="dense").fit(X64)
np.save("x_new.npy", new)
np.save("isomap.npy", isomap.embedding_)
np.save("isomap_new.npy", isomap.transform(new.astype(np.float64)))
for name, method in [("lle", "standard"), ("ltsa", "ltsa")]:
    lle = LocallyLinearEmbedding(n_neighbors=12, n_components=3, method=method, eigen_solver="dense")
    np.save(f"{name}.npy", unit(lle.fit_transform(X64)))
