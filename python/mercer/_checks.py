"""Checks of parameters, with messages that name the parameter, what is allowed and what was given."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Literal, overload

import numpy as np

from ._mercer import MOST_THREADS

# The largest integer that the extension module takes, on any machine that it is built for.
_LARGEST = 2**63 - 1
# What is compared as it is.
_PLAIN = (int, float, str, np.integer)


class InvalidParameterError(ValueError, TypeError):
    """A parameter has a value, or a type, that is not allowed."""


def refuse(owner: str, name: str, allowed: str, value: Any) -> InvalidParameterError:
    """The exception for a parameter that is not what it must be."""
    return InvalidParameterError(f"The {name!r} parameter of {owner} must be {allowed}. Got {value!r} instead.")


def numbers(owner: str, name: str, value: Any, allowed: str) -> list[float] | None:
    """Checks a sequence of numbers, which may be ``None``."""
    if value is None:
        return None
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise refuse(owner, name, allowed, value) from None
    if found.ndim != 1:
        raise refuse(owner, name, allowed, value)
    return [float(number) for number in found]


@contextmanager
def called(**names: str) -> Iterator[None]:
    """Says in messages of the library what parameters that it calls otherwise are called here."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        for theirs, ours in names.items():
            message = message.replace(f"`{theirs}`", f"`{ours}`")
        if message == str(error):
            raise
        raise type(error)(message) from None


@overload
def integer(
    owner: str, name: str, value: Any, minimum: int, *, maximum: int | None = None, optional: Literal[False] = False
) -> int: ...


@overload
def integer(
    owner: str, name: str, value: Any, minimum: int, *, maximum: int | None = None, optional: bool
) -> int | None: ...


def integer(
    owner: str, name: str, value: Any, minimum: int, *, maximum: int | None = None, optional: bool = False
) -> int | None:
    """An integer that is not below ``minimum`` nor above ``maximum``, or what the library has room for; ``None`` if that is allowed."""
    if value is None and optional:
        return None
    fits = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and int(value) >= minimum
    most = _LARGEST if maximum is None else maximum
    if not fits or int(value) > most:
        # That there is an end is news only to those who went beyond it.
        end = "inf)" if maximum is None and not fits else f"{most}]"
        allowed = f"an int in the range [{minimum}, {end}" + (" or None" if optional else "")
        raise refuse(owner, name, allowed, value)
    return int(value)


def real(
    owner: str,
    name: str,
    value: Any,
    minimum: float,
    *,
    above: bool = False,
    below: float = math.inf,
    optional: bool = False,
) -> float | None:
    """A finite number that is not below ``minimum``, or is above it, and is ``below`` another; ``None`` if that is allowed."""
    if value is None and optional:
        return None
    fits = isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and math.isfinite(value)
    if not fits or value < minimum or (above and value == minimum) or value >= below:
        start = "(" if above or math.isinf(minimum) else "["
        allowed = f"a float in the range {start}{minimum}, {below})" + (" or None" if optional else "")
        raise refuse(owner, name, allowed, value)
    return float(value)


def boolean(owner: str, name: str, value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise refuse(owner, name, "an instance of 'bool'", value)
    return bool(value)


def choice(owner: str, name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of some names."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(repr(option) for option in allowed)
        raise refuse(owner, name, f"a str among {{{names}}}", value)
    return value


def precision(owner: str, value: Any) -> str | None:
    """The name of a precision, or ``None`` for that of the data."""
    if value is None or (isinstance(value, str) and value in ("float32", "float64")):
        return value
    raise refuse(owner, "precision", "a str among {'float32', 'float64'} or None", value)


def tolerance(owner: str, name: str, value: Any) -> float:
    """A tolerance as scikit-learn takes it: below one, and zero for the default."""
    return real(owner, name, value, 0, below=1) or 0.0


def memory_limit(owner: str, value: Any) -> str | None:
    """A budget as the library reads it: bytes, a text such as ``"4GiB"`` or ``"50%"``, or ``None``."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and int(value) > 0:
        return f"{int(value)}B"
    raise refuse(owner, "memory_limit", "a positive int (bytes), a str such as '4GiB' or '50%', or None", value)


def threads(owner: str, n_jobs: Any) -> int | None:
    """A number of threads from ``n_jobs``: ``None`` and -1 are all processors, -2 all but one."""
    if n_jobs is None:
        return None
    fits = isinstance(n_jobs, Integral) and not isinstance(n_jobs, (bool, np.bool_)) and n_jobs != 0
    if not fits or int(n_jobs) > MOST_THREADS:
        raise refuse(owner, "n_jobs", f"an int other than 0 and at most {MOST_THREADS}, or None", n_jobs)
    if int(n_jobs) > 0:
        return int(n_jobs)
    import os

    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, available + 1 + int(n_jobs))


def seed(owner: str, random_state: Any) -> int:
    """A seed from ``random_state``: ``None`` is 0, a generator is asked for a number."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and 0 <= int(random_state) < 2**64:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    allowed = "an int in the range [0, 2**64), a numpy.random.RandomState or Generator, or None"
    raise refuse(owner, "random_state", allowed, random_state)


def as_given(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as they are now, to be compared with later: those that can be changed in place are copied."""
    return {name: _copied(value) for name, value in params.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return as_given(value)
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    if isinstance(value, np.ndarray):
        return value.copy()
    # Such as scikit-learn's kernels of Gaussian processes, whose parameters are set by set_params(kernel__length_scale=...).
    return copy.deepcopy(value) if hasattr(value, "get_params") else value


def _are_same(now: Any, then: Any) -> bool:
    if now is then:
        return True
    if isinstance(now, _PLAIN) and isinstance(then, _PLAIN):
        # As numpy would say, without arrays of one: an order may have a million of them.
        return bool(now == then)
    if isinstance(now, dict) and isinstance(then, dict):
        return now.keys() == then.keys() and all(_are_same(now[name], then[name]) for name in now)
    if isinstance(now, (list, tuple)) and isinstance(then, (list, tuple)):
        # One by one: arrays of different shapes are not the rows of one.
        return len(now) == len(then) and all(map(_are_same, now, then))
    if type(now) is type(then) and hasattr(now, "get_params"):
        return _are_same(now.get_params(deep=False), then.get_params(deep=False))
    # A copy of what is not a number is not equal to it, but the same.
    may_have_gaps = all(isinstance(value, np.ndarray) and value.dtype.kind in "fc" for value in (now, then))
    return bool(np.array_equal(now, then, equal_nan=may_have_gaps))


def unchanged(now: dict[str, Any], then: dict[str, Any]) -> None:
    """Refuses parameters that are not what they were when learning began, and so would have no effect."""
    for name, value in then.items():
        if _are_same(now[name], value):
            continue
        stay, found = f"{value!r}", f", but it is {now[name]!r}"
        if "\n" in stay + found or len(stay + found) > 200:
            stay, found = "as it was", ""
        raise ValueError(f"{name} must stay {stay} while learning goes on{found}; fit begins anew")
