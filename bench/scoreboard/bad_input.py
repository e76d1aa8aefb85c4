"""What each tool does with input that is wrong or odd, run for real: each in a process of its own, with 16 GB of memory at most."""

import functools
import re

import maps
import numpy as np
import ours

LIMIT = 120
MEMORY = 16 << 30
METHODS = ["lvm", "tsne", "spectral"]
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
    "50 GB of rows": None,
}


def cases(quick):
    for what in INPUTS:
        for tool in METHODS + PEERS:
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
    line = maps.fit(tool, array(what), 2, out, LIMIT, limits=ours.memory_limit(MEMORY))
    return {"outcome": outcome(line, out)}


def outcome(line, out):
    """In a few words."""
    if "failed" in line:
        said = [text for text in line.get("said", "").splitlines() if text.strip() and not text.startswith(" ")]
        return f"{line['failed']}: {clean(said)}" if said else line["failed"]
    places = np.load(out)
    bad = int((~np.isfinite(places)).any(1).sum())
    if bad:
        return f"a map with {bad} of {len(places)} rows not finite, and no word"
    return f"a map of {len(places)} rows"


def clean(said):
    """The line that says most: our error, or the last of a traceback."""
    ours_ = [text for text in said if text.startswith("error:")]
    panic = [after for text, after in zip(said, said[1:]) if "panicked at" in text]
    line = (ours_ or panic or said[-1:])[0]
    return re.sub(r"/\S+/", "", line)[:220]
