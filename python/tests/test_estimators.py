"""Properties that all estimators share, beyond the checks of scikit-learn."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import class_name, estimators
from numpy.testing import assert_array_equal
from sklearn.base import clone

import lowland
from lowland import _input
from lowland._base import PARAMETERS, PREPROCESSING, python_name
from lowland._registry import ESTIMATORS

#: Parameters of every estimator that are not parameters of a method.
RUN_PARAMETERS = {"missing", "n_jobs", "device", "random_state", "verbose", "max_memory"}
OPTIONAL_PARAMETERS = {"callbacks", "callbacks_every_iters", "metric_params", "neighbors", "precomputed_knn"}


def parameters(method):
    """Return the parameters of the estimator of a method, from its signature."""
    return inspect.signature(getattr(lowland, ESTIMATORS[method])).parameters


def test_every_method_of_the_library_has_an_estimator():
    assert set(ESTIMATORS) == set(PARAMETERS)
    for method, name in ESTIMATORS.items():
        assert getattr(lowland, name)._method == method and name in lowland.__all__


@pytest.mark.parametrize("method", sorted(ESTIMATORS))
def test_names_and_defaults_are_those_of_the_command_line(method):
    specs = {python_name(name): default for name, default, _, _ in PARAMETERS[method] + PREPROCESSING}
    defaults = {name: parameter.default for name, parameter in parameters(method).items()}
    assert set(defaults) - OPTIONAL_PARAMETERS == set(specs) | RUN_PARAMETERS
    assert ("neighbors" in defaults) == ("metric_params" in defaults) == ("search" in specs)
    # Another name of ``neighbors``, that of umap-learn.
    assert ("precomputed_knn" in defaults) == (method == "umap")
    for name, default in specs.items():
        assert _input.value(default, defaults[name]) == defaults[name], name
    kinds = [parameter.kind for name, parameter in parameters(method).items() if name != "n_components"]
    assert set(kinds) == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("method", sorted(ESTIMATORS))
def test_docstring_explains_every_parameter(method):
    # Since Python 3.13, docstrings are not indented.
    docstring = inspect.cleandoc(getattr(lowland, ESTIMATORS[method]).__doc__)
    for name in parameters(method):
        _, _, after = docstring.partition(f"\n{name} : ")
        assert after.split("\n")[1].strip(), name
    # A mismatch means that the generated module is out of date: run `cargo xtask generate`.
    words = " ".join(docstring.split())
    for name, _, text, _ in PARAMETERS[method] + PREPROCESSING:
        assert " ".join(text.split()).rstrip(".") in words, name


def test_import_does_not_import_scikit_learn():
    code = """
import sys, lowland
lowland.datasets.load("digits"); lowland.quality.procrustes([[0, 0], [1, 2]], [[0, 0], [1, 2]])
loaded = {"sklearn", "scipy", "pandas", "matplotlib", "tqdm"} & set(sys.modules)
assert not loaded, loaded
lowland.PCA
assert "sklearn" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_result_does_not_depend_on_number_of_threads(estimator, few):
    embeddings = [clone(estimator).set_params(n_jobs=jobs).fit_transform(few).tobytes() for jobs in (1, 2, 3)]
    assert embeddings[0] == embeddings[1] == embeddings[2]


@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_precision_and_memory_layout_only_change_the_dtype(estimator, few, tmp_path):
    double = estimator.fit(few)
    single = clone(estimator).fit(few.astype(np.float32))
    assert double.embedding_.dtype == np.float64 and single.embedding_.dtype == np.float32
    assert_array_equal(single.embedding_, double.embedding_.astype(np.float32))
    path = tmp_path / "rows.npy"
    np.save(path, np.asfortranarray(few.astype(np.float32)))
    assert_array_equal(clone(estimator).fit_transform(np.load(path, mmap_mode="r")), single.embedding_)


@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_pickled_estimator_keeps_its_state(estimator, few):
    estimator.fit(few)
    loaded = pickle.loads(pickle.dumps(estimator))
    assert_array_equal(loaded.transform(few[:20] + 0.5), estimator.transform(few[:20] + 0.5))
    assert_array_equal(loaded.transform(few), estimator.embedding_)
    assert loaded.notes_ == estimator.notes_ and loaded.n_iter_ == estimator.n_iter_
    assert_array_equal(loaded.objectives_, estimator.objectives_)


