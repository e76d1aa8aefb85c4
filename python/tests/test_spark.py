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
