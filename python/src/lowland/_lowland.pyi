"""The Rust module. Rows are arrays, parts of a sparse matrix or strings; parameters are passed as text."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

Array = NDArray[Any]
Rows = Array | tuple[Array, Array, Array, int] | list[str]
ScoreLine = tuple[str, float, int | None, int | None, float | None, bool, str]
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
    @staticmethod
    def combine(graphs: list[Graph], how: str, weight: float) -> Graph: ...
    def indptr(self) -> NDArray[np.int64]: ...
    def indices(self) -> NDArray[np.int64]: ...
    def distances(self) -> NDArray[np.float32]: ...
    @property
    def rows(self) -> int: ...
    @property
    def min_degree(self) -> int: ...
    @property
    def metric(self) -> str: ...

class DividedMethod:
    def __init__(self, method: str, parameters: list[tuple[str, str]], points: int) -> None: ...
    @property
    def n_components(self) -> int: ...
    @property
    def n_neighbors(self) -> int: ...
    @property
    def metric(self) -> str: ...
    @property
    def tolerance(self) -> float: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def tol(self) -> float: ...
    @property
    def init_sizes(self) -> list[float]: ...
    @property
    def drifts(self) -> bool: ...
    @property
    def shares_marginals(self) -> bool: ...
    def row_affinities(self, distances: NDArray[np.float32]) -> NDArray[np.float64]: ...

class EmbeddingPart:
    def __init__(
        self, method: DividedMethod, start: NDArray[np.float64], numbers: NDArray[np.int64], triplets: tuple[Array, Array, Array]
    ) -> None: ...
    def sums_and_bounds(self) -> tuple[list[float], list[list[float]]]: ...
    def begin(self, mean: list[float], bounds: list[list[float]], accuracy: float) -> NDArray[np.float64]: ...
    def positions_of(self, points: NDArray[np.uint32]) -> NDArray[np.float64]: ...
    def marginals_of(self, points: NDArray[np.uint32]) -> NDArray[np.float64]: ...
    def set_marginals(self, marginals: NDArray[np.float64]) -> None: ...
    def map_marginals_of(self, points: NDArray[np.uint32]) -> NDArray[np.float64]: ...
    def set_copies(self, copies: NDArray[np.float64]) -> None: ...
    def forces(self, grid: NDArray[np.float64], map_marginals: NDArray[np.float64], with_value: bool) -> list[float]: ...
    def step(self, iteration: int, total: list[float]) -> float: ...
    def value(self, iteration: int, total: list[float]) -> float: ...
    def has_pending_changes(self, iteration: int) -> bool: ...
    def grid_sums(self, points: NDArray[np.uint32]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
    def exact_sums(self, targets: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def state(self) -> list[NDArray[np.float64]]: ...
    def restore(self, state: list[NDArray[np.float64]]) -> None: ...

class Model:
    @staticmethod
    def load(path: str) -> Model: ...
    def save(self, path: str) -> None: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def transform(
        self, rows: Rows, threads: int | None = None, exact: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64] | None]: ...
    def preprocess(self, rows: Rows) -> NDArray[np.float64]: ...
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
    def membership_graph(
        self, threads: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None: ...
    def local_radii(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None: ...
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

SparseArrays = tuple[Array, Array, Array, int]

class StudentField:
    def __new__(
        cls, affinities: SparseArrays, scale: float, power: float, dim: int, engine: str, accuracy: float
    ) -> StudentField: ...
    def evaluate(
        self,
        points: Array,
        map: Array | None = None,
        exaggeration: float = 1.0,
        with_divergence: bool = False,
        threads: int | None = None,
    ) -> tuple[NDArray[np.float64], float | None]: ...

def entropic_weights(
    distances: Array, perplexity: float, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def laplacian_eigenvectors(
    weights: SparseArrays, count: int, tolerance: float, seed: int, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]: ...
def smallest_eigenpairs(
    matrix: SparseArrays, count: int, seed: int, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]: ...
def nearest_to(
    new: Rows, data: Rows, n_neighbors: int, metric: str, threads: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
def umap_memberships(
    params: list[tuple[str, str]], graph: Graph, threads: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def umap_curve(params: list[tuple[str, str]]) -> tuple[float, float]: ...
def umap_layout(
    params: list[tuple[str, str]],
    rows: Rows,
    weights: SparseArrays,
    init: Array | None = None,
    distances: Graph | None = None,
    seed: int = 0,
    threads: int | None = None,
    on_step: Callable[[int, float, NDArray[np.float64], float | None], bool] | None = None,
    every: int = 1,
) -> tuple[NDArray[np.float64], tuple[NDArray[np.float64], NDArray[np.float64]] | None]: ...
def umap_new_memberships(
    params: list[tuple[str, str]], indices: tuple[Array, Array], distances: Array, rows: int, mean_distance: float
) -> NDArray[np.float64]: ...
def umap_placement(
    params: list[tuple[str, str]],
    map: Array,
    indices: tuple[Array, Array],
    distances: Array,
    mean_distance: float,
    seed: int = 0,
    threads: int | None = None,
) -> NDArray[np.float64]: ...
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
    on_step: Callable[[int, float, NDArray[np.float64], float | None], bool] | None = None,
    every: int = 50,
    checkpoint: str | None = None,
    checkpoint_every: float = 60.0,
    resume: str | None = None,
    single: bool = False,
    inverse_covariance: NDArray[np.float64] | None = None,
    target: list[str] | None = None,
    continue_from: Model | None = None,
    shared: list[tuple[int, int]] | None = None,
    anchor: str = "exact",
    align_to: NDArray[np.float64] | None = None,
) -> tuple[Model, BaseException | None]: ...
def fit_sequence(
    method: str,
    params: list[tuple[str, str]],
    slices: list[Rows],
    shared: list[list[tuple[int, int]]],
    anchor: str,
    passes: int,
    *,
    preprocessing: list[tuple[str, str]] = ...,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | None = None,
    feature_names: list[str] = ...,
    on_progress: Callable[[str, float, int | None, float | None], Any] | None = None,
    on_note: Callable[[str], Any] | None = None,
) -> list[Model]: ...
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
def set_device(name: str) -> str: ...
def devices() -> tuple[list[dict[str, Any]], str | None]: ...
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
def instability(
    rows: Rows, model: Model, reruns: int, threads: int | None = None, target: list[str] | None = None
) -> list[float]: ...
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
    model: Model | None = None,
) -> tuple[
    list[tuple[str, str, list[float]]],
    list[tuple[int, list[int] | None, float | None]],
    list[tuple[list[int], str, int, int, float | None]],
    list[str],
    list[tuple[str, str]],
    tuple[str, bool] | None,
    tuple[int, float, int, float],
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
    palette: str = "default",
    threads: int | None = None,
) -> bytes: ...
def draw(
    format: str,
    maps: list[tuple[str, str, NDArray[np.float64], list[float] | None, list[float] | None, list[tuple[str, list[float]]]]],
    options: dict[str, Any],
    *,
    classes: tuple[list[int], list[str]] | None = None,
    values: tuple[str, list[float]] | None = None,
    levels: list[tuple[list[int], list[str]]] = ...,
    ids: list[str] | None = None,
    threads: int | None = None,
) -> tuple[bytes, list[str]]: ...
def embedded_fonts() -> list[tuple[str, bytes]]: ...
def plain_text(text: str) -> str: ...
def islands(
    points: NDArray[np.float64], *, rows: Rows | None = None, columns: list[str] | None = None, ids: list[str] | None = None
) -> tuple[list[int], list[str]]: ...
def label_places(
    points: NDArray[np.float64], codes: list[int], names: list[str], name: str, background: tuple[int, int, int], font_size: float
) -> tuple[
    list[tuple[str, list[float], float, list[float], tuple[list[float], float, list[float]] | None]], list[list[list[float]]], bool
]: ...
def palette_classes(codes: list[int], names: list[str], name: str, background: tuple[int, int, int]) -> list[list[float]]: ...
def palette_names() -> list[str]: ...
def palette_scale(count: int, name: str, background: tuple[int, int, int]) -> tuple[list[list[float]], bool]: ...
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
