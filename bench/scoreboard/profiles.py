"""Where the time of our methods goes on MNIST 70,000 x 50 (fewer rows where all pairs are kept): their stages, the loops that perf
sees, and what this machine can do at most (`machine`, a program of this folder's crate)."""

import functools
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import data
import maps
import numpy as np
import ours

# As in maps.py, what keeps all pairs, or a large factor, is profiled on fewer.
ROWS = dict.fromkeys(["tsm", "isomap", "lle"], "mnist-10k") | {"lllvm": "swiss-roll-500"}
# Neighbours of the graph whose pairs a descent goes over, or along which ways are sought.
NEIGHBOURS = {"tsne": 90, "ssne": 90, "ee": 90, "mapit": 45, "isomap": 10}
LOOPS = 8
# Of the maps that are profiled.
DIMENSIONS = 2
# Samples a second, and the fewest of a loop that is worth its name.
RATE, FEWEST = 199, 10


def limits(machine, lines):
    """The least that the largest loops must do, and the CPU seconds that this machine needs for it when nothing else is in the way:
    (method, stage, what must be done, seconds, what it takes now). `lines` by data set and method."""
    seconds = lambda count, rate: count * 1e-9 / machine[rate] * machine["threads"]
    for (name, method), line in lines.items():
        (rows, columns, _), stages, times = data.SETS[name], line["stages"], line["iterations"]
        if stages.get("neighbours", 0) > 0.1 and not any("neighbours by" in note for note in line["notes"]):
            flops = rows * rows * columns  # half the pairs, a multiplication and an addition a column
            yield method, "neighbours", f"{flops:.2g} f32 flops: half of all pairs", seconds(flops, "f32 Gflop/s"), stages["neighbours"]
        if method == "isomap" and "edges" in line:
            ends = 2 * line["edges"] * rows
            words = f"{ends:.2g} gathers: both ends of every link, from every point"
            yield method, "shortest paths", words, seconds(ends, GATHERS), stages["shortest paths"]
        elif "edges" in line:
            ends = 2 * line["edges"] * times
            words = f"{ends:.2g} gathers: both ends of every pair, {times} times"
            yield method, "descent", words, seconds(ends, GATHERS), stages["descent"]
            words = f"{8 * ends:.2g} bytes: the other end and the weight of every pair"
            yield method, "descent", words, seconds(8 * ends, "read GB/s"), stages["descent"]
        if method == "pca":
            flops = rows * columns * columns  # half the covariances, a multiplication and an addition a row
            yield method, "components", f"{flops:.2g} f64 flops: half of the covariances", seconds(flops, "f64 Gflop/s"), stages["components"]
        if method == "lvm":
            landmarks = (rows * rows / 2) ** (1 / 3)
            flops = FLOPS_OF_DISSIMILAR * times * (landmarks**2 + rows * rows / landmarks) / 2
            words = f"{flops:.2g} f32 flops: {FLOPS_OF_DISSIMILAR} for each pair in equal cells and of landmarks, {times} times"
            yield method, "iterations", words, seconds(flops, "f32 Gflop/s"), stages["iterations"]
        if method == "tsm":
            moved = 3 * 4 * rows * rows * times
            words = f"{moved:.2g} bytes: the matrix of all pairs read twice and written once, {times} times"
            yield method, "updates", words, seconds(moved, "read GB/s"), stages["updates"]
        if method == "lllvm":
            starts = next((note.count(",") + 1 for note in line["notes"] if note.startswith("bounds of the starts")), 1)
            flops = 2 * starts * times * (DIMENSIONS * rows) ** 3
            words = f"{flops:.2g} f64 flops: inverses of two covariances, of the places and of the maps, for each of {starts} starts, {times} times, if none rests early"
            yield method, "iterations", words, seconds(flops, "f64 Gflop/s"), stages["iterations"]


# Of one dissimilar pair of LVM, both ways: distances, ratios, two exponentials and a logarithm shared by many.
FLOPS_OF_DISSIMILAR = 90
GATHERS = "gathers of 16 bytes from 70,000, G/s"


def cases(quick):
    yield "machine", machine
    for method in maps.WHOLE:
        name = ROWS.get(method, "mnist-10k" if quick else "mnist-70k")
        yield f"{name}/{method}", functools.partial(measure, name, method)


def machine(limit):
    """Peaks of the processor and the memory, two threads."""
    printed, line = ours.measured(["target/release/machine"], limit)
    return line if "failed" in line else json.loads(printed)


def measure(name, method, limit):
    rows, _ = data.array(name, ours.DATA)
    ours.MAPS.mkdir(parents=True, exist_ok=True)
    line = ours.embed(method, rows, DIMENSIONS, ours.MAPS / "profile.npy", limit)
    if method in NEIGHBOURS:
        line["edges"] = edges(ours.neighbours(rows, 90, ours.GRAPHS / f"{name}.npz"), NEIGHBOURS[method])
    if shutil.which("perf") and "failed" not in line:
        least = 100 * FEWEST / (RATE * line["cpu_s"])
        line["loops"] = {loop: share for loop, share in loops(method, rows).items() if share >= least}
    return line


def edges(graph, count):
    """Pairs of which at least one is among the `count` nearest of the other."""
    with np.load(graph) as arrays:
        near = arrays["indices"][:, :count].astype(np.int64)
    own = np.repeat(np.arange(len(near)), near.shape[1])
    pairs = np.stack([own, near.ravel()])
    return len(np.unique(pairs.min(0) * len(near) + pairs.max(0)))


def loops(method, rows):
    """The functions that take the most samples, as shares."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        command = ["perf", "record", "-q", "-F", str(RATE), "-e", "cpu-clock", "-o", samples, ours.PROGRAM, "embed", rows]
        command += ["--method", method, "--no-quality", "--quiet", "--threads", "2", "--out", Path(folder) / "map.npy"]
        if subprocess.run(list(map(str, command)), capture_output=True).returncode:
            return {}  # Containers often forbid it.
        # Without the lines of inlined functions, which take perf minutes to find.
        report = ["perf", "report", "-i", samples, "--stdio", "--no-inline", "-g", "none", "--percent-limit", "0.8", "--sort", "symbol"]
        text = subprocess.run(list(map(str, report)), check=True, capture_output=True, text=True).stdout
    found = {}
    for share, symbol in re.findall(r"^ *([0-9.]+)% +\[[.k]\] (.+?) *$", text, re.M):
        found[short(symbol)] = found.get(short(symbol), 0) + float(share)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:LOOPS])


def short(symbol):
    """A function's name without its hash, its generics, and the copies for each processor. Matrix products have dozens."""
    if symbol.startswith("gemm_v0_"):
        return "gemm"
    symbol = re.sub(r"::h[0-9a-f]{16}$|<[^<>]*>", "", re.sub(r"<[^<>]*>", "", symbol))
    symbol = re.sub(r"(_avx512\w*|_avx2\w*|_default_version|_x86_64\w*)", "", symbol)
    parts = [part.strip(" -") for part in symbol.split("::") if part and not part.startswith("{{closure")]
    # The copy for each processor is a function in a module of the same name.
    if len(parts) > 1 and parts[-1] == parts[-2]:
        parts.pop()
    return "::".join(parts[-2:])
