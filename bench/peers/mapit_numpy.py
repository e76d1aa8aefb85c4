"""A straightforward numpy version of MAP IT's update over all pairs, on the first 2,000 rows. Computing the affinities is not timed."""

import numpy as np
from scipy.spatial.distance import cdist

from bench.peers.common import main

ROWS, ITERATIONS, K, PERPLEXITY = 2000, 1000, 10, 15


def affinities(rows):
    """Returns symmetric entropic affinities, by bisection like the released program."""
    squares = cdist(rows, rows, "sqeuclidean")
    weights = np.zeros_like(squares)
    for i, row in enumerate(squares):
        others = np.delete(row, i)
        low, high, beta = 0.0, np.inf, 1.0 / others.mean()
        for _ in range(100):
            p = np.exp(-beta * (others - others.min()))
            p /= p.sum()
            entropy = -np.sum(p[p > 0] * np.log(p[p > 0]))
            low, high = (beta, high) if entropy > np.log(PERPLEXITY) else (low, beta)
            beta = beta * 2 if high == np.inf else (low + high) / 2
        weights[i] = np.insert(p, i, 0.0)
    weights += weights.T
    return weights / weights.sum()


def prepare(rows, _, __):
    rows = rows[:ROWS].astype(float)
    P = affinities(rows)
    n = len(P)
    near = np.zeros((n, n), bool)
    near[np.arange(n)[:, None], np.argsort(-P, axis=1)[:, :K]] = True
    pm = (P * near.T).sum(0)
    learning_rate = n / 40

    def work():
        Y = 1e-4 * np.random.default_rng(0).standard_normal((n, 2))
        V = np.zeros_like(Y)
        for iteration in range(ITERATIONS):
            norms = (Y**2).sum(1)
            Q = 1 / (1 + norms[:, None] + norms[None] - 2 * Y @ Y.T)
            np.fill_diagonal(Q, 0)
            c1, c2 = (P * Q).sum(), (Q * Q).sum()
            qm = (Q * near.T).sum(0)
            a = np.where(near, pm / c1 - qm / c2, P / c1 - Q / c2) * Q * Q
            V = (0.5 if iteration < 250 else 0.8) * V + learning_rate * (a @ Y - a.sum(1)[:, None] * Y)
            Y = Y + V
        return Y, np.log(c2) - np.log(c1)

    return work, lambda result: {"objective": float(result[1])}


main(prepare)
