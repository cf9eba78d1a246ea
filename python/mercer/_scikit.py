"""What estimators take from scikit-learn: the only module that imports it. ``_standalone`` has the same names."""

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ConvergenceWarning",
    "NotFittedError",
    "TransformerMixin",
    "check_is_fitted",
    "validate_data",
]
