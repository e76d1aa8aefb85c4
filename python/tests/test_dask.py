"""Dask on local clusters of two and three processes: transform, neighbors, fits to all rows, a worker that is killed."""

import os
import signal
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import lowland
import lowland.dask

N = 900


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None)
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def three():
    """A client of three workers that is not the current one."""
    cluster = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, memory_limit=None)
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(4)
    centers = 6 * random.normal(size=(6, 12))
    return (centers[random.integers(6, size=N)] + random.normal(size=(N, 12))).astype(np.float32)


def frame_of(rows, sizes):
    """Return a dask dataframe whose partitions have the given numbers of rows, which dask does not know."""
    bounds = np.cumsum([0, *sizes])
    table = pd.DataFrame(rows, columns=[f"c{i}" for i in range(rows.shape[1])])
    return dd.from_delayed([dask.delayed(table.iloc[a:b]) for a, b in zip(bounds[:-1], bounds[1:])], meta=table.iloc[:0])


def overlap(a, b):
    return np.mean([len(set(x) & set(y)) / len(x) for x, y in zip(a, b)])


def test_blocks_are_placed_as_the_rows_of_one_array(client, rows):
    model = lowland.TSNE(perplexity=10, max_iter=60).fit(rows[:300])
    expected = model.transform(rows)
    for chunks in [(200, 12), (450, 5), (900, 12)]:
        placed = lowland.dask.transform(model, da.from_array(rows, chunks=chunks))
        assert placed.shape == expected.shape
        np.testing.assert_array_equal(placed.compute(), expected)
    frame = dd.from_pandas(pd.DataFrame(rows, columns=[f"c{i}" for i in range(12)]), npartitions=4)
    np.testing.assert_array_equal(lowland.dask.transform(model, frame).compute(), expected)
    lazy = lowland.dask.transform(model, da.from_array(rows, chunks=(200, 12)), client=client)
    assert lazy.chunks[0] == (200, 200, 200, 200, 100)


def test_a_sample_is_fitted_and_does_not_depend_on_the_blocks_of_workers(client, rows):
    X = da.from_array(rows, chunks=(150, 12))
    model = lowland.dask.fit_sample(lowland.PCA(), X, 200, random_state=3)
    assert len(model.sample_rows_) == 200 and len(set(model.sample_rows_)) == 200
    np.testing.assert_array_equal(model.transform(rows)[model.sample_rows_], model.embedding_)
    again = lowland.dask.fit_sample(lowland.PCA(), X, 200, random_state=3)
    np.testing.assert_array_equal(model.sample_rows_, again.sample_rows_)
    other = lowland.dask.fit_sample(lowland.PCA(), X, 200, random_state=4)
    assert not np.array_equal(model.sample_rows_, other.sample_rows_)


def test_other_rows_than_the_sample_are_scored_and_far_rows_are_found(client, rows):
    outside = rows.copy()
    outside[[17, 555]] += 100
    X = da.from_array(outside, chunks=(150, 12))
    model = lowland.dask.fit_sample(lowland.TSNE(perplexity=8, max_iter=300), X, 300, held_out=200, random_state=3)
    placed, fitted = model.held_out_recall_
    assert 0.2 < placed <= 1 and 0.2 < fitted <= 1 and abs(placed - fitted) < 0.2, model.held_out_recall_
    assert model.far_rows_.fitted_share < 0.1
    far = lowland.dask.far_rows(model, X)
    assert far.chunks[0] == X.chunks[0] and far.dtype == bool
    found = np.flatnonzero(far.compute())
    assert {17, 555} - set(model.sample_rows_) <= set(found) and len(found) < 20, found
    # The rows of the sample do not depend on how many others are scored.
    none = lowland.dask.fit_sample(lowland.PCA(), X, 300, held_out=0, random_state=3)
    np.testing.assert_array_equal(none.sample_rows_, model.sample_rows_)
    assert none.held_out_recall_ is None
    with pytest.raises(ValueError, match="fit it with fit_sample"):
        lowland.dask.far_rows(lowland.PCA().fit(rows), X)


