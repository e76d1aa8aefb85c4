"""The code on the pages of the documentation runs.

The blocks of a page run one after the other in a folder of their own: those in Python share their variables, those for the shell call the command line
program. Blocks in ``pycon`` are run by doctest, blocks in Rust by ``crates/lowland/tests/documented.rs``. The files that pages speak of, such as
``cells.csv``, are made here. A block that cannot run is preceded by ``<!-- not run: reason -->``.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import documented_files
import pytest
from conftest import PROGRAM

import lowland

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
#: A block of code, with what stands before it on the page if that is a remark about the test.
BLOCK = re.compile(r"(?:<!-- not run: (?P<reason>[^>]+) -->\n+)?^(?P<fence>`{3,})(?P<language>\w*)\n(?P<code>.*?)^(?P=fence)$", re.M | re.S)
#: Languages that tests run; the others are output, formulas, or run elsewhere.
RUN = ("python", "sh")
ELSEWHERE = ("pycon", "rust", "text", "json", "toml", "math", "")


def blocks(page):
    return [match for match in BLOCK.finditer(page.read_text()) if match["language"] in RUN]


def name(page):
    return page.relative_to(ROOT).as_posix()


#: The commands of the gallery are run by docs/gallery.py, which makes its figures.
GALLERY = ROOT / "docs/gallery.md"
TESTED = [page for page in PAGES if page != GALLERY and any(block["reason"] is None for block in blocks(page))]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    documented_files.make(folder, PROGRAM)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_in_a_known_language(page):
    for match in BLOCK.finditer(page.read_text()):
        assert match["language"] in RUN + ELSEWHERE, f"{match['language']}: not run by any test"


@pytest.mark.skipif(PROGRAM is None, reason="LOWLAND_PROGRAM is not set")
@pytest.mark.parametrize("page", TESTED, ids=name)
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_blocks_run(page, files, tmp_path, monkeypatch):
    folder = tmp_path / "files"
    shutil.copytree(files, folder)
    text = page.read_text()
    documented_files.write_cells(folder, ids="--id-column cell" in text, types="--label-column type" in text or "--target type" in text)
    programs = tmp_path / "programs"
    programs.mkdir()
    link_or_copy = shutil.copy if os.name == "nt" else os.symlink
    link_or_copy(PROGRAM, programs / f"lowland{Path(PROGRAM).suffix}")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MPLBACKEND", "agg")
    X, y = lowland.datasets.load("digits", return_X_y=True)
    variables = {"lowland": lowland, "genes": X[:200, :32], "proteins": X[:200, 32:], "X": X[:500], "y": y[:500], "new": X[500:520], "embedding": X[:500, 20:22] + 0.01 * X[:500, 28:30]}
    for block in blocks(page):
        if block["reason"] is not None:
            continue
        line = text[: block.start("code")].count("\n") + 1
        if block["language"] == "python":
            exec(compile("\n" * (line - 1) + block["code"], page, "exec"), variables)
        else:
            run = subprocess.run(["bash", "-euo", "pipefail", "-c", block["code"]], capture_output=True, text=True)
            assert run.returncode == 0, f"{name(page)}:{line}\n{run.stdout}{run.stderr}"
