"""Features over landmarks."""

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _checks, _mercer
from ._arrays import DTYPES, Room, by_blocks, dense, rows
from ._base import Estimator, check_is_fitted, convergence_warning, validate_data
from ._kernels import BlockKernel, describe

# Kernels that scikit-learn has and the library has not; they are called block by block.
_THEIRS = ("chi2", "additive_chi2")
_DEFAULT_COMPONENTS = 100


class Nystroem(Estimator):
    """Features whose inner products are nearly kernel values: scikit-learn's ``Nystroem`` with a choice of landmarks.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Any kernel of :class:`KernelPCA`, and ``"chi2"`` and ``"additive_chi2"`` where scikit-learn is installed.
    gamma : float, "auto", "scale" or "median", default=None
        Inverse width, as in :class:`KernelPCA`; ``None`` is ``1 / n_features`` (1 for ``"chi2"``, which takes numbers only).
    coef0 : float, default=None
        Constant term of the polynomial and sigmoid kernels; ``None`` is 1.
    degree : float, default=None
        Degree of the polynomial kernel; ``None`` is 3.
    kernel_params : dict, default=None
        Arguments of a kernel that is a function.
    n_components : int, default=100
        Number of landmarks, and of features.
    random_state : int, RandomState, Generator or None, default=None
        Where random numbers come from; ``None`` is 0. Uniform landmarks are those that scikit-learn chooses from the same
        ``int`` or ``RandomState``.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors.
    landmarks : {"uniform", "kmeans", "rpcholesky", "leverage"} or array-like of shape (n_components, n_features), \
            default="uniform"
        How landmarks are chosen: rows at random; centres of clusters; rows by randomly pivoted Cholesky; rows by approximate ridge
        leverage; or the landmarks themselves, which are then as many as there are features. Of pictures of digits, with a gaussian kernel, as
        many centres of clusters miss less of the trace than rows chosen by any rule; choosing uniform rows costs nothing. What they miss of
        other data :meth:`trace_error` tells.
    bandwidth : float, "auto", "scale" or "median", default=None
        Width sigma in place of ``gamma``: ``gamma = 1 / (2 sigma**2)``; found as for ``gamma`` by name.
    memory_limit : int or str, default=None
        Memory that a fit may take beyond the data: bytes, ``"4GiB"``, ``"50%"``; 70 % of what is available by default. More landmarks than fit are
        a :class:`mercer.MemoryBudgetError`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Landmarks.
    component_indices_ : ndarray of shape (n_components,) or None
        The rows of the training set that they are; ``None`` if they are no rows.
    normalization_ : ndarray of shape (n_components, n_components)
        The inverse root of their kernel matrix.
    rank_ : int
        Dimensions that they span in feature space, to rounding.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> map = Nystroem(gamma=0.1, n_components=60, landmarks="rpcholesky", random_state=0).fit(X)
    >>> map.transform(X).shape
    (500, 60)
    >>> bool(map.trace_error(X) < 0.05 * 500)
    True
    """

    _kernel_named_by = "kernel"

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = _DEFAULT_COMPONENTS,
        random_state: Any = None,
        n_jobs: int | None = None,
        landmarks: Any = "uniform",
        bandwidth: float | str | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.memory_limit = memory_limit

    # Learning

    def fit(self, X: Any, y: Any = None) -> "Nystroem":
        """Chooses landmarks among the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For ``kernel="precomputed"``, the kernel matrix of the rows.
        y : ignored

        Returns
        -------
        self : Nystroem
        """
        owner = type(self).__name__
        for name in ("components_", "component_indices_", "normalization_", "rank_", "_gamma"):
            self.__dict__.pop(name, None)
        count = _checks.integer(owner, "n_components", self.n_components, 1)
        room = Room(_checks.memory_limit(owner, self.memory_limit))
        room.take_copy(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C")
        points = dense(X, room)
        settings = {
            "kernel": self._kernel_settings(self.gamma, self.bandwidth),
            **self._landmark_settings(points, count),
            "memory_limit": room.limit,
            "threads": _checks.threads(owner, self.n_jobs),
        }
        with room.told(), _checks.called(n_landmarks="n_components"):
            components, indices, normalization, rank, kernel, said = _mercer.nystrom_map(points, settings)
        if said:
            # Of the search for a width, the only thing here that can fall short.
            warnings.warn("; ".join(said), convergence_warning(), stacklevel=2)
        self.components_ = components
        self.component_indices_ = None if indices is None else np.asarray(indices, dtype=np.int64)
        self.normalization_ = normalization
        self.rank_ = rank
        self._gamma = json.loads(kernel).get("gamma")
        return self

    def _landmark_settings(self, points: Any, count: int | None) -> dict[str, Any]:
        owner = type(self).__name__
        n_samples = points.shape[0]
        if not isinstance(self.landmarks, str):
            given = rows(self.landmarks, "landmarks")
            if points.dtype.kind == "f":
                # Bytes would not hold what lies between them.
                given = given.astype(points.dtype, order="C", copy=False)
            if count not in (_DEFAULT_COMPONENTS, given.shape[0]):
                raise ValueError(
                    f"n_components={count} and {given.shape[0]} landmarks say two things: leave n_components out"
                )
            if count != given.shape[0]:
                # It may have been left out, or not.
                warnings.warn(
                    f"n_components={count} has no effect beside landmarks that are given.\n"
                    f"n_components was set to their number; n_components={given.shape[0]} says so.",
                    stacklevel=3,
                )
            return {"landmarks": given, "n_landmarks": None, "seed": 0}
        rule = _checks.choice(owner, "landmarks", self.landmarks, _mercer.LANDMARKS)
        if count is not None and count > n_samples:
            warnings.warn(
                "n_components > n_samples. This is not possible.\n"
                "n_components was set to n_samples, which results in inefficient evaluation of the full kernel.",
                stacklevel=3,
            )
            count = n_samples
        if rule == "uniform":
            chosen = self._permutation(n_samples)[:count]
            return {"landmarks": [int(row) for row in chosen], "n_landmarks": None, "seed": 0}
        return {"landmarks": rule, "n_landmarks": count, "seed": _checks.seed(owner, self.random_state)}

    def _permutation(self, n_samples: int) -> Any:
        """A random order of the rows, as scikit-learn makes it."""
        random = self.random_state
        if not isinstance(random, (np.random.RandomState, np.random.Generator)):
            random = np.random.RandomState(_checks.seed(type(self).__name__, random) % 2**32)
        return random.permutation(n_samples)

    def _kernel_settings(self, gamma: Any, bandwidth: Any) -> dict[str, Any]:
        owner = type(self).__name__
        kernel, degree, coef0 = self.kernel, self.degree, self.coef0
        if callable(kernel) or kernel == "precomputed":
            for given, names in (
                (not (self.gamma is None and coef0 is None and degree is None), "gamma, coef0 or degree"),
                (self.bandwidth is not None, "bandwidth"),
            ):
                if given:
                    raise ValueError(f"Don't pass {names} to {owner} if using a callable or precomputed kernel")
        coef0 = 1 if coef0 is None else _checks.real(owner, "coef0", coef0, float("-inf"))
        degree = 3 if degree is None else _checks.real(owner, "degree", degree, 1)
        function = self._function(gamma, bandwidth, coef0, degree)
        if function is not None:
            return describe(owner, BlockKernel(function), kernel_params=self.kernel_params)
        return describe(
            owner,
            kernel,
            gamma=gamma,
            bandwidth=bandwidth,
            degree=degree,
            coef0=coef0,
            kernel_params=self.kernel_params,
        )

    def _function(self, gamma: Any, bandwidth: Any, coef0: Any, degree: Any) -> Callable[[Any, Any], Any] | None:
        """A function of blocks for a kernel that the library has not."""
        kernel = self.kernel
        if kernel in ("poly", "polynomial") and degree != int(degree):
            width = self._number(gamma, bandwidth, 1 / self.n_features_in_)
            return lambda X, Y: (width * (X @ Y.T) + coef0) ** degree
        if not isinstance(kernel, str) or kernel not in _THEIRS:
            return None
        from sklearn.metrics import pairwise

        if kernel == "additive_chi2":
            return pairwise.additive_chi2_kernel  # type: ignore[no-any-return]
        width = self._number(gamma, bandwidth, 1.0)
        return lambda X, Y: pairwise.chi2_kernel(X, Y, gamma=width)

    def _number(self, gamma: Any, bandwidth: Any, default: float) -> float:
        """An inverse width that is a number, as it has to be for such a function."""
        owner = type(self).__name__
        width = _checks.real(owner, "gamma", gamma, 0, optional=True)
        sigma = _checks.real(owner, "bandwidth", bandwidth, 0, above=True, optional=True)
        if sigma is None:
            return default if width is None else width
        if width is not None:
            raise ValueError("gamma and bandwidth say the same thing: give one of them")
        return 1 / (2 * sigma**2)

    # Using

    def transform(self, X: Any) -> Any:
        """Features of the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            For ``kernel="precomputed"``, kernel values: a column for each training row.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        threads = _checks.threads(type(self).__name__, self.n_jobs)
        made = self._map()
        return by_blocks(X, lambda rows, _: _mercer.nystrom_features(rows, made, threads=threads))

    def trace_error(self, X: Any) -> float:
        """What features leave of the kernel matrix of the rows of ``X``: the trace of ``K - transform(X) @ transform(X).T``.

        For a positive semi-definite kernel it bounds the error of the matrix in every norm. For ``kernel="precomputed"``, ``X`` must be the
        matrix that was fitted.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        threads = _checks.threads(type(self).__name__, self.n_jobs)
        return float(_mercer.nystrom_trace_error(dense(X), self._map(), threads=threads))

    def _map(self) -> dict[str, Any]:
        indices = self.component_indices_
        widths = (self.gamma, self.bandwidth) if self._gamma is None else (self._gamma, None)
        return {
            "kernel": self._kernel_settings(*widths),
            "landmarks": dense(self.components_),
            "rows": [int(row) for row in indices] if self._is_precomputed() and indices is not None else None,
            "normalization": np.require(self.normalization_, dtype=np.float64, requirements=["A"]),
            "precision": self.normalization_.dtype.name,
        }

    def __sklearn_is_fitted__(self) -> bool:
        return "normalization_" in self.__dict__

    # What scikit-learn asks

    @property
    def _n_features_out(self) -> int:
        return int(self.normalization_.shape[0])
