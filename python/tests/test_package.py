"""The package as such: imports, stubs, life beside other processes and without scikit-learn."""

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer import KernelPCA


def _fit(seed):
    X = np.random.default_rng(seed).normal(size=(300, 5))
    return KernelPCA(2, kernel="rbf").fit(X).eigenvalues_


def _plan(seed):
    return mercer.plan(np.random.default_rng(seed).normal(size=(300, 5)))["expected_memory_bytes"]


def _inverse(seed):
    X = np.random.default_rng(seed).normal(size=(60, 5))
    pca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
    return pca.inverse_transform(pca.transform(X))


def _hebbian(seed):
    global _kept_learner
    X = np.random.default_rng(seed).normal(size=(60, 5))
    # Learners are kept, to learn on.
    _kept_learner = mercer.KernelHebbianPCA(2, kernel="rbf").fit(X)
    return _kept_learner.transform(X)


def _landmarks(seed):
    X = np.random.default_rng(seed).normal(size=(300, 5))
    return mercer.Nystroem(n_components=20, random_state=0).fit(X).transform(X)


def _fourier(seed):
    X = np.random.default_rng(seed).normal(size=(300, 5))
    return mercer.FourierFeatures(n_components=20, random_state=0).fit(X).transform(X)


def _clusters(seed):
    X = np.random.default_rng(seed).normal(size=(60, 5))
    return mercer.SpectralClustering(2, random_state=0).fit(X).predict(X)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("work", [_fit, _plan, _inverse, _hebbian, _landmarks, _fourier, _clusters])
