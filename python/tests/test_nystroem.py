"""Features over landmarks."""

import pickle
import subprocess
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem as Theirs
from sklearn.metrics.pairwise import pairwise_kernels

from mercer import KernelPCA, MemoryBudgetError, Nystroem, load, plan

RULES = ["uniform", "kmeans", "rpcholesky", "leverage"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_are_theirs_with_the_same_seed(points, dtype):
    X = points.astype(dtype)
    for parameters in ({}, {"kernel": "polynomial", "degree": 2}, {"kernel": "laplacian"}, {"kernel": "linear"}):
        ours = Nystroem(n_components=6, random_state=3, **parameters).fit(X)
        theirs = Theirs(n_components=6, random_state=3, **parameters).fit(X)
        np.testing.assert_array_equal(ours.component_indices_, theirs.component_indices_)
        np.testing.assert_array_equal(ours.components_, theirs.components_)
        assert ours.transform(X).dtype == dtype
        tolerance = 1e-8 if dtype == np.float64 else 2e-3
        scale = np.abs(theirs.transform(X)).max()
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=tolerance * scale)


@pytest.mark.parametrize("rule", RULES)
def test_inner_products_approach_the_kernel(points, rule):
    K = pairwise_kernels(points, metric="rbf", gamma=0.05)
    errors = []
    for count in (10, 40, 150):
        fitted = Nystroem(gamma=0.05, n_components=count, landmarks=rule, random_state=0).fit(points)
        Z = fitted.transform(points)
        assert Z.shape == (150, count)
        gap = K - Z @ Z.T
        errors.append(np.trace(gap))
        assert np.linalg.eigvalsh(gap).min() > -1e-9, "what is missing is positive semi-definite"
        np.testing.assert_allclose(fitted.trace_error(points), errors[-1], atol=1e-9)
    assert errors[0] > errors[1] > errors[2]
    # Centres of clusters of one row each are the rows, so that 150 of them are exact as well.
    assert errors[2] < 1e-8 * 150


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_gives_the_same_landmarks_on_any_number_of_threads(points, rule):
    fits = [Nystroem(n_components=20, landmarks=rule, random_state=5, n_jobs=jobs).fit(points) for jobs in (1, 2, 3)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].components_, other.components_)
        np.testing.assert_array_equal(fits[0].transform(points), other.transform(points))
    assert not np.array_equal(fits[0].components_, clone(fits[0]).set_params(random_state=6).fit(points).components_)


def test_rows_are_rows_and_centres_are_not(points):
    for rule in ("uniform", "rpcholesky", "leverage"):
        fitted = Nystroem(n_components=12, landmarks=rule).fit(points)
        assert len(set(fitted.component_indices_)) == 12
        np.testing.assert_array_equal(points[fitted.component_indices_], fitted.components_)
    assert Nystroem(n_components=12, landmarks="kmeans").fit(points).component_indices_ is None


