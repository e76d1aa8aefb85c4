"""Progress on stderr: tqdm where it is installed, else a line now and then."""

from __future__ import annotations

import sys
import time
from typing import Any


class Progress:
    """Told by the Rust module how far the work is."""

    #: Seconds between two plain lines.
    EVERY = 2.0

    def __init__(self, title: str) -> None:
        self.title = title
        self.last = time.monotonic()
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self.bar: Any = None
        else:
            form = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}{postfix}]"
            self.bar = tqdm(total=1.0, desc=title, bar_format=form, file=sys.stderr, leave=True)

    def step(self, stage: str, done: float, iteration: int | None, error: float | None) -> None:
        """Shows how far the work is."""
        words = stage if iteration is None else f"{stage}, iteration {iteration}, {error:.4e}"
        if self.bar is not None:
            self.bar.set_postfix_str(words, refresh=False)
            self.bar.update(max(0.0, min(done, 1.0) - self.bar.n))
        elif time.monotonic() - self.last >= self.EVERY:
            self.last = time.monotonic()
            self.note(f"{100 * done:.0f} %, {words}")

    def note(self, text: str) -> None:
        """Says something worth knowing."""
        if self.bar is not None:
            self.bar.write(f"{self.title}: {text}", file=sys.stderr)
        else:
            print(f"{self.title}: {text}", file=sys.stderr, flush=True)

    def close(self, finished: bool) -> None:
        """The work is over."""
        if self.bar is not None:
            if finished:
                self.bar.update(1.0 - self.bar.n)
            self.bar.close()
