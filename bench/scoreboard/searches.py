"""Nearest neighbours of MNIST, ours and the peers': the cases of bench/run.sh neighbors."""

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import data
import numpy as np
import ours
from common import recall

PEERS = [sys.executable, "bench/peers/neighbors.py"]
OURS = ["target/release/neighbors"]
CASES = {"exact": OURS, "approximate": OURS, "faiss": PEERS, "hnswlib": PEERS, "pynndescent": PEERS, "pynndescent-again": PEERS}
CASES |= {"scikit-learn": PEERS}


def cases(quick):
    name = "mnist-10k" if quick else "mnist-70k"
    for k in (15, 90):
        for way, program in CASES.items():
            yield f"{name}/k={k}/{way}", functools.partial(measure, name, k, way, program)


def measure(name, k, way, program, limit):
    rows, _ = data.array(name, ours.DATA)
    # No code that numba kept from an earlier run: the first of the two times of pynndescent is with compiling.
    with tempfile.TemporaryDirectory() as cache:
        printed, line = ours.measured(["env", f"NUMBA_CACHE_DIR={cache}", *program, str(rows), f"k={k}", way], limit)
    if "failed" in line:
        return line
    line |= json.loads(printed.splitlines()[-1])
    if program is OURS:
        line["found"]["recall"] = judged(rows, k, way)
    return line


def judged(rows, k, way):
    """The recall of our search, by the same program as the peers'."""
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.npz"
        command = [ours.PROGRAM, "neighbors", rows, "--n-neighbors", k, f"--{way}", "--quiet", "-o", graph]
        subprocess.run(list(map(str, command)), check=True)
        with np.load(graph) as arrays:
            return recall(np.load(rows), arrays["indices"], k)
