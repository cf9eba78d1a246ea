"""Spectral clustering and the agreement of groupings, beside scikit-learn's."""

import pickle
import re
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from sklearn import metrics as theirs
from sklearn.cluster import SpectralClustering as Theirs
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel

import mercer
from mercer import ConvergenceWarning, KernelHebbianPCA, KernelPCA, SpectralClustering, block_kernel, metrics


@pytest.fixture
def heaps():
    return make_blobs(n_samples=300, centers=4, n_features=5, cluster_std=1.0, random_state=2)


@pytest.fixture(scope="module")
def case():
    return np.load(ROOT / "testdata" / "cluster" / "njw_vi.npz")


def test_the_stored_case_comes_out(case):
    found = SpectralClustering(3, bandwidth=float(case["par_sigma"]), tolerance=1e-12).fit(case["in_Z"])
    np.testing.assert_allclose(found.embedding_ @ found.embedding_.T, case["out_embedding_gram"], atol=1e-8)
    np.testing.assert_array_equal(found.labels_[:, None] == found.labels_, case["out_same_cluster"])
    five = SpectralClustering(3, n_components=5, bandwidth=float(case["par_sigma"]), tolerance=1e-12).fit(case["in_Z"])
    np.testing.assert_allclose(five.eigenvalues_, case["out_eigenvalues"], atol=1e-8)


