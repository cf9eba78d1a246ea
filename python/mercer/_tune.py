"""The width of a kernel from the spectrum."""

import json
import math
from os import PathLike
from typing import Any

import numpy as np

from . import _checks, _mercer, _tune_picture
from ._arrays import DTYPES, dense, rows
from ._base import Estimator, check_is_fitted, convergence_warning, validate_data, warn
from ._kernels import describe

# Kernels in which gamma multiplies a distance and not its square.
_OF_DISTANCE = ("laplacian", "exponential", "matern32", "matern52")


class TuneResult:
    """The curve of a criterion over bandwidths, and its maxima. What :func:`tune_kernel` returns.

    Attributes
    ----------
    bandwidths : ndarray
        Bandwidths that were tried: as they were given, or in increasing order.
    values : ndarray
        The criterion at each: for ``"variance"``, the variance ``E`` of the components' variances.
    gradients : ndarray
        Its derivative by the bandwidth at each; NaN for ``"reconstruction"``.
    standard_errors : ndarray
        The standard error of each value; zeros if nothing was sampled.
    maxima : list of float
        Bandwidths of the local maxima that were found, in increasing order. Empty if the bandwidths that were given hold none between them.
    maxima_gammas, maxima_values, maxima_standard_errors : list of float
        The inverse width of each of them, the criterion there, and the standard error of its bandwidth, 0.0 if nothing was sampled.
    best_bandwidth, best_gamma, best_value : float
        The highest maximum; one of the bandwidths tried, if none of the maxima is as good.
    standard_error : float
        The standard error of ``best_bandwidth``; 0.0 if nothing was sampled.
    tolerance : float or None
        How narrow the interval of ``best_bandwidth`` had to be, relative to it; ``None`` for ``"median"`` and ``"scale"``, and for
        ``"reconstruction"`` if nothing was asked for.
    converged : bool
        Whether ``best_bandwidth`` is known as narrowly as was asked; if not, there is a ``ConvergenceWarning``.
    seconds : float
        Time that it took.
    kernel, criterion, method : str
        What was looked for; ``method`` is ``"exact"`` or ``"sampled"``.
    measure : str
        What ``values`` are: those of ``"median"`` and ``"scale"``, which need no search, are those of ``"variance"``.
    n_samples, n_used, passes, pairs : int
        Points, points that were looked at, passes over pairs, pairs that were looked at.
    warnings : list of str
    """

    bandwidths: Any
    values: Any
    gradients: Any
    standard_errors: Any
    best_bandwidth: float
    best_gamma: float
    best_value: float
    standard_error: float
    tolerance: float | None
    converged: bool
    seconds: float
    kernel: str
    criterion: str
    method: str
    measure: str
    n_samples: int
    n_used: int
    passes: int
    pairs: int
    warnings: list[str]

    def __init__(self, fields: dict[str, Any]) -> None:
        for name in ("bandwidths", "values", "gradients", "standard_errors"):
            setattr(self, name, np.array(fields.pop(name), dtype=np.float64))
        maxima = fields.pop("maxima")
        self.maxima: list[float] = [maximum["bandwidth"] for maximum in maxima]
        self.maxima_gammas: list[float] = [maximum["gamma"] for maximum in maxima]
        self.maxima_values: list[float] = [maximum["value"] for maximum in maxima]
        self.maxima_standard_errors: list[float] = [maximum["standard_error"] for maximum in maxima]
        self.__dict__.update(fields)

    def plot(self, path: str | PathLike[str]) -> None:
        """Draws the criterion and its derivative over the bandwidth, as SVG.

        Parameters
        ----------
        path : path-like
            Where the picture goes; its name must end in ``.svg``.
        """
        _tune_picture.write(self, path)

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.2g}" if self.standard_error > 0 else ""
        return (
            f"TuneResult(best_bandwidth={self.best_bandwidth:.6g}{error}, best_gamma={self.best_gamma:.6g}, "
            f"maxima={len(self.maxima)}, criterion={self.criterion!r}, method={self.method!r})"
        )


def _search(owner: str, X: Any, kernel: Any, parameters: dict[str, Any]) -> TuneResult:
    bandwidths = _checks.numbers(owner, "bandwidths", parameters["bandwidths"], "a sequence of positive numbers or None")
    if parameters["n_leading"] is not None and parameters["criterion"] not in ("leading", "reconstruction"):
        raise ValueError(f"n_leading has no effect with criterion={parameters['criterion']!r}: leave it out")
    settings = {
        "kernel": kernel,
        "criterion": _checks.choice(owner, "criterion", parameters["criterion"], _mercer.CRITERIA),
        "bandwidths": bandwidths,
        "method": _checks.choice(owner, "method", parameters["method"], _mercer.TUNE_METHODS),
        "tolerance": _checks.real(owner, "tolerance", parameters["tolerance"], 0, above=True, optional=True),
        "n_components": _checks.integer(owner, "n_leading", parameters["n_leading"], 1, optional=True),
        "threads": _checks.threads(owner, parameters["n_jobs"]),
        "seed": _checks.seed(owner, parameters["random_state"]),
    }
    with _checks.called(n_components="n_leading"):
        fields = json.loads(_mercer.tune_kernel(X, settings))
    # What is not a number is null in JSON.
    fields["gradients"] = [math.nan if slope is None else slope for slope in fields["gradients"]]
    if not fields["converged"]:
        # The first of them is the reason.
        warn(f"the best bandwidth is not known as narrowly as was asked: {fields['warnings'][0]}", convergence_warning())
    return TuneResult(fields)


