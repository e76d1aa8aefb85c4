"""How often `lowland select` recommends the true number of dimensions of noisy manifolds of 1,500 rows and 20 columns.

    python bench/select_dimensions.py target/release/lowland [--subsample all]

prints one row of a table per manifold. It draws its own subsamples through the program, so that other seeds can be tried (`--seed`).
With `--shipped` as the first flag, the program runs with its own defaults (number and size of subsamples, starts, iterations, neighbors),
on the held-out manifolds only.
"""

import json
import subprocess
import sys
import tempfile

import numpy as np

N, COLUMNS = 1500, 20


def rotate(z, seed, noise):
    """Rows of z in random directions of more columns, with noise relative to their spread."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(COLUMNS, z.shape[1])))[0]
    y = (z - z.mean(0)) / z.std() @ axes.T
    return y + noise * y.std() * rng.normal(size=y.shape)


def uniform(seed, low, high, *shape):
    return np.random.default_rng(seed).uniform(low, high, shape)


def sphere(d, seed):
    z = np.random.default_rng(seed).normal(size=(N, d + 1))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def ball(d, seed):
    z = sphere(d - 1, seed) * uniform(seed + 1, 0, 1, N, 1) ** (1 / d)
    return np.c_[z, z[:, :1] ** 2, np.tanh(2 * z[:, -1:])]


def torus(seed):
    a, b = uniform(seed, 0, 2 * np.pi, 2, N)
    return np.c_[(2 + np.cos(b)) * np.cos(a), (2 + np.cos(b)) * np.sin(a), np.sin(b)]


def roll(seed):
    t, height = uniform(seed, 0, 1, 2, N)
    angle = 1.5 * np.pi * (1 + 2 * t)
    return np.c_[angle * np.cos(angle), 20 * height, angle * np.sin(angle)]


def helix(seed):
    t = uniform(seed, 0, 4 * np.pi, N)
    return np.c_[np.cos(t), np.sin(t), 0.3 * t]


def spiral(seed):
    t = uniform(seed, 1, 4 * np.pi, N)
    return np.c_[t * np.cos(t), t * np.sin(t)]


def cone(seed):
    r, a = uniform(seed, 0.3, 1, N), uniform(seed + 1, 0, 5, N)
    return np.c_[r * np.cos(a), r * np.sin(a), r]


def saddle(seed):
    t = uniform(seed, -1, 1, N, 2)
    return np.c_[t, t[:, 0] ** 2 - t[:, 1] ** 2]


def quadratic(d, seed):
    t = uniform(seed, -1, 1, N, d)
    return np.c_[t, 0.3 * t[:, :1] * t, 0.2 * t[:, -1:] ** 2]


def slab(d, seed):
    t = uniform(seed, -1, 1, N, d) * np.linspace(1, 0.5, d)
    return np.c_[t, 0.3 * np.sin(2 * t)]


def sines(d, seed):
    t = uniform(seed, 0, 1, N, d)
    return np.hstack([np.sin(2 * t + i) * (1 - 0.1 * i) for i in range(3)])


MANIFOLDS = [
    ("helix", 1, helix(901)), ("sphere", 2, sphere(2, 902)), ("torus", 2, torus(903)), ("Swiss roll", 2, roll(904)),
    ("quadratic", 3, quadratic(3, 905)), ("unequal slab", 3, slab(3, 906)), ("sphere", 3, sphere(3, 907)),
    ("quadratic", 4, quadratic(4, 908)), ("unequal slab", 4, slab(4, 909)), ("quadratic", 2, quadratic(2, 910)),
    ("spiral", 1, spiral(1001)), ("cone", 2, cone(1002)), ("saddle", 2, saddle(1003)), ("sines", 2, sines(2, 1004)),
    ("ball", 3, ball(3, 1005)), ("sines", 3, sines(3, 1006)), ("ball", 4, ball(4, 1007)), ("sines", 4, sines(4, 1008)),
]  # fmt: skip


HELD_OUT = 10  # the index of the first
FEW = ["--subsamples", "2", "--subsample-rows", "140", "--starts", "1", "--max-iter", "25", "--n-neighbors", "8"]


def main(program, *flags):
    shipped = flags[:1] == ("--shipped",)
    few, flags = ([], flags[1:]) if shipped else (FEW, flags)
    with tempfile.TemporaryDirectory() as folder:
        for noise in (0.03, 0.08) if shipped else (0.02, 0.05, 0.08):
            for at, (name, d, z) in enumerate(MANIFOLDS):
                if shipped and at < HELD_OUT:
                    continue
                np.save(f"{folder}/rows.npy", rotate(z, 950 + at, noise).astype("f4"))
                lists = ["--n-components", f"{max(1, d - 1)}..{d + 1}", "--json", "--quiet"]
                command = [program, "select", f"{folder}/rows.npy", *few, *lists, *flags]
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
                choices = json.loads(said)["choices"]
                best = max(choices, key=lambda choice: choice["bound"])["n_components"]
                differences = ", ".join(f"{c['n_components']}: {c['difference']:.0f} ({c['error']:.0f})" for c in choices)
                print(f"| {name} | {d} | {noise} | {best} | {differences} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
