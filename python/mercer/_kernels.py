"""Kernels: their description for the extension module, and functions of blocks of points."""

from collections.abc import Callable
from typing import Any

from ._checks import integer, real, refuse


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

    A plain function is called for every pair of points, as scikit-learn does; with blocks there are a few calls instead of
    ``n²``::

        KernelPCA(kernel=mercer.block_kernel(lambda X, Y: np.tanh(X @ Y.T)))
    """
    if not callable(function):
        raise TypeError(f"block_kernel needs a function of two blocks of points, but got {function!r}")
    return BlockKernel(function)


# Widths that the data gives.
_FOUND = ("auto", "scale", "median")


def describe(
    owner: str,
    kernel: Any,
    *,
    gamma: Any = None,
    bandwidth: Any = None,
    degree: Any = 3,
    coef0: Any = 1,
    kernel_params: Any = None,
) -> dict[str, Any]:
    """A kernel as the extension module takes it."""
    if kernel_params is not None and not isinstance(kernel_params, dict):
        raise refuse(owner, "kernel_params", "an instance of 'dict' or None", kernel_params)
    keywords = dict(kernel_params or {})
    tail = None
    if not callable(kernel):
        if not isinstance(kernel, str):
            raise refuse(owner, "kernel", "the name of a kernel or a callable", kernel)
        # The one parameter of a named kernel that the constructor's `alpha`, the ridge, stands in the way of.
        if kernel == "rational-quadratic":
            tail = real(owner, "kernel_params['alpha']", keywords.pop("alpha", None), 0, above=True, optional=True)
        if keywords:
            names = ", ".join(map(repr, keywords))
            raise refuse(owner, "kernel_params", f"left out for the kernel {kernel!r}, which has no {names}", kernel_params)
    if isinstance(bandwidth, str) and gamma is None:
        # A width that is found is the same by either name.
        if bandwidth not in _FOUND:
            raise refuse(owner, "bandwidth", "a float in the range (0, inf), None, 'auto', 'scale' or 'median'", bandwidth)
        gamma, bandwidth = bandwidth, None
    if isinstance(gamma, str):
        if gamma not in _FOUND:
            raise refuse(owner, "gamma", "a float in the range (0, inf), None, 'auto', 'scale' or 'median'", gamma)
    else:
        gamma = real(owner, "gamma", gamma, 0, optional=True)
    return {
        "kernel": kernel,
        "takes_blocks": isinstance(kernel, BlockKernel),
        "keywords": keywords if callable(kernel) and keywords else None,
        "gamma": gamma,
        "bandwidth": real(owner, "bandwidth", bandwidth, 0, above=True, optional=True),
        "degree": integer(owner, "degree", int(degree) if _is_whole(degree) else degree, 0, maximum=2**32 - 1),
        "coef0": real(owner, "coef0", coef0, float("-inf")),
        "tail": tail,
    }


def _is_whole(degree: Any) -> bool:
    return isinstance(degree, float) and degree.is_integer()
