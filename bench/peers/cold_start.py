"""Time to a first result: a fresh process imports a library and embeds the digits.

    python cold_start.py lowland=PYTHON umap=PYTHON [RUNS]

Each PYTHON is an interpreter that has the library; the data come from a file that is written first, by ours. Prints one JSON line
for each thing timed, with the wall and CPU seconds of all runs and the scores of the last map. Every run is a new process, and the
libraries take turns. Compiled files that Python and numba keep are left where they are: in a new environment the first run shows
what a first user sees, the others what the same user sees later.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

#: What is timed: library, code. `{data}` and `{map}` are files.
CODE = {
    "lowland LVM": ("lowland", "lowland.LVM().fit_transform"),
    "umap UMAP": ("umap", "umap.UMAP().fit_transform"),
    "lowland TSNE": ("lowland", "lowland.TSNE().fit_transform"),
    "import numpy": ("lowland", "numpy"),
    "import lowland": ("lowland", None),
    "import umap": ("umap", None),
}
VERSION = "import importlib.metadata as m; print(m.version({!r}))"
SCORE = """
import json, numpy, lowland
X, y = lowland.datasets.load("digits", return_X_y=True)
scores = lowland.quality.report(X, numpy.load({map!r}), y)
print(json.dumps({{name: round(value, 4) for name, value in scores.items()}}))
"""


def script(library: str, what: str | None, data: str, out: str) -> str:
    if what == "numpy":
        return "import numpy"
    if what is None:
        return f"import {library}"
    return f"import numpy, {library}; numpy.save({out!r}, {what}(numpy.load({data!r})))"


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(wall, 3), round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)


def main() -> None:
    runs = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 3
    interpreters = dict(argument.split("=", 1) for argument in sys.argv[1:])
    ours = interpreters["lowland"]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "digits.npy")
        make = f"import numpy, lowland; numpy.save({data!r}, lowland.datasets.load('digits').data)"
        subprocess.run([ours, "-c", make], check=True)
        there = {name: code for name, code in CODE.items() if code[0] in interpreters}
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in there}
        maps = {name: os.path.join(folder, f"{name}.npy") for name in there}
        for _ in range(runs):
            for name, (library, what) in there.items():
                code = script(library, what, data, maps[name])
                seconds[name].append(timed([interpreters[library], "-W", "ignore", "-c", code]))
        for name, (library, _) in there.items():
            package = "umap-learn" if library == "umap" else library
            asked = subprocess.run([interpreters[library], "-c", VERSION.format(package)], capture_output=True, text=True)
            line = {"what": name, "version": f"{package} {asked.stdout.strip()}"}
            line |= {"wall_s": [wall for wall, _ in seconds[name]], "cpu_s": [cpu for _, cpu in seconds[name]]}
            if os.path.exists(maps[name]):
                scored = subprocess.run([ours, "-c", SCORE.format(map=maps[name])], capture_output=True, text=True)
                line["scores"] = json.loads(scored.stdout)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
