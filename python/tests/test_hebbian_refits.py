"""What fits of :class:`mercer.KernelHebbianPCA` leave and say, and what may not change between them."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline

import mercer
from mercer import AutoencoderKernelPCA, KernelHebbianPCA, KernelPCA, OnlineKernelPCA


def test_a_fit_of_another_width_that_fails_leaves_the_model_of_before(points):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(points, columns=list("abcdefgh"))
    learner = KernelHebbianPCA(2, kernel="rbf", gain="constant", eta0=0.01, passes=3).fit(table)
    scores = learner.transform(table)
    with pytest.raises(ValueError, match="diverged"):
        learner.set_params(eta0=1e4).fit(table[["c", "a", "b"]])
    assert learner.n_features_in_ == 8 and list(learner.feature_names_in_) == list("abcdefgh")
    np.testing.assert_array_equal(learner.transform(table), scores)
    assert learner.set_params(eta0=0.01).partial_fit(table, passes=1).n_updates_ == 450 + 300
    # Without a model there is nothing to know columns by.
    fresh = KernelHebbianPCA(2, kernel="rbf", gain="constant", eta0=1e4)
    for learn in (fresh.fit, fresh.partial_fit):
        with pytest.raises(ValueError, match="diverged"):
            learn(points)
        assert not hasattr(fresh, "n_features_in_") and fresh.passes == 10


@pytest.mark.parametrize(
    "estimator, other",
    [
        (AutoencoderKernelPCA(2, epochs=1), np.zeros((5, 3))),
        (mercer.SpectralClustering(2, affinity="linear"), np.zeros((5, 3))),
        (mercer.Nystroem(n_components=5, kernel="poly"), np.full((5, 3), 1e120)),
    ],
)
def test_other_estimators_that_fail_have_no_model_of_either_width(points, estimator, other):
    if isinstance(estimator, mercer.SpectralClustering):
        points = np.abs(points)
    estimator.fit(points)
    ask = estimator.predict if hasattr(estimator, "predict") else estimator.transform
    ask(points)
    with pytest.raises(ValueError):
        estimator.fit(other)
    with pytest.raises(NotFittedError):
        ask(points)


def test_components_that_are_missing_before_convergence_may_be_there():
    X = np.vstack([np.random.default_rng(0).normal(size=(120, 5)), np.full((1, 5), 1e6)])
    learner = KernelHebbianPCA(3)
    with pytest.warns(mercer.RankWarning, match="2 of the n_components=3 components asked for were found; more passes may find others"):
        learner.fit(X)
    assert learner.converged_ is False and learner.record_["converged"] is False


def test_whether_components_have_converged_is_told(points):
    exact = KernelPCA(3, kernel="rbf").fit(points)
    assert KernelHebbianPCA(3, kernel="rbf", passes=1).fit(points, initial_model=exact).converged_ is True


@pytest.mark.parametrize("estimator", [KernelHebbianPCA, OnlineKernelPCA])
def test_a_kernel_that_was_changed_in_place_is_refused(points, estimator):
    learner = estimator(2, kernel=RBF(1.0)).fit(points)
    learner.partial_fit(points)
    message = "kernel must stay RBF(length_scale=1) while learning goes on, but it is RBF(length_scale=5); fit begins anew"
    with pytest.raises(ValueError, match=re.escape(message)):
        learner.set_params(kernel__length_scale=5.0).partial_fit(points)
    learner.set_params(kernel__length_scale=1.0).partial_fit(points)


def test_keywords_of_a_kernel_that_were_changed_in_place_are_refused(points):
    keywords = {"factor": 1.0, "shift": np.zeros(8)}
    learner = KernelHebbianPCA(2, kernel=lambda x, y, factor, shift: factor * ((x - shift) @ (y - shift)), kernel_params=keywords, passes=1)
    learner.fit(points[:20]).partial_fit()
    keywords["factor"] = 2.0
    with pytest.raises(ValueError, match="kernel_params must stay"):
        learner.partial_fit()


def test_warnings_name_the_line_that_called(points):
    calls = (
        lambda: KernelHebbianPCA(3, kernel="rbf", passes=1).fit(points),
        lambda: KernelHebbianPCA(3, kernel="rbf", passes=1).fit_transform(points),
        lambda: KernelHebbianPCA(3, kernel="rbf").partial_fit(points, passes=1),
        lambda: KernelPCA(3, kernel="rbf", solver="power", max_iter=1).fit_transform(points),
        lambda: make_pipeline(KernelPCA(3, kernel="rbf", solver="power", max_iter=1)).fit(points),
        lambda: AutoencoderKernelPCA(1, epochs=1, learning_rate=1e9).fit(points),
        lambda: AutoencoderKernelPCA(1, epochs=1, learning_rate=1e9).partial_fit(points),
    )
    for call in calls:
        with pytest.warns(ConvergenceWarning) as told:
            call()
        assert {(warning.filename, warning.lineno) for warning in told} == {(__file__, call.__code__.co_firstlineno)}


def test_new_points_are_called_x_and_counted_from_zero(points):
    bytewise = KernelHebbianPCA(2, passes=1).fit((10 * np.abs(points)).astype(np.uint8))
    with pytest.raises(ValueError, match="`X` must be numbers of the format learned from"):
        bytewise.partial_fit(points)
    learner, far = KernelHebbianPCA(2, passes=1).fit(points), points[:10].copy()
    far[4] = 1e120
    with pytest.raises(ValueError, match="kernel of row 4 with itself is "):
        learner.partial_fit(far)
    assert learner.n_updates_ == 150


@pytest.mark.parametrize(
    "kernel, size, message",
    [
        ("poly", 1e150, r"polynomial kernel of row \d+ with itself is inf, which overflows f64"),
        ("linear", 1e-120, "linear kernel of each of the 150 rows with itself is at most .*scale the data"),
    ],
)
def test_kernel_values_that_arithmetic_has_no_room_for_are_not_called_divergence(points, kernel, size, message):
    with pytest.raises(ValueError, match=message):
        KernelHebbianPCA(2, kernel=kernel).fit(size * points)


def test_a_model_that_scales_is_no_start(points):
    model = KernelPCA(2, kernel="rbf", scaling="standardize").fit(points)
    with pytest.raises(ValueError, match="`initial_model` must be a model without a scaling.*but it is one that scales its points itself"):
        KernelHebbianPCA(2, kernel="rbf").fit(points, initial_model=model)


def test_settings_that_are_the_same_objects_are_no_change(points):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner = KernelHebbianPCA(2, kernel=1.0 * RBF(1.0) + RBF([1.0] * 8), passes=1).fit(points[:40])
        assert learner.partial_fit().n_updates_ == 80
