"""Warnings: whatever a computation changed or could not do, that its result does not show."""

from __future__ import annotations

import os
import sys
import warnings


class LowlandWarning(UserWarning):
    """Base class of all warnings of this package."""


class ParameterWarning(LowlandWarning):
    """A parameter was adjusted or has no effect."""


class DataWarning(LowlandWarning):
    """The data limits the result: a neighbor graph in several parts, missing values, columns that lose precision."""


#: Kinds of notes that say that iterations ended early; their warnings are also scikit-learn's ConvergenceWarning.
_CONVERGENCE = {"approximate", "objective_modified", "not_converged", "repulsion_error"}

#: Kinds of notes that are about a parameter.
_PARAMETER = {
    "perplexity_reduced",
    "neighbors_reduced",
    "samples_reduced",
    "landmarks_reduced",
    "spectral_init_failed",
    "threads_limited",
    "fewer_columns_than_components",
}

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def category(kind: str) -> type[LowlandWarning]:
    """Return the class of the warning for a kind of note."""
    if kind in _CONVERGENCE:
        from ._convergence import ConvergenceWarning

        return ConvergenceWarning
    return ParameterWarning if kind in _PARAMETER else DataWarning


def warn(text: str, warning: type[LowlandWarning]) -> None:
    """Issue a warning that points to the first line outside of this package and scikit-learn."""
    skipped = [_HERE]
    if "sklearn" in sys.modules:
        skipped.append(os.path.dirname(str(sys.modules["sklearn"].__file__)) + os.sep)
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(tuple(skipped)):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, warning, stacklevel=level)
