"""What estimators are built on: scikit-learn where it is installed, a small stand-in of our own where it is not.

Importing scikit-learn takes about a second. It is imported with the first instance of an estimator, or at once if somebody else has
imported it already: only then do the estimators' classes get their bases.
"""

import importlib
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from ._mercer import __version__

__all__ = ["Estimator", "check_is_fitted", "validate_data"]

_lock = threading.RLock()
_found: ModuleType | None = None


def parts() -> Any:
    """The module with the base classes and checks: of scikit-learn, or our own. From the first call on, estimators are built on it."""
    global _found
    with _lock:
        if _found is None:
            module = _import()
            bases = (module.ClassNamePrefixFeaturesOutMixin, module.TransformerMixin, module.BaseEstimator)
            Estimator.__bases__ = bases
            for late in _with_subclasses(Estimator):
                # What the bases do to a class that is made from them: `set_output`, metadata requests.
                super(late, late).__init_subclass__()
            _found = module
        return _found


def _import() -> Any:
    try:
        return importlib.import_module("._scikit", __package__)
    except ModuleNotFoundError as error:
        if error.name != "sklearn":
            raise
        return importlib.import_module("._standalone", __package__)
    except ImportError as error:
        raise ImportError(f"mercer needs scikit-learn 1.6 or newer where it is installed: {error}") from error


def _with_subclasses(cls: Any) -> list[Any]:
    """A class and all below it, each after its bases."""
    return [cls, *(below for direct in cls.__subclasses__() for below in _with_subclasses(direct))]


def __getattr__(name: str) -> Any:
    """``ConvergenceWarning`` and ``NotFittedError``, which are scikit-learn's own where it is installed."""
    if name in ("ConvergenceWarning", "NotFittedError"):
        return getattr(parts(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def check_is_fitted(estimator: Any) -> None:
    """Raises ``NotFittedError`` if the estimator has not been fitted."""
    parts().check_is_fitted(estimator)


def validate_data(estimator: Any, X: Any, **checks: Any) -> Any:
    """The rows of ``X`` as an array, checked, as scikit-learn does it."""
    return parts().validate_data(estimator, X, **checks)


if TYPE_CHECKING:
    from ._standalone import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

    class _Bases(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
        n_features_in_: int

        def __sklearn_tags__(self) -> Any: ...

else:

    class _Bases:
        """Stands where the base classes of estimators will stand."""


class Estimator(_Bases):
    """What all estimators of this package share.

    A fitted estimator keeps its model, an object of the extension module, in ``_model``. In pickles it is the bytes of its file.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        parts()
        return super().__new__(cls)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = bytes(state["_model"].to_bytes())
        state["_mercer_version"] = __version__
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        state.pop("_mercer_version", None)
        model = state.pop("_model", None)
        super().__setstate__(state)
        if model is not None:
            self._model = self._model_from_bytes(model)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _model_from_bytes(self, data: bytes) -> Any:
        """The model with these bytes."""
        raise NotImplementedError(f"{type(self).__name__} must say how its model is read")


if "sklearn" in sys.modules:
    parts()
