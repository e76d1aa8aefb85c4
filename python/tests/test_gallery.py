"""The gallery: its page, its script and its figures belong together. The figures themselves are drawn by docs/gallery.py."""

import csv
import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, needs_program

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs/gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(gallery):
    """Return the words of each command of the page that the program runs."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", gallery.PAGE.read_text(encoding="utf-8"), re.S) for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("lowland ")]


def test_the_page_is_the_one_that_the_script_writes(gallery):
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page(), "run `python3 docs/gallery.py --page`"


def test_there_are_thirty_figures_each_with_its_picture(gallery):
    names = [name for name, *_ in gallery.FIGURES]
    assert len(names) == 30 and len({title for _, title, _ in gallery.FIGURES}) == 30
    assert sorted(path.stem for path in gallery.IMAGES.iterdir()) == sorted(names)
    inspected = (ROOT / "bench/results/2026-11-19-gallery.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\S+)` \|", inspected, re.M)) == sorted(names), "each figure was looked at"


def test_every_file_of_a_command_is_made_before_it(gallery, tmp_path):
    gallery.write_inputs(tmp_path)
    known = {path.name for path in tmp_path.iterdir()}
    assert known == set(gallery.INPUTS)
    read = set()
    for _, _, *words in commands(gallery):
        files = [word for word in words if Path(word).suffix in (".csv", ".txt", ".png")]
        assert words[-2:] == ["--out", files[-1]]
        assert set(files[:-1]) <= known, words
        read |= set(files[:-1])
        known.add(files[-1])
    maps = {f"{name}.csv" for name in gallery.MAPS}
    assert read == maps | set(gallery.INPUTS), "every map and file is used"
    for _, _, arguments in gallery.FIGURES:
        assert {f"{name}.csv" for name in gallery.maps_of(arguments)} == set(shlex.split(arguments)) & maps


def test_the_files_hold_what_the_page_says(gallery, tmp_path):
    gallery.write_inputs(tmp_path)
    rows = {}
    for name in gallery.INPUTS:
        if name.endswith(".csv"):
            with (tmp_path / name).open(encoding="utf-8", newline="") as file:
                rows[name] = list(csv.DictReader(file))
    assert len(rows["scripts.csv"]) == 16 and len(rows["cells-data.csv"]) == 1690 and len(rows["sixty.csv"]) == 3600
    assert len({row["label"] for row in rows["sixty.csv"]}) == 60
    assert len({row["type"] for row in rows["cells-data.csv"]} - {""}) == 7 and len(rows["cells-data.csv"][0]) == 9


@needs_program
def test_figures_of_the_written_files_are_those_of_the_page(gallery, tmp_path):
    """A small map takes the place of the fitted ones: every command of the page has flags that the program knows."""
    gallery.write_inputs(tmp_path)
    lines = ["projection_x,projection_y,label,std,jump,flagged,island,bridge_to"]
    lines += [f"{(row * 7919) % 89},{(row * 104729) % 97},{row % 10},{1 + row % 3},{row % 50},{row % 2},{1 + row % 3},{(row + 1) % 3}" for row in range(1797)]
    for name in gallery.MAPS:
        # As many rows as the data that the figures read besides.
        rows = {"cells": 1690, "roll": 1500, "torus": 1500, "sphere": 1500}.get(name, 1797)
        (tmp_path / f"{name}.csv").write_text("\n".join(lines[: rows + 1]) + "\n", encoding="utf-8")
    for words in commands(gallery):
        if words[1] == "plot":
            subprocess.run([PROGRAM, *words[1:], "--quiet"], cwd=tmp_path, check=True)
            assert (tmp_path / words[-1]).stat().st_size > 1000
