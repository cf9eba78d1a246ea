"""The package as such: imports, stubs, life beside other processes and without scikit-learn."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer import KernelPCA


def _fit(seed):
    X = np.random.default_rng(seed).normal(size=(300, 5))
    return KernelPCA(2, kernel="rbf").fit(X).eigenvalues_


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_fit_after_its_parent_has():
    expected = _fit(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for result in pool.map_async(_fit, [0, 0, 0]).get(timeout=60):
            np.testing.assert_array_equal(result, expected)


def test_processes_of_joblib_can_fit():
    from joblib import Parallel, delayed

    for result in Parallel(n_jobs=2)(delayed(_fit)(0) for _ in range(3)):
        np.testing.assert_array_equal(result, _fit(0))


def test_importing_brings_in_neither_scikit_learn_nor_scipy(run_python):
    program = """
    import sys, mercer
    print([name for name in ("sklearn", "scipy", "pandas", "tqdm") if name in sys.modules])
    """
    assert run_python(program) == "[]\n"


@pytest.mark.parametrize("first", ["mercer", "sklearn"])
def test_estimators_are_scikit_learns_whatever_is_imported_first(run_python, first):
    program = """
    import {first}
    import pickle, mercer, numpy as np
    from mercer import KernelPCA
    class Own(KernelPCA):
        def transform(self, X):
            return super().transform(X)
    pca = KernelPCA(2, kernel="rbf")
    from sklearn.base import BaseEstimator, TransformerMixin, clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    assert isinstance(pca, BaseEstimator) and isinstance(pca, TransformerMixin)
    X = np.random.default_rng(0).normal(size=(60, 4))
    for estimator in (pca, Own(2, kernel="rbf")):
        framed = clone(estimator).set_output(transform="pandas").fit(X)
        name = type(estimator).__name__.lower()
        assert list(framed.transform(X).columns) == [name + "0", name + "1"]
        assert list(framed.fit_transform(X).columns) == [name + "0", name + "1"]
        assert make_pipeline(StandardScaler(), estimator).fit_transform(X).shape == (60, 2)
        assert "KernelPCA" in estimator._repr_html_() or "Own" in estimator._repr_html_()
    assert pickle.loads(pickle.dumps(pca.fit(X))).transform(X).shape == (60, 2)
    print([base.__name__ for base in KernelPCA.__mro__], sorted(name for name in dir(KernelPCA) if "request" in name))
    """
    ways = [run_python(program.format(first=name)) for name in (first, "sklearn")]
    assert ways[0] == ways[1]


def test_a_model_can_be_unpickled_before_anything_else(run_python, tmp_path, points):
    import pickle

    (tmp_path / "model.pickle").write_bytes(pickle.dumps(KernelPCA(2, kernel="rbf").fit(points)))
    program = f"""
    import pickle, pathlib
    model = pickle.loads(pathlib.Path({str(tmp_path / "model.pickle")!r}).read_bytes())
    from sklearn.base import BaseEstimator
    print(isinstance(model, BaseEstimator), model.converged_)
    """
    assert run_python(program) == "True True\n"


def test_all_names_are_there():
    for name in mercer.__all__:
        assert getattr(mercer, name) is not None
    assert set(mercer.__all__) <= set(dir(mercer))


def test_without_scikit_learn_everything_of_ours_works(run_python):
    program = """
    import sys
    class Absent:
        def find_spec(self, name, *_):
            if name.split(".")[0] == "sklearn":
                raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    sys.meta_path.insert(0, Absent())
    import pickle, warnings
    import numpy as np, mercer
    X = np.random.default_rng(0).normal(size=(150, 8))
    model = mercer.KernelPCA(3, kernel="rbf", fit_inverse_transform=True)
    assert repr(model) == "KernelPCA(fit_inverse_transform=True, kernel='rbf', n_components=3)", repr(model)
    scores = model.fit_transform(X)
    assert np.allclose(model.transform(X), scores, atol=1e-9)
    assert model.inverse_transform(scores).shape == X.shape
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    assert list(model.get_feature_names_out()) == ["kernelpca0", "kernelpca1", "kernelpca2"]
    assert model.set_params(n_components=2).get_params()["n_components"] == 2
    for wrong in (X[0], X[:1], X[:, :0], X + np.nan, X + 1j):
        try:
            model.fit(wrong)
        except ValueError:
            continue
        raise AssertionError(wrong)
    model.fit(X)
    try:
        model.transform(X[:, 1:])
    except ValueError as error:
        assert str(error) == "X has 7 features, but KernelPCA is expecting 8 features as input.", error
    try:
        mercer.KernelPCA().transform(X)
    except ValueError as error:
        assert "not fitted yet" in str(error)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mercer.KernelPCA(5, kernel="rbf", max_iter=1, solver="krylov").fit(np.random.default_rng(0).normal(size=(500, 20)))
    assert [item.category for item in caught] == [mercer.ConvergenceWarning], caught
    learner = mercer.KernelHebbianPCA(2, kernel="rbf", passes=2).fit(X).partial_fit(X[:5], passes=1)
    assert learner.n_updates_ == 2 * 150 + 155 and learner.transform(X).shape == (150, 2)
    assert np.array_equal(pickle.loads(pickle.dumps(learner)).coefficients_, learner.coefficients_)
    print("fine")
    """
    assert run_python(program) == "fine\n"


def test_stubs_are_those_of_the_extension_module():
    finished = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "mercer._mercer"], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_package_passes_a_strict_type_checker(tmp_path):
    from conftest import ROOT

    finished = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(ROOT / "python" / "mercer")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_names_of_choices_are_those_of_the_library():
    from mercer import _mercer

    assert _mercer.GRAMS[0] == _mercer.SOLVERS[0] == "auto"
    for solver in _mercer.SOLVERS:
        assert KernelPCA(2, kernel="rbf", solver=solver).fit(np.random.default_rng(0).normal(size=(30, 3))).converged_


def test_the_code_of_the_documentation_runs(tmp_path, monkeypatch, capsys):
    import re

    from conftest import ROOT

    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) >= 4
    names = {"mercer": mercer}
    for block in blocks:
        exec(block, names)  # noqa: S102
    assert (tmp_path / "digits.mercer").exists()


def test_examples_in_docstrings_run():
    import doctest

    from mercer import _kernel_pca

    results = doctest.testmod(_kernel_pca)
    assert results.attempted > 0 and results.failed == 0
