"""What the peers' scripts share, the counterpart of bench/src/lib.rs: `NAME.py cases` lists the cases, `NAME.py ARRAY.npy
CASE` measures one and prints a JSON line. Threads are limited by run.sh, through the environment."""

import json
import os
import re
import sys
import time

import numpy as np

THREADS = int(os.environ.get("THREADS", 2))


def main(cases, prepare):
    """`prepare(rows, setting, program)` gives the work to be timed, and what tells from its result what was found."""
    if sys.argv[1:] == ["cases"]:
        return print(*cases, sep="\n")
    array, setting, program = sys.argv[1:]
    rows = np.ascontiguousarray(np.load(array), np.float32)
    work, judge = prepare(rows, setting, program)
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_mb()
    line = {"setting": setting, "program": program, "rows": len(rows), "columns": rows.shape[1], "threads": THREADS}
    print(json.dumps(line | {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "found": judge(result)}))


def peak_mb(process="self"):
    """The most memory the process has held. Not getrusage's, which is no less than what the parent held when it started us."""
    with open(f"/proc/{process}/status") as file:
        found = re.search(r"VmHWM:\s*(\d+)", file.read())
    return int(found.group(1)) * 1024e-6 if found else 0.0


def recall(x, found, k):
    """The share of the neighbours found that are as near as the true k-th, over 500 rows, by all distances in float64."""
    x = x.astype(np.float64)
    rows = np.random.default_rng(0).choice(len(x), min(500, len(x)), replace=False)
    hits = 0
    for i in rows:
        distances = ((x - x[i]) ** 2).sum(axis=1)
        distances[i] = np.inf
        hits += (distances[found[i]] <= np.partition(distances, k - 1)[k - 1] * (1 + 1e-6)).sum()
    return hits / (len(rows) * k)


def value(word):
    """The number in a word such as `k=15`."""
    return int(word.split("=")[1])
