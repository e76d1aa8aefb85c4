"""Makes the gallery: thirty figures in docs/images/gallery, and the page docs/gallery.md with the commands that drew them.

    python3 docs/gallery.py [--program target/release/lowland] [--only NAME ...]
    python3 docs/gallery.py --inputs FOLDER     # only writes the files that the commands read
    python3 docs/gallery.py --page              # only writes the page

Needs nothing but the program; with Pillow, the files are a third smaller. It runs the commands of the page, as they are written there.
"""

from __future__ import annotations

import argparse
import math
import random
import shlex
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
WORK = ROOT / "target" / "gallery"

#: Files that are not maps of built-in data, and what is in them.
INPUTS = {
    "two.txt": "colors of two classes: `3 = #d1495b` and `8 = #2e4057`, a line each",
    "scripts.csv": "16 names of cities in several scripts, at places of a grid",
    "cells-data.csv": "1,690 simulated cells of seven types (some unknown), with eight genes",
    "sixty.csv": "60 classes of 60 points, at places of a grid",
    "levels.csv": "24 islands of 60 points in six groups",
}

#: Maps that the figures are drawn from: name, arguments of `lowland embed`.
MAPS = {
    "digits": "digits",
    "digits-trust": "digits --trust",
    "digits-umap": "digits --method umap",
    "tree-trust": "tree --perplexity 10 --trust",
    "digits-pca": "digits --method pca",
    "digits-lvm": "digits --method lvm",
    "digits-1d": "digits --method pca --n-components 1",
    "blobs": "blobs",
    "roll": "swiss-roll --method isomap",
    "torus": "torus --method isomap",
    "sphere": "severed-sphere --method ltsa",
    "gaussian-many": "gaussian --n-points 100000 --method pca",
    "mixture-many": "mixture --n-points 40000 --method pca",
    "cells": "cells-data.csv --label-column type --standardize",
}

#: Figures: name, title in the page, arguments of `lowland plot`.
FIGURES = [
    ("digits", "Names instead of a legend", "digits.csv --width 900 --plain"),
    ("digits-dark", "On a dark background", "digits.csv --background dark --width 900 --plain"),
    ("digits-legend", "With a legend, a title and a caption", "digits.csv --map-labels off --title 'Handwritten digits' --caption 't-SNE of 8 x 8 pixels' --width 900"),
    ("legend-below", "A legend below", "digits.csv --map-labels off --legend below --width 900 --plain"),
    ("okabe-ito", "The palette of Okabe and Ito", "blobs.csv --palette okabe-ito --width 900 --plain"),
    ("own-colors", "Colors of a file: two classes stand out", "digits.csv --palette two.txt --map-labels off --width 900 --plain"),
    ("paper", "A column of a paper: 85 mm, 7 points", "digits.csv --width 85mm --font-size 7 --plain"),
    ("paper-panels", "Two columns, with letters", "digits.csv digits-lvm.csv digits-pca.csv --names t-SNE,LVM,PCA --width 170mm --font-size 7 --plain --letters --legend right"),
    ("four-methods", "Four methods, aligned", "digits.csv digits-umap.csv digits-lvm.csv digits-pca.csv --names t-SNE,UMAP,LVM,PCA --border no --width 900"),
    ("inset", "The middle of a class, enlarged", "digits.csv --inset 1 --width 900 --plain"),
    ("images", "Images at their points", "digits.csv --data digits --images --width 900 --plain"),
    ("images-dark", "Images on a dark background", "digits-lvm.csv --data digits --images --background dark --width 900 --plain"),
    ("scale", "A column on the default scale", "sphere.csv --data severed-sphere --color 2 --width 900 --plain"),
    ("scale-blues", "The scale blues", "roll.csv --data swiss-roll --color 1 --palette blues --height 420 --width 900 --font-size 4 --plain"),
    ("scale-ember", "The scale ember on a dark background", "torus.csv --data torus --color 2 --palette ember --background dark --width 900 --plain"),
    ("diverging", "A diverging scale around zero", "roll.csv --data swiss-roll --color 0 --palette blue-red --height 420 --width 900 --font-size 4 --plain"),
    ("diverging-dark", "Another, on a dark background", "torus.csv --data torus --color 0 --palette purple-green --background dark --width 900 --plain"),
    ("jump", "Reliability: where the map jumps; flagged points are hollow", "digits-trust.csv --color jump --width 900 --plain"),
    ("bridges", "Lines between islands that are connected in the data", "tree-trust.csv --flagged none --map-labels off --width 900 --title 'A tree by t-SNE with a perplexity of 10'"),
    ("uncertainty", "Uncertain points fade", "digits-lvm.csv --uncertainty fade --width 900 --plain"),
    ("ellipses", "One standard deviation around each point", "digits-lvm.csv --uncertainty ellipses --map-labels off --width 900 --plain"),
    ("one-dimension", "One dimension: bars above a rug", "digits-1d.csv --width 900 --plain"),
    ("density", "The density of 100,000 points", "gaussian-many.csv --density on --color none --width 900 --plain"),
    ("density-classes", "Density in the colors of the classes", "mixture-many.csv --density on --map-labels on --width 900 --plain"),
    ("levels", "Two levels of names", "levels.csv --map-labels group,label --width 900 --plain"),
    ("crowded", "Names of classes that overlap, in free space or with a line", "digits-pca.csv --map-labels on --width 900 --plain"),
    ("islands", "Islands named by what is high or low in them (simulated cells)", "cells.csv --data cells-data.csv --label-column type --map-labels islands --width 900 --plain"),
    ("surfaces", "Surfaces, unrolled", "roll.csv torus.csv sphere.csv --names 'swiss roll,torus,sphere' --letters --width 900"),
    ("scripts", "Greek, Cyrillic, Hebrew, Arabic", "scripts.csv --words --point-size 10 --font-size 8 --legend none --height 480 --width 900 --plain"),
    ("sixty", "Sixty classes", "sixty.csv --map-labels on --legend none --width 900 --plain"),
]