def test_rows_of_dataframes_are_mapped_by_the_names_of_their_columns(client, rows):
    frame = frame_of(rows, [250, 0, 150, 500])
    model = lowland.dask.fit_sample(lowland.PCA(), frame, 200, random_state=3)
    assert list(model.feature_names_in_) == list(frame.columns)
    placed = lowland.dask.transform(model, frame)
    assert isinstance(placed, da.Array) and placed.dtype == np.float32
    np.testing.assert_array_equal(placed.compute(), lowland.dask.transform(model, frame.repartition(npartitions=2)).compute())
    assert placed.compute().dtype == np.float32
    with pytest.raises(ValueError, match="same order as they were in fit"):
        lowland.dask.transform(model, frame[list(frame.columns)[::-1]])
    kinds = frame.assign(kind="a")
    unnamed = lowland.PCA().fit(rows)
    for refused in (kinds, kinds.astype({"kind": "category"}), kinds.astype({"kind": "string"})):
        for use in (
            lambda frame: lowland.dask.transform(unnamed, frame).compute(),
            lambda frame: lowland.dask.fit_sample(lowland.PCA(), frame, 200),
            lambda frame: lowland.dask.fit(lowland.TSNE(), frame),
        ):
            with pytest.raises(ValueError, match="column 'kind' does not contain numbers"):
                use(refused)
    words = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([1, "two"], dtype=object)})
    parts = [dask.delayed(words.iloc[:1]), dask.delayed(words)]
    # Otherwise dask makes a column of strings of objects.
    with dask.config.set({"dataframe.convert-string": False}):
        with pytest.raises(ValueError, match="block 1: column 'b' does not contain numbers: row 1 is 'two'"):
            lowland.dask.neighbors(dd.from_delayed(parts, meta=words.iloc[:0], verify_meta=False), 1)


def test_partitions_with_other_columns_or_another_order_are_refused(client):
    right = pd.DataFrame({"a": [1.0, 2.0, 3.0], "z": [4.0, 5.0, 7.0]})
    model = lowland.PCA(n_components=1).fit(right.to_numpy())
    for wrong, listed in ((right[["z", "a"]], "'z', 'a'"), (right[["a"]], "'a'")):
        parts = [right, wrong]
        frame = dd.from_map(lambda number, parts: parts[number], [0, 1], parts=parts, meta=right[:0], enforce_metadata=False)
        for use in (lambda: lowland.dask.neighbors(frame, 1), lambda: lowland.dask.transform(model, frame).compute()):
            with pytest.raises(ValueError, match=f"block 1 has the columns {listed} where the dataframe has 'a', 'z'"):
                use()


def test_exact_neighbors_are_those_of_one_machine(client, rows):
    expected = lowland.neighbors(rows, 10, search="exact")
    found = lowland.dask.neighbors(da.from_array(rows, chunks=(130, 12)), 10, search="exact", n_parts=3)
    assert (found.n_parts, found.recall) == (3, None)
    graph = found.compute()
    np.testing.assert_array_equal(graph.distances, expected.distances)
    assert overlap(graph.indices, expected.indices) > 0.999


def test_approximate_neighbors_have_the_recall_that_is_reported(client, rows):
    expected = lowland.neighbors(rows, 10, search="exact").indices
    X = da.from_array(rows, chunks=(130, 12))
    found = lowland.dask.neighbors(X, 10, n_parts=2, n_probe=4)
    recall = overlap(found.compute().indices, expected)
    assert 0.8 < recall <= 1.0
    assert abs(found.recall - recall) < 0.08, (found.recall, recall)
    more = lowland.dask.neighbors(X, 10, n_parts=2, n_probe=8)
    assert more.recall >= found.recall
    cosine = lowland.dask.neighbors(X, 10, n_parts=2, n_probe=8, metric="cosine")
    assert overlap(cosine.compute().indices, lowland.neighbors(rows, 10, metric="cosine", search="exact").indices) > 0.9
    assert "900 rows" in repr(found)


