"""What the kernel Hebbian algorithm can start from: models, coefficients, an order of samples."""

import re

import numpy as np
import pytest

import mercer
from mercer import KernelHebbianPCA, KernelPCA


@pytest.mark.parametrize("gain", ["constant", "t", "et*", "et", "smd*", "smd"])
def test_a_fit_from_the_exact_components_leaves_them_as_good_as_they_are(points, gain):
    exact = KernelPCA(3, kernel="rbf").fit(points)
    start = KernelHebbianPCA(3, kernel="rbf", eta0=1e-300, mu=0.0).fit(points, initial_model=exact, order=[0])
    learner = KernelHebbianPCA(3, kernel="rbf", gain=gain).fit(points, initial_model=exact)
    assert learner.reconstruction_error() <= start.reconstruction_error() * (1 + 1e-12)
    assert learner.feature_error() <= start.feature_error() * (1 + 1e-12)
    assert learner.subspace_angle(exact) < 1e-5
    assert learner.n_updates_ == 1500
    # One that is not exact yet becomes better.
    rough = KernelPCA(3, kernel="rbf").fit(points[:60])
    start = KernelHebbianPCA(3, kernel="rbf", eta0=1e-300, mu=0.0).fit(points, initial_model=rough, order=[0])
    learner = KernelHebbianPCA(3, kernel="rbf", gain=gain).fit(points, initial_model=rough)
    assert learner.excess_relative_error(exact) <= start.excess_relative_error(exact) * (1 + 1e-9)
    if gain in ("t", "et*", "et"):
        assert learner.excess_relative_error(exact) < 0.9 * start.excess_relative_error(exact)


@pytest.mark.parametrize("of", [KernelPCA, KernelHebbianPCA])
def test_a_fit_starts_from_a_model(points, of):
    model = of(2, kernel="rbf").fit(points)
    learner = KernelHebbianPCA(2, kernel="rbf", passes=1, eta0=1e-6).fit(points, initial_model=model)
    np.testing.assert_allclose(learner.eigenvalues_, model.eigenvalues_, rtol=1e-4)


def test_a_fit_starts_from_what_an_online_learner_has_learned(points):
    exact = KernelPCA(2, kernel="rbf").fit(points)
    online = mercer.OnlineKernelPCA(2)
    for _ in range(20):
        online.partial_fit(points)
    start = KernelHebbianPCA(2, kernel="rbf", eta0=1e-300).fit(points, initial_model=online, order=[0])
    assert start.subspace_angle(exact) < 0.5
    learner = KernelHebbianPCA(2, kernel="rbf").fit(points, initial_model=online)
    assert learner.excess_relative_error(exact) < start.excess_relative_error(exact)


def test_a_model_of_another_kernel_is_no_start(points):
    model = KernelPCA(2, kernel="rbf", gamma=0.5).fit(points)
    message = r"`initial_model` must be of the kernel that is learned with \(gaussian, gamma 0.125\).*but it is of gaussian, gamma 0.5"
    with pytest.raises(ValueError, match=message):
        KernelHebbianPCA(2, kernel="rbf").fit(points, initial_model=model)


def test_a_model_of_other_columns_is_no_start(points):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(points[:, :3], columns=["a", "b", "c"])
    model = KernelPCA(2, kernel="rbf").fit(table)
    learner = KernelHebbianPCA(2, kernel="rbf", passes=1)
    assert learner.fit(table, initial_model=model).n_updates_ == 150
    with pytest.raises(ValueError, match=re.escape("other columns than X has, or in another order: ['a', 'b', 'c'], not ['b', 'a', 'c']")):
        learner.fit(table[["b", "a", "c"]], initial_model=model)
    # Without names they are taken as they stand.
    assert learner.fit(points[:, :3], initial_model=model).n_updates_ == 150


@pytest.mark.parametrize(
    "params, message",
    [
        ({"order": [0, 150]}, "from 0 to 149, but at position 1 it is 150"),
        ({"order": [-1]}, "at position 0 it is -1"),
        ({"order": []}, "at least one sample, but it is empty"),
        ({"order": [[0]]}, "1D array"),
        ({"initial_coefficients": np.ones((3, 150))}, r"\(2 x 150\), but it is 3 x 150"),
        ({"initial_coefficients": np.zeros((2, 150))}, "zero in row 0"),
        ({"initial_coefficients": np.full((2, 150), np.nan)}, "finite numbers"),
        ({"initial_coefficients": np.ones(150)}, "2D array"),
    ],
)
def test_a_wrong_start_is_refused(points, params, message):
    with pytest.raises(ValueError, match=message):
        KernelHebbianPCA(2).fit(points, **params)
