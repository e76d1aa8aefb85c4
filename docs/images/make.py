"""Make the pictures of the documentation, or say which script makes them.

Run with the Python in which lowland and matplotlib are installed, from the root of the repository: ``python docs/images/make.py [NAME ...]``. Without names it makes all
that it can; ``ELSEWHERE`` names the scripts of the others, most of which need data sets. ``--check`` names pictures that nothing here is known to make.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parent
PAGES = IMAGES.parent
#: Pictures that commands draw.
COMMANDS = {
    "digits": "lowland embed digits --out digits.png",
    "digits-images": "lowland embed digits --out digits.csv --quiet && lowland plot digits.csv --data digits --images --out digits-images.png",
}
#: Pictures that the blocks of a tutorial draw: page, and name of the file there.
TUTORIALS = {
    "tutorial-growing-map": ("growing-map", "growing.png"),
    "tutorial-images": ("images", "map.png"),
    "tutorial-reliability": ("reliability", "torn.png"),
    "tutorial-single-cells": ("single-cells", "cells.png"),
    "tutorial-texts": ("texts", "texts.png"),
}
#: Pictures that other scripts make.
ELSEWHERE = {
    "ee-optimizers": "bench/paper_figures/objective_curves.py",
    "exaggeration": "docs/images/maps.py",
    "lllvm-": "bench/paper_figures/lllvm.py",
    "lvm-": "docs/images/maps.py",
    "lvm-outliers": "bench/paper_figures/lvm.py",
    "mapit-": "docs/images/maps.py",
    "mapit-mnist-shares": "bench/paper_figures/mapit.py",
    "mapit-peers": "bench/paper_figures/mapit_peers.py",
    "mapit-rates": "bench/paper_figures/mapit.py",
    "mnist-std": "docs/images/maps.py",
    "scoreboard-growth": "bench/report/scoreboard.py",
    "ssne-engines": "bench/paper_figures/nbody.py",
    "ssne-optimizers": "bench/paper_figures/objective_curves.py",
    "trust-": "bench/trust_pictures.py",
    "tsm": "bench/paper_figures/tsm.py",
    "viewer-": "viewer/test/screenshots.ts",
    "words-": "bench/map_names.py",
}


def which_method() -> None:
    """Draw the questions that lead to a method."""
    import matplotlib.pyplot as plt

    questions = [
        ("A linear projection?", "pca", "svd for sparse data"),
        ("Eight or more dimensions in which\nnorms and angles keep their meaning?", "tsm", ""),
        ("A standard deviation for each point,\nor outliers?", "lvm", "lllvm, gplvm up to 10,000 rows"),
        ("Clusters by HDBSCAN,\nor what umap-learn gives?", "umap", "pacmap for the arrangement of clusters"),
        ("One connected sheet or curve,\nto be unrolled?", "isomap", "spectral, ltsa, lle"),
        ("Continuous structure\nthat must not be torn?", "ssne", "ee to control the repulsion"),
        ("Dense, well separated classes?", "mapit", ""),
    ]
    figure, axes = plt.subplots(figsize=(8.6, 8.2))
    step, ink = 1.15, "#27374d"
    box = {"boxstyle": "round,pad=0.5", "facecolor": "#eef2f6", "edgecolor": ink, "linewidth": 1}
    result = {"boxstyle": "round,pad=0.4", "facecolor": "#27374d", "edgecolor": ink}
    arrow = {"arrowstyle": "-|>", "color": ink, "linewidth": 1.1}
    for number, (question, method, others) in enumerate(questions):
        y = -step * number
        axes.annotate("", (2.62, y), (0, y), arrowprops=arrow, zorder=0)
        axes.annotate("", (0, y - step + (0.24 if number + 1 == len(questions) else 0.36)), (0, y), arrowprops=arrow, zorder=0)
        axes.text(0, y, question, ha="center", va="center", fontsize=10.5, color=ink, bbox=box)
        axes.text(2.1, y + 0.08, "yes", ha="center", va="bottom", fontsize=9, color=ink)
        axes.text(0.08, y - step / 2 - 0.02, "no", ha="left", va="center", fontsize=9, color=ink)
        axes.text(2.7, y, method, ha="left", va="center", fontsize=11, color="white", family="monospace", bbox=result)
        axes.text(3.75, y, others, ha="left", va="center", fontsize=9.5, color=ink)
    y = -step * len(questions)
    axes.text(0, y, "tsne", ha="center", va="center", fontsize=11, color="white", family="monospace", bbox=result)
    axes.text(0.75, y, "the default: nearest neighbors stay together", ha="left", va="center", fontsize=9.5, color=ink)
    axes.text(0, step * 0.72, "What should the map show?", ha="center", va="center", fontsize=12.5, weight="bold", color=ink)
    axes.set(xlim=(-1.75, 6.4), ylim=(y - 0.6, step))
    axes.axis("off")
    figure.savefig(IMAGES / "which-method.png", dpi=110, bbox_inches="tight", facecolor="white")


def save_small(picture: Path, path: Path) -> None:
    """Save a picture in half its size and 256 colors: there is one on every page of a method."""
    from PIL import Image

    with Image.open(picture) as full:
        small = full.convert("RGB").resize((full.width // 2, full.height // 2), Image.Resampling.LANCZOS)
    # Other methods of Pillow color the text or the background.
    small.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def method(name: str) -> None:
    """Draw the example of a method's page: its first command that writes a picture."""
    page = (PAGES / "methods" / f"{name}.md").read_text()
    block = re.search(r"^```sh\n(.*?)^```", page, re.M | re.S)
    assert block is not None, f"{name}.md has no example"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["bash", "-euc", block[1]], cwd=folder, check=True)
        pictures = re.findall(r"[\w-]+\.png", block[1])
        save_small(Path(folder, pictures[0]), IMAGES / f"method-{name}.png")