ESTIMATORS = {
    "tsne": lambda **more: lowland.TSNE(perplexity=8, **more),
    "ssne": lambda **more: lowland.SymmetricSNE(perplexity=8, **more),
    "ee": lambda **more: lowland.ElasticEmbedding(perplexity=8, **more),
    "mapit": lambda **more: lowland.MapIt(perplexity=8, **more),
    "mapit, Gaussian": lambda **more: lowland.MapIt(perplexity=8, kernel="gaussian", entropy="neighbors", **more),
}


def unit_start(rows):
    """Return principal components of unit size.

    From the default size, 1e-4, t-SNE amplifies rounding errors: a start changed by one part in 1e12 then moves points by a fifth of the map's
    width within 50 iterations, also in one process.
    """
    centered = rows - rows.mean(axis=0, dtype=float)
    start = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
    return start / start[:, 0].std()


def largest_difference(embedding, expected):
    """Return the largest difference of two maps whose means are the same, relative to the width."""
    a, b = (map_ - map_.mean(axis=0) for map_ in (embedding, expected))
    return np.abs(a - b).max() / np.ptp(b, axis=0).max()


def fit_on_one_machine(method, rows, **settings):
    exact = lowland.neighbors(rows, 24, search="exact")
    more = {} if method.startswith("mapit") else {"accuracy": "fixed", "optimizer": "gd"}
    return ESTIMATORS[method](**settings, engine="fft", init=unit_start(rows), neighbors=exact, **more).fit(rows)


@pytest.mark.parametrize("method", list(ESTIMATORS))
def test_a_fit_across_workers_is_that_of_one_machine(client, rows, method):
    X = da.from_array(rows, chunks=(200, 12))
    whole = fit_on_one_machine(method, rows, max_iter=50)
    for parts in (1, 2, 3):
        graph = lowland.dask.neighbors(X, 24, search="exact", n_parts=parts)
        found = lowland.dask.fit(ESTIMATORS[method](max_iter=50), X, neighbors=graph, init=unit_start(rows))
        assert found.embedding.chunks[0] == X.chunks[0]
        error = largest_difference(found.embedding.compute(), whole.embedding_)
        assert error < 1e-6, (parts, error)
        assert found.n_iter == 50


@pytest.mark.parametrize("method", ["tsne", "mapit"])
def test_three_workers_place_search_and_fit_like_one_machine(three, rows, method):
    X = da.from_array(rows, chunks=(200, 12))
    with three.as_current():
        graph = lowland.dask.neighbors(X, 24, search="exact", client=three)
        assert graph.n_parts == 3
        np.testing.assert_array_equal(graph.compute().distances, lowland.neighbors(rows, 24, search="exact").distances)
        found = lowland.dask.fit(ESTIMATORS[method](max_iter=50), neighbors=graph, init=unit_start(rows), client=three)
        again = lowland.dask.fit(ESTIMATORS[method](max_iter=50), neighbors=graph, init=unit_start(rows), client=three)
        np.testing.assert_array_equal(found.embedding.compute(), again.embedding.compute())
        whole = fit_on_one_machine(method, rows, max_iter=50)
        assert largest_difference(found.embedding.compute(), whole.embedding_) < 1e-6
        approximate = lowland.dask.neighbors(X, 10, n_probe=8, client=three)
        assert approximate.recall > 0.8
        np.testing.assert_array_equal(lowland.dask.transform(whole, X, client=three).compute(), whole.transform(rows))


