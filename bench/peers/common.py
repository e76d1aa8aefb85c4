"""Shared by the peer programs, the counterpart of kernels/lib.rs: `python -m bench.peers.NAME ARRAY.npy SETTING WAY` measures one
case and prints a JSON line. Standard library only at import time; the number of threads comes from the environment."""

import json
import os
import re
import sys
import time

THREADS = int(os.environ.get("THREADS", 2))


def main(prepare):
    """Measures one case. `prepare(rows, setting, way)` returns the function to time and a function that evaluates its result."""
    import numpy as np

    array, setting, way = sys.argv[1:]
    rows = np.ascontiguousarray(np.load(array), np.float32)
    work, evaluate = prepare(rows, setting, way)
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_mb()
    line = {"setting": setting, "program": way, "rows": len(rows), "columns": rows.shape[1], "threads": THREADS}
    print(json.dumps(line | {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "found": evaluate(result)}))


def peak_mb(process="self"):
    """Returns the peak memory of a process in MB. (The peak that getrusage reports includes that of the parent before the fork.)"""
    with open(f"/proc/{process}/status") as file:
        found = re.search(r"VmHWM:\s*(\d+)", file.read())
    return int(found.group(1)) * 1024e-6 if found else 0.0


def search_recall(x, found, k):
    """Returns the share of found neighbors that are as near as the true k-th neighbor, over 500 rows, with float64 distances."""
    import numpy as np

    x = x.astype(np.float64)
    rows = np.random.default_rng(0).choice(len(x), min(500, len(x)), replace=False)
    hits = 0
    for i in rows:
        distances = ((x - x[i]) ** 2).sum(axis=1)
        distances[i] = np.inf
        hits += (distances[found[i]] <= np.partition(distances, k - 1)[k - 1] * (1 + 1e-6)).sum()
    return hits / (len(rows) * k)


def value(text):
    """Returns the number in a setting such as `k=15`."""
    return int(text.split("=")[1])
