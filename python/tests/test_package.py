"""The package as installed: the command, licenses, time to import."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import lowland

# The same wheel may be found twice, by two entries of sys.path.
DISTRIBUTION = [each for each in importlib.metadata.distributions() if each.metadata["Name"] == "lowland"][:1]
needs_wheel = pytest.mark.skipif(not DISTRIBUTION, reason="lowland is not installed from a wheel")


@needs_wheel
def test_wheel_has_licenses_a_command_and_types():
    (wheel,) = DISTRIBUTION
    files = [str(path) for path in wheel.files]
    for name in ("licenses/LICENSE-MIT", "licenses/LICENSE-APACHE", "lowland/py.typed", "lowland/_lowland.pyi"):
        assert any(path.endswith(name) for path in files), name
    assert wheel.metadata["License-Expression"] == "MIT OR Apache-2.0"
    assert [(entry.name, entry.value) for entry in wheel.entry_points] == [("lowland", "lowland._cli:main")]


@pytest.mark.parametrize("command", [[sys.executable, "-m", "lowland"], ["lowland"]], ids=["module", "script"])
def test_command_of_the_wheel(command, tmp_path):
    if command == ["lowland"]:
        command = [str(Path(sys.executable).with_name("lowland"))]
        if not Path(command[0]).exists():
            pytest.skip("lowland is not installed from a wheel")

    def run(*arguments):
        return subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=tmp_path)

    assert run("--version").stdout.strip() == f"lowland {lowland.__version__}"
    made = run("embed", "digits", "--method", "pca", "--out", "map.csv", "--save", "model.lowland", "--no-quality")
    assert made.returncode == 0, made.stderr
    assert lowland.load(tmp_path / "model.lowland").embedding_.shape == (1797, 2)
    failed = run("embed", "digits", "--method", "umaps")
    assert failed.returncode == 2 and "umaps" in failed.stderr
    assert run("embed", "nothing.csv", "--out", "map.csv").returncode == 3


def test_import_takes_less_than_a_tenth_of_a_second():
    code = "import time; start = time.process_time(); import lowland; print(time.process_time() - start)"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)]
    assert min(times) < 0.1, times
