"""Makes the gallery: thirty figures in docs/images/gallery, and the page docs/gallery.md with the commands that drew them.

    python3 docs/gallery.py [--program target/release/lowland] [--data FOLDER] [--only NAME ...]

Needs nothing but the program. FOLDER holds news_w100.npz (20 newsgroups, 100 words), whose two figures are kept as they are without it.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images" / "gallery"
WORK = ROOT / "target" / "gallery"

#: Maps that the figures are drawn from: name, arguments of `lowland embed`.
MAPS = {
    "digits": ["digits"],
    "digits-trust": ["digits", "--trust"],
    "digits-umap": ["digits", "--method", "umap"],
    "mixture": ["mixture"],
    "digits-pca": ["digits", "--method", "pca"],
    "digits-lvm": ["digits", "--method", "lvm"],
    "digits-1d": ["digits", "--method", "pca", "--n-components", "1"],
    "blobs": ["blobs"],
    "density": ["unequal-density", "--method", "umap"],
    "bridge": ["bridge", "--trust"],
    "roll": ["swiss-roll", "--method", "isomap"],
    "torus": ["torus", "--method", "isomap"],
    "sphere": ["severed-sphere", "--method", "ltsa"],
    "helix": ["helix", "--method", "spectral"],
    "gaussian-many": ["gaussian", "--n-points", "100000", "--method", "pca"],
    "mixture-many": ["mixture", "--n-points", "40000", "--method", "pca"],
    "cells": ["cells-data.csv", "--label-column", "type", "--standardize"],
}

#: Figures: name, title in the page, map (or maps), flags of `lowland plot`.
FIGURES = [
    ("digits", "Names instead of a legend", "digits", []),
    ("digits-dark", "On a dark background", "digits", ["--background", "dark"]),
    ("digits-legend", "With a legend", "digits", ["--map-labels", "off"]),
    ("legend-below", "A legend below", "digits", ["--map-labels", "off", "--legend", "below"]),
    ("okabe-ito", "The palette of Okabe and Ito", "blobs", ["--palette", "okabe-ito"]),
    ("own-colors", "Colors of a file: two classes stand out", "digits", ["--palette", "{work}/two.txt", "--map-labels", "off"]),
    ("paper", "A column of a paper: 85 mm, 7 points", "digits", ["--width", "85mm", "--font-size", "7", "--plain"]),
    ("paper-panels", "Two columns, with letters", ["digits", "digits-lvm", "digits-pca"], ["--names", "t-SNE,LVM,PCA", "--width", "170mm", "--font-size", "7", "--plain", "--letters", "--legend", "right"]),
    ("four-methods", "Four methods, aligned", ["digits", "digits-umap", "digits-lvm", "digits-pca"], ["--names", "t-SNE,UMAP,LVM,PCA", "--border", "no"]),
    ("inset", "A class drawn larger", "digits", ["--inset", "1"]),
    ("images", "Images at their points", "digits", ["--data", "digits", "--images"]),
    ("images-dark", "Images on a dark background", "digits-lvm", ["--data", "digits", "--images", "--background", "dark"]),
    ("scale", "A column on the default scale", "sphere", ["--data", "severed-sphere", "--color", "2"]),
    ("scale-blues", "The scale blues", "roll", ["--data", "swiss-roll", "--color", "1", "--palette", "blues"]),
    ("scale-ember", "The scale ember on a dark background", "torus", ["--data", "torus", "--color", "2", "--palette", "ember", "--background", "dark"]),
    ("diverging", "A diverging scale around zero", "roll", ["--data", "swiss-roll", "--color", "0", "--palette", "blue-red"]),
    ("diverging-dark", "Another, on a dark background", "torus", ["--data", "torus", "--color", "0", "--palette", "purple-green", "--background", "dark"]),
    ("jump", "Reliability: where the map jumps", "digits-trust", ["--color", "jump"]),
    ("bridges", "Lines between islands that belong together", "bridge", []),
    ("uncertainty", "Uncertain points fade", "digits-lvm", ["--uncertainty", "fade"]),
    ("ellipses", "One standard deviation around each point", "digits-lvm", ["--uncertainty", "ellipses", "--map-labels", "off"]),
    ("one-dimension", "One dimension: bars above a rug", "digits-1d", []),
    ("density", "The density of 100,000 points", "gaussian-many", ["--density", "on", "--color", "none"]),
    ("density-classes", "Density in the colors of the classes", "mixture-many", ["--density", "on", "--map-labels", "on"]),
    ("mixture", "Pairs of clusters at six distances", "mixture", []),
    ("clusters", "Clusters of different spread", "density", []),
    ("islands", "Islands named by what is high or low in them (simulated cells)", "cells", ["--data", "cells-data.csv", "--label-column", "type", "--map-labels", "islands"]),
    ("surfaces", "Surfaces, unrolled", ["roll", "torus", "sphere"], ["--names", "swiss roll,torus,sphere", "--letters"]),
    ("scripts", "Greek, Cyrillic, Hebrew, Arabic", "scripts", ["--words", "--point-size", "10", "--font-size", "8", "--legend", "none"]),
    ("sixty", "Sixty classes", "sixty", ["--map-labels", "on", "--legend", "none"]),
]
#: Figures of data that are not built in: name, title, file, arguments of `embed`, flags of `plot`.
NEWS = ("news", "20 newsgroups: islands named by their words", "news_w100.npz", ["--key", "documents", "--method", "umap", "--metric", "cosine"], ["--map-labels", "label,islands"])


def run(program: Path, *arguments: str) -> None:
    subprocess.run([str(program), *arguments], check=True, cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write_inputs() -> None:
    """Write the maps and colors that the program does not make itself."""
    (WORK / "two.txt").write_text("3 = #d1495b\n8 = #2e4057\n", encoding="utf-8")
    names = {
        "Greek": ["Ἀθῆναι", "Θεσσαλονίκη", "Πάτρα", "Ηράκλειο"],
        "Cyrillic": ["Москва", "Київ", "София", "Бишкек"],
        "Latin": ["Reykjavík", "Łódź", "İstanbul", "Đà Nẵng"],
        "Semitic": ["ירושלים", "תל אביב", "القاهرة", "بغداد"],
    }
    rows = [f"{3 * column},{-1.2 * row},{name},{script}" for row, script in enumerate(names) for column, name in enumerate(names[script])]
    (WORK / "scripts.csv").write_text("projection_x,projection_y,id,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    draw = random.Random(1)
    genes = ["CD3D", "CD8A", "CD4", "MS4A1", "NKG7", "LYZ", "PPBP", "FCER1A"]
    types = {"T helper": "CD3D CD4", "T killer": "CD3D CD8A NKG7", "B": "MS4A1", "NK": "NKG7", "monocyte": "LYZ", "platelet": "PPBP", "dendritic": "FCER1A LYZ", "": ""}
    cells = [f"type,{','.join(genes)}"]
    for size, (kind, high) in zip((420, 300, 260, 180, 340, 60, 90, 40), types.items()):
        for _ in range(size):
            cells.append(f"{kind}," + ",".join(f"{max(0.0, draw.gauss(4.0 if gene in high.split() else 0.6, 0.7)):.3f}" for gene in genes))
    (WORK / "cells-data.csv").write_text("\n".join(cells) + "\n", encoding="utf-8")
    lines = []
    for group in range(60):
        x, y = 3.2 * (group % 8) + 1.6 * (group // 8 % 2), 2.8 * (group // 8)
        for point in range(60):
            angle, reach = 2.399963 * point, 1.15 * math.sqrt((point + 0.5) / 60)
            lines.append(f"{x + reach * math.cos(angle):.4f},{y + reach * math.sin(angle):.4f},group {group + 1}")
    (WORK / "sixty.csv").write_text("projection_x,projection_y,label\n" + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "lowland")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    for folder in (IMAGES, WORK):
        folder.mkdir(parents=True, exist_ok=True)
    write_inputs()
    sections = []
    for name, title, maps, flags in FIGURES:
        maps = [maps] if isinstance(maps, str) else maps
        shown = " ".join(f"'{flag}'" if " " in flag else flag for flag in flags).replace("{work}/", "")
        sections.append(f"## {title}\n\n```sh\nlowland plot {' '.join(each + '.csv' for each in maps)}{' ' + shown if shown else ''} --out {name}.png\n```\n\n![{title}](images/gallery/{name}.png)\n")
        if arguments.only and name not in arguments.only:
            continue
        for each in maps:
            if each in MAPS and not (WORK / f"{each}.csv").exists():
                run(program, "embed", *MAPS[each], *([] if "--trust" in MAPS[each] else ["--no-quality"]), "--out", f"{each}.csv")
        size = [] if "--width" in flags else ["--width", "900"]
        quiet = [] if "--plain" in flags or len(maps) > 1 else ["--plain", "--title", title]
        run(program, "plot", *(f"{each}.csv" for each in maps), *(flag.replace("{work}", str(WORK)) for flag in flags), *size, *quiet, "--out", str(IMAGES / f"{name}.png"))
    embeds = "\n".join(f"lowland embed {' '.join(flags)} --out {name}.csv" for name, flags in MAPS.items())
    intro = "Figures of `lowland plot`, made by `docs/gallery.py`. [Pictures](guide/pictures.md) explains the flags.\n"
    head = f"# Gallery\n\n{intro}\nThe maps:\n\n```sh\n{embeds}\n```\n"
    (ROOT / "docs" / "gallery.md").write_text("\n".join([head, *sections]), encoding="utf-8")


if __name__ == "__main__":
    main()
