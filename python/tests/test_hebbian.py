"""The kernel Hebbian algorithm: the stored cases, what can be asked of a run, and how it goes on."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest
from conftest import ROOT
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer import KernelHebbianPCA, KernelPCA

CASES = sorted(path.stem for path in (ROOT / "testdata" / "hebbian").glob("*.npz") if path.stem != "autotune")
RULES = {"const": "constant", "KHA_t": "t", "KHA_etstar": "et*", "KHA_et": "et", "KHA_SMDstar": "smd*", "KHA_SMD": "smd"}
REFRESHES = {"pass": "pass", "iter": "iteration", "pass-lambda": "pass-eigenvalues"}


def case(name):
    return np.load(ROOT / "testdata" / "hebbian" / f"{name}.npz")


def assert_close(found, expected):
    """The tolerance of the cases: relative to the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max() + 1e-13)


def test_all_cases_are_found():
    assert len(CASES) == 24


@pytest.mark.parametrize("batch_size", [1, 7, 50])
@pytest.mark.parametrize("name", CASES)
def test_a_stored_case_comes_out_at_every_batch_size(name, batch_size):
    stored = case(name)
    rule, refresh = name.removesuffix("_rho1").rsplit("_", 1)
    learner = KernelHebbianPCA(
        3,
        kernel="precomputed",
        center=False,
        gain=RULES.get(rule, rule),
        refresh=REFRESHES[refresh],
        batch_size=batch_size,
        record_error=True,
        **{name: float(stored[f"par_{name}"]) for name in ("eta0", "tau", "mu", "xi", "rho0")},
    )
    learner.fit(stored["in_Kc"], initial_coefficients=stored["in_A1"], order=stored["in_idx"])
    assert learner.n_updates_ == 50
    assert_close(learner.coefficients_, stored["out_A"])
    assert_close(learner.log_gains_, stored["out_rho"])
    assert_close(learner.gains_, stored["out_eta"] * np.exp(stored["out_rho"]))
    assert_close(learner.eigenvalue_estimates_, stored["out_lam_final"])
    assert_close(learner.history_[-1]["error"], stored["out_err38"])


@pytest.mark.parametrize("batch_size", [1, 7, 50])
def test_automatic_gains_are_those_of_the_stored_case(batch_size):
    stored = case("autotune")
    learner = KernelHebbianPCA(
        stored["in_A1"].shape[0], kernel="precomputed", center=False, tau=float(stored["par_tau"]), batch_size=batch_size
    )
    learner.fit(stored["in_Kc"], initial_coefficients=stored["in_A1"], order=stored["in_idx"])
    assert learner.gain_parameters_ == {"eta0": float(stored["out_x"]), "tau": float(stored["par_tau"]), "mu": None}
    assert_close(learner.coefficients_, stored["out_A"])


@pytest.mark.parametrize("kernel, params", [("linear", {"gain": "constant", "eta0": 1e-4}), ("rbf", {}), ("rbf", {"gain": "et"})])
def test_many_passes_come_near_the_exact_components(points, kernel, params):
    exact = KernelPCA(2, kernel=kernel).fit(points)
    learner = KernelHebbianPCA(2, kernel=kernel, passes=300, **params).fit(points)
    np.testing.assert_allclose(learner.eigenvalues_, exact.eigenvalues_, rtol=1e-3)
    assert learner.gamma_ == exact.gamma_ == 1 / 8


def test_the_finished_model_is_orthonormal_ordered_and_what_transform_uses(points):
    learner = KernelHebbianPCA(3, kernel="rbf", passes=5).fit(points)
    K = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2) / 8)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    W = learner.components_
    assert W.shape == learner.coefficients_.shape == (3, 150)
    np.testing.assert_allclose(W @ centred @ W.T, np.eye(3), atol=1e-9)
    assert (np.diff(learner.eigenvalues_) < 0).all()
    scores = learner.transform(points)
    np.testing.assert_allclose(scores, centred @ W.T, atol=1e-9)
    np.testing.assert_allclose((scores**2).sum(axis=0), learner.eigenvalues_, rtol=1e-9)
    # As updated, they span the same, but are something else.
    assert np.linalg.matrix_rank(np.vstack([W, learner.coefficients_ - learner.coefficients_.mean(axis=1)[:, None]]), tol=1e-8) == 3
    assert np.abs(W - learner.coefficients_).max() > 1e-3
    estimates = np.linalg.norm(learner.coefficients_ @ centred, axis=1) / np.linalg.norm(learner.coefficients_, axis=1)
    np.testing.assert_allclose(learner.eigenvalue_estimates_, estimates, rtol=1e-9)
    np.testing.assert_allclose(KernelHebbianPCA(3, kernel="rbf", passes=5).fit_transform(points), scores, atol=1e-9)


