"""Progress on stderr, with tqdm if it is installed."""

from __future__ import annotations

import sys
import time
from typing import Any


class Progress:
    """Progress of a fit, as a tqdm bar or as lines of text.

    Parameters
    ----------
    title : str
        Text at the start of the bar and of each line.
    """

    #: Seconds between two lines of text.
    INTERVAL = 2.0

    def __init__(self, title: str) -> None:
        self.title = title
        self.last = time.monotonic()
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self.bar: Any = None
        else:
            bar_format = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}{postfix}]"
            self.bar = tqdm(total=1.0, desc=title, bar_format=bar_format, file=sys.stderr, leave=True)

    def update(self, stage: str, done: float, iteration: int | None, error: float | None) -> None:
        """Show the stage and the fraction of the work that is done."""
        status = stage if iteration is None else f"{stage}, iteration {iteration}, {error:.4e}"
        if self.bar is not None:
            self.bar.set_postfix_str(status, refresh=False)
            self.bar.update(max(0.0, min(done, 1.0) - self.bar.n))
        elif time.monotonic() - self.last >= self.INTERVAL:
            self.last = time.monotonic()
            self.note(f"{100 * done:.0f} %, {status}")

    def note(self, text: str) -> None:
        """Print a remark on a line of its own."""
        if self.bar is not None:
            self.bar.write(f"{self.title}: {text}", file=sys.stderr)
        else:
            print(f"{self.title}: {text}", file=sys.stderr, flush=True)

    def close(self, finished: bool) -> None:
        """Close the bar, at 100 % if the work was finished."""
        if self.bar is not None:
            if finished:
                self.bar.update(1.0 - self.bar.n)
            self.bar.close()
