"""Draw the maps of MNIST, COIL-20 and the newsgroups in the pages of methods and guides, by `lowland embed` and `lowland plot`.

    python docs/images/maps.py [--program target/release/lowland] [--small FOLDER] [NAME ...]

Run from the root of the repository, with numpy and Pillow. MNIST comes from `bench/datasets.py`, which downloads it; FOLDER contains `coil20_32x32.npz` and `news_w100.npz`. Maps
are kept in target/pictures and made only once."""

from __future__ import annotations

import argparse
import hashlib
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGES = ROOT / "docs" / "images"
WORK = ROOT / "target" / "pictures"
SMALL = ROOT.parent / "shared" / "data" / "small"

PANELS = "--plain --border yes --legend below --width 1200 --columns"
MAPIT = {"t-SNE": "--method tsne", "LVM": "--method lvm", "MAP IT": "--method mapit"}
STARTS = {f"MAP IT, random start {seed + 1}": f"--method mapit --init random --seed {seed}" for seed in range(3)}
FIVE = {"MAP IT, k = 5": "--method mapit --n-neighbors 5"}
OBJECTIVE = "--method mapit --variant objective --optimizer sd"
VARIANTS = {
    **{f"k = {k}": f"--method mapit --n-neighbors {k}" for k in (5, 7, 12, 15)},
    "sampled": "--method mapit --variant sampled",
    "Gaussian kernel": "--method mapit --kernel gaussian",
    "entropy over neighbors": "--method mapit --entropy neighbors",
    "objective pairs": OBJECTIVE,
}
SAMPLES = {
    f"{share}, weight {weight}": f"--method mapit --variant sampled --init random --samples {98.9 * part} --sample-weight {weight}"
    for share, part in (("1/2", 0.5), ("1/4", 0.25), ("1/8", 0.125))
    for weight in (1, 2, 4, 8)
}
LVM = {"lvm": "--method lvm"}

#: Name of a picture: data, maps (name and arguments of `lowland embed`), arguments of `lowland plot`.
PICTURES = {
    "mnist-std": ("mnist-70k", LVM, "--color std --plain --width 900 --density off"),
    "lvm-mnist": ("mnist-70k", LVM, "--plain --width 700 --density off"),
    "lvm-mnist-certain": ("mnist-70k", LVM, "--certain 0.95 --plain --width 700 --density off"),
    "lvm-levels": ("mnist-7k", {"no levels": "--method lvm --levels 0", "one level": "--method lvm --levels 1"}, f"{PANELS} 2"),
    "lvm-roll": ("swiss-roll", {"roll": "--method lvm --levels 1 --n-points 5000"}, "--data swiss-roll --color 0 --n-points 5000 --plain --width 900"),
    "exaggeration": ("mnist-10k", {f"exaggeration {rho}": f"--method tsne --exaggeration {rho}" for rho in (1, 2, 4)}, f"{PANELS} 3"),
    "mapit-mnist": ("mnist-2k", MAPIT | STARTS, f"{PANELS} 3"),
    "mapit-mnist-variants": ("mnist-2k", VARIANTS, f"{PANELS} 4"),
    "mapit-sampling": ("mnist-1k", SAMPLES, f"{PANELS} 4"),
    "mapit-coil": ("coil", MAPIT | FIVE, f"{PANELS} 4"),
    "mapit-news": ("news", MAPIT | FIVE, f"{PANELS} 4"),
}


def files(name: str, small: Path) -> tuple[Path, Path]:
    """Return the rows and labels of a data set, which are written if they do not exist."""
    rows_path, labels_path = WORK / f"{name}.npy", WORK / f"{name}.labels.csv"
    if name in ("mnist-10k", "mnist-70k"):
        sys.path.insert(0, str(ROOT))
        from bench.datasets import dataset_files

        return tuple(ROOT / path for path in dataset_files(name))
    if not rows_path.exists():
        if name == "coil":
            data = np.load(small / "coil20_32x32.npz")
            rows, labels = data["images_x4080"].reshape(1440, -1) / 4080, data["labels"]
        elif name == "news":
            rows, labels = words_by_documents(small)
        else:
            count = int(name.removeprefix("mnist-").removesuffix("k")) * 1000
            rows_of, labels_of = files("mnist-10k", small)
            rows, labels = np.load(rows_of)[:count], labels_of.read_text().split()[1 : count + 1]
        np.save(rows_path, rows.astype(np.float32))
        labels_path.write_text("class\n" + "\n".join(map(str, labels)) + "\n")
    return rows_path, labels_path


def words_by_documents(small: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return words as vectors of a tenth of the documents, of unit length, and the topic in whose documents each is most frequent."""
    data = np.load(small / "news_w100.npz")
    documents, topics = data["documents"], data["labels"]
    chosen = np.random.default_rng(0).choice(len(topics), 1625, replace=False)
    documents, topics = documents[chosen], topics[chosen]
    documents = documents[:, documents.any(0)]
    labels = np.argmax([documents[topics == topic].mean(0) for topic in np.unique(topics)], axis=0)
    return documents.T / np.linalg.norm(documents, axis=0)[:, None], np.array(["computers", "recreation", "science", "talk"])[labels]


def draw(name: str, program: Path, small: Path) -> None:
    """Make the maps of a picture, as far as they are not there, and draw it."""
    from PIL import Image

    data, recipes, look = PICTURES[name]
    source = ["swiss-roll"] if data == "swiss-roll" else [str(files(data, small)[0]), "--labels", str(files(data, small)[1])]
    maps = []
    for recipe in recipes.values():
        maps.append(WORK / f"{data}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.csv")
        if not maps[-1].exists():
            subprocess.run([program, "embed", *source, *shlex.split(recipe), "--no-quality", "--quiet", "--out", maps[-1]], check=True)
    titles = ["--names", ",".join(recipe.replace(",", " ·") for recipe in recipes)] if len(maps) > 1 else []
    picture = WORK / f"{name}.png"
    subprocess.run([program, "plot", *maps, *titles, *shlex.split(look), "--quiet", "--out", picture], check=True)
    with Image.open(picture) as full:
        small = full.convert("RGB")
        # A scale has more than 256 colors.
        if "--color" not in look:
            small = small.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        small.save(IMAGES / f"{name}.png", optimize=True)


def main() -> None:
    """Draw the pictures of the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "lowland")
    parser.add_argument("--small", type=Path, default=SMALL)
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PICTURES:
        print(name, flush=True)
        draw(name, arguments.program.resolve(), arguments.small)


if __name__ == "__main__":
    main()
