"""Compares solvers for step 2 of tsm: python -m bench.paper_figures.tsm_solvers ROWS.npy [GOLDEN.npz]

Block coordinate descent with extrapolation (Gillis, Porcelli & Seraghiti 2025) and the momentum of the paper on the same thresholded
similarities: cost against the number of updates. With GOLDEN.npz (relu_nmd) the extrapolated solver first repeats the authors' trace.
"""

import sys

import numpy as np

MARKS = (5, 10, 20, 50, 100, 200)


def relaxation(residual_ratio, alpha, mu, most=4.0):
    """Returns the next extrapolation: longer while progress is slow, none beyond `most`."""
    if residual_ratio >= 0.8:
        mu = max(mu, 0.25 * (alpha - 1))
        alpha = alpha + mu if alpha + mu <= most else 1.0
    return alpha, mu


def extrapolated(low, factor, latent, updates, watch=lambda k, low: None):
    """Runs the solver. `factor(Z)` returns a low-rank matrix near Z and a function that accepts it; `latent(L)` the best Z for L."""
    z, alpha, mu = latent.start(low), 1.0, 0.3
    residual = np.linalg.norm(z - low)
    trace = [residual]
    for k in range(updates):
        new, accept = factor(alpha * z + (1 - alpha) * low)
        z_new = latent(new)
        size = np.linalg.norm(z_new - new)
        if size < residual:
            alpha, mu = relaxation(size / residual, alpha, mu)
            low, z, residual = new, z_new, size
            accept()
        else:
            alpha = 1.0
        trace.append(residual)
        watch(k + 1, low)
    return np.array(trace), low


def check_golden(path):
    golden = np.load(path)
    x, state = golden["X"], {"h": golden["H0"]}

    def factor(z):
        w = np.linalg.lstsq(state["h"].T, z.T, rcond=None)[0].T
        h = np.linalg.lstsq(w, z, rcond=None)[0]
        return w @ h, lambda: state.update(h=h)

    def latent(low):
        return np.where(x > 0, x, np.minimum(0, low))

    latent.start = lambda low: x
    trace, low = extrapolated(golden["W0"] @ golden["H0"], factor, latent, 100)
    off = np.abs(trace / np.linalg.norm(x) - golden["e_ebcd"]).max()
    print(f"golden trace of 100 updates: off by {off:.1e}; last matrix by {np.abs(low - golden['T5']).max():.1e}")
    assert off < 1e-10


def compare(x, d=16, tau=0.75):
    norms = np.linalg.norm(x, axis=1)
    similar = np.maximum(0, x @ x.T - tau * np.outer(norms, norms))
    near = similar > 0
    cap = np.linalg.norm(x.sum(axis=0)) ** 2 - tau * norms.sum() ** 2

    def latent(low):
        z = np.where(near, similar, np.minimum(0, low))
        excess = max(0.0, z.sum() - cap)
        return np.where(near, z, z - excess / (~near).sum())

    latent.start = latent

    def best(z):
        values, vectors = np.linalg.eigh(z)
        top = np.argsort(-np.abs(values))[:d]
        return (vectors[:, top] * values[top]) @ vectors[:, top].T, vectors[:, top]

    u, s, _ = np.linalg.svd(x, full_matrices=False)
    y = u[:, :d] * s[:d]
    lengths = np.linalg.norm(y, axis=1)
    first, basis = best(y @ y.T - tau * np.outer(lengths, lengths))

    def costs():
        found = []
        return found, lambda k, low: found.append(np.sqrt(np.mean((latent(low) - low) ** 2))) if k in MARKS else None

    state = {"basis": basis}

    def block(z):  # Two matrix products: for the basis and for its Ritz values.
        q, _ = np.linalg.qr(z @ state["basis"])
        values, turn = np.linalg.eigh(q.T @ (z @ q))
        vectors = q @ turn
        return (vectors * values) @ vectors.T, lambda: state.update(basis=vectors)

    found, watch = costs()
    extrapolated(first, block, latent, max(MARKS), watch)
    print("extrapolated blocks", *(f"{cost:.5f}" for cost in found))
    found, watch = costs()
    extrapolated(first, lambda z: (best(z)[0], lambda: None), latent, max(MARKS), watch)
    print("extrapolated, exact eigenpairs", *(f"{cost:.5f}" for cost in found))
    found, watch = costs()
    low, z = first, []
    for k in range(max(MARKS)):
        z.append(latent(low) + (0.9 * (z[-1] - z[-2]) if k > 1 else 0))
        low = best(z[-1])[0]
        watch(k + 1, low)
    print("momentum .9, exact eigenpairs", *(f"{cost:.5f}" for cost in found))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        check_golden(sys.argv[2])
    rows = np.load(sys.argv[1], mmap_mode="r")
    rows = np.array(rows[:: max(1, len(rows) // 500)], dtype=float)
    print(f"{len(rows)} rows; cost after", *MARKS, "updates")
    compare(rows / rows.max())
