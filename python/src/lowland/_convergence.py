"""The warning about iterations that ended early, in a module of its own because it needs scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._warnings import LowlandWarning

if TYPE_CHECKING:
    # scikit-learn has no types.
    _SklearnConvergenceWarning = UserWarning
else:
    from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class ConvergenceWarning(LowlandWarning, _SklearnConvergenceWarning):
    """Iterations ended before they had converged. It is scikit-learn's ConvergenceWarning as well."""
