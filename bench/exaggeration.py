"""Exaggeration and the number of rows: neighbors kept, and agreement of the islands that a picture shows with the classes.

    python -m bench.exaggeration OUT.jsonl PROGRAM DATASET RHO [RHO ...] [--device cuda]

The neighbor graph of a data set is computed once. Maps are written to target/bench/exaggeration. An island is a region of high density on the
map, found without labels: see `islands`."""

import argparse
import json
import resource
import subprocess
from pathlib import Path

import numpy as np
from scipy import ndimage

from bench.datasets import dataset_files
from bench.paths import DATA

# Pixels along each side of the map.
SIDE = 512
# Number of points under the kernel that smooths the density; the fewer points a map has, the larger a picture draws them.
SMOOTHED_POINTS = 30
# Two maxima of the density are different islands if the density between them falls below this share of the lower one.
DIP = 0.25
# Islands with a smaller share of the points are joined to a neighbor.
MIN_SHARE = 0.002


def islands(points):
    """Returns the number of the island of each point: basins of the maxima of the smoothed density that a dip separates."""
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    scale = (SIDE - 1) / max(high - low)
    cells = np.clip(np.rint((points - low) * scale), 0, SIDE - 1).astype(int)
    counts = np.zeros((SIDE, SIDE))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1)
    area = np.count_nonzero(ndimage.binary_closing(counts > 0, iterations=3))
    sigma = max(2.0, np.sqrt(SMOOTHED_POINTS * area / len(points) / (2 * np.pi)))
    density = ndimage.gaussian_filter(counts, sigma, mode="constant").ravel()
    weight = counts.ravel()
    parent, peak, mass = {}, {}, {}

    def root(cell):
        while parent[cell] != cell:
            parent[cell] = cell = parent[parent[cell]]
        return cell

    order = np.argsort(-density, kind="stable")
    for cell in order[density[order] > 0]:
        row, column = divmod(int(cell), SIDE)
        around = [cell - SIDE] * (row > 0) + [cell + SIDE] * (row < SIDE - 1) + [cell - 1] * (column > 0) + [cell + 1] * (column < SIDE - 1)
        found = sorted({root(other) for other in around if other in parent}, key=lambda other: (-peak[other], other))
        if not found:
            parent[cell], peak[cell], mass[cell] = cell, density[cell], weight[cell]
            continue
        first = found[0]
        parent[cell] = first
        mass[first] += weight[cell]
        for other in found[1:]:
            if density[cell] > DIP * peak[other] or mass[other] < MIN_SHARE * len(points):
                parent[other] = first
                mass[first] += mass[other]
    roots = {}
    return np.array([roots.setdefault(root(cell), len(roots)) for cell in (cells @ [SIDE, 1]).tolist()])


def adjusted_rand_index(a, b):
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    pairs = lambda counts: (counts * (counts - 1) / 2).sum()
    together, left, right, total = pairs(table), pairs(table.sum(1)), pairs(table.sum(0)), pairs(np.array([len(a)]))
    expected = left * right / total
    return (together - expected) / ((left + right) / 2 - expected)


def measure(program, name, rho, folder, device):
    rows, labels = dataset_files(name)
    graph, out, report = folder / f"{name}.npz", folder / f"{name}-{rho:g}.npy", folder / f"{name}-{rho:g}.json"
    if not graph.exists():
        subprocess.run([program, "neighbors", rows, "--n-neighbors", "90", "--out", graph, "--device", device, "--quiet"], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "embed", rows, "--labels", labels, "--neighbors", graph, "--method", "tsne", "--exaggeration", f"{rho:g}"]
    subprocess.run([*command, "--out", out, "--report", report, "--device", device, "--quiet"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    scores = {}
    for score in json.loads(report.read_text())["scores"]["values"]:
        scores.setdefault(score["name"], score["value"])
    classes = np.unique(np.loadtxt(labels, dtype=str, skiprows=1), return_inverse=True)[1]
    found = islands(np.load(out).astype(float))
    return {
        "data": name,
        "exaggeration": rho,
        "knn_recall": scores["knn recall"],
        "trustworthiness": scores["trustworthiness"],
        "triplets": scores["triplet accuracy"],
        "error_1nn": scores["classification error"],
        "ari": adjusted_rand_index(found, classes),
        "islands": int(found.max()) + 1,
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("program")
    parser.add_argument("dataset")
    parser.add_argument("rhos", type=float, nargs="+", metavar="RHO")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    folder = DATA.parent / "exaggeration"
    folder.mkdir(parents=True, exist_ok=True)
    for rho in args.rhos:
        line = json.dumps(measure(args.program, args.dataset, rho, folder, args.device))
        print(line, flush=True)
        with args.results.open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
