"""The numbers of docs/methods/lvm.md: python -m bench.paper_figures.lvm LOWLAND FIGURE ARRAY.npy [LABELS.npy]

LOWLAND is the program. FIGURE is one of
  dimensions   Fig 3 and S10: 9-NN test error and time against the number of dimensions; the last 10,000 rows are the test set
  grid         Fig S5: 1-NN test error for some k and reach
  outliers     Fig S3: the 100 least certain rows as images; the rows of ARRAY are square images, the next argument is a .png
  calibration  std of fitted and of new rows, placed by default and by --exact: its AUROC for a wrong nearest label, the error without the
               least certain rows; a third of the rows are new, or the number in the argument after LABELS.npy (the last ones)
  levels       Fig S8: no and one level for the first 7,000 rows; distances between and within classes
  words        Fig 4: how often the nearest neighbor stays among the nearest r, for 5,000 words, compared with PCA; ARRAY is a word2vec file
               (GloVe: the path that bench.datasets.download_glove() returns)
  table        Tables 1 and S2: four nearest words before and after, in ten dimensions; ARRAY as above
"""

import json
import resource
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
    method = () if "--method" in flags else ("--method", "lvm")
    command = [program, "embed", array, *method, "--quiet", "--no-quality", "--out", out, "--report", report, *map(str, flags)]
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
elif figure_name == "calibration":
    from sklearn.metrics import roc_auc_score

    labels, rows = np.load(sys.argv[4]).ravel(), np.load(array)
    count = int(sys.argv[5]) if len(sys.argv) > 5 else len(rows) // 3
    fitted, new = scratch / "fitted.npy", scratch / "new.npy"
    np.save(fitted, rows[:-count])
    np.save(new, rows[-count:])
    model, quiet = scratch / "model.lowland", ["--quiet", "--out"]

    def run(name, *command):
        """Runs a command and returns two coordinates and the standard deviation of its rows, and its CPU seconds."""
        path, before = scratch / f"{name}.csv", resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, *command, *quiet, path], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return np.genfromtxt(path, delimiter=",", skip_header=1), seconds

    placed, seconds = run("fitted", "embed", fitted, "--method", "lvm", "--no-quality", "--save", model)
    search = NearestNeighbors(n_neighbors=1, n_jobs=-1).fit(placed[:, :2])
    own = labels[:-count]

    def describe(name, map_, seconds, truth, nearest):
        wrong, std = own[nearest[:, 0]] != truth, map_[:, 2]
        order = np.argsort(std)
        rest = [wrong[order[: int(len(order) * (1 - part))]].mean() for part in (0, 0.05, 0.1, 0.2)]
        auroc = roc_auc_score(wrong, std)
        numbers = [f"median std {np.median(std):.4g}", f"AUROC {auroc:.3f}", *(f"{error:.4f}" for error in rest)]
        print(name, *numbers, f"{seconds:.2f} CPU s", sep=" | ", flush=True)

    describe("fitted", placed, seconds, own, search.kneighbors(return_distance=False))
    maps = {}
    for name, flags in (("new", []), ("new, --exact", ["--exact"])):
        maps[name], seconds = run("new", "transform", model, new, *flags)
        describe(name, maps[name], seconds, labels[-count:], search.kneighbors(maps[name][:, :2], return_distance=False))
    # The difference of the two, in the standard deviations that the exact updates give.
    default, exact = maps.values()
    apart = np.abs(default[:, :2] - exact[:, :2]).max(axis=1) / exact[:, 2]
    ratio = np.abs(np.log(default[:, 2] / exact[:, 2]))
    print("means apart, in std", *(f"{np.quantile(apart, q):.2g}" for q in (0.5, 0.9, 0.99)), "log ratio of std", *(f"{np.quantile(ratio, q):.2g}" for q in (0.5, 0.9, 0.99)), sep=" | ")
