"""scikit-learn, which is imported when something asks for it, and what is to happen the moment it is."""

import importlib
import importlib.abc
import re
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

# The part of scikit-learn that estimators inherit from. Any import of scikit-learn imports it, too.
_BASE = "sklearn.base"

# The oldest version that tests run with.
_OLDEST = (1, 9)


def load() -> ModuleType | None:
    """The module ``sklearn.base``, imported now unless it was before; ``None`` where scikit-learn is not installed."""
    try:
        base = importlib.import_module(_BASE)
        importlib.import_module("sklearn.utils.validation")
    except ModuleNotFoundError as error:
        if error.name != "sklearn":
            raise
        return None
    if is_too_old():
        found = sys.modules["sklearn"].__version__
        raise ImportError(f"mercer needs scikit-learn {_OLDEST[0]}.{_OLDEST[1]} or newer where it is installed, but found {found}")
    return base


def is_too_old() -> bool:
    """Whether the scikit-learn that was imported is older than what estimators can stand on."""
    found = re.match(r"(\d+)\.(\d+)", sys.modules["sklearn"].__version__)
    return found is not None and (int(found[1]), int(found[2])) < _OLDEST


def when_imported(act: Callable[[ModuleType], None]) -> None:
    """Calls ``act`` with the module ``sklearn.base``: now if it is there, or else as soon as anything has imported it."""
    if _BASE in sys.modules:
        # Waits for another thread that may be in the middle of it.
        act(importlib.import_module(_BASE))
    else:
        sys.meta_path.insert(0, _Watch(act))


class _Watch(importlib.abc.MetaPathFinder):
    """Leaves finding modules to the others, and acts when the one it waits for has been executed."""

    def __init__(self, act: Callable[[ModuleType], None]) -> None:
        self._act = act

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _BASE:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None or spec.loader is None:
            return None
        loader, execute = spec.loader, spec.loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            # The loader's own method again: the module keeps its loader as it was.
            del loader.exec_module
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self._act(module)

        loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec
