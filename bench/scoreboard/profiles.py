"""Where the time of our methods goes on MNIST 70,000 x 50: their stages, the loops that perf sees, and what this machine can do at
most (`machine`, a program of this folder's crate)."""

import functools
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import data
import numpy as np
import ours

METHODS = ["lvm", "tsne", "ssne", "ee", "mapit", "spectral", "pca", "tsm"]
# As in maps.py, what keeps all pairs is profiled on fewer.
ROWS = {"tsm": "mnist-10k"}
LOOPS = 8


def limits(machine, lines):
    """The least that the largest loops must do on MNIST 70,000 x 50, and the CPU seconds that this machine needs for it when
    nothing else is in the way: (method, stage, what must be done, seconds, what it takes now)."""
    rows, columns, threads = 70_000, 50, machine["threads"]
    seconds = lambda count, rate: count * 1e-9 / machine[rate] * threads
    flops = rows * rows * columns  # half the pairs, a multiplication and an addition a column
    for method, line in lines.items():
        if any("neighbours by" in note for note in line["notes"]):
            continue  # not an exact search
        if "neighbours" in line["stages"]:
            words = f"{flops:.2g} f32 flops: half of all pairs"
            yield method, "neighbours", words, seconds(flops, "f32 Gflop/s"), line["stages"]["neighbours"]
        if method in ATTRACTED:
            ends = 2 * line["edges"] * line["iterations"]
            words = f"{ends:.2g} gathers: both ends of every pair, {line['iterations']} times"
            yield method, "descent", words, seconds(ends, GATHERS), line["stages"]["descent"]
            words = f"{8 * ends:.2g} bytes: the other end and the weight of every pair"
            yield method, "descent", words, seconds(8 * ends, "read GB/s"), line["stages"]["descent"]


# Whose pairs are those of the graph of 90 neighbours.
ATTRACTED = ["tsne", "ssne", "ee"]
GATHERS = "gathers of 16 bytes from 70,000, G/s"


def cases(quick):
    yield "machine", machine
    for method in METHODS:
        name = "mnist-10k" if quick else ROWS.get(method, "mnist-70k")
        yield f"{name}/{method}", functools.partial(measure, name, method)


def machine(limit):
    """Peaks of the processor and the memory, two threads."""
    printed, line = ours.measured(["target/release/machine"], limit)
    return line if "failed" in line else json.loads(printed)


def measure(name, method, limit):
    rows, _ = data.array(name, ours.DATA)
    ours.MAPS.mkdir(parents=True, exist_ok=True)
    line = ours.embed(method, rows, 2, ours.MAPS / "profile.npy", limit)
    if method in ATTRACTED:
        line["edges"] = edges(ours.neighbours(rows, 90, ours.GRAPHS / f"{name}.npz"))
    if shutil.which("perf") and "failed" not in line:
        line["loops"] = loops(method, rows)
    return line


def edges(graph):
    """Pairs of which at least one is among the other's nearest."""
    with np.load(graph) as arrays:
        near = arrays["indices"].astype(np.int64)
    own = np.repeat(np.arange(len(near)), near.shape[1])
    pairs = np.stack([own, near.ravel()])
    return len(np.unique(pairs.min(0) * len(near) + pairs.max(0)))


def loops(method, rows):
    """The functions that take the most samples, as shares."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        command = ["perf", "record", "-q", "-F", "199", "-e", "cpu-clock", "-o", samples, ours.PROGRAM, "embed", rows]
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
    """A function's name without its hash, its generics, and the copies for each processor."""
    symbol = re.sub(r"::h[0-9a-f]{16}$|<[^<>]*>", "", re.sub(r"<[^<>]*>", "", symbol))
    symbol = re.sub(r"(_avx512\w*|_avx2\w*|_default_version|_x86_64\w*)", "", symbol)
    parts = [part.strip(" -") for part in symbol.split("::") if part and not part.startswith("{{closure")]
    # The copy for each processor is a function in a module of the same name.
    if len(parts) > 1 and parts[-1] == parts[-2]:
        parts.pop()
    return "::".join(parts[-2:])