def test_landmarks_may_be_given(points):
    given = points[[3, 1, 4, 1, 5]] + 0.25
    with pytest.warns(UserWarning, match="n_components=100 has no effect beside landmarks.*\n.*n_components=5 says so"):
        fitted = Nystroem(landmarks=given, gamma=0.05).fit(points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Nystroem(landmarks=given, n_components=5, gamma=0.05).fit(points)
    np.testing.assert_array_equal(fitted.components_, given)
    assert fitted.transform(points).shape == (150, 5)
    assert fitted.rank_ == 4, "one of them is a copy"
    W = pairwise_kernels(given, metric="rbf", gamma=0.05)
    C = pairwise_kernels(points, given, metric="rbf", gamma=0.05)
    Z = fitted.transform(points)
    np.testing.assert_allclose(Z @ Z.T, C @ np.linalg.pinv(W, rcond=1e-12, hermitian=True) @ C.T, atol=1e-9)
    with pytest.raises(ValueError, match="n_components=7 and 5 landmarks"):
        Nystroem(landmarks=given, n_components=7).fit(points)
    with pytest.raises(ValueError, match="points of 8 columns, but it is 7 columns"):
        Nystroem(landmarks=given[:, 1:]).fit(points)


def test_equal_points_have_rank_one():
    X = np.ones((30, 3))
    for rule in RULES:
        fitted = Nystroem(n_components=4, landmarks=rule).fit(X)
        assert fitted.rank_ == 1
        Z = fitted.transform(X)
        np.testing.assert_allclose(Z @ Z.T, np.ones((30, 30)), atol=1e-12)


def test_a_precomputed_matrix_works_with_fewer_landmarks_than_rows(points):
    K = pairwise_kernels(points, metric="rbf", gamma=0.05)
    by_points = Nystroem(gamma=0.05, n_components=20, random_state=1)
    by_matrix = Nystroem(kernel="precomputed", n_components=20, random_state=1)
    np.testing.assert_allclose(by_matrix.fit_transform(K), by_points.fit_transform(points), atol=1e-9)
    for rule in ("rpcholesky", "leverage"):
        fitted = Nystroem(kernel="precomputed", n_components=20, landmarks=rule).fit(K)
        assert fitted.trace_error(K) < 0.5 * 150
    with pytest.raises(ValueError, match="k-means"):
        Nystroem(kernel="precomputed", n_components=20, landmarks="kmeans").fit(K)


def test_pickles_and_copies_transform_alike(points):
    fitted = Nystroem(kernel="chi2", n_components=10, landmarks="rpcholesky").fit(np.abs(points))
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.transform(np.abs(points)), fitted.transform(np.abs(points)))
    assert list(fitted.get_feature_names_out()[:2]) == ["nystroem0", "nystroem1"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"landmarks": "best"}, "'landmarks' parameter of Nystroem must be a str among"),
        ({"n_components": 0}, "'n_components' parameter of Nystroem must be an int in the range"),
        ({"degree": 0.5, "kernel": "polynomial"}, "'degree' parameter of Nystroem"),
        ({"kernel": "nonsense"}, "nonsense"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
    ],
)
def test_what_is_not_allowed_is_named(points, parameters, message):
    with pytest.raises(ValueError, match=message):
        Nystroem(**parameters).fit(points)


