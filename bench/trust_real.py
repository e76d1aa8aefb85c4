"""What `lowland trust` says about maps of real data with known classes: MNIST, and single cells from the PyPI package scanpy.

    python -m bench.trust_real PROGRAM FOLDER [DATASET ...]
    python -m bench.trust_real PROGRAM FOLDER loo-map

loo-map is the example of two Gaussian clusters of LOO-map's authors (github.com/zhexuandliu/MapContinuity-NE-Reliability, folder
"Code and data/data/2GMM"), which is not downloaded: FOLDER needs its X.txt as loo-x.txt (500 rows of two numbers, without the line
of the size) and variance_scores_perplexity50.txt as loo-variance.txt.

Prints, for a map by t-SNE: the summary; for every gap that is called bridged or separated, the classes of both islands and whether the
links across it join rows of one class; and how the flagged points differ from the others. Classes take no part in the scores. Needs numpy,
scikit-learn, h5py and pip."""

import csv
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from bench.datasets import dataset_files

SCANPY = "scanpy==1.11.5"
NEIGHBORS = 15


def scanpy_file(name, folder):
    """Extracts a data file of the scanpy package, which is downloaded once."""
    wheels = list(folder.glob("scanpy-*.whl"))
    if not wheels:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, SCANPY], check=True)
        wheels = list(folder.glob("scanpy-*.whl"))
    path = folder / Path(name).name
    path.write_bytes(zipfile.ZipFile(wheels[0]).read(f"scanpy/datasets/{name}"))
    return path


def cells(folder):
    """700 blood cells with 765 genes, scaled, and the types that their markers suggest (Zheng et al. 2017)."""
    import h5py

    file = h5py.File(scanpy_file("10x_pbmc68k_reduced.h5ad", folder))
    names = [name.decode() if isinstance(name, bytes) else name for name in file["uns/bulk_labels_categories"][:]]
    return file["X"][:].astype(np.float32), np.array([names[code] for code in file["obs"]["bulk_labels"]])


def differentiation(folder):
    """640 states of a simulated differentiation into four types of blood cells (Krumsiek et al. 2011): one connected tree."""
    lines = [line for line in open(scanpy_file("krumsiek11.txt", folder)) if not line.startswith("#")]
    start = 0 if lines[0].split()[0].replace(".", "").isdigit() else 1
    rows = np.array([[float(v) for v in line.split()] for line in lines[start:]], np.float32)
    return rows[:, -11:], np.array(["tree"] * len(rows))


def read(name, folder):
    """Returns rows, classes, and flags of preprocessing."""
    if name == "cells":
        return *cells(folder), ["--pca", "50"]
    if name == "differentiation":
        return *differentiation(folder), []
    rows, labels = dataset_files(name)
    return np.load(rows), np.loadtxt(labels, dtype=str, skiprows=1), []


def neighbors(program, folder, flags):
    """Returns the nearest rows, as `lowland trust` sees them."""
    command = [program, "neighbors", folder / "x.npy", "--n-neighbors", str(NEIGHBORS), *flags, "--out", folder / "graph.npz", "--quiet"]
    subprocess.run(command, check=True)
    return np.load(folder / "graph.npz")["indices"].reshape(-1, NEIGHBORS)


def spearman(a, b):
    """Rank correlation."""
    return np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1]


def loo_map(program, folder):
    """LOO-map's example: 500 points of two overlapping Gaussian clusters, centers (2, 0) and (-2, 0), unit variance, in two dimensions.

    Torn points are those with a fifth of their 15 nearest rows more than three times as far on the map as their 15th point there. The
    other measure is the posterior of the less likely cluster, which is largest between the two: LOO-map's authors report that their
    perturbation score (our jump) is large there at perplexity 50, and that small false clusters appear at perplexity 5."""
    x = np.loadtxt(folder / "loo-x.txt").astype(np.float32)
    variance = np.loadtxt(folder / "loo-variance.txt").ravel()
    np.save(folder / "x.npy", x)
    between = 1 / (1 + np.exp(np.abs(4 * x[:, 0])))
    print("| map | islands | bridged | flagged | torn | AUC for torn points: jump, spread, fragile | AUC for points between the clusters: "
          "jump, spread, fragile | rank correlation with the variance: jump, spread, fragile |\n" + "|---" * 8 + "|")
    for method, perplexity in (("tsne", 5), ("tsne", 20), ("tsne", 50), ("tsne", 100), ("umap", 5), ("umap", 50), ("lvm", None)):
        name = "--n-neighbors" if method == "umap" else "--perplexity"
        flags = [] if perplexity is None else [name, str(perplexity)]
        # The authors start from the data, which the principal components are, rotated and scaled.
        start = ["--init", "pca"] if method == "tsne" else []
        run = subprocess.run(
            [program, "embed", "x.npy", "--method", method, *flags, *start, "--trust", "--json", "--out", "loo.csv"],
            check=True, capture_output=True, text=True, cwd=folder)
        report = next(e for e in map(json.loads, run.stdout.splitlines()) if e.get("event") == "done")["report"]["trust"]
        rows = list(csv.DictReader(open(folder / "loo.csv")))
        scores = {key: np.array([float(row[key]) for row in rows]) for key in ("jump", "spread", "fragile")}
        points = np.array([[float(row["projection_x"]), float(row["projection_y"])] for row in rows])
        near = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(x).kneighbors(x)[1][:, 1:]
        scale = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(points).kneighbors(points)[0][:, -1]
        torn = (np.linalg.norm(points[near] - points[:, None], axis=2) > 3 * scale[:, None]).mean(1) >= 0.2
        auc = lambda answer: ", ".join(f"{roc_auc_score(answer, v):.2f}" for v in scores.values()) if answer.any() else ""
        bridged = sum(gap["verdict"] == "bridged" for gap in report["gaps"])
        ranks = ", ".join(f"{spearman(v, variance):.2f}" for v in scores.values())
        print(f"| {method} {perplexity or ''} | {len(report['islands'])} | {bridged} | {report['flagged']} | {torn.sum()} | {auc(torn)} | "
              f"{auc(between > 0.1)} | {ranks} |")


