"""Methods of estimators that only some models support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _input

if TYPE_CHECKING:
    from ._base import Estimator as _Base
else:
    _Base = object


class StdMixin(_Base):
    """For models that know the standard deviation of each position."""

    def transform_std(self, X: Any) -> np.ndarray:
        """Return the standard deviation of the position of each row of X in the embedding.

        Parameters
        ----------
        X : array-like, sparse matrix, table or list of str of n_samples rows
            Rows of the same kind as in ``fit``.

        Returns
        -------
        std : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows, dtype = self._check_rows(X, reset=False)
        return self.model_.transform(rows, _input.threads(self.n_jobs))[1].astype(dtype, copy=False)


class InverseTransformMixin(_Base):
    """For models that map points of the embedding back to rows."""

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that correspond to points of the embedding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Points of the embedding.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            The rows as the method sees them, that is, after preprocessing.
        """
        check_is_fitted(self)
        points = _input.points(X)
        return self.model_.inverse_transform(points, _input.threads(self.n_jobs)).astype(self.embedding_.dtype, copy=False)


class LikelihoodMixin(_Base):
    """For models that know the likelihood of a row."""

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-likelihood of each row of X under the model.

        Parameters
        ----------
        X : array-like, sparse matrix, table or list of str of n_samples rows
            Rows of the same kind as in ``fit``.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows, _ = self._check_rows(X, reset=False)
        return self.model_.score(rows, _input.threads(self.n_jobs))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows of X under the model.

        Parameters
        ----------
        X : array-like, sparse matrix, table or list of str of n_samples rows
            Rows of the same kind as in ``fit``.
        y : ignored

        Returns
        -------
        log_likelihood : float
        """
        return float(np.mean(self.score_samples(X)))
