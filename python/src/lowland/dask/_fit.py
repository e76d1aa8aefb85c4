"""Neighbor embeddings and MAP IT of all rows of a collection, across the workers.

The rows live where their neighbors live. In each iteration every worker spreads its points over the grid of the repulsion, the grids are
added up in a fixed order, every worker reads its repulsion from the sum, and only the positions of rows with neighbors elsewhere travel.
"""

from __future__ import annotations

import glob
import json
import os
import time
from typing import Any

import numpy as np

from .. import _input, _lowland
from .._parameters import invalid, python_name
from ._neighbors import METRICS, N_PROBE, DistributedGraph, find_neighbors
from ._part import Part, PartError, PartInput, edges_by_owner, write_file
from ._rows import block_lengths, check_memory, get_client
from ._tasks import (
    add,
    identity,
    in_order,
    make_input,
    measured_rows,
    nearest_only,
    part_result,
    pca_start,
    pick,
    random_start,
    row_ids,
    row_moments,
    rows_between,
    save_input,
)

#: Iterations between two measurements.
_MEASURE_EVERY = 25
#: Most attempts to meet the tolerance at one measurement, and the smallest error that is asked for.
_MAX_ATTEMPTS, _MIN_REQUEST = 6, 1e-12
#: How often workers may be lost at the same iteration.
_MAX_LOSSES = 5
#: Iterations between two values of the objective.
_VALUE_EVERY = 25
#: Noise relative to the size of the initial map, which separates equal rows.
_JITTER = 0.01


class DistributedMap:
    """The map of all rows.

    Attributes
    ----------
    embedding : dask array of shape (n, n_components)
        The rows in the order of the data, in blocks of the same numbers of rows; empty blocks are left out.
    n_iter, converged : int, bool
    objective : float
        Value of the objective at the last iteration.
    objectives : list of (iteration, value)
    repulsion_error : float
        Relative error of the repulsive force at the last measurement.
    recall : float or None
        Share of the neighbors that were found, of an approximate search.
    restarts : int
        How often the fit continued from its saved state because a worker was lost.
    bytes_received : int
        Bytes that the workers have sent to each other during the iterations.
    """

    embedding: Any
    n_iter: int
    converged: bool
    objective: float
    objectives: list[tuple[int, float]]
    repulsion_error: float
    recall: float | None
    restarts: int
    bytes_received: int

    def __init__(self) -> None:
        self.embedding, self.recall, self.objectives = None, None, []
        self.n_iter, self.converged, self.restarts, self.bytes_received = 0, False, 0, 0
        self.objective, self.repulsion_error = float("nan"), float("nan")


def fit(
    estimator: Any,
    X: Any = None,
    *,
    neighbors: DistributedGraph | None = None,
    init: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 5.0,
    resume: bool = False,
    callback: Any = None,
    client: Any = None,
) -> DistributedMap:
    """Fit t-SNE, symmetric SNE, the elastic embedding or MAP IT to all rows of a dask array or dataframe, across the workers.

    The result is that of a fit on one machine to the same neighbor graph with ``engine='fft'`` and, but for MAP IT, ``optimizer='gd'`` and
    ``accuracy='fixed'``, up to rounding, for any number of workers; with the same number of parts it is the same to the byte.

    Parameters
    ----------
    estimator : TSNE, SymmetricSNE, ElasticEmbedding or MapIt
        Its parameters; it is not fitted itself. The defaults of `engine`, `optimizer` and `accuracy` stand for the values above. A parameter
        that a cluster cannot honor is an error unless it has its default value.
    X : dask array or dataframe of n rows, default=None
        Not needed with `neighbors`: the map then has the blocks of the collection that was searched.
    neighbors : DistributedGraph, default=None
        From :func:`neighbors`, with at least as many neighbors as the estimator needs. None searches for them.
    init : {'pca', 'random'} or array of shape (n, n_components), default=None
        Initial map. An array is used as it is. None means `init` of the estimator, whose default is 'pca' here.
    checkpoint : path-like, default=None
        Folder that all workers can write to. The state is saved there, and the fit continues from it if a worker is lost.
    checkpoint_every : float, default=5.0
        Seconds between two saved states.
    resume : bool, default=False
        Continue from the state in `checkpoint`, which an earlier process has saved there.
    callback : callable, default=None
        Called with the number of each iteration.
    client : distributed.Client, default=None
        None means the current one.

    Returns
    -------
    map : DistributedMap
    """
    client = get_client(client)
    if checkpoint is None and resume:
        raise ValueError("resume=True continues from a checkpoint: name its folder")
    run = _Run(client, None if checkpoint is None else os.path.abspath(os.fspath(checkpoint)), checkpoint_every)
    if resume:
        run.load()
    else:
        if X is None and neighbors is None:
            raise ValueError("pass X, or the neighbors of its rows")
        run.prepare(estimator, X, neighbors, init)
    return run.finish(callback)