def main():
    program, folder, *names = sys.argv[1:]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if names == ["loo-map"]:
        loo_map(Path(program).resolve(), folder)
        return
    for name in names or ["cells", "differentiation", "digits", "mnist-70k"]:
        x, classes, flags = read(name, folder)
        np.save(folder / "x.npy", x)
        table = folder / f"{name}.csv"
        run = subprocess.run(
            [program, "embed", folder / "x.npy", *flags, "--trust", "--json", "--quiet", "--out", table,
             "--out", folder / f"{name}.png"], check=True, capture_output=True, text=True)
        done = next(event for event in map(json.loads, run.stdout.splitlines()) if event.get("event") == "done")
        report = done["report"]["trust"]
        rows = list(csv.DictReader(open(table)))
        column = lambda key: np.array([float(row[key]) for row in rows])
        places, island, flagged = np.c_[column("projection_x"), column("projection_y")], column("island").astype(int), column("flagged") == 1
        near = neighbors(program, folder, flags)
        print(f"\n## {name}: {len(x)} rows, {report['loss']}\n\n{' '.join(report['summary'])}\n")
        main_class = {}
        for i in range(1, island.max() + 1):
            values, counts = np.unique(classes[island == i], return_counts=True)
            main_class[i] = (values[counts.argmax()], counts.max() / counts.sum())
        a, b = np.repeat(np.arange(len(x)), NEIGHBORS), near.ravel()
        print("| islands | sizes | main classes (share) | verdict | links | counted | connection | links within one class |\n|" + "---|" * 8)
        for gap in report["gaps"][:30]:
            i, j = gap["islands"]
            across = ((island[a] == i) & (island[b] == j)) | ((island[a] == j) & (island[b] == i))
            same = np.mean(classes[a[across]] == classes[b[across]])
            main = ", ".join(f"{main_class[k][0]} ({main_class[k][1]:.2f})" for k in (i, j))
            sizes = f"{(island == i).sum()}, {(island == j).sum()}"
            connection = "" if gap["connection"] is None else f"{gap['connection']:.2f}"
            print(f"| {i}, {j} | {sizes} | {main} | {gap['verdict']} | {gap['links']} | {gap['counted_links']} | {connection} | {same:.2f} |")
        merged = [(k + 1, entry["parts"]) for k, entry in enumerate(report["islands"]) if entry["parts"] and len(entry["parts"]) > 1]
        print(f"\nIslands that are several groups in the data: {merged}")
        on_map = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(places).kneighbors(places)[1][:, 1:]
        other_class = (classes[near] != classes[:, None]).mean(1)
        wrong = np.array([np.unique(row, return_counts=True) for row in classes[on_map]], dtype=object)
        predicted = np.array([values[counts.argmax()] for values, counts in wrong])
        jump = column("jump")
        print("\n| points | count | 15-NN error on the map | share of data neighbors of another class | lost | median jump |\n|" + "---|" * 6)
        for what, chosen in (("flagged", flagged), ("not flagged", ~flagged)):
            if chosen.any():
                print(f"| {what} | {chosen.sum()} | {np.mean(predicted[chosen] != classes[chosen]):.3f} | {other_class[chosen].mean():.3f} | "
                      f"{column('lost')[chosen].mean():.3f} | {np.median(jump[chosen]):.2f} |")


if __name__ == "__main__":
    main()
