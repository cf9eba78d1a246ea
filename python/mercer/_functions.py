"""Functions beside the estimators: products with kernel matrices, and plans."""

import json
import warnings
from numbers import Integral
from typing import Any

import numpy as np

from . import _checks, _mercer
from ._arrays import AS_IT_IS, Room, rows, scaled_type, vectors
from ._base import convergence_warning
from ._kernels import describe


class Plan(dict[str, Any]):
    """What a fit would do: a dictionary of its fields, and a text when it is printed."""

    def __init__(self, fields: dict[str, Any], text: str) -> None:
        super().__init__(fields)
        self._text = text

    def __str__(self) -> str:
        return self._text.rstrip()


def plan(X: Any, *, dtype: str | None = None, **params: Any) -> Plan:
    """What ``KernelPCA(**params).fit(X)`` would do and cost, without doing it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a tuple (n_samples, n_features)
        With data, the estimate of the time rests on a short measurement; with a shape, on a typical machine.
    dtype : {"float64", "float32", "uint8"}, default=None
        The type of the data, if only its shape is given; ``None`` is ``"float64"``.
    **params
        Parameters of :class:`KernelPCA`. With ``accuracy``, the plan is that of the first landmarks that are tried, and its reasons say
        what follows if they are too few.

    Returns
    -------
    Plan
        A dictionary (``gram``, ``solver``, ``expected_seconds``, ``expected_memory_bytes``, ``reasons``, ..., over landmarks also
        ``n_landmarks``) that prints as text. The memory is
        beyond ``X``; what the fit makes of it is counted, such as the copy of ``copy_X``.

    Examples
    --------
    >>> import mercer
    >>> plan = mercer.plan((100_000, 50), dtype="float32", n_components=10, kernel="laplacian", memory_limit="2GiB")
    >>> plan["solver"], plan["precision"], plan["expected_memory_bytes"] <= 2 * 1024**3
    ('krylov', 'f32', True)
    """
    from ._kernel_pca import KernelPCA

    estimator = KernelPCA(**params)
    # What has no part in the plan is refused as a fit would refuse it.
    _, _, copy = estimator._wanted_run()
    scaling, learns_inverse = estimator._wanted_scaling(), estimator._learns_inverse()
    # What a fit would make of the data takes memory before it begins.
    room = Room(_checks.memory_limit("KernelPCA", estimator.memory_limit))
    without = f"{AS_IT_IS}, with copy_X=False,"
    if isinstance(X, tuple) and len(X) == 2 and all(isinstance(size, Integral) for size in X):
        types = ("float64", "float32", "uint8")
        dtype = _checks.choice("plan", "dtype", "float64" if dtype is None else dtype, types)
        n_samples, n_features = (_checks.integer("plan", "X", size, 1) for size in X)
        if copy:
            room.take("a copy of X", (n_samples, n_features), dtype, f"{without} needs none")
        room.take_scaled((n_samples, n_features), dtype, scaling)
        kind: Any = np.dtype(dtype)
        data: Any = (n_samples, n_features, scaled_type(dtype, scaling).name)
    else:
        if dtype is not None:
            raise ValueError(f"dtype={dtype!r} is for a shape: the rows of X have a type of their own")
        data = rows(X, "X", room, copy=copy, without=without)
        room.take_scaled(data.shape, data.dtype, scaling)
        n_samples, kind = data.shape[0], data.dtype
    with room.told():
        exact, rough = estimator._wanted_fits(n_samples, kind, room.limit)
        if isinstance(data, tuple) and rough is not None and not isinstance(rough["landmarks"], str):
            # Without points there is no scaling that would make them so.
            rough["landmarks"] = rough["landmarks"].astype(scaled_type(rough["landmarks"].dtype, scaling), copy=False)
        fields, text = _mercer.plan(data, exact, rough, learns_inverse=learns_inverse, copied=room.copied)
    return Plan(json.loads(fields), text)