#: For each parameter of the estimators above, a value other than its default. A fit honors it, so that another map results, or refuses it.
OTHER_VALUES = {
    "accuracy": "fixed", "affinity": "uniform", "callbacks": print, "callbacks_every_iters": 7, "cost": "marginals", "density": 0.5,
    "density_frac": 0.2, "device": "cuda", "dof": 0.7, "early_exaggeration": 3.0, "engine": "exact", "entropy": "neighbors",
    "exaggeration": 2.0, "exaggeration_iter": 4, "homotopy": 1, "init": "random", "kernel": "gaussian", "lambda_": 5.0, "landmarks": 50,
    "learning_rate": 3.0, "log1p": True, "max_iter": 5, "max_memory": 4.0, "metric": "cosine", "metric_params": {"p": 3}, "missing": "drop",
    "n_components": 1, "n_jobs": 1, "n_neighbors": 4, "neighbors": "given", "normalize": True, "optimizer": "sd", "pca": 3, "perplexity": 5.0,
    "random_state": 3, "reach": 2, "repulsion": "distances", "sample_weight": 0.5, "samples": 2.0, "search": "exact", "standardize": True,
    "target_metric": "categorical", "target_weight": 0.1, "tol": 0.99, "tolerance": 1e-6, "variant": "sampled", "verbose": 1,
}  # fmt: skip
#: Values that do not change the map: they are what a cluster does anyway.
NO_CHANGE = {"accuracy"}


@pytest.mark.parametrize("class_", [lowland.TSNE, lowland.SymmetricSNE, lowland.ElasticEmbedding, lowland.MapIt])
def test_each_parameter_is_honored_or_refused(client, rows, class_):
    X = da.from_array(rows[:240], chunks=(120, 12))
    estimator = class_(max_iter=8, perplexity=8)
    given = estimator.get_params(deep=False)
    missing = set(given) - set(OTHER_VALUES)
    assert not missing, f"{missing} have no value in OTHER_VALUES"
    if "exaggeration_iter" in given:
        estimator.set_params(early_exaggeration=2.0, exaggeration_iter=2)
    if class_ is lowland.ElasticEmbedding:
        # Strong enough to show within a few iterations.
        estimator.set_params(lambda_=1.0)
    # Small enough for steps that are short relative to the map.
    estimator.set_params(learning_rate=1.0)
    embedding, refused = lowland.dask.fit(estimator, X).embedding.compute(), []
    for parameter in sorted(given):
        changed = type(estimator)(**{**estimator.get_params(deep=False), parameter: OTHER_VALUES[parameter]})
        try:
            found = lowland.dask.fit(changed, X)
        except ValueError as error:
            assert f"{parameter}=" in str(error) and "expected" in str(error) or "preprocess" in str(error), (parameter, error)
            refused.append(parameter)
            continue
        if parameter == "search":
            # So few rows have the same neighbors.
            assert found.recall is None
            continue
        other = found.embedding.compute()
        same = other.shape == embedding.shape and np.array_equal(other, embedding)
        assert same == (parameter in NO_CHANGE), f"{parameter} is neither honored nor refused"
    always = {"callbacks", "device", "engine", "landmarks", "missing", "n_jobs", "neighbors", "optimizer", "pca", "target_weight", "verbose"}
    assert always <= set(refused), set(refused)
    assert not {"perplexity", "max_iter", "metric", "init", "random_state", "learning_rate", "tol"} & set(refused), refused
    # An array is an initial map, here and in fit.
    start = unit_start(rows[:240])
    a = lowland.dask.fit(estimator.set_params(init=start), X).embedding.compute()
    b = lowland.dask.fit(estimator.set_params(init="auto"), X, init=start).embedding.compute()
    np.testing.assert_array_equal(a, b)


