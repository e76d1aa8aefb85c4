"""Our pacmap beside the pacmap package: CPU time and scores of PaCMAP and LocalMAP.

    python -m bench.pacmap PROGRAM ROWS.npy LABELS.npy FOLDER SEED [SEED ...]

Prints a line of JSON per map, which FOLDER holds. The package is called once on 600 rows before it is timed, so that its
compilation does not count; what counts for our program is the whole process. Needs the package and numpy."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def cpu(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def timed(who, work):
    cpu_before, before = cpu(who), time.time()
    result = work()
    return result, round(cpu(who) - cpu_before, 2), round(time.time() - before, 2)


def by_package(class_name, rows, seed):
    import pacmap

    method = getattr(pacmap, class_name)
    method(random_state=0).fit_transform(rows[:600].copy())
    return timed(resource.RUSAGE_SELF, lambda: method(random_state=seed).fit_transform(rows.copy()))


def by_program(program, localmap, rows_path, seed, folder):
    out = folder / "lowland.npy"
    command = [program, "embed", rows_path, "--method", "pacmap", "--seed", str(seed), "--no-quality", "--quiet", "--out", out]
    command += ["--localmap", localmap]
    _, cpu_seconds, wall = timed(resource.RUSAGE_CHILDREN, lambda: subprocess.run(command, check=True))
    return np.load(out), cpu_seconds, wall


def scores(program, rows_path, labels_path, points, folder):
    np.save(folder / "map.npy", np.asarray(points, dtype=float))
    command = [program, "quality", rows_path, folder / "map.npy", "--labels", labels_path, "--json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    events = [event for event in map(json.loads, lines) if event["event"] == "scores"]
    return {f"{score['name']}@{score['k']}": round(score["value"], 4) for score in events[0]["scores"]["values"]}


def main():
    program, rows_path, labels_path, folder = sys.argv[1:5]
    folder, rows = Path(folder), np.load(rows_path).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    for seed in map(int, sys.argv[5:]):
        for name, fit in {
            "pacmap PaCMAP": lambda: by_package("PaCMAP", rows, seed),
            "pacmap LocalMAP": lambda: by_package("LocalMAP", rows, seed),
            "lowland": lambda: by_program(program, "false", rows_path, seed, folder),
            "lowland localmap": lambda: by_program(program, "true", rows_path, seed, folder),
        }.items():
            points, cpu_seconds, wall = fit()
            line = {"rows": len(rows), "program": name, "seed": seed, "cpu": cpu_seconds, "wall": wall}
            print(json.dumps(line | scores(program, rows_path, labels_path, points, folder)), flush=True)


if __name__ == "__main__":
    main()
