"""What the modules share."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


def is_package_installed(name: str) -> bool:
    """Return whether a package can be imported."""
    return importlib.util.find_spec(name) is not None


@contextmanager
def timed(message: str, verbose: bool) -> Iterator[None]:
    """Print what is done, and the seconds that it took, if verbose."""
    start = perf_counter()
    if verbose:
        print("===>", message)
    yield
    if verbose:
        print(f"   --> Time elapsed: {perf_counter() - start:.2f} seconds")


def threads(n_jobs: int) -> int:
    """Return a number of threads: -1 means all cores, -2 all but one."""
    if n_jobs < 0:
        n_jobs += (os.cpu_count() or 1) + 1
    return max(n_jobs, 1)
