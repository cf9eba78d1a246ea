"""Kernels by name, of one's own, and given as a matrix; widths; negative eigenvalues."""

import inspect

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel
from sklearn.kernel_approximation import Nystroem as TheirNystroem

import mercer
from mercer import KernelPCA


@pytest.mark.parametrize(
    "kernel, params", [("linear", {}), ("poly", {"degree": 2}), ("rbf", {"gamma": 0.1}), ("cosine", {}), ("sigmoid", {"gamma": 1e-3})]
)
def test_scores_are_theirs(points, kernel, params):
    ours = KernelPCA(3, kernel=kernel, **params).fit(points)
    theirs = Theirs(3, kernel=kernel, **params).fit(points)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(abs(ours.transform(points[:9])), abs(theirs.transform(points[:9])), atol=1e-7)
    assert ours.gamma_ == theirs.gamma_


def test_inverse_transform_is_theirs(points):
    params = {"n_components": 5, "kernel": "rbf", "gamma": 0.02, "fit_inverse_transform": True, "alpha": 0.1}
    ours, theirs = KernelPCA(**params).fit(points), Theirs(**params).fit(points)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(points)), theirs.inverse_transform(theirs.transform(points)), atol=1e-6
    )


@pytest.mark.parametrize("kernel", ["laplacian", "exponential", "matern32", "matern52", "rational-quadratic", "epanechnikov"])
def test_kernels_that_scikit_learn_lacks(points, kernel):
    model = KernelPCA(2, kernel=kernel, gamma="median", negative="clip").fit(points)
    assert model.converged_ and model.gamma_ > 0


def test_widths_from_the_data(points):
    assert KernelPCA(1, kernel="rbf").fit(points).gamma_ == 1 / 8
    np.testing.assert_allclose(KernelPCA(1, kernel="rbf", gamma="scale").fit(points).gamma_, 1 / (8 * points.var()))
    distances = ((points[:, None] - points) ** 2).sum(-1)[np.triu_indices(150, 1)]
    np.testing.assert_allclose(KernelPCA(1, kernel="rbf", gamma="median").fit(points).gamma_, 1 / np.median(distances), rtol=0.01)
    np.testing.assert_allclose(KernelPCA(1, kernel="rbf", bandwidth=3.0).fit(points).gamma_, 1 / 18)


