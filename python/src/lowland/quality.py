"""Quality measures of embeddings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _device, _input, _lowland, _metrics, _parameters
from ._graph import as_graph
from ._labels import column

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Score(NamedTuple):
    """A single score of an embedding."""

    name: str
    value: float
    #: Size of the neighborhoods, if the score has them.
    k: int | None
    #: Number of rows, triplets or pairs in the sample; None if all of them were used.
    sampled: int | None
    #: Standard error of the value over samples; None if all of them were used.
    standard_error: float | None
    #: Whether larger values are better.
    higher_is_better: bool
    #: Description of the score.
    meaning: str


class Report(Mapping[str, float]):
    """Scores of an embedding by name; printed as a table.

    Attributes
    ----------
    scores : list of Score
        All scores, with neighborhood size, sample size and description.
    classes : dict
        For each class, the mean fraction of the neighbors of its points that belong to the same class.
    omitted : dict of str
        Scores that are not defined for this embedding, with reasons.
    rows : list of dict
        All of it as rows of a table, for ``pandas.DataFrame(report.rows)``.
    """

    def __init__(self, scores: list[Score], classes: dict[Any, float], omitted: dict[str, str]) -> None:
        self.scores: list[Score] = scores
        self.classes: dict[Any, float] = classes
        self.omitted: dict[str, str] = omitted

    @classmethod
    def from_parts(cls, parts: Any, classes: list[Any], reasons: Mapping[str, str]) -> Report:
        """Create a report from what the Rust module returns."""
        scores, shares, omitted = parts
        by_class = {classes[code]: share for code, _, share in shares}
        return cls([Score(*score) for score in scores], by_class, {**dict(omitted), **reasons})

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All scores, shares of classes and omitted scores as rows of a table."""
        empty = {"k": None, "sampled": None, "standard_error": None, "class": None, "higher_is_better": True, "meaning": ""}
        rows: list[dict[str, Any]] = [{**empty, **score._asdict()} for score in self.scores]
        meaning = "mean share of the neighbors of a point of the class that belong to it"
        rows += [
            {**empty, "name": "class neighbor share", "value": share, "class": name, "meaning": meaning}
            for name, share in self.classes.items()
        ]
        return rows + [
            {**empty, "name": name, "value": float("nan"), "meaning": f"omitted: {reason}"}
            for name, reason in self.omitted.items()
        ]

    def __getitem__(self, name: str | tuple[str, int]) -> float:
        """Return a score by its name, or by its name and the size of the neighborhoods."""
        for score in self.scores:
            if name in (score.name, (score.name, score.k)):
                return score.value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(score.name for score in self.scores))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        lines = []
        width = 9 if any(score.standard_error is not None for score in self.scores) else 0
        for score in self.scores:
            name = score.name if score.k is None else f"{score.name} (k = {score.k})"
            sample = "" if score.sampled is None else f" [sample of {score.sampled}]"
            error = "" if score.standard_error is None else f" ± {score.standard_error:.4f}"
            lines.append(f"{name:<32} {score.value:8.4f}{error:<{width}}  {score.meaning}{sample}")
        lines += [f"{'neighbors of class ' + str(name):<32} {share:8.4f}" for name, share in self.classes.items()]
        lines += [f"{name:<32} omitted: {reason}" for name, reason in self.omitted.items()]
        return "\n".join(lines)


def report(
    X: Any,
    Y: Any,
    labels: Any = None,
    *,
    n_neighbors: int = 15,
    metric: str | Callable[..., float] = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = None,
    n_jobs: int | None = None,
    device: str = "auto",
    random_state: Any = None,
) -> Report:
    """Compute the scores of the embedding Y of the rows X, as ``lowland quality`` does.

    No score needs a matrix of all distances.

    Parameters
    ----------
    X : array-like, sparse matrix, table (pandas, polars, pyarrow) or list of str of n_samples rows
    Y : fitted estimator or array-like of shape (n_samples, n_components)
        The embedding.
    labels : array-like of shape (n_samples,), default=None
        Class of each row. Numbers that are no integers are not classes, and are not used.
    n_neighbors : int, default=15
        Size of the neighborhoods.
    metric : str or callable, default='euclidean'
        Distance between rows: a name, or a symmetric function of two rows, which is called for every pair.
    metric_params : dict, default=None
        Parameters of the metric, such as ``{'p': 3}`` for ``'minkowski'``.
    neighbors : NeighborGraph, sparse matrix or pair of arrays, default=None
        Nearest neighbors of the rows, at least `n_neighbors` of each, which saves the search.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS. The result does
        not depend on it.
    device : {'auto', 'cpu', 'cuda'} or 'cuda:N', default='auto'
        Where to compute: on an NVIDIA card where that is faster and there is one, on the processor, or on a card.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the samples. None means the seed 0.

    Returns
    -------
    report : Report

    Examples
    --------
    >>> import lowland
    >>> X, y = lowland.datasets.load("digits", return_X_y=True)
    >>> scores = lowland.quality.report(X, lowland.PCA().fit_transform(X), y)
    >>> round(scores["trustworthiness"], 2)
    0.83
    """
    rows, points, name = _input.rows(X), _input.embedding(Y), _parameters.metric_name(metric, metric_params)
    if not isinstance(metric, str):
        rows = _metrics.distances(rows, metric, metric_params)
    classes, codes, reasons = label_codes(labels, len(points))
    graph = as_graph(neighbors)
    with _device.using(device):
        parts = _lowland.report(
            rows,
            points,
            codes,
            _parameters.integer("n_neighbors", n_neighbors, at_least=1),
            name,
            _input.seed(random_state),
            _input.threads(n_jobs),
            None if graph is None else graph._graph,
        )
    return Report.from_parts(parts, classes, reasons)


