"""Scores of embeddings, by the names of openTSNE."""

from __future__ import annotations

import numpy as np

from .tsne import TSNEEmbedding


def pBIC(embedding: TSNEEmbedding) -> float:
    """Return the score of a perplexity by Cao and Wang (2017), which is low for a good one.

    Parameters
    ----------
    embedding : TSNEEmbedding
        An embedding whose affinities have one perplexity.

    Returns
    -------
    score : float
    """
    perplexity = getattr(embedding.affinities, "perplexity", None)
    if perplexity is None:
        raise TypeError(f"{type(embedding.affinities).__name__} has no perplexity")
    n = len(embedding)
    return float(2 * (embedding.kl_divergence or 0.0) + np.log(n) * perplexity / n)
