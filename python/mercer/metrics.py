"""How far two groupings of the same points agree, whatever groups are called, and how much noise is left of a signal that is known."""

from typing import Any

import numpy as np

from . import _checks, _mercer

__all__ = [
    "adjusted_rand_index",
    "noise_removed",
    "normalized_mutual_information",
    "snr",
    "variation_of_information",
]


def variation_of_information(labels_true: Any, labels_pred: Any) -> float:
    """Variation of information, ``H + H' - 2 I`` with natural logarithms: zero for the same grouping, a metric.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two groupings, by whole numbers or names.

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
        Two groupings, by whole numbers or names.

    Examples
    --------
    >>> from mercer.metrics import normalized_mutual_information
    >>> round(normalized_mutual_information([0, 0, 1, 1], [1, 1, 1, 0]), 6)
    0.343711
    """
    return _agreement(labels_true, labels_pred)[1]


def adjusted_rand_index(labels_true: Any, labels_pred: Any) -> float:
    """Share of pairs that both groupings treat alike, adjusted for chance: one for the same grouping, zero on average.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Two groupings, by whole numbers or names.

    Examples
    --------
    >>> from mercer.metrics import adjusted_rand_index
    >>> adjusted_rand_index(["a", "a", "b", "b"], [2, 2, 1, 1])
    1.0
    """
    return _agreement(labels_true, labels_pred)[2]


def snr(clean: Any, estimate: Any) -> float:
    """Ratio of signal to noise in decibel: variance of the true signal over the mean square of what is wrong.

    Parameters
    ----------
    clean, estimate : array-like of one shape
        The true signal, and what was found of it.

    Examples
    --------
    >>> from mercer.metrics import snr
    >>> round(snr([1, -1, 1, -1], [1.1, -0.9, 0.9, -1.1]), 6)
    20.0
    """
    clean, estimate = _signals(clean=clean, estimate=estimate)
    with _checks.called(reference="clean"):
        return _mercer.snr(clean, estimate)


def noise_removed(clean: Any, noisy: Any, estimate: Any) -> float:
    """Share of the variance of the noise that is gone: one for the true signal, zero for the noisy one.

    Parameters
    ----------
    clean, noisy, estimate : array-like of one shape
        The true signal, the same with noise, and what was found of it.

    Examples
    --------
    >>> from mercer.metrics import noise_removed
    >>> noise_removed([0, 0], [1, -1], [0.5, -0.5])
    0.75
    """
    clean, noisy, estimate = _signals(clean=clean, noisy=noisy, estimate=estimate)
    with _checks.called(reference="clean"):
        return _mercer.noise_removed(clean, noisy, estimate)


def _signals(**signals: Any) -> list[Any]:
    """Signals of one shape as rows of numbers."""
    arrays = {name: np.asarray(values) for name, values in signals.items()}
    shape = arrays["clean"].shape
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold real numbers, but its dtype is {array.dtype}")
        if array.shape != shape:
            raise ValueError(f"{name} must have the shape of clean, {shape}, but it has {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must hold finite numbers")
    return [np.ascontiguousarray(array, dtype=np.float64).ravel() for array in arrays.values()]


def _agreement(labels_true: Any, labels_pred: Any) -> tuple[float, float, float]:
    first, second = _numbers("labels_true", labels_true), _numbers("labels_pred", labels_pred)
    if first.size != second.size:
        raise ValueError(f"labels_pred must have {first.size} labels, as labels_true has, but it has {second.size}")
    return _mercer.agreement(first, second)


def _numbers(name: str, labels: Any) -> Any:
    """Labels as numbers of their groups."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"{name} must be a 1D array of at least one label, but its shape is {labels.shape}")
    if labels.dtype.kind == "f":
        wrong = np.flatnonzero(~np.isfinite(labels) | (labels != np.rint(labels)))
        if wrong.size:
            place = int(wrong[0])
            raise ValueError(f"{name} must hold whole numbers or names, but at position {place} it is {labels[place]}")
    elif labels.dtype.kind not in "iubUSO":
        raise TypeError(f"{name} must hold whole numbers or names, but its dtype is {labels.dtype}")
    try:
        groups = np.unique(labels, return_inverse=True)[1]
    except TypeError as error:
        raise TypeError(f"{name} must hold labels of one kind, but it holds several: {error}") from None
    return np.ascontiguousarray(groups, dtype=np.int64)
