"""Nearest neighbours of MNIST, ours and the peers': the cases of bench/run.sh neighbors."""

import functools
import json
import sys

import data
import ours

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
    printed, line = ours.measured([*program, str(rows), f"k={k}", way], limit)
    return line if "failed" in line else json.loads(printed.splitlines()[-1])
