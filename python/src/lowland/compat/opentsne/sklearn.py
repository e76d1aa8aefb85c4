"""openTSNE's estimator with the interface of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import tsne


class TSNE(tsne.TSNE):
    """``opentsne.TSNE`` with ``fit_transform`` and ``transform``; its parameters are the same.

    Attributes
    ----------
    embedding_ : TSNEEmbedding
        The embedding.
    """

    embedding_: tsne.TSNEEmbedding

    def fit(self, X: Any, y: Any = None) -> TSNE:  # type: ignore[override]
        """Compute the embedding of X, and return the estimator."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the embedding of X, and return it as an array."""
        self.embedding_ = super().fit(X)
        return self.embedding_.view(np.ndarray)

    def transform(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        """Place new rows; the arguments are those of ``TSNEEmbedding.transform``."""
        return self.embedding_.transform(X, *args, **kwargs).view(np.ndarray)
