"""The Rust module. Rows are arrays, parts of a sparse matrix or strings; parameters are passed as text."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

Array = NDArray[Any]
Rows = Array | tuple[Array, Array, Array, int] | list[str]
ScoreLine = tuple[str, float, int | None, int | None, bool, str]
ReportParts = tuple[list[ScoreLine], list[tuple[int, int, float]], list[tuple[str, str]]]

class Graph:
    @staticmethod
    def from_parts(indptr: Array, indices: Array, distances: Array, metric: str) -> Graph: ...
    @staticmethod
    def load(path: str) -> Graph: ...
    def save(self, path: str) -> None: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Graph: ...
    def to_bytes(self) -> bytes: ...
    def indptr(self) -> NDArray[np.int64]: ...
    def indices(self) -> NDArray[np.int64]: ...
    def distances(self) -> NDArray[np.float32]: ...
    @property
    def rows(self) -> int: ...
    @property
    def min_degree(self) -> int: ...
    @property
    def metric(self) -> str: ...

class Model:
    @staticmethod
    def load(path: str) -> Model: ...
    def save(self, path: str) -> None: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def transform(
        self, rows: Rows, threads: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64] | None]: ...
    def score(self, rows: Rows, threads: int | None = None) -> NDArray[np.float64]: ...
    def inverse_transform(self, points: NDArray[np.float64], threads: int | None = None) -> NDArray[np.float32]: ...
    def embedding(self) -> NDArray[np.float64]: ...
    def inferred_cells(
        self,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]] | None: ...
    def std(self) -> NDArray[np.float64] | None: ...
    def covariances(self) -> NDArray[np.float64] | None: ...
    def transform_covariances(self, rows: Rows, threads: int | None = None) -> NDArray[np.float64]: ...
    def samples(self, count: int, seed: int, max_memory: int | None = None) -> NDArray[np.float64]: ...
    def objectives(self) -> NDArray[np.float64]: ...
    @property
    def stop_reason(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def note_records(self) -> list[tuple[str, str, str]]: ...
    @property
    def fitted_dtype(self) -> str: ...
    def inverse_transform_std(
        self, points: NDArray[np.float64], threads: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]: ...
    def linear(self) -> dict[str, NDArray[np.float64]] | None: ...
    def isomap(self) -> dict[str, NDArray[np.float64]] | None: ...
    def geodesic_distances(self) -> NDArray[np.float64]: ...
    @property
    def method(self) -> str: ...
    @property
    def params(self) -> list[tuple[str, str]]: ...
    @property
    def preprocessing(self) -> list[tuple[str, str]]: ...
    @property
    def seed(self) -> int: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def kind(self) -> str: ...
    @property
    def n_features(self) -> int: ...

def fit(
    method: str,
    params: list[tuple[str, str]],
    rows: Rows,
    *,
    preprocessing: list[tuple[str, str]] = ...,
    graph: Graph | None = None,
    init: NDArray[np.float64] | None = None,
    fixed: NDArray[np.float64] | None = None,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | None = None,
    feature_names: list[str] = ...,
    on_progress: Callable[[str, float, int | None, float | None], Any] | None = None,
    on_note: Callable[[str], Any] | None = None,
    on_step: Callable[[int, float, NDArray[np.float64]], bool] | None = None,
    every: int = 50,
    checkpoint: str | None = None,
    checkpoint_every: float = 60.0,
    resume: str | None = None,
    single: bool = False,
    inverse_covariance: NDArray[np.float64] | None = None,
) -> tuple[Model, BaseException | None]: ...
def neighbors(
    rows: Rows,
    n_neighbors: int,
    metric: str,
    search: str,
    seed: int,
    threads: int | None = None,
    max_memory: int | None = None,
    inverse_covariance: NDArray[np.float64] | None = None,
) -> tuple[Graph, float | None]: ...
def required_neighbors(method: str, params: list[tuple[str, str]], rows: int) -> int: ...
def compare_edges(
    rows: Rows,
    params: list[tuple[str, str]],
    without: list[tuple[int, int]],
    edges: list[tuple[int, int]] | None = None,
    screen: int | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | None = None,
) -> tuple[list[tuple[str, list[float]]], list[tuple[int, int, float, float]], str]: ...
def run_command(arguments: list[str]) -> int: ...
def report_of_model(
    model: Model,
    labels: list[int] | None,
    n_neighbors: int,
    metric: str,
    seed: int,
    threads: int | None = None,
    graph: Graph | None = None,
) -> ReportParts: ...
def report(
    rows: Rows,
    map: NDArray[np.float64],
    labels: list[int] | None,
    n_neighbors: int,
    metric: str,
    seed: int,
    threads: int | None = None,
    graph: Graph | None = None,
) -> ReportParts: ...
def instability(rows: Rows, model: Model, reruns: int, threads: int | None = None) -> list[float]: ...
def assess(
    rows: Rows,
    map: NDArray[np.float64],
    n_neighbors: int,
    metric: str,
    fdr: float,
    everything: bool,
    seed: int,
    threads: int | None = None,
    graph: Graph | None = None,
) -> tuple[
    list[tuple[str, str, list[float]]],
    list[tuple[int, list[int] | None, float | None]],
    list[tuple[list[int], str, int, int, float | None]],
    list[str],
    list[tuple[str, str]],
]: ...
def procrustes(a: NDArray[np.float64], b: NDArray[np.float64]) -> float: ...
def angles(
    rows: Rows, map: NDArray[np.float64], tau: float, threads: int | None = None
) -> tuple[float, float, float, int]: ...
def angle_histogram(
    rows: Rows, density: float, seed: int, threads: int | None = None
) -> tuple[list[int], list[int], int, float]: ...
def analogies(
    vectors: NDArray[np.float64], words: list[str], questions: str, threads: int | None = None
) -> list[tuple[str, int, int, int]]: ...
def methods() -> list[tuple[str, str, str, list[tuple[str, str, str, str]]]]: ...
def preprocessing() -> list[tuple[str, str, str, str]]: ...
def datasets() -> list[tuple[str, str, int, int]]: ...
def dataset(
    name: str, n_points: int | None = None, noise: float | None = None, seed: int = 0
) -> tuple[NDArray[np.float32], tuple[list[int], list[str]] | None, NDArray[np.float64] | None]: ...
def write_file(path: str | os.PathLike[str], content: bytes) -> None: ...
def page(
    title: str,
    maps: list[tuple[str, str, NDArray[np.float64], list[float] | None, list[float] | None, list[tuple[str, list[float]]]]],
    *,
    rows: Rows | None = None,
    classes: list[tuple[str, list[int], list[str]]] = ...,
    numbers: list[tuple[str, list[float]]] = ...,
    ids: list[str] | None = None,
    graph: Graph | None = None,
    slider: list[float] | None = None,
    threads: int | None = None,
) -> bytes: ...
def choose_method(
    rows: Rows,
    params: list[tuple[str, str]],
    *,
    preprocessing: list[tuple[str, str]] = ...,
    uses_neighbors: bool = False,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | None = None,
) -> tuple[str, str, list[tuple[str, float, float, float]], list[tuple[str, str]]]: ...
def fit_spectrum(
    params: list[tuple[str, str]],
    exaggerations: list[float],
    rows: Rows,
    *,
    labels: list[int] | None = None,
    preprocessing: list[tuple[str, str]] = ...,
    graph: Graph | None = None,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | None = None,
    on_progress: Callable[[str, float, int | None, float | None], Any] | None = None,
    on_note: Callable[[str], Any] | None = None,
) -> tuple[list[tuple[float, NDArray[np.float64], ReportParts]], Graph | None, BaseException | None]: ...
def choose(
    rows: Rows,
    params: list[tuple[str, str]],
    n_neighbors: list[int],
    n_components: list[int],
    subsamples: int,
    subsample_rows: int,
    subsample: str,
    *,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | None = None,
) -> tuple[list[tuple[int, int, list[list[float]]]], int | None, list[int], str]: ...
