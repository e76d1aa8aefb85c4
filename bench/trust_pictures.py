"""Draws the pictures of docs/methods/trust.md: python bench/trust_pictures.py PROGRAM FOLDER

A Swiss roll that t-SNE tears, and the digits with the images of flagged ones. Needs numpy and matplotlib."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def trust(program, data, flags, folder):
    """Returns the columns and the report of a map by t-SNE."""
    subprocess.run([program, "embed", data, *flags, "--method", "tsne", "--no-quality", "--quiet", "--out", folder / "m.csv"], check=True)
    run = subprocess.run(
        [program, "trust", data, *flags, folder / "m.csv", "--json", "--out", folder / "t.csv"],
        check=True, capture_output=True, text=True)
    report = next(e["trust"] for e in map(json.loads, run.stdout.splitlines()) if e.get("event") == "trust")
    rows = list(csv.DictReader(open(folder / "t.csv")))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "label"}, report


def draw(ax, columns, report, title):
    x, y, island = columns["projection_x"], columns["projection_y"], columns["island"].astype(int)
    flagged = columns["flagged"] == 1
    ax.scatter(x, y, s=4, c=[plt.cm.tab20(i % 20) for i in island], linewidths=0)
    ax.scatter(x[flagged], y[flagged], s=14, facecolors="none", edgecolors="black", linewidths=0.6)
    for gap in report["gaps"]:
        if gap["verdict"] == "bridged":
            ends = [(island == a) & (columns["bridge_to"] == b) for a, b in (gap["islands"], gap["islands"][::-1])]
            if all(end.any() for end in ends):
                ax.plot(*[[v[end].mean() for end in ends] for v in (x, y)], color="black", lw=1.2)
    ax.set_title(title, fontsize=9)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal")


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    pictures = Path(__file__).parents[1] / "docs" / "images"
    fig, axes = plt.subplots(1, 2, figsize=(10, 5))
    columns, report = trust(program, "swiss-roll", ["--n-points", "3000"], folder)
    draw(axes[0], columns, report, "Swiss roll, t-SNE: every gap is false")
    columns, report = trust(program, "mixture", ["--n-points", "3000"], folder)
    draw(axes[1], columns, report, "mixture, t-SNE: every gap is true")
    fig.savefig(pictures / "trust-generated.png", dpi=110, bbox_inches="tight")
    columns, report = trust(program, "digits", [], folder)
    fig, axes = plt.subplots(1, 2, figsize=(11, 5.5), width_ratios=[1.3, 1])
    draw(axes[0], columns, report, "digits, t-SNE: islands, bridges, flagged points (rings)")
    subprocess.run([program, "data", "generate", "digits", "--quiet", "--out", folder / "d.npz"], check=True)
    pixels, labels = np.load(folder / "d.npz")["X"], np.load(folder / "d.npz")["labels"]
    flagged = np.flatnonzero(columns["flagged"] == 1)
    worst = flagged[np.argsort(-columns["spread"][flagged], kind="stable")][:36]
    tile = np.ones((6 * 10, 6 * 10)) * 16
    for at, i in enumerate(worst):
        r, c = divmod(at, 6)
        tile[10 * r + 1:10 * r + 9, 10 * c + 1:10 * c + 9] = 16 - pixels[i].reshape(8, 8)
        axes[1].text(10 * c, 10 * r + 1.2, labels[i], fontsize=6, color="tab:red")
    axes[1].imshow(tile, cmap="gray")
    axes[1].set_title(f"{len(worst)} flagged digits by spread, with their labels", fontsize=9)
    axes[1].axis("off")
    fig.savefig(pictures / "trust-digits.png", dpi=110, bbox_inches="tight")
    print(report["summary"], report["flagged"])


if __name__ == "__main__":
    main()