def embed_command(name: str) -> str:
    return f"lowland embed {MAPS[name]} --out {name}.csv"


def plot_command(name: str, arguments: str) -> str:
    return f"lowland plot {arguments} --out {name}.png"


def page() -> str:
    """Return the page."""
    embeds = "\n".join(embed_command(name) for name in MAPS)
    files = "\n".join(f"| `{name}` | {content} |" for name, content in INPUTS.items())
    head = f"""# Gallery

Thirty figures of `lowland plot`. `docs/gallery.py` writes this page and runs its commands; all figures were
[looked at](../bench/results/2026-11-19-gallery.md). [Pictures](guide/pictures.md) explains the flags.

## Files

Five files are not built in. This writes them to the current folder:

```sh
python3 docs/gallery.py --inputs .
```

| File | Content |
|---|---|
{files}

The maps:

```sh
{embeds}
```
"""
    sections = [f"## {title}\n\n```sh\n{plot_command(name, arguments)}\n```\n\n![{title}](images/gallery/{name}.png)\n" for name, title, arguments in FIGURES]
    return "\n".join([head, *sections])


def write_inputs(folder: Path) -> None:
    """Write the files that are neither built in nor made by the program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "two.txt").write_text("3 = #d1495b\n8 = #2e4057\n", encoding="utf-8")
    (folder / "scripts.csv").write_text(_scripts(), encoding="utf-8")
    (folder / "cells-data.csv").write_text(_cells(), encoding="utf-8")
    (folder / "sixty.csv").write_text(_sixty(), encoding="utf-8")
    (folder / "levels.csv").write_text(_levels(), encoding="utf-8")


def _scripts() -> str:
    names = {
        "Greek": ["Ἀθῆναι", "Θεσσαλονίκη", "Πάτρα", "Ηράκλειο"],
        "Cyrillic": ["Москва", "Київ", "София", "Бишкек"],
        "Latin": ["Reykjavík", "Łódź", "İstanbul", "Đà Nẵng"],
        "Semitic": ["ירושלים", "תל אביב", "القاهرة", "بغداد"],
    }
    rows = [f"{3 * column},{-1.2 * row},{name},{script}" for row, script in enumerate(names) for column, name in enumerate(names[script])]
    return "projection_x,projection_y,id,label\n" + "\n".join(rows) + "\n"


def _cells() -> str:
    draw = random.Random(1)
    genes = ["CD3D", "CD8A", "CD4", "MS4A1", "NKG7", "LYZ", "PPBP", "FCER1A"]
    types = {"T helper": "CD3D CD4", "T killer": "CD3D CD8A NKG7", "B": "MS4A1", "NK": "NKG7", "monocyte": "LYZ", "platelet": "PPBP", "dendritic": "FCER1A LYZ", "": ""}
    lines = [f"type,{','.join(genes)}"]
    for size, (kind, high) in zip((420, 300, 260, 180, 340, 60, 90, 40), types.items()):
        for _ in range(size):
            lines.append(f"{kind}," + ",".join(f"{max(0.0, draw.gauss(4.0 if gene in high.split() else 0.6, 0.7)):.3f}" for gene in genes))
    return "\n".join(lines) + "\n"


def _sixty() -> str:
    lines = ["projection_x,projection_y,label"]
    for group in range(60):
        x, y = 3.2 * (group % 8) + 1.6 * (group // 8 % 2), 3.3 * (group // 8)
        for point in range(60):
            angle, reach = 2.399963 * point, 1.15 * math.sqrt((point + 0.5) / 60)
            lines.append(f"{x + reach * math.cos(angle):.4f},{y + reach * math.sin(angle):.4f},g{group + 1}")
    return "\n".join(lines) + "\n"


def _levels() -> str:
    groups = {"Fruit": "apple pear plum fig", "Trees": "oak birch maple pine", "Birds": "owl heron robin wren", "Fish": "carp trout eel perch", "Metals": "iron zinc tin lead", "Gems": "opal ruby jade topaz"}
    draw = random.Random(2)
    lines = ["projection_x,projection_y,group,label"]
    for at, (group, names) in enumerate(groups.items()):
        for number, name in enumerate(names.split()):
            x = 15 * (at % 3) + 4.6 * (number % 2) + draw.uniform(-0.4, 0.4)
            y = -14 * (at // 3) - 4.6 * (number // 2) + draw.uniform(-0.4, 0.4)
            for _ in range(60):
                lines.append(f"{x + draw.gauss(0, 0.75):.3f},{y + draw.gauss(0, 0.75):.3f},{group},{name}")
    return "\n".join(lines) + "\n"


def run(program: Path, command: str, folder: Path) -> None:
    """Run a command of the page in a folder."""
    _, *arguments = shlex.split(command)
    subprocess.run([str(program), *arguments, "--quiet"], check=True, cwd=folder)


def compress(path: Path) -> None:
    """Store the same pixels in fewer bytes, if Pillow is installed: the program compresses for speed."""
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(path) as image:
        image.save(path, optimize=True, dpi=image.info.get("dpi"))


def maps_of(arguments: str) -> list[str]:
    """Return the names of the maps that a figure is drawn from, as far as they are made by `lowland embed`."""
    return [name for name in MAPS if f"{name}.csv" in shlex.split(arguments)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "lowland")
    parser.add_argument("--only", nargs="*", choices=[name for name, *_ in FIGURES], help="draw only these figures")
    parser.add_argument("--inputs", type=Path, metavar="FOLDER", help="only write the files that the commands read")
    parser.add_argument("--page", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    if arguments.inputs:
        write_inputs(arguments.inputs)
        return
    PAGE.write_text(page(), encoding="utf-8")
    if arguments.page:
        return
    program = arguments.program.resolve()
    IMAGES.mkdir(parents=True, exist_ok=True)
    write_inputs(WORK)
    for name, _, flags in FIGURES:
        if arguments.only and name not in arguments.only:
            continue
        for each in maps_of(flags):
            if not (WORK / f"{each}.csv").exists():
                run(program, embed_command(each), WORK)
        run(program, plot_command(name, flags), WORK)
        shutil.copyfile(WORK / f"{name}.png", IMAGES / f"{name}.png")
        compress(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
