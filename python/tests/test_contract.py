"""What users rely on, beyond scikit-learn's checks."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import estimators
from numpy.testing import assert_array_equal
from sklearn.base import clone

import lowland
import lowland.estimators  # They register themselves when they are imported, whichever test comes first.
from lowland import _input
from lowland._base import METHODS, PREPARATION, REGISTRY, python_name

#: Parameters of the estimators that no method has: how to run, not what to do.
RUN = {"n_jobs", "random_state", "verbose", "max_memory"}
OPTIONAL = {"callbacks", "callbacks_every_iters", "metric_params", "neighbors"}


def named(estimator):
    return type(estimator).__name__


def test_every_method_of_the_library_has_an_estimator():
    assert set(REGISTRY) == set(METHODS)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_names_and_defaults_are_those_of_the_command_line(method):
    signature = inspect.signature(REGISTRY[method].__init__).parameters
    specs = {python_name(name): default for name, default, _, _ in METHODS[method][2] + PREPARATION}
    given = {name: parameter.default for name, parameter in signature.items() if name != "self"}
    assert set(given) - OPTIONAL == set(specs) | RUN
    assert ("neighbors" in given) == ("metric_params" in given) == ("search" in specs)
    for name, default in specs.items():
        assert _input.value(default, given[name]) == given[name], name
    kinds = [parameter.kind for name, parameter in signature.items() if name not in ("self", "n_components")]
    assert set(kinds) == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_docstring_explains_every_parameter(method):
    documentation = REGISTRY[method].__doc__
    for name in REGISTRY[method]._get_param_names_in_order():
        _, _, after = documentation.partition(f"\n    {name}")
        assert after.split("\n")[1].strip(), name


def test_importing_the_package_imports_no_scikit_learn():
    code = """
import sys, lowland
lowland.datasets.load("digits"); lowland.quality.procrustes([[0, 0], [1, 2]], [[0, 0], [1, 2]])
loaded = {"sklearn", "scipy", "pandas", "matplotlib", "tqdm"} & set(sys.modules)
assert not loaded, loaded
lowland.PCA
assert "sklearn" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("estimator", estimators(), ids=named)
def test_the_same_bytes_for_any_number_of_threads(estimator, few):
    maps = [clone(estimator).set_params(n_jobs=jobs).fit_transform(few).tobytes() for jobs in (1, 2, 3)]
    assert maps[0] == maps[1] == maps[2]


@pytest.mark.parametrize("estimator", estimators(), ids=named)
def test_precision_and_layout_of_the_input_change_the_type_and_nothing_else(estimator, few, tmp_path):
    double = estimator.fit(few)
    single = clone(estimator).fit(few.astype(np.float32))
    assert double.embedding_.dtype == np.float64 and single.embedding_.dtype == np.float32
    assert_array_equal(single.embedding_, double.embedding_.astype(np.float32))
    path = tmp_path / "rows.npy"
    np.save(path, np.asfortranarray(few.astype(np.float32)))
    assert_array_equal(clone(estimator).fit_transform(np.load(path, mmap_mode="r")), single.embedding_)


@pytest.mark.parametrize("estimator", estimators(), ids=named)
def test_a_pickled_estimator_knows_all_it_knew(estimator, few):
    estimator.fit(few)
    again = pickle.loads(pickle.dumps(estimator))
    assert_array_equal(again.transform(few[:20] + 0.5), estimator.transform(few[:20] + 0.5))
    assert_array_equal(again.transform(few), estimator.embedding_)
    assert again.notes_ == estimator.notes_ and again.n_iter_ == estimator.n_iter_
    assert_array_equal(again.objectives_, estimator.objectives_)


@pytest.mark.parametrize("estimator", estimators(), ids=named)
def test_a_saved_model_is_read_back_with_its_parameters(estimator, few, tmp_path):
    estimator.set_params(random_state=7).fit(few)
    estimator.save(tmp_path / "model.lowland")
    again = lowland.load(tmp_path / "model.lowland")
    assert repr(again) == repr(estimator)
    assert_array_equal(again.embedding_, estimator.embedding_)
    assert_array_equal(again.transform(few[:20] + 0.5), estimator.transform(few[:20] + 0.5))
    assert_array_equal(again.transform(few), estimator.embedding_)
    assert_array_equal(clone(again).fit_transform(few), estimator.embedding_)


