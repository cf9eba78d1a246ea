"""Kernels: their description for the extension module, and functions of blocks of points."""

import math
import sys
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from ._checks import integer, real, refuse
from ._mercer import KERNELS


class BlockKernel:
    """A kernel that is called with two blocks of points and returns one value per pair. Made by :func:`block_kernel`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, X: Any, Y: Any, **keywords: Any) -> Any:
        return self.function(X, Y, **keywords)

    def __repr__(self) -> str:
        return f"block_kernel({self.__name__})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockKernel) and self.function == other.function

    def __hash__(self) -> int:
        return hash((BlockKernel, self.function))


def block_kernel(function: Callable[..., Any]) -> BlockKernel:
    """Marks a function that takes two blocks of points, one per row, and returns the array of their kernel values.

    A plain function is called for every pair of points, as scikit-learn does; with blocks there are a few calls instead of ``n²``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA, block_kernel
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> pca = KernelPCA(2, kernel=block_kernel(lambda X, Y: np.exp(X @ Y.T))).fit(X)
    >>> pca.transform(X).shape
    (50, 2)
    """
    if not callable(function):
        raise TypeError(f"block_kernel needs a function of two blocks of points, but got {function!r}")
    return BlockKernel(function)


# Widths that the data gives.
_FOUND = ("auto", "scale", "median")
_WIDTHS = "a float in the range (0, inf), 'auto', 'scale', 'median' or None"


def describe(
    owner: str,
    kernel: Any,
    *,
    name: str = "kernel",
    gamma: Any = None,
    bandwidth: Any = None,
    degree: Any = 3,
    coef0: Any = 1,
    kernel_params: Any = None,
) -> dict[str, Any]:
    """A kernel as the extension module takes it; ``name`` is what the parameter is called."""
    if kernel_params is not None and not isinstance(kernel_params, dict):
        raise refuse(owner, "kernel_params", "an instance of 'dict' or None", kernel_params)
    keywords = dict(kernel_params or {})
    tail = None
    if not callable(kernel):
        if not isinstance(kernel, str) or kernel not in KERNELS:
            names = ", ".join(map(repr, KERNELS))
            raise refuse(owner, name, f"a str among {{{names}}} or a callable", kernel)
        # The one parameter of a named kernel that the constructor's `alpha`, the ridge, stands in the way of.
        if kernel == "rational-quadratic":
            tail = real(owner, "kernel_params['alpha']", keywords.pop("alpha", None), 0, above=True, optional=True)
        if keywords:
            names = ", ".join(map(repr, keywords))
            raise refuse(owner, "kernel_params", f"left out for the kernel {kernel!r}, which has no {names}", kernel_params)
    # Zero is refused where it is used: kernels without a width ignore a number, as in scikit-learn.
    gamma, bandwidth = _width(owner, "gamma", gamma), _width(owner, "bandwidth", bandwidth)
    if bandwidth == 0:
        raise refuse(owner, "bandwidth", _WIDTHS, bandwidth)
    if gamma is not None and bandwidth is not None:
        raise ValueError("gamma and bandwidth say the same thing: give one of them")
    if isinstance(bandwidth, str):
        # A width that is found is the same by either name.
        gamma, bandwidth = bandwidth, None
    return {
        "kernel": kernel,
        "takes_blocks": isinstance(kernel, BlockKernel) or _is_of_gaussian_processes(kernel),
        "keywords": keywords if callable(kernel) and keywords else None,
        "gamma": gamma,
        "bandwidth": bandwidth,
        "degree": integer(owner, "degree", int(degree) if _is_whole(degree) else degree, 0, maximum=2**32 - 1),
        "coef0": real(owner, "coef0", coef0, float("-inf")),
        "tail": tail,
    }


def _is_of_gaussian_processes(kernel: Any) -> bool:
    """Whether a kernel is one of scikit-learn's objects of that name, which it calls with blocks of points, too."""
    theirs = sys.modules.get("sklearn.gaussian_process.kernels")
    return theirs is not None and isinstance(kernel, theirs.Kernel)


def _width(owner: str, name: str, value: Any) -> float | str | None:
    """A width, or how it is found."""
    if value is None or (isinstance(value, str) and value in _FOUND):
        return value
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)) or not math.isfinite(value) or value < 0:
        raise refuse(owner, name, _WIDTHS, value)
    return float(value)


def _is_whole(degree: Any) -> bool:
    return isinstance(degree, float) and degree.is_integer()
