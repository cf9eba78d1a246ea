"""Arrays as the extension module takes them: two-dimensional, C order, aligned, ``float64``, ``float32`` or ``uint8``."""

from typing import Any

import numpy as np

# Kept as they are; everything else becomes the first of them.
DTYPES = [np.float64, np.float32, np.uint8]


def dense(X: Any) -> Any:
    """Rows that were checked before, as the extension module takes them; a copy only if they are sparse or not aligned."""
    if hasattr(X, "toarray"):
        X = X.toarray(order="C")
    return np.require(X, requirements=["C", "A"])


def rows(X: Any, name: str) -> Any:
    """Anything array-like as rows of numbers; a copy only if it has to be converted."""
    if not hasattr(X, "tocsr"):
        X = _numbers(X, name)
        if X.ndim != 2:
            raise ValueError(f"{name} must be a 2D array, but it has {X.ndim} dimension(s)")
    if X.dtype not in DTYPES:
        X = X.astype(DTYPES[0])
    return dense(X)


def vectors(V: Any, name: str, n_rows: int) -> Any:
    """Anything array-like as columns of ``float64``, one row per point."""
    V = finite(_numbers(V.toarray() if hasattr(V, "toarray") else V, name), name)
    if V.ndim not in (1, 2):
        raise ValueError(f"{name} must be a 1D or 2D array, but it has {V.ndim} dimension(s)")
    if V.shape[0] != n_rows:
        raise ValueError(f"{name} must have {n_rows} rows, one per point, but it has {V.shape[0]}")
    return np.require(V[:, None] if V.ndim == 1 else V, dtype=np.float64, requirements=["A"])


def indices(values: Any, name: str, n_samples: int) -> list[int]:
    """Anything array-like as indices of samples, at least one."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a 1D array, but it has {array.ndim} dimension(s)")
    if array.size == 0:
        raise ValueError(f"{name} must name at least one sample, but it is empty")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, but its dtype is {array.dtype}")
    wrong = np.flatnonzero((array < 0) | (array >= n_samples))
    if wrong.size:
        place = int(wrong[0])
        raise ValueError(
            f"{name} must hold indices of samples from 0 to {n_samples - 1}, but at position {place} it is {array[place]}"
        )
    return [int(sample) for sample in array]


def finite(X: Any, name: str) -> Any:
    """An array, if all of its numbers are finite."""
    wrong = np.argwhere(~np.isfinite(X))
    if wrong.size:
        place = tuple(int(index) for index in wrong[0])
        where = ", ".join(f"{axis} {index}" for axis, index in zip(("row", "column"), place, strict=False))
        raise ValueError(f"{name} must be finite, but it is {X[place]} in {where}")
    return X


def _numbers(X: Any, name: str) -> Any:
    """Anything array-like as an array of real numbers."""
    X = np.asarray(X)
    if X.dtype.kind == "O":
        try:
            return X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold real numbers, but it holds other objects: {error}") from None
    if X.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, but its dtype is {X.dtype}")
    return X
