"""Many fits in one process: memory, threads, interrupts, fork."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import lowland

#: Set by ``cargo xtask test --extended``.
EXTENDED = os.environ.get("LOWLAND_EXTENDED") == "1"
#: Growth after the first half that is not a leak: thread stacks and arenas of the allocator, in MiB.
ALLOWED_GROWTH = 24


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("fits", [24, pytest.param(200, marks=pytest.mark.skipif(not EXTENDED, reason="extended"))])
def test_many_interrupted_fits_in_four_threads_neither_leak_nor_deadlock(fits):
    script = Path(__file__).with_name("soak.py")
    result = subprocess.run([sys.executable, script, str(fits)], capture_output=True, text=True, timeout=200 + 10 * fits)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    print(found)
    assert found["fits"] == fits and found["errors"] == [] and found["threads_left"] == 1
    assert found["interrupted"] > 0
    memory = found["resident_mib"]
    assert max(memory) - max(memory[: len(memory) // 2]) < ALLOWED_GROWTH, memory


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fits_work_in_a_process_forked_after_fits(few):
    def fit():
        return lowland.LVM(max_iter=5, random_state=0).fit_transform(few)

    expected = fit()
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = np.array_equal(fit(), expected)
        finally:
            os._exit(0 if same else 1)
    deadline = time.monotonic() + 120
    status = None
    while status is None and time.monotonic() < deadline:
        found, code = os.waitpid(child, os.WNOHANG)
        status = code if found else None
        time.sleep(0.01)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child is stuck")
    assert status == 0
    assert_array_equal(fit(), expected)
