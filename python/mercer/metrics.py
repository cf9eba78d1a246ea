"""How far two groupings of the same points agree. None of the measures depends on what groups are called."""

from typing import Any

import numpy as np

from . import _mercer

__all__ = ["adjusted_rand_index", "normalized_mutual_information", "variation_of_information"]


def variation_of_information(labels_true: Any, labels_pred: Any) -> float:
    """Variation of information, ``H + H' - 2 I`` with natural logarithms: zero for the same grouping, a metric.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two groupings, by numbers or names.

    Examples
    --------
    >>> from mercer.metrics import variation_of_information
    >>> variation_of_information([0, 0, 1, 1], ["b", "b", "a", "a"])
    0.0
    """
    return _agreement(labels_true, labels_pred)[0]


def normalized_mutual_information(labels_true: Any, labels_pred: Any) -> float:
    """Mutual information over the mean of both entropies: one for the same grouping, zero for independent ones.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two groupings, by numbers or names.
    """
    return _agreement(labels_true, labels_pred)[1]


def adjusted_rand_index(labels_true: Any, labels_pred: Any) -> float:
    """Share of pairs that both groupings treat alike, adjusted for chance: one for the same grouping, zero on average.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two groupings, by numbers or names.
    """
    return _agreement(labels_true, labels_pred)[2]


def _agreement(labels_true: Any, labels_pred: Any) -> tuple[float, float, float]:
    return _mercer.agreement(_numbers("labels_true", labels_true), _numbers("labels_pred", labels_pred))


def _numbers(name: str, labels: Any) -> Any:
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"{name} must be a 1D array, but it has {labels.ndim} dimension(s)")
    return np.ascontiguousarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)
