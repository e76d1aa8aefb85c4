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
import ours

METHODS = ["lvm", "tsne", "ssne", "ee", "mapit", "spectral", "pca", "tsm"]
# As in maps.py, what keeps all pairs is profiled on fewer.
ROWS = {"tsm": "mnist-10k"}
LOOPS = 8


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
    if shutil.which("perf") and "failed" not in line:
        line["loops"] = loops(method, rows)
    return line


def loops(method, rows):
    """The functions that take the most samples, as shares."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        command = ["perf", "record", "-q", "-F", "199", "-e", "cpu-clock", "-o", samples, ours.PROGRAM, "embed", rows]
        command += ["--method", method, "--no-quality", "--quiet", "--threads", "2", "--out", Path(folder) / "map.npy"]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
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
    parts = [part for part in symbol.split("::") if part and not part.startswith("{{closure")]
    return "::".join(parts[-3:])
