"""Ray with two actors; left out where Ray is missing (python/requirements-cluster.txt)."""

import numpy as np
import pytest

import lowland

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_sample_is_fitted_and_all_rows_are_placed(cluster):
    import ray.data

    from lowland import ray as lowland_ray

    rows = np.random.default_rng(0).normal(size=(600, 5))
    ds = ray.data.from_numpy(rows)
    model = lowland_ray.fit_sample(lowland.TSNE(perplexity=8, max_iter=350), ds, 300, random_state=1)
    assert all(0.1 < share <= 1 for share in model.held_out_recall_)
    placed = lowland_ray.transform(model, ds, concurrency=2, batch_size=100).to_pandas()
    found = placed[["projection_x", "projection_y"]].to_numpy()
    expected = model.transform(rows)
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    columns = ray.data.from_items([{"id": i, **{c: float(v) for c, v in zip("abcde", rows[i])}} for i in range(60)])
    kept = lowland_ray.transform(model, columns, keep=["id"]).to_pandas().sort_values("id")
    np.testing.assert_array_equal(kept[["projection_x", "projection_y"]].to_numpy(), expected[:60])
    with pytest.raises(ValueError, match="no column 'z'"):
        lowland_ray.transform(model, ds, ["z"])


def test_rows_that_are_not_finite_are_named_by_block_and_row(cluster):
    import ray.data

    from lowland import ray as lowland_ray

    rows = np.random.default_rng(0).normal(size=(400, 3))
    model = lowland.PCA().fit(rows)
    rows[331, 1] = np.nan
    items = [{"id": f"r{i}", "a": a, "b": b, "c": c} for i, (a, b, c) in enumerate(rows.tolist())]
    ds = ray.data.from_items(items, override_num_blocks=4).materialize()
    # Whatever the batches, rows are numbered in their block of 100.
    with pytest.raises(Exception, match=r"row 31 of block 3 \(id='r331'\), column 'b' is nan"):
        lowland_ray.transform(model, ds, keep=["id"], batch_size=20).materialize()
    with pytest.raises(ValueError, match=r"row 31 of block 3, column 'b' is nan"):
        lowland_ray.fit_sample(lowland.PCA(), ds, 50, keep=["id"])
    vectors = ray.data.from_numpy([rows[:200], rows[200:]])
    with pytest.raises(Exception, match=r"row 131 of block 1, column 1 of 'data' is nan"):
        lowland_ray.transform(model, vectors).materialize()


def test_far_rows_are_a_column(cluster):
    import ray.data

    from lowland import ray as lowland_ray

    rows = np.random.default_rng(0).normal(size=(400, 3))
    rows[331] += 100
    model = lowland_ray.fit_sample(lowland.PCA(), ray.data.from_numpy(rows), 200, random_state=1)
    placed = lowland_ray.transform(model, ray.data.from_numpy(rows), far=True).to_pandas()
    assert list(placed.columns) == ["projection_x", "projection_y", "far"]
    assert placed["far"].sum() == model.far_rows_.find(model, rows).sum() >= 1