#: Parameters of a run on one machine, with what to do on a cluster instead.
_REPLACED = {
    "callbacks": "its default; pass callback to lowland.dask.fit",
    "callbacks_every_iters": "its default; callback of lowland.dask.fit is called at each iteration",
    "landmarks": "0; fit a sample (lowland.dask.fit_sample), which any method can use",
    "max_memory": "None; the limits of a cluster are memory_limit of its workers",
    "metric_params": "None; the metrics of a cluster have no parameters",
    "missing": "'refuse'; leave the rows out on the cluster first",
    "n_jobs": "None; the workers have the threads that the cluster gives them",
    "neighbors": "None; pass the graph of lowland.dask.neighbors to lowland.dask.fit",
    "verbose": "0; pass callback to lowland.dask.fit",
}
#: Parameters that mean the same on a cluster, or that are checked elsewhere.
_SUPPORTED = ("init", "random_state")


def _method_arguments(estimator: Any, n: int) -> tuple[str, list[tuple[str, str]], int]:
    """Return the name, the parameters as text and the number of rows, from which the method is made on each worker.

    Parameters that have no meaning on a cluster are errors: those of runs here, those of the method where it is made.
    """
    name = getattr(estimator, "_method", None)
    known = next((parameters for method, _, _, parameters in _lowland.methods() if method == name), None)
    if known is None:
        raise TypeError(f"expected an estimator of lowland, got {type(estimator).__name__}")
    _lowland.DividedMethod(str(name), [], n)
    given, default = estimator.get_params(deep=False), type(estimator)().get_params(deep=False)
    by_name = {python_name(parameter): parameter for parameter, *_ in known if parameter != "landmarks"}
    preprocessing = [step[0] for step in _lowland.preprocessing()]
    values = []
    for parameter, value in given.items():
        if parameter in preprocessing and value:
            raise ValueError(f"{parameter}={value!r}: preprocess the rows on the cluster first, for instance with dask-ml")
        if parameter == "init" and not isinstance(value, str):
            continue
        if parameter == "metric" and value not in METRICS:
            raise invalid("metric", value, "'euclidean', 'cosine' or 'manhattan' on a cluster")
        if parameter == "device" and value not in ("auto", "cpu"):
            raise invalid("device", value, "'auto' or 'cpu' on a cluster")
        if parameter in by_name:
            values.append((by_name[parameter], _input.text(value)))
        elif parameter not in (*_SUPPORTED, *preprocessing, "device") and value is not default[parameter] and value != default[parameter]:
            raise invalid(parameter, value, _REPLACED.get(parameter, "its default: it has no meaning on a cluster"))
    return str(name), values, n


