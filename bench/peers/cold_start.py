"""Time to a first result: a fresh process imports a library and embeds the digits.

    python cold_start.py lowland=PYTHON umap=PYTHON [RUNS]

Each PYTHON is an interpreter that has the library; the data come from a file that is written first, by the first of them.
Prints one JSON line a library with the wall times of all runs, each a new process. Compiled files that Python and numba keep are
left where they are: the first run of each shows what a first user sees, the others what the same user sees later.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

CODE = {
    "lowland": "import numpy, lowland; print(lowland.LVM().fit_transform(numpy.load({file!r})).shape)",
    "lowland-tsne": "import numpy, lowland; print(lowland.TSNE().fit_transform(numpy.load({file!r})).shape)",
    "umap": "import numpy, umap; print(umap.UMAP().fit_transform(numpy.load({file!r})).shape)",
    "import-lowland": "import lowland",
    "import-numpy": "import numpy",
    "import-umap": "import umap",
}


def main() -> None:
    runs = int(sys.argv.pop()) if sys.argv[-1].isdigit() else 3
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "digits.npy")
        interpreters = dict(argument.split("=", 1) for argument in sys.argv[1:])
        make = f"import numpy, lowland; numpy.save({file!r}, lowland.datasets.load('digits').data)"
        subprocess.run([interpreters["lowland"], "-c", make], check=True)
        for name, code in CODE.items():
            library = "umap" if "umap" in name else "lowland"
            if library not in interpreters:
                continue
            seconds = []
            for _ in range(runs):
                started = time.perf_counter()
                command = [interpreters[library], "-W", "ignore", "-c", code.format(file=file)]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                seconds.append(round(time.perf_counter() - started, 3))
            print(json.dumps({"what": name, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
