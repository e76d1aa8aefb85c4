"""Figures 3 and 4 of Carreira-Perpinan and Vladymyrov (2014): python -m bench.paper_figures.nbody FIGURE OUT.png [ROWS.npy LABELS.npy [SECONDS]]

FIGURE is one of
  engines   Fig 3: s-SNE by L-BFGS with the fast Gauss transform, Barnes-Hut and exact sums, each stopped after SECONDS of CPU time
            of the descent (the neighbor graph is computed once and not counted)
  growth    Fig 4: CPU time of the fast Gauss transform against the number of points, up to a million, with its certified and its
            actual error, for two tolerances; reads the output of `kernel_sums growth` from standard input

Run from the repository root, after `cargo build --release`. Needs numpy and matplotlib. Times are CPU seconds, since the paper's hour of
wall time says little on a shared machine."""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from bench.lowland_program import search
from bench.paths import PROGRAM

ENGINES = {"fast-gauss": "fast Gauss transform", "barnes-hut": "Barnes-Hut", "exact": "exact"}
NEIGHBORS = 90


def cpu_seconds(pid):
    """Returns the CPU seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def run_engine(engine, rows, graph, seconds, folder):
    """Fits s-SNE and stops it, as with Ctrl-C, once the descent has used its CPU seconds. Returns the map and the iterations."""
    out = folder / f"{engine}.npy"
    command = [PROGRAM, "embed", rows, "--method", "ssne", "--engine", engine, "--max-iter", 100000, "--tol", 0]
    command += ["--neighbors", graph, "--no-quality", "--json", "--out", out]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    start, steps = None, []
    for line in process.stdout:
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("event") == "step":
            used = cpu_seconds(process.pid)
            start = used if start is None else start
            steps.append((used - start, event["objective"]))
            if used - start > seconds:
                process.send_signal(signal.SIGINT)
                break
    process.stdout.read()
    process.wait()
    return np.load(out)[:, :2], steps


def engines(out, rows, labels, seconds):
    labels = np.load(labels).ravel()
    figure, axes = plt.subplots(1, 4, figsize=(16, 4.2), dpi=100)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        graph = search(rows, NEIGHBORS, folder / "graph.npz", "approximate")
        for panel, (engine, name) in zip(axes, ENGINES.items()):
            points, steps = run_engine(engine, rows, graph, seconds, folder)
            # A subset, as in the paper: 60,000 points would cover each other.
            some = np.random.default_rng(0).permutation(len(points))[:6000]
            panel.scatter(*points[some].T, c=labels[some], s=1, cmap="tab10", linewidths=0)
            panel.set(title=f"{name}: {len(steps)} iterations, {steps[-1][1]:.3f}", xticks=[], yticks=[])
            panel.set_aspect("equal", "datalim")
            axes[3].plot(*zip(*steps), label=name)
            print(f"| {engine} | {len(steps)} | {steps[-1][0]:.1f} | {steps[-1][1]:.4f} |", flush=True)
    axes[3].set(xlabel="CPU seconds of the descent", ylabel="KL divergence", title="objective")
    axes[3].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(out)


def growth(out):
    rows = [line.split() for line in sys.stdin if line[:1].isdigit()]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), dpi=110)
    for accuracy in sorted({row[1] for row in rows}, key=float):
        points, work, cpu, error, bound = zip(*[map(float, [row[0], *row[2:6]]) for row in rows if row[1] == accuracy])
        slope = np.polyfit(np.log(points), np.log(cpu), 1)[0]
        left.plot(points, np.array(cpu) / 1e3, "o-", label=f"request {accuracy}: exponent {slope:.2f}")
        line = right.plot(points, error, "o-", label=f"request {accuracy}: error of the force")[0]
        right.plot(points, bound, "x--", color=line.get_color(), label="certified bound")
    left.set(xscale="log", yscale="log", xlabel="points", ylabel="CPU seconds", title="fast Gauss transform, two dimensions")
    right.set(xscale="log", yscale="log", xlabel="points", ylabel="relative error of the force")
    left.legend(frameon=False)
    right.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(out)


def main():
    name, out, *rest = sys.argv[1:]
    if name == "engines":
        rows, labels, seconds = [*rest, "60"][:3]
        engines(out, rows, labels, float(seconds))
    else:
        growth(out)


main()
