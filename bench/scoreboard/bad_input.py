"""What each tool does with input that is wrong or odd, run for real: each in a process of its own, with 16 GB of memory at most."""

import functools
import os
import re

import maps
import numpy as np
import ours

LIMIT = 120
MEMORY = 16 << 30
LARGE = "50 GB of rows"
METHODS = maps.WHOLE
PEERS = ["umap-learn", "pacmap", "trimap", "openTSNE", "pymde", "manifolds-rs UMAP", "manifolds-rs t-SNE fft", "annembed", "bhtsne"]
PEERS += ["sklearn t-SNE", "sklearn spectral"]


def ordinary():
    return np.random.default_rng(0).normal(size=(600, 10)).astype(np.float32)


def with_nan():
    rows = ordinary()
    rows[17, 3] = np.nan
    return rows


def duplicates():
    return np.repeat(ordinary()[:60], 10, 0)


def constant_columns():
    rows = ordinary()
    rows[:, 2:] = 1.5
    return rows


def disconnected():
    rows = ordinary()
    rows[300:] += 1e4
    return rows


INPUTS = {
    "one NaN": with_nan,
    "each row ten times": duplicates,
    "600 equal rows": lambda: np.ones((600, 10), np.float32),
    "one row": lambda: ordinary()[:1],
    "8 of 10 columns constant": constant_columns,
    "two clusters, 10,000 apart": disconnected,
    LARGE: None,
}


def cases(quick):
    for what in (what for what in INPUTS if what != LARGE or not quick):
        # The Rust crates are handed a file that this program would have to write.
        for tool in METHODS + [peer for peer in PEERS if what != LARGE or peer not in ("annembed", "bhtsne")]:
            yield f"{what}/{tool}", functools.partial(measure, what, tool)


def array(what):
    path = ours.DATA / f"bad-{re.sub('[^a-z0-9]+', '-', what.lower())}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        if INPUTS[what]:
            np.save(path, INPUTS[what]())
        else:
            # A hole in the file: nothing lies on the disk.
            np.lib.format.open_memmap(path, "w+", np.float32, (12_500_000, 1_000)).flush()
    return path


def measure(what, tool, limit):
    out = ours.MAPS / "bad-input.npy"
    os.environ["WARNINGS"] = "shown"
    line = maps.fit(tool, array(what), 2, out, LIMIT, limits=ours.memory_limit(MEMORY))
    del os.environ["WARNINGS"]
    return {"outcome": outcome(line, out)}


def outcome(line, out):
    """In a few words."""
    said = line.get("said", "")
    if "failed" in line:
        # Of a crash, what stands last was said before it.
        return line["failed"] if line["failed"].startswith("killed") or not said else f"{line['failed']}: {error(said)}"
    places = np.load(out)
    bad = int((~np.isfinite(places)).any(1).sum())
    count = f"{len(places)} row{'s' if len(places) != 1 else ''}"
    result = f"a map with {bad} of {count} not finite" if bad else f"a map of {count}"
    # What every run says, of sizes and of memory, is no warning.
    notes = [note for note in line.get("notes", []) if not re.search(r"rows?, .*columns?,|^memory:|^repulsion|^neighbours by|^pushes by|^bounds of the starts|^matrices in tiles|^angles between rows|^tau ", note)]
    notes += [text.strip() for text in said.splitlines() if "Warning:" in text]
    return f"{result}; says: {short(notes[-1])}" if notes else f"{result}, without a word"


def error(said):
    """The line that says most: our error, the last exception of a traceback, or what a panic says."""
    lines = said.splitlines()
    found = [text for text in lines if re.match(r"error:|[\w.]*(Error|Exception)\b", text)]
    found += [after for text, after in zip(lines, lines[1:]) if "panicked at" in text] if not found else []
    return short((found or lines)[-1])


def short(text):
    """Without the folders of files."""
    return re.sub(r"(?<![\w:/])\S*/(?=[\w.-]+\.(py|npy|rs))", "", text)[:240]
