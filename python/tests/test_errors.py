"""Wrong calls, and what they are told."""

import numpy as np
import pytest

import mercer
from mercer import KernelPCA


@pytest.mark.parametrize(
    "params, message",
    [
        ({"n_components": 0}, r"'n_components' parameter of KernelPCA must be an int in the range \[1, inf\) or None. Got 0"),
        ({"n_components": 2.5}, "'n_components' parameter"),
        ({"kernel": "rfb"}, "'kernel' parameter of KernelPCA must be a str among {'linear', .*'poly', 'rbf', 'precomputed'} or a callable. Got 'rfb'"),
        ({"kernel": 3}, "'kernel' parameter of KernelPCA must be a str among {.*} or a callable. Got 3"),
        ({"kernel": "rbf", "gamma": -1.0}, r"'gamma' parameter of KernelPCA must be a float in the range \(0, inf\), 'auto', 'scale', 'median' or None"),
        ({"kernel": "rbf", "bandwidth": 0}, r"'bandwidth' parameter of KernelPCA must be a float in the range \(0, inf\), 'auto'"),
        ({"kernel": "rbf", "bandwidth": True}, "'bandwidth' parameter"),
        ({"variance": 0.5}, "n_components and variance say how many components there are: give one of them"),
        ({"n_components": None, "variance": 1.5}, r"'variance' parameter of KernelPCA must be a float in the range \(0, 1\] or None"),
        ({"n_components": None, "variance": 0}, "'variance' parameter"),
        ({"n_components": None, "variance": 0.9, "gram": "nystrom"}, "variance has no effect with gram='nystrom'"),
        ({"tol": 2.0}, r"'tol' parameter of KernelPCA must be a float in the range \[0, 1\)"),
        ({"tol": -1}, r"'tol' parameter of KernelPCA must be a float in the range \[0, 1\). Got -1 "),
        ({"accuracy": 0}, r"'accuracy' parameter of KernelPCA must be a float in the range \(0, 1\) or None. Got 0 "),
        ({"accuracy": 1.5}, r"'accuracy' parameter of KernelPCA must be a float in the range \(0, 1\) or None. Got 1.5 "),
        ({"kernel": "rbf", "gamma": 0}, "`gamma` must be a positive number, but it is 0"),
        ({"kernel": "rbf", "gamma": "wide"}, "'auto', 'scale', 'median' or None. Got 'wide'"),
        ({"kernel": "rbf", "gamma": 1.0, "bandwidth": 1.0}, "gamma and bandwidth say the same thing"),
        ({"kernel": "rbf", "gamma": 1.0, "bandwidth": "auto"}, "gamma and bandwidth say the same thing"),
        ({"kernel": "linear", "gamma": "median"}, "linear kernel has no width"),
        ({"kernel": "poly", "degree": 0}, "`degree` must be at least 1, but it is 0"),
        ({"kernel": "poly", "degree": 2.5}, "'degree' parameter"),
        ({"kernel_params": {"beta": 1}}, "which has no 'beta'"),
        ({"eigen_solver": "qr"}, "'eigen_solver' parameter of KernelPCA must be a str among {'auto', 'dense'"),
        ({"solver": "qr"}, "'solver' parameter"),
        ({"eigen_solver": "dense", "solver": "krylov"}, "ask for two things"),
        ({"gram": "dense"}, "'gram' parameter of KernelPCA must be a str among {.*'nystrom'}. Got 'dense'"),
        ({"tol": 1e-3, "tolerance": 1e-3}, "tol and tolerance say the same thing"),
        ({"tolerance": 2.0}, r"'tolerance' parameter of KernelPCA must be a float in the range \(0, 1\) or None. Got 2.0 "),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"precision": "float16"}, "'precision' parameter of KernelPCA must be a str among {'float32', 'float64'} or None"),
        ({"precision": np.float32}, "'precision' parameter"),
        ({"memory_limit": "much"}, "`memory_limit` must be \"auto\", a share such as 50%"),
        ({"memory_limit": 0}, "'memory_limit' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"n_jobs": 100_000}, "'n_jobs' parameter of KernelPCA must be an int other than 0 and at most 1024, or None. Got 100000"),
        ({"n_jobs": 10**30}, "at most 1024, or None. Got 10{30} "),
        ({"tolerance": 1}, r"'tolerance' parameter of KernelPCA must be a float in the range \(0, 1\) or None. Got 1 "),
        ({"progress": "yes"}, "'progress' parameter must be a bool or a callable. Got 'yes'"),
        ({"random_state": -1}, "'random_state' parameter"),
        ({"fit_inverse_transform": "yes"}, "'fit_inverse_transform' parameter"),
        ({"inverse": "pinv"}, "'inverse' parameter of KernelPCA must be a str among {'fixed-point', 'distance', 'ridge', "),
        ({"time_limit": float("nan")}, "'time_limit' parameter"),
        ({"negative": "ignore"}, "'negative' parameter"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_allowed(points, params, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**{"n_components": 2, **params}).fit(points)


@pytest.mark.parametrize("name", ["n_components", "kernel", "gamma", "alpha", "center"])
def test_a_wrong_type_is_also_a_type_error(points, name):
    with pytest.raises(TypeError, match=name):
        KernelPCA(**{name: object()}).fit(points)


def test_a_budget_that_is_too_small_is_a_memory_error_with_advice(points):
    with pytest.raises(mercer.MemoryBudgetError, match="would") as raised:
        KernelPCA(2, kernel="rbf", memory_limit="10kB").fit(points)
    assert isinstance(raised.value, MemoryError)


def test_a_budget_too_small_for_the_inverse_transform_is_noticed_before_the_fit():
    rows, called = np.random.default_rng(0).normal(size=(150, 1)), []
    params = {"n_components": 2, "kernel": "rbf", "memory_limit": "450kB", "solver": "krylov", "fit_inverse_transform": True}

    def kernel(X, Y):
        called.append(X.shape)
        return X @ Y.T

    for changes in ({}, {"kernel": mercer.block_kernel(kernel)}, {"gram": "nystrom", "solver": "auto"}):
        model = KernelPCA(**{**params, **changes})
        with pytest.raises(mercer.MemoryBudgetError, match="Learning pre-images of 150 points needs"):
            model.fit(rows)
        assert not hasattr(model, "eigenvalues_")
    assert not called
    with pytest.raises(mercer.MemoryBudgetError, match="Learning pre-images of 150 points needs"):
        mercer.plan(rows, **params)
    KernelPCA(**{**params, "inverse": "fixed-point"}).fit(rows)


def test_input_that_is_not_finite_is_refused_in_fit_and_transform(points):
    model = KernelPCA(2).fit(points)
    broken = points.copy()
    broken[3, 4] = np.nan
    for call in (KernelPCA(2).fit, model.transform):
        with pytest.raises(ValueError, match="NaN"):
            call(broken)


@pytest.mark.parametrize("text", [np.array([["1", "2"], ["3", "5"]]), [["1", "2"], ["3", "5"]], "abc"])
def test_text_is_not_taken_for_numbers(points, text):
    for call in (KernelPCA(1).fit, KernelPCA(1).fit(points[:, :2]).transform):
        with pytest.raises(ValueError, match="X must hold numbers, but it holds text or bytes"):
            call(text)


def test_scores_that_cannot_be_brought_back_are_told_why(points):
    model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(points)
    with pytest.raises(ValueError, match="X must have 2 columns, one per component, but it has 3"):
        model.inverse_transform(np.ones((4, 3)))
    with pytest.raises(ValueError, match="X must be finite, but it is nan in row 1, column 0"):
        model.inverse_transform([[0.0, 1.0], [np.nan, 2.0]])


def test_a_ridge_of_zero_that_cannot_work_says_so(points):
    twice = np.vstack([points, points])
    with pytest.raises(ValueError, match="`alpha` must be larger, but it is 0"):
        KernelPCA(2, kernel="linear", fit_inverse_transform=True, alpha=0.0).fit(twice)


def test_before_a_fit_there_is_nothing(points):
    from sklearn.exceptions import NotFittedError

    for call in (lambda m: m.transform(points), lambda m: m.save("nowhere"), lambda m: m.inverse_transform(points)):
        with pytest.raises(NotFittedError):
            call(KernelPCA(2))
    assert not hasattr(KernelPCA(2), "X_fit_")


def test_unknown_names_are_unknown():
    with pytest.raises(AttributeError, match="no attribute 'KernelPCB'"):
        mercer.KernelPCB  # noqa: B018


def test_parameters_are_called_what_they_are_called_here(points):
    image = np.random.default_rng(0).normal(size=(20, 20))
    pictures = np.random.default_rng(0).normal(size=(8, 12, 12))
    learner = mercer.KernelHebbianPCA(2, passes=1).fit(points)
    autoencoder = mercer.AutoencoderKernelPCA(2, epochs=1).fit(points)
    signal = np.arange(5.0)
    for call, message in (
        (lambda: mercer.SpectralClustering(2, affinity="rfb").fit(points), "'affinity' parameter of SpectralClustering must be a str among"),
        (lambda: mercer.SpectralClustering(2, affinity=3).fit(points), "'affinity' parameter of SpectralClustering"),
        (lambda: mercer.SpectralClustering(2, eigen_tol=1.5).fit(points), "'eigen_tol' parameter of SpectralClustering"),
        (lambda: mercer.SpectralClustering(2, precision="half").fit(points), "'precision' parameter of SpectralClustering"),
        (lambda: mercer.KernelHebbianPCA(2, precision="half").fit(points), "'precision' parameter of KernelHebbianPCA"),
        (lambda: mercer.KernelHebbianPCA(2, n_jobs=2000).fit(points), "'n_jobs' parameter of KernelHebbianPCA must be .* at most 1024"),
        (lambda: mercer.KernelHebbianPCA(2, memory_limit="much").fit(points), "`memory_limit` must be"),
        (lambda: learner.subspace_angle(mercer.KernelPCA(2).fit(points[:50])), "`reference` must be"),
        (lambda: mercer.Nystroem(n_components=5, landmarks="rpcholesky", kernel="rfb").fit(points), "'kernel' parameter of Nystroem"),
        (lambda: mercer.tune_kernel(points, criterion="leading", n_leading=150), "`n_leading` must be at most"),
        (lambda: mercer.tune_kernel(points, kernel="rfb"), "'kernel' parameter of tune_kernel"),
        (lambda: mercer.denoise_image(image, patch_size=30), "`patch_size` must be"),
        (lambda: mercer.upscale(pictures[:, :5, :5], pictures), "`images` must be"),
        (lambda: mercer.metrics.snr(np.ones(5), signal), "`clean` must be a signal that is not constant"),
        (lambda: mercer.metrics.noise_removed(signal, signal, signal), "`clean` must be other than the noisy signal"),
        (lambda: autoencoder.inverse_transform(np.ones((3, 4))), "`X` must be of 2 columns, one per component"),
        (lambda: mercer.AutoencoderKernelPCA(2, validation_fraction=0.999).fit(points), "`validation_fraction` must be"),
        (lambda: mercer.KernelPCA(2, kernel="rbf", inverse="gradient").fit(points).preimages(np.ones((3, 4))), "`X` must be of 2 columns"),
        (lambda: mercer.KernelPCA(2, gram="nystrom", tolerance=2.0).fit(points), "'tolerance' parameter of KernelPCA must be"),
        (lambda: mercer.kernel_product(points, np.ones(150), return_record="yes"), "'return_record' parameter of kernel_product"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