@pytest.mark.parametrize("rule", [*RULES, None])
def test_kernel_pca_over_landmarks_is_close_to_the_exact_one_and_says_how_close(points, rule, tmp_path):
    exact = KernelPCA(3, kernel="rbf", gamma=0.02).fit(points)
    rough = KernelPCA(3, kernel="rbf", gamma=0.02, gram="nystrom", landmarks=rule, n_landmarks=60)
    scores = rough.fit_transform(points)
    assert scores.shape == (150, 3) and rough.eigenvectors_.shape == (0, 3)
    np.testing.assert_allclose(rough.eigenvalues_, exact.eigenvalues_, rtol=0.02)
    assert rough.record_["gram"] == "nystrom" and rough.record_["nystrom"]["n_landmarks"] == 60
    assert rough.residuals_.max() < 0.05
    assert rough.X_fit_.shape == (60, 8)
    copy = pickle.loads(pickle.dumps(rough))
    np.testing.assert_array_equal(copy.transform(points), scores)
    rough.save(tmp_path / "rough.mercer")
    np.testing.assert_array_equal(load(tmp_path / "rough.mercer").transform(points), scores)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"n_landmarks": 40, "landmarks": "kmeans", "tolerance": 0.3},
        {"landmarks": "given"},
        {"scaling": "standardize", "n_landmarks": 50},
        {"scaling": 0.5, "random_state": 3, "center": False},
    ],
)
def test_a_model_over_landmarks_comes_back_as_the_estimator_that_learned_it(points, params, tmp_path):
    if params.get("landmarks") == "given":
        params = {"landmarks": points[::3]}
    pca = KernelPCA(3, kernel="rbf", gamma=0.02, gram="nystrom", **params).fit(points)
    pca.save(tmp_path / "rough.mercer")
    again = clone(load(tmp_path / "rough.mercer")).fit(points)
    assert again.gram == "nystrom" and again.tolerance == pca.tolerance
    assert again.record_["nystrom"] == pca.record_["nystrom"]
    np.testing.assert_allclose(again.eigenvalues_, pca.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(again.transform(points), pca.transform(points), atol=1e-9)


def test_a_model_over_landmarks_of_the_command_can_be_learned_again_here(points, tmp_path, command):
    np.save(tmp_path / "x.npy", points)
    asked = ["--kernel", "gaussian", "--gamma", "0.02", "--gram", "nystrom", "--n-components", "12", "--standardize"]
    line = [command, "fit", tmp_path / "x.npy", *asked, "-o", tmp_path / "m.mercer"]
    finished = subprocess.run([str(word) for word in line], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    model = load(tmp_path / "m.mercer")
    # The same request has the same landmarks here.
    here = KernelPCA(12, kernel="rbf", gamma=0.02, gram="nystrom", scaling="standardize").fit(points)
    assert here.record_["nystrom"]["n_landmarks"] == model.record_["nystrom"]["n_landmarks"] == 120
    scores = model.transform(points)
    for other in (here, model.fit(points)):
        np.testing.assert_allclose(other.transform(points), scores, atol=1e-9)


def test_there_are_ten_landmarks_for_each_component_and_at_least_a_hundred(points):
    def landmarks(rows, **params):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return KernelPCA(kernel="laplacian", gram="nystrom", **params).fit(rows).record_["nystrom"]["n_landmarks"]

    assert landmarks(points, n_components=3) == 100
    assert landmarks(points, n_components=12) == 120
    assert landmarks(points, n_components=40) == 150
    assert landmarks(points) == 100 and landmarks(points[:60]) == 60


@pytest.mark.parametrize("scaling", ["standardize", 0.5])
def test_landmarks_that_are_given_go_through_the_scaling_of_the_points(points, scaling, tmp_path, command):
    given = points[:40]
    shift, factor = (points.mean(axis=0), 1 / points.std(axis=0)) if scaling == "standardize" else (0.0, scaling)
    by_hand = KernelPCA(3, kernel="rbf", gamma=0.02, gram="nystrom", landmarks=(given - shift) * factor)
    scores = by_hand.fit_transform((points - shift) * factor)
    pca = KernelPCA(3, kernel="rbf", gamma=0.02, gram="nystrom", landmarks=given, scaling=scaling).fit(points)
    np.testing.assert_allclose(pca.transform(points), scores, atol=1e-9)
    np.testing.assert_allclose(pca.X_fit_, given, atol=1e-12 * np.abs(given).max())
    assert plan(points, n_components=3, kernel="rbf", gram="nystrom", landmarks=given, scaling=scaling)["n_landmarks"] == 40

    # The command does the same, and what it has learned can be learned again here.
    np.save(tmp_path / "x.npy", points)
    np.save(tmp_path / "given.npy", given)
    flags = ["--standardize"] if scaling == "standardize" else ["--scale", str(scaling)]
    flags += ["--kernel", "gaussian", "--gamma", "0.02", "--gram", "nystrom", "--landmarks", tmp_path / "given.npy", "-n", "3"]
    line = [command, "fit", tmp_path / "x.npy", *flags, "-o", tmp_path / "m.mercer"]
    finished = subprocess.run([str(word) for word in line], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    model = load(tmp_path / "m.mercer")
    np.testing.assert_allclose(model.transform(points), scores, atol=1e-9)
    np.testing.assert_allclose(model.fit(points).transform(points), scores, atol=1e-9)


def test_landmarks_with_copies_among_them_come_back_from_a_file(points, tmp_path):
    pca = KernelPCA(3, kernel="rbf", gamma=0.02, gram="nystrom", landmarks=np.vstack([points[:30], points[:5]]))
    pca.fit(points).save(tmp_path / "copies.mercer")
    again = load(tmp_path / "copies.mercer")
    np.testing.assert_array_equal(again.landmarks, points[:30])
    np.testing.assert_allclose(again.fit(points).transform(points), pca.transform(points), atol=1e-9)


def test_landmarks_of_kernel_pca_between_bytes_stay_where_they_are():
    X = np.random.default_rng(0).integers(0, 256, (60, 5)).astype(np.uint8)
    given = X[:20] + 0.5
    pca = KernelPCA(2, kernel="rbf", gamma=1e-4, gram="nystrom", landmarks=given).fit(X)
    np.testing.assert_array_equal(pca.X_fit_, given)


def test_kernel_pca_over_all_rows_is_exact_and_can_be_inverted(points):
    exact = KernelPCA(3, kernel="rbf", gamma=0.02, fit_inverse_transform=True).fit(points)
    all_rows = KernelPCA(3, kernel="rbf", gamma=0.02, fit_inverse_transform=True, gram="nystrom", landmarks=points)
    all_rows.fit(points)
    np.testing.assert_allclose(np.abs(all_rows.transform(points)), np.abs(exact.transform(points)), atol=1e-6)
    there = exact.inverse_transform(exact.transform(points))
    np.testing.assert_allclose(all_rows.inverse_transform(all_rows.transform(points)), there, atol=1e-4)


def test_kernel_pca_refuses_what_landmarks_do_not_read(points):
    with pytest.raises(ValueError, match="landmarks and n_landmarks are for gram='nystrom' only"):
        KernelPCA(2, landmarks="kmeans").fit(points)
    with pytest.raises(ValueError, match="solver has no effect with gram='nystrom'"):
        KernelPCA(2, gram="nystrom", solver="lanczos").fit(points)
    with pytest.raises(ValueError, match="between 1 and the number of landmarks"):
        KernelPCA(20, gram="nystrom", n_landmarks=10).fit(points)
    with pytest.warns(UserWarning, match="largest residual against the exact matrix"):
        assert not KernelPCA(2, kernel="rbf", gram="nystrom", n_landmarks=3, tolerance=1e-9).fit(points).converged_


def test_examples_in_docstrings_run():
    import doctest

    from mercer import _nystroem

    results = doctest.testmod(_nystroem)
    assert results.attempted > 0 and results.failed == 0


@pytest.fixture(scope="module")
def curve():
    """Points on a curve, which few landmarks describe."""
    step = np.arange(2400)[:, None] * 0.01
    return np.sin(step * [3.0, 5.0, 7.0])


def test_an_accuracy_allows_an_approximation_and_no_rougher_one(curve):
    params = {"kernel": "rbf", "gamma": 0.5}
    assert KernelPCA(2, **params).fit(curve).record_["gram"] != "nystrom"
    rough = KernelPCA(2, accuracy=0.01, **params).fit(curve)
    assert rough.record_["gram"] == "nystrom" and rough.residuals_.max() <= 0.01
    finer = KernelPCA(2, accuracy=1e-5, landmarks="kmeans", **params).fit(curve)
    assert finer.residuals_.max() <= 1e-5 and finer.record_["nystrom"]["landmarks"] == "kmeans"
    # A kernel so narrow that every row is a dimension of its own, and rows so few that landmarks would be most of them.
    for X, gamma in ((curve, 1e6), (curve[:50], 0.5)):
        exact = KernelPCA(2, kernel="rbf", gamma=gamma, accuracy=1e-6).fit(X)
        assert exact.record_["gram"] != "nystrom"
        expected = KernelPCA(2, kernel="rbf", gamma=gamma).fit(X)
        np.testing.assert_array_equal(exact.eigenvalues_, expected.eigenvalues_)


def test_over_landmarks_that_were_asked_for_an_accuracy_is_what_converged_means(curve):
    params = {"kernel": "rbf", "gamma": 0.5, "gram": "nystrom", "n_landmarks": 20}
    assert KernelPCA(2, accuracy=0.5, **params).fit(curve).converged_
    with pytest.warns(ConvergenceWarning, match="residual"):
        assert not KernelPCA(2, accuracy=1e-9, **params).fit(curve).converged_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"accuracy": 2.0}, "'accuracy' parameter of KernelPCA"),
        ({"accuracy": "high"}, "'accuracy' parameter of KernelPCA"),
        ({"accuracy": 0.1, "gram": "tiled"}, "but gram='tiled' asks for another method"),
        ({"accuracy": 0.1, "solver": "lanczos"}, "solver has no effect with accuracy"),
        ({"accuracy": 0.1, "gram": "nystrom", "tolerance": 0.2}, "say the same thing with gram='nystrom'"),
        ({"accuracy": 0.1, "n_components": None}, "give n_components"),
        ({"accuracy": 0.1, "n_landmarks": 9}, "n_landmarks is for gram='nystrom'"),
        ({"accuracy": 0.1, "landmarks": np.zeros((4, 3))}, "landmarks that are given are for gram='nystrom'"),
    ],
)
def test_an_accuracy_that_cannot_be_kept_is_refused(curve, params, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**{"n_components": 2, "kernel": "rbf", **params}).fit(curve)


