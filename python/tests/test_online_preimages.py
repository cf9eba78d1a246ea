"""Online kernel PCA: the ways back from outputs to points."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer import OnlineKernelPCA

RULES = [{}, {"rule": "apex"}, {"rule": "apex", "rows_per_component": 60}, {"budget": 50}]


@pytest.fixture
def rows():
    return np.random.default_rng(11).normal(size=(200, 4)) * [2.0, 1.0, 0.5, 0.2]


@pytest.mark.parametrize("learning", RULES)
def test_points_are_those_of_the_saved_model(rows, tmp_path, learning):
    learner = OnlineKernelPCA(3, gamma=0.1, inverse="fixed-point", **learning).fit(rows)
    learner.save(tmp_path / "m.mercer")
    pca = mercer.load(tmp_path / "m.mercer").set_params(inverse="fixed-point")
    found, error, converged = learner.preimages(learner.transform(rows))
    expected, expected_error, expected_converged = pca.preimages(pca.transform(rows))
    both = converged & expected_converged
    assert np.count_nonzero(both) > 100
    np.testing.assert_allclose(found[both], expected[both], rtol=0, atol=1e-6)
    np.testing.assert_allclose(error[both], expected_error[both], rtol=0, atol=1e-8)


@pytest.mark.parametrize("learning", RULES[:3])
def test_by_default_the_linear_kernel_is_projected_on_the_span_of_the_components(rows, learning):
    learner = OnlineKernelPCA(3, kernel="linear", **learning).fit(rows)
    across, _ = np.linalg.qr((learner.coefficients_ @ learner.basis_).T)
    mean = rows.mean(axis=0)
    found = learner.inverse_transform(learner.transform(rows[:20]))
    np.testing.assert_allclose(found, mean + (rows[:20] - mean) @ across @ across.T, rtol=0, atol=1e-5)


def test_the_way_back_may_change_while_learning_goes_on(rows):
    learner = OnlineKernelPCA(2, gamma=0.1).fit(rows[:100])
    learner.set_params(inverse="distance", inverse_options={"neighbors": 4}).partial_fit(rows[100:])
    outputs = learner.transform(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = learner.inverse_transform(outputs)
        assert found.shape == rows.shape and learner.n_seen_ == 200
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).inverse_transform(outputs), found)


def test_wrong_calls_are_refused(rows):
    with pytest.raises(NotFittedError):
        OnlineKernelPCA(2).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="'inverse' parameter of OnlineKernelPCA must be a str among"):
        OnlineKernelPCA(2, inverse="magic").fit(rows)
    learner = OnlineKernelPCA(2, gamma=0.1).fit(rows)
    with pytest.raises(ValueError, match="`X` must be of 2 columns"):
        learner.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="must be small enough for scores under the model"):
        learner.inverse_transform(np.finfo(float).max * np.array([[1.0, 1.0], [1.0, -1.0]]))
    with pytest.raises(ValueError, match="start must be left out with inverse='distance'"):
        learner.set_params(inverse="distance").inverse_transform(np.zeros((1, 2)), start=rows[:1])