def test_no_worker_holds_the_whole_map_of_blocks_of_unknown_size(client, rows):
    estimator = lowland.TSNE(perplexity=8, max_iter=10)
    frame = frame_of(rows, [250, 0, 150, 500])

    def held():
        """Return the shapes of the arrays that the workers hold."""
        shape = lambda value: value.shape if getattr(value, "ndim", 0) == 2 else (0, 0)  # noqa: E731
        found = client.run(lambda dask_worker: {key: shape(value) for key, value in dask_worker.data.items()})
        return {key: shape for shapes in found.values() for key, shape in shapes.items()}

    graph = lowland.dask.neighbors(frame, 24)
    assert graph.block_lengths == [250, 0, 150, 500]
    # dask drops empty blocks.
    sizes = (250, 150, 500)
    expected = lowland.dask.fit(estimator, da.from_array(rows, chunks=(sizes, 12))).embedding.compute()
    before = held()
    unknown = frame.to_dask_array()
    assert np.isnan(unknown.chunks[0]).all()
    for given in [{"X": frame}, {"X": unknown}, {"neighbors": graph}, {"X": frame, "neighbors": graph}]:
        found = lowland.dask.fit(estimator, **given).embedding
        assert found.chunks[0] == sizes
        # compute() would put the blocks together on a worker.
        np.testing.assert_array_equal(np.concatenate(dask.compute(*found.to_delayed().ravel())), expected)
    # What the workers keep of the map: no array has all of its rows.
    kept = {key: shape for key, shape in held().items() if key not in before}
    assert 0 < max(rows for rows, columns in kept.values() if columns == 2) < N, kept
    with pytest.raises(ValueError, match="X has 899 rows, and neighbors are those of 900 rows"):
        lowland.dask.fit(estimator, da.from_array(rows[1:], chunks=(300, 12)), neighbors=graph)


def test_a_fit_is_reproducible_and_scores_like_one_machine(client, rows):
    X = da.from_array(rows, chunks=(200, 12))
    estimator = lowland.TSNE(perplexity=8, max_iter=301)
    seen = []
    a = lowland.dask.fit(estimator, X, callback=seen.append)
    b = lowland.dask.fit(estimator, X)
    np.testing.assert_array_equal(a.embedding.compute(), b.embedding.compute())
    assert seen == list(range(1, a.n_iter + 1))
    assert a.repulsion_error < 0.02 and a.bytes_received > 0
    whole = lowland.TSNE(perplexity=8, max_iter=301).fit(rows)
    near = lowland.neighbors(rows, 10, search="exact").indices
    recall = [
        overlap(lowland.neighbors(np.asarray(embedding), 10, search="exact").indices, near)
        for embedding in (a.embedding.compute(), whole.embedding_)
    ]
    assert abs(recall[0] - recall[1]) < 0.03, recall
    assert abs(a.objective - whole.objective_) < 0.1, (a.objective, whole.objective_)


@pytest.mark.parametrize("method", ["tsne", "mapit"])
def test_a_fit_continues_when_a_worker_is_killed(rows, tmp_path, method):
    cluster = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, memory_limit=None)
    with cluster, Client(cluster) as client:
        X = client.persist(da.from_array(rows, chunks=(200, 12)))
        graph = lowland.dask.neighbors(X, 24, n_parts=3)
        estimator = ESTIMATORS[method](max_iter=120)
        expected = lowland.dask.fit(estimator, X, neighbors=graph).embedding.compute()

        def kill(iteration):
            if iteration == 60 and not killed:
                process = next(iter(cluster.workers.values())).pid
                killed.append(process)
                os.kill(process, signal.SIGKILL)

        killed = []
        found = lowland.dask.fit(
            estimator, X, neighbors=graph, checkpoint=tmp_path, checkpoint_every=0.05, callback=kill
        )
        assert killed and found.restarts >= 1
        np.testing.assert_array_equal(found.embedding.compute(), expected)
        # Another process continues from the same folder.
        again = lowland.dask.fit(estimator, checkpoint=tmp_path, resume=True)
        np.testing.assert_array_equal(again.embedding.compute(), expected)


