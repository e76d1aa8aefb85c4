"""Callbacks, Ctrl-C, progress and threads."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import lowland

#: Classes whose iterations can be stopped.
ITERATIVE = ["LVM", "LLLVM", "GPLVM", "TSM", "TSNE", "SymmetricSNE", "ElasticEmbedding", "MapIt"]


def endless_tsne(**params):
    return lowland.TSNE(perplexity=10, max_iter=10_000_000, tol=0.0, exaggeration_iter=10, **params)


def test_callbacks_are_called_regularly_and_stop_the_fit(few):
    seen = []

    def callback(iteration, error, embedding):
        seen.append((iteration, error, embedding.copy()))
        return iteration >= 40

    model = endless_tsne(callbacks=callback, callbacks_every_iters=10).fit(few)
    assert [iteration for iteration, _, _ in seen] == [10, 20, 30, 40]
    assert model.n_iter_ == 40 and not model.converged_
    assert model.objectives_[39] == seen[-1][1]
    assert_array_equal(model.embedding_, seen[-1][2])
    assert np.abs(seen[0][2] - seen[1][2]).max() > 0


def test_any_of_several_callbacks_stops_the_fit(few):
    calls = []
    model = endless_tsne(callbacks=[lambda *_: calls.append(1), lambda i, *_: i == 6], callbacks_every_iters=3).fit(few)
    assert model.n_iter_ == 6 and len(calls) == 2


def test_exception_in_callback_is_raised_and_embedding_kept(few):
    def callback(iteration, error, embedding):
        raise RuntimeError("enough")

    model = endless_tsne(callbacks=callback, callbacks_every_iters=5)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(few)
    assert model.n_iter_ == 5 and model.embedding_.shape == (150, 2)


# LLLVM completes the current step after the stop.
@pytest.mark.parametrize("name", [name for name in ITERATIVE if name != "LLLVM"])
def test_stopped_fit_keeps_last_embedding_passed_to_callback(name, few):
    seen = []
    stop = {"callbacks": lambda i, _, embedding: seen.append(embedding.copy()) or i == 4, "callbacks_every_iters": 2}
    model = getattr(lowland, name)(**stop).fit(few)
    # No further iterations are made after the stop.
    assert len(seen) == 2 and model.n_iter_ == 4
    assert_array_equal(model.embedding_, seen[-1])


@pytest.mark.parametrize("name", ITERATIVE)
def test_ctrl_c_stops_and_keeps_the_embedding(name, few):
    model = getattr(lowland, name)(max_iter=10_000_000, tol=0.0)
    started = threading.Event()

    def interrupt():
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)

    # The first call of the callback means that there is an embedding to keep.
    model.set_params(callbacks=lambda *_: started.set(), callbacks_every_iters=1)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(few)
    thread.join()
    # Far fewer iterations than max_iter.
    assert 0 < model.n_iter_ < 10_000
    assert model.embedding_.shape == (150, 2) and np.isfinite(model.embedding_).all()
    assert model.transform(few[:2]).shape == (2, 2)
    assert not model.converged_


def test_ctrl_c_before_first_embedding_leaves_estimator_unfitted():
    X = np.random.default_rng(0).normal(size=(40_000, 100)).astype(np.float32)
    model = lowland.SpectralEmbedding(search="exact", n_jobs=1)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    timer.join()
    assert not hasattr(model, "embedding_")


def test_concurrent_fits_give_same_results(few):
    expected = [lowland.LVM(max_iter=20, random_state=seed).fit_transform(few) for seed in range(4)]
    found = [None] * 4

    def work(seed):
        found[seed] = lowland.LVM(max_iter=20, random_state=seed, n_jobs=1).fit_transform(few)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        assert_array_equal(found[seed], expected[seed])


def test_fit_releases_the_gil(few):
    done = threading.Event()
    ticks = []

    def work():
        endless_tsne(callbacks=lambda *_: len(ticks) > 20, callbacks_every_iters=1).fit(few)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks.append(1)
        done.wait(0.01)
    thread.join()
    assert len(ticks) > 20


def test_progress_bar_with_tqdm(few, capsys):
    lowland.TSNE(perplexity=10, max_iter=300, verbose=1).fit(few)
    shown = capsys.readouterr()
    assert shown.out == "" and "TSNE" in shown.err and "100%" in shown.err and "memory: about" in shown.err
    lowland.TSNE(perplexity=10, max_iter=20).fit(few)
    assert capsys.readouterr().err == ""


def test_progress_lines_without_tqdm():
    code = """
import sys
sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
import lowland
lowland._progress.Progress.INTERVAL = 0.0
X, y = lowland.datasets.load("digits", return_X_y=True)
lowland.TSNE(verbose=1, max_iter=500).fit(X)
"""
    code = code.replace("lowland._progress", "__import__('lowland._progress')._progress")
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "" and " %, " in result.stderr and "iteration" in result.stderr


def test_missing_cells_are_inferred_if_asked_for(few):
    rows = np.asarray(few, dtype=np.float64)[:60, 26:36].copy()
    hidden = rows.copy()
    hidden[::7, 3] = np.nan
    with pytest.raises(ValueError, match="row 0, column 3"):
        lowland.LLLVM().fit(hidden)
    model = lowland.LLLVM(missing_values="marginalize", starts=1, max_iter=20).fit(hidden)
    assert_array_equal(model.inferred_rows_, np.arange(0, 60, 7))
    assert set(model.inferred_columns_) == {3}
    assert np.isfinite(model.embedding_).all() and (model.inferred_std_ > 0).all()
    assert np.abs(model.inferred_values_ - rows[::7, 3]).mean() < np.abs(rows[:, 3] - rows[:, 3].mean()).mean() * 1.5
    assert model.transform(rows[:5]).shape == (5, 2)
