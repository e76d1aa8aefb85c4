"""Types of the public interface, checked by mypy and pyright."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import lowland

USAGE = Path(__file__).with_name("typing_usage.py")
BIN = Path(sys.executable).parent


def run(program, *arguments, folder):
    """Run a program of the environment of these tests."""
    environment = {**os.environ, "VIRTUAL_ENV": str(BIN.parent), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    command = [BIN / program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_every_public_symbol_has_a_known_type(tmp_path):
    result = run("basedpyright", "--verifytypes", "lowland", "--ignoreexternal", "--outputjson", folder=tmp_path)
    found = json.loads(result.stdout)["typeCompleteness"]
    counts = found["exportedSymbolCounts"]
    unknown = [symbol for symbol in found["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert counts["withUnknownType"] == 0, [(symbol["name"], symbol["diagnostics"][:1]) for symbol in unknown]
    assert counts["withKnownType"] > 300


def test_a_program_passes_strict_pyright(tmp_path):
    (tmp_path / "usage.py").write_text(USAGE.read_text())
    rules = {"typeCheckingMode": "strict", "reportUnnecessaryTypeIgnoreComment": "error", "include": ["usage.py"]}
    # Libraries without types of their own, and deliberate errors at the end.
    rules |= {"reportUnusedExpression": "none", "enableTypeIgnoreComments": True}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(rules))
    result = run("basedpyright", "--outputjson", folder=tmp_path)
    errors = [(each["range"]["start"]["line"] + 1, each["message"]) for each in json.loads(result.stdout)["generalDiagnostics"]]
    assert not errors, errors


def test_package_and_program_pass_mypy(tmp_path):
    (tmp_path / "usage.py").write_text(USAGE.read_text())
    flags = ["--warn-unused-ignores", "--ignore-missing-imports", "--check-untyped-defs"]
    result = run("mypy", *flags, "-m", "usage", "-p", "lowland", folder=tmp_path)
    assert result.returncode == 0, result.stdout


def test_names_are_declared_for_editors():
    source = inspect.getsource(lowland)
    imported = source.partition("if TYPE_CHECKING:")[2].partition("#: Module")[0]
    for name in set(lowland.__all__) - {"__version__"}:
        assert name in imported and getattr(lowland, name) is not None, name
    assert set(lowland._MODULE_OF) | set(lowland._SUBMODULES) | {"__version__"} == set(lowland.__all__)