@pytest.mark.parametrize("center", [True, False])
def test_measures_of_quality_are_those_of_their_definitions(points, center):
    learner = KernelHebbianPCA(3, kernel="rbf", gamma=0.2, center=center, passes=2, record_error=True).fit(points)
    kernel = np.exp(-0.2 * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    if center:
        kernel = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    images = learner.coefficients_ @ kernel
    error = np.linalg.norm(kernel - images.T @ images)
    assert learner.reconstruction_error() == pytest.approx(error, rel=1e-10)
    assert learner.reconstruction_error() == learner.history_[-1]["error"]
    # ‖Φ − Φ Wᵀ W‖² is the trace of (I − Q) K (I − Q)ᵀ with Q = K Aᵀ A.
    rest = np.eye(len(kernel)) - kernel @ learner.coefficients_.T @ learner.coefficients_
    assert learner.feature_error() == pytest.approx(np.trace(rest @ kernel @ rest.T), rel=1e-9)
    values, vectors = np.linalg.eigh(kernel)
    smallest = np.sqrt((values[:-3] ** 2).sum())
    exact = KernelHebbianPCA(3, kernel="rbf", gamma=0.2, center=center, eta0=1e-12, passes=1)
    exact.fit(points, initial_coefficients=(vectors[:, -3:] / np.sqrt(values[-3:])).T)
    assert learner.excess_relative_error(exact) == pytest.approx(error / smallest - 1, rel=1e-8)
    # Cosines of the angles between the spans, in feature space.
    a, b = learner.components_, (vectors[:, -3:] / np.sqrt(values[-3:])).T
    cosines = np.linalg.svd(a @ kernel @ b.T, compute_uv=False)
    assert learner.subspace_angle(exact) == pytest.approx(np.arccos(cosines.min()), rel=1e-6)
    assert exact.subspace_angle(exact) < 1e-6


def test_measures_need_a_fit_and_a_model_of_the_same_points(points):
    learner = KernelHebbianPCA(2, kernel="rbf", passes=1)
    for measure in (learner.reconstruction_error, learner.feature_error):
        with pytest.raises(NotFittedError):
            measure()
    learner.fit(points)
    with pytest.raises(TypeError, match="reference must be a fitted KernelPCA, KernelHebbianPCA or OnlineKernelPCA, but it is 3"):
        learner.subspace_angle(3)
    other = KernelPCA(2, kernel="rbf").fit(points[:20])
    for measure in (learner.excess_relative_error, learner.subspace_angle):
        with pytest.raises(ValueError, match="`reference` must be learned from the same"):
            measure(other)
    with pytest.raises(ValueError, match="of as many components as have been learned"):
        learner.subspace_angle(KernelPCA(3, kernel="rbf").fit(points))


def test_a_centred_matrix_is_taken_as_it_is(points):
    K = points @ points.T
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    order = np.arange(450) % 150
    start = np.random.default_rng(0).normal(size=(2, 150)) / 1000
    settings = {"n_components": 2, "eta0": 0.05, "tau": 150.0}
    from_points = KernelHebbianPCA(kernel="linear", **settings).fit(points, initial_coefficients=start, order=order)
    as_it_is = KernelHebbianPCA(kernel="precomputed", center=False, **settings)
    as_it_is.fit(centred, initial_coefficients=start, order=order)
    np.testing.assert_allclose(as_it_is.coefficients_, from_points.coefficients_, rtol=0, atol=1e-9)


def test_more_passes_are_the_passes_of_a_longer_fit(points):
    settings = {"n_components": 3, "kernel": "rbf", "eta0": 0.5, "tau": 300.0}
    long = KernelHebbianPCA(passes=7, **settings).fit(points)
    short = KernelHebbianPCA(passes=4, **settings).fit(points).partial_fit(passes=3)
    np.testing.assert_array_equal(short.coefficients_, long.coefficients_)
    assert short.n_updates_ == long.n_updates_ == 7 * 150
    assert [entry["updates"] for entry in short.history_] == [150 * i for i in range(1, 8)]
    assert set(short.history_[0]) == {"passes", "updates", "eigenvalue_estimates", "gains", "error", "seconds"}
    assert short.history_[-1]["error"] <= short.history_[0]["error"]
    short.partial_fit()
    assert short.n_updates_ == 11 * 150


def test_more_points_enter_the_expansion(points):
    learner = KernelHebbianPCA(2, kernel="rbf", gain="et", passes=30).fit(points[:100]).partial_fit(points[100:], passes=100)
    np.testing.assert_array_equal(learner.X_fit_, points)
    assert learner.coefficients_.shape == (2, 150)
    assert learner.n_updates_ == 30 * 100 + 100 * 150
    whole = KernelPCA(2, kernel="rbf").fit(points)
    np.testing.assert_allclose(learner.eigenvalues_, whole.eigenvalues_, rtol=1e-3)
    single = KernelHebbianPCA(2, kernel="rbf").fit(points[:100].astype(np.float32))
    assert single.partial_fit(points[100:], passes=1).transform(points[:3]).dtype == np.float32


def test_the_first_points_of_partial_fit_are_a_fit(points):
    first = KernelHebbianPCA(2, kernel="rbf").partial_fit(points, passes=3)
    assert first.passes == 10
    np.testing.assert_array_equal(first.coefficients_, KernelHebbianPCA(2, kernel="rbf", passes=3).fit(points).coefficients_)
    with pytest.raises(NotFittedError, match="partial_fit needs points"):
        KernelHebbianPCA(2).partial_fit()


def test_settings_cannot_change_while_learning_goes_on(points):
    learner = KernelHebbianPCA(2, kernel="rbf", eta0=0.05, passes=2).fit(points)
    for name, value in {"eta0": 0.1, "gamma": 0.3, "gain": "et", "n_components": 3, "tau": 50.0, "n_jobs": 1, "negative": "clip"}.items():
        given = getattr(learner, name)
        message = f"{name} must stay {given!r} while learning goes on, but it is {value!r}; fit begins anew"
        with pytest.raises(ValueError, match=re.escape(message)):
            learner.set_params(**{name: value}).partial_fit(passes=1)
        learner.set_params(**{name: given})
    assert learner.n_updates_ == 300
    # These are of the call, not of the run.
    learner.set_params(passes=1, time_limit=60.0, progress=lambda *told: None).partial_fit()
    assert learner.n_updates_ == 450
    again = pickle.loads(pickle.dumps(learner.set_params(progress=False))).set_params(xi=0.5)
    with pytest.raises(ValueError, match=r"xi must stay 0\.99"):
        again.partial_fit()
    # A fit begins anew, with the parameters as they are then.
    assert again.fit(points).partial_fit(passes=1).n_updates_ == 300


def agreement(x, y):
    return float(np.exp(-np.abs(x - y).sum()))


@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", agreement])
def test_a_copy_goes_on_to_the_same_bits(points, kernel, copied):
    X = points[:40] @ points[:40].T if kernel == "precomputed" else points[:40]
    learner = KernelHebbianPCA(2, kernel=kernel, gain="smd", passes=3).fit(X)
    twin = copied(learner)
    for once in range(2):
        np.testing.assert_array_equal(twin.coefficients_, learner.coefficients_)
        np.testing.assert_array_equal(twin.transform(X), learner.transform(X))
        np.testing.assert_array_equal(twin.X_fit_, X)
        if once == 0:
            learner.partial_fit(passes=2)
            twin.partial_fit(passes=2)
    assert "_points" not in vars(twin)
    assert repr(copied(KernelHebbianPCA(3))) == "KernelHebbianPCA(n_components=3)"


def test_a_saved_model_is_one_of_kernel_pca(points, tmp_path):
    learner = KernelHebbianPCA(2, kernel="rbf").fit(points)
    learner.save(tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").transform(points), learner.transform(points))


def test_fewer_components_than_were_asked_for_are_told(points):
    flat = points[:, :2] @ np.random.default_rng(0).normal(size=(2, 8))
    message = "2 of the n_components=4 components asked for have a variance; there are no others"
    with pytest.warns(mercer.RankWarning, match=message):
        learner = KernelHebbianPCA(4, passes=200).fit(flat)
    assert learner.eigenvalues_.shape == (2,) and learner.transform(flat).shape == (150, 2)
    with pytest.warns(mercer.RankWarning, match=message):
        learner.partial_fit(passes=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", mercer.RankWarning)
        KernelHebbianPCA(2).fit(flat)


def test_a_residual_just_above_the_tolerance_does_not_look_like_it(points):
    for passes in (1, 2, 3):
        with pytest.warns(ConvergenceWarning):
            largest = KernelHebbianPCA(3, kernel="rbf", passes=passes).fit(points).residuals_.max()
        tolerance = 0.9999 * float(largest)
        with pytest.warns(ConvergenceWarning) as told:
            KernelHebbianPCA(3, kernel="rbf", passes=passes, tolerance=tolerance).fit(points)
        found, enough = re.search(r"residual is (\S+), where (\S+) would be enough", str(told[0].message)).groups()
        assert float(found) > float(enough), told[0].message


def test_components_that_have_not_converged_are_told(points):
    message = r"after 150 updates the largest residual is .*, where 0.01 would be enough; partial_fit goes on"
    with pytest.warns(ConvergenceWarning, match=message):
        learner = KernelHebbianPCA(3, kernel="rbf", passes=1).fit(points)
    assert not learner.record_["converged"]
    with pytest.warns(ConvergenceWarning, match="after 300 updates the largest residual is"):
        learner.partial_fit(passes=1)
    with pytest.warns(ConvergenceWarning, match="where 0.001 would be enough"):
        KernelHebbianPCA(3, kernel="rbf", passes=1, tolerance=0.001).fit(points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rough = KernelHebbianPCA(3, kernel="rbf", passes=1, tolerance=0.9999).fit(points)
    assert rough.record_["converged"] and rough.record_["tolerance"] == 0.9999
    np.testing.assert_array_equal(rough.coefficients_, KernelHebbianPCA(3, kernel="rbf", passes=1).fit(points).coefficients_)
    # Exact components have.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = KernelPCA(3, kernel="rbf").fit(points)
        learner = KernelHebbianPCA(3, kernel="rbf", passes=1).fit(points, initial_model=exact)
    assert learner.record_["converged"]


def test_shares_of_a_kernel_with_negative_eigenvalues_are_those_of_kernel_pca():
    angles = 2 * np.pi * np.arange(24) / 24
    waves = np.sqrt(2 / 24) * np.cos(np.outer(np.arange(1, 5), angles))
    matrix = waves.T @ np.diag([5.0, -3.0, 2.0, 0.5]) @ waves
    exact = KernelPCA(2, kernel="precomputed", negative="clip").fit(matrix)
    learner = KernelHebbianPCA(2, kernel="precomputed", negative="clip", passes=300).fit(matrix)
    np.testing.assert_allclose(learner.eigenvalues_, [5, 2], rtol=1e-3)
    np.testing.assert_allclose(learner.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-3)
    assert learner.total_variance_ == pytest.approx(exact.total_variance_) == pytest.approx(4.5)


def test_the_seed_and_nothing_else_decides(points):
    def fit(**params):
        return KernelHebbianPCA(2, kernel="rbf", passes=2, **params).fit(points).coefficients_

    np.testing.assert_array_equal(fit(), fit(random_state=0))
    np.testing.assert_array_equal(fit(n_jobs=1, gram="tiled"), fit(n_jobs=2, gram="stored"))
    assert np.abs(fit() - fit(random_state=1)).max() > 1e-6
    np.testing.assert_allclose(fit(batch_size=1), fit(batch_size=33), rtol=0, atol=1e-9)


def test_examples_in_docstrings_run():
    import doctest

    from mercer import _hebbian

    results = doctest.testmod(_hebbian)
    assert results.attempted > 0 and results.failed == 0
