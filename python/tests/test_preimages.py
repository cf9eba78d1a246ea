"""Pre-images: the ways back from scores to points."""

import numpy as np
import pytest
from conftest import ROOT
from sklearn.exceptions import NotFittedError

from mercer import KernelPCA


def case():
    return np.load(ROOT / "testdata" / "preimage" / "preimage.npz")


@pytest.mark.parametrize("from_points", [True, False])
def test_the_stored_fixed_points_come_out(from_points):
    stored = case()
    pca = KernelPCA(int(stored["par_r"]), kernel="rbf", bandwidth=float(stored["par_sigma"]), inverse="fixed-point").fit(stored["in_X"])
    scores = pca.transform(stored["in_Xtest"])
    found = pca.inverse_transform(scores, start=stored["in_Xtest"] if from_points else None)
    np.testing.assert_allclose(found, stored["out_z"], rtol=0, atol=1e-8 * np.abs(stored["out_z"]).max())


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
    with pytest.raises(ValueError, match="preimages is for inverse other than 'ridge'"):
        pca.preimages(pca.transform(points))
    with pytest.raises(NotFittedError):
        KernelPCA(5).fit(points).inverse_transform(np.zeros((1, 5)))


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
