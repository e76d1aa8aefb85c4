"""Spark with two worker processes; left out where PySpark or Java is missing (python/requirements-cluster.txt)."""

import os
import shutil
import sys

import numpy as np
import pytest

import lowland

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("Java is missing", allow_module_level=True)


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    # Two executors, each a process of its own, with the Python of this one.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_a_sample_is_fitted_and_all_rows_are_placed(spark):
    import pandas as pd

    from lowland import spark as lowland_spark

    rows = np.random.default_rng(0).normal(size=(600, 5))
    frame = pd.DataFrame(rows, columns=list("abcde"))
    frame["id"] = [f"r{i}" for i in range(600)]
    df = spark.createDataFrame(frame).repartition(4)
    model = lowland_spark.fit_sample(lowland.TSNE(perplexity=8, max_iter=350), df, 300, keep=["id"], random_state=1)
    again = lowland_spark.fit_sample(
        lowland.TSNE(perplexity=8, max_iter=350), df.repartition(3), 300, keep=["id"], random_state=1
    )
    np.testing.assert_array_equal(model.embedding_, again.embedding_)
    assert all(0.1 < share <= 1 for share in model.held_out_recall_)
    placed = lowland_spark.transform(model, df, keep=["id"]).toPandas()
    assert list(placed.columns) == ["id", "projection_x", "projection_y"]
    order = placed["id"].str[1:].astype(int).to_numpy()
    np.testing.assert_array_equal(placed[["projection_x", "projection_y"]].to_numpy(), model.transform(rows)[order])
    vectors = spark.createDataFrame([(row.tolist(),) for row in rows[:50]], ["v"])
    both = lowland_spark.transform(model, vectors, "v").toPandas().to_numpy()
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(model.transform(rows[:50]), axis=0))
    with pytest.raises(ValueError, match="no column 'z'"):
        lowland_spark.transform(model, df, ["z"])


def test_rows_that_are_not_finite_are_named_by_partition_and_row(spark):
    import pandas as pd

    from lowland import spark as lowland_spark

    rows = np.random.default_rng(0).normal(size=(400, 3))
    model = lowland.PCA().fit(rows)
    rows[331, 1] = np.nan
    frame = pd.DataFrame(rows, columns=list("abc"))
    frame["id"] = [f"r{i}" for i in range(400)]
    # Partitions of 100 rows, in order.
    df = spark.createDataFrame(spark.sparkContext.parallelize(frame.values.tolist(), 4), list("abc") + ["id"])
    named = r"row 31 of partition 3 \(id='r331'\), column 'b' is nan"
    with pytest.raises(Exception, match=named):
        lowland_spark.transform(model, df, keep=["id"]).toPandas()
    with pytest.raises(ValueError, match="row 31 of partition 3, column 'b' is nan"):
        lowland_spark.fit_sample(lowland.PCA(), df, 400, keep=["id"])


def test_far_rows_are_a_column(spark):
    import pandas as pd

    from lowland import spark as lowland_spark

    rows = np.random.default_rng(0).normal(size=(400, 3))
    rows[331] += 100
    df = spark.createDataFrame(pd.DataFrame(rows, columns=list("abc")))
    model = lowland_spark.fit_sample(lowland.PCA(), df, 200, random_state=1)
    placed = lowland_spark.transform(model, df, far=True).toPandas()
    assert list(placed.columns) == ["projection_x", "projection_y", "far"]
    assert placed["far"].sum() == model.far_rows_.find(model, rows).sum() >= 1