def test_a_forked_process_can_do_what_its_parent_has_done(work):
    expected = work(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for result in pool.map_async(work, [0, 0, 0]).get(timeout=60):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore::mercer.ConvergenceWarning")
def test_a_learner_that_is_kept_goes_on_in_a_forked_process():
    global _kept_model, _kept_learner
    X = np.random.default_rng(0).normal(size=(60, 5))
    _kept_model = KernelPCA(2, kernel="rbf").fit(X)
    _kept_learner = mercer.KernelHebbianPCA(2, kernel="rbf", n_jobs=2).fit(X)
    # Not by a pickle: the very learner, as the forked process has it.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        there = pool.apply_async(_learn_on_what_is_kept).get(timeout=60)
    assert there == _learn_on_what_is_kept()


def _learn_on_what_is_kept():
    _kept_learner.partial_fit(passes=1)
    return _kept_learner.n_updates_, _kept_learner.subspace_angle(_kept_model), _kept_learner.feature_error()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
@pytest.mark.parametrize("work", ["_fit", "_plan", "_inverse", "_hebbian", "_landmarks", "_fourier", "_clusters"])
def test_no_thread_outlives_a_call(run_python, work):
    program = """
    import os, sys, time, warnings
    warnings.simplefilter("ignore")
    sys.path.insert(0, {folder!r})
    import test_package
    # The class of warnings is scikit-learn's, whose import starts the threads of SciPy's linear algebra.
    test_package.mercer.ConvergenceWarning
    threads = lambda: len(os.listdir("/proc/self/task"))
    before = threads()
    test_package.{work}(0)
    # A thread that ends may take a moment to be gone.
    deadline = time.monotonic() + 5
    while threads() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    print(threads() - before)
    """
    assert run_python(program.format(folder=os.path.dirname(__file__), work=work)) == "0\n"


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


def test_no_name_of_the_package_brings_them_in(run_python):
    program = """
    import sys, mercer
    for name in mercer.__all__:
        if name != "ConvergenceWarning":
            getattr(mercer, name)
    print([name for name in ("sklearn", "scipy", "pandas", "tqdm") if name in sys.modules])
    """
    assert run_python(program) == "[]\n"


def test_a_fit_of_an_array_brings_in_nothing_either(run_python):
    program = """
    import pickle, sys
    import numpy as np
    from mercer import KernelPCA
    X = np.random.default_rng(0).normal(size=(60, 4))
    for rows in (X, X.astype(np.float32), np.asfortranarray(X), X[::2], (X > 0).astype(np.uint8), (9 * X).astype(int)):
        pca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(rows)
        again = pickle.loads(pickle.dumps(pca))
        assert np.array_equal(again.transform(rows), pca.transform(rows))
        assert again.inverse_transform(again.transform(rows)).shape == rows.shape
        assert repr(again) == "KernelPCA(fit_inverse_transform=True, kernel='rbf', n_components=2)"
        assert list(again.get_feature_names_out()) == ["kernelpca0", "kernelpca1"]
    print([name for name in ("sklearn", "scipy", "pandas", "tqdm") if name in sys.modules])
    """
    assert run_python(program) == "[]\n"


def test_what_only_scikit_learn_can_do_imports_it(run_python):
    program = """
    import pickle, sys
    import numpy as np, mercer
    from mercer import KernelPCA
    X = np.random.default_rng(0).normal(size=(60, 4))
    pca = KernelPCA(2, kernel="rbf")
    assert "sklearn" not in sys.modules
    {use}
    assert "sklearn" in sys.modules
    from sklearn.base import BaseEstimator
    assert isinstance(pca, BaseEstimator) and issubclass(KernelPCA, BaseEstimator)
    # Nothing stays behind of what waited for it.
    assert not any(type(finder).__module__.startswith("mercer") for finder in sys.meta_path)
    assert "exec_module" not in vars(sys.modules["sklearn.base"].__loader__)
    print("fine")
    """
    for use in (
        "assert list(pca.set_output(transform='pandas').fit(X).transform(X).columns) == ['kernelpca0', 'kernelpca1']",
        "assert 'KernelPCA' in pca._repr_html_()",
        "assert KernelPCA.set_output.__name__ == 'set_output'",
        "assert pca.__sklearn_tags__().input_tags.sparse",
        "assert pca.__sklearn_tags__().transformer_tags.preserves_dtype == ['float64', 'float32']",
        "assert mercer.SpectralClustering(affinity='precomputed').__sklearn_tags__().input_tags.pairwise",
        "assert 'ConvergenceWarning' in dir(mercer) and mercer.ConvergenceWarning.__module__ == 'sklearn.exceptions'",
        "import pandas; assert list(pca.fit(pandas.DataFrame(X, columns=list('abcd'))).feature_names_in_) == list('abcd')",
        "import scipy.sparse; assert pca.fit(scipy.sparse.csr_array(X)).n_features_in_ == 4",
    ):
        assert run_python(program.format(use=use)) == "fine\n"
    told = """
    try:
        pca.{call}
    except Exception as error:
        assert type(error).__name__ == {kind!r} and {message!r} in str(error), repr(error)
    """
    for call, kind, message in (
        ("transform(X)", "NotFittedError", "This KernelPCA instance is not fitted yet. Call 'fit' with"),
        ("fit(X + np.nan)", "ValueError", "Input X contains NaN.\nKernelPCA does not accept missing values"),
        ("fit(X[:1])", "ValueError", "Found array with 1 sample(s) (shape=(1, 4)) while a minimum of 2 is required by KernelPCA."),
        ("fit(X).transform(X[:, 1:])", "ValueError", "X has 3 features, but KernelPCA is expecting 4 features as input."),
    ):
        assert run_python(program.format(use=told.format(call=call, kind=kind, message=message).strip())) == "fine\n"


def test_outputs_stay_frames_in_another_process(run_python, tmp_path, points):
    import pickle

    model = KernelPCA(2, kernel="rbf").set_output(transform="pandas").fit(points)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    program = f"""
    import pickle, pathlib
    model = pickle.loads(pathlib.Path({str(tmp_path / "model.pickle")!r}).read_bytes())
    print(list(model.transform(model.X_fit_).columns))
    """
    assert run_python(program) == "['kernelpca0', 'kernelpca1']\n"


def test_classes_of_users_are_told_once_and_keep_what_they_were_made_with(run_python):
    program = """
    from mercer import KernelPCA
    made = []
    class Known(KernelPCA):
        def __init_subclass__(cls, **keywords):
            made.append(cls.__name__)
            super().__init_subclass__(**keywords)
    class Plain(Known, auto_wrap_output_keys=None):
        pass
    class Framed(Known):
        pass
    import sklearn
    assert made == ["Plain", "Framed"], made
    print(hasattr(Plain(2), "set_output"), hasattr(Framed(2), "set_output"))
    """
    assert run_python(program) == "False True\n"


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
    online = mercer.OnlineKernelPCA(2, gamma=0.1, budget=20).partial_fit(X[:70]).partial_fit(X[70:])
    assert online.n_seen_ == 150 and pickle.loads(pickle.dumps(online)).transform(X).shape == (150, 2)
    assert mercer.Nystroem(n_components=20).fit_transform(X).shape == (150, 20)
    assert mercer.FourierFeatures(n_components=20).fit_transform(X).shape == (150, 20)
    assert mercer.AutoencoderKernelPCA(2, epochs=1).fit(X).transform(X).shape == (150, 2)
    assert mercer.KernelTuner().fit_transform(X).shape == X.shape
    clusters = mercer.SpectralClustering(3, solver=mercer.KernelHebbianPCA(gain="t", passes=3))
    assert clusters.set_params(solver__passes=4).get_params()["solver__passes"] == 4
    assert clusters.fit_predict(X).shape == (150,)
    assert not hasattr(model, "set_output") and not hasattr(model, "_repr_html_")
    learner = mercer.KernelHebbianPCA(2, kernel="rbf", passes=2).fit(X).partial_fit(X[:5], passes=1)
    assert learner.n_updates_ == 2 * 150 + 155 and learner.transform(X).shape == (150, 2)
    assert np.array_equal(pickle.loads(pickle.dumps(learner)).coefficients_, learner.coefficients_)
    print("fine")
    """
    assert run_python(program) == "fine\n"


@pytest.mark.parametrize("is_installed", [True, False])
def test_help_is_there_before_anything_has_imported_scikit_learn(run_python, is_installed):
    program = """
    import sys
    class Absent:
        def find_spec(self, name, *_):
            if name.split(".")[0] == "sklearn":
                raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    if not {is_installed}:
        sys.meta_path.insert(0, Absent())
    import pydoc, mercer
    text = pydoc.plain(pydoc.render_doc(mercer.{name}))
    assert "{name}" in text and "get_params" in text, text
    print("fine")
    """
    for name in ("OnlineKernelPCA", "KernelPCA", "SpectralClustering", "Nystroem"):
        assert run_python(program.format(is_installed=is_installed, name=name)) == "fine\n"


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


def test_names_of_choices_stand_once():
    import ast
    import pathlib

    from mercer import _mercer

    choices = {tuple(names): name for name, names in vars(_mercer).items() if isinstance(names, tuple)}
    assert len(choices) >= 18
    for path in pathlib.Path(mercer.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and all(isinstance(item, ast.Constant) for item in node.elts):
                written = {item.value for item in node.elts}
                again = [name for names, name in choices.items() if set(names) <= written]
                assert not again, f"{path.name}, line {node.lineno}: these are the names of _mercer.{again[0]}"


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
    import importlib

    named = (getattr(mercer, name) for name in mercer.__all__)
    modules = {value.__module__ for value in named if hasattr(value, "__module__")} | {"mercer.metrics"}
    for name in sorted(name for name in modules if name.startswith("mercer.") and name != "mercer._mercer"):
        results = doctest.testmod(importlib.import_module(name))
        assert results.attempted > 0 and results.failed == 0, name


def test_everything_public_has_an_example():
    for name in mercer.__all__:
        value = getattr(mercer, name)
        if callable(value) and not (isinstance(value, type) and issubclass(value, (Exception, mercer.Plan, mercer.TuneResult))):
            assert ">>>" in value.__doc__, name
    for name in mercer.metrics.__all__:
        assert ">>>" in getattr(mercer.metrics, name).__doc__, name


def test_an_older_scikit_learn_is_refused_with_the_version_that_the_package_asks_for(run_python):
    import re
    import tomllib

    from conftest import ROOT

    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["sklearn"][0]
    major, minor = map(int, re.fullmatch(r"scikit-learn>=(\d+)\.(\d+)", asked).groups())
    program = """
    import sys
    import sklearn
    sklearn.__version__ = {version!r}
    import numpy as np
    from mercer import KernelPCA
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert KernelPCA(2, kernel="rbf").fit(X).converged_
    import pandas
    try:
        KernelPCA(2, kernel="rbf").fit(pandas.DataFrame(X))
        print("taken")
    except ImportError as error:
        print(error)
    """
    for version in (f"{major}.{minor}.0rc1", f"{major}.{minor + 1}.dev0", f"{major + 1}.0.0"):
        assert run_python(program.format(version=version)) == "taken\n"
    older = f"{major}.{minor - 1}.2"
    expected = f"mercer needs scikit-learn {major}.{minor} or newer where it is installed, but found {older}\n"
    assert run_python(program.format(version=older)) == expected


@pytest.mark.skipif(not hasattr(sys, "_is_gil_enabled"), reason="every interpreter before 3.13 has the lock")
def test_the_global_lock_is_held(run_python):
    assert run_python("import mercer._mercer, sys; print(sys._is_gil_enabled())") == "True\n"
