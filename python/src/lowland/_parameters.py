"""Values of parameters: checked, and converted to the text that the Rust module takes."""

from __future__ import annotations

import keyword
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _input, _metrics

#: Hints for values that belong to another parameter.
_HINTS = {
    "components": " The number of dimensions is n_components.",
    "neighbors": " The number of neighbors is n_neighbors.",
    "pca": " It is the number of principal components to reduce the columns to before the method.",
}


def python_name(name: str) -> str:
    """Return the name of a parameter in Python, which differs for reserved words: ``lambda_``."""
    return f"{name}_" if keyword.iskeyword(name) else name


def invalid(name: str, value: Any, expected: str) -> ValueError:
    """Return the exception for a value that is not allowed."""
    text = repr(value)
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return ValueError(f"{name}={text}: expected {expected}.{_HINTS.get(name, '')}")


def is_integer(value: Any) -> bool:
    """Return whether the value is an integer and no truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether the value is a real number and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def integer(name: str, value: Any, at_least: int = 0) -> int:
    """Return an integer parameter of a function, or raise."""
    if not is_integer(value) or value < at_least:
        raise invalid(name, value, f"an integer, at least {at_least}")
    return int(value)


def anchor(value: Any) -> str:
    """Return the strength of anchors as text, or raise."""
    if isinstance(value, str) and value == "exact":
        return value
    if not is_number(value) or not 0 < value < float("inf"):
        raise invalid("anchor", value, "'exact' or a number above 0")
    return _input.text(float(value))


def text(name: str, value: Any, expects: str) -> str:
    """Return the value of a parameter as text.

    Parameters
    ----------
    name : str
        Name in Python.
    value : object
        The value.
    expects : str
        The values that the Rust library accepts, in its own words.
    """
    if expects.startswith("a metric"):
        if not isinstance(value, str):
            raise invalid(name, value, "the name of a metric or a function of two rows")
        return value
    if expects == "true or false":
        if not isinstance(value, (bool, np.bool_)):
            raise invalid(name, value, "True or False")
    elif expects == "a number, or several separated by commas":
        several = isinstance(value, (list, tuple, np.ndarray)) and len(value) > 0 and all(map(is_number, value))
        if not (several or is_number(value)):
            raise invalid(name, value, "a number or a list of numbers")
    elif expects.startswith("none, or whole numbers"):
        value = "none" if value is None else value
        several = isinstance(value, (list, tuple, np.ndarray)) and len(value) > 0 and all(map(is_integer, value))
        if not (several or is_integer(value) or value == "none"):
            raise invalid(name, value, "'none', an integer or a list of integers")
    elif expects.startswith("three whole numbers"):
        several = isinstance(value, (list, tuple, np.ndarray)) and len(value) == 3 and all(map(is_integer, value))
        if not (several or is_integer(value)) or min(np.atleast_1d(value)) < 0:
            raise invalid(name, value, "an integer or three integers, at least 0")
    elif expects.startswith(("a whole number", "a number", "a positive number")):
        _check_number(name, value, expects)
    else:
        words = expects.replace(" or ", ", ").split(", ")
        is_choice = all(word.replace("-", "").replace("_", "").isalnum() for word in words)
        if is_choice and not (isinstance(value, str) and value in words):
            array = " or an array of shape (n_samples, n_components)" if name == "init" else ""
            raise invalid(name, value, f"one of {', '.join(map(repr, words))}{array}")
    return _input.text(value)


def _check_number(name: str, value: Any, expects: str) -> None:
    """Check a number, for which a word such as ``'auto'`` or a share may stand."""
    kind, _, rest = expects.partition(" or ")
    word = rest if rest.isidentifier() else None
    if word is not None and isinstance(value, str) and value == word:
        return
    is_share = kind.startswith("a whole number") and rest != "" and word is None and is_number(value) and 0 < value < 1
    ending = "" if word is None else f", or {word!r}"
    if kind.startswith("a whole number"):
        if is_share:
            return
        if not is_integer(value) or value < 0:
            share = f", or {rest}" if rest and word is None else ""
            raise invalid(name, value, f"an integer, at least 0{ending}{share}")
    elif not is_number(value):
        raise invalid(name, value, f"a number{ending}")


def metric_text(metric: Any, params: Mapping[str, Any] | None) -> str:
    """Combine `metric` and `metric_params` into one text such as ``minkowski(3)``."""
    if not isinstance(metric, str):
        raise invalid("metric", metric, "the name of a metric or a function of two rows")
    if params is not None and not isinstance(params, Mapping):
        raise invalid("metric_params", params, "a dict such as {'p': 3}")
    rest = dict(params or {})
    if metric in ("minkowski", "p"):
        p = rest.pop("p", 2)
        if not is_number(p) or not p >= 1:
            raise ValueError(f"metric_params={dict(params or {})!r}: p must be a number, at least 1")
        metric = f"minkowski({_input.text(p)})"
        known = "p"
    elif metric == "mahalanobis":
        rest.pop("VI", None)
        rest.pop("V", None)
        known = "VI (the inverse of the covariance matrix) or V (the covariance matrix)"
    else:
        known = ""
    if rest:
        names = ", ".join(map(repr, rest))
        takes = f"takes only {known}" if known else "takes no parameters"
        if metric.startswith("minkowski(") and not known:
            takes = "has its p in its name; use metric='minkowski' with metric_params={'p': ...}, or leave out metric_params"
        raise ValueError(f"metric_params: {names} cannot be used, since metric={metric!r} {takes}")
    return metric


def metric_name(metric: Any, params: Mapping[str, Any] | None) -> str:
    """Return the metric as text; distances by a function are passed as a matrix."""
    return "precomputed" if _metrics.is_function(metric) else metric_text(metric, params)


def inverse_covariance(metric: Any, params: Mapping[str, Any] | None) -> np.ndarray | None:
    """Return the matrix of the Mahalanobis distance, if ``metric_params`` has it."""
    if metric != "mahalanobis" or not params:
        return None
    if params.get("VI") is not None:
        return np.ascontiguousarray(params["VI"], dtype=np.float64)
    if params.get("V") is not None:
        return np.linalg.inv(np.asarray(params["V"], dtype=np.float64))
    return None