def kernel_product(
    X: Any,
    V: Any,
    *,
    kernel: Any = "linear",
    gamma: Any = None,
    bandwidth: float | str | None = None,
    degree: int = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    queries: Any = None,
    gram: str = "auto",
    method: str = "auto",
    tolerance: float | None = None,
    center: bool = False,
    precision: str | None = None,
    memory_limit: str | int | None = None,
    n_jobs: int | None = None,
    return_record: bool = False,
) -> Any:
    """The product ``K(X, X) @ V``, or ``K(queries, X) @ V``, without the matrix ``K``.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Points; for ``kernel="precomputed"`` the kernel matrix, of which the symmetric part counts.
    V : array-like of shape (n_samples,) or (n_samples, n_vectors)
        What the matrix is multiplied with.
    kernel, gamma, bandwidth, degree, coef0, kernel_params
        As in :class:`KernelPCA`.
    queries : array-like of shape (n_queries, n_features), optional
        Points that the rows of the matrix belong to, instead of ``X``.
    gram : {"auto", "tiled", "stored", "expansion"}
        Whether the matrix is recomputed or kept when there are more vectors than are multiplied at a time, or expanded: then the
        product takes time proportional to the number of points, and ``tolerance`` bounds its error. With ``"auto"`` and a
        ``tolerance``, 20 000 points and more are multiplied by an expansion where that costs much less.
    method : {"auto", "polynomial", "series", "clusters", "grid"}
        With ``gram="expansion"``, which expansion; by default the cheapest that reaches the tolerance, tiles among them.
    tolerance : float, optional
        What the measured error must not exceed; single precision gives way to double if it does. With ``gram="expansion"``, the
        largest error of an entry of ``K @ V`` relative to the sum of the absolute values of its column of ``V`` (times the largest
        value of the kernel, which is 1 for kernels of distances); 1e-6 by default.
    center : bool
        Whether the points are centred in feature space.
    precision : {"float32", "float64"}, optional
        The precision of the matrix; that of ``X`` by default.
    memory_limit, n_jobs
        As in :class:`KernelPCA`.
    return_record : bool
        Whether to return, beside the product, a dictionary with the method (``gram``, and ``method``, which of an expansion says by
        which), the error measured on 100 rows that are computed directly (``measured_error``, ``checked_rows``), the entries computed
        and the seconds, without those of the check; for an expansion also ``terms`` and ``bound``, which the measured error does not
        exceed. ``warnings`` is a list of what there is to be said, such as why tiles took the place of an expansion; with and without
        a record, it is warned of.

    Returns
    -------
    ndarray of shape (n_samples or n_queries,) or (..., n_vectors)
        In the precision of the matrix; ``(product, record)`` with ``return_record``.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> mercer.kernel_product(X, [1.0, 1.0])
    array([ 0., 25.])
    >>> product, record = mercer.kernel_product(X, [1.0, 1.0], kernel="rbf", gamma=0.1, return_record=True)
    >>> record["gram"], record["checked_rows"], record["measured_error"] < 1e-12
    ('tiled', 2, True)
    """
    owner = "kernel_product"
    room = Room(_checks.memory_limit(owner, memory_limit))
    X = rows(X, "X", room)
    if queries is not None:
        queries = rows(queries, "queries", room)
    wants_record = _checks.boolean(owner, "return_record", return_record)
    settings = {
        "kernel": describe(
            owner, kernel, gamma=gamma, bandwidth=bandwidth, degree=degree, coef0=coef0, kernel_params=kernel_params
        ),
        "center": _checks.boolean(owner, "center", center),
        "gram": _checks.choice(owner, "gram", gram, _mercer.GRAMS),
        "method": _checks.choice(owner, "method", method, _mercer.EXPANSIONS),
        "precision": _checks.precision(owner, precision),
        "tolerance": _checks.real(owner, "tolerance", tolerance, 0, above=True, optional=True),
        # The check is worth its time only if somebody looks at it, or if there is an error to be told of.
        "is_checked": wants_record or tolerance is not None or gram == "expansion",
        "memory_limit": room.limit,
        "threads": _checks.threads(owner, n_jobs),
    }
    columns = vectors(V, "V", X.shape[0])
    with room.told():
        product, fields, of_search = _mercer.kernel_product(X, columns, queries, settings)
    record = json.loads(fields)
    for message in record["warnings"]:
        # Tiles in the place of an expansion are another way to the same accuracy.
        warnings.warn(message, convergence_warning() if message in of_search else UserWarning, stacklevel=2)
    if np.ndim(V) == 1:
        product = product[:, 0]
    return (product, record) if wants_record else product
