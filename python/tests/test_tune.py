"""The width of a kernel from the spectrum."""

import json
import pathlib
import pickle
import xml.etree.ElementTree

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import KernelPCA, KernelTuner, TuneResult, tune_ard, tune_kernel, tune_parameters

CASE = pathlib.Path(__file__).parents[2] / "testdata" / "reference" / "nogayama.npz"


@pytest.fixture(scope="module")
def case():
    with np.load(CASE) as arrays:
        return dict(arrays)


def close(found, expected):
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max() + 1e-13)


def test_the_stored_case(case):
    result = tune_kernel(case["in_X"], kernel="rbf", bandwidths=case["in_sigmas"])
    assert isinstance(result, TuneResult)
    np.testing.assert_array_equal(result.bandwidths, case["in_sigmas"])
    close(result.values, case["out_E"])
    close(result.gradients, case["out_dE"])
    close(result.best_bandwidth, case["out_sigma_star"])
    assert len(result.maxima) == 1 and result.maxima[0] == result.best_bandwidth
    assert result.maxima_gammas == [result.best_gamma] and result.maxima_values == [result.best_value]
    assert result.maxima_standard_errors == [0.0]
    assert result.best_gamma == pytest.approx(0.5 / result.best_bandwidth**2, rel=1e-14)
    assert result.standard_error == 0.0 and result.seconds > 0 and result.method == "exact" and result.converged


def test_a_bump_of_noise_is_not_taken_where_an_end_of_the_scan_is_better():
    X = np.random.default_rng(4).normal(size=(120, 2))
    # Which points are held out decides where the end is better: for some seeds it is.
    at_an_end = 0
    for seed in range(8):
        result = tune_kernel(X, criterion="reconstruction", random_state=seed)
        assert result.best_value >= result.values.max() > -0.7
        at_an_end += any("is the widest that was tried" in warning for warning in result.warnings)
    assert at_an_end > 0


def test_bandwidths_keep_the_order_they_were_given_in(case, tmp_path):
    order = [3, 0, 4, 0, 2, 1]
    result = tune_kernel(case["in_X"], bandwidths=case["in_sigmas"][order])
    np.testing.assert_array_equal(result.bandwidths, case["in_sigmas"][order])
    close(result.values, case["out_E"][order])
    close(result.gradients, case["out_dE"][order])
    close(result.best_bandwidth, case["out_sigma_star"])
    result.plot(tmp_path / "given.svg")
    tune_kernel(case["in_X"], bandwidths=np.sort(case["in_sigmas"][order])).plot(tmp_path / "sorted.svg")
    assert (tmp_path / "given.svg").read_text() == (tmp_path / "sorted.svg").read_text()


def test_the_stored_case_without_bandwidths(case):
    close(tune_kernel(case["in_X"]).best_bandwidth, case["out_sigma_star"])


@pytest.mark.parametrize("parameter", ["gamma", "bandwidth"])
def test_auto_is_what_the_search_finds(case, parameter):
    X = case["in_X"]
    fitted = KernelPCA(4, kernel="rbf", **{parameter: "auto"}).fit(X)
    assert fitted.gamma_ == tune_kernel(X).best_gamma
    np.testing.assert_allclose(
        fitted.fit_transform(X), KernelPCA(4, kernel="rbf", gamma=fitted.gamma_).fit_transform(X), atol=1e-12
    )


@pytest.mark.parametrize("name", ["scale", "median"])
def test_a_bandwidth_by_name_is_a_gamma_by_name(name, points):
    one = KernelPCA(2, kernel="rbf", bandwidth=name).fit(points)
    other = KernelPCA(2, kernel="rbf", gamma=name).fit(points)
    assert one.gamma_ == other.gamma_ == pytest.approx(tune_kernel(points, criterion=name).best_gamma)


def test_scores_at_a_bandwidth(case):
    pca = KernelPCA(4, kernel="rbf", bandwidth=1.5).fit(case["in_X"])
    close(pca.eigenvalues_ / 24, case["out_lambda_4"])
    close(np.abs(pca.transform(case["in_Xtest"])), np.abs(case["out_psi_test"]))


def test_two_scales_have_two_maxima():
    noise = np.random.default_rng(3).normal(size=(18, 2))
    X = np.array([[0, 0], [5, 0], [60, 0]])[np.arange(18) % 3] + 0.1 * noise
    result = tune_kernel(X)
    assert len(result.maxima) == 2 and result.maxima == sorted(result.maxima)
    assert result.best_bandwidth in result.maxima
    assert result.maxima_values[result.maxima.index(result.best_bandwidth)] == max(result.maxima_values)


