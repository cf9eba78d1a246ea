"""Results in the type of the data, and what happens where they have no room in it."""

import re

import numpy as np
import pytest

from mercer import KernelHebbianPCA, KernelPCA

ADVICE = "fit to points in float64 or with precision='float64', or scale the points"


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, size=(100, 400)).astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("degree", [6, 12])
def test_eigenvalues_that_overflow_are_an_error_and_leave_nothing_behind(pixels, dtype, degree):
    X, model = pixels.astype(dtype), KernelPCA(2, kernel="poly", gamma=1, degree=degree)
    message = re.escape(f"the eigenvalues are too large for float32, which ends at 3.4e+38: {ADVICE}")
    for call in (model.fit, model.fit_transform):
        with pytest.raises(ValueError, match=message):
            call(X)
        assert not hasattr(model, "eigenvalues_") and not hasattr(model, "record_") and not hasattr(model, "X_fit_")
    assert np.isfinite(model.set_params(precision="float64").fit_transform(X)).all()
    assert model.set_params(precision=None).fit(X.astype(np.float64)).eigenvalues_.dtype == np.float64


@pytest.mark.parametrize("estimator", [KernelPCA, KernelHebbianPCA])
def test_scores_that_overflow_are_an_error(pixels, estimator):
    X = pixels.astype(np.float32)
    model = estimator(2, kernel="poly", gamma=1e-3, degree=6).fit(X)
    with pytest.raises(ValueError, match=re.escape(f"the scores are too large for float32, which ends at 3.4e+38: {ADVICE}")):
        model.transform(np.float32(1e6) * X)
    assert np.isfinite(model.transform(X)).all()


def test_points_that_overflow_are_an_error(points):
    # So far from the origin the fit is made in double precision.
    X = points.astype(np.float32) + 10_000
    model = KernelPCA(2, inverse="gradient").fit(X)
    assert model.record_["precision"] == "f64"
    with pytest.raises(ValueError, match="the points are too large for float32"):
        model.inverse_transform(1e40 * model.transform(X).astype(np.float64))


@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine"])
def test_single_precision_stays_that_where_a_hebbian_fit_goes_to_double(points, kernel):
    X = points.astype(np.float32) + 10_000
    learner = KernelHebbianPCA(2, kernel=kernel, passes=2)
    scores = learner.fit_transform(X)
    assert learner.record_["precision"] == "f64"
    for values in (scores, learner.transform(X), learner.eigenvalues_, learner.components_):
        assert values.dtype == np.float32
    assert learner.coefficients_.dtype == np.float64
    assert learner.partial_fit(X[:20], passes=1).transform(X).dtype == np.float32
    assert learner.set_params(precision="float64").fit(X).transform(X).dtype == np.float64


def test_results_that_overflow_when_learning_goes_on_leave_the_learner_as_it_was():
    # Far from the origin the fit is made in double precision, so that only the results are too large: variances add up.
    X = (2e18 * (np.random.default_rng(0).normal(size=(210, 5)) + 10_000)).astype(np.float32)
    learner, twin = (KernelHebbianPCA(2, passes=3).fit(X[:10]) for _ in range(2))
    model = learner._model
    with pytest.raises(ValueError, match=re.escape(f"the eigenvalues are too large for float32, which ends at 3.4e+38: {ADVICE}")):
        learner.partial_fit(X[10:])
    assert learner.n_updates_ == 30 and learner.X_fit_.shape == (10, 5)
    # It is the same learner, which has forgotten nothing that it computed, and not one that was read from its bytes.
    assert learner._model is model and model.n_updates == 30
    # It goes on from there, to the same bits as if nothing had been.
    for learned in (learner, twin):
        learned.partial_fit(passes=2)
    assert learner.n_updates_ == 50
    assert learner.record_["kernel_entries"] >= twin.record_["kernel_entries"]
    np.testing.assert_array_equal(learner.coefficients_, twin.coefficients_)
    np.testing.assert_array_equal(learner.transform(X[:10]), twin.transform(X[:10]))
