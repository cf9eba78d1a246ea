"""What estimators are built on: scikit-learn where it is installed, a small stand-in of our own where it is not.

This is the only module that imports scikit-learn, and it is imported with the first estimator.
"""

from typing import Any

import numpy as np

from ._mercer import __version__

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.utils.validation import check_is_fitted
    from sklearn.utils.validation import validate_data as _validate_data
except ModuleNotFoundError as error:
    if error.name != "sklearn":
        raise
    from ._standalone import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        ConvergenceWarning,
        NotFittedError,
        TransformerMixin,
        check_is_fitted,
    )
    from ._standalone import validate_data as _validate_data
except ImportError as error:
    raise ImportError(f"mercer needs scikit-learn 1.6 or newer where it is installed: {error}") from error

__all__ = ["Clusterer", "ConvergenceWarning", "Estimator", "NotFittedError", "check_is_fitted", "validate_data"]


def validate_data(estimator: Any, X: Any, **options: Any) -> Any:
    """The rows of ``X`` as an array, checked against what the estimator was fitted on unless ``reset``.

    It is scikit-learn's function of that name, except that text is refused, as scikit-learn's estimators refuse it: asked for a type,
    the function would read numbers from it.
    """
    if isinstance(X, (str, bytes, list, tuple)):
        X = np.asarray(X)
    if getattr(getattr(X, "dtype", None), "kind", None) in ("U", "S", "V"):
        raise ValueError(f"X must hold numbers, but it holds text or bytes ({X.dtype}): convert it to numbers explicitly")
    return _validate_data(estimator, X, **options)


class Fitted(BaseEstimator):  # type: ignore[misc]
    """What all estimators of this package share.

    A fitted estimator keeps its model, an object of the extension module, in ``_model``. In pickles it is the bytes of its file.
    """

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = bytes(state["_model"].to_bytes())
        state["_mercer_version"] = __version__
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        state.pop("_mercer_version", None)
        model = state.pop("_model", None)
        super().__setstate__(state)
        if model is not None:
            self._model = self._model_from_bytes(model)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _model_from_bytes(self, data: bytes) -> Any:
        """The model with these bytes."""
        raise NotImplementedError(f"{type(self).__name__} must say how its model is read")


    def _feature_names(self) -> list[str] | None:
        """The names of the columns learned from, if there are any by which a column can be found."""
        names = getattr(self, "feature_names_in_", None)
        if names is None or len(set(names)) < len(names):
            return None
        return [str(name) for name in names]

    def _adopt_feature_names(self, names: list[str] | None) -> None:
        """Makes the names that a file tells this estimator's own."""
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Fitted):  # type: ignore[misc]
    """What estimators share that transform points."""


class Clusterer(ClusterMixin, Fitted):  # type: ignore[misc]
    """What estimators share that put points into clusters."""
