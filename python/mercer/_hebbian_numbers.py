"""Numbers that :class:`mercer.KernelHebbianPCA` is given, as the extension module takes them."""

import math
from numbers import Real
from typing import Any

import numpy as np

from . import _checks


def gain(owner: str, name: str, value: Any, *, above: bool) -> float | None:
    """A gain; ``None`` for one that is found by trying."""
    if isinstance(value, str) and value == "auto":
        return None
    fits = isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and math.isfinite(value)
    if not fits or value < 0 or (above and value == 0):
        raise _checks.refuse(owner, name, f"'auto' or a float in the range {'(' if above else '['}0, inf)", value)
    return float(value)


def share(owner: str, name: str, value: Any) -> float:
    """A number from 0 to 1."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) else math.nan
    if not 0 <= number <= 1:
        raise _checks.refuse(owner, name, "a float in the range [0, 1]", value)
    return number


def beside(residual: float, enough: float) -> tuple[str, str]:
    """A residual and what would be enough, as people write them, with as many digits as show which is larger."""
    # No two numbers have seventeen digits in common.
    for digits in range(2, 18):
        found, limit = f"{residual:.{digits - 1}e}", f"{enough:.{max(digits, 6)}g}"
        if (float(found) > float(limit)) == (residual > enough):
            break
    return found, limit


def coefficients_of(values: Any) -> Any:
    """Start coefficients as an array; the library checks their shape and that they are finite."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"initial_coefficients must hold real numbers, but its dtype is {array.dtype}")
    if array.ndim != 2:
        raise ValueError(f"initial_coefficients must be a 2D array, but it has {array.ndim} dimension(s)")
    return np.require(array, dtype=np.float64, requirements=["A"])
