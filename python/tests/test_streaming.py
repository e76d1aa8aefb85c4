"""Rows in batches: iterables, numpy.memmap, pyarrow, dask and Zarr."""

import os
import re
import subprocess
import sys

import anndata
import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from conftest import PROGRAM, needs_program

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


def test_fit_sample_scores_other_rows_and_knows_far_ones(rows):
    outside = rows.copy()
    outside[[40, 41]] += 100
    estimator = lowland.TSNE(perplexity=8, max_iter=100)
    model = streaming.fit_sample(estimator, outside, 300, held_out=100, random_state=1, batch_rows=70)
    np.testing.assert_array_equal(model.sample_rows_, streaming.sample(outside, 300, random_state=1)[1])
    others = np.setdiff1d(streaming.sample(outside, 400, random_state=1)[1], model.sample_rows_)
    assert model.held_out_recall_ == streaming.held_out_recall(model, outside[model.sample_rows_], outside[others])
    far = np.concatenate(list(streaming.far_rows(model, outside, batch_rows=64)))
    # By definition: farther than twice the distance within which nine tenths of the rows of the fit have another one.
    distances = np.linalg.norm(outside[:, None].astype(float) - outside[model.sample_rows_], axis=2)
    nearest = np.sort(np.sort(distances[model.sample_rows_], axis=1)[:, 1])
    assert model.far_rows_.limit == pytest.approx(2 * nearest[270], rel=1e-5)
    assert model.far_rows_.fitted_share == (nearest > model.far_rows_.limit).mean()
    np.testing.assert_array_equal(far, distances.min(axis=1) > model.far_rows_.limit)
    assert far.sum() == 2 - np.isin([40, 41], model.sample_rows_).sum()
    few = streaming.fit_sample(lowland.PCA(), rows, 20)
    assert few.held_out_recall_ is None and few.far_rows_ is not None
    words = streaming.fit_sample(lowland.TSNE(metric=lambda a, b: abs(a - b).sum(), max_iter=10), rows, 60)
    assert words.held_out_recall_ is None and words.far_rows_ is None
    with pytest.raises(ValueError, match="fit it with fit_sample"):
        next(streaming.far_rows(words, rows))


def test_rows_are_compared_after_preprocessing(rows):
    # A column that hides the others, until the columns are standardized.
    scaled = rows * np.array([1e4, 1, 1, 1, 1, 1], dtype=np.float32)
    placed, fitted = streaming.fit_sample(lowland.PCA(n_components=6, standardize=True), scaled, 300).held_out_recall_
    # All six coordinates are distances of the standardized rows.
    assert placed > 0.99 and fitted > 0.99


#: Runs a command, and prints the most memory in KiB that it used.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.stderr if done.returncode == 0 else "failed: " + done.stderr)
"""

#: Places batches of 10 MB, 300 MB in all.
STREAM = """
import resource, sys
import numpy as np
import lowland
from lowland import streaming

rows = np.random.default_rng(0).normal(size=(25_000, 100)).astype(np.float32)
model = lowland.PCA().fit(rows)
model.transform(rows)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(len(placed) for placed in streaming.transform(model, (rows + i for i in range(30))))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has another unit elsewhere")
def test_memory_does_not_grow_with_the_number_of_batches():
    done = subprocess.run([sys.executable, "-c", STREAM], capture_output=True, text=True, check=True)
    count, grown = map(int, done.stdout.split())
    assert count == 750_000
    # Three batches, where the rows are thirty.
    assert grown < 30_000, f"{grown} KiB"


def write_npy(path, values):
    np.save(path, values)


def write_parquet(path, values, group=20_000):
    pq.write_table(pa.table({f"c{i}": values[:, i] for i in range(values.shape[1])}), path, row_group_size=group)


def write_arrow(path, values):
    table = pa.table({f"c{i}": values[:, i] for i in range(values.shape[1])})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=10_000)


def write_h5ad(path, values):
    anndata.AnnData(values).write_h5ad(path)