@pytest.mark.parametrize("estimator", estimators(), ids=named)
def test_a_row_is_placed_alike_in_any_batch(estimator, few, digits):
    new = digits[0][150:170].astype(np.float64)
    estimator.fit(few)
    together = estimator.transform(new)
    for i in (0, 7, 19):
        assert_array_equal(estimator.transform(new[i : i + 1])[0], together[i])
        assert_array_equal(estimator.transform(np.vstack([few[:3], new[i : i + 1]]))[3], together[i])


@pytest.mark.parametrize("cls", [lowland.LVM, lowland.GPLVM])
def test_generative_models_score_and_invert(cls, few, digits):
    model = cls(max_iter=30).fit(few)
    new = digits[0][150:170]
    assert model.embedding_std_.shape == (150,) and (model.embedding_std_ >= 0).all()
    assert model.transform_std(new).shape == (20,)
    assert model.score(new) == pytest.approx(model.score_samples(new).mean())
    rows = model.inverse_transform(model.embedding_)
    assert rows.shape == few.shape
    assert ((rows - few) ** 2).mean() < ((few - few.mean(axis=0)) ** 2).mean()
    assert model.lower_bounds_[-1] == model.lower_bound_ >= model.lower_bounds_[0]


def test_outliers_are_marked_by_the_deviation_of_their_place_whatever_their_score(digits):
    X = digits[0].astype(np.float64)
    model = lowland.LVM().fit(X[:1000])
    ordinary, inverted = X[1000:1200], 16 - X[1000:1200]
    # The score is given the row's distances, so that it cannot tell; the deviation can.
    assert np.median(model.transform_std(inverted)) > 2 * np.median(model.transform_std(ordinary))


def test_methods_without_an_inverse_do_not_pretend(few):
    assert not hasattr(lowland.TSNE(), "inverse_transform")
    assert not hasattr(lowland.TSNE(), "score")


def test_divergences_are_reported_under_the_usual_name(few):
    model = lowland.TSNE(max_iter=60, exaggeration_iter=20).fit(few)
    assert model.kl_divergence_ == model.objectives_[-1]
    assert model.n_iter_ == len(model.objectives_) == 60


def test_output_can_be_a_table_with_names(few):
    table = lowland.PCA().set_output(transform="pandas").fit_transform(few)
    assert list(table.columns) == ["pca0", "pca1"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors = 0: at least 1"),
        ({"metric": "euclid"}, "metric = euclid"),
        ({"levels": 2.5}, "levels = 2.5: expected a whole number or auto"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"max_memory": "8GiB"}, "max_memory = '8GiB': a number of bytes"),
        ({"max_memory": -1}, "max_memory = -1: a number of bytes"),
        ({"random_state": -1}, "random_state = -1"),
        ({"metric_params": {"q": 1}}, "metric_params"),
    ],
)
def test_wrong_parameters_are_named_with_what_is_allowed(params, words, few):
    with pytest.raises(ValueError, match=words):
        lowland.LVM(**params).fit(few)


def test_the_first_bad_cell_is_named(few):
    bad = few.copy()
    bad[3, 4] = np.nan
    bad[9, 9] = np.inf
    with pytest.raises(ValueError, match=r"row 3, column 4 is NaN \(counting from 0; 2 such cells"):
        lowland.PCA().fit(bad)


def test_work_that_needs_too_much_memory_is_refused(few):
    with pytest.raises(MemoryError, match="needs about .* the limit is 1.0 KiB"):
        lowland.LVM(max_memory=1024).fit(few)
    assert lowland.PCA(max_memory=8e9).fit(few).n_iter_ >= 1


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        lowland.load(tmp_path / "nothing.lowland")
    (tmp_path / "bad.lowland").write_bytes(b"LOWLAND\n and then nothing of use")
    with pytest.raises(ValueError, match="not a usable"):
        lowland.load(tmp_path / "bad.lowland")


def test_unfitted_estimators_say_so(few):
    from sklearn.exceptions import NotFittedError

    for method in ("transform", "inverse_transform", "score", "transform_std"):
        with pytest.raises(NotFittedError):
            getattr(lowland.LVM(), method)(few)
