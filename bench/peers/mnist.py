"""MNIST as one float32 array from its IDX files: `mnist.py FOLDER OUT.npy` gives 70,000 x 50 principal components,
`mnist.py FOLDER OUT.npy pixels` the 70,000 x 784 pixels, from 0 to 1."""

import gzip
import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA


def images(path):
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=16).reshape(-1, 784)


folder, out, *pixels = sys.argv[1:]
rows = np.vstack([images(Path(folder) / f"{part}-images-idx3-ubyte.gz") for part in ("train", "t10k")])
rows = rows.astype(np.float32) / 255
np.save(out, rows if pixels else PCA(50, svd_solver="covariance_eigh").fit_transform(rows))