def test_workers_that_are_lost_again_and_again_are_an_error(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(lowland.dask._fit, "_MAX_LOSSES", 1)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None)
    with cluster, Client(cluster) as client:
        graph = lowland.dask.neighbors(client.persist(da.from_array(rows, chunks=(300, 12))), 24)
        reached = []

        def kill(iteration):
            reached.append(iteration)
            if iteration == 4:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        # The state is saved at the beginning alone, so that each loss is at the same iteration.
        with pytest.raises(RuntimeError, match="workers were lost 2 times at iteration 4: they may have too little memory"):
            lowland.dask.fit(
                lowland.TSNE(perplexity=8, max_iter=40), neighbors=graph, checkpoint=tmp_path, checkpoint_every=1e9, callback=kill
            )
        assert reached == [1, 2, 3, 4] * 2


def test_a_map_that_outgrows_the_grid_is_an_error_without_delay(client, rows):
    graph = lowland.dask.neighbors(da.from_array(rows, chunks=(200, 12)), 24)
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="wide needs too large a grid .* raise tolerance"):
        lowland.dask.fit(lowland.TSNE(perplexity=8, max_iter=5), neighbors=graph, init=1e5 * unit_start(rows))
    assert time.monotonic() - started < 8


def test_parts_receive_some_of_the_rows(rows):
    """With many more cells than a row is compared with, no part receives all rows."""
    from lowland.dask._cells import divide_cells, find_centers, nearest_cells
    from lowland.dask._neighbors import N_PROBE, _split

    centers = find_centers(rows, 100, 0.0, 0)
    counts = np.bincount(nearest_cells(rows, centers, 1)[:, 0], minlength=len(centers))
    pieces = _split(rows, 0, centers, divide_cells(centers, counts, 3), N_PROBE, "euclidean", 3, False)
    received = [len(ids) for ids, _, _ in pieces]
    assert max(received) < 0.75 * N and N <= sum(received) < 2 * N, received
    # The distances are computed in chunks, whose size is limited by the number of centers.
    import lowland.dask._cells as cells

    expected = nearest_cells(rows, centers, 4)
    limit, cells._MAX_DISTANCES = cells._MAX_DISTANCES, 700
    try:
        np.testing.assert_array_equal(nearest_cells(rows, centers, 4), expected)
    finally:
        cells._MAX_DISTANCES = limit


def test_a_full_disk_ends_a_fit_that_can_be_continued(client, rows, tmp_path):
    resource = pytest.importorskip("resource")

    def limit_files(size):
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most if size is None else size, most))

    def fill(iteration):
        if iteration == 20:
            client.run(limit_files, 1000)

    graph = lowland.dask.neighbors(da.from_array(rows, chunks=(200, 12)), 24)
    estimator = lowland.TSNE(perplexity=8, max_iter=40)
    try:
        with pytest.raises(OSError, match=r"the state of iteration 21 could not be saved.*state-\d-21.npz"):
            lowland.dask.fit(estimator, neighbors=graph, checkpoint=tmp_path, checkpoint_every=0.0, callback=fill)
    finally:
        client.run(limit_files, None)
    assert not list(tmp_path.glob("*.tmp"))
    found = lowland.dask.fit(estimator, checkpoint=tmp_path, resume=True)
    assert found.n_iter == 40
    np.testing.assert_array_equal(found.embedding.compute(), lowland.dask.fit(estimator, neighbors=graph).embedding.compute())


def test_the_model_is_sent_to_each_worker_once(client, rows, tmp_path):
    class Counted(lowland.PCA):
        """Writes a line in each process that receives it."""

        def __setstate__(self, state):
            super().__setstate__(state)
            with open(tmp_path / str(os.getpid()), "a") as file:
                file.write("received\n")

    X = da.from_array(rows, chunks=(20, 12))
    placed = lowland.dask.transform(Counted().fit(rows), X)
    placed.compute()
    placed.compute()
    received = {int(path.name): len(path.read_text().split()) for path in tmp_path.iterdir()}
    # The scheduler, in this process, does not read it.
    assert received == dict.fromkeys(client.run(os.getpid).values(), 1)


