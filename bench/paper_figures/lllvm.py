"""The numbers and pictures of docs/methods/lllvm.md: python -m bench.paper_figures.lllvm LOWLAND FIGURE OUT.png [INPUT ...]

LOWLAND is the program. FIGURE is one of
  roll                    Fig 3: a Swiss roll of 400 points, bounds against k, the embedding of the best
  edges                   Fig 4: bounds with and without an edge between two layers of the roll, and its rank in the screening
  digits IMAGES LABELS    Fig 5: 80 each of the digits 0-4 at 16 x 16 (MNIST's files instead of USPS)
  climate FILE.npz        Fig 6: 400 stations by their monthly rain
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Ellipse

program, figure_name, out = sys.argv[1:4]
scratch = Path(tempfile.mkdtemp())


def run(*words):
    return subprocess.run([program, *map(str, words), "--quiet"], check=True, capture_output=True, text=True).stdout


def embed(rows, *flags):
    """Returns the embedding and the report."""
    np.save(scratch / "rows.npy", rows.astype("f4"))
    run("embed", scratch / "rows.npy", "--no-quality", "--out", scratch / "map.npy", "--report", scratch / "report.json",
        "--save", scratch / "model", *flags)
    return np.load(scratch / "map.npy").astype(float), json.loads((scratch / "report.json").read_text())


def select(rows, *flags):
    np.save(scratch / "rows.npy", rows.astype("f4"))
    return json.loads(run("select", scratch / "rows.npy", "--json", *flags).splitlines()[-1])


def bounds(rows, ks, *flags):
    """Prints best, mean and standard deviation over starts of the bound of all rows for each k; returns them with the best k."""
    choices = select(rows, "--n-neighbors", ",".join(map(str, ks)), "--subsample-rows", len(rows), *flags)["choices"]
    for c in choices:
        c["best"], c["mean"] = max(c["bounds"][0]), float(np.mean(c["bounds"][0]))
        print(f"k={c['n_neighbors']} d={c['n_components']}: best {c['best']:.1f}, {c['mean']:.1f} +- {c['std']:.1f}", flush=True)
    return choices, max(choices, key=lambda c: c["best"])["n_neighbors"]


def procrustes(a, b):
    """Returns the share of b's variance that a does not explain after rotation, reflection and scaling."""
    a, b = a - a.mean(0), b - b.mean(0)
    values = np.linalg.svd((a / np.linalg.norm(a)).T @ (b / np.linalg.norm(b)))[1]
    return 1 - values.sum() ** 2


def roll(n, seed):
    """Returns the rows and their coordinates on the sheet, arc length and height."""
    rng = np.random.default_rng(seed)
    t = 1.25 * np.pi * (1 + 2 * rng.random(n))
    height = 10 * rng.random(n)
    length = 0.175 * (t * np.sqrt(1 + t * t) + np.arcsinh(t))
    return np.c_[0.35 * t * np.cos(t), height, 0.35 * t * np.sin(t)], np.c_[length, height]


def scatter(axis, map_, color, title, report=None, **more):
    axis.scatter(*map_.T[:2], c=color, s=8, **more)
    for (x, y), cov in zip(map_, np.reshape(report["covariances"], (-1, 2, 2))) if report else ():
        values, vectors = np.linalg.eigh(cov)
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        wide, high = 2 * np.sqrt(np.maximum(values[::-1], 0))
        axis.add_patch(Ellipse((x, y), wide, high, angle=angle, fill=False, lw=0.25, ec="0.6", zorder=0))
    axis.set_title(title, fontsize=8)
    axis.set_xticks([])
    axis.set_yticks([])


def bound_curve(axis, choices):
    axis.errorbar([c["n_neighbors"] for c in choices], [c["mean"] for c in choices], [c["std"] for c in choices], capsize=2)
    axis.plot([c["n_neighbors"] for c in choices], [c["best"] for c in choices], ".", color="C1")
    axis.set_title("bound over k: mean, std; best", fontsize=8)
    axis.tick_params(labelsize=6)


def save(figure):
    figure.tight_layout()
    figure.savefig(out, dpi=75)


if figure_name == "roll":
    rows, true = roll(400, 0)
    choices, k = bounds(rows, (5, 6, 7, 8, 9, 10, 12, 15), "--starts", 5, "--max-iter", 50)
    map_, report = embed(rows, "--method", "lllvm", "--n-neighbors", k, "--starts", 5)
    print(f"k={k}: Procrustes {procrustes(map_, true):.3f}, bound {report['trace']['objective'][-1]:.1f}")
    figure, axes = plt.subplots(1, 4, figsize=(11, 3))
    scatter(axes[0], rows[:, [0, 2]], true[:, 0], "the roll, from its end")
    scatter(axes[1], true, true[:, 0], "the sheet")
    scatter(axes[2], map_, true[:, 0], f"lllvm, k = {k}", report)
    bound_curve(axes[3], choices)
    save(figure)
    for method in ("isomap", "lle", "ltsa", "gplvm", "spectral"):
        flags = () if method == "gplvm" else ("--n-neighbors", k)
        print(f"{method}: Procrustes {procrustes(embed(rows, '--method', method, *flags)[0], true):.3f}", flush=True)
