"""Where the time of each lowland method goes on MNIST 70,000 x 50 (fewer rows for methods that keep all pairs): CPU seconds of the
stages, the hottest functions that perf sees, and the peak rates of this machine (kernels/hardware_peaks.rs)."""

import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench import catalog, lowland_program
from bench.paths import BINARIES, EMBEDDINGS, GRAPHS, PROGRAM
from bench.process import measure_json_process

# Methods that keep all pairs, or a large factor, are profiled on fewer rows.
DATASETS = dict.fromkeys(["tsm", "isomap", "lle"], "mnist-10k") | {"lllvm": "swiss-roll-500"}
# Number of neighbors of the graph whose edges a method visits in every iteration.
GRAPH_NEIGHBORS = {"tsne": 90, "ssne": 90, "ee": 90, "mapit": 45, "isomap": 10}
DIMENSIONS = 2
# Functions reported per method; samples per second; functions with fewer samples are left out.
FUNCTIONS, RATE, MIN_SAMPLES = 8, 199, 10


def cases(quick):
    yield "machine", measure_hardware
    for method in catalog.METHODS:
        name = DATASETS.get(method, "mnist-10k" if quick else "mnist-70k")
        yield f"{name}/{method}", functools.partial(measure, name, method)


def measure_hardware(limit):
    """Measures the peak arithmetic and memory rates with two threads."""
    record = measure_json_process([BINARIES / "hardware_peaks"], limit)
    return record if "failed" in record else {name: value for name, value in record.items() if name == "threads" or name.endswith("/s")}


def measure(name, method, limit):
    from bench import datasets, scores

    rows, _ = datasets.dataset_files(name)
    EMBEDDINGS.mkdir(parents=True, exist_ok=True)
    record = lowland_program.embed(method, rows, DIMENSIONS, EMBEDDINGS / "profile.npy", limit)
    if method in GRAPH_NEIGHBORS:
        graph = lowland_program.cached_neighbor_graph(rows, 90, GRAPHS / f"{name}.npz")
        record["edges"] = scores.count_edges(graph, GRAPH_NEIGHBORS[method])
    if shutil.which("perf") and "failed" not in record:
        min_share = 100 * MIN_SAMPLES / (RATE * record["cpu_s"])
        record["loops"] = {name: share for name, share in hottest_functions(method, rows).items() if share >= min_share}
    return record


def hottest_functions(method, rows):
    """Returns the functions with the most samples and their shares in percent, or nothing where perf is not permitted."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        command = ["perf", "record", "-q", "-F", RATE, "-e", "cpu-clock", "-o", samples, PROGRAM, "embed", rows]
        command += ["--method", method, "--no-quality", "--quiet", "--threads", "2", "--out", Path(folder) / "map.npy"]
        if subprocess.run(list(map(str, command)), capture_output=True).returncode:
            return {}
        # Resolving inlined functions would take perf minutes.
        report = ["perf", "report", "-i", samples, "--stdio", "--no-inline", "-g", "none", "--percent-limit", "0.8", "--sort", "symbol"]
        text = subprocess.run(list(map(str, report)), check=True, capture_output=True, text=True).stdout
    found = {}
    for share, symbol in re.findall(r"^ *([0-9.]+)% +\[[.k]\] (.+?) *$", text, re.M):
        name = short_symbol(symbol)
        found[name] = found.get(name, 0) + float(share)
    return dict(sorted(found.items(), key=lambda item: -item[1])[:FUNCTIONS])


def short_symbol(symbol):
    """Removes the hash, the generics and the suffix of the instruction set from the name of a function."""
    # Matrix products have dozens of specializations.
    if symbol.startswith("gemm_v0_"):
        return "gemm"
    symbol = re.sub(r"::h[0-9a-f]{16}$|<[^<>]*>", "", re.sub(r"<[^<>]*>", "", symbol))
    symbol = re.sub(r"(_avx512\w*|_avx2\w*|_default_version|_x86_64\w*)", "", symbol)
    parts = [part.strip(" -") for part in symbol.split("::") if part and not part.startswith("{{closure")]
    # The version for an instruction set is in a module with the name of the function.
    if len(parts) > 1 and parts[-1] == parts[-2]:
        parts.pop()
    return "::".join(parts[-2:])
