"""Fit many models in one process, in four threads, with interrupts at random moments; print what happened as JSON.

``python soak.py FITS`` is the long version of ``test_soak.py``. The main thread is interrupted by SIGINT, the others by exceptions of
their callbacks. A fit that is interrupted must raise that exception, and any other exception is an error.
"""

import faulthandler
import gc
import json
import os
import random
import signal
import sys
import threading
import time

import numpy as np

import lowland

THREADS = 4
#: Share of the fits that are interrupted.
INTERRUPTED = 0.5
METHODS = ["LVM", "TSNE", "SymmetricSNE", "ElasticEmbedding", "MapIt", "TSM", "GPLVM", "SpectralEmbedding", "PCA"]


class Interrupted(Exception):
    """Raised by callbacks."""


def resident_mib():
    """Return the resident memory of this process, in MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def one_fit(X, draw, is_main):
    """Fit a random method; return whether it was interrupted."""
    cls = getattr(lowland, draw.choice(METHODS))
    known = cls().get_params()
    params = {"random_state": draw.randrange(100), "n_jobs": draw.choice([1, 2]), "max_iter": draw.randrange(5, 60)}
    interrupt = draw.random() < INTERRUPTED
    timer = None
    if interrupt and is_main:
        timer = threading.Timer(draw.uniform(0, 0.1), os.kill, (os.getpid(), signal.SIGINT))
    elif interrupt:
        moment = draw.randrange(1, 10)

        def callback(iteration, *_):
            if iteration >= moment:
                raise Interrupted

        params.update(callbacks=callback, callbacks_every_iters=1)
    model = cls(**{name: value for name, value in params.items() if name in known})
    raised = False
    try:
        try:
            if timer:
                timer.start()
            model.fit(X)
        finally:
            # The signal may come after the end of the fit; it must not reach the next one.
            if timer:
                timer.join()
                time.sleep(0.001)
    except (Interrupted, KeyboardInterrupt):
        raised = True
    if hasattr(model, "embedding_"):
        assert np.isfinite(model.embedding_).all()
        assert model.transform(X[:3]).shape[0] == 3
    return raised


def main(fits, seed=1):
    """Run the soak test and print the result."""
    # A deadlock ends the process with the stacks of all threads, also if the GIL is held.
    faulthandler.dump_traceback_later(120 + 10 * fits, exit=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X = np.random.default_rng(seed).normal(size=(80, 6))
    left = iter(range(fits))
    lock = threading.Lock()
    counts = {"fits": 0, "interrupted": 0}
    errors, memory = [], []

    def work(index):
        draw = random.Random(seed * 1000 + index)
        while True:
            with lock:
                if next(left, None) is None:
                    return
            try:
                raised = one_fit(X, draw, index == 0)
            except BaseException as error:  # PanicException is no Exception.
                errors.append(repr(error))
                raised = False
            with lock:
                counts["fits"] += 1
                counts["interrupted"] += raised
                if counts["fits"] % max(fits // 10, 1) == 0:
                    gc.collect()
                    memory.append(round(resident_mib(), 1))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(1, THREADS)]
    for thread in threads:
        thread.start()
    work(0)
    for thread in threads:
        thread.join()
    faulthandler.cancel_dump_traceback_later()
    alive = threading.active_count()
    print(json.dumps({**counts, "threads_left": alive, "errors": errors, "resident_mib": memory}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
