"""Some of scikit-learn's own tests with our classes in the place of its own; `cargo xtask compat` runs all of them, and those of other packages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMPAT = Path(__file__).parents[1] / "compat"

#: Files that take seconds, and the number of tests of each that have to pass at least.
FILES = {"test_locally_linear": 10, "test_spectral_embedding": 20, "test_truncated_svd": 40}


@pytest.mark.skipif(not COMPAT.exists(), reason="the tests were installed without the folder compat")
def test_the_tests_of_scikit_learn_pass(tmp_path):
    out = tmp_path / "outcomes.json"
    command = [sys.executable, str(COMPAT / "originals.py"), "--suite", "sklearn", str(tmp_path), str(out), *FILES]
    output = subprocess.run(command, check=False, capture_output=True, text=True)
    assert out.exists(), output.stdout + output.stderr
    tests = json.loads(out.read_text())["tests"]
    reason = f"import sys; sys.path.insert(0, {str(COMPAT)!r})\nimport json, originals\n"
    reason += "print(json.dumps([test for test in json.load(sys.stdin) if originals.reason_of('sklearn', test)]))"
    failed = [test for test, (outcome, _) in tests.items() if outcome == "failed"]
    listed = subprocess.run([sys.executable, "-c", reason], input=json.dumps(failed), capture_output=True, text=True, check=True)
    assert failed == json.loads(listed.stdout), "tests that fail without a reason in compat/exceptions.py: " + output.stdout
    for file, least in FILES.items():
        passed = [test for test, (outcome, _) in tests.items() if test.startswith(file) and outcome == "passed"]
        assert len(passed) >= least, (file, len(passed), output.stdout)