def test_variation_of_information_of_the_stored_groupings(case):
    found = metrics.variation_of_information(case["in_c1"], case["in_c2"])
    np.testing.assert_allclose(found, case["out_vi"], rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_measures_are_those_of_scikit_learn(seed):
    random = np.random.default_rng(seed)
    first, second = random.integers(2 + seed, size=200), random.integers(7, size=200)
    assert metrics.normalized_mutual_information(first, second) == pytest.approx(
        theirs.normalized_mutual_info_score(first, second), abs=1e-12
    )
    assert metrics.adjusted_rand_index(first, second) == pytest.approx(
        theirs.adjusted_rand_score(first, second), abs=1e-12
    )

    # H + H' - 2 I from scikit-learn's parts.
    def entropy(labels):
        share = np.bincount(labels) / len(labels)
        return -np.sum(share[share > 0] * np.log(share[share > 0]))

    expected = entropy(first) + entropy(second) - 2 * theirs.mutual_info_score(first, second)
    assert metrics.variation_of_information(first, second) == pytest.approx(expected, abs=1e-12)


def test_groupings_have_names_of_any_kind():
    assert metrics.variation_of_information(["a", "a", "b"], [2.0, 2.0, -1.0]) == 0.0
    assert metrics.adjusted_rand_index([True, True, False], ["x", "x", "y"]) == 1.0
    for wrong, kind, message in (
        ([1, 2, 3], ValueError, "labels_pred must have 2 labels, as labels_true has, but it has 3"),
        ([], ValueError, "labels_pred must be a 1D array of at least one label, but its shape is (0,)"),
        ([[1, 2]], ValueError, "labels_pred must be a 1D array of at least one label, but its shape is (1, 2)"),
        ([1.0, np.nan], ValueError, "labels_pred must hold whole numbers or names, but at position 1 it is nan"),
        ([0.37, 1.0], ValueError, "labels_pred must hold whole numbers or names, but at position 0 it is 0.37"),
        ([1j, 2j], TypeError, "labels_pred must hold whole numbers or names, but its dtype is complex128"),
        (np.array([1, "a"], dtype=object), TypeError, "labels_pred must hold labels of one kind, but it holds several"),
    ):
        for score in (metrics.variation_of_information, metrics.normalized_mutual_information, metrics.adjusted_rand_index):
            with pytest.raises(kind, match=re.escape(message)):
                score([1, 2], wrong)


def test_is_an_estimator_with_their_parameters():
    their, our = Theirs().get_params(), SpectralClustering().get_params()
    assert {name: our[name] for name in their} == their


def test_finds_what_scikit_learn_finds(heaps):
    X, y = heaps
    ours = SpectralClustering(4, gamma=0.05).fit(X)
    their = Theirs(4, gamma=0.05, random_state=0).fit(X)
    assert metrics.variation_of_information(ours.labels_, their.labels_) == 0.0
    assert metrics.adjusted_rand_index(ours.labels_, y) == 1.0
    assert ours.labels_.dtype == np.int32
    assert ours.converged_
    assert ours.eigenvalues_[0] == pytest.approx(1.0)
    np.testing.assert_allclose(ours.degrees_, rbf_kernel(X, gamma=0.05).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(ours.embedding_, axis=1), 1.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rings_and_new_points(dtype):
    X, y = make_circles(400, factor=0.3, noise=0.04, random_state=0)
    clusters = SpectralClustering(2, gamma=30).fit(X[:300].astype(dtype))
    assert metrics.variation_of_information(clusters.labels_, y[:300]) == 0.0
    assert metrics.variation_of_information(clusters.predict(X[300:].astype(dtype)), y[300:]) == 0.0
    np.testing.assert_array_equal(clusters.predict(X[:300].astype(dtype)), clusters.labels_)


@pytest.mark.parametrize("affinity", ["precomputed", rbf_kernel, block_kernel(rbf_kernel)])
def test_a_matrix_and_functions_serve_as_kernels(heaps, affinity):
    X = heaps[0][:120]
    expected = SpectralClustering(4, gamma=1 / 5).fit(X)
    if affinity == "precomputed":
        K = rbf_kernel(X)
        found = SpectralClustering(4, affinity="precomputed").fit(K)
        np.testing.assert_array_equal(found.predict(K[5:9]), found.labels_[5:9])
    elif affinity is rbf_kernel:
        found = SpectralClustering(4, affinity=lambda x, y: np.exp(-np.sum((x - y) ** 2) / 5)).fit(X)
    else:
        found = SpectralClustering(4, affinity=affinity).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_a_kernel_that_is_refused_by_its_name_is_taken_as_a_function(heaps):
    X = np.abs(heaps[0][:120]) / 10
    found = SpectralClustering(3, affinity=block_kernel(chi2_kernel)).fit(X)
    np.testing.assert_array_equal(found.labels_, SpectralClustering(3, affinity="precomputed").fit(chi2_kernel(X)).labels_)
    assert not hasattr(found, "affinity_matrix_")


@pytest.mark.parametrize("solver", ["dense", "krylov", "lanczos", "hebbian", KernelHebbianPCA(gain="et", passes=30)])
def test_every_solver_finds_the_same_clusters(heaps, solver):
    X, _ = heaps
    expected = SpectralClustering(4, gamma=0.05).fit_predict(X)
    # What the kernel Hebbian algorithm has learned after so many passes is enough for clusters, if not for its tolerance.
    tolerance = 0.5 if solver == "hebbian" or isinstance(solver, KernelHebbianPCA) else None
    clusters = SpectralClustering(4, gamma=0.05, solver=solver, tolerance=tolerance)
    np.testing.assert_array_equal(clusters.fit_predict(X), expected)


@pytest.mark.parametrize("solver", ["hebbian", KernelHebbianPCA(gain="et", passes=2)])
def test_eigenvectors_that_have_not_been_learned_to_the_tolerance_are_a_warning(heaps, solver):
    with pytest.warns(ConvergenceWarning, match=r"of 4 eigenvectors converged; largest residual .*: the allowed passes were used up"):
        clusters = SpectralClustering(4, gamma=0.05, solver=solver, tolerance=1e-9).fit(heaps[0])
    assert not clusters.converged_ and clusters.record_["solver"] == "hebbian"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SpectralClustering(4, gamma=0.05, solver=solver, tolerance=0.99).fit(heaps[0]).converged_
    with pytest.warns(ConvergenceWarning) as caught:
        SpectralClustering(3, gamma=0.05, n_components=1, solver="hebbian", tolerance=1e-12).fit(heaps[0])
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2 and "there are 1 clusters and not 3" in said[0] and "eigenvectors converged" in said[1]


@pytest.mark.parametrize("solver", ["hebbian", KernelHebbianPCA(gain="et", passes=30)])
def test_residuals_of_learned_eigenvectors_are_those_of_the_normalised_matrix(heaps, solver):
    X = heaps[0]
    K = rbf_kernel(X, gamma=0.05)
    degrees = K.sum(axis=1)
    P = K / np.sqrt(np.outer(degrees, degrees))
    clusters = SpectralClustering(4, gamma=0.05, solver=solver, tolerance=0.99).fit(X)
    vectors, values = clusters._model.eigenvectors(), clusters.eigenvalues_
    residuals = np.linalg.norm(P @ vectors - vectors * values, axis=0) / values[0]
    np.testing.assert_allclose(clusters.record_["residuals"], residuals, atol=1e-10)
    # Rows of an image over the eigenvalues are what `predict` embeds points by.
    np.testing.assert_allclose(np.sum(vectors * (P @ vectors), axis=0), values, atol=1e-10)


def test_products_by_an_expansion_find_the_same_clusters():
    X, y = make_circles(600, factor=0.3, noise=0.04, random_state=0)
    found = SpectralClustering(2, gamma=30, gram="expansion", tolerance=1e-6).fit(X)
    assert metrics.variation_of_information(found.labels_, y) == 0.0
    assert found.record_["gram"] == "expansion"
    assert found.record_["expansion"]["measured_error"] <= found.record_["expansion"]["tolerance"]


@pytest.mark.parametrize("rule", [None, "uniform", "kmeans"])
def test_over_landmarks_clusters_are_nearly_those_of_the_exact_matrix(heaps, rule, tmp_path):
    X, y = heaps
    exact = SpectralClustering(4, gamma=0.05).fit(X)
    found = SpectralClustering(4, gamma=0.05, gram="nystrom", landmarks=rule, n_landmarks=80).fit(X)
    assert metrics.variation_of_information(found.labels_, exact.labels_) == 0.0
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=0.02)
    record = found.record_
    assert record["gram"] == "nystrom" and record["converged"] and max(record["residuals"]) < 0.05
    assert record["nystrom"]["n_landmarks"] == 80 and record["nystrom"]["landmarks"] == (rule or "rpcholesky")
    assert (found.predict(X) == found.labels_).all()
    found.save(tmp_path / "heaps.mercer")
    again = mercer.load(tmp_path / "heaps.mercer")
    assert again.get_params()["gram"] == "nystrom" and again.n_landmarks == 80
    np.testing.assert_array_equal(again.labels_, found.labels_)
    with pytest.warns(ConvergenceWarning, match="more landmarks would bring it down"):
        SpectralClustering(4, gamma=0.05, gram="nystrom", n_landmarks=5, tolerance=1e-6).fit(X)


def test_over_all_rows_as_landmarks_nothing_is_lost(heaps):
    X, _ = heaps
    exact = SpectralClustering(4, gamma=0.05).fit(X)
    found = SpectralClustering(4, gamma=0.05, gram="nystrom", landmarks=X).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(found.degrees_, exact.degrees_, rtol=1e-8)
    assert max(found.record_["residuals"]) < 1e-6


def test_landmarks_that_are_given_go_through_the_scaling_of_the_rows(heaps):
    X, _ = heaps
    given = X[::4]
    found = SpectralClustering(4, gamma=0.2, gram="nystrom", landmarks=given, scaling=0.5).fit(X)
    by_hand = SpectralClustering(4, gamma=0.2, gram="nystrom", landmarks=given * 0.5).fit(X * 0.5)
    np.testing.assert_array_equal(found.labels_, by_hand.labels_)
    np.testing.assert_allclose(found.eigenvalues_, by_hand.eigenvalues_, rtol=1e-12)


def test_the_number_of_threads_changes_nothing(heaps):
    one, two = (SpectralClustering(4, gamma=0.05, n_jobs=jobs).fit(heaps[0]) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_a_pickle_predicts(heaps):
    X, _ = heaps
    clusters = SpectralClustering(4, gamma=0.05).fit(X)
    again = pickle.loads(pickle.dumps(clusters))
    np.testing.assert_array_equal(again.predict(X), clusters.labels_)
    assert again.record_ == clusters.record_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "'n_clusters' parameter of SpectralClustering must be an int in the range"),
        ({"n_clusters": 301}, "`n_clusters` must be between 1 and the number of samples"),
        ({"n_init": 0}, "'n_init' parameter"),
        ({"affinity": "nearest_neighbors"}, "give a graph of nearest neighbours as a matrix"),
        ({"affinity": 3}, "'affinity' parameter"),
        ({"affinity": "nothing"}, "nothing"),
        ({"affinity": "chi2"}, "chi2"),
        ({"n_neighbors": 5}, "'n_neighbors' parameter"),
        ({"assign_labels": "discretize"}, "'assign_labels' parameter"),
        ({"assign_labels": "cluster_qr"}, "'assign_labels' parameter"),
        ({"eigen_solver": "lapack"}, "'eigen_solver' parameter"),
        ({"eigen_tol": 1e-3, "tolerance": 1e-3}, "say the same thing"),
        ({"gamma": 2.0, "bandwidth": 1.0}, "say the same thing"),
        ({"solver": "fastest"}, "'solver' parameter"),
        ({"gram": "landmarks"}, "'gram' parameter"),
        ({"gram": "nystrom", "solver": "krylov"}, "solver has no effect with gram='nystrom'"),
        ({"gram": "nystrom", "landmarks": "best"}, "'landmarks' parameter"),
        ({"gram": "nystrom", "n_landmarks": 3}, "`n_landmarks` must be at least the number of eigenvectors \\(4\\), but it is 3"),
        ({"n_landmarks": 30}, "n_landmarks has no effect without gram='nystrom'"),
        ({"gram": "tiled", "solver": "hebbian"}, "`gram` must be auto or stored"),
        ({"gram": "expansion", "solver": "dense", "affinity": "poly", "degree": 2}, "`solver` must be one that needs products only"),
    ],
)
def test_bad_parameters_are_named(heaps, parameters, message):
    with pytest.raises(ValueError, match=message):
        SpectralClustering(**{"n_clusters": 4, **parameters}).fit(heaps[0])


