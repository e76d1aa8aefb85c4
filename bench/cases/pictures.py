"""A million points to a PNG file, by `lowland plot` and by matplotlib: whole processes, from the map's file to the picture's. Both draw 1600
pixels wide. matplotlib draws points as discs, as it does by default, or as single pixels, which is its fastest way."""

import functools
import sys
import tempfile
from pathlib import Path

from bench.paths import DATA, PROGRAM
from bench.process import measure_json_process, measure_process

CLASSES = 10
# Picture -> flags of `lowland plot`, and the ways of matplotlib (peers/pictures.py).
PICTURES = {
    "density": (["--density", "on"], ["matplotlib histogram"]),
    "points": (["--density", "off"], ["matplotlib discs", "matplotlib pixels"]),
    "density in ten colors": (["--density", "on"], []),
    "points in ten colors": (["--density", "off"], ["matplotlib discs", "matplotlib pixels"]),
    "points in ten colors with names": (["--density", "off", "--map-labels", "on"], []),
    "density in ten colors with names": (["--density", "on", "--map-labels", "on"], []),
}


def cases(quick):
    rows = 100_000 if quick else 1_000_000
    for picture, (_, peers) in PICTURES.items():
        for tool in ["lowland", *peers]:
            yield f"rows={rows}/{picture}/{tool}", functools.partial(measure, rows, picture, tool)


def measure(rows, picture, tool, limit):
    points, labels = map_files(rows)
    classes = [labels] if "colors" in picture else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "map.png"
        if tool == "lowland":
            flags, _ = PICTURES[picture]
            flags = flags if "--map-labels" in flags else [*flags, "--map-labels", "off"]
            command = [PROGRAM, "plot", points, *flags, *(f"--labels={path}" for path in classes)]
            _, record = measure_process([*command, "--legend", "none", "--quiet", "--width", 1600, "--out", out], limit)
        else:
            record = measure_json_process([sys.executable, "-m", "bench.peers.pictures", tool.removeprefix("matplotlib "), points, out, *classes], limit)
        if "failed" not in record:
            record["file_mb"] = out.stat().st_size * 1e-6
        return record


def map_files(rows):
    """Returns the paths of Gaussian classes in the plane and of their labels, which are written if they do not exist."""
    import numpy as np

    points, labels = DATA / f"picture-{rows}.npy", DATA / f"picture-{rows}.labels.csv"
    if not points.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        codes = random.integers(CLASSES, size=rows)
        centers = random.normal(size=(CLASSES, 2)) * 4
        labels.write_text("class\n" + "\n".join(f"class {code}" for code in codes) + "\n")
        np.save(points, (centers[codes] + random.normal(size=(rows, 2))).astype(np.float32))
    return points, labels