def test_sampling_agrees_with_all_pairs_within_its_error():
    X = np.random.default_rng(5).normal(size=(12000, 4)).astype(np.float32)
    exact = tune_kernel(X, method="exact")
    result = tune_kernel(X, method="sampled", random_state=1)
    assert result.method == "sampled" and 0 < 2 * result.standard_error <= 0.01 * result.best_bandwidth
    assert abs(result.best_bandwidth - exact.best_bandwidth) <= 4 * result.standard_error
    again = tune_kernel(X, method="sampled", random_state=1)
    assert again.best_bandwidth == result.best_bandwidth
    assert tune_kernel(X, method="sampled", random_state=2).best_bandwidth != result.best_bandwidth


@pytest.mark.parametrize("search", [tune_kernel, lambda X, **settings: KernelTuner(**settings).fit(X).result_])
def test_an_interval_that_samples_leave_too_wide_is_a_warning(search):
    X = np.random.default_rng(5).normal(size=(2000, 2))
    with pytest.warns(ConvergenceWarning, match="could not be made as narrow as"):
        result = search(X, method="sampled", tolerance=1e-6)
    assert not result.converged and result.warnings


def test_what_else_is_to_be_said_of_a_search_is_not_given_as_its_reason(monkeypatch):
    from mercer import _mercer

    search = _mercer.tune_kernel

    def told_more(X, settings):
        fields = json.loads(search(X, settings))
        return json.dumps({**fields, "warnings": [*fields["warnings"], "something else"]})

    monkeypatch.setattr(_mercer, "tune_kernel", told_more)
    X = np.random.default_rng(5).normal(size=(2000, 2))
    with pytest.warns(ConvergenceWarning) as caught:
        result = tune_kernel(X, method="sampled", tolerance=1e-6)
    assert result.warnings[-1] == "something else"
    message = f"the best bandwidth is not known as narrowly as was asked: {result.warnings[0]}"
    assert [str(warning.message) for warning in caught] == [message]


@pytest.mark.parametrize("criterion", ["variance", "median", "scale", "leading", "effective-rank", "reconstruction"])
def test_every_criterion_finds_a_width_of_the_order_of_the_distances(criterion, points, tmp_path):
    result = tune_kernel(points, criterion=criterion)
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert distances[distances > 0].min() / 10 < result.best_bandwidth < 10 * distances.max()
    assert result.values.shape == result.gradients.shape == result.bandwidths.shape
    assert np.isnan(result.gradients).all() == (criterion == "reconstruction")
    result.plot(tmp_path / "curve.svg")
    root = xml.etree.ElementTree.parse(tmp_path / "curve.svg").getroot()
    assert root.tag.endswith("svg")
    assert "nan" not in (tmp_path / "curve.svg").read_text().lower()
    assert [path.name for path in tmp_path.iterdir()] == ["curve.svg"]


@pytest.mark.parametrize("kernel", ["laplacian", "exponential", "matern32", "matern52", "rational-quadratic"])
def test_other_kernels(kernel, points):
    result = tune_kernel(points, kernel)
    assert result.kernel == kernel and len(result.maxima) >= 1
    tuner = KernelTuner(kernel).fit(points)
    one = KernelPCA(2, kernel=kernel, gamma=tuner.gamma_).fit_transform(points)
    other = KernelPCA(2, kernel=kernel, gamma=0.5).fit_transform(tuner.transform(points))
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_estimator_works_in_a_pipeline_and_is_cloned_and_pickled(points):
    labels = points[:, 0] > 0
    pipeline = make_pipeline(KernelTuner(), SVC(gamma=0.5)).fit(points, labels)
    assert pipeline.score(points, labels) > 0.8
    tuner = KernelTuner(criterion="median").fit(points)
    assert clone(tuner).get_params() == tuner.get_params()
    again = pickle.loads(pickle.dumps(tuner))
    assert again.gamma_ == tuner.gamma_
    np.testing.assert_array_equal(again.transform(points), tuner.transform(points))
    assert list(tuner.get_feature_names_out()) == [f"x{i}" for i in range(points.shape[1])]


def test_kernel_pca_of_a_found_width_classifies_in_a_pipeline():
    # A disc and a ring around it: no line separates them.
    angles, radii = 2.4 * np.arange(120), np.where(np.arange(120) % 2, 3.0, 0.5)
    X = np.column_stack([radii * np.cos(angles), radii * np.sin(angles)]) + 0.15 * np.random.default_rng(0).normal(size=(120, 2))
    y = np.where(np.arange(120) % 2, "ring", "disc")
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)

    def accuracy(*steps):
        return cross_val_score(make_pipeline(StandardScaler(), *steps, LogisticRegression(C=10)), X, y, cv=folds).mean()

    assert accuracy(KernelPCA(10, kernel="rbf", gamma="auto")) > 0.98 > 0.8 > accuracy()


