"""More than a width: several parameters of a kernel, or a width for every feature, by gradient."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _checks, _mercer
from ._arrays import rows
from ._base import convergence_warning, warn
from ._kernels import describe

_PARAMETERS = ("gamma", "coef0", "alpha")


@dataclass(frozen=True)
class _Climb:
    """What results of climbs have in common."""

    best_value: float
    start_value: float
    steps: int
    converged: bool
    warnings: list[str]


@dataclass(frozen=True)
class ParameterResult(_Climb):
    """Parameters of a kernel where the variance of the components' variances is largest. What :func:`tune_parameters` returns.

    Attributes
    ----------
    parameters : dict of str to float
        What was found for each parameter that has a range.
    gradient : dict of str to float
        The derivative of ``best_value`` by each of them: zero but for those at an end of their range.
    at_bound : list of str
        Parameters at an end of their range: the criterion may be larger beyond it.
    best_value, start_value : float
        The variance of the components' variances, here and at the start.
    steps : int
        Steps that were made.
    converged : bool
        Whether nothing within the ranges leads up any more.
    warnings : list of str
        What the search for the width to start from had to say.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import tune_parameters
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> result = tune_parameters(X, "poly", {"gamma": (0.1, 0.5)}, degree=2)
    >>> result.parameters, result.at_bound
    ({'gamma': 0.5}, ['gamma'])
    """

    parameters: dict[str, float]
    gradient: dict[str, float]
    at_bound: list[str]


@dataclass(frozen=True)
class ArdResult(_Climb):
    """A width for every feature. What :func:`tune_ard` returns.

    Attributes
    ----------
    gammas : ndarray of shape (n_features,)
        Inverse widths: the kernel is ``exp(-sum(gammas * (x - y)**2))``, which is the kernel with ``gamma=1`` of ``X * sqrt(gammas)``.
    bandwidths : ndarray of shape (n_features,)
        Widths, ``gammas = 1 / (2 bandwidths**2)``: the wider, the less a feature matters.
    at_bound : list of int
        Features whose ``gammas`` are held a factor of ten thousand from the start: the criterion may be larger beyond it.
    best_value, start_value : float
        The variance of the components' variances, here and at the start.
    steps : int
        Steps that were made.
    converged : bool
        Whether nothing within a factor of ten thousand of the start leads up any more.
    warnings : list of str
        What the search for the width to start from had to say.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import tune_ard
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> result = tune_ard(X, [0.1, 0.1, 0.1])
    >>> result.gammas.shape, result.best_value > result.start_value
    ((3,), True)
    """

    gammas: Any
    bandwidths: Any
    at_bound: list[int]


def tune_parameters(
    X: Any,
    kernel: str,
    ranges: dict[str, tuple[float, float]],
    *,
    gamma: Any = None,
    degree: int = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    max_steps: int = 500,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ParameterResult:
    """Climbs in several parameters of a kernel at once, each within a range, to a maximum of the variance of the components' variances.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    kernel : str
        As in :class:`KernelPCA`.
    ranges : dict of str to (float, float)
        The parameters to look for, ``"gamma"``, ``"coef0"`` or ``"alpha"`` as the kernel has them, with the smallest and the largest value of each.
    gamma, degree, coef0, kernel_params
        As in :class:`KernelPCA`: where the climb starts (at the nearest end, if that is outside of the range), and what parameters without a range
        are. ``gamma=None`` is what :func:`tune_kernel` finds for kernels of a distance, ``1 / n_features`` for others. The degree is a whole
        number, which has no gradient.
    max_steps : int, default=500
        Steps, at most.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors.
    random_state : int, RandomState, Generator or None, default=None
        Of the search for a width to start from, which draws pairs where rows are many; ``None`` is the same as 0.

    Returns
    -------
    ParameterResult

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import tune_parameters
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> result = tune_parameters(X, "rational-quadratic", {"gamma": (1e-3, 1e3), "alpha": (0.2, 20)})
    >>> sorted(result.parameters), result.converged
    (['alpha', 'gamma'], True)
    """
    owner = "tune_parameters"
    settings = {
        "kernel": describe(owner, kernel, gamma=gamma, degree=degree, coef0=coef0, kernel_params=kernel_params),
        "ranges": _ranges(owner, ranges),
        "max_steps": _checks.integer(owner, "max_steps", max_steps, 1),
        "threads": _checks.threads(owner, n_jobs),
        "seed": _checks.seed(owner, random_state),
    }
    fields = json.loads(_mercer.tune_parameters(rows(X, "X"), settings))
    found = fields.pop("parameters")
    _say_if_cut_short(fields)
    return ParameterResult(
        parameters={name: one["value"] for name, one in found.items()},
        gradient={name: one["slope"] for name, one in found.items()},
        at_bound=[name for name, one in found.items() if one["is_at_bound"]],
        **fields,
    )


def _say_if_cut_short(fields: dict[str, Any]) -> None:
    """Warns of a climb that has ended before its summit."""
    if not fields["converged"]:
        steps = "1 step" if fields["steps"] == 1 else f"{fields['steps']} steps"
        message = f"the climb ended after {steps}, before a maximum: a larger max_steps, or a start nearer to one, may reach it"
        warn(message, convergence_warning())


def _ranges(owner: str, ranges: Any) -> list[tuple[str, float, float]]:
    names = ", ".join(map(repr, _PARAMETERS))
    allowed = f"a dict of {{{names}}} to (low, high)"
    if not isinstance(ranges, dict):
        raise _checks.refuse(owner, "ranges", allowed, ranges)
    checked = []
    for name, ends in ranges.items():
        if name not in _PARAMETERS:
            raise _checks.refuse(owner, "ranges", allowed, ranges)
        try:
            low, high = ends
        except (TypeError, ValueError):
            raise _checks.refuse(owner, f"ranges[{name!r}]", "two numbers, (low, high)", ends) from None
        numbers = [_checks.real(owner, f"ranges[{name!r}]", end, float("-inf")) for end in (low, high)]
        checked.append((name, *numbers))
    return checked


def tune_ard(
    X: Any, gammas: Any = None, *, max_steps: int = 500, n_jobs: int | None = None, random_state: Any = None
) -> ArdResult:
    """Climbs in one width per feature of the Gaussian kernel to a maximum of the variance of the components' variances.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    gammas : array-like of shape (n_features,), default=None
        Inverse widths to start from; by default what :func:`tune_kernel` finds, for every feature.
    max_steps : int, default=500
        Steps, at most.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors.
    random_state : int, RandomState, Generator or None, default=None
        Of the search for a width to start from, which draws pairs where rows are many; ``None`` is the same as 0.

    Returns
    -------
    ArdResult

    Examples
    --------
    A feature with two groups, and one of noise:

    >>> import numpy as np
    >>> from mercer import KernelPCA, tune_ard
    >>> noise = np.random.default_rng(0).normal(size=(100, 2))
    >>> X = np.column_stack([5.0 * (np.arange(100) % 2) + 0.3 * noise[:, 0], noise[:, 1]])
    >>> result = tune_ard(X)
    >>> bool(result.bandwidths[1] > 10 * result.bandwidths[0])
    True
    >>> scores = KernelPCA(2, kernel="rbf", gamma=1.0).fit_transform(X * np.sqrt(result.gammas))
    """
    owner = "tune_ard"
    settings = {
        "gammas": _checks.numbers(owner, "gammas", gammas, "one positive number per feature, or None"),
        "max_steps": _checks.integer(owner, "max_steps", max_steps, 1),
        "threads": _checks.threads(owner, n_jobs),
        "seed": _checks.seed(owner, random_state),
    }
    fields = json.loads(_mercer.tune_ard(rows(X, "X"), settings))
    found = np.array(fields.pop("gammas"), dtype=np.float64)
    _say_if_cut_short(fields)
    return ArdResult(gammas=found, bandwidths=np.sqrt(0.5 / found), **fields)
