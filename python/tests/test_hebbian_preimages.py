"""The kernel Hebbian algorithm: the ways back from scores to points."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer import KernelHebbianPCA, _mercer

# What belongs to each way: the kernel, and options that are not the defaults.
WAYS = {
    "gradient": ({"kernel": "rbf", "gamma": 0.05}, {"max_iterations": 500, "restarts": 1}),
    "fixed-point": ({"kernel": "rbf", "gamma": 0.05}, {"tolerance": 1e-9}),
    "distance": ({"kernel": "rbf", "gamma": 0.05}, {"neighbors": 5}),
    "polynomial": ({"kernel": "poly", "degree": 2, "coef0": 0}, None),
}


@pytest.mark.parametrize("inverse", WAYS)
def test_points_are_those_of_the_same_model_as_kernel_pca(points, tmp_path, inverse):
    kernel, options = WAYS[inverse]
    learner = KernelHebbianPCA(3, **kernel, inverse=inverse, inverse_options=options).fit(points)
    learner.save(tmp_path / "m.mercer")
    pca = mercer.load(tmp_path / "m.mercer").set_params(inverse=inverse, inverse_options=options)
    scores = learner.transform(points)
    found, error, converged = learner.preimages(scores)
    expected, expected_error, expected_converged = pca.preimages(scores)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(error, expected_error, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(converged, expected_converged)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        np.testing.assert_array_equal(learner.inverse_transform(scores), found)


def test_by_default_the_linear_kernel_is_projected_as_pca_projects(points):
    learner = KernelHebbianPCA(3).fit(points)
    scores, mean = learner.transform(points[:20]), points.mean(axis=0)
    expected = mean + scores @ (learner.components_ @ (points - mean))
    np.testing.assert_allclose(learner.inverse_transform(scores), expected, rtol=0, atol=1e-5)
    found, error, converged = learner.preimages(scores, start=points[20:40])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert found.dtype == np.float64 and converged.all() and np.abs(error).max() < 1e-6
    single = KernelHebbianPCA(3).fit(points.astype(np.float32))
    assert single.inverse_transform(scores).dtype == np.float32


def test_a_ridge_is_learned_where_it_is_needed(points):
    learner = KernelHebbianPCA(3, kernel="rbf", gamma=0.05, inverse="ridge", inverse_options={"alpha": 0.01}).fit(points)
    scores = learner.transform(points)
    kernel = np.exp(-0.05 * ((scores[:, None] - scores[None]) ** 2).sum(axis=2))

    def expected(alpha):
        return kernel @ np.linalg.solve(kernel + alpha * np.eye(len(kernel)), points)

    found, error, converged = learner.preimages(scores)
    np.testing.assert_allclose(found, expected(0.01), rtol=0, atol=1e-6)
    assert converged.all() and (error > 0).all()
    by_default = learner.set_params(inverse_options=None).inverse_transform(scores)
    np.testing.assert_allclose(by_default, expected(1.0), rtol=0, atol=1e-6)
    with pytest.raises(mercer.MemoryBudgetError):
        learner.set_params(memory_limit="1kB").inverse_transform(scores)


def test_the_way_back_may_change_while_learning_goes_on(points):
    learner = KernelHebbianPCA(2, kernel="rbf", gamma=0.05, passes=2).fit(points[:100])
    learner.set_params(inverse="distance", inverse_options={"neighbors": 4}).partial_fit(points[100:], passes=2)
    scores = learner.transform(points)
    found = learner.inverse_transform(scores)
    assert found.shape == points.shape and learner.n_updates_ == 2 * 100 + 2 * 150
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).inverse_transform(scores), found)
    assert np.abs(learner.set_params(inverse_options={"neighbors": 20}).inverse_transform(scores) - found).max() > 1e-3


def test_points_that_do_not_converge_are_told(points):
    options = {"max_iterations": 1, "restarts": 0}
    learner = KernelHebbianPCA(2, kernel="rbf", gamma=0.05, passes=1, inverse_options=options).fit(points)
    scores = learner.transform(points)
    with pytest.warns(ConvergenceWarning, match="^150 of 150 points did not converge with inverse='gradient': more max_iterations") as told:
        learner.inverse_transform(scores)
    assert told[0].filename == __file__


@pytest.mark.parametrize("inverse", _mercer.INVERSES)
def test_a_precomputed_kernel_has_no_points_to_come_back_to(points, inverse):
    learner = KernelHebbianPCA(2, kernel="precomputed", inverse=inverse, passes=2).fit(points @ points.T)
    scores = learner.transform(points @ points.T)
    for call in (learner.inverse_transform, learner.preimages):
        with pytest.raises(ValueError, match="does not work with the precomputed kernel: there are no points to combine"):
            call(scores)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"inverse": "magic"}, "'inverse' parameter of KernelHebbianPCA must be a str among"),
        ({"inverse": "gradient", "inverse_options": {"alpha": 1.0}}, "with inverse='gradient': 'alpha' is for 'ridge'"),
        ({"inverse": "ridge", "inverse_options": {"alpha": -1.0}}, r"inverse_options\['alpha'\].* must be a float in the range \[0"),
        ({"inverse": "ridge", "inverse_options": {"restarts": 1}}, r"keys among \{'alpha'\} with inverse='ridge': 'restarts' is for"),
        ({"inverse_options": 3}, "'inverse_options' parameter of KernelHebbianPCA must be an instance of 'dict' or None"),
    ],
)
def test_a_wrong_way_is_refused_before_anything_is_learned(points, params, message):
    learner = KernelHebbianPCA(2, kernel="rbf", passes=1, **params)
    for call in (learner.fit, learner.partial_fit):
        with pytest.raises(ValueError, match=message):
            call(points)
    assert not hasattr(learner, "coefficients_")
    fitted = KernelHebbianPCA(2, kernel="rbf", passes=1).fit(points).set_params(**params)
    with pytest.raises(ValueError, match=message):
        fitted.inverse_transform(np.zeros((1, 2)))


def test_wrong_calls_are_refused(points):
    for call in (KernelHebbianPCA(2).inverse_transform, KernelHebbianPCA(2).preimages):
        with pytest.raises(NotFittedError):
            call(np.zeros((1, 2)))
    learner = KernelHebbianPCA(2, kernel="rbf", passes=1).fit(points)
    with pytest.raises(ValueError, match="`X` must be of 2 columns"):
        learner.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="X has 7 features, but KernelHebbianPCA is expecting 8"):
        learner.inverse_transform(np.zeros((1, 2)), start=points[:1, 1:])
    for inverse in ("distance", "ridge"):
        with pytest.raises(ValueError, match=f"start must be left out with inverse='{inverse}'"):
            learner.set_params(inverse=inverse).inverse_transform(np.zeros((1, 2)), start=points[:1])
    with pytest.raises(ValueError, match="by an eigenvector does not work with the"):
        learner.set_params(inverse="polynomial").inverse_transform(np.zeros((1, 2)))
