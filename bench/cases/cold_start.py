"""Time to the first result: fresh processes that import a library and embed the digits, lowland (the release wheel in dist/) and
umap-learn. Each library is installed in a new virtual environment, so that the first run shows what a new user sees (nothing
compiled yet, neither by Python nor by numba) and later runs what the same user sees from then on."""

import functools
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from bench.paths import WORK
from bench.process import measure_process

RUNS = 3
ENVIRONMENTS = WORK / "cold-start"
# What is timed -> library and expression (None: only the import).
TIMED = {
    "import numpy": ("lowland", "numpy"),
    "import lowland": ("lowland", None),
    "import umap": ("umap", None),
    "lowland LVM": ("lowland", "lowland.LVM().fit_transform"),
    "lowland TSNE": ("lowland", "lowland.TSNE().fit_transform"),
    "umap UMAP": ("umap", "umap.UMAP().fit_transform"),
}


def cases(quick):
    for what in TIMED:
        yield what, functools.partial(measure, what)


def measure(what, limit):
    from bench import datasets

    library, expression = TIMED[what]
    rows, _ = datasets.dataset_files("digits")
    if expression == "numpy":
        code = "import numpy"
    elif expression is None:
        code = f"import {library}"
    else:
        code = f"import numpy, {library}; {expression}(numpy.load({str(rows)!r}))"
    python = fresh_environment(library)
    records = []
    for _ in range(RUNS):
        _, record = measure_process([python, "-W", "ignore", "-c", code], limit)
        if "failed" in record:
            return record
        records.append(record)
    # The first run by itself; the others are those of a user who has used the library before.
    return records[-1] | {"wall_s_of_runs": [record["wall_s"] for record in records], "cpu_s_of_starts": [record["cpu_s"] for record in records]}


def fresh_environment(library):
    """Creates a virtual environment with the library and returns its interpreter."""
    wheels = sorted(Path("dist").glob("lowland-*.whl"))
    if library == "lowland" and not wheels:
        raise FileNotFoundError("no wheel in dist/: run `cargo xtask wheel` first")
    package = wheels[-1] if library == "lowland" else f"umap-learn=={version('umap-learn')}"
    folder = ENVIRONMENTS / library
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    python = folder / "bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", package], check=True)
    return python
