"""Time of the first fit in a fresh process, imports included: lowland beside umap-learn.

``python bench/first_fit.py LOWLAND_PYTHON UMAP_PYTHON`` with the interpreters of two environments, one with the release wheel of lowland and one
with umap-learn. Prints a table for ``bench/results``: wall and CPU seconds of the process, the median of five runs each.
"""

import os
import statistics
import subprocess
import sys
import time

RUNS = 5
LOAD = "import numpy as np; X = np.load({path!r})"
PROGRAMS = {
    "lowland LVM": ("lowland", "import lowland; lowland.LVM().fit(X)"),
    "lowland TSNE": ("lowland", "import lowland; lowland.TSNE().fit(X)"),
    "lowland import": ("lowland", "import lowland"),
    "umap-learn UMAP": ("umap", "import umap; umap.UMAP(random_state=0).fit(X)"),
    "umap-learn UMAP, all cores": ("umap", "import umap; umap.UMAP().fit(X)"),
    "umap-learn import": ("umap", "import umap"),
}


def measure(python, code):
    """Return wall and CPU seconds of a process."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([python, "-c", code], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, cpu


def main(pythons):
    """Measure all programs and print a table."""
    path = os.path.abspath("digits.npy")
    save = "import lowland, numpy as np; np.save({path!r}, lowland.datasets.load('digits').data)".format(path=path)
    subprocess.run([pythons["lowland"], "-c", save], check=True)
    print("| Program | wall s | CPU s |\n|---|---|---|")
    for name, (environment, code) in PROGRAMS.items():
        runs = [measure(pythons[environment], f"{LOAD.format(path=path)}; {code}") for _ in range(RUNS)]
        wall, cpu = (statistics.median(values) for values in zip(*runs))
        print(f"| {name} | {wall:.2f} | {cpu:.2f} |", flush=True)
    os.remove(path)


if __name__ == "__main__":
    main({"lowland": sys.argv[1], "umap": sys.argv[2]})