elif figure_name == "levels":
    labels, rows = np.load(sys.argv[4]).ravel()[:7000], np.load(array)[:7000]
    array = scratch / "rows.npy"
    np.save(array, rows)
    for levels in (0, 1):
        map_ = embed("--levels", levels, "--tol", 0)[0]
        np.save(f"lvm-levels-{levels}.npy", map_)
        centers = np.array([np.median(map_[labels == label], axis=0) for label in range(10)])
        within = np.median([np.median(np.linalg.norm(map_[labels == label] - centers[label], axis=1)) for label in range(10)])
        between = np.median(np.linalg.norm(centers[:, None] - centers[None], axis=2)[np.triu_indices(10, 1)])
        near = NearestNeighbors(n_neighbors=1).fit(map_).kneighbors(return_distance=False)[:, 0]
        print(f"levels {levels}: between {between:.0f}, within {within:.0f}, ratio {between / within:.2f}, 1-NN error {np.mean(labels[near] != labels):.4f}")
elif figure_name in ("words", "table"):
    from bench.datasets import read_word_vectors

    if array.endswith(".vec"):  # Text: a line with the counts, then a word and its values per line.
        lines = Path(array).read_text(encoding="utf-8").rstrip("\n").split("\n")[1:]
        words = [line.split(" ", 1)[0] for line in lines]
        rows = np.array([np.array(line.split(" ")[1:], np.float32) for line in lines])
    else:
        words, rows = read_word_vectors(Path(array))
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    flags = ("--n-neighbors", 4, "--reach", 3, "--normalize", "--tol", 0)
    if figure_name == "words":
        sample = np.random.default_rng(0).choice(len(words), min(5000, len(words)), replace=False)

        def nearest(table, count):
            """The nearest other rows of the sample, by blocks."""
            out, squares = [], (table**2).sum(1)
            for part in np.array_split(sample, max(1, len(sample) // 100)):
                distance = squares - 2 * table[part] @ table.T
                distance[np.arange(len(part)), part] = np.inf
                near = np.argpartition(distance, count, axis=1)[:, :count]
                order = np.argsort(np.take_along_axis(distance, near, axis=1), axis=1)
                out.append(np.take_along_axis(near, order, axis=1))
            return np.concatenate(out)

        def recall(table, first, at=(1, 2, 4, 8, 16, 32, 64)):
            table = (table - table.mean(0)).astype(np.float32)
            place = np.where(nearest(table, max(at)) == first[:, None], np.arange(max(at)), max(at)).min(axis=1)
            return [f"{np.mean(place < r):.3f}" for r in at]

        first = nearest(unit, 1)[:, 0]
        # Coordinates after the largest number of dimensions that is asked for are left out.
        full = embed("--method", "pca", "--n-components", min(100, rows.shape[1]), "--normalize")[0]
        for d in (10, 20, 50, 100):
            print(f"PCA d={d}", *recall(full[:, :d], first), sep=" | ", flush=True)
        for d in (5, 10, 20):
            map_, total, _ = embed("--n-components", d, *flags)
            print(f"lvm d={d}", *recall(map_, first), f"{total:.0f} CPU s", sep=" | ", flush=True)
    else:
        map_ = embed("--n-components", 10, "--levels", 2, *flags)[0]
        title = "tractable latent variable model nonlinear dimensionality reduction"
        preamble = (
            "People United_States Order form more perfect Union establish insure domestic Tranquility provide common defense promote "
            "Welfare secure Blessings Liberty Posterity ordain Constitution America"
        )
        index, kept = {word: at for at, word in enumerate(words)}, []
        for word in f"{title} {preamble}".split():
            at = index.get(word, index.get(word.lower()))
            if at is not None:
                near = [np.argsort(((table - table[at]) ** 2).sum(1))[:5] for table in (unit, map_)]
                near = [[words[j] for j in some if j != at][:4] for some in near]
                kept.append(len(set(near[0]) & set(near[1])))
                print(words[at], *(", ".join(some) for some in near), sep=" | ", flush=True)
        print(f"kept of the four nearest: {np.mean(kept):.2f}")
else:
    sys.exit(__doc__)
