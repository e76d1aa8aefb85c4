"""Dask on local clusters of two and three processes: transform, neighbors, fits to all rows, a worker that is killed."""

import os
import signal

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
def rows():
    random = np.random.default_rng(4)
    centers = 6 * random.normal(size=(6, 12))
    return (centers[random.integers(6, size=N)] + random.normal(size=(N, 12))).astype(np.float32)


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
}


@pytest.mark.parametrize("method", list(ESTIMATORS))
def test_a_fit_across_workers_is_that_of_one_machine(client, rows, method):
    X = da.from_array(rows, chunks=(200, 12))
    # Principal components of unit size. From the default size, 1e-4, t-SNE amplifies rounding errors: a start changed by one part in 1e12 then
    # moves points by a fifth of the map's width within 50 iterations, also in one process.
    centered = rows - rows.mean(axis=0, dtype=float)
    start = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
    start /= start[:, 0].std()
    settings = {"max_iter": 50}
    exact = lowland.neighbors(rows, 24, search="exact")
    whole = ESTIMATORS[method](**settings, engine="fft", accuracy="fixed", optimizer="gd", neighbors=exact)
    expected = whole.set_params(init=start).fit_transform(rows)
    width = np.ptp(expected, axis=0).max()
    for parts in (1, 2, 3):
        graph = lowland.dask.neighbors(X, 24, search="exact", n_parts=parts)
        found = lowland.dask.fit(ESTIMATORS[method](**settings), X, neighbors=graph, init=start)
        assert found.embedding.chunks[0] == X.chunks[0]
        embedding = found.embedding.compute()
        embedding -= embedding.mean(axis=0)
        error = np.abs(embedding - (expected - expected.mean(axis=0))).max()
        assert error < 1e-6 * width, (parts, error, width)
        assert found.n_iter == 50


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


def test_a_fit_continues_when_a_worker_is_killed(rows, tmp_path):
    cluster = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, memory_limit=None)
    with cluster, Client(cluster) as client:
        X = client.persist(da.from_array(rows, chunks=(200, 12)))
        graph = lowland.dask.neighbors(X, 24, n_parts=3)
        estimator = lowland.TSNE(perplexity=8, max_iter=120)
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
    with pytest.raises(ValueError, match="tsne, ssne or ee"):
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


def test_blocks_with_other_columns_and_empty_blocks(client, rows):
    def block(number):
        if number == 1:
            return rows[:0]
        return rows[:100] if number < 3 else rows[:100, :7]

    import dask

    def collection(count):
        made = [da.from_delayed(dask.delayed(block)(i), shape=(np.nan, 12), dtype=np.float32) for i in range(count)]
        return da.concatenate(made, axis=0, allow_unknown_chunksizes=True)

    found = lowland.dask.neighbors(collection(3), 5, n_parts=1)
    assert found.n_rows == 200
    with pytest.raises(ValueError, match="block 3 has 7 columns where the first has 12"):
        lowland.dask.neighbors(collection(4), 5)
