"""Random Fourier features."""

import warnings
from typing import Any

import numpy as np

from . import _checks, _mercer
from ._arrays import DTYPES, by_blocks, dense
from ._base import Estimator, check_is_fitted, convergence_warning, validate_data
from ._kernels import describe


class FourierFeatures(Estimator):
    """Random features whose inner products are those of a Gaussian kernel on average: scikit-learn's ``RBFSampler``.

    Features are ``sqrt(2 / n_components) * cos(X @ random_weights_ + random_offset_)``. They do not look at the data: the error of an inner
    product falls with the root of their number, whatever the data. :class:`Nystroem` needs fewer features for the same error.

    Parameters
    ----------
    kernel : {"rbf", "gaussian"}, default="rbf"
        The kernel, by either of its names. Others are refused: their spectra are not that of a Gaussian.
    gamma : float, "auto", "scale" or "median", default=1.0
        Inverse width, as in :class:`KernelPCA`; ``None`` is ``1 / n_features``.
    n_components : int, default=100
        Number of features.
    random_state : int, RandomState, Generator or None, default=None
        Where random numbers come from; ``None`` is 0. They are those of the library, not scikit-learn's.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors. Results do not depend on it.
    bandwidth : float, "auto", "scale" or "median", default=None
        Width sigma in place of ``gamma``: ``gamma = 1 / (2 sigma**2)``; found as for ``gamma`` by name. The default of ``gamma`` gives way to it.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        Frequencies.
    random_offset_ : ndarray of shape (n_components,)
        Phases.
    gamma_ : float
        Inverse width that was used.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FourierFeatures
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> Z = FourierFeatures(gamma=0.5, n_components=20_000).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1)) < 0.05)
    True
    """

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: Any = 1.0,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        bandwidth: float | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.bandwidth = bandwidth

    # Learning

    def fit(self, X: Any, y: Any = None) -> "FourierFeatures":
        """Draws frequencies for rows of as many columns as ``X`` has; its values matter only to a ``gamma`` that is found by name.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self : FourierFeatures
        """
        owner = type(self).__name__
        for name in ("random_weights_", "random_offset_", "gamma_"):
            self.__dict__.pop(name, None)
        # scikit-learn's default width gives way to a bandwidth that was asked for.
        gamma = None if self.bandwidth is not None and self.gamma == 1.0 else self.gamma
        settings = {
            "kernel": describe(owner, self.kernel, gamma=gamma, bandwidth=self.bandwidth),
            "n_components": _checks.integer(owner, "n_components", self.n_components, 1, maximum=2**63 - 1),
            "threads": _checks.threads(owner, self.n_jobs),
            "seed": _checks.seed(owner, self.random_state),
        }
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C")
        weights, offset, gamma, said = _mercer.fourier_map(dense(X), settings)
        for message in said:
            warnings.warn(message, convergence_warning(), stacklevel=2)
        dtype = np.float64 if X.dtype == np.float64 else np.float32
        self.random_weights_ = weights.astype(dtype, copy=False)
        self.random_offset_ = offset.astype(dtype, copy=False)
        self.gamma_ = gamma
        return self

    # Using

    def transform(self, X: Any) -> Any:
        """Features of the rows of ``X``, in the type of the rows that were fitted (``float32`` for ``uint8``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        weights, offset = (
            np.require(part, dtype=np.float64, requirements=["A"]) for part in (self.random_weights_, self.random_offset_)
        )
        wanted: Any = {
            "dtype": self.random_weights_.dtype.name,
            "threads": _checks.threads(type(self).__name__, self.n_jobs),
        }
        return by_blocks(X, lambda rows, _: _mercer.fourier_features(rows, weights, offset, **wanted))

    def __sklearn_is_fitted__(self) -> bool:
        return "random_weights_" in self.__dict__

    # What scikit-learn asks

    @property
    def _n_features_out(self) -> int:
        return int(self.random_weights_.shape[1])
