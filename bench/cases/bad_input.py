"""What each tool does with invalid or unusual input, in a process limited to 120 seconds and 16 GB of memory."""

import functools
import re

from bench import catalog
from bench.cases import maps
from bench.paths import DATA, EMBEDDINGS
from bench.process import memory_limit

SECONDS = 120
MEMORY = 16 << 30
LARGE = "50 GB of rows"
PEERS = ["umap-learn", "pacmap", "trimap", "openTSNE", "pymde", "manifolds-rs UMAP", "manifolds-rs t-SNE fft", "annembed", "bhtsne"]
PEERS += ["sklearn t-SNE", "sklearn spectral"]
INPUTS = ["one NaN", "each row ten times", "600 equal rows", "one row", "8 of 10 columns constant", "two clusters, 10,000 apart", LARGE]
# Notes that every run prints, which are not warnings about the input.
ROUTINE_NOTES = re.compile(
    r"rows?, .*columns?,|^memory:|^repulsion|^neighbou?rs by|^pushes by|^bounds of the starts|^matrices in tiles|^angles between rows|^tau "
)


def cases(quick):
    for name in INPUTS[: -1 if quick else None]:
        # The Rust crates would need a second copy of the large file.
        peers = [peer for peer in PEERS if name != LARGE or peer not in catalog.PEER_CRATES]
        for tool in catalog.METHODS + peers:
            yield f"{name}/{tool}", functools.partial(measure, name, tool)


def input_file(name):
    import numpy as np

    path = DATA / f"bad-{re.sub('[^a-z0-9]+', '-', name.lower())}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == LARGE:
            # A sparse file, which takes no space on the disk.
            np.lib.format.open_memmap(path, "w+", np.float32, (12_500_000, 1_000)).flush()
        else:
            np.save(path, build(name))
    return path


def build(name):
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(600, 10)).astype(np.float32)
    if name == "one NaN":
        rows[17, 3] = np.nan
    elif name == "each row ten times":
        rows = np.repeat(rows[:60], 10, 0)
    elif name == "600 equal rows":
        rows = np.ones((600, 10), np.float32)
    elif name == "one row":
        rows = rows[:1]
    elif name == "8 of 10 columns constant":
        rows[:, 2:] = 1.5
    else:
        rows[300:] += 1e4
    return rows


def measure(name, tool, limit):
    out = EMBEDDINGS / "bad-input.npy"
    record = maps.embed(tool, input_file(name), 2, out, min(limit, SECONDS), preexec=memory_limit(MEMORY), environment={"WARNINGS": "shown"})
    return {"outcome": outcome(record, out)}


def outcome(record, out):
    """Describes the result in a few words."""
    import numpy as np

    said = record.get("said", "")
    if "failed" in record:
        # After a crash, the last lines of stderr are from before it.
        return record["failed"] if record["failed"].startswith("killed") or not said else f"{record['failed']}: {error_message(said)}"
    points = np.load(out)
    bad = int((~np.isfinite(points)).any(1).sum())
    count = f"{len(points)} row{'s' if len(points) != 1 else ''}"
    result = f"a map with {bad} of {count} not finite" if bad else f"a map of {count}"
    notes = [note for note in record.get("notes", []) if not ROUTINE_NOTES.search(note)]
    notes += [text.strip() for text in said.splitlines() if "Warning:" in text]
    return f"{result}; says: {without_folders(notes[-1])}" if notes else f"{result}, without a word"


def error_message(said):
    """Returns the most informative line of stderr: our error, the last exception of a traceback, or the message of a panic."""
    lines = said.splitlines()
    found = [text for text in lines if re.match(r"error:|[\w.]*(Error|Exception)\b", text)]
    if not found:
        found = [after for text, after in zip(lines, lines[1:]) if "panicked at" in text]
    return without_folders((found or lines)[-1])


def without_folders(text):
    return re.sub(r"(?<![\w:/])\S*/(?=[\w.-]+\.(py|npy|rs))", "", text)[:240]