def tune_kernel(
    X: Any,
    kernel: str = "rbf",
    *,
    criterion: str = "variance",
    bandwidths: Any = None,
    method: str = "auto",
    random_state: Any = None,
    degree: int = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    tolerance: float | None = None,
    n_leading: int | None = None,
    n_jobs: int | None = None,
) -> TuneResult:
    """The width of a kernel that suits the data, found without labels.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    kernel : str, default="rbf"
        A kernel with a width, as in :class:`KernelPCA`.
    criterion : str, default="variance"
        ``"variance"``: the variance of the components' variances is largest. ``"effective-rank"``: the sum of the eigenvalues
        over the effective rank is. ``"leading"``: the sum of the leading eigenvalues is. ``"reconstruction"``: a third of the points, held out by
        ``random_state``, is reconstructed best. ``"median"``, ``"scale"``: as ``gamma`` in :class:`KernelPCA`, without a search.
    bandwidths : sequence of float, default=None
        Bandwidths to try, with ``gamma = 1 / (2 bandwidth**2)``, in any order; maxima between them are refined. By default up to
        64 over the distances that the data has, and more between them where a maximum could hide; at most 16 for ``"leading"`` and
        ``"reconstruction"``.
    method : {"auto", "exact", "sampled"}, default="auto"
        Whether all pairs of points are looked at: by default up to 10 000 points, and up to 40 000 where samples do not place the best
        bandwidth as narrowly as ``tolerance`` asks. ``"effective-rank"`` takes 10 000 of more points, unless ``"exact"`` asks for all.
    random_state : int, RandomState, Generator or None, default=None
        Where samples come from; ``None`` is 0.
    degree, coef0, kernel_params
        As in :class:`KernelPCA`.
    tolerance : float, default=None
        How narrow the interval of the best bandwidth must be, relative to it: 1e-8 by default (1e-5 in single precision), 0.01
        if pairs are sampled, 1e-3 for ``"leading"``, twelve golden sections for ``"reconstruction"``.
    n_leading : int, default=None
        Components that ``"leading"`` and ``"reconstruction"`` count; half the number of columns by default, from 1 to 10.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors. Results do not depend on it.

    Returns
    -------
    TuneResult

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import tune_kernel
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> result = tune_kernel(X)
    >>> len(result.maxima)
    1
    >>> bool(abs(result.best_gamma - 0.5 / result.best_bandwidth**2) < 1e-12)
    True
    """
    owner = "tune_kernel"
    parameters = {
        "criterion": criterion,
        "bandwidths": bandwidths,
        "method": method,
        "random_state": random_state,
        "tolerance": tolerance,
        "n_leading": n_leading,
        "n_jobs": n_jobs,
    }
    described = describe(owner, kernel, degree=degree, coef0=coef0, kernel_params=kernel_params)
    return _search(owner, rows(X, "X"), described, parameters)


class KernelTuner(Estimator):
    """Finds the width of a kernel, as :func:`tune_kernel` does, and scales data so that it is one.

    In a pipeline, what follows sees points divided by the bandwidth: a kernel with ``gamma=0.5`` (``bandwidth=1``) on them is the kernel
    with ``gamma_`` on the points as they were.

    Parameters
    ----------
    kernel : str, default="rbf"
    criterion : str, default="variance"
    bandwidths : sequence of float, default=None
    method : {"auto", "exact", "sampled"}, default="auto"
    random_state : int, RandomState, Generator or None, default=None
    degree, coef0, kernel_params, tolerance, n_leading, n_jobs
        All as in :func:`tune_kernel`.

    Attributes
    ----------
    gamma_ : float
        Inverse width that was found.
    bandwidth_ : float
        The width.
    result_ : TuneResult
        The whole curve.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA, KernelTuner
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> tuner = KernelTuner().fit(X)
    >>> one = KernelPCA(2, kernel="rbf", gamma=tuner.gamma_).fit_transform(X)
    >>> other = KernelPCA(2, kernel="rbf", gamma=0.5).fit_transform(tuner.transform(X))
    >>> bool(np.allclose(one, other))
    True
    """

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        criterion: str = "variance",
        bandwidths: Any = None,
        method: str = "auto",
        random_state: Any = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        tolerance: float | None = None,
        n_leading: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.criterion = criterion
        self.bandwidths = bandwidths
        self.method = method
        self.random_state = random_state
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tolerance = tolerance
        self.n_leading = n_leading
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> "KernelTuner":
        """Finds the width for the rows of ``X``."""
        owner = type(self).__name__
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", ensure_min_samples=2)
        described = describe(owner, self.kernel, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params)
        self.result_ = _search(owner, dense(X), described, self.get_params(deep=False))
        self.gamma_: float = self.result_.best_gamma
        self.bandwidth_: float = self.result_.best_bandwidth
        return self

    def transform(self, X: Any) -> Any:
        """The rows of ``X``, scaled so that the kernel's bandwidth is one; sparse rows stay sparse.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        scale = self.bandwidth_**2 if self.kernel in _OF_DISTANCE else self.bandwidth_
        return X / X.dtype.type(scale)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns, which are those of ``X``."""
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is None:
            return np.asarray([f"x{i}" for i in range(self.n_features_in_)], dtype=object) if known is None else known
        names = np.asarray(input_features, dtype=object)
        if known is not None and not np.array_equal(known, names):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(names) != self.n_features_in_:
            raise ValueError(f"input_features should have length equal to number of features ({self.n_features_in_}), got {len(names)}")
        return names

    def __sklearn_is_fitted__(self) -> bool:
        return "result_" in self.__dict__