class _Run:
    """A fit: what the client knows of it."""

    def __init__(self, client: Any, folder: str | None, every: float) -> None:
        self.client, self.folder, self.every = client, folder, every
        self.map = DistributedMap()
        self.iteration, self.parts, self.n = 0, 0, 0
        self._losses, self._lost_at = 0, -1
        # Whether the grids of the current map have been added up.
        self._is_spread = False
        self.request, self.seed = 0.0, 0
        # Where the origin of the map is, whose mean is zero, in that of a fit on one machine.
        self.offset: list[float] = []
        self.lengths: list[int] = []
        self.actors: list[Any] = []
        self.workers: list[str] = []
        self.inputs: list[Any] = []

    # The beginning.

    def prepare(self, estimator: Any, X: Any, graph: DistributedGraph | None, init: Any) -> None:
        """Search for the neighbors, and create the parts."""
        self.seed = _input.seed(getattr(estimator, "random_state", None))
        if graph is None:
            probe = _lowland.DividedMethod(*_method_arguments(estimator, 1 << 30))
            advice = f"search with lowland.dask.neighbors(X, {{k}}, n_probe={2 * N_PROBE}) or search='exact', and pass the graph as neighbors"
            search = "exact" if estimator.search == "exact" else "approximate"
            graph = find_neighbors(
                X, probe.n_neighbors, probe.metric, search, seed=self.seed, client=self.client, advice=advice, fewer=True
            )
            self.lengths = graph.block_lengths
        else:
            self.lengths = self._lengths_of(X, graph)
        self.n, self.parts = graph.n_rows, graph.n_parts
        self.arguments = _method_arguments(estimator, self.n)
        self.method = _lowland.DividedMethod(*self.arguments)
        wanted = min(self.method.n_neighbors, self.n - 1)
        if graph.n_neighbors < wanted:
            raise ValueError(f"neighbors: {graph.n_neighbors} of each row, {wanted} are needed for this perplexity")
        self.request, self.map.recall = self.method.tolerance, graph.recall
        # Affinities and their transposes as triplets, sent, received and merged.
        check_memory(self.client, "the fit", self.n / self.parts * 2 * wanted * (3 * 24 + 28), self.parts)
        submit, places = self.client.submit, self._places()
        parts = [submit(nearest_only, part, wanted, pure=False) for part in graph._parts]
        edges = [submit(edges_by_owner, part, self.arguments, self.parts, pure=False) for part in parts]
        init = estimator.init if init is None else init
        starts = self._starts(graph, "pca" if isinstance(init, str) and init == "auto" else init)
        self.offset = [0.0] * self.method.n_components
        self.inputs = []
        for part in range(self.parts):
            incoming = [submit(pick, edges[other], part, pure=False) for other in range(self.parts)]
            made = submit(make_input, part, self.arguments, graph._rows[part], starts[part], edges[part], *incoming,
                          workers=[places[part]], allow_other_workers=True, pure=False)  # fmt: skip
            self.inputs.append(made)
        if self.folder is not None:
            os.makedirs(self.folder, exist_ok=True)
            for old in glob.glob(os.path.join(glob.escape(self.folder), "state*")):
                os.remove(old)
            self.client.gather([submit(save_input, made, self.folder, pure=False) for made in self.inputs])
        self._create(places, restore=False)
        if self.folder is not None:
            self._save()

    def _lengths_of(self, X: Any, graph: DistributedGraph) -> list[int]:
        """Return the number of rows of each block of the map: those of X, or of the collection that was searched."""
        if X is None:
            return graph.block_lengths
        lengths = block_lengths(X, self.client)
        if sum(lengths) != graph.n_rows:
            raise ValueError(f"X has {sum(lengths)} rows, and neighbors are those of {graph.n_rows} rows")
        return lengths

    def _starts(self, graph: DistributedGraph, init: Any) -> list[Any]:
        """Return the initial positions of each part, as futures or arrays."""
        submit, dim = self.client.submit, self.method.n_components
        if not isinstance(init, str):
            init = np.ascontiguousarray(init, dtype=np.float64)
            if init.shape != (self.n, dim):
                raise ValueError(f"init has shape {init.shape}, expected {(self.n, dim)}")
            ids = self.client.gather([submit(row_ids, rows, pure=False) for rows in graph._rows])
            return [init[own] for own in ids]
        if init not in ("pca", "random"):
            raise ValueError(f"init={init!r}: expected 'pca', 'random' or an array")
        size, random_size = self.method.init_sizes
        if init == "random":
            return [submit(random_start, rows, self.seed, dim, random_size, pure=False) for rows in graph._rows]
        moments = self.client.gather([submit(row_moments, rows, pure=False) for rows in graph._rows])
        mean = sum(sums for sums, _ in moments) / self.n
        second = sum(products for _, products in moments) / self.n
        values, vectors = np.linalg.eigh(second - np.outer(mean, mean))
        axes = vectors[:, np.argsort(-values, kind="stable")[:dim]]
        axes = axes * np.where(axes[np.argmax(np.abs(axes), axis=0), np.arange(axes.shape[1])] < 0, -1.0, 1.0)
        scale = size / np.sqrt(max(float(values.max()), 1e-300))
        return [
            submit(pca_start, rows, mean, axes * scale, self.seed, dim, _JITTER * size, pure=False)
            for rows in graph._rows
        ]

    def _places(self) -> list[str]:
        """Return the worker of each part."""
        workers = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise RuntimeError("the cluster has no workers")
        return [workers[part % len(workers)] for part in range(self.parts)]

    def _create(self, places: list[str], restore: bool) -> None:
        """Create the actors, and let them know each other."""
        self.workers = places
        submit = self.client.submit
        futures = []
        for part, place in enumerate(places):
            given = (
                submit(PartInput.load, self.folder, part, self.arguments, self.parts, workers=[place], pure=False)
                if restore
                else self.inputs[part]
            )
            futures.append(submit(Part, given, actor=True, workers=[place], pure=False))
        self.actors = [future.result() for future in futures]
        self._futures, self.inputs = futures, []
        self._all("connect", self.actors)
        if restore:
            self._all("restore", self.folder, self.iteration)
        found = self._all("sums_and_bounds")
        self._take_sums([sums for sums, _ in found], [bounds for _, bounds in found])

    def _all(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of all parts, and wait for the results."""
        return [call.result() for call in [getattr(actor, method)(*arguments) for actor in self.actors]]

    def _take_sums(self, sums: list[list[float]], bounds: list[list[list[float]]]) -> None:
        self._is_spread = False
        self.mean = [total / self.n for total in add(sums)]
        filled = [own for own in bounds if own[0][0] <= own[0][1]]
        self.bounds = [[min(own[c][0] for own in filled), max(own[c][1] for own in filled)] for c in range(len(self.mean))]

    # The iterations.

    def finish(self, callback: Any) -> DistributedMap:
        """Iterate to the end, and collect the map."""
        saved = time.monotonic()
        while self.iteration < self.method.max_iter and not self.map.converged:
            try:
                self._iterate()
                if self.folder is not None and time.monotonic() - saved >= self.every:
                    self._save()
                    saved = time.monotonic()
            except Exception as error:
                self._recover(error)
                saved = time.monotonic()
                continue
            if callback is not None:
                callback(self.iteration)
        self._collect()
        return self.map

    def _iterate(self) -> None:
        iteration = self.iteration + 1
        if iteration % _MEASURE_EVERY == 1:
            self._measure(iteration)
        if not self._is_spread:
            self._spread()
        with_value = iteration % _VALUE_EVERY == 0 or iteration == self.method.max_iter
        total = add(self._all("forces", with_value))
        if iteration == 1 or self.method.drifts:
            # The size of the map on one machine: gradient descent centers it after each step, MAP IT does not.
            total[0] += self.n * sum(value * value for value in self.offset)
        if with_value:
            self.map.objective = self.actors[0].value(iteration, total).result()
            self.map.objectives = [entry for entry in self.map.objectives if entry[0] < iteration]
            self.map.objectives.append((iteration, self.map.objective))
        stepped = self._all("step", iteration, total)
        self._take_sums([sums for _, sums, _ in stepped], [bounds for _, _, bounds in stepped])
        change = np.sqrt(sum(moved for moved, _, _ in stepped)) / max(np.sqrt(total[0]), 1e-300)
        self.iteration = iteration
        if change < self.method.tol and not self.actors[0].is_changing(iteration).result():
            self.map.converged = True

    def _spread(self) -> None:
        """Spread all points over a grid of the requested accuracy, and add up the grids. The map is centered from then on."""
        self._all("begin", self.mean, self.bounds, self.request)
        self.bounds = [[bound - mean for bound in own] for own, mean in zip(self.bounds, self.mean)]
        self.offset = [offset + mean for offset, mean in zip(self.offset, self.mean)]
        self.mean = [0.0] * len(self.mean)
        self._all("reduce")
        self._is_spread = True

    def _measure(self, iteration: int) -> None:
        """Measure the error of the repulsion on a few rows, and choose the accuracy of the grid so that it meets the tolerance.

        These are the rules of a fit on one machine with ``accuracy='fixed'`` (``objective/accuracy.rs``), which therefore has the same grids.
        """
        numbers, tolerance, possible = measured_rows(self.n), self.method.tolerance, None
        for attempt in range(_MAX_ATTEMPTS):
            try:
                self._spread()
                self._all("forces", False)
            except PartError:
                # The grid would be too fine: the error that was measured before stands.
                if possible is None:
                    raise
                self.request, self._is_spread = possible, False
                break
            found = self._all("grid_sums", numbers)
            dim = self.method.n_components
            order = np.argsort(np.concatenate([own for own, *_ in found]), kind="stable")
            targets, values, gradients = (
                np.concatenate([piece[at] for piece in found]).reshape(len(numbers), -1)[order].ravel() for at in (1, 2, 3)
            )
            sums = np.array(add(self._all("exact_sums", targets)))
            exact, exact_gradients = sums[: len(numbers)], sums[len(numbers) :]
            wrong, size = float(((gradients - exact_gradients) ** 2).sum()), float((exact_gradients**2).sum())
            error = float(np.sqrt(wrong / size)) if size > 0 else 0.0
            # The error of the sum of the potential: the mean error on these rows, and the uncertainty of that mean. A row itself is no part.
            differences, others = values - exact, float(np.maximum(exact - 1.0, 0.0).sum())
            total_error = (abs(float(differences.sum())) + float(np.sqrt((differences**2).sum()))) / max(others, 1e-300)
            error = self.map.repulsion_error = max(error, total_error)
            possible = self.request
            if not (error > tolerance and attempt + 1 < _MAX_ATTEMPTS and self.request > _MIN_REQUEST):
                break
            self.request = max(self.request * max(0.7 * tolerance / error, 0.05), _MIN_REQUEST)
        if self.map.repulsion_error < 0.2 * tolerance:
            looser = min(2.0 * self.request, tolerance)
            self._is_spread = self._is_spread and looser == self.request
            self.request = looser

    # The state.

    def _save(self) -> None:
        assert self.folder is not None
        try:
            self._write_state(self.folder)
        except OSError as error:
            if error.filename is None:
                # The connection to a worker, which may be lost.
                raise
            raise OSError(
                error.errno,
                f"the state of iteration {self.iteration} could not be saved ({error.strerror}); what was saved before is kept, and "
                "resume=True continues from there",
                error.filename,
            ) from error

    def _write_state(self, folder: str) -> None:
        self._all("save", folder, self.iteration)
        state = {
            "iteration": self.iteration, "parts": self.parts, "n": self.n, "arguments": self.arguments,
            "request": self.request, "offset": self.offset, "objectives": self.map.objectives, "objective": self.map.objective,
            "error": self.map.repulsion_error, "recall": self.map.recall, "lengths": [int(rows) for rows in self.lengths],
        }  # fmt: skip
        write_file(os.path.join(folder, "state.json"), lambda file: file.write(json.dumps(state).encode()))
        for old in glob.glob(os.path.join(glob.escape(folder), "state-*.npz")):
            if not old.endswith(f"-{self.iteration}.npz"):
                os.remove(old)

    def _read_state(self) -> None:
        assert self.folder is not None
        path = os.path.join(self.folder, "state.json")
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: there is no saved state to continue from")
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        name, values, n = state["arguments"]
        self.arguments = (name, [(key, text) for key, text in values], n)
        self.method = _lowland.DividedMethod(*self.arguments)
        self.iteration, self.parts, self.n = state["iteration"], state["parts"], state["n"]
        self.request, self.lengths = state["request"], state["lengths"]
        self.offset = state.get("offset", [0.0] * self.method.n_components)
        self.map.objectives = [(iteration, value) for iteration, value in state["objectives"]]
        self.map.objective, self.map.repulsion_error = state["objective"], state["error"]
        self.map.recall, self.map.converged = state["recall"], False

    def load(self) -> None:
        """Continue from the saved state."""
        self._read_state()
        self._create(self._places(), restore=True)

    def _recover(self, error: Exception) -> None:
        """Continue from the saved state if a worker was lost; otherwise raise the error."""
        while True:
            self._await_workers(error)
            try:
                return self.load()
            except Exception as again:
                # Another worker was lost meanwhile, or this is another error, which will be raised.
                error = again

    def _await_workers(self, error: Exception) -> None:
        """Return when there are workers to continue on; raise the error unless it was the loss of one."""
        if isinstance(error, PartError) or (isinstance(error, OSError) and error.filename is not None):
            # A computation is not possible, or a file could not be read or written; no worker was lost.
            raise error
        lost: set[str] = set()
        # The scheduler may notice later than the call that failed.
        for _ in range(100):
            lost = set(self.workers) - set(self.client.scheduler_info(n_workers=-1)["workers"])
            if lost:
                break
            time.sleep(0.1)
        if not lost:
            raise error
        if self.folder is None:
            raise RuntimeError(
                f"worker {sorted(lost)[0]} was lost at iteration {self.iteration}: name a folder for checkpoint, from which the fit "
                "continues without it"
            ) from error
        for _ in range(600):
            if self.client.scheduler_info(n_workers=-1)["workers"]:
                break
            time.sleep(0.1)
        self.map.restarts += 1
        self._losses = self._losses + 1 if self._lost_at == self.iteration else 1
        self._lost_at = self.iteration
        if self._losses > _MAX_LOSSES:
            raise RuntimeError(
                f"workers were lost {self._losses} times at iteration {self.iteration}: they may have too little memory; add workers, or raise "
                "their memory_limit"
            ) from error

    def _collect(self) -> None:
        """Put the map together in the order of the data, on the workers."""
        import dask.array as da
        from dask import delayed

        self.map.n_iter = self.iteration
        self.map.bytes_received = sum(self._all("transferred"))
        results = [self.client.submit(part_result, actor, workers=[place], pure=False)
                   for actor, place in zip(self._futures, self.workers)]  # fmt: skip
        bounds = np.concatenate([[0], np.cumsum(self.lengths)]).astype(int)
        blocks = []
        for first, end in zip(bounds[:-1], bounds[1:]):
            pieces = [self.client.submit(rows_between, result, int(first), int(end), pure=False) for result in results]
            blocks.append(self.client.submit(in_order, int(first), int(end), *pieces, pure=False))
        dim = self.method.n_components
        arrays = [
            da.from_delayed(delayed(identity, pure=False)(block), shape=(int(end - first), dim), dtype=np.float64)
            for block, first, end in zip(blocks, bounds[:-1], bounds[1:])
        ]
        self.map.embedding = da.concatenate(arrays, axis=0).persist()
