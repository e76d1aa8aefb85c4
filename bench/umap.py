"""Our umap beside umap-learn: CPU time and scores.

    python -m bench.umap PROGRAM ROWS.npy LABELS FOLDER DIMENSIONS TOOLS SEED [SEED ...]

TOOLS: lowland, full (the same with optimizer=full) and umap-learn, separated by commas. Prints a line of JSON per map. umap-learn is called once on the
first 5,000 rows before it is timed, so that its compilation does not count; with a seed, it uses one thread. What counts for our program is the whole
process. Needs numpy, and umap-learn if it is among the tools."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench.pacmap import scores, timed

#: Above this number of rows umap-learn's neighbor search is another one, which is compiled too.
WARM_ROWS = 5_000


def by_package(rows, dimensions, seed):
    import umap

    fit = lambda rows, **options: umap.UMAP(n_components=dimensions, random_state=seed, **options).fit_transform(rows)
    fit(rows[:WARM_ROWS], n_epochs=2)
    return timed(resource.RUSAGE_SELF, lambda: fit(rows))


def by_program(program, optimizer, rows_path, dimensions, seed, folder):
    out = folder / "lowland.npy"
    command = [program, "embed", rows_path, "--method", "umap", "--optimizer", optimizer, "--n-components", str(dimensions)]
    command += ["--seed", str(seed), "--no-quality", "--quiet", "--out", out]
    _, cpu_seconds, wall = timed(resource.RUSAGE_CHILDREN, lambda: subprocess.run(command, check=True))
    return np.load(out), cpu_seconds, wall


def main():
    program, rows_path, labels_path, folder, dimensions, tools = sys.argv[1:7]
    folder, rows, dimensions = Path(folder), np.load(rows_path).astype(np.float32), int(dimensions)
    folder.mkdir(parents=True, exist_ok=True)
    fits = {
        "lowland": lambda seed: by_program(program, "sampled", rows_path, dimensions, seed, folder),
        "full": lambda seed: by_program(program, "full", rows_path, dimensions, seed, folder),
        "umap-learn": lambda seed: by_package(rows, dimensions, seed),
    }
    for seed in map(int, sys.argv[7:]):
        for tool in tools.split(","):
            points, cpu_seconds, wall = fits[tool](seed)
            line = {"rows": len(rows), "dimensions": dimensions, "program": tool, "seed": seed, "cpu": cpu_seconds, "wall": wall}
            print(json.dumps(line | scores(program, rows_path, labels_path, points, folder)), flush=True)


if __name__ == "__main__":
    main()
