"""Models exchanged with the command line program."""

import subprocess

import numpy as np
import pytest
from conftest import PROGRAM, class_name, estimators, needs_program
from numpy.testing import assert_array_equal

import lowland


def run_program(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True)


@needs_program
@pytest.mark.parametrize("estimator", estimators(), ids=class_name)
def test_models_are_exchanged_with_the_command_line(estimator, few, digits, tmp_path):
    old, new, model, out = (tmp_path / name for name in ("old.npy", "new.npy", "a.lowland", "out.npy"))
    np.save(old, few.astype(np.float32))
    np.save(new, digits[0][150:170])
    estimator.set_params(random_state=3).fit(few)
    estimator.save(model)
    run_program("transform", model, new, "--out", out, "--quiet")
    assert_array_equal(np.load(out), estimator.transform(digits[0][150:170].astype(np.float64)))
    params = estimator.get_params()
    flags = [f"--{name.replace('_', '-')}={params[name]}" for name in ("max_iter", "inducing") if name in params]
    program_model = tmp_path / "b.lowland"
    method = ["--method", estimator._method, "--seed", 3, *flags]
    run_program("embed", old, *method, "--save", program_model, "--out", out, "--quiet", "--no-quality")
    loaded = lowland.load(program_model)
    assert type(loaded) is type(estimator)
    assert_array_equal(loaded.embedding_, estimator.embedding_)
    assert_array_equal(np.load(out), estimator.embedding_)
    assert repr(loaded) == repr(estimator)


@needs_program
def test_preprocessing_steps_are_flags_of_the_command_line(few, tmp_path):
    old, model, out = tmp_path / "old.npy", tmp_path / "a.lowland", tmp_path / "out.npy"
    np.save(old, few.astype(np.float32))
    flags = ["--method", "lvm", "--log1p", "--standardize", "--normalize", "--pca", "12", "--max-iter", "20", "--quiet", "--no-quality"]
    run_program("embed", old, *flags, "--save", model, "--out", out)
    fitted = lowland.LVM(max_iter=20, log1p=True, standardize=True, normalize=True, pca=12).fit(few)
    loaded = lowland.load(model)
    assert repr(loaded) == repr(fitted)
    assert_array_equal(loaded.embedding_, fitted.embedding_)
    assert_array_equal(np.load(out), fitted.embedding_)
    assert_array_equal(loaded.transform(few[:9] + 0.5), fitted.transform(few[:9] + 0.5))
