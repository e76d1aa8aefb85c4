"""Names on a map of words: `lowland plot` beside datamapplot, with the same islands and names.

    python -m bench.map_names PROGRAM FOLDER [--rows N]

The first rows of the word vectors (`datasets.py`, words) are embedded by t-SNE; lowland finds the islands and names them; both programs draw the names in a square
picture of 1000 pixels. Then lowland draws two levels, which datamapplot has only on interactive pages: groups of islands (Ward's method on their centers) in large
letters, and the islands. Files go to FOLDER; the table is printed. Needs lowland, scikit-learn, matplotlib and datamapplot."""

import argparse
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.datasets import download_word_vectors

SIDE = 1000
GROUPS = 6
EMBED = ["--pca", "50", "--metric", "cosine", "--no-quality", "--quiet"]
PLOT = ["--width", SIDE, "--height", SIDE, "--plain", "--quiet"]


def child_cpu(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def levels(points, words):
    """Returns the island of each point, the names of islands, the group of each point and the names of groups; -1 is none."""
    from lowland import _lowland
    from sklearn.cluster import AgglomerativeClustering

    codes, names = _lowland.islands(points, ids=words)
    codes = np.array([-1 if not names[code] else code for code in codes])
    used = [code for code in range(len(names)) if (codes == code).any()]
    centers = np.array([np.median(points[codes == code], axis=0) for code in used])
    group_of = dict(zip(used, AgglomerativeClustering(GROUPS).fit_predict(centers)))
    groups = np.array([group_of.get(code, -1) for code in codes])
    # A group is named after the first words of its two largest islands.
    size = {code: int((codes == code).sum()) for code in used}
    titles = []
    for group in range(GROUPS):
        largest = sorted((code for code in used if group_of[code] == group), key=lambda code: -size[code])[:2]
        titles.append(" · ".join(names[code].split(", ")[0] for code in largest))
    return codes, names, groups, titles


def boxes_of_svg(path):
    """Returns the boxes of the names in an SVG file of lowland, in pixels, and the positions of the points."""
    text = Path(path).read_text()
    lines = []
    for x, y, size, width in re.findall(r'<text x="([\d.]+)" y="([\d.]+)" font-size="([\d.]+)" textLength="([\d.]+)"', text):
        x, y, size, width = map(float, (x, y, size, width))
        lines.append((x, y - 0.73 * size, x + width, y))
    radius = max(re.findall(r'<circle cx="[\d.]+" cy="[\d.]+" r="([\d.]+)"', text), key=text.count)
    points = [(float(x), float(y)) for x, y, r in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', text) if r == radius]
    # Each line is drawn twice, first its outline.
    ends = {tuple(map(float, line)) for line in re.findall(r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"', text)}
    return lines, np.array(points), [np.hypot(x1 - x2, y1 - y2) for x1, y1, x2, y2 in ends]


def covered(boxes, points):
    """Returns how many points lie under names."""
    under = np.zeros(len(points), bool)
    for left, top, right, bottom in boxes:
        x, y = points.T
        under |= (x > left) & (x < right) & (y > top) & (y < bottom)
    return int(under.sum())


def datamapplot_child(folder):
    """Draws with datamapplot, and prints the number of names, the points under them and the length of its lines."""
    import matplotlib

    matplotlib.use("agg")
    import datamapplot
    from matplotlib.text import Annotation, Text

    data = np.load(folder / "levels.npz")
    labels = np.where(data["islands"] < 0, "Unlabelled", data["names"][data["islands"]])
    figure, axes = datamapplot.create_plot(data["points"], labels, figsize=(10, 10), dpi=100, verbose=False)
    figure.savefig(folder / "datamapplot.png", dpi=100)
    figure.canvas.draw()
    pixels = axes.transData.transform(data["points"])
    names = [text for text in axes.texts if isinstance(text, Annotation) and text.get_text()]
    # Without its line, which is part of the extent of an annotation.
    boxes = [Text.get_window_extent(text) for text in names]
    boxes = [(box.x0, box.y0, box.x1, box.y1) for box in boxes]
    lengths = [np.hypot(*(axes.transData.transform(text.xyann) - axes.transData.transform(text.xy))) for text in names]
    print(len(names), covered(boxes, pixels), len(lengths), f"{np.median(lengths):.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--only-datamapplot", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    folder = args.folder
    if args.only_datamapplot:
        datamapplot_child(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "words.csv").exists():
        embed = [args.program, "embed", download_word_vectors(), "--max-rows", args.rows, *EMBED, "--out", folder / "words.csv"]
        subprocess.run(list(map(str, embed)), check=True)
    lines = [line.rsplit(",", 2) for line in (folder / "words.csv").read_text(encoding="utf-8").splitlines()[1:]]
    words, points = [line[0].strip('"') for line in lines], np.array([line[1:3] for line in lines], float)
    islands, names, groups, titles = levels(points, words)
    np.savez(folder / "levels.npz", points=points, islands=islands, names=np.array(names))
    table = ["projection_x,projection_y,group,island"]
    for (x, y), group, island in zip(points, groups, islands):
        table.append(f'{x},{y},"{titles[group] if group >= 0 else ""}","{names[island] if island >= 0 else ""}"')
    (folder / "map.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    one = [args.program, "plot", folder / "map.csv", "--map-labels", "island", "--color", "island", *PLOT]
    seconds = child_cpu([*one, "--out", folder / "words-islands.png"])
    subprocess.run(list(map(str, [*one, "--out", folder / "words-islands.svg"])), check=True)
    two = [args.program, "plot", folder / "map.csv", "--map-labels", "group,island", "--color", "island", "--legend", "none", *PLOT]
    subprocess.run(list(map(str, [*two, "--out", folder / "words-levels.png", "--out", folder / "words-levels.svg"])), check=True)
    print("program | CPU seconds | lines of text, or names | points under names | lines to islands | median length of lines, pixels")
    for name, cpu in (("words-islands", f"{seconds:.2f}"), ("words-levels", "")):
        boxes, drawn, leaders = boxes_of_svg(folder / f"{name}.svg")
        print(f"lowland, {name}", cpu, len(boxes), covered(boxes, drawn), len(leaders), f"{np.median(leaders) if leaders else 0:.0f}", sep=" | ")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = [sys.executable, "-m", "bench.map_names", "-", str(folder), "--only-datamapplot"]
    said = subprocess.run(child, check=True, capture_output=True, text=True, env=os.environ).stdout.split()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print("datamapplot", f"{cpu:.1f}", *said[-4:], sep=" | ")


if __name__ == "__main__":
    main()
