"""The notebooks of the documentation run."""

from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = ["arrays", "dask", "dataframes", "pipelines", "single-cells", "text"]


def test_all_notebooks_are_here():
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_notebook_runs(name, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    # They are stored without results, so that they do not change when they are run.
    stored = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in stored.cells)