elif figure_name == "edges":
    for seed in range(3):
        rows, true = roll(400, seed)
        near = np.linalg.norm(rows[:, None] - rows[None], axis=2)
        far = np.linalg.norm(true[:, None] - true[None], axis=2)
        k = 9
        graph = near.argsort(1)[:, 1 : k + 1]
        edges = {(min(i, j), max(i, j)) for i, row in enumerate(graph) for j in row}
        i, j = min(((i, j) for i in range(400) for j in range(i) if far[i, j] > 8), key=lambda pair: near[pair])
        with_edge = edges | {(min(i, j), max(i, j))}
        (scratch / "short.csv").write_text("".join(f"{a},{b}\n" for a, b in sorted(with_edge)))
        flags = ("--n-neighbors", k, "--starts", 4, "--max-iter", 50)
        # The graph without and with the edge, and the edges of the latter that look wrong.
        said = select(rows, *flags, "--edges", scratch / "short.csv", "--screen-edges", 2000)
        found = {"true": said["graphs"][0], "short": said["graphs"][1]}
        best = {name: found[name]["best"] for name in found}
        mean = {name: np.mean(found[name]["bounds"]) for name in found}
        std = max(np.std(found[name]["bounds"]) for name in found)
        own = said["suspects"]
        rank = [n for n, s in enumerate(own) if {s["i"], s["j"]} == {i, j}]
        wrong = [n for n, s in enumerate(own[:20]) if far[s["i"], s["j"]] > 5]
        print(f"seed {seed}, edge {i},{j}: best without {best['true']:.1f}, with {best['short']:.1f}; means {mean['true']:.1f}, "
              f"{mean['short']:.1f} (scatter {std:.1f}); rank among {len(own)}: {rank}, far edges among the first 20: {wrong}", flush=True)
elif figure_name == "digits":
    def idx(path):
        data = gzip.open(path).read() if path.endswith(".gz") else Path(path).read_bytes()
        shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
        return np.frombuffer(data, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)

    images, labels = idx(sys.argv[4]), idx(sys.argv[5])
    chosen = np.concatenate([np.flatnonzero(labels == c)[:80] for c in range(5)])
    small = np.pad(images[chosen].reshape(-1, 14, 2, 14, 2).mean((2, 4)) / 255, ((0, 0), (1, 1), (1, 1)))
    rows, labels = small.reshape(400, 256), labels[chosen]

    def error(map_):
        folds = KFold(10, shuffle=True, random_state=0)
        return 1 - cross_val_score(KNeighborsClassifier(1), map_, labels, cv=folds).mean()

    choices, k = bounds(rows, (3, 4, 5, 6, 8, 10, 15), "--starts", 5, "--max-iter", 50)
    figure, axes = plt.subplots(2, 3, figsize=(9, 6))
    bound_curve(axes[0, 0], choices)
    map_, report = embed(rows, "--method", "lllvm", "--n-neighbors", k, "--starts", 5)
    print(f"lllvm k={k}: 1-NN error {error(map_):.3f}", flush=True)
    scatter(axes[0, 1], map_, labels, f"lllvm, k = {k}: 1-NN error {error(map_):.3f}", cmap="tab10")
    np.save(scratch / "points.npy", map_[40::80])
    run("reconstruct", scratch / "model", scratch / "points.npy", "--out", scratch / "again.npy")
    again = np.load(scratch / "again.npy").reshape(5, 256, 2)
    true = rows[40::80]
    print(f"reconstruction: rms error {np.sqrt(np.mean((again[..., 0] - true) ** 2)):.3f}, stated {np.sqrt(np.mean(again[..., 1] ** 2)):.3f}, "
          f"rms of the pixels {np.sqrt(np.mean((true - rows.mean(0)) ** 2)):.3f}")
    sheet = np.concatenate([true, again[..., 0], again[..., 1]]).reshape(3, 5, 16, 16).transpose(0, 2, 1, 3).reshape(48, 80)
    axes[0, 2].imshow(sheet, cmap="gray_r")
    axes[0, 2].set_title("rows, reconstructions, error bars", fontsize=8)
    axes[0, 2].axis("off")
    for axis, (method, flags) in zip(axes[1], (("gplvm", ()), ("isomap", ("--n-neighbors", 30)), ("lle", ("--n-neighbors", 40)))):
        other = embed(rows, "--method", method, *flags)[0]
        print(f"{method}: 1-NN error {error(other):.3f}", flush=True)
        scatter(axis, other, labels, f"{method}: 1-NN error {error(other):.3f}", cmap="tab10")
    save(figure)
elif figure_name == "climate":
    arrays = np.load(sys.argv[4])
    chosen = np.random.default_rng(0).permutation(len(arrays["monthly"]))[:400]
    rows, (lat, lon) = arrays["monthly"][chosen], arrays["lat_lon_elev"][chosen, :2].T
    true = np.c_[lon * np.cos(np.radians(39)), lat]
    figure, axes = plt.subplots(2, 3, figsize=(9, 6))
    scatter(axes[0, 0], true, lon, "stations")
    for axis, (method, flags) in zip(axes.flat[1:], (
        ("lllvm", ("--n-neighbors", 12, "--starts", 5)), ("gplvm", ()), ("isomap", ("--n-neighbors", 12)),
        ("lle", ("--n-neighbors", 12)), ("ltsa", ("--n-neighbors", 12)),
    )):
        map_ = embed(rows, "--method", method, *flags)[0]
        distance = procrustes(map_, true)
        print(f"{method}: Procrustes {distance:.3f}", flush=True)
        scatter(axis, map_, lon, f"{method}: {distance:.3f}")
    save(figure)
else:
    sys.exit(__doc__)
