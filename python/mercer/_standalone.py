"""The parts of scikit-learn's estimator interface that this package uses, for machines without scikit-learn.

Same names, same behaviour as far as it goes: parameters, validation of input with the same messages, names of outputs. What only
makes sense beside scikit-learn (``set_output``, metadata routing, tags, diagrams) is not here.
"""

import inspect
import warnings
from typing import Any

import numpy as np


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before it was fitted."""


class ConvergenceWarning(UserWarning):
    """An answer did not reach the asked accuracy."""


class BaseEstimator:
    """Parameters by the names of the constructor's arguments."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor; ``deep`` is there for scikit-learn's sake, parameters are no estimators."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> "BaseEstimator":
        """Sets parameters of the constructor."""
        names = self._parameter_names()
        for name, value in params.items():
            if name not in names:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names!r}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {name: value for name, value in self.get_params().items() if value is not defaults[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class TransformerMixin:
    """A transformer's ``fit_transform``."""

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fits, and transforms the same points."""
        return self.fit(X, y, **params).transform(X)  # type: ignore[attr-defined]


class ClusterMixin:
    """A clusterer's ``fit_predict``."""

    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Finds clusters, and returns that of every point."""
        return self.fit(X, **params).labels_  # type: ignore[attr-defined]


class ClassNamePrefixFeaturesOutMixin:
    """Names of outputs after the class."""

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the outputs: the class's name in lower case, and a number."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        count = self._n_features_out  # type: ignore[attr-defined]
        return np.asarray([f"{prefix}{i}" for i in range(count)], dtype=object)


def check_is_fitted(estimator: Any) -> None:
    """Raises if the estimator has not been fitted."""
    if not estimator.__sklearn_is_fitted__():
        name = type(estimator).__name__
        raise NotFittedError(
            f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
        )


def validate_data(
    estimator: Any,
    /,
    X: Any,
    *,
    reset: bool = True,
    accept_sparse: str = "csr",
    dtype: Any,
    order: str = "C",
    copy: bool = False,
    ensure_min_samples: int = 1,
) -> Any:
    """The rows of ``X`` as an array, checked against what the estimator was fitted on unless ``reset``."""
    names = _column_names(X)
    X = _as_rows(X, accept_sparse, dtype, order, copy, ensure_min_samples)
    _remember_or_compare(estimator, names, X.shape[1], reset)
    return X


def _column_names(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = np.asarray(list(columns), dtype=object)
    return names if len(names) and all(isinstance(name, str) for name in names) else None


def _as_rows(X: Any, accept_sparse: str, dtype: Any, order: Any, copy: bool, ensure_min_samples: int) -> Any:
    if hasattr(X, "tocsr"):
        X = X.asformat(accept_sparse, copy=copy)
        if X.dtype not in dtype:
            X = X.astype(dtype[0])
        values = X.data
    else:
        X = np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        if X.ndim != 2:
            shape = "1D" if X.ndim == 1 else f"{X.ndim}D"
            raise ValueError(f"Expected 2D array, got {shape} array instead")
        X = np.array(X, dtype=None if X.dtype in dtype else dtype[0], order=order, copy=True if copy else None)
        values = X
    if X.shape[0] < ensure_min_samples:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {ensure_min_samples} is required."
        )
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        what = "NaN" if np.isnan(values).any() else f"infinity or a value too large for {values.dtype!r}"
        raise ValueError(f"Input X contains {what}.")
    return X


def _remember_or_compare(estimator: Any, names: Any, n_features: int, reset: bool) -> None:
    name = type(estimator).__name__
    if reset:
        estimator.n_features_in_ = n_features
        if names is not None:
            estimator.feature_names_in_ = names
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and names is None:
        warnings.warn(f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=4)
    elif fitted is not None and list(names) != list(fitted):
        raise ValueError("The feature names should match those that were passed during fit.")
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {name} is expecting {estimator.n_features_in_} features as input."
        )
