"""Functions of scikit-learn that validate input. Before version 1.6 they are methods, and one argument has another name."""

from __future__ import annotations

from typing import Any

from sklearn.utils import validation as _validation

#: Whether the functions are there.
_ARE_FUNCTIONS = hasattr(_validation, "validate_data")


def _named(checks: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as this version of scikit-learn calls them."""
    if _ARE_FUNCTIONS or "ensure_all_finite" not in checks:
        return checks
    checks = dict(checks)
    checks["force_all_finite"] = checks.pop("ensure_all_finite")
    return checks


def check_array(array: Any, **checks: Any) -> Any:
    """Validate an array."""
    return _validation.check_array(array, **_named(checks))


def check_feature_names(estimator: Any, X: Any, *, reset: bool) -> None:
    """Set or compare ``feature_names_in_``."""
    if _ARE_FUNCTIONS:
        _validation._check_feature_names(estimator, X, reset=reset)
    else:
        estimator._check_feature_names(X, reset=reset)


def check_n_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """Set or compare ``n_features_in_``."""
    if _ARE_FUNCTIONS:
        _validation._check_n_features(estimator, X, reset=reset)
    else:
        estimator._check_n_features(X, reset=reset)


def validate_data(estimator: Any, X: Any, *, reset: bool = True, **checks: Any) -> Any:
    """Validate the input of an estimator."""
    if _ARE_FUNCTIONS:
        return _validation.validate_data(estimator, X, reset=reset, **checks)
    return estimator._validate_data(X, reset=reset, **_named(checks))