def test_results_do_not_depend_on_threads_or_layout(points):
    one = tune_kernel(points, n_jobs=1)
    for other in (tune_kernel(points, n_jobs=2), tune_kernel(np.asfortranarray(points)), tune_kernel(points.tolist())):
        np.testing.assert_array_equal(one.values, other.values)
        assert one.best_bandwidth == other.best_bandwidth


def test_it_prints_what_it_found(points):
    assert repr(tune_kernel(points)).startswith("TuneResult(best_bandwidth=")


@pytest.mark.parametrize(
    ("X", "arguments", "words"),
    [
        (np.ones((10, 3)), {}, "equal"),
        (np.ones((10, 3)), {"kernel": "poly", "bandwidths": [1.0, 2.0]}, "equal"),
        (1e4 * np.arange(1.0, 50.0)[:, None], {"kernel": "poly", "degree": 20, "bandwidths": [1.0, 2.0]}, "row 48 .* overflows"),
        (np.eye(12), {"criterion": "reconstruction", "n_leading": 8}, "not held out"),
        ([[0.0], [1.0]], {}, "no maximum"),
        ([[0.0], [1.0], [1.0], [0.0]], {}, "two points; give bandwidths to try"),
        ([[1.0]], {}, "at least 2 rows"),
        ([[1.0], [np.nan], [2.0]], {}, "finite"),
        (np.eye(5), {"kernel": "linear"}, "the linear kernel: it has no width to tune, as functions of a distance have"),
        (np.eye(5), {"kernel": "poly"}, "not a function of a distance: say with `bandwidths` which widths to try"),
        (np.eye(5), {"kernel": "no such"}, "no such"),
        (np.eye(5), {"criterion": "best"}, "criterion"),
        (np.eye(5), {"method": "fast"}, "method"),
        (np.eye(5), {"bandwidths": []}, "at least one"),
        (np.eye(5), {"bandwidths": [1.0, -1.0]}, "positive"),
        (np.eye(5), {"bandwidths": [[1.0]]}, "bandwidths"),
        (np.eye(5), {"bandwidths": [1.0], "criterion": "median"}, "median"),
        (np.eye(5), {"method": "sampled"}, "64"),
        (np.eye(5), {"tolerance": 0}, "tolerance"),
        (np.eye(5), {"n_leading": 2}, "n_leading has no effect"),
        (np.eye(5), {"random_state": "x"}, "random_state"),
        (np.eye(5), {"kernel": lambda x, y: 1.0}, "function"),
    ],
)
def test_bad_input(X, arguments, words):
    with pytest.raises(ValueError, match=words):
        tune_kernel(X, **arguments)


@pytest.mark.parametrize(
    ("X", "words"), [(np.ones((5, 2)), "equal"), (1e4 * np.arange(1.0, 50.0)[:, None], "overflows")]
)
def test_a_climb_without_a_criterion_is_refused(X, words):
    with pytest.raises(ValueError, match=words):
        tune_parameters(X, "poly", {"gamma": (0.5, 1)}, degree=20)


def test_the_tolerance_is_that_of_the_search(points):
    assert tune_kernel(points).tolerance == 1e-8 and tune_kernel(points, tolerance=1e-4).tolerance == 1e-4
    assert tune_kernel(points, criterion="median").tolerance is None


def test_the_seed_says_which_points_are_held_out():
    # Every third row is of the same group: the other two know nothing of it.
    X = 10.0 * np.eye(3)[np.arange(60) % 3] + 0.1 * np.random.default_rng(8).normal(size=(60, 3))
    found = [tune_kernel(X, criterion="reconstruction", n_leading=2, random_state=seed) for seed in (0, 1)]
    assert min(result.best_value for result in found) > -0.1
    assert found[0].best_value != found[1].best_value


def test_constant_features_change_nothing(points):
    padded = np.hstack([points, np.full((len(points), 2), 3.0)])
    assert tune_kernel(padded).best_bandwidth == pytest.approx(tune_kernel(points).best_bandwidth, rel=1e-8)