def tutorial(name: str) -> None:
    """Run the Python blocks of a tutorial and take its picture."""
    page, picture = TUTORIALS[name]
    text = (PAGES / "tutorials" / f"{page}.md").read_text()
    blocks = re.findall(r"(<!-- not run[^>]*-->\n+)?^```python\n(.*?)^```", text, re.M | re.S)
    with tempfile.TemporaryDirectory() as folder:
        script = "import matplotlib; matplotlib.use('agg')\n" + "\n".join(code for not_run, code in blocks if not not_run)
        subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
        shutil.copy(Path(folder, picture), IMAGES / f"{name}.png")


def command(name: str) -> None:
    """Draw a picture by its commands."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["bash", "-euc", COMMANDS[name]], cwd=folder, check=True)
        shutil.copy(Path(folder, f"{name}.png"), IMAGES)


def unknown() -> list[str]:
    """Return the pictures of which this file does not know where they come from."""
    known = [*COMMANDS, *TUTORIALS, *ELSEWHERE, "method-", "which-method"]
    return [path.name for path in sorted(IMAGES.glob("*.png")) if not any(path.stem.startswith(name) for name in known)]


def main() -> None:
    """Make the pictures of the command line, or all."""
    if sys.argv[1:] == ["--check"]:
        names = unknown()
        sys.exit(f"not known how these are made: {', '.join(names)}" if names else 0)
    makers = {name: command for name in COMMANDS} | {name: tutorial for name in TUTORIALS}
    pages = [page.stem for page in (PAGES / "methods").glob("*.md") if f"method-{page.stem}.png" in page.read_text()]
    makers |= {f"method-{name}": lambda name: method(name.removeprefix("method-")) for name in sorted(pages)}
    makers |= {"which-method": lambda _: which_method()}
    for name in sys.argv[1:] or makers:
        print(name, flush=True)
        makers[name](name)


if __name__ == "__main__":
    main()
