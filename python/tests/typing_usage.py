"""A program whose types are checked in strict mode by ``test_typing.py``; it is not run."""

from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import lowland

X = np.zeros((100, 5))
Floats = NDArray[np.floating[Any]]

model = lowland.LVM(n_neighbors=12, levels="auto", metric="cosine").fit(X)
assert_type(model, lowland.LVM)
assert_type(model.embedding_, Floats)
assert_type(model.embedding_std_, Floats)
assert_type(model.transform(X), Floats)
assert_type(model.lower_bound_, Optional[float])
assert_type(model.n_iter_, int)
assert_type(model.notes_, list[str])
assert_type(model.inverse_transform(X[:, :2]), Floats)
assert_type(model.inverse_transform(X[:, :2], return_std=True), tuple[Floats, Floats])
assert_type(model.set_params(n_neighbors=5), lowland.LVM)
assert_type(lowland.LVM.load("model.lowland"), lowland.LVM)
assert_type(lowland.PCA(0.95).fit(X).explained_variance_ratio_, NDArray[np.float64])
assert_type(lowland.LLLVM().fit(X).embedding_cov_, Floats)
assert_type(lowland.TSNE(init=X[:, :2], perplexity=[30.0, 300.0]).fit_transform(X), Floats)


def distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.abs(a - b).sum())


graph = lowland.neighbors(X, 15, metric=distance)
assert_type(graph.indices, NDArray[np.int64])
report = lowland.quality.report(X, model, neighbors=graph)
assert_type(report["trustworthiness"], float)
assert_type(report.scores[0].k, Optional[int])
assert_type(lowland.compare(X, ["lvm", "pca"])["pca"].embedding_, Floats)
assert_type(lowland.select(X).best, "lowland._select.Choice | None")  # pyright: ignore[reportPrivateUsage]
assert_type(lowland.view(model).html, bytes)
assert_type(lowland.plot(model).get_title(), str)

lowland.LVM(search="fastest")  # type: ignore[arg-type]
lowland.LVM(n_neighbors="15")  # type: ignore[arg-type]
lowland.LVM(neighbours=15)  # type: ignore[call-arg]
lowland.unknown  # type: ignore[attr-defined]