@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_saved_model_is_loaded_with_its_parameters(estimator, few, tmp_path):
    estimator.set_params(random_state=7).fit(few)
    estimator.save(tmp_path / "model.lowland")
    loaded = lowland.load(tmp_path / "model.lowland")
    assert repr(loaded) == repr(estimator)
    assert_array_equal(loaded.embedding_, estimator.embedding_)
    assert_array_equal(loaded.transform(few[:20] + 0.5), estimator.transform(few[:20] + 0.5))
    assert_array_equal(loaded.transform(few), estimator.embedding_)
    assert_array_equal(clone(loaded).fit_transform(few), estimator.embedding_)


@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_transform_of_a_row_does_not_depend_on_the_batch(estimator, few, digits):
    new = digits[0][150:170].astype(np.float64)
    estimator.fit(few)
    together = estimator.transform(new)
    for i in (0, 7, 19):
        assert_array_equal(estimator.transform(new[i : i + 1])[0], together[i])
        assert_array_equal(estimator.transform(np.vstack([few[:3], new[i : i + 1]]))[3], together[i])


@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_few_rows_are_transformed_exactly(estimator, few, digits):
    new = digits[0][150:170].astype(np.float64)
    estimator.fit(few)
    assert_array_equal(estimator.transform(new, exact=True), estimator.transform(new))


@pytest.mark.parametrize("cls", [lowland.LVM, lowland.GPLVM])
def test_score_and_inverse_transform(cls, few, digits):
    model = cls(max_iter=30).fit(few)
    new = digits[0][150:170]
    assert model.embedding_std_.shape == (150,) and (model.embedding_std_ >= 0).all()
    assert model.transform_std(new).shape == (20,)
    if cls is lowland.GPLVM:
        assert model.score(new) == pytest.approx(model.score_samples(new).mean())
    rows = model.inverse_transform(model.embedding_)
    assert rows.shape == few.shape
    assert ((rows - few) ** 2).mean() < ((few - few.mean(axis=0)) ** 2).mean()
    assert model.lower_bounds_[-1] == model.lower_bound_ >= model.lower_bounds_[0]


def test_outliers_have_a_large_standard_deviation(digits):
    X = digits[0].astype(np.float64)
    model = lowland.LVM().fit(X[:1000])
    ordinary, inverted = X[1000:1200], 16 - X[1000:1200]
    assert np.median(model.transform_std(inverted)) > 2 * np.median(model.transform_std(ordinary))


def test_methods_without_inverse_have_no_inverse_transform():
    assert not hasattr(lowland.TSNE(), "inverse_transform")
    assert not hasattr(lowland.TSNE(), "score") and not hasattr(lowland.LVM(), "score")


def test_kl_divergence_attribute(few):
    model = lowland.TSNE(max_iter=60, exaggeration_iter=20).fit(few)
    assert model.kl_divergence_ == model.objectives_[-1]
    assert model.n_iter_ == len(model.objectives_) == 60


def test_set_output_pandas(few):
    table = lowland.PCA().set_output(transform="pandas").fit_transform(few)
    assert list(table.columns) == ["pca0", "pca1"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0: at least 1"),
        ({"metric": "euclid"}, "metric='euclid'"),
        ({"levels": 2.5}, "levels=2.5: expected an integer, at least 0, or 'auto'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"max_memory": "8GiB"}, "max_memory='8GiB': expected a number of bytes"),
        ({"max_memory": -1}, "max_memory=-1: expected a number of bytes"),
        ({"random_state": -1}, "random_state=-1"),
        ({"metric_params": {"q": 1}}, "metric_params"),
    ],
)
def test_invalid_parameters_raise(params, message, few):
    with pytest.raises(ValueError, match=message):
        lowland.LVM(**params).fit(few)


def test_error_names_first_cell_that_is_not_finite(few):
    bad = few.copy()
    bad[3, 4] = np.nan
    bad[9, 9] = np.inf
    with pytest.raises(ValueError, match=r"row 3, column 4 is NaN \(counting from 0; 2 such values"):
        lowland.PCA().fit(bad)


def test_memory_limit_raises_memory_error(few):
    with pytest.raises(MemoryError, match="needs about .* the limit is 1.0 KiB"):
        lowland.LVM(max_memory=1024).fit(few)
    assert lowland.PCA(max_memory=8e9).fit(few).n_iter_ >= 1


def test_load_of_missing_or_damaged_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        lowland.load(tmp_path / "nothing.lowland")
    (tmp_path / "bad.lowland").write_bytes(b"LOWLAND\n and then nothing of use")
    with pytest.raises(ValueError, match="not a usable"):
        lowland.load(tmp_path / "bad.lowland")


def test_unfitted_estimator_raises(few):
    from sklearn.exceptions import NotFittedError

    for method in ("transform", "inverse_transform", "score", "transform_std"):
        with pytest.raises(NotFittedError):
            getattr(lowland.GPLVM(), method)(few)