def test_only_grids_and_positions_of_boundary_rows_travel(client, monkeypatch):
    """`bytes_received` is what grids and copies of positions take, and little more is written to connections."""

    def count_bytes(start):
        from distributed.comm.tcp import TCP

        if start:
            TCP.counted, TCP.original = 0, TCP.write

            async def write(self, *arguments, **keywords):
                size = await TCP.original(self, *arguments, **keywords)
                TCP.counted += size
                return size

            TCP.write = write
            return 0
        TCP.write = TCP.original
        return TCP.counted

    calls = []
    call_all = lowland.dask._fit._Run._all

    def recorded(run, method, *arguments):
        calls.append((method, call_all(run, method, *arguments)))
        return calls[-1][1]

    # Without clusters, so that the parts have boundaries; wide, so that rows which travel would be noticed.
    wide = np.random.default_rng(0).normal(size=(N, 200)) * ([1] * 4 + [0.01] * 196)
    graph = lowland.dask.neighbors(da.from_array(wide, chunks=(200, 200)), 24, n_parts=2)
    monkeypatch.setattr(lowland.dask._fit._Run, "_all", recorded)
    start = lambda iteration: iteration == 1 and client.run(count_bytes, True)  # noqa: E731
    try:
        found = lowland.dask.fit(lowland.TSNE(perplexity=8, max_iter=40), neighbors=graph, callback=start)
    finally:
        written = sum(client.run(count_bytes, False).values())
    copies = sum(sum(found) for method, found in calls if method == "connect")
    assert 0 < copies < N
    expected = nodes = 0
    for method, result in calls:
        nodes = result[0] if method == "begin" else nodes
        # Each of two parts sends half of its grid, then its half of the sum.
        expected += {"begin": 8 * nodes + 2 * 8 * copies, "forces": 8 * nodes}.get(method, 0)
    assert found.bytes_received == expected
    # What else is written in an iteration: the calls and their results.
    assert written < found.bytes_received + 20_000 * found.n_iter, (written, found.bytes_received)


def test_a_lost_worker_without_a_checkpoint_is_an_error(rows):
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=None)
    with cluster, Client(cluster) as client:
        X = client.persist(da.from_array(rows, chunks=(300, 12)))

        def kill(iteration):
            if iteration == 5:
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        with pytest.raises(RuntimeError, match="name a folder for checkpoint"):
            lowland.dask.fit(lowland.TSNE(perplexity=8, max_iter=40), X, callback=kill)


def test_invalid_input_names_the_place(client, rows):
    broken = rows.copy()
    broken[731, 3] = np.nan
    X = da.from_array(broken, chunks=(100, 12))
    with pytest.raises(ValueError, match=r"row 731 \(row 31 of block 7\), column 3 is nan"):
        lowland.dask.neighbors(X, 5)
    model = lowland.PCA().fit(rows)
    with pytest.raises(ValueError, match="block 7.*row 31"):
        lowland.dask.transform(model, X).compute()
    ragged = da.concatenate([da.from_array(rows[:100], chunks=(100, 12))])
    with pytest.raises(ValueError, match="2D"):
        lowland.dask.neighbors(ragged[0], 5)
    with pytest.raises(TypeError, match="dask array"):
        lowland.dask.neighbors(rows, 5)
    with pytest.raises(ValueError, match="fewer than the 900 rows"):
        lowland.dask.neighbors(da.from_array(rows), 900)
    with pytest.raises(ValueError, match="tsne, ssne, ee or mapit"):
        lowland.dask.fit(lowland.UMAP(), da.from_array(rows))
    with pytest.raises(ValueError, match="standardize"):
        lowland.dask.fit(lowland.TSNE(standardize=True), da.from_array(rows))
    with pytest.raises(FileNotFoundError, match="no saved state"):
        lowland.dask.fit(lowland.TSNE(), checkpoint="nowhere", resume=True)
    few = lowland.dask.neighbors(da.from_array(rows, chunks=(300, 12)), 5)
    with pytest.raises(ValueError, match="24 are needed"):
        lowland.dask.fit(lowland.TSNE(perplexity=8), neighbors=few)