def texts(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    return [element.text for element in root.iter() if element.tag.endswith("text")], path.read_text()


def test_a_width_without_a_search_is_a_dot_with_the_name_of_its_number(points, tmp_path):
    result = tune_kernel(points, criterion="median")
    assert result.measure == "variance of the variances"
    result.plot(tmp_path / "median.svg")
    words, picture = texts(tmp_path / "median.svg")
    assert words[0] == f"Variance of the variances, {result.kernel} kernel"
    assert "criterion median: bandwidth" in words[1] and "variance of the variances" in words
    assert (picture.count("<circle"), picture.count("<polyline")) == (2, 0)
    # Round bandwidths around it, and an axis of the value's own size.
    below = [word for word in words if word.replace(".", "").isdigit()]
    assert len(below) >= 4
    assert f"{result.best_bandwidth:.4g}" in words


def test_the_best_is_marked_beside_the_maxima(tmp_path):
    noise = np.random.default_rng(3).normal(size=(18, 2))
    X = np.array([[0, 0], [5, 0], [60, 0]])[np.arange(18) % 3] + 0.1 * noise
    narrow, wide = tune_kernel(X).maxima
    is_wide = tune_kernel(X).best_bandwidth == wide
    other, edge = (narrow, 0.97 * wide) if is_wide else (wide, 1.03 * narrow)
    result = tune_kernel(X, bandwidths=[0.7 * other, other, 1.4 * other, edge])
    assert len(result.maxima) == 1 and result.best_bandwidth == edge
    result.plot(tmp_path / "marks.svg")
    words, picture = texts(tmp_path / "marks.svg")
    assert picture.count("stroke-dasharray") == 2 and picture.count('stroke-width="2" stroke-dasharray') == 1
    assert f"{edge:.4g}" in words


def test_points_too_far_apart_or_too_close_for_a_width_are_refused():
    far = np.append(np.arange(40.0) ** 2 % 17, 1e200)[:, None]
    for criterion in ("variance", "leading", "reconstruction"):
        with pytest.raises(ValueError, match="Row 40 is too large"):
            tune_kernel(far, criterion=criterion)
    for criterion in ("median", "scale"):
        with pytest.raises(ValueError, match="multiply the data by 6e-202, standardize it"):
            tune_kernel(1e200 * (1 + np.arange(40.0) ** 2 % 17)[:, None], criterion=criterion)
    with pytest.raises(ValueError, match="too close"):
        tune_kernel(np.arange(400.0)[:, None] * 1e-155)
    with pytest.raises(ValueError, match="too close"):
        KernelPCA(2, kernel="rbf", gamma="auto").fit(np.arange(400.0)[:, None] * 1e-155)


def test_a_climb_hands_on_what_the_search_for_its_start_has_to_say():
    # Three groups of copies are best apart: at the narrowest width, of which the search warns.
    X = np.array([0.0, 1.0, 100.0])[np.arange(60) % 3][:, None]
    for result in (tune_parameters(X, "rbf", {"gamma": (1e-3, 100)}), tune_ard(X)):
        assert any(warning.startswith("gamma auto: the best bandwidth") for warning in result.warnings)
    assert tune_ard(X, [1.0]).warnings == []


def test_features_held_at_the_limit_are_told():
    noise = np.random.default_rng(0).normal(size=(100, 2))
    X = np.column_stack([5.0 * (np.arange(100) % 2) + 0.3 * noise[:, 0], noise[:, 1]])
    start = tune_kernel(X).best_gamma
    result = tune_ard(X)
    held = [int(feature) for feature in np.flatnonzero(result.gammas <= 1.0001e-4 * start)]
    assert held and result.at_bound == held


def test_pictures_are_svg_only(points, tmp_path):
    with pytest.raises(ValueError, match=r"\.svg"):
        tune_kernel(points, criterion="median").plot(tmp_path / "curve.png")


def test_a_picture_that_cannot_be_written_is_told_by_its_name(points, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        tune_kernel(points, criterion="median").plot(tmp_path / "nowhere" / "curve.svg")


@pytest.mark.parametrize("numbers", ["wide", [1.0, "wide"], [[1.0, 2.0]], 3.0])
def test_what_is_no_sequence_of_numbers_is_refused_by_its_name(numbers, points):
    with pytest.raises(ValueError, match="'bandwidths' parameter of tune_kernel must be a sequence of positive numbers or None"):
        tune_kernel(points, bandwidths=numbers)
    with pytest.raises(ValueError, match="'gammas' parameter of tune_ard must be one positive number per feature, or None"):
        tune_ard(points, numbers)


def test_single_precision_reports_what_double_precision_does_at_every_bandwidth():
    # Distances are nearly the same, and bandwidths far below and far above all of them.
    X = np.random.default_rng(0).normal(size=(600, 40)).astype(np.float32)
    bandwidths = np.geomspace(0.5, 300.0, 64)
    single, double = (tune_kernel(X.astype(dtype), bandwidths=bandwidths) for dtype in (np.float32, np.float64))
    np.testing.assert_allclose(single.values, double.values, rtol=1e-8)
    np.testing.assert_allclose(single.gradients, double.gradients, rtol=1e-6, atol=1e-12 * np.abs(double.gradients).max())


@pytest.mark.parametrize("name", ["gamma", "bandwidth"])
def test_a_width_by_an_unknown_name_is_refused(name, points):
    with pytest.raises(ValueError, match="'auto', 'scale', 'median' or None"):
        KernelPCA(kernel="rbf", **{name: "widest"}).fit(points)
