"""Supervised maps of MNIST: the 1-NN error of held-out rows, beside umap-learn's supervised mode.

    python -m bench.supervision PROGRAM FOLDER METHODS SHARES

FOLDER holds train.npy, train-labels.npy, test.npy and test-labels.npy. METHODS are methods of ours or umap-learn; SHARES are shares of
the training rows whose class the method is told, such as 1,0.1,0.01,0 (0: unsupervised). Prints a line of JSON per map. The
nearest training point of a held-out row on the map gives its class: among all training rows with their true classes, and among those that the
method was told. Needs numpy, scikit-learn and umap-learn."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier


def cpu(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def by_umap_learn(folder, target):
    import umap

    reducer = umap.UMAP(random_state=0)
    start = cpu(resource.RUSAGE_SELF)
    points = reducer.fit_transform(np.load(folder / "train.npy"), target)
    fitted = cpu(resource.RUSAGE_SELF)
    placed = reducer.transform(np.load(folder / "test.npy"))
    return points, placed, fitted - start, cpu(resource.RUSAGE_SELF) - fitted


def by_program(program, method, folder, target):
    flags = ["--no-quality", "--quiet", "--out", folder / "map.npy", "--save", folder / "map.lowland"]
    if target is not None:
        np.savetxt(folder / "target.txt", target, fmt="%d")
        flags += ["--labels", folder / "target.txt", "--target", "labels"]
    start = cpu(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "embed", folder / "train.npy", "--method", method, *flags], check=True)
    fitted = cpu(resource.RUSAGE_CHILDREN)
    command = [program, "transform", folder / "map.lowland", folder / "test.npy", "--quiet", "--out", folder / "placed.npy"]
    subprocess.run(command, check=True)
    placed = cpu(resource.RUSAGE_CHILDREN) - fitted
    return np.load(folder / "map.npy"), np.load(folder / "placed.npy"), fitted - start, placed


def error(points, placed, labels, truth, rows):
    return float(np.mean(KNeighborsClassifier(1).fit(points[rows], labels[rows]).predict(placed) != truth))


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    labels, truth = np.load(folder / "train-labels.npy"), np.load(folder / "test-labels.npy")
    for share in map(float, sys.argv[4].split(",")):
        told = np.random.default_rng(7).random(len(labels)) < share
        target = np.where(told, labels, -1) if share > 0 else None
        for method in sys.argv[3].split(","):
            if method == "umap-learn":
                points, placed, fit, transform = by_umap_learn(folder, target)
            else:
                points, placed, fit, transform = by_program(program, method, folder, target)
            every = np.arange(len(labels))
            line = {"share": share, "method": method, "fit_cpu": round(fit, 1), "transform_cpu": round(transform, 1)}
            line["error"] = round(error(points, placed, labels, truth, every), 4)
            if share > 0:
                line["error_told"] = round(error(points, placed, labels, truth, np.flatnonzero(told)), 4)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
