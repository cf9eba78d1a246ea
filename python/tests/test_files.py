"""Pickles, copies and files, and the same file for the command and for Python."""

import copy
import io
import json
import os
import pickle
import subprocess

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

import mercer
from mercer import KernelPCA


def agreement(x, y):
    return float((abs(x - y) < 1).sum())


WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "joblib": lambda model: _through_joblib(model),
}


def _through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", agreement])
def test_a_copy_gives_the_same_bits(points, way, kernel):
    X = points @ points.T if kernel == "precomputed" else points
    model = KernelPCA(3, kernel=kernel, fit_inverse_transform=kernel == "rbf").fit(X)
    twin = WAYS[way](model)
    np.testing.assert_array_equal(twin.transform(X), model.transform(X))
    np.testing.assert_array_equal(twin.X_fit_, model.X_fit_)
    np.testing.assert_array_equal(twin.eigenvectors_, model.eigenvectors_)
    assert twin.record_ == model.record_
    if kernel == "rbf":
        np.testing.assert_array_equal(twin.inverse_transform(twin.transform(X)), model.inverse_transform(model.transform(X)))


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_what_is_not_fitted_can_be_fitted(points, way):
    WAYS[way](KernelPCA(2)).fit(points)


def test_a_pickle_holds_the_points_once(points):
    X = np.random.default_rng(0).normal(size=(400, 500))
    size = len(pickle.dumps(KernelPCA(2, kernel="rbf").fit(X)))
    assert X.nbytes <= size < 1.2 * X.nbytes


def test_sparse_points_survive_a_pickle(points):
    model = KernelPCA(2).fit(scipy.sparse.csr_array(points))
    assert scipy.sparse.issparse(pickle.loads(pickle.dumps(model)).X_fit_)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "matern52", "rational-quadratic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_saved_model_comes_back(points, tmp_path, kernel, dtype):
    X = points.astype(dtype)
    gamma = 1e-3 if kernel == "sigmoid" else None
    params = {"alpha": 2.0} if kernel == "rational-quadratic" else None
    model = KernelPCA(3, kernel=kernel, gamma=gamma, kernel_params=params).fit(X)
    model.save(tmp_path / "model.mercer")
    twin = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(twin.transform(X), model.transform(X))
    np.testing.assert_array_equal(twin.X_fit_, X)
    np.testing.assert_allclose(twin.fit(X).eigenvalues_, model.eigenvalues_, rtol=1e-5 if dtype == np.float32 else 1e-9)


def test_a_model_that_was_learned_one_row_at_a_time_comes_back_as_one_that_can_be_learned_exactly(points, tmp_path):
    mercer.KernelHebbianPCA(2, kernel="rbf", gamma=0.05, passes=2).fit(points).save(tmp_path / "hebbian.mercer")
    mercer.OnlineKernelPCA(2, gamma=0.05).fit(points).save(tmp_path / "online.mercer")
    exact = KernelPCA(2, kernel="rbf", gamma=0.05).fit(points)
    for name in ("hebbian", "online"):
        again = mercer.load(tmp_path / f"{name}.mercer")
        assert again.tolerance is None and again.gram == "auto"
        np.testing.assert_allclose(again.set_params(center=True).fit(points).eigenvalues_, exact.eigenvalues_, rtol=1e-8)


