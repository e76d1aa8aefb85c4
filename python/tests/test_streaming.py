"""Rows in batches: iterables, numpy.memmap, pyarrow, dask and Zarr."""

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import lowland
from lowland import streaming


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def model(rows):
    return lowland.TSNE(perplexity=8, max_iter=50).fit(rows[:200])


def sources(rows, folder):
    mapped = np.memmap(folder / "rows.bin", dtype=np.float32, mode="w+", shape=rows.shape)
    mapped[:] = rows
    table = pa.table({f"c{i}": rows[:, i] for i in range(rows.shape[1])})
    (folder / "parts").mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * 170, 170), folder / "parts" / f"p{part}.parquet")
    dataset = pads.dataset(folder / "parts")
    return {
        "memmap": mapped,
        "generator": lambda: (rows[first : first + 60] for first in range(0, 500, 60)),
        "dataset": dataset,
        "scanner": lambda: dataset.scanner(batch_size=33),
        "file": pq.ParquetFile(folder / "parts" / "p0.parquet"),
        "reader": lambda: table.to_reader(max_chunksize=77),
        "table": table,
        "pandas": table.to_pandas(),
        "dask": da.from_array(rows, chunks=(123, 3)),
    }


def test_batches_of_every_source_are_placed_like_one_array(rows, model, tmp_path):
    expected = model.transform(rows)
    for name, source in sources(rows, tmp_path).items():
        made = source() if callable(source) and not hasattr(source, "shape") else source
        placed = np.concatenate(list(streaming.transform(model, made, batch_rows=64)))
        np.testing.assert_array_equal(placed, expected[:170] if name == "file" else expected, err_msg=name)


def test_zarr_through_dask(rows, model, tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(tmp_path / "rows.zarr"), shape=rows.shape, chunks=(100, 6), dtype="f4")
    array[:] = rows
    lazy = da.from_zarr(str(tmp_path / "rows.zarr"))
    placed = np.concatenate(list(streaming.transform(model, lazy)))
    np.testing.assert_array_equal(placed, model.transform(rows))


def test_the_sample_depends_on_the_seed_and_not_on_the_batches(rows):
    drawn, numbers = streaming.sample(rows, 50, random_state=3)
    np.testing.assert_array_equal(drawn, rows[numbers])
    assert len(set(numbers)) == 50 and (np.diff(numbers) > 0).all()
    for batch_rows in (1, 7, 1000):
        again, same = streaming.sample(rows, 50, random_state=3, batch_rows=batch_rows)
        np.testing.assert_array_equal(same, numbers)
        np.testing.assert_array_equal(again, drawn)
    assert not np.array_equal(streaming.sample(rows, 50, random_state=4)[1], numbers)
    assert len(streaming.sample(rows, 9999)[1]) == 500
    counts = np.zeros(40)
    for seed in range(400):
        counts[streaming.sample(rows[:40], 10, random_state=seed)[1]] += 1
    # 100 each, with a standard deviation of 8.7.
    assert counts.min() > 60 and counts.max() < 140, counts


def test_a_sample_is_fitted_and_the_others_are_scored(rows):
    model = streaming.fit_sample(lowland.TSNE(perplexity=8, max_iter=400), rows, 300, random_state=1)
    others = np.setdiff1d(np.arange(500), model.sample_rows_)
    placed, fitted = streaming.held_out_recall(model, rows[model.sample_rows_], rows[others])
    assert 0.1 < placed <= 1 and 0.1 < fitted <= 1


def test_errors_name_the_batch(rows, model):
    broken = rows.copy()
    broken[431, 2] = np.nan
    with pytest.raises(ValueError, match="batch 4, which begins with row 400.*row 31"):
        list(streaming.transform(model, broken, batch_rows=100))
    with pytest.raises(ValueError, match="batch 1 has 5 columns, those before it 6"):
        streaming.sample([rows[:10], rows[:10, :5]], 5)
    with pytest.raises(ValueError, match="no rows"):
        streaming.sample([], 5)
    with pytest.raises(ValueError, match="n_rows=0"):
        streaming.sample(rows, 0)
    with pytest.raises(ValueError, match="batch_rows=0"):
        next(streaming.batches(rows, 0))
    with pytest.raises(TypeError, match="open the file"):
        next(streaming.batches("parts/*.parquet"))
