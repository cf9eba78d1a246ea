"""Our KernelPCA beside scikit-learn's on the same random data: many combinations of what both can be asked for."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.decomposition import KernelPCA as Theirs

from mercer import KernelPCA, RankWarning

KERNELS = ("linear", "poly", "rbf", "sigmoid", "cosine")
X = np.random.default_rng(11).normal(size=(40, 4))
QUERIES = np.random.default_rng(12).normal(size=(7, 4))


def _laplacian(x, y, width=0.4):
    return np.exp(-width * np.abs(x - y).sum())


def _aligned(ours, theirs):
    """Ours with the signs of theirs: eigenvectors have none of their own."""
    assert ours.shape == theirs.shape
    signs = np.sign((ours * theirs).sum(axis=0))
    return ours * np.where(signs == 0, 1, signs)


def _close(ours, theirs, tolerance):
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(np.abs(theirs).max(initial=0), 1e-300))


def _compare(params, rows=X, queries=QUERIES, tolerance=1e-6):
    """Both fitted, if they agree; ``None`` if both refuse a kernel that is not positive semi-definite."""
    ours, theirs = KernelPCA(**params), Theirs(**params)
    with warnings.catch_warnings():
        # One of ours would be a difference; theirs are about their solvers.
        warnings.simplefilter("ignore")
        try:
            expected = theirs.fit_transform(rows)
        except ValueError as refused:
            assert "significant negative eigenvalues" in str(refused)
            with pytest.raises(ValueError, match="significant negative eigenvalues"):
                ours.fit(rows)
            return None
        warnings.simplefilter("error")
        warnings.simplefilter("always", RankWarning)
        with warnings.catch_warnings(record=True) as said:
            scores = ours.fit_transform(rows)
    # Theirs are silent about columns of zeros. Nothing else is said, and not where all have a variance.
    has_zeros = ours.n_components is not None and np.count_nonzero(ours.eigenvalues_) < ours.n_components
    assert [item.category for item in said] == ([RankWarning] if has_zeros and not ours.remove_zero_eig else [])
    _close(ours.eigenvalues_, theirs.eigenvalues_, tolerance)
    _close(_aligned(scores, expected), expected, tolerance)
    new, expected_new = ours.transform(queries), theirs.transform(queries)
    _close(_aligned(new, expected_new), expected_new, tolerance)
    assert ours.eigenvectors_.shape == theirs.eigenvectors_.shape
    assert (ours.gamma_, ours.n_features_in_) == (theirs.gamma_, theirs.n_features_in_)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    return ours, theirs


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("gamma", [None, 0.05, 2])
def test_parameters_of_kernels_and_numbers_of_components(kernel, gamma):
    for (coef0, degree), count in itertools.product([(1, 3), (0, 2), (-0.3, 3)], [None, 1, 3, 39, 40, 60]):
        _compare({"kernel": kernel, "gamma": gamma, "coef0": coef0, "degree": degree, "n_components": count})


@pytest.mark.parametrize("kernel", KERNELS)
def test_single_precision(kernel):
    # Few components: the last ones of a matrix of rank 40 are rounding in single precision, and differ.
    for count in (1, 3):
        _compare({"kernel": kernel, "gamma": 0.1, "n_components": count}, X.astype(np.float32), QUERIES.astype(np.float32), 1e-3)


@pytest.mark.parametrize("kernel", [*KERNELS, _laplacian])
@pytest.mark.parametrize("eigen_solver", ["auto", "dense", "arpack", "randomized"])
def test_solvers_and_components_of_eigenvalue_zero(kernel, eigen_solver):
    for remove, count in itertools.product([False, True], [None, 3, 30, 40]):
        if eigen_solver == "arpack" and count in (None, 40):
            continue
        params = {"kernel": kernel, "gamma": 0.1, "eigen_solver": eigen_solver, "n_components": count, "random_state": 0}
        # Their randomized solver is exact only where it is given more passes than it takes by itself.
        exact = {"iterated_power": 40} if eigen_solver == "randomized" else {}
        _compare({**params, **exact, "remove_zero_eig": remove})


@pytest.mark.parametrize("kernel", [*KERNELS, _laplacian])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 5])
def test_the_way_back(kernel, alpha):
    for count in (2, None):
        params = {"kernel": kernel, "gamma": 0.1, "n_components": count, "alpha": alpha, "fit_inverse_transform": True}
        both = _compare(params)
        if both is None:
            assert kernel == "sigmoid" and count is None
            continue
        ours, theirs = both
        _close(ours.dual_coef_, theirs.dual_coef_, 1e-5)
        _close(_aligned(ours.X_transformed_fit_, theirs.X_transformed_fit_), theirs.X_transformed_fit_, 1e-6)
        # Scores with the signs that each class gave them.
        _close(ours.inverse_transform(ours.transform(QUERIES)), theirs.inverse_transform(theirs.transform(QUERIES)), 1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_precomputed_matrices(dtype):
    for matrix in (lambda A: A @ X.T, lambda A: np.exp(-0.2 * ((A[:, None] - X) ** 2).sum(-1))):
        for count in (1, 3):
            K, cross = matrix(X).astype(dtype), matrix(QUERIES).astype(dtype)
            _compare({"kernel": "precomputed", "n_components": count}, K, cross, 1e-6 if dtype == np.float64 else 1e-3)


WHOLE = np.random.default_rng(13).integers(-5, 6, size=(36, 5))
KINDS = {
    "int64": lambda A: A,
    "int8": lambda A: A.astype(np.int8),
    "uint16": lambda A: (A + 5).astype(np.uint16),
    "float16": lambda A: A.astype(np.float16),
    "bool": lambda A: A > 0,
    "object": lambda A: A.astype(object),
    "lists": lambda A: A.tolist(),
    "long double": lambda A: A.astype(np.longdouble),
    "other byte order": lambda A: A.astype(">f8"),
    "frame of several types": lambda A: pd.DataFrame(A).astype({0: float, 1: "float32", 2: "int8"}),
    "frame with missing values allowed": lambda A: pd.DataFrame(A).astype("Int64"),
    "CSR": lambda A: scipy.sparse.csr_matrix(A.astype(float)),
    "CSR of single precision": lambda A: scipy.sparse.csr_matrix(A.astype(np.float32)),
    "CSR of integers": lambda A: scipy.sparse.csr_matrix(A),
    "COO": lambda A: scipy.sparse.coo_matrix(A.astype(float)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_arrays(kind):
    rows, queries = KINDS[kind](WHOLE[:30]), KINDS[kind](WHOLE[30:])
    # Sparse rows of integers are multiplied in integers there; everything else is in the precision of the data.
    for kernel in ("rbf", "sigmoid"):
        _compare({"kernel": kernel, "gamma": 0.05, "n_components": 3}, rows, queries, 1e-6 if "single" not in kind else 1e-3)


def test_more_components_than_there_are_directions_is_no_failure_to_converge():
    rows = np.random.default_rng(14).normal(size=(400, 4))
    for kernel, degree, count, remove in itertools.product(["linear", "poly"], [2], [8, 20], [False, True]):
        params = {"kernel": kernel, "degree": degree, "n_components": count, "remove_zero_eig": remove, "eigen_solver": "dense"}
        # `_compare` makes an error of a warning of ours; the plan is left to choose the solver as for "auto".
        ours, _ = _compare({**params, "eigen_solver": "arpack"} if count == 8 else params, rows)
        assert ours.converged_


def test_components_that_there_are_not_are_zero_and_said_to_be():
    with pytest.warns(RankWarning, match="4 of the n_components=6 components asked for have a variance; the scores along the others are zero"):
        ours = KernelPCA(6).fit(X)
    scores = ours.transform(QUERIES)
    assert scores.shape == (7, 6) and not scores[:, 4:].any() and scores[:, :4].any(axis=0).all()
    assert any("4 of 6 components have a variance" in warning for warning in ours.record_["warnings"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KernelPCA(6, remove_zero_eig=True).fit_transform(X).shape == (40, 4)
        assert KernelPCA(4).fit_transform(X).shape == (40, 4)
    with pytest.warns(RankWarning, match="have a variance; there are no others"):
        assert KernelPCA(6, gram="nystrom", n_landmarks=20).fit(X).eigenvalues_.size == 4


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [0.3, 0.75, 0.9, 0.99])
def test_a_share_of_the_variance_takes_the_fewest_components_that_reach_it(dtype, share):
    rows = np.random.default_rng(15).normal(size=(300, 6)).astype(dtype)
    every = Theirs(kernel="rbf", gamma=0.1).fit(rows.astype(float)).eigenvalues_
    fewest = int(np.searchsorted(np.cumsum(every) / every.sum(), share)) + 1
    for more in ({}, {"solver": "krylov"}, {"eigen_solver": "dense"}):
        ours = KernelPCA(variance=share, kernel="rbf", gamma=0.1, **more).fit(rows)
        assert ours.eigenvalues_.size == fewest and ours.converged_
        np.testing.assert_allclose(ours.eigenvalues_, every[:fewest], rtol=1e-4 if dtype == np.float32 else 1e-8)
        assert ours.explained_variance_ratio_.sum() >= share > ours.explained_variance_ratio_[:-1].sum()
        assert ours.transform(rows).shape == (300, fewest) and len(ours.get_feature_names_out()) == fewest


def test_all_of_the_variance_is_all_that_rounding_leaves():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KernelPCA(variance=1.0).fit(X).eigenvalues_.size == 4
    with pytest.warns(RankWarning, match="of the variance, not variance=1.0"):
        KernelPCA(variance=1.0, kernel="rbf", gamma=0.01).fit(np.random.default_rng(16).normal(size=(200, 6)).astype(np.float32))
