"""A bar that shows how far a run is, on terminals and in notebooks: tqdm's where it is installed, plain text otherwise."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

from ._checks import InvalidParameterError

Report = Callable[[str, int, "int | None", float, "float | None"], None]


@contextmanager
def bar(progress: Any) -> Iterator[Report | None]:
    """What a run reports to, for the parameter ``progress``: nothing, a bar, or the user's own function."""
    check(progress)
    if callable(progress):
        yield progress
    elif not progress or sys.stderr is None:
        # A program without a console, as pythonw runs it, has nowhere to show a bar.
        yield None
    else:
        shown = _make_bar()
        try:
            yield shown.report
        except BaseException:
            shown.close(done=False)
            raise
        shown.close(done=True)


def check(progress: Any) -> None:
    """Refuses what is neither a choice nor a function."""
    if not (progress is None or callable(progress) or isinstance(progress, (bool, np.bool_))):
        raise InvalidParameterError(f"The 'progress' parameter must be a bool or a callable. Got {progress!r} instead.")


def _make_bar() -> "_TqdmBar | _PlainBar":
    try:
        with warnings.catch_warnings():
            # In a notebook without widgets it warns that its bar will be text, which is a bar all the same.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return _PlainBar(sys.stderr)
    return _TqdmBar(tqdm)


class _TqdmBar:
    """tqdm's bar, which fits terminals and notebooks."""

    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=1.0, desc="mercer", bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}")

    def report(self, phase: str, pass_: int, expected: int | None, fraction: float, residual: float | None) -> None:
        self._bar.set_description(_title(phase, pass_, expected), refresh=False)
        if residual is not None:
            self._bar.set_postfix_str(f"residual {residual:.1e}", refresh=False)
        self._bar.n = max(self._bar.n, _share(pass_, expected, fraction))
        self._bar.refresh()

    def close(self, *, done: bool) -> None:
        if done:
            self._bar.n = self._bar.total
            self._bar.refresh()
        self._bar.close()


class _PlainBar:
    """One line of text that is written over itself on a terminal and in a notebook, and one line per pass elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_one_line = _writes_over(stream)
        self._title = ""
        self._width = 0

    def report(self, phase: str, pass_: int, expected: int | None, fraction: float, residual: float | None) -> None:
        title = _title(phase, pass_, expected)
        accuracy = "" if residual is None else f", residual {residual:.1e}"
        if self._is_one_line:
            line = f"{title} {100 * _share(pass_, expected, fraction):3.0f} %{accuracy}"
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        elif title != self._title:
            self._stream.write(f"{title}{accuracy}\n")
        self._title = title
        self._stream.flush()

    def close(self, *, done: bool) -> None:
        if self._is_one_line:
            self._stream.write("\r" + ("done" if done else "stopped").ljust(self._width) + "\n")
        else:
            self._stream.write("done\n" if done else "stopped\n")
        self._stream.flush()


def _writes_over(stream: TextIO) -> bool:
    """Whether what follows a return takes the place of the line before it. In notebooks it does, though their streams are no terminals."""
    return stream.isatty() or any(made.__module__.partition(".")[0] == "ipykernel" for made in type(stream).__mro__)


def _title(phase: str, pass_: int, expected: int | None) -> str:
    if pass_ == 0:
        return phase
    return f"{phase}, pass {pass_}" + ("" if expected is None else f" of about {max(expected, pass_)}")


def _share(pass_: int, expected: int | None, fraction: float) -> float:
    """The share of the whole run that is done: passes are taken to last equally long."""
    if pass_ == 0 or expected is None:
        return fraction if pass_ == 0 and expected is None else 0.0
    return min((pass_ - 1 + fraction) / max(expected, pass_), 1.0)
