"""Draws objective against time from the output of objective_trace.rs:

    python -m bench.paper_figures.objective_curves OUT.png TITLE NAME=FILE.csv..

Needs matplotlib. Time is in CPU seconds, which are more reliable than wall time on a shared machine."""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]
NAMES = {"gd": "gradient descent", "fp": "fixed point", "sd": "spectral direction", "lbfgs": "L-BFGS"}


def main():
    out, title, *files = sys.argv[1:]
    figure, axes = plt.subplots(figsize=(7, 4), dpi=110)
    best = float("inf")
    curves = []
    for argument in files:
        name, path = argument.split("=")
        with open(path) as file:
            rows = list(csv.DictReader(file))
        curves.append((name, [float(row["cpu_s"]) for row in rows], [float(row["objective"]) for row in rows]))
        best = min(best, min(curves[-1][2]))
    for color, (name, seconds, values) in zip(COLORS, curves):
        # Relative distance to the best value that any of the runs reached.
        axes.plot(seconds, [max(value / best - 1, 1e-6) for value in values], color=color, label=NAMES.get(name, name))
    axes.set(xscale="log", yscale="log", xlabel="CPU seconds", ylabel="objective above the best, relative", title=title)
    axes.set_xlim(left=0.1)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(out)


main()