def test_what_the_search_for_a_width_has_to_say_is_said():
    # Three groups of copies are best apart: at the narrowest width, and so the search warns of it.
    X = np.tile([[0.0], [1.0], [100.0]], (20, 1))
    with pytest.warns(ConvergenceWarning, match="gamma auto: "):
        Nystroem(gamma="auto", n_components=5).fit(X)


def test_the_trace_error_does_not_depend_on_threads(points):
    errors = {Nystroem(gamma=0.1, n_components=20, n_jobs=jobs).fit(points).trace_error(points) for jobs in (1, 2, None)}
    assert len(errors) == 1


def test_a_bandwidth_is_a_width_by_another_name(points):
    for kernel, params in (("rbf", {}), ("laplacian", {}), ("chi2", {}), ("poly", {"degree": 2.5})):
        X = np.abs(points)
        same = {"kernel": kernel, "n_components": 10, **params}
        wide, narrow = (Nystroem(**same, **width).fit(X) for width in ({"gamma": 1 / 18}, {"bandwidth": 3.0}))
        np.testing.assert_allclose(wide.transform(X), narrow.transform(X), atol=1e-12 * abs(wide.transform(X)).max())
        with pytest.raises(ValueError, match="gamma and bandwidth say the same thing"):
            Nystroem(**same, gamma=1.0, bandwidth=1.0).fit(X)
    found = (Nystroem(n_components=10, **width).fit(points) for width in ({"gamma": "median"}, {"bandwidth": "median"}))
    np.testing.assert_array_equal(*(map.transform(points) for map in found))
    with pytest.raises(ValueError, match="Don't pass bandwidth to Nystroem if using a callable or precomputed kernel"):
        Nystroem(kernel="precomputed", bandwidth=1.0, n_components=10).fit(points @ points.T)


