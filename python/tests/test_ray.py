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
