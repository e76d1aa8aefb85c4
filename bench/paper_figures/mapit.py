"""The numbers and curves of docs/methods/mapit.md (docs/images/maps.py draws the maps): python -m bench.paper_figures.mapit MAP_SCORES FIGURE OUT.png ARRAY [LABELS.npy]

MAP_SCORES is the program built from map_scores.rs. FIGURE is one of
  mnist      Figs 1, 3, 8, 10 and 14, table 1: 2,000 rows of ARRAY.npy (OUT is the first picture; the others are named after it)
  sampling   Fig 12: 1,000 rows, half, a quarter and an eighth of the non-neighbors, with weights 1, 2, 4 and 8
  rates      Fig 13: 2,000 rows of the digits 3, 6 and 9, three learning rates, three starts
  coil       Fig 4: ARRAY is coil20_32x32.npz
  news       Fig 6: ARRAY is news_w100.npz; words as vectors of the documents that contain them, a tenth of these, scaled to unit length
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.neighbors import NearestNeighbors

matplotlib.use("Agg")
import matplotlib.pyplot as plt

program, figure_name, out, array, *rest = sys.argv[1:]
out, scratch = Path(out), Path(tempfile.mkdtemp())
random = np.random.default_rng(0)


def maps(rows, labels, **recipes):
    """Prints the scores of each recipe and writes embeddings, pictures and traces to the scratch folder."""
    np.save(scratch / "rows.npy", rows.astype(np.float32))
    np.save(scratch / "labels.npy", labels.reshape(-1, 1).astype(float))
    specs = [f"{name}={recipe}" for name, recipe in recipes.items()]
    command = [program, scratch / "rows.npy", scratch / "labels.npy", str(len(rows)), scratch, *specs]
    subprocess.run(command, check=True)


def shares(path, labels, names, at=(5, 10, 15, 20, 30, 45, 60, 80, 100)):
    """Draws Fig 11: the share of a point's own class among its neighbors in the embedding."""
    figure, axes = plt.subplots(figsize=(5.5, 3.5), dpi=110)
    for name in names:
        map_ = np.load(scratch / f"{name}.npy")
        near = NearestNeighbors(n_neighbors=max(at)).fit(map_).kneighbors(return_distance=False)
        own = labels[near] == labels[:, None]
        line = [own[:, :k].mean() for k in at]
        axes.plot(at, line, marker=".", label=name)
        print(f"own class, {name}", *(f"{k}: {share:.3f}" for k, share in zip(at, line)), sep=" | ")
    finish(axes, path, xlabel="neighbors in the embedding", ylabel="share of the own class")


def finish(axes, path, **words):
    axes.set(**words)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    axes.figure.tight_layout()
    axes.figure.savefig(path)


def beside(name):
    return out.with_name(f"{out.stem}-{name}.png")


def some(count, wanted=range(10)):
    labels = np.load(rest[0]).ravel()
    among = np.flatnonzero(np.isin(labels, list(wanted)))
    chosen = random.choice(among, count, replace=False)
    return np.load(array)[chosen], labels[chosen]


if figure_name == "mnist":
    rows, labels = some(2000)
    seeds = {f"start{seed}": f"mapit:init=random,seed={seed}" for seed in range(4)}
    sizes = {f"k{k}": f"mapit:n_neighbors={k}" for k in (5, 7, 12, 15)}
    rates = {f"rate{rate}": f"mapit:learning_rate={rate}" for rate in (25, 100)}
    objective = "mapit:variant=objective"
    maps(rows, labels, tsne="tsne", lvm="lvm", mapit="mapit", exact="mapit:variant=exact,init=random", **seeds,
         spectral="mapit:init=spectral", sampled="mapit:variant=sampled", gaussian="mapit:kernel=gaussian",
         entropy="mapit:entropy=neighbors", **sizes, **rates, pairs=objective, pairs_sd=f"{objective},optimizer=sd",
         **{f"{cost}{tail}": f"{objective},cost={cost}{way}" for cost in ("neighborhoods", "marginals")
            for tail, way in (("", ""), ("_sd", ",optimizer=sd"))})
    shares(beside("shares"), labels, ["tsne", "lvm", "mapit", "exact"])
elif figure_name == "sampling":
    rows, labels = some(1000)
    # In units of the 10 neighbors, of the 989 non-neighbors.
    cases = {f"{share}_times{times}": f"mapit:variant=sampled,init=random,samples={98.9 * part},sample_weight={times}"
             for share, part in (("half", 0.5), ("quarter", 0.25), ("eighth", 0.125)) for times in (1, 2, 4, 8)}
    maps(rows, labels, mapit="mapit:init=random", **cases)
elif figure_name == "rates":
    rows, labels = some(2000, (3, 6, 9))
    rates = (25, 50, 100)
    names = {f"rate{rate}_{seed}": f"mapit:variant=exact,init=random,learning_rate={rate},seed={seed}"
             for rate in rates for seed in range(3)}
    maps(rows, labels, **names)
    figure, axes = plt.subplots(figsize=(5.5, 3.5), dpi=110)
    for color, rate in zip(("#009e73", "#0072b2", "#d55e00"), rates):
        for seed in range(3):
            trace = np.loadtxt(scratch / f"rate{rate}_{seed}.csv", delimiter=",", skiprows=1)
            axes.plot(trace[:, 0], trace[:, 1], color=color, lw=1, label=f"learning rate {rate}" if seed == 0 else None)
            print(f"rate {rate}, start {seed}: {trace[249, 1]:.3f} at 250, {trace[499, 1]:.3f} at 500, {trace[-1, 1]:.3f} at the end")
    finish(axes, out, xlabel="iteration", ylabel="ln c2 - ln c1")
elif figure_name in ("coil", "news"):
    data = np.load(array)
    if figure_name == "coil":
        rows, labels = data["images_x4080"].reshape(1440, -1) / 4080, data["labels"]
    else:
        documents, topics = data["documents"], data["labels"]
        chosen = random.choice(len(topics), 1625, replace=False)
        documents, topics = documents[chosen], topics[chosen]
        documents = documents[:, documents.any(0)]
        # A word's class: the topic in whose documents it is most frequent.
        rows = documents.T / np.linalg.norm(documents, axis=0)[:, None]
        labels = np.argmax([documents[topics == topic].mean(0) for topic in np.unique(topics)], axis=0)
    maps(rows, labels, tsne="tsne", lvm="lvm", mapit="mapit", k5="mapit:n_neighbors=5", start0="mapit:init=random")
else:
    sys.exit(__doc__)
