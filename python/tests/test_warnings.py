"""Adjustments are warnings and not only notes."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland import _base

TWO_CLUSTERS = np.vstack([np.random.default_rng(0).normal(size=(40, 3)), 100 + np.random.default_rng(1).normal(size=(40, 3))])


def test_classes_of_warnings():
    assert issubclass(lowland.LowlandWarning, UserWarning)
    for name in ("ParameterWarning", "DataWarning", "ConvergenceWarning"):
        assert issubclass(getattr(lowland, name), lowland.LowlandWarning)
    assert issubclass(lowland.ConvergenceWarning, ConvergenceWarning)


@pytest.mark.parametrize("cls", [lowland.TSNE, lowland.SymmetricSNE, lowland.ElasticEmbedding, lowland.MapIt])
@pytest.mark.filterwarnings("ignore::lowland.ConvergenceWarning")
def test_reduced_perplexity(cls, few):
    with pytest.warns(lowland.ParameterWarning, match="perplexity reduced to") as caught:
        model = cls(perplexity=500, max_iter=5).fit(few)
    assert caught[0].filename == __file__ and str(caught[0].message) in model.notes_


@pytest.mark.filterwarnings("ignore::lowland.ConvergenceWarning")
def test_perplexity_reduced_by_a_graph(few):
    with pytest.warns(lowland.ParameterWarning, match="perplexity reduced to 5"):
        lowland.TSNE(neighbors=lowland.neighbors(few, 15), max_iter=5).fit(few)


@pytest.mark.parametrize("name", ["LVM", "Isomap", "SpectralEmbedding", "LTSA", "LocallyLinearEmbedding"])
def test_reduced_number_of_neighbors(name, few):
    with pytest.warns(lowland.ParameterWarning, match="n_neighbors reduced from 1000 to 149"):
        getattr(lowland, name)(n_neighbors=1000).fit_transform(few)


@pytest.mark.parametrize("name", ["LVM", "Isomap", "SpectralEmbedding", "LTSA", "LocallyLinearEmbedding", "LLLVM"])
def test_neighbor_graph_in_parts(name):
    with pytest.warns(lowland.DataWarning, match="the neighbor graph has 2 components"):
        getattr(lowland, name)(n_neighbors=5).fit(TWO_CLUSTERS)


def test_run_that_ended_while_exaggerated_is_a_convergence_warning_of_scikit_learn(few):
    with pytest.warns(ConvergenceWarning, match="still exaggerated"):
        lowland.TSNE(max_iter=20).fit(few)


def test_undisturbed_fits_do_not_warn(digits):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowland.TSNE(max_iter=300).fit(digits[0][:300])
        lowland.LVM(n_neighbors=15).fit(digits[0][:600])
        lowland.PCA().fit(digits[0])


def test_labels_that_are_ignored_are_mentioned_once(few, digits):
    _base._warned_of_labels.clear()
    with pytest.warns(lowland.ParameterWarning, match="y is ignored: PCA does not use labels"):
        lowland.PCA().fit(few, digits[1][:150])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowland.PCA().fit(few, digits[1][:150])
        lowland.SpectralEmbedding().fit(few)


def test_warning_points_to_the_line_of_the_user(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import numpy as np, lowland\nX = np.eye(30)\nlowland.Isomap(n_neighbors=99).fit_transform(X)\n")
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert f"{script}:3: ParameterWarning: n_neighbors reduced from 99 to 29" in result.stderr
