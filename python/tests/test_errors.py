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
        ({"kernel": "rfb"}, "`kernel` must be one of linear, polynomial, gaussian.*but it is rfb"),
        ({"kernel": 3}, "'kernel' parameter of KernelPCA must be the name of a kernel or a callable. Got 3"),
        ({"kernel": "rbf", "gamma": -1.0}, "'gamma' parameter"),
        ({"kernel": "rbf", "gamma": 0}, "`gamma` must be a positive number, but it is 0"),
        ({"kernel": "rbf", "gamma": "wide"}, "None, 'auto', 'scale' or 'median'. Got 'wide'"),
        ({"kernel": "rbf", "gamma": 1.0, "bandwidth": 1.0}, "gamma and bandwidth say the same thing"),
        ({"kernel": "linear", "gamma": "median"}, "linear kernel has no width"),
        ({"kernel": "poly", "degree": 0}, "`degree` must be at least 1, but it is 0"),
        ({"kernel": "poly", "degree": 2.5}, "'degree' parameter"),
        ({"kernel_params": {"beta": 1}}, "which has no 'beta'"),
        ({"eigen_solver": "qr"}, "'eigen_solver' parameter of KernelPCA must be a str among {'auto', 'dense'"),
        ({"solver": "qr"}, "'solver' parameter"),
        ({"eigen_solver": "dense", "solver": "krylov"}, "ask for two things"),
        ({"gram": "dense"}, "'gram' parameter of KernelPCA must be a str among {.*'nystrom'}. Got 'dense'"),
        ({"tol": 1e-3, "tolerance": 1e-3}, "tol and tolerance say the same thing"),
        ({"tolerance": 2.0}, "`tolerance` must be between 0 and 1, but it is 2"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"precision": "float16"}, "'precision' parameter of KernelPCA must be a str among {'float32', 'float64'} or None"),
        ({"precision": np.float32}, "'precision' parameter"),
        ({"memory_limit": "much"}, "`memory_limit` must be \"auto\", a share such as 50%"),
        ({"memory_limit": 0}, "'memory_limit' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"n_jobs": 100_000}, "`threads` must be at most 1024, but it is 100000"),
        ({"progress": "yes"}, "'progress' parameter must be a bool or a callable. Got 'yes'"),
        ({"random_state": -1}, "'random_state' parameter"),
        ({"fit_inverse_transform": "yes"}, "'fit_inverse_transform' parameter"),
        ({"inverse": "pinv"}, "'inverse' parameter of KernelPCA must be a str among {'ridge', 'fixed-point', 'distance', "),
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
    with pytest.raises(mercer.MemoryBudgetError, match="pre-images"):
        KernelPCA(2, kernel="rbf", memory_limit="450kB", solver="krylov", fit_inverse_transform=True).fit(
            np.random.default_rng(0).normal(size=(150, 1))
        )


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