def test_landmarks_that_do_not_fit_the_budget_are_refused(points):
    with pytest.raises(MemoryBudgetError, match="20 landmarks by rpcholesky") as caught:
        Nystroem(n_components=20, landmarks="rpcholesky", memory_limit=10_000).fit(points)
    assert "budget" in str(caught.value)
    within = Nystroem(n_components=20, landmarks="rpcholesky", memory_limit="1GiB").fit(points)
    anywhere = Nystroem(n_components=20, landmarks="rpcholesky").fit(points)
    np.testing.assert_array_equal(within.components_, anywhere.components_)
    with pytest.raises(ValueError, match="'memory_limit' parameter of Nystroem must be a positive int"):
        Nystroem(memory_limit=-1).fit(points)


def test_what_is_made_of_sparse_rows_is_part_of_the_budget(points):
    sparse = scipy.sparse.csr_matrix(np.zeros((2000, 500)))
    with pytest.raises(MemoryBudgetError):
        Nystroem(n_components=2, memory_limit=1_000_000).fit(sparse)


def test_landmarks_between_bytes_stay_where_they_are():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 200, size=(60, 4), dtype=np.uint8)
    given = X[:5] + 0.5
    for dtype in (np.uint8, np.float64):
        found = Nystroem(gamma=1e-4, n_components=5, landmarks=given).fit(X.astype(dtype))
        np.testing.assert_allclose(np.sort(found.components_, axis=0), np.sort(given, axis=0), rtol=1e-6)


def test_a_small_group_far_from_all_landmarks_is_seen_by_the_residuals():
    random = np.random.default_rng(0)
    X = np.concatenate([0.5 * random.normal(size=(1992, 3)), 8 + 0.3 * random.normal(size=(8, 3))])
    K = pairwise_kernels(X, metric="rbf", gamma=0.05)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    settings = {"kernel": "rbf", "gamma": 0.05, "gram": "nystrom", "accuracy": 1e-3}
    with pytest.warns(ConvergenceWarning, match="the largest residual against the exact matrix"):
        fitted = KernelPCA(5, landmarks=X[:1900:19], **settings).fit(X)
    vectors = fitted.transform(X) / np.sqrt(fitted.eigenvalues_)
    residuals = np.linalg.norm(K @ vectors - vectors * fitted.eigenvalues_, axis=0) / fitted.eigenvalues_[0]
    assert residuals.max() > 0.05 and not fitted.record_["converged"]
    np.testing.assert_allclose(fitted.residuals_, residuals, rtol=0.05, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_equal_rows_in_single_precision_have_no_component(kernel):
    for value in (1, 0.3, 2.1):
        with pytest.raises(ValueError, match="there is no variance to explain"):
            KernelPCA(2, kernel=kernel, gamma=0.1, gram="nystrom").fit(np.full((600, 3), value, np.float32))
