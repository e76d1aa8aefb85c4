"""Rows with missing values."""

import numpy as np
import pandas
import pytest
from conftest import class_name, estimators
from numpy.testing import assert_array_equal
from scipy import sparse

import lowland


@pytest.fixture
def holes(few):
    rows = few.copy()
    rows[3, 4], rows[10, 0], rows[10, 1] = np.nan, np.inf, np.nan
    return rows, np.setdiff1d(np.arange(150), [3, 10])


@pytest.mark.parametrize("estimator", estimators(perplexity=10.0), ids=class_name)
@pytest.mark.filterwarnings("ignore::lowland.ConvergenceWarning")
def test_dropped_rows_have_no_position(estimator, holes):
    rows, kept = holes
    expected = estimator.fit(rows[kept]).embedding_
    with pytest.warns(lowland.DataWarning, match="2 of 150 rows have missing values .*the first is row 3"):
        model = estimator.set_params(missing="drop").fit(rows)
    assert_array_equal(model.embedding_[kept], expected)
    assert np.isnan(model.embedding_[[3, 10]]).all()
    if hasattr(model, "embedding_std_"):
        assert_array_equal(np.isnan(model.embedding_std_).nonzero()[0], [3, 10])
    with pytest.warns(lowland.DataWarning):
        placed = model.transform(rows[:12])
    assert_array_equal(np.isnan(placed).any(axis=1).nonzero()[0], [3, 10])
    assert_array_equal(placed[:3], model.embedding_[:3])


@pytest.mark.filterwarnings("ignore::lowland.DataWarning")
def test_sparse_rows_tables_and_drawings(holes):
    rows, kept = holes
    expected = lowland.PCA().fit(rows[kept]).embedding_
    model = lowland.PCA(missing="drop").fit(pandas.DataFrame(rows).astype("Float64"))
    assert_array_equal(model.embedding_[kept], expected)
    from_sparse = lowland.TruncatedSVD(missing="drop").fit(sparse.csr_matrix(rows))
    assert_array_equal(np.isnan(from_sparse.embedding_).any(axis=1).nonzero()[0], [3, 10])
    labels = np.arange(150) % 3
    page = lowland.view(model, labels, X=np.nan_to_num(rows), ids=range(150))
    assert page.html == lowland.view({"PCA": model}, labels, X=np.nan_to_num(rows), ids=range(150)).html
    with pytest.raises(ValueError, match="neighbors: a graph of all rows cannot be used"):
        lowland.LVM(missing="drop", neighbors=lowland.neighbors(np.nan_to_num(rows, posinf=0), 9)).fit(rows)


def test_complete_rows_do_not_warn(few, recwarn):
    assert_array_equal(lowland.PCA(missing="drop").fit_transform(few), lowland.PCA().fit_transform(few))
    assert not recwarn.list
