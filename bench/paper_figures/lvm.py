"""The numbers of docs/methods/lvm.md: python -m bench.paper_figures.lvm LOWLAND FIGURE ARRAY.npy [LABELS.npy]

LOWLAND is the program. FIGURE is one of
  dimensions   Fig 3 and S10: 9-NN test error and time against the number of dimensions; the last 10,000 rows are the test set
  grid         Fig S5: 1-NN test error for some k and reach
  outliers     Fig S3: the 100 least certain rows as images; the rows of ARRAY are square images, the next argument is a .png
  words        Fig 4: how often the nearest neighbor stays among the nearest r, compared with PCA; ARRAY is a word2vec file
  table        Table 1: four nearest words before and after, in ten dimensions; ARRAY as above
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

program, figure_name, array = sys.argv[1:4]
scratch = Path(tempfile.mkdtemp())


def embed(*flags):
    """Returns the embedding and the CPU seconds of all stages and of the iterations."""
    out, report = scratch / "map.npy", scratch / "report.json"
    command = [program, "embed", array, "--quiet", "--no-quality", "--out", out, "--report", report, *map(str, flags)]
    subprocess.run(command, check=True)
    said = json.loads(report.read_text())
    iterations = sum(stage["cpu_seconds"] for stage in said["stages"] if stage["name"] == "iterations")
    return np.load(out), said["total"]["cpu_seconds"], iterations


def test_error(rows, labels, k):
    train = KNeighborsClassifier(k, n_jobs=-1).fit(rows[:-10_000], labels[:-10_000])
    return 1 - train.score(rows[-10_000:], labels[-10_000:])


if figure_name == "dimensions":
    labels, rows = np.load(sys.argv[4]).ravel(), np.load(array)
    print(f"all columns: {test_error(rows, labels, 9):.4f}")
    for d in (2, 3, 5, 10, 20):
        line = [f"d={d}", f"PCA {test_error(rows[:, :d], labels, 9):.4f}"]
        for levels in (1, 2):
            map_, total, iterations = embed("--n-components", d, "--reach", 2, "--levels", levels, "--tol", 0)
            line.append(f"levels {levels}: {test_error(map_, labels, 9):.4f}, {iterations:.1f} of {total:.1f} CPU s")
        print(" | ".join(line), flush=True)
elif figure_name == "grid":
    labels = np.load(sys.argv[4]).ravel()
    for k in (6, 9, 12, 15):
        errors = [test_error(embed("--n-neighbors", k, "--reach", s, "--tol", 0)[0], labels, 1) for s in (1, 2, 3)]
        print(f"k={k}", *(f"{error:.4f}" for error in errors), sep=" | ", flush=True)
elif figure_name == "outliers":
    from matplotlib.image import imsave

    images = np.load(array, mmap_mode="r")
    embed("--pca", 50)
    said = json.loads((scratch / "report.json").read_text())
    rows = [outlier["row"] for outlier in said["outliers"][:100]]
    side = int(round(images.shape[1] ** 0.5))
    tiles = np.array(images[rows]).reshape(-1, side, side)
    sheet = np.concatenate([np.concatenate(tiles[i : i + 20], axis=1) for i in range(0, len(tiles), 20)])
    imsave(sys.argv[4], 1 - sheet / sheet.max(), cmap="gray")
elif figure_name == "words":

    def recall(map_, first, at=(1, 2, 4, 8, 16, 32, 64)):
        near = NearestNeighbors(n_neighbors=max(at), n_jobs=-1).fit(map_).kneighbors(return_distance=False)
        place = np.where(near == first[:, None], np.arange(max(at)), max(at)).min(axis=1)
        return [f"{np.mean(place < r):.3f}" for r in at]

    flags = ("--normalize", "--tol", 0)
    full = embed("--method", "pca", "--n-components", 300, "--normalize")[0]
    first = NearestNeighbors(n_neighbors=1, n_jobs=-1).fit(full).kneighbors(return_distance=False)[:, 0]
    for d in (5, 10, 20):
        map_, total, _ = embed("--n-components", d, "--n-neighbors", 4, "--reach", 3, *flags)
        print(f"lvm d={d}", *recall(map_, first), f"{total:.0f} CPU s", sep=" | ", flush=True)
    for d in (10, 20, 50, 100):
        print(f"PCA d={d}", *recall(full[:, :d], first), sep=" | ", flush=True)
elif figure_name == "table":
    from bench.datasets import read_word_vectors

    words, rows = read_word_vectors(Path(array))
    map_ = embed("--n-components", 10, "--n-neighbors", 4, "--reach", 3, "--normalize", "--tol", 0)[0]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for word in "tractable latent variable model nonlinear dimensionality reduction".split():
        if word not in words:
            continue
        at = words.index(word)
        near = [np.argsort(((table - table[at]) ** 2).sum(1))[:5] for table in (unit, map_)]
        print(word, *(", ".join(words[j] for j in some if j != at) for some in near), sep=" | ")
else:
    sys.exit(__doc__)
