"""How far a map can be believed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _input, _lowland
from ._graph import as_graph


class Score(NamedTuple):
    """One score of a map."""

    name: str
    value: float
    #: Size of the neighbourhoods, where it has them.
    k: int | None
    #: How many rows, triplets or pairs were drawn; None when the value is exact over all.
    sampled: int | None
    #: Whether large values are good.
    higher_is_better: bool
    meaning: str


class Report(Mapping[str, float]):
    """The scores of a map by name; printed, a table."""

    def __init__(self, scores: list[Score], classes: dict[Any, float], omitted: dict[str, str]) -> None:
        #: Every score with its k, its sample and its meaning.
        self.scores = scores
        #: Mean share of a point's neighbours in the map that have its class, by class.
        self.classes = classes
        #: The scores that are not defined for this map, with reasons.
        self.omitted = omitted

    def __getitem__(self, name: str) -> float:
        for score in self.scores:
            if score.name == name:
                return score.value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(score.name for score in self.scores))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        lines = []
        for score in self.scores:
            name = score.name if score.k is None else f"{score.name} (k = {score.k})"
            drawn = "" if score.sampled is None else f" [{score.sampled} drawn]"
            lines.append(f"{name:<32} {score.value:8.4f}  {score.meaning}{drawn}")
        lines += [f"{'neighbours of class ' + str(name):<32} {share:8.4f}" for name, share in self.classes.items()]
        lines += [f"{name:<32} left out: {reason}" for name, reason in self.omitted.items()]
        return "\n".join(lines)


def report(
    X: Any,
    Y: Any,
    labels: Any = None,
    *,
    n_neighbors: int = 15,
    metric: str = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Report:
    """Scores the map `Y` of the rows `X`: what ``lowland quality`` prints.

    No score needs a matrix of all distances. `neighbors`, a NeighborGraph of `X` with `n_neighbors` or more, is taken
    as the truth and saves the search.

    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> scores = lowland.quality.report(X, lowland.PCA().fit_transform(X), y)
    >>> round(scores["trustworthiness"], 2)
    0.83
    """
    codes, classes = None, []
    if labels is not None:
        classes, numbers = _input.classes(labels)
        codes = numbers.tolist()
    graph = as_graph(neighbors)
    scores, shares, omitted = _lowland.report(
        _input.rows(X),
        _input.points(Y),
        codes,
        int(n_neighbors),
        _input.metric_text(metric, metric_params),
        _input.seed(random_state),
        _input.threads(n_jobs),
        None if graph is None else graph._graph,
    )
    by_class = {classes[code]: share for code, _, share in shares}
    return Report([Score(*score) for score in scores], by_class, dict(omitted))


def procrustes(A: Any, B: Any) -> float:
    """What is left between two maps after the best shift, rotation and scale: 0 (the same) to 1.

    >>> import lowland
    >>> lowland.quality.procrustes([[0, 0], [1, 0], [0, 2]], [[5, 5], [5, 6], [3, 5]]) < 1e-12
    True
    """
    return _lowland.procrustes(_input.points(A), _input.points(B))


class Angles(NamedTuple):
    """How well a map keeps norms and small angles."""

    #: Mean change of the angles below the threshold, in degrees.
    deviation: float
    #: Pairs below the threshold in both rows and map, as a share of those below it in either.
    jaccard: float
    #: Change of the norms, relative to the norms.
    norm_error: float
    #: Pairs below the threshold among the rows, in both orders and each row with itself.
    pairs: int


def angles(X: Any, Y: Any, tau: float, *, n_jobs: int | None = None) -> Angles:
    """Scores the map `Y` of the rows `X` by the pairs whose cosine exceeds `tau`: ``lowland quality --tau``.

    >>> import lowland
    >>> X = lowland.datasets.load("digits").data[:300]
    >>> lowland.quality.angles(X, X, tau=0.8).jaccard
    1.0
    """
    return Angles(*_lowland.angles(_input.rows(X), _input.points(Y), float(tau), _input.threads(n_jobs)))


class AngleHistogram(NamedTuple):
    """Angles between rows, and the threshold to take for them."""

    #: Pairs of a row and its nearest, for each degree from 0 to 180.
    nearest: np.ndarray
    #: All other pairs.
    others: np.ndarray
    #: Rows that were compared with all.
    rows: int
    #: The cosine that the share of pairs asked for exceeds.
    tau: float


def angle_histogram(
    X: Any, density: float = 0.01, *, n_jobs: int | None = None, random_state: Any = None
) -> AngleHistogram:
    """The angles by which TSM with ``tau='auto'`` chooses its threshold: ``lowland select --method tsm``.

    >>> import lowland
    >>> found = lowland.quality.angle_histogram(lowland.datasets.load("digits").data, density=0.05)
    >>> int(found.nearest.sum()), 0 < found.tau < 1
    (1797, True)
    """
    nearest, others, rows, tau = _lowland.angle_histogram(
        _input.rows(X), float(density), _input.seed(random_state), _input.threads(n_jobs)
    )
    return AngleHistogram(np.asarray(nearest), np.asarray(others), rows, tau)


class AnalogyScore(NamedTuple):
    """Answers to the questions of one category."""

    category: str
    right: int
    asked: int
    #: Questions with a word that has no vector.
    left_out: int


def analogies(
    vectors: Any, words: Iterable[str], questions: str | os.PathLike[str], *, n_jobs: int | None = None
) -> list[AnalogyScore]:
    """Whether sums and differences of word vectors still mean something: ``lowland analogies``.

    `questions` is a file of lines with four words, as in ``Athens Greece Oslo Norway``, under lines ``: category``.
    """
    text = Path(questions).read_text(encoding="utf-8")
    scores = _lowland.analogies(_input.points(vectors), [str(w) for w in words], text, _input.threads(n_jobs))
    return [AnalogyScore(*score) for score in scores]