def test_bad_points_are_named(heaps):
    X, _ = heaps
    with pytest.raises(ValueError, match="at most the number of different rows, which is 2, but it is 3"):
        SpectralClustering(3).fit(np.repeat([[0.0], [1.0]], 5, axis=0))
    with pytest.raises(ValueError, match="Row 1 has degree 0"):
        SpectralClustering(2, affinity="precomputed").fit(np.diag([1.0, 0.0, 1.0]))
    clusters = SpectralClustering(4, gamma=1.0).fit(X)
    with pytest.raises(ValueError, match="Row 0 has degree 0"):
        clusters.predict(np.full((1, 5), 1e3))


def test_fewer_clusters_than_asked_for_are_a_warning(heaps):
    assert SpectralClustering(1).fit_predict(heaps[0]).max() == 0
    with pytest.warns(ConvergenceWarning, match="there are 1 clusters and not 3"):
        clusters = SpectralClustering(3, gamma=0.05, n_components=1).fit(heaps[0])
    assert clusters.cluster_centers_.shape == (1, 1)
    assert clusters.labels_.max() == 0


def test_out_of_time_is_a_warning_or_an_error(heaps):
    with pytest.raises(RuntimeError, match="Stopped during"):
        SpectralClustering(4, time_limit=0).fit(heaps[0])
    with pytest.warns(ConvergenceWarning, match="passes were used up"):
        # One vector at a time, and a tolerance that rounding does not reach.
        SpectralClustering(4, gamma=0.05, solver="power", tolerance=1e-13).fit(heaps[0][:100])


