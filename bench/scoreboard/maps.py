"""Maps by every tool, of every data set: with each tool's settings, and with the same graph of neighbours for all that take one; and
whether the map is the same, byte for byte, when it is made again and with another number of threads."""

import functools
import json
import sys
from pathlib import Path

import data
import judge
import numpy as np
import ours
import peers

# Ours, and the peers that ask for the same: what a method's speed is compared with.
WHOLE = ["lvm", "tsne", "ssne", "ee", "mapit", "spectral", "pca", "tsm", "isomap", "lle", "ltsa", "lllvm"]
# With an option, for more rows than the method takes whole: MNIST 70k in the plane.
WITH_LANDMARKS = ["isomap --landmarks 5000", "lle --landmarks 5000", "tsm --landmarks 10000"]
METHODS = WHOLE + WITH_LANDMARKS
TSNE = {"tsne", "openTSNE", "manifolds-rs t-SNE", "manifolds-rs t-SNE fft", "bhtsne", "sklearn t-SNE"}
# The most rows for what grows with their square, or takes hours: ten minutes each or so. LLE says by itself, after a few seconds, that a
# factor would be too large.
MOST_ROWS = {
    "lllvm": 1_000, "isomap": 12_000, "tsm": 30_000, "lle": 100_000, "ltsa": 100_000, "spectral": 300_000,
    "sklearn t-SNE": 30_000, "sklearn spectral": 12_000, "sklearn Isomap": 12_000, "sklearn LLE": 12_000, "sklearn LTSA": 12_000,
    "manifolds-rs t-SNE": 100_000, "pymde": 100_000, "trimap": 300_000, "annembed": 100_000, "bhtsne": 100_000,
}  # fmt: skip
DIMENSIONS = {"digits": (2, 3, 10), "mnist-10k": (2, 3, 10), "mnist-70k": (2, 3, 10), "words": (2, 10)}
# The million is an hour of work: the default method, t-SNE, and the two peers most used.
OF_A_MILLION = ["lvm", "tsne", "pca", "umap-learn", "pacmap"]
# More dimensions than the plane, for those that are meant for it.
IN_SPACE = ["lvm", "tsne", "ssne", "ee", "mapit", "spectral", "pca", "tsm", "umap-learn", "pacmap", "trimap", "manifolds-rs UMAP"]
IN_SPACE += ["manifolds-rs PaCMAP", "pymde", "sklearn PCA", "sklearn spectral", "sklearn Isomap", "sklearn LLE", "sklearn LTSA", "isomap", "lle", "ltsa"]
# Sums over all pairs, by grids and trees for the plane and for space, and one by one in ten dimensions.
SUMS, MOST_OF_SUMS = ["tsne", "ssne", "ee", "mapit"], 12_000
# The same graph for all.
GRAPH_DATA = ["mnist-10k", "mnist-70k"]
GRAPH_METHODS = ["lvm", "tsne", "ssne", "ee", "mapit", "spectral"]
# Made again, for the same bytes.
AGAIN = ["digits", "mnist-10k"]


def cases(quick):
    names = ["digits", "mnist-2k"] if quick else data.SETS
    for name in names:
        for d in DIMENSIONS.get(name, (2,)):
            for tool in METHODS + list(peers.TOOLS):
                if offered(name, d, tool):
                    yield f"defaults/{name}/d={d}/{tool}", functools.partial(measure, name, d, tool, None)
    for name in [] if quick else GRAPH_DATA:
        for tool in GRAPH_METHODS + peers.WITH_GRAPH:
            yield f"graph/{name}/d=2/{tool}", functools.partial(measure, name, 2, tool, ours.GRAPHS / f"{name}.npz")
    for name in AGAIN[:1] if quick else AGAIN:
        for tool in (tool for tool in METHODS + list(peers.TOOLS) if offered(name, 2, tool)):
            yield f"again/{name}/d=2/{tool}", functools.partial(again, name, tool)


def offered(name, d, tool):
    if name == "deformed-1m" and tool not in OF_A_MILLION:
        return False
    if tool in WITH_LANDMARKS:
        return (name, d) == ("mnist-70k", 2)
    most = min(MOST_ROWS.get(tool, 10**9), MOST_OF_SUMS if d == 10 and tool in SUMS else 10**9)
    return data.SETS[name][0] <= most and (d == 2 or tool in IN_SPACE)


def measure(name, d, tool, graph, limit):
    rows, labels = data.array(name, ours.DATA)
    if data.SETS[name][0] <= judge.ALL_PAIRS:
        ours.neighbours(rows, 90, ours.GRAPHS / f"{name}.npz")
    arm = "graph" if graph else "defaults"
    out = ours.MAPS / f"{arm}-{name}-{d}-{tool.replace(' ', '-')}.npy"
    line = fit(tool, rows, d, out, limit, graph)
    if "failed" not in line:
        line["scores"] = judge.judge(rows, labels, out, d, tool in TSNE)
    return line


def fit(tool, rows, d, out, limit, graph=None, seed=None, threads=2, limits=None):
    """A map into `out`, and what it took."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    if tool in METHODS:
        return ours.embed(tool, rows, d, out, limit, graph, threads, limits=limits)
    command = [sys.executable, Path(__file__).parent / "peers.py", tool, rows, d, out, graph or "-", "-" if seed is None else seed]
    # The environment says the threads to peers, and to the libraries under them.
    names = ("THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    command = ["env", *(f"{name}={threads}" for name in names), *map(str, command)]
    printed, line = ours.measured(command, limit, limits)
    return line if "failed" in line else line | json.loads(printed.splitlines()[-1])


def again(name, tool, limit):
    """The same bytes in a second run, and with one thread; a seed is given to all that take one."""
    rows, _ = data.array(name, ours.DATA)
    found = []
    for threads in (2, 2, 1):
        out = ours.MAPS / f"again-{tool.replace(' ', '-')}.npy"
        line = fit(tool, rows, 2, out, limit, seed=0, threads=threads)
        if "failed" in line:
            return line
        found.append(np.load(out))
    same = [bool(np.array_equal(found[0], other, equal_nan=True)) for other in found[1:]]
    return {"same again": same[0], "same with one thread": same[1]}