def test_a_function_of_pairs_and_a_function_of_blocks_agree_with_the_named_kernel(points):
    named = KernelPCA(3, kernel="rbf", gamma=0.1).fit(points)
    pairs = KernelPCA(3, kernel=lambda x, y: np.exp(-0.1 * ((x - y) ** 2).sum())).fit(points)
    calls = []

    @mercer.block_kernel
    def blocks(X, Y, gamma):
        calls.append((len(X), len(Y)))
        return np.exp(-gamma * ((X[:, None] - Y) ** 2).sum(-1))

    blockwise = KernelPCA(3, kernel=blocks, kernel_params={"gamma": 0.1}).fit(points)
    for model in (pairs, blockwise):
        np.testing.assert_allclose(model.eigenvalues_, named.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(model.transform(points), named.transform(points), atol=1e-7)
    assert len(calls) < 500


@pytest.mark.parametrize("kernel", [RBF(3.0), DotProduct(), 2.0 * Matern(4.0) + DotProduct(0.5), RBF(3.0) + WhiteKernel()])
def test_kernels_of_gaussian_processes_are_called_with_blocks_as_theirs_are(points, kernel):
    ours, theirs = KernelPCA(3, kernel=kernel).fit(points), Theirs(3, kernel=kernel).fit(points)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    scores = theirs.transform(points[:9])
    np.testing.assert_allclose(abs(ours.transform(points[:9])), abs(scores), atol=1e-7 * abs(scores).max())
    map, their_map = (made(kernel, n_components=150, random_state=0).fit(points) for made in (mercer.Nystroem, TheirNystroem))
    Z, their_Z = map.transform(points[:9]), their_map.transform(points[:9])
    np.testing.assert_allclose(Z @ Z.T, their_Z @ their_Z.T, rtol=1e-6, atol=1e-6 * abs(their_Z @ their_Z.T).max())


def test_a_bandwidth_is_said_to_be_a_number_or_a_name_wherever_it_may_be_one():
    takes_names = (KernelPCA, mercer.kernel_product, mercer.Nystroem, mercer.FourierFeatures)
    for call in takes_names:
        assert inspect.signature(call).parameters["bandwidth"].annotation == float | str | None, call


def test_an_exception_of_a_kernel_comes_out_as_it_is(points):
    class Unusual(Exception):
        pass

    def kernel(x, y):
        raise Unusual("today")

    with pytest.raises(Unusual, match="today"):
        KernelPCA(2, kernel=kernel).fit(points)


def test_a_kernel_that_returns_the_wrong_thing_is_told_what_is_right(points):
    with pytest.raises(TypeError, match="must return a number for two points"):
        KernelPCA(2, kernel=lambda x, y: "no").fit(points)
    with pytest.raises(ValueError, match=r"an array of shape \[.*\], but its shape is \[1, 1\]"):
        KernelPCA(2, kernel=mercer.block_kernel(lambda X, Y: [[1.0]])).fit(points)
    with pytest.raises(ValueError, match="must be finite"):
        KernelPCA(2, kernel=lambda x, y: float("nan")).fit(points)


def test_a_function_that_is_not_symmetric_is_refused(points):
    def tilted(x, y):
        return float(x @ y) + x[0]

    for kernel, name in (
        (tilted, "tilted"),
        (mercer.block_kernel(lambda X, Y: X @ Y.T + X[:, :1]), "<lambda>"),
    ):
        for params in ({}, {"solver": "dense"}, {"gram": "tiled", "solver": "krylov"}):
            with pytest.raises(ValueError, match=f"The {name} kernel of rows .* but of rows .* a kernel must be symmetric"):
                KernelPCA(2, kernel=kernel, **params).fit(points)
    # Rounding is not a difference.
    single = mercer.block_kernel(lambda X, Y: X.astype(np.float32) @ Y.T.astype(np.float32))
    assert KernelPCA(2, kernel=single, tolerance=1e-5).fit(points).converged_


def test_a_matrix_that_is_not_symmetric_counts_with_its_symmetric_part(points):
    K = points @ points.T
    crooked = K + np.triu(np.ones_like(K), 1) - np.tril(np.ones_like(K), -1)
    straight = KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(KernelPCA(3, kernel="precomputed").fit(crooked).eigenvalues_, straight.eigenvalues_)


def test_negative_eigenvalues_are_what_was_chosen(points):
    K = points @ points.T - 40 * np.eye(150)[::-1]
    K = (K + K.T) / 2
    KernelPCA(2, kernel="precomputed").fit(K)
    for params in ({"n_components": 150}, {"n_components": 2, "negative": "error"}):
        with pytest.raises(ValueError, match="There are significant negative eigenvalues"):
            KernelPCA(kernel="precomputed", **params).fit(K)
    assert (KernelPCA(150, kernel="precomputed", negative="clip").fit(K).eigenvalues_ >= 0).all()
    flipped = KernelPCA(20, kernel="precomputed", negative="flip").fit(K).eigenvalues_
    assert (flipped < 0).any() and (np.diff(abs(flipped)) <= 1e-9).all()


def test_signs_do_not_depend_on_anything(points):
    models = [KernelPCA(4, kernel="rbf", n_jobs=jobs, random_state=7).fit(points) for jobs in (1, 2, 3)]
    for model in models:
        np.testing.assert_array_equal(model.eigenvectors_, models[0].eigenvectors_)
    largest = abs(models[0].eigenvectors_).argmax(axis=0)
    assert (models[0].eigenvectors_[largest, range(4)] > 0).all()
