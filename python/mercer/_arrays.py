"""Arrays as the extension module takes them: two-dimensional, C order, aligned, ``float64``, ``float32`` or ``uint8``.

What has to be made of the caller's data for that, copies, dense rows, is counted against the memory budget before it is made.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _mercer

# Kept as they are; everything else becomes the first of them.
DTYPES = [np.float64, np.float32, np.uint8]

# What nothing has to be made of.
AS_IT_IS = "a C-ordered array of float64, float32 or uint8"

# What gives results of most estimators a larger type.
IN_DOUBLE = "fit to points in float64 or with precision='float64'"

# Bytes of rows that are made dense, or scaled, at a time where only their results are wanted.
_BLOCK = 64 << 20


class Room:
    """A memory budget, and what of it is left for the work itself beside what is made of the data."""

    def __init__(self, limit: str | None = None) -> None:
        self.limit = limit
        self.copied = 0

    def take(self, what: str, shape: tuple[int, int], dtype: Any, advice: str) -> None:
        """Counts an array that is about to be made, or refuses it."""
        dtype = np.dtype(dtype)
        self._take(f"{what} ({shape[0]} x {shape[1]}, {dtype.name})", shape[0] * shape[1] * dtype.itemsize, advice)

    def take_copy(self, X: Any, name: str = "X", *, copy: bool = False, without: str = AS_IT_IS) -> None:
        """Counts what a check of ``X`` makes of it; ``without`` is what nothing would be made of."""
        shape = getattr(X, "shape", None)
        if not isinstance(shape, tuple) or len(shape) != 2:
            return  # A list, whose numbers take more than an array of them; or it will be refused.
        dtype = _own_type(X)
        if hasattr(X, "tocsr"):
            # Each number that is kept has a column.
            if copy or getattr(X, "format", None) != "csr" or X.dtype != dtype:
                self._take(f"a copy of {name}, which is sparse,", X.nnz * (dtype.itemsize + 8), f"{without} needs none")
        elif copy or not (isinstance(X, np.ndarray) and X.dtype == dtype and X.flags.c_contiguous and X.flags.aligned):
            self.take(f"a copy of {name}", shape, dtype, f"{without} needs none")

    def take_scaled(self, shape: tuple[int, int], dtype: Any, scaling: float | str | None) -> None:
        """Counts what a scaling makes of points."""
        if scaling is None or (np.dtype(dtype) == np.uint8 and not isinstance(scaling, str)):
            return  # Bytes stay as they are beside a common factor.
        self.take("a scaled copy of X", shape, scaled_type(dtype, scaling), "data that is scaled before the fit needs none")

    @contextmanager
    def told(self) -> Iterator[None]:
        """Says in messages about the budget what of it was taken before."""
        try:
            yield
        except _mercer.MemoryBudgetError as error:
            if not self.copied:
                raise
            taken = f"beside {_mercer.format_bytes(self.copied)} for copies of the data, which memory_limit counts, too"
            raise _mercer.MemoryBudgetError(f"{error}, {taken}") from None

    def _take(self, what: str, size: int, advice: str) -> None:
        # A size that no machine has is refused whatever it is.
        self.limit = _mercer.memory_beside(self.limit, what, min(size, 2**63), advice)
        self.copied += size


def _own_type(X: Any) -> np.dtype[Any]:
    """The type that the numbers of an array or a frame are taken in."""
    own = getattr(X, "dtype", None)
    if own is None:
        kinds = {str(kind) for kind in getattr(X, "dtypes", ())}
        own = kinds.pop() if len(kinds) == 1 else None
    # Frames have types of their own, of the same names.
    named = {np.dtype(kept).name: np.dtype(kept) for kept in DTYPES}
    return named.get(str(own).lower(), np.dtype(DTYPES[0]))


def scaled_type(dtype: Any, scaling: float | str | None) -> np.dtype[Any]:
    """The type of points after a scaling: their own, but single precision for bytes that are standardized."""
    return np.dtype(np.float32) if isinstance(scaling, str) and np.dtype(dtype) == np.uint8 else np.dtype(dtype)


def dense(X: Any, room: Room | None = None, name: str = "X") -> Any:
    """Rows that were checked before, as the extension module takes them; a copy only if they are sparse or not aligned."""
    if hasattr(X, "toarray"):
        advice = "sparse rows are made dense here, which fewer rows or columns, or more memory, allow"
        (Room() if room is None else room).take(f"{name} as dense rows", X.shape, X.dtype, advice)
        X = X.toarray(order="C")
    return np.require(X, requirements=["C", "A"])


def in_type(values: Any, dtype: Any, what: str, larger: str = IN_DOUBLE) -> Any:
    """Numbers of a model in the type that results have, or a ``ValueError`` where it has no room for them; ``what`` they are, and what would make it ``larger``."""
    with np.errstate(over="ignore"):
        made = values.astype(dtype, copy=False)
    if not np.isfinite(made).all():
        # Numbers on the way to them may be the ones that are too large, so they need not be infinite.
        raise too_large(what, made.dtype, larger)
    return made


def too_large(what: str, dtype: Any, larger: str = IN_DOUBLE) -> ValueError:
    """What is said of results that their type has no room for, unless it were ``larger``."""
    dtype = np.dtype(dtype)
    first = f"{larger}, or " if dtype == np.float32 else ""
    return ValueError(f"the {what} are too large for {dtype}, which ends at {float(np.finfo(dtype).max):.1e}: {first}scale the points")


def by_blocks(X: Any, work: Callable[[Any, Any], Any], report: Any = None, *, is_scaled: bool = False) -> Any:
    """What ``work(rows, report)`` makes of rows, each by itself: one array or several, one row of each for every row.

    Sparse rows, and rows that a model scales, are taken block by block, so that there are never dense or scaled ones of all of them.
    """
    n, size = X.shape[0], X.shape[1] * X.dtype.itemsize
    count = max(1, _BLOCK // size) if is_scaled or hasattr(X, "toarray") else n
    if n <= count:
        return work(dense(X), report)
    results: tuple[Any, ...] = ()
    for start in range(0, n, count):
        rows = dense(X[start : start + count])
        made = work(rows, _part(report, start / n, len(rows) / n))
        parts = made if isinstance(made, tuple) else (made,)
        results = results or tuple(np.empty((n, *part.shape[1:]), part.dtype) for part in parts)
        for whole, part in zip(results, parts, strict=True):
            whole[start : start + count] = part
    return results if isinstance(made, tuple) else results[0]


def _part(report: Any, done: float, share: float) -> Any:
    """What a part of a run reports to."""
    if report is None:
        return None
    return lambda phase, number, expected, fraction, residual: report(
        phase, number, expected, done + share * fraction, residual
    )


def rows(X: Any, name: str, room: Room | None = None, *, copy: bool = False, without: str = AS_IT_IS) -> Any:
    """Anything array-like as rows of numbers; a copy only if it has to be converted, though counted with ``copy``."""
    room = Room() if room is None else room
    room.take_copy(X, name, copy=copy, without=without)
    if not hasattr(X, "tocsr"):
        X = _numbers(X, name)
        if X.ndim != 2:
            raise ValueError(f"{name} must be a 2D array, but it has {X.ndim} dimension(s)")
    if X.dtype not in DTYPES:
        X = X.astype(DTYPES[0])
    return dense(X, room, name)


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
