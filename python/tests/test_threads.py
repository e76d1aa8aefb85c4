"""The number of threads."""

import os
import subprocess
import sys
import threading
import time

import joblib
import pytest

import lowland
from lowland import _input

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.fixture(autouse=True)
def no_limit(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_none_means_all_cores_unless_something_sets_a_limit(monkeypatch):
    assert _input.threads(None) is None and _input.threads(-1) == CORES
    assert _input.threads(-1000) == 1 and _input.threads(3) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert _input.threads(None) == 3 and _input.threads(5) == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert _input.threads(None) is None


def test_parallel_config_is_respected():
    with joblib.parallel_config(n_jobs=3):
        assert _input.threads(None) == 3 and _input.threads(2) == 2
    with joblib.parallel_config(n_jobs=-1):
        assert _input.threads(None) == CORES


def limit():
    return _input.threads(None)


def test_workers_of_joblib_do_not_use_all_cores():
    assert joblib.Parallel(2, prefer="threads")(joblib.delayed(limit)() for _ in range(2)) == [1, 1]
    code = (
        "import joblib, lowland; from lowland import _input\n"
        "with joblib.parallel_config('loky', n_jobs=2, inner_max_num_threads=3):\n"
        "    print(joblib.Parallel()(joblib.delayed(_input.threads)(None) for _ in range(2)))\n"
        "print(joblib.Parallel(2)(joblib.delayed(_input.threads)(None) for _ in range(2)))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    inner = max(1, CORES // 2)
    assert result.stdout.split("\n")[:2] == ["[3, 3]", f"[{inner}, {inner}]"]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_absurd_numbers_of_threads_are_capped(few):
    most = 0
    done = threading.Event()

    def count():
        nonlocal most
        while not done.is_set():
            most = max(most, len(os.listdir("/proc/self/task")))
            time.sleep(0.002)

    watcher = threading.Thread(target=count)
    watcher.start()
    model = lowland.TSNE(max_iter=60, n_jobs=2000).fit(few)
    done.set()
    watcher.join()
    assert most < 300
    assert (model.embedding_ == lowland.TSNE(max_iter=60, n_jobs=1).fit(few).embedding_).all()