WRITERS = {"npy": write_npy, "parquet": write_parquet, "arrow": write_arrow, "h5ad": write_h5ad}
UNITS = {"MB": 1e6, "MiB": 2**20, "GB": 1e9, "GiB": 2**30}


def measured(folder, *command):
    """Run a command of the program; return the most memory that it used and that it stated, in bytes, and its messages."""
    done = subprocess.run([sys.executable, "-c", MEASURE, PROGRAM, *command], cwd=folder, capture_output=True, text=True, check=True)
    peak, messages = done.stdout.split(maxsplit=1)
    stated = re.search(r"memory: .*: ([\d.]+) (\w+) in all", messages)
    assert stated, messages
    return int(peak) * 1024, float(stated[1]) * UNITS[stated[2]], messages


def write_parts(folder, ending, values):
    """Write a part, and link it to five names."""
    (folder / "parts").mkdir()
    WRITERS[ending](folder / "parts" / f"p0.{ending}", values)
    for part in range(1, 5):
        os.link(folder / "parts" / f"p0.{ending}", folder / "parts" / f"p{part}.{ending}")


@needs_program
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has another unit elsewhere")
@pytest.mark.parametrize("ending", list(WRITERS))
def test_the_program_needs_no_more_memory_than_it_states(tmp_path, ending):
    values = np.random.default_rng(0).normal(size=(100_000, 100)).astype(np.float32)
    lowland.PCA().fit(values[:1000]).save(tmp_path / "m.lowland")
    write_parts(tmp_path, ending, values)
    peak, stated, _ = measured(tmp_path, "transform", "m.lowland", "parts", "--out", "placed/", "--part-format", "parquet", "--threads", "1")
    assert len(list((tmp_path / "placed").glob("*.parquet"))) == 5
    # 200 MB of rows are placed.
    assert peak < stated < 0.8 * 5 * values.nbytes, (peak, stated)
    if ending == "parquet":
        # The pages of a row group are held, which here are those of a whole part.
        write_parquet(tmp_path / "parts" / "p0.parquet", values, len(values))
        command = ["transform", "m.lowland", "parts/p0.*", "--out", "again/", "--part-format", "parquet", "--threads", "1"]
        peak, with_pages, _ = measured(tmp_path, *command)
        assert peak < with_pages and with_pages > stated + 0.4 * values.nbytes, (peak, with_pages, stated)


@needs_program
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has another unit elsewhere")
def test_a_sample_that_is_fitted_and_all_rows_placed_need_no_more_memory_than_is_stated(tmp_path):
    values = np.random.default_rng(0).normal(size=(30_000, 400)).astype(np.float32)
    write_parts(tmp_path, "npy", values)
    fit = ["--fit-rows", "500", "--method", "tsne", "--perplexity", "5", "--max-iter", "20", "--no-quality", "--seed", "1"]
    peak, stated, _ = measured(tmp_path, "embed", "parts", *fit, "--out", "placed/", "--threads", "1")
    assert len(list((tmp_path / "placed").glob("*.npy"))) == 5
    # 240 MB of rows are placed.
    assert peak < stated < 0.8 * 5 * values.nbytes, (peak, stated)


@needs_program
def test_a_value_that_is_missing_from_a_part_is_named_where_a_sample_is_fitted(tmp_path):
    (tmp_path / "parts").mkdir()
    for part in range(9):
        values = np.random.default_rng(part).normal(size=(50, 4)).astype(np.float32)
        if part == 7:
            values[31, 2] = np.nan
        np.save(tmp_path / "parts" / f"p{part}.npy", values)
    for fit in (["--fit-rows", "40"], []):
        command = [PROGRAM, "embed", "parts", *fit, "--max-iter", "10", "--perplexity", "4", "--out", "placed/" if fit else "map.csv"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode != 0
        assert re.search(r"p7\.npy.*row 31\b", done.stderr, re.DOTALL), done.stderr
    assert not (tmp_path / "map.csv").exists()


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
