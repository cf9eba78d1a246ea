"""Random Fourier features."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tests import test_kernel_approximation as theirs

import mercer
from mercer import FourierFeatures


def _error(points, count, seeds):
    """The root of the mean squared error of all inner products, over some draws."""
    K = rbf_kernel(points, gamma=0.05)
    features = (FourierFeatures(gamma=0.05, n_components=count, random_state=seed).fit_transform(points) for seed in seeds)
    return np.sqrt(np.mean([(Z @ Z.T - K) ** 2 for Z in features]))


def test_inner_products_approach_the_kernel_with_the_root_of_the_number_of_features(points):
    errors = {count: _error(points, count, range(10)) for count in (50, 200, 800, 3200)}
    for count, error in errors.items():
        # An inner product is a mean over features of a variable whose variance lies between 1/2 and 3/2 where the kernel is small or one.
        assert 0.4 < error * np.sqrt(count) < 1.3, errors
        if count > 50:
            assert 0.35 < error / errors[count // 4] < 0.7, errors


def test_they_are_right_on_average(points):
    K = rbf_kernel(points, gamma=0.05)
    features = [FourierFeatures(gamma=0.05, n_components=500, random_state=seed).fit_transform(points) for seed in range(40)]
    mean = np.mean([Z @ Z.T for Z in features], axis=0)
    # 20 000 features in all; five standard deviations of the worst of the 22 500 entries.
    assert np.abs(mean - K).max() < 5 * np.sqrt(1.5 / 20_000)


def test_they_are_the_formula_over_frequencies_of_the_right_width(points):
    fitted = FourierFeatures(gamma=0.05, n_components=4000, random_state=3).fit(points)
    angles = points @ fitted.random_weights_ + fitted.random_offset_
    np.testing.assert_allclose(fitted.transform(points), np.sqrt(2 / 4000) * np.cos(angles), atol=1e-14 * np.abs(angles).max())
    # 32 000 normal numbers of variance 2 gamma; 4000 angles that are uniform on a circle.
    assert fitted.random_weights_.std() == pytest.approx(np.sqrt(0.1), rel=0.02)
    assert abs(fitted.random_weights_.mean()) < 0.01
    assert fitted.random_offset_.min() >= 0 and fitted.random_offset_.max() < 2 * np.pi
    assert abs(np.exp(1j * fitted.random_offset_).mean()) < 0.05


def test_a_bandwidth_is_a_width_by_another_name(points):
    for gamma, bandwidth in ((1 / 18, 3.0), ("scale", "scale"), ("auto", "auto")):
        wide, narrow = (FourierFeatures(**width, n_components=20).fit(points) for width in ({"gamma": gamma}, {"bandwidth": bandwidth}))
        assert wide.gamma_ == pytest.approx(narrow.gamma_, rel=1e-15)
        np.testing.assert_allclose(wide.transform(points), narrow.transform(points), atol=1e-12)
    with pytest.raises(ValueError, match="gamma and bandwidth say the same thing"):
        FourierFeatures(gamma=0.5, bandwidth=2.0).fit(points)
    with pytest.raises(ValueError, match="'bandwidth' parameter of FourierFeatures must be a float"):
        FourierFeatures(bandwidth=0).fit(points)


def test_what_the_search_for_a_width_has_to_say_is_said():
    # Three groups of copies are best apart: at the narrowest width, and so the search warns of it.
    X = np.tile([[0.0], [1.0], [100.0]], (20, 1))
    with pytest.warns(ConvergenceWarning, match="gamma auto: "):
        FourierFeatures(gamma="auto").fit(X)
    with pytest.warns(ConvergenceWarning, match="gamma auto: "):
        _, record = mercer.kernel_product(X, np.ones(60), kernel="rbf", gamma="auto", return_record=True)
    assert any(message.startswith("gamma auto: ") for message in record["warnings"])


def test_the_same_seed_draws_what_the_library_draws():
    # The same numbers stand in crates/mercer/tests/nystrom.rs.
    weights = [[0.2583122206637337, -0.7693884776271102], [-0.20331093237129946, 0.21759071965107152]]
    offset = [2.2899956131323203, 6.220180439838433]
    fitted = FourierFeatures(gamma=0.4, n_components=2, random_state=7).fit(np.zeros((1, 2)))
    np.testing.assert_allclose(fitted.random_weights_, weights, rtol=0, atol=1e-15)
    np.testing.assert_allclose(fitted.random_offset_, offset, rtol=0, atol=1e-15)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(points):
    fits = [FourierFeatures(gamma=0.05, random_state=5, n_jobs=jobs).fit(points) for jobs in (1, 2, None)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].random_weights_, other.random_weights_)
        np.testing.assert_array_equal(fits[0].transform(points), other.transform(points))
    assert not np.array_equal(fits[0].random_weights_, clone(fits[0]).set_params(random_state=6).fit(points).random_weights_)
    default = FourierFeatures().fit(points).random_weights_
    np.testing.assert_array_equal(default, FourierFeatures(random_state=0).fit(points).random_weights_)
    for random_state in (np.random.RandomState(1), np.random.default_rng(1)):
        assert FourierFeatures(random_state=random_state).fit(points).random_weights_.shape == (8, 100)


@pytest.mark.parametrize(("dtype", "expected"), [(np.float64, np.float64), (np.float32, np.float32), (np.uint8, np.float32)])
def test_the_type_of_numbers_is_kept(points, dtype, expected):
    X = np.abs(points).astype(dtype)
    fitted = FourierFeatures(gamma=0.05).fit(X)
    assert fitted.transform(X).dtype == fitted.random_weights_.dtype == fitted.random_offset_.dtype == expected
    wide = FourierFeatures(gamma=0.05).fit(X.astype(float)).transform(X.astype(float))
    np.testing.assert_allclose(fitted.transform(X), wide, atol=0 if expected == np.float64 else 1e-5)


def test_all_kinds_of_rows_give_the_same_features(points):
    fitted = FourierFeatures(gamma=0.05, n_components=7).fit(points)
    expected = fitted.transform(points)
    for rows in (points.tolist(), np.asfortranarray(points), scipy.sparse.csr_array(points)):
        np.testing.assert_array_equal(clone(fitted).fit(rows).transform(rows), expected)
    frame = pd.DataFrame(points, columns=list("abcdefgh"))
    named = clone(fitted).set_output(transform="pandas").fit(frame)
    assert list(named.transform(frame).columns) == [f"fourierfeatures{i}" for i in range(7)]
    np.testing.assert_array_equal(named.transform(frame), expected)
    assert list(named.feature_names_in_) == list("abcdefgh")


def test_widths_can_be_found_in_the_data(points):
    scale = FourierFeatures(gamma="scale").fit(points)
    assert scale.gamma_ == pytest.approx(1 / (8 * points.var()))
    assert FourierFeatures(gamma=None).fit(points).gamma_ == pytest.approx(1 / 8)
    assert FourierFeatures().fit(points).gamma_ == 1.0
    for gamma in ("median", "auto"):
        fitted = FourierFeatures(gamma=gamma, n_components=10).fit(points)
        assert fitted.random_weights_.std() == pytest.approx(np.sqrt(2 * fitted.gamma_), rel=0.5)
    by_name = FourierFeatures("gaussian", gamma=0.05).fit_transform(points)
    np.testing.assert_array_equal(by_name, FourierFeatures(gamma=0.05).fit_transform(points))


def test_pickles_and_copies_transform_alike(points):
    fitted = FourierFeatures(gamma=0.05, n_components=10).fit(points)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(points), fitted.transform(points))
    assert repr(clone(fitted)) == "FourierFeatures(gamma=0.05, n_components=10)"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian"}, "does not work with the laplacian kernel: its spectrum is not that of a Gaussian"),
        ({"kernel": "rfb"}, "'kernel' parameter of FourierFeatures must be a str among"),
        ({"kernel": "precomputed"}, "does not work with the precomputed kernel"),
        ({"kernel": rbf_kernel}, "does not work with the rbf_kernel kernel"),
        ({"gamma": 0}, "gamma"),
        ({"gamma": -1.0}, "'gamma' parameter of FourierFeatures"),
        ({"gamma": "wide"}, "'gamma' parameter of FourierFeatures"),
        ({"n_components": 0}, "'n_components' parameter of FourierFeatures must be an int in the range"),
        ({"n_components": 2.5}, "'n_components' parameter of FourierFeatures must be an int in the range"),
        ({"random_state": -1}, "'random_state' parameter of FourierFeatures"),
        ({"n_jobs": 0}, "'n_jobs' parameter of FourierFeatures"),
    ],
)
def test_what_is_not_allowed_is_named(points, parameters, message):
    fitted = FourierFeatures().fit(points)
    with pytest.raises(ValueError, match=message):
        fitted.set_params(**parameters).fit(points)
    # Nothing of the fit before it is left.
    with pytest.raises(NotFittedError):
        fitted.transform(points)


def test_bad_rows_are_refused(points):
    fitted = FourierFeatures(n_components=5).fit(points)
    with pytest.raises(NotFittedError):
        FourierFeatures().transform(points)
    with pytest.raises(ValueError, match="X has 7 features, but FourierFeatures is expecting 8"):
        fitted.transform(points[:, 1:])
    wrong = points.copy()
    wrong[3, 2] = np.nan
    for call in (fitted.transform, clone(fitted).fit):
        with pytest.raises(ValueError, match="NaN"):
            call(wrong)
    wrong[3] = 1e308
    with pytest.raises(ValueError, match="(?i)row 3 is too large for the kernel's width"):
        fitted.set_params(gamma=100.0).fit(points).transform(wrong)


def test_more_features_than_memory_holds_are_refused(points):
    with pytest.raises(mercer.MemoryBudgetError, match="take fewer features"):
        FourierFeatures(n_components=10**15).fit(points)
    with pytest.raises(ValueError, match="'n_components' parameter of FourierFeatures"):
        FourierFeatures(n_components=10**30).fit(points)


class Sampler(FourierFeatures):
    """Ours by the name that scikit-learn's tests know, counting its fits."""

    fits = 0

    def fit(self, X, y=None):
        Sampler.fits += 1
        return super().fit(X, y)

    @property
    def _gamma(self):
        return self.gamma_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scikit_learns_own_tests_of_its_sampler(monkeypatch, dtype):
    monkeypatch.setattr(theirs, "RBFSampler", Sampler)
    # Not test_rbf_sampler: most seeds miss its bound on the mean error, theirs as well as ours; seed 42 of theirs does not.
    tests = {name: test for name, test in vars(theirs).items() if name.startswith("test_rbf_sampler_")}
    assert len(tests) >= 3, sorted(tests)
    for name, test in tests.items():
        before = Sampler.fits
        test(*([dtype] if name.endswith("attributes_dtype") else []))
        assert Sampler.fits > before, name
    theirs.test_input_validation(scipy.sparse.csr_array)
    ours, their = FourierFeatures().get_params(), RBFSampler().get_params()
    assert {name: ours[name] for name in their} == their
