"""Pre-images: the ways back from scores to points."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from conftest import ROOT
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline

import mercer
from mercer import KernelPCA, _mercer


def case():
    return np.load(ROOT / "testdata" / "preimage" / "preimage.npz")


@pytest.mark.parametrize("from_points", [True, False])
def test_the_stored_fixed_points_come_out(from_points):
    stored = case()
    pca = KernelPCA(int(stored["par_r"]), kernel="rbf", bandwidth=float(stored["par_sigma"]), inverse="fixed-point").fit(stored["in_X"])
    scores = pca.transform(stored["in_Xtest"])
    found = pca.inverse_transform(scores, start=stored["in_Xtest"] if from_points else None)
    np.testing.assert_allclose(found, stored["out_z"], rtol=0, atol=1e-8 * np.abs(stored["out_z"]).max())


@pytest.mark.parametrize("center", [True, False])
def test_the_linear_kernel_gives_the_projections_of_pca_centred_or_not(points, center):
    pca = KernelPCA(2, kernel="linear", center=center, inverse="gradient").fit(points)
    mean = points.mean(axis=0) if center else 0
    directions = np.linalg.svd(points - mean, full_matrices=False)[2][:2]
    expected = (points - mean) @ directions.T @ directions + mean
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(points)), expected, rtol=0, atol=1e-8 * np.abs(points).max())


@pytest.mark.parametrize("inverse", ["fixed-point", "distance", "gradient"])
def test_points_come_back_from_many_components_with_their_errors(points, inverse):
    pca = KernelPCA(140, kernel="rbf", gamma=0.02, inverse=inverse).fit(points)
    found, error, converged = pca.preimages(pca.transform(points))
    assert found.shape == points.shape and error.shape == converged.shape == (150,)
    assert converged.mean() > 0.9 and converged.dtype == bool
    assert np.median(np.abs(found - points)) < 0.05
    assert (error[converged] < 0.01).all()
    np.testing.assert_array_equal(pca.inverse_transform(pca.transform(points)), found)


def test_the_eigenvector_of_the_quadratic_kernel(points):
    pca = KernelPCA(36, kernel="poly", degree=2, coef0=0, gamma=1.0, inverse="polynomial").fit(points)
    found = pca.inverse_transform(pca.transform(points), start=points)
    np.testing.assert_allclose(found, points, atol=1e-6)


def test_ridge_is_what_it_was(points):
    pca = KernelPCA(5, kernel="rbf", gamma=0.05, fit_inverse_transform=True).fit(points)
    assert pca.inverse_transform(pca.transform(points)).shape == points.shape
    with pytest.raises(ValueError, match="start must be left out with inverse='ridge'"):
        pca.inverse_transform(pca.transform(points), start=points)
    with pytest.raises(ValueError, match="start must be left out with inverse='ridge'"):
        pca.preimages(pca.transform(points), start=points)
    with pytest.raises(NotFittedError):
        KernelPCA(5).fit(points).inverse_transform(np.zeros((1, 5)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_errors_of_ridge_are_distances_in_feature_space(points, dtype):
    X = points.astype(dtype)
    pca = KernelPCA(5, kernel="rbf", gamma=0.05, fit_inverse_transform=True).fit(X)
    scores = pca.transform(X)
    found, error, converged = pca.preimages(scores)
    np.testing.assert_array_equal(found, pca.inverse_transform(scores))
    assert error.dtype == np.float64 and converged.all() and converged.dtype == bool

    def kernel(a, b):
        return np.exp(-0.05 * ((a[:, None].astype(float) - b[None].astype(float)) ** 2).sum(axis=2))

    # What scores stand for is the mean of the images and a combination of them less it: weights over the images of the training points.
    n = len(X)
    weights = scores.astype(float) @ (pca.eigenvectors_ / np.sqrt(pca.eigenvalues_)).T.astype(float)
    weights += (1 - weights.sum(axis=1, keepdims=True)) / n
    expected = 1 - 2 * (weights * kernel(found, X)).sum(axis=1) + ((weights @ kernel(X, X)) * weights).sum(axis=1)
    np.testing.assert_allclose(error, expected, rtol=0, atol=1e-9 if dtype == "float64" else 1e-4)


def test_wrong_calls_are_refused(points):
    with pytest.raises(ValueError, match="'inverse' parameter of KernelPCA must be a str among"):
        KernelPCA(2, inverse="magic").fit(points)
    linear = KernelPCA(2, inverse="fixed-point").fit(points)
    with pytest.raises(ValueError, match="does not work with the linear kernel"):
        linear.inverse_transform(np.zeros((1, 2)))
    rbf = KernelPCA(2, kernel="rbf", inverse="distance").fit(points)
    with pytest.raises(ValueError, match="`X` must be of 2 columns"):
        rbf.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="start must be left out with inverse='distance'"):
        rbf.inverse_transform(np.zeros((1, 2)), start=points[:1])
    with pytest.raises(NotFittedError):
        KernelPCA(2, kernel="rbf", inverse="distance").inverse_transform(np.zeros((1, 2)))


def test_precision_is_that_of_the_model(points):
    pca = KernelPCA(5, kernel="rbf", gamma=0.05, inverse="fixed-point").fit(points.astype(np.float32))
    assert pca.inverse_transform(pca.transform(points.astype(np.float32))).dtype == np.float32


def _fitted(points, inverse, options=None, count=5):
    pca = KernelPCA(count, kernel="rbf", gamma=0.05, inverse=inverse, inverse_options=options).fit(points)
    return pca, pca.transform(points)


@pytest.mark.parametrize("inverse", ["fixed-point", "gradient"])
def test_settings_of_an_iteration_reach_it(points, inverse):
    pca, scores = _fitted(points, inverse)
    found, _, converged = pca.preimages(scores)
    assert converged.all()
    stated = {"max_iterations": 1000, "tolerance": 1e-10, "restarts": 2}
    np.testing.assert_array_equal(pca.set_params(inverse_options=stated).inverse_transform(scores), found)
    few = pca.set_params(inverse_options={"max_iterations": 1, "restarts": 0})
    assert not few.preimages(scores)[2].any()
    rough = pca.set_params(inverse_options={"tolerance": 1e-2})
    gap = np.abs(rough.inverse_transform(scores) - found).max()
    assert rough.preimages(scores)[2].all() and gap > 1e-9


def _two_clusters(**options):
    """Two clusters that do not see each other, and the scores of their points along the component that tells them apart.

    By symmetry the fixed point of a cluster is the point in its middle. One step from there is none; one from the others does not reach it.
    """
    X = np.array([[0.0], [0.2], [0.4], [50.0], [50.2], [50.4]])
    pca = KernelPCA(1, kernel="rbf", gamma=1.0, inverse="fixed-point", inverse_options={"max_iterations": 1, **options}).fit(X)
    return pca, pca.transform(X)


def test_restarts_find_what_the_first_start_does_not():
    is_middle, others = np.array([False, True, False] * 2), [0, 2, 3, 5]
    found = []
    for restarts in (0, 1, 2):
        pca, scores = _two_clusters(restarts=restarts)
        found.append(pca.preimages(scores))
    (none, error, converged), (_, once, after_one), (points, twice, after_two) = found
    np.testing.assert_array_equal(converged, is_middle)
    # The next nearest scores are those of the other outer point, and the third nearest those of the middle.
    np.testing.assert_array_equal(after_one, is_middle)
    assert after_two.all()
    np.testing.assert_allclose(points.ravel(), [0.2] * 3 + [50.2] * 3, rtol=0, atol=1e-9)
    assert (np.abs(none - points)[others] > 1e-3).all()
    assert (once <= error).all() and (twice[others] < error[others] - 1e-5).all()


def test_points_that_do_not_converge_are_told():
    pca, scores = _two_clusters(restarts=0)
    message = r"^4 of 6 points did not converge with inverse='fixed-point': more max_iterations or restarts in inverse_options, .* may help; preimages says which"
    with pytest.warns(ConvergenceWarning, match=message) as told:
        found = pca.inverse_transform(scores)
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match=message) as told:
        # The line that is at fault is not one of scikit-learn's.
        make_pipeline(pca).inverse_transform(scores)
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Who asks for it is told by what is returned.
        np.testing.assert_array_equal(pca.preimages(scores)[0], found)
        pca.inverse_transform(scores[[1, 4]])
        pca.set_params(inverse_options={"max_iterations": 1, "restarts": 2}).inverse_transform(scores)
        pca.set_params(inverse_options=None).inverse_transform(scores)


def test_values_that_are_not_those_of_distances_are_told(points):
    pca, scores = _fitted(points, "distance")
    far = 1e3 * np.abs(scores[:2])
    assert not pca.preimages(far)[2].any()
    with pytest.warns(ConvergenceWarning, match="2 of 2 points did not converge with inverse='distance': .*fewer neighbors in inverse_options"):
        pca.inverse_transform(far)


def test_a_regression_has_nothing_to_warn_of(points):
    pca = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pca.inverse_transform(pca.transform(points))


def test_neighbours_place_a_point(points):
    pca, scores = _fitted(points, "distance")
    ten = pca.inverse_transform(scores)
    np.testing.assert_array_equal(pca.set_params(inverse_options={"neighbors": 10}).inverse_transform(scores), ten)
    assert np.abs(pca.set_params(inverse_options={"neighbors": 3}).inverse_transform(scores) - ten).max() > 1e-3


def test_options_are_a_parameter_like_any_other(points):
    options = {"neighbors": 4}
    pca, scores = _fitted(points, "distance", options)
    assert pca.inverse_options is options and options == {"neighbors": 4}
    assert clone(pca).get_params()["inverse_options"] == options
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pca)).inverse_transform(scores), pca.inverse_transform(scores))
    grid = ParameterGrid({"inverse_options": [None, {"neighbors": 3}, {"neighbors": 20}]})
    assert len({pca.set_params(**params).inverse_transform(scores).tobytes() for params in grid}) == 3
    assert KernelPCA(2, inverse_options={}).fit(points).inverse_options == {}


@pytest.mark.parametrize(
    ("inverse", "options", "message"),
    [
        ("distance", {"neighbours": 5}, r"among \{'neighbors'\} with inverse='distance': there is no 'neighbours'\. Got"),
        ("gradient", {"neighbors": 5}, r"among \{'max_iterations', 'tolerance', 'restarts'\} with inverse='gradient': 'neighbors' is for 'distance'"),
        ("distance", {"restarts": 5}, "'restarts' is for 'fixed-point' and 'gradient'"),
        ("polynomial", {"tolerance": 1e-3}, "must be left out with inverse='polynomial': 'tolerance' is for"),
        ("ridge", {"alpha": 2.0}, "must be left out with inverse='ridge': its ridge is the parameter alpha"),
        ("gradient", {"alpha": 2.0}, r"'restarts'\} with inverse='gradient': alpha is a parameter of its own, for 'ridge' alone"),
        ("distance", {"alpha": 1}, r"among \{'neighbors'\} with inverse='distance': alpha is a parameter of its own, for 'ridge' alone"),
        ("gradient", {3: 2.0}, "there is no 3"),
        ("gradient", {"max_iterations": 0}, r"inverse_options\['max_iterations'\].* must be an int in the range \[1, inf\)"),
        ("gradient", {"max_iterations": 2.5}, r"inverse_options\['max_iterations'\].* must be an int"),
        ("fixed-point", {"tolerance": 0}, r"inverse_options\['tolerance'\].* must be a float in the range \(0"),
        ("fixed-point", {"restarts": -1}, r"inverse_options\['restarts'\].* must be an int in the range \[0"),
        ("distance", {"neighbors": 1}, r"inverse_options\['neighbors'\].* must be an int in the range \[2"),
        ("distance", [("neighbors", 3)], "'inverse_options' parameter of KernelPCA must be an instance of 'dict' or None"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(points, inverse, options, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(2, kernel="rbf", inverse=inverse, inverse_options=options).fit(points)
    with pytest.raises(ValueError, match=message):
        mercer.plan(points, n_components=2, inverse=inverse, inverse_options=options)
    fitted = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(points)
    with pytest.raises(ValueError, match=message):
        fitted.set_params(inverse=inverse, inverse_options=options).inverse_transform(np.zeros((1, 2)))


def test_every_option_of_the_library_is_documented_and_read():
    assert set(_mercer.INVERSE_OPTIONS) == set(_mercer.INVERSES)
    documented = inspect.getdoc(KernelPCA)
    for name in {name for names in _mercer.INVERSE_OPTIONS.values() for name in names}:
        assert f"``{name}``" in documented or name == "alpha"
