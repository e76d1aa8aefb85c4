"""`embed --fit-rows` and `transform` into a folder, stopped while they place rows: the same command continues with the same bytes."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import PROGRAM, needs_program

pytestmark = [needs_program, pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")]

PARTS = 16
FIT = ["embed", "parts", "--fit-rows", "300", "--perplexity", "8", "--max-iter", "40", "--seed", "4", "--threads", "1", "--no-quality"]


def run(folder, *arguments):
    """Start the program, with the default handling of Ctrl-C whatever this process does."""
    handle = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    return subprocess.Popen([PROGRAM, *arguments], cwd=folder, preexec_fn=handle, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def placed(folder):
    """Return the parts that have been placed, and their bytes."""
    return {path.name: path.read_bytes() for path in folder.glob("p*.npy")}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("placing")
    (folder / "parts").mkdir()
    random = np.random.default_rng(0)
    for part in range(PARTS):
        np.save(folder / "parts" / f"p{part:02}.npy", random.normal(size=(1500, 8)).astype(np.float32))
    process = run(folder, *FIT, "--out", "whole/", "--out", "whole.csv", "--save", "whole.lowland", "-q")
    assert process.wait(120) == 0, process.stderr.read()
    assert len(placed(folder / "whole")) == PARTS
    return folder


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_run_that_is_stopped_while_it_places_rows_continues_with_the_same_bytes(data, how):
    name = f"stopped{int(how)}"
    command = [*FIT, "--out", f"{name}/", "--out", f"{name}.csv", "--save", f"{name}.lowland", "--report", f"{name}.json"]
    process = run(data, *command)
    deadline = time.monotonic() + 60
    while len(list((data / name).glob("p*.npy"))) < 3:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.001)
    process.send_signal(how)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130), messages
    complete, before = placed(data / "whole"), placed(data / name)
    assert 3 <= len(before) < PARTS, "the run was over before it was stopped"
    assert all(complete[part] == content for part, content in before.items())
    if how == signal.SIGINT:
        assert (data / f"{name}.csv").read_bytes() == (data / "whole.csv").read_bytes()
        assert (data / f"{name}.lowland").read_bytes() == (data / "whole.lowland").read_bytes()
    kept = {path: os.stat(data / name / path).st_mtime_ns for path in before}
    again = run(data, *command, "-q")
    assert again.wait(120) == 0, again.stderr.read()
    assert placed(data / name) == complete
    # Complete parts are not placed again, other than one that was not recorded any more when the run was killed.
    changed = [path for path, time in kept.items() if os.stat(data / name / path).st_mtime_ns != time]
    assert len(changed) <= (how == signal.SIGKILL), changed
    assert (data / f"{name}.csv").read_bytes() == (data / "whole.csv").read_bytes()
