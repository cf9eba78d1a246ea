"""The parts of scikit-learn's estimator interface that this package uses, for as long as scikit-learn is not imported.

Same names, same behaviour as far as it goes: parameters, validation of input with the same messages, names of outputs. What only
makes sense beside scikit-learn (``set_output``, metadata routing, tags, diagrams) imports it, and is not there where it is not installed.
"""

import inspect
import warnings
from typing import Any

import numpy as np

from ._scikit_learn import load


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before it was fitted."""


class ConvergenceWarning(UserWarning):
    """An answer did not reach the asked accuracy."""


class _Theirs:
    """An attribute that only scikit-learn's classes have: they take the place of these when somebody asks for it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if load() is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r} without scikit-learn")
        # A class that scikit-learn's do not stand in for, such as that of this attribute itself, would ask here again for ever.
        if any(vars(base).get(self._name) is self for base in owner.__mro__):
            raise AttributeError(f"{owner.__name__!r} has no attribute {self._name!r}: it is one of scikit-learn's classes")
        return getattr(owner if instance is None else instance, self._name)


class BaseEstimator:
    """Parameters by the names of the constructor's arguments."""

    get_metadata_routing = _Theirs()
    _repr_html_ = _Theirs()
    _repr_mimebundle_ = _Theirs()

    def __sklearn_tags__(self) -> Any:
        if load() is None:
            raise AttributeError("tags are scikit-learn's, which is not installed")
        # What called this one is called again, on top of scikit-learn's.
        return self.__sklearn_tags__()

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor, and with ``deep`` those of parameters that are estimators."""
        params = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, BaseEstimator):
                    params.update((f"{name}__{inner}", given) for inner, given in value.get_params().items())
        return params

    def set_params(self, **params: Any) -> "BaseEstimator":
        """Sets parameters of the constructor, and ``name__inner`` of a parameter that is an estimator."""
        names = self._parameter_names()
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in names:
                raise ValueError(f"Invalid parameter {outer!r} for estimator {self}. Valid parameters are: {names!r}.")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        changed = [f"{name}={text}" for name, text in given.items() if text != repr(defaults[name].default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class TransformerMixin:
    """A transformer's ``fit_transform``."""

    set_output = _Theirs()
    _made_with: dict[str, Any]

    def __init_subclass__(cls, **keywords: Any) -> None:
        # For scikit-learn's class, which takes them.
        cls._made_with = keywords

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
        from ._base import check_is_fitted

        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        count = self._n_features_out  # type: ignore[attr-defined]
        return np.asarray([f"{prefix}{i}" for i in range(count)], dtype=object)


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
    ensure_all_finite: bool = True,
) -> Any:
    """The rows of ``X`` as an array, checked against what the estimator was fitted on unless ``reset``."""
    names = _column_names(X)
    X = _as_rows(X, accept_sparse, dtype if isinstance(dtype, list) else [dtype], order, copy, ensure_min_samples)
    if ensure_all_finite:
        _require_finite(X.data if hasattr(X, "tocsr") else X)
    _remember_or_compare(estimator, names, X.shape[1], reset)
    return X


def _column_names(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = np.asarray(list(columns), dtype=object)
    return names if len(names) and all(isinstance(name, str) for name in names) else None


def _as_rows(X: Any, accept_sparse: str, dtype: list[Any], order: Any, copy: bool, ensure_min_samples: int) -> Any:
    if hasattr(X, "tocsr"):
        X = X.asformat(accept_sparse, copy=copy)
        if X.dtype not in dtype:
            X = X.astype(dtype[0])
    else:
        X = np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        if X.ndim != 2:
            shape = "1D" if X.ndim == 1 else f"{X.ndim}D"
            raise ValueError(f"Expected 2D array, got {shape} array instead")
        X = np.array(X, dtype=None if X.dtype in dtype else dtype[0], order=order, copy=True if copy else None)
    if X.shape[0] < ensure_min_samples:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {ensure_min_samples} is required."
        )
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def _require_finite(values: Any) -> None:
    if values.dtype.kind == "f" and not _is_finite(values):
        what = "NaN" if np.isnan(values).any() else f"infinity or a value too large for {values.dtype!r}"
        raise ValueError(f"Input X contains {what}.")


def _is_finite(values: Any) -> bool:
    # A sum needs no other array. It can overflow, and only then every number is looked at.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all())


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
