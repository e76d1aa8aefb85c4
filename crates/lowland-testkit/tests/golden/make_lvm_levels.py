"""Two levels of coarse-graining of 300 points, written from the paper (Saul 2020, eqs 25 and 26 and the supplement's section on
implementation) pair by pair, without the factors A and B that the library uses: python make_lvm_levels.py

There are half as many landmarks as usual, so that both the cells and the landmarks are large enough to be divided again: as in the library,
groups of fewer than 16 are not. The landmarks of a group are those of its members m with the smallest (37 m + 11 size) mod 307, so that they
differ from level to level."""

from pathlib import Path

import numpy as np

folder = Path(__file__).parent / "lvm"
n, k = 300, 4
rng = np.random.default_rng(5)
x = (rng.standard_normal((n, 3)) + 2.0 * (np.arange(n) % 3)[:, None]).astype(np.float32).astype(float)
distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(2))
near = np.argsort(distance + np.diag([np.inf] * n), axis=1)[:, :k]
edges = np.zeros((n, n), bool)
np.put_along_axis(edges, near, True, axis=1)
edges &= edges.T
edges[np.arange(n), near[:, 0]] = True
delta = distance / np.sqrt(2 * np.log(2))
similar, dissimilar, links = np.where(edges, 1.0, 0.0), [], []


def choose(members):
    count = int(round((len(members) ** 2 / 2) ** (1 / 3)) / 2 + 0.5)
    return sorted(sorted(range(len(members)), key=lambda a: (37 * members[a] + 11 * len(members)) % 307)[:count])


def divide(members, votes, scales, depth, are_inputs):
    """Adds the pairs of a group; `scales` holds Delta between all of its members."""
    size = len(members)
    if depth == 0 or size < 16:
        for a in range(size):
            for b in range(size):
                if a != b and not (are_inputs and edges[members[a], members[b]]):
                    dissimilar.append((members[a], members[b], votes[a] * votes[b], scales[a][b]))
        return
    landmarks = choose(members)
    cells = [[] for _ in landmarks]
    for a in range(size):
        lengths = [distance[members[a], members[l]] for l in landmarks]
        cells[landmarks.index(a) if a in landmarks else int(np.argmin(lengths))].append(a)
    for landmark, cell in zip(landmarks, cells):
        links.extend((members[landmark], members[a], votes[a]) for a in cell if a != landmark)
        divide([members[a] for a in cell], [votes[a] for a in cell], [[scales[a][b] for b in cell] for a in cell],
               depth - 1, are_inputs)
    apart = [[0.0] * len(landmarks) for _ in landmarks]
    for i, first in enumerate(cells):
        for j, second in enumerate(cells):
            if i != j:
                own, other = members[landmarks[i]], members[landmarks[j]]
                apart[i][j] = max(scales[a][b] + delta[own, members[a]] + delta[other, members[b]] for a in first for b in second)
    divide([members[l] for l in landmarks], [sum(votes[a] for a in cell) for cell in cells], apart, depth - 1, False)


reach = np.where(edges, delta, 0).max(1)
divide(list(range(n)), [1] * n, [[reach[i]] * n for i in range(n)], 2, True)
# Coarse-grained similarities sum to n, then dissimilarities to all similarities.
total = sum(weight for *_, weight in links)
for i, j, weight in links:
    similar[i, j] += weight * n / total
both = similar + similar.T
pairs = [(i, j, both[i, j], delta[i, j] ** 2) for i in range(n) for j in range(i + 1, n) if both[i, j] > 0]
factor = similar.sum() / sum(weight for _, _, weight, _ in dissimilar)
apart = sorted((i, j, weight * factor, scale) for i, j, weight, scale in dissimilar)
# Sorted by scale where a pair occurs more than once.
apart.sort(key=lambda pair: (pair[0], pair[1], pair[3]))
np.save(folder / "two_levels_x.npy", x)
np.save(folder / "two_levels_edges.npy", np.argwhere(edges).astype(float))
np.save(folder / "two_levels_similar.npy", np.array(pairs))
np.save(folder / "two_levels_dissimilar.npy", np.array(apart))
print(len(pairs), "similar pairs,", len(apart), "dissimilar ordered pairs,", len(links), "links")