def test_negative_eigenvalues_that_were_flipped_are_flipped_again(points, tmp_path):
    K = points @ points.T - 20 * (np.eye(150)[::-1] + np.eye(150)[::-1].T)
    model = KernelPCA(20, kernel="precomputed", negative="flip").fit(K)
    assert (model.eigenvalues_ < 0).any()
    model.save(tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer").fit(K)
    np.testing.assert_allclose(again.eigenvalues_, model.eigenvalues_, rtol=1e-8)


def test_a_pickle_holds_what_the_estimator_is_and_nothing_else(points):
    model = KernelPCA(2, kernel="rbf").fit(points)
    assert model.__getstate__().keys() == vars(model).keys()


def test_an_empty_model_is_a_model(tmp_path):
    X = np.ones((5, 2))
    model = KernelPCA().fit(X)
    assert model.transform(X).shape == (5, 0)
    model.save(tmp_path / "empty.mercer")
    assert mercer.load(tmp_path / "empty.mercer").transform(X).shape == (5, 0)


def run(command, *arguments):
    finished = subprocess.run([str(command), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_of_the_command_is_a_model_here(points, tmp_path, command, dtype):
    X = points.astype(dtype)
    np.save(tmp_path / "x.npy", X)
    run(command, "fit", tmp_path / "x.npy", "-o", tmp_path / "m.mercer", "--kernel", "gaussian", "--gamma", "0.1", "--n-components", 3)
    run(command, "transform", tmp_path / "m.mercer", tmp_path / "x.npy", "-o", tmp_path / "scores.npy")
    model = mercer.load(tmp_path / "m.mercer")
    rounding = 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(model.transform(X), np.load(tmp_path / "scores.npy"), atol=rounding)
    here = KernelPCA(3, kernel="rbf", gamma=0.1).fit(X)
    np.testing.assert_allclose(here.transform(X), model.transform(X), atol=rounding)


def test_a_model_from_here_is_a_model_of_the_command(points, tmp_path, command):
    np.save(tmp_path / "x.npy", points)
    model = KernelPCA(3, kernel="poly", gamma=0.1, degree=2).fit(points)
    model.save(tmp_path / "m.mercer")
    run(command, "transform", tmp_path / "m.mercer", tmp_path / "x.npy", "-o", tmp_path / "scores.npy")
    np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), model.transform(points), rtol=1e-12, atol=1e-12)
    record = json.loads(run(command, "info", tmp_path / "m.mercer", "--json"))
    assert record["eigenvalues"] == model.record_["eigenvalues"]


def frame(points):
    return pd.DataFrame(points, columns=[f"c{i}" for i in range(points.shape[1])])


ESTIMATORS = {
    "kernel_pca": lambda: KernelPCA(3, kernel="rbf", gamma=0.1),
    "landmarks": lambda: KernelPCA(3, kernel="rbf", gamma=0.1, gram="nystrom", n_landmarks=50),
    "hebbian": lambda: mercer.KernelHebbianPCA(3, kernel="rbf", gamma=0.1, passes=2),
    "online": lambda: mercer.OnlineKernelPCA(3, kernel="rbf", gamma=0.1),
    "autoencoder": lambda: mercer.AutoencoderKernelPCA(2, epochs=1),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_of_features_are_in_the_file_and_the_command_goes_by_them(points, tmp_path, command, name):
    X = frame(points)
    ESTIMATORS[name]().fit(X).save(tmp_path / "m.mercer")
    model = mercer.load(tmp_path / "m.mercer")
    assert list(model.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(X[X.columns[::-1]])
    X[X.columns[::-1]].to_csv(tmp_path / "turned.csv", index=False)
    run(command, "transform", tmp_path / "m.mercer", tmp_path / "turned.csv", "-o", tmp_path / "scores.npy")
    np.testing.assert_allclose(np.load(tmp_path / "scores.npy"), model.transform(X), rtol=1e-6, atol=1e-9)


def test_names_of_the_command_are_known_here(points, tmp_path, command):
    X = frame(points)
    X.to_csv(tmp_path / "x.csv", index=False)
    run(command, "fit", tmp_path / "x.csv", "-o", tmp_path / "m.mercer", "--gamma", "0.1")
    model = mercer.load(tmp_path / "m.mercer")
    assert list(model.feature_names_in_) == list(X.columns)
    model.transform(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(X[X.columns[::-1]])


def test_names_that_are_no_names_are_left_out_of_the_file(points, tmp_path):
    X = frame(points)
    X.columns = range(points.shape[1])
    KernelPCA(2).fit(X).save(tmp_path / "m.mercer")
    assert not hasattr(mercer.load(tmp_path / "m.mercer"), "feature_names_in_")
    KernelPCA(2).fit(points).save(tmp_path / "m.mercer")
    assert not hasattr(mercer.load(tmp_path / "m.mercer"), "feature_names_in_")


def test_what_is_no_model_is_refused(tmp_path, points):
    (tmp_path / "text.mercer").write_text("hello, world")
    with pytest.raises(ValueError, match="text.mercer: not a Mercer model"):
        mercer.load(tmp_path / "text.mercer")
    with pytest.raises(FileNotFoundError):
        mercer.load(tmp_path / "missing.mercer")
    KernelPCA(2).fit(points).save(tmp_path / "m.mercer")
    data = bytearray((tmp_path / "m.mercer").read_bytes())
    data[-5] ^= 1
    (tmp_path / "m.mercer").write_bytes(data)
    with pytest.raises(ValueError, match="altered"):
        mercer.load(tmp_path / "m.mercer")


def test_a_number_is_no_path_and_the_file_that_has_it_stays_open(tmp_path):
    number = os.open(tmp_path / "mine", os.O_RDWR | os.O_CREAT)
    with pytest.raises(TypeError, match="not int"):
        mercer.load(number)
    os.close(number)


def test_a_kernel_that_is_a_function_cannot_be_saved(points, tmp_path):
    with pytest.raises(ValueError, match="a function cannot be written to a file"):
        KernelPCA(2, kernel=agreement).fit(points).save(tmp_path / "m.mercer")
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_not_there_is_an_os_error(points, tmp_path):
    with pytest.raises(FileNotFoundError):
        KernelPCA(2).fit(points).save(tmp_path / "no" / "m.mercer")


@pytest.mark.parametrize("flags", [["--standardize"], ["--scale", "1/8"]])
def test_a_scaling_of_the_command_is_known_here(points, tmp_path, command, flags):
    np.save(tmp_path / "x.npy", points)
    run(command, "fit", tmp_path / "x.npy", "-o", tmp_path / "m.mercer", "--gamma", "0.1", "--n-components", 3, *flags)
    model = mercer.load(tmp_path / "m.mercer")
    assert model.scaling == (0.125 if "1/8" in flags else "standardize")
    np.testing.assert_allclose(model.X_fit_, points, rtol=1e-12, atol=1e-12)
    # The estimator says all that it takes to learn the same again.
    again = clone(model).fit(model.X_fit_)
    np.testing.assert_allclose(again.eigenvalues_, model.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(again.transform(points), model.transform(points), atol=1e-8)


def test_a_scaled_model_takes_points_as_they_are(points, tmp_path):
    X = points * np.logspace(-3, 3, points.shape[1])
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelPCA(3, kernel="rbf", gamma="median", scaling="standardize").fit(X)
    plain = KernelPCA(3, kernel="rbf", gamma="median").fit(standardized)
    np.testing.assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(model.transform(X), plain.transform(standardized), atol=1e-8)
    np.testing.assert_array_equal(model.X_fit_, X)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.X_fit_, X)
    np.testing.assert_array_equal(twin.transform(X), model.transform(X))
    # Back in the units of the points.
    inverse = KernelPCA(8, kernel="rbf", gamma=0.05, scaling="standardize", fit_inverse_transform=True, alpha=1e-6).fit(X)
    back = inverse.inverse_transform(inverse.transform(X))
    assert np.abs((back - X) / X.std(axis=0)).mean() < 0.5
    model.save(tmp_path / "m.mercer")
    assert mercer.load(tmp_path / "m.mercer").get_params()["scaling"] == "standardize"


def test_scaled_bytes_stay_bytes(tmp_path):
    X = np.random.default_rng(0).integers(0, 256, size=(80, 30), dtype=np.uint8)
    model = KernelPCA(3, kernel="rbf", gamma=0.1, scaling=1 / 255).fit(X)
    model.save(tmp_path / "m.mercer")
    twin = mercer.load(tmp_path / "m.mercer")
    assert twin.X_fit_.dtype == np.uint8
    np.testing.assert_array_equal(twin.X_fit_, X)
    np.testing.assert_array_equal(twin.transform(X), model.transform(X))


@pytest.mark.parametrize("scaling", ["scale", 0, -1.0, np.inf, [1.0], True])
def test_scalings_that_are_none_are_refused(points, scaling):
    with pytest.raises(ValueError, match="The 'scaling' parameter of KernelPCA must be"):
        KernelPCA(2, scaling=scaling).fit(points)
    with pytest.raises(ValueError, match="its columns are points"):
        KernelPCA(2, kernel="precomputed", scaling="standardize").fit(points @ points.T)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("then", [agreement, "rbf"])
def test_a_copy_has_the_kernel_of_the_fit_whatever_the_parameter_is_by_then(points, way, then):
    first = "rbf" if then is agreement else agreement
    for model, name in (
        (KernelPCA(3, kernel=first), "kernel"),
        (mercer.KernelHebbianPCA(2, kernel=first, passes=2), "kernel"),
        (mercer.SpectralClustering(2, affinity=first, gamma=0.05, random_state=0), "affinity"),
    ):
        ask = "predict" if name == "affinity" else "transform"
        expected = getattr(model.fit(points), ask)(points)
        twin = WAYS[way](model.set_params(**{name: then}))
        np.testing.assert_array_equal(getattr(twin, ask)(points), expected)