def test_workers_with_too_little_memory_are_reported_before_the_work():
    from lowland.dask._rows import check_memory

    class Client:
        def __init__(self, limits):
            self.limits = limits

        def scheduler_info(self, n_workers=0):
            return {"workers": {str(at): {"memory_limit": limit} for at, limit in enumerate(self.limits)}}

    check_memory(Client([4e9, 2e9]), "the fit", 1.3e9, 2)
    check_memory(Client([None, 0]), "the fit", 1e12, 2)
    with pytest.raises(MemoryError, match="the fit needs about 1.50 GB on each of 2 workers, .* 1.40 GB: add workers"):
        check_memory(Client([4e9, 2e9]), "the fit", 1.5e9, 2)
    # Two parts on one worker.
    with pytest.raises(MemoryError, match="2.60 GB"):
        check_memory(Client([2e9]), "the fit", 1.3e9, 2)


def test_a_worker_with_too_little_memory_is_an_error_that_says_so(rows):
    # The limit is below what Python needs: dask itself would pause the workers.
    shares = {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "pause", "terminate")}
    with dask.config.set(shares):
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, memory_limit="2MB")
        with cluster, Client(cluster) as client:
            X = da.from_array(rows, chunks=(200, 12))
            advice = r"needs about 3.50 MB on each of 2 workers, .* 1.40 MB: add workers, raise their memory_limit, or fit a sample"
            with pytest.raises(MemoryError, match="the search " + advice):
                lowland.dask.neighbors(X, 24, client=client)
            with pytest.raises(MemoryError, match="the search " + advice):
                lowland.dask.fit(lowland.TSNE(perplexity=8), X, client=client)


def test_too_few_neighbors_name_what_the_caller_can_change(client, rows, monkeypatch):
    # A cell for each row, so that a search of a few cells finds a few neighbors.
    monkeypatch.setattr(lowland.dask._neighbors, "find_centers", lambda sample, *_: sample)
    X = da.from_array(rows[:200], chunks=(100, 12))
    with pytest.raises(ValueError, match=r"has only \d+ of 24 neighbors .*: raise n_probe, which is 3, or use search='exact'"):
        lowland.dask.neighbors(X, 24, n_probe=3)
    with pytest.raises(ValueError, match=r"search with lowland.dask.neighbors\(X, 24, n_probe=12\) or search='exact', and pass"):
        lowland.dask.fit(lowland.TSNE(perplexity=8), X)
    # A fit has no number of neighbors to lower.
    monkeypatch.undo()
    few = lowland.dask.fit(lowland.TSNE(perplexity=8, max_iter=3), da.from_array(rows[:20], chunks=(10, 12)))
    assert few.embedding.compute().shape == (20, 2)


def test_blocks_with_other_columns_and_empty_blocks(client, rows):
    def block(number):
        if number == 1:
            return rows[:0]
        return rows[:100] if number < 3 else rows[:100, :7]

    def collection(count):
        made = [da.from_delayed(dask.delayed(block)(i), shape=(np.nan, 12), dtype=np.float32) for i in range(count)]
        return da.concatenate(made, axis=0, allow_unknown_chunksizes=True)

    found = lowland.dask.neighbors(collection(3), 5, n_parts=1)
    assert found.n_rows == 200
    with pytest.raises(ValueError, match="block 3 has 7 columns where the first has 12"):
        lowland.dask.neighbors(collection(4), 5)