def test_novelty_of_rows(heaps):
    X, _ = heaps
    pca = KernelPCA(5, kernel="rbf", gamma=0.05).fit(X)
    usual, strange = pca.score_samples(X), pca.score_samples(X + 8)
    assert usual.shape == (300,)
    assert strange.max() < np.quantile(usual, 0.05)
    error, t_squared = pca.novelty(X)
    np.testing.assert_array_equal(-error, usual)
    # By Pythagoras, from the centred kernel matrix.
    K = rbf_kernel(X, gamma=0.05)
    norms = np.diag(K) - 2 * K.mean(axis=1) + K.mean()
    scores = pca.transform(X)
    np.testing.assert_allclose(error, norms - np.sum(scores**2, axis=1), atol=1e-10)
    np.testing.assert_allclose(t_squared, np.sum(scores**2 / (pca.eigenvalues_ / 300), axis=1), rtol=1e-8)
    limits = pca.record_["control_limits"]
    assert np.mean(error <= limits["reconstruction_error"][3] + 1e-9) >= limits["levels"][3]


@pytest.mark.parametrize("parameters", [{}, {"scaling": "standardize"}, {"scaling": 0.5}, {"solver": "hebbian", "tolerance": 0.9}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_saved_clusters_come_back(heaps, tmp_path, parameters, dtype):
    X = heaps[0].astype(dtype)
    clusters = SpectralClustering(4, gamma=0.05, **parameters).fit(X[:200])
    clusters.save(tmp_path / "c.mercer")
    same = mercer.load(tmp_path / "c.mercer")
    assert isinstance(same, SpectralClustering)
    np.testing.assert_array_equal(same.labels_, clusters.labels_)
    np.testing.assert_array_equal(same.embedding_, clusters.embedding_)
    np.testing.assert_array_equal(same.predict(X), clusters.predict(X))
    assert same.record_ == clusters.record_ and same.n_features_in_ == 5
    assert same.get_params()["scaling"] == parameters.get("scaling")
    np.testing.assert_array_equal(same.fit(X[:200]).labels_, clusters.labels_)


def run(command, *arguments):
    finished = subprocess.run([str(command), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("flags", [(), ("--standardize",), ("--scale", "1/2")])
def test_clusters_of_the_command_are_clusters_here(heaps, tmp_path, command, flags):
    X = heaps[0]
    np.save(tmp_path / "x.npy", X[:200])
    np.save(tmp_path / "new.npy", X[200:])
    model = tmp_path / "c.mercer"
    run(command, "cluster", tmp_path / "x.npy", "-k", 4, "--gamma", 0.05, "-o", tmp_path / "c.npy", "--model", model, *flags)
    run(command, "transform", model, tmp_path / "new.npy", "-o", tmp_path / "new_c.npy")
    clusters = mercer.load(model)
    np.testing.assert_array_equal(clusters.labels_, np.load(tmp_path / "c.npy").ravel())
    np.testing.assert_array_equal(clusters.predict(X[200:]), np.load(tmp_path / "new_c.npy").ravel())


def test_clusters_from_here_are_clusters_of_the_command(heaps, tmp_path, command):
    X = heaps[0]
    np.save(tmp_path / "new.npy", X[200:])
    clusters = SpectralClustering(4, gamma=0.05).fit(X[:200])
    clusters.save(tmp_path / "c.mercer")
    run(command, "transform", tmp_path / "c.mercer", tmp_path / "new.npy", "-o", tmp_path / "c.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy").ravel(), clusters.predict(X[200:]))


def test_names_of_columns_are_in_the_file(heaps, tmp_path):
    frame = pd.DataFrame(heaps[0], columns=list("abcde"))
    SpectralClustering(4, gamma=0.05).fit(frame).save(tmp_path / "c.mercer")
    same = mercer.load(tmp_path / "c.mercer")
    assert list(same.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        same.predict(frame.rename(columns={"a": "z"}))


def test_files_that_are_damaged_and_functions_are_refused(heaps, tmp_path):
    X = heaps[0]
    SpectralClustering(4, gamma=0.05).fit(X).save(tmp_path / "c.mercer")
    whole = (tmp_path / "c.mercer").read_bytes()
    (tmp_path / "altered.mercer").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match="altered"):
        mercer.load(tmp_path / "altered.mercer")
    (tmp_path / "short.mercer").write_bytes(whole[:-3])
    with pytest.raises(ValueError, match="cut short"):
        mercer.load(tmp_path / "short.mercer")
    with pytest.raises(ValueError, match="function"):
        SpectralClustering(4, affinity=lambda x, y: float(np.exp(-((x - y) ** 2).sum() / 20))).fit(X[:50]).save(tmp_path / "f.mercer")
    with pytest.raises(ValueError, match="scaling='standardize' is not for affinity='precomputed'"):
        SpectralClustering(2, affinity="precomputed", scaling="standardize").fit(np.eye(4) + 1)
