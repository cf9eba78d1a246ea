"""What kinds of arrays are taken, what comes out, and what is copied."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import mercer
from mercer import KernelPCA, kernel_product


def pca(**params):
    return KernelPCA(3, kernel="rbf", **params)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_of_the_data_is_that_of_every_result(points, dtype):
    X = points.astype(dtype)
    model = pca(fit_inverse_transform=True).fit(X)
    for result in (
        model.transform(X),
        model.fit_transform(X),
        model.eigenvalues_,
        model.eigenvectors_,
        model.dual_coef_,
        model.inverse_transform(model.transform(X)),
        kernel_product(X, np.ones(len(X)), kernel="rbf"),
    ):
        assert result.dtype == dtype


def test_results_are_in_the_precision_of_the_data_where_the_fit_is_not(points):
    X = (1000 + points).astype(np.float32)
    model = KernelPCA(3, kernel="linear", fit_inverse_transform=True).fit(X)
    assert model.record_["precision"] == "f64"
    again = pickle.loads(pickle.dumps(model))
    for result in (
        model.transform(X),
        model.fit_transform(X),
        model.eigenvalues_,
        model.eigenvectors_,
        model.score_samples(X),
        model.dual_coef_,
        model.inverse_transform(model.transform(X)),
        again.transform(X),
    ):
        assert result.dtype == np.float32
    exact = KernelPCA(3, kernel="linear").fit(X.astype(np.float64))
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-5)


def test_single_and_double_precision_agree(points):
    single, double = pca().fit(points.astype(np.float32)), pca().fit(points)
    np.testing.assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=1e-4)
    np.testing.assert_allclose(single.transform(points), double.transform(points), atol=1e-3)


def test_precision_can_be_chosen(points):
    model = pca(precision="float64").fit(points.astype(np.float32))
    assert model.transform(points).dtype == np.float64
    assert model.record_["precision"] == "f64"


def _read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def _unaligned(X):
    raw = bytearray(X.nbytes + 1)
    shifted = np.frombuffer(raw, dtype=X.dtype, count=X.size, offset=1)
    shifted[:] = X.ravel()
    assert not shifted.flags.aligned
    return shifted.reshape(X.shape)


LAYOUTS = {
    "C order": lambda X: X,
    "Fortran order": np.asfortranarray,
    "read-only": _read_only,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "a slice of columns": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "not aligned": _unaligned,
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X).rename(columns=str),
    "polars": lambda X: pl.DataFrame(X),
    "CSR matrix": scipy.sparse.csr_matrix,
    "CSR array": scipy.sparse.csr_array,
    "CSC": scipy.sparse.csc_array,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_does_not_matter(points, layout, dtype):
    points = points.astype(dtype)
    X = LAYOUTS[layout](points)
    if layout == "list":
        # Python's numbers have one precision.
        points, dtype = points.astype(np.float64), np.float64
    expected = pca().fit(points)
    model = pca().fit(X)
    scores = model.transform(X)
    assert scores.dtype == pca().fit_transform(X).dtype == model.eigenvalues_.dtype == model.X_fit_.dtype == dtype
    np.testing.assert_array_equal(model.eigenvalues_, expected.eigenvalues_)
    np.testing.assert_array_equal(scores, expected.transform(points))


class OnlyAnArray:
    """What can be made an array of, and tells nothing else."""

    def __init__(self, X):
        self.X = X
        self.shape = X.shape

    def __len__(self):
        return len(self.X)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.X, dtype=dtype)


@pytest.mark.parametrize("wrapped", [pl.DataFrame, OnlyAnArray])
def test_numbers_keep_their_type_where_it_is_not_told(points, wrapped):
    levels = np.random.default_rng(0).integers(256, size=(60, 8), dtype=np.uint8)
    for X, kept, scores in (
        (points.astype(np.float32), np.float32, np.float32),
        (levels, np.uint8, np.float32),
        (levels.astype(np.int16), np.float64, np.float64),
    ):
        model = pca(gamma=1e-3).fit(wrapped(X))
        assert model.X_fit_.dtype == kept and model.transform(wrapped(X)).dtype == scores
        np.testing.assert_array_equal(model.transform(wrapped(X)), pca(gamma=1e-3).fit(X).transform(X))
        assert mercer.Nystroem(gamma=1e-3, n_components=20).fit(wrapped(X)).components_.dtype == kept
    frame = pl.DataFrame(points.astype(np.float32), schema=[f"c{i}" for i in range(8)])
    assert list(pca().fit(frame).feature_names_in_) == frame.columns


def test_sparse_points_stay_sparse_in_the_model(points):
    X = scipy.sparse.csr_array(points)
    assert scipy.sparse.issparse(pca().fit(X).X_fit_)
    with pytest.raises(NotImplementedError, match="not implemented for sparse"):
        pca(fit_inverse_transform=True).fit(X)


def test_bytes_are_compared_as_bytes():
    X = np.random.default_rng(0).integers(256, size=(300, 40), dtype=np.uint8)
    model = KernelPCA(3, kernel="rbf", gamma=1e-6).fit(X)
    wide = KernelPCA(3, kernel="rbf", gamma=1e-6).fit(X.astype(np.float64))
    np.testing.assert_allclose(model.eigenvalues_, wide.eigenvalues_, rtol=1e-4)
    assert model.X_fit_.dtype == np.uint8
    assert model.transform(X).dtype == np.float32


def test_integers_count_as_double_precision(points):
    X = (10 * points).astype(np.int64)
    np.testing.assert_array_equal(pca().fit(X).eigenvalues_, pca().fit(X.astype(float)).eigenvalues_)


def test_names_of_columns_are_remembered_and_compared(points):
    frame = pd.DataFrame(points, columns=[f"c{i}" for i in range(8)])
    model = pca().fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[frame.columns[::-1]])


def test_the_model_has_its_own_points_unless_told_otherwise(points):
    assert not np.shares_memory(pca().fit(points).X_fit_, points)
    assert np.shares_memory(pca(copy_X=False).fit(points).X_fit_, points)