def label_codes(labels: Any, n_points: int) -> tuple[list[Any], list[int] | None, dict[str, str]]:
    """Return the classes and the index of each label, or why there are none."""
    if labels is None:
        return [], None, {}
    try:
        # Integers are classes, however many there are.
        found = column(labels, max_integers=float("inf"))
    except ValueError as error:
        raise ValueError(f"labels: {error}") from None
    n_labels = len(found.numbers) if found.names is None else len(found.codes)
    if n_labels != n_points:
        raise ValueError(f"labels: expected {n_points} values, found {n_labels}")
    if found.names is None:
        reason = "the labels are numbers and not classes (convert them to text if they are)"
        return [], None, dict.fromkeys(("classification error", "class neighbor share"), reason)
    return found.names, found.codes.tolist(), {}


def procrustes(A: Any, B: Any) -> float:
    """Return the disparity of two embeddings after the best translation, rotation and scaling.

    Parameters
    ----------
    A, B : array-like of shape (n_samples, n_components)

    Returns
    -------
    disparity : float
        From 0 (the same) to 1.

    Examples
    --------
    >>> import lowland
    >>> lowland.quality.procrustes([[0, 0], [1, 0], [0, 2]], [[5, 5], [5, 6], [3, 5]]) < 1e-12
    True
    """
    return _lowland.procrustes(_input.points(A), _input.points(B))


class Angles(NamedTuple):
    """Errors of norms and small angles."""

    #: Mean change of the angles below the threshold, in degrees.
    deviation: float
    #: Jaccard index of the pairs below the threshold among the rows and in the embedding.
    jaccard: float
    #: Relative error of the norms.
    norm_error: float
    #: Number of ordered pairs below the threshold among the rows, including each row with itself.
    pairs: int


def angles(X: Any, Y: Any, tau: float, *, n_jobs: int | None = None) -> Angles:
    """Compare norms and small angles of the rows X and the embedding Y, as ``lowland quality --tau`` does.

    Parameters
    ----------
    X : array-like, sparse matrix or table of n_samples rows
    Y : array-like of shape (n_samples, n_components)
        The embedding.
    tau : float
        Pairs whose cosine exceeds this threshold are compared.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS.

    Returns
    -------
    angles : Angles

    Examples
    --------
    >>> import lowland
    >>> X = lowland.datasets.load("digits").data[:300]
    >>> lowland.quality.angles(X, X, tau=0.8).jaccard
    1.0
    """
    return Angles(*_lowland.angles(_input.rows(X), _input.points(Y), float(tau), _input.threads(n_jobs)))


class AngleHistogram(NamedTuple):
    """Histogram of the angles between rows, and the threshold derived from it."""

    #: Number of pairs of a row and its nearest neighbor, for each degree from 0 to 180.
    nearest: NDArray[np.int64]
    #: Number of all other pairs.
    others: NDArray[np.int64]
    #: Number of rows that were compared with all others.
    rows: int
    #: Cosine exceeded by the requested fraction of pairs.
    tau: float


def angle_histogram(
    X: Any, density: float = 0.01, *, n_jobs: int | None = None, random_state: Any = None
) -> AngleHistogram:
    """Compute the histogram from which TSM with ``tau='auto'`` derives its threshold.

    It is what ``lowland select --method tsm`` shows.

    Parameters
    ----------
    X : array-like, sparse matrix or table of n_samples rows
    density : float, default=0.01
        Fraction of all pairs that are considered similar.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS.
    random_state : int, RandomState instance or Generator, default=None
        Seed of the sample of rows. None means the seed 0.

    Returns
    -------
    histogram : AngleHistogram

    Examples
    --------
    >>> import lowland
    >>> histogram = lowland.quality.angle_histogram(lowland.datasets.load("digits").data, density=0.05)
    >>> int(histogram.nearest.sum()), 0 < histogram.tau < 1
    (1797, True)
    """
    nearest, others, rows, tau = _lowland.angle_histogram(
        _input.rows(X), float(density), _input.seed(random_state), _input.threads(n_jobs)
    )
    return AngleHistogram(np.asarray(nearest), np.asarray(others), rows, tau)


class AnalogyScore(NamedTuple):
    """Answers to the analogy questions of one category."""

    category: str
    #: Number of correct answers.
    right: int
    #: Number of questions that were asked.
    asked: int
    #: Number of questions that were skipped because a word has no vector.
    left_out: int


def analogies(
    vectors: Any, words: Iterable[str], questions: str | os.PathLike[str], *, n_jobs: int | None = None
) -> list[AnalogyScore]:
    """Answer analogy questions by sums and differences of word vectors, as ``lowland analogies`` does.

    Parameters
    ----------
    vectors : array-like of shape (n_words, n_components)
    words : iterable of str
        The word of each vector.
    questions : path-like
        File with a line ``: category`` for each category, followed by lines of four words such as
        ``Athens Greece Oslo Norway``.
    n_jobs : int, default=None
        Number of threads. -1 means all cores; None too, within the limits of joblib and OMP_NUM_THREADS.

    Returns
    -------
    scores : list of AnalogyScore
    """
    text = Path(questions).read_text(encoding="utf-8")
    word_list = [str(word) for word in words]
    scores = _lowland.analogies(_input.points(vectors), word_list, text, _input.threads(n_jobs))
    return [AnalogyScore(*score) for score in scores]
