"""What estimators are built on: a small stand-in of our own until something imports scikit-learn, and scikit-learn's classes from then on.

Importing scikit-learn takes a second, and a fit of an array needs nothing of it. So estimators begin on ``_standalone``. The moment ``sklearn.base`` is
imported, by whomever, its classes take the stand-in's place below every estimator there is, to the same effect as if they had been there first. What the
two do differently (frames, sparse rows, what wrong input is told, ``set_output``, classes of warnings and exceptions) imports scikit-learn where it is installed.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import _standalone
from ._scikit_learn import is_too_old, load, when_imported

if TYPE_CHECKING:
    from ._standalone import ConvergenceWarning, NotFittedError

__all__ = [
    "Clusterer",
    "ConvergenceWarning",
    "Estimator",
    "NotFittedError",
    "check_is_fitted",
    "convergence_warning",
    "not_fitted",
    "validate_data",
    "warn",
]

# What of scikit-learn the stand-in has been replaced by, if it has.
_theirs: ModuleType | None = None


# To a type checker what estimators inherit from is anything, as scikit-learn's classes are.
_estimator: Any = _standalone.BaseEstimator
_transformer: Any = _standalone.TransformerMixin
_clusterer: Any = _standalone.ClusterMixin
_with_names: Any = _standalone.ClassNamePrefixFeaturesOutMixin


class Fitted(_estimator):  # type: ignore[misc]
    """What all estimators of this package share.

    A fitted estimator keeps its model, an object of the extension module, in ``_model``. In pickles it is the bytes of its file.
    """

    # The parameter that is ``"precomputed"`` where rows are those of a kernel matrix, if there is such a parameter.
    _kernel_named_by: ClassVar[str | None] = None

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = bytes(state["_model"].to_bytes())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        model = state.pop("_model", None)
        if "_sklearn_output_config" in state:
            # Its outputs are frames, which scikit-learn makes.
            load()
        super().__setstate__(state)
        if model is not None:
            self._model = self._model_from_bytes(model)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        # The stand-in answers with all of it done already; done twice, it is the same.
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _is_precomputed(self) -> bool:
        """Whether rows are those of a kernel matrix, and not points."""
        kernel = None if self._kernel_named_by is None else getattr(self, self._kernel_named_by)
        return isinstance(kernel, str) and kernel == "precomputed"

    def _model_from_bytes(self, data: bytes) -> Any:
        """The model with these bytes."""
        raise NotImplementedError(f"{type(self).__name__} must say how its model is read")

    @contextmanager
    def _or_as_it_was(self) -> Iterator[None]:
        """Leaves everything as it was before what is done within, if that fails and has brought no model (after Ctrl-C it may have)."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            model = self.__dict__.get("_model")
            if model is None or model is before.get("_model"):
                self.__dict__.clear()
                self.__dict__.update(before)
            raise

    def _feature_names(self) -> list[str] | None:
        """The names of the columns learned from, if there are any by which a column can be found."""
        names = getattr(self, "feature_names_in_", None)
        if names is None or len(set(names)) < len(names):
            return None
        return [str(name) for name in names]

    def _adopt_feature_names(self, names: list[str] | None) -> None:
        """Makes the names that a file tells this estimator's own."""
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)


class Estimator(_with_names, _transformer, Fitted):  # type: ignore[misc]
    """What estimators share that transform points."""

    # Types that results have where the data has them.
    _types_kept: ClassVar[tuple[str, ...]] = ("float64", "float32")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = list(self._types_kept)
        return tags


class Clusterer(_clusterer, Fitted):  # type: ignore[misc]
    """What estimators share that put points into clusters."""


def _stand_on(base: ModuleType) -> None:
    """Puts the classes of ``sklearn.base`` in the place of the stand-in's."""
    global _theirs
    if is_too_old():
        return  # Whoever needs it is told so.
    _theirs = base
    Fitted.__bases__ = (base.BaseEstimator,)
    Estimator.__bases__ = (base.ClassNamePrefixFeaturesOutMixin, base.TransformerMixin, Fitted)
    Clusterer.__bases__ = (base.ClusterMixin, Fitted)
    # What scikit-learn does to a class that is made: outputs as frames, requests for metadata. Classes before those made from them.
    for made in sorted(_with_subclasses(Fitted), key=lambda made: len(made.__mro__)):
        above = next(shared for shared in (Estimator, Clusterer, Fitted) if issubclass(made, shared))
        super(above, made).__init_subclass__(**vars(made).get("_made_with", {}))


def _with_subclasses(made: type[Any]) -> set[type[Any]]:
    subclasses: list[type[Any]] = made.__subclasses__()
    return {made}.union(*map(_with_subclasses, subclasses))


when_imported(_stand_on)


def validate_data(estimator: Any, X: Any, **options: Any) -> Any:
    """The rows of ``X`` as an array, checked against what the estimator was fitted on unless ``reset``.

    It is scikit-learn's function of that name, except that text is refused, as scikit-learn's estimators refuse it: asked for a type,
    the function would read numbers from it. Arrays of numbers that nothing is wrong with do not need it.
    """
    if isinstance(X, (str, bytes, list, tuple)):
        X = np.asarray(X)
    if getattr(getattr(X, "dtype", None), "kind", None) in ("U", "S", "V"):
        raise ValueError(f"X must hold numbers, but it holds text or bytes ({X.dtype}): convert it to numbers explicitly")
    is_plain = type(X) is np.ndarray and X.dtype.kind in "fiub"
    if _theirs is None and is_plain and not hasattr(estimator, "feature_names_in_"):
        try:
            return _standalone.validate_data(estimator, X, **options)
        except ValueError:
            if load() is None:
                raise
    if load() is None:
        return _standalone.validate_data(estimator, X, **options)
    return sys.modules["sklearn.utils.validation"].validate_data(estimator, X, **_with_own_type(X, options))


def _with_own_type(X: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a check that keeps the type of numbers of ``X``.

    Of several types that are allowed, scikit-learn's check takes the first for whatever does not tell its own as NumPy and pandas do:
    polars frames, for example.
    """
    allowed = options["dtype"]
    tells = hasattr(getattr(X, "dtype", None), "kind") or hasattr(getattr(X, "dtypes", None), "__array__")
    if tells or not isinstance(allowed, list):
        return options
    own = np.asarray(X).dtype
    return {**options, "dtype": own} if own in allowed else options


def check_is_fitted(estimator: Any) -> None:
    """Raises if the estimator has not been fitted."""
    if not estimator.__sklearn_is_fitted__():
        name = type(estimator).__name__
        raise not_fitted(
            f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
        )


def not_fitted(message: str) -> Exception:
    """The exception for an estimator that is used before it was fitted: scikit-learn's where that is installed."""
    return _exceptions().NotFittedError(message)  # type: ignore[no-any-return]


def convergence_warning() -> type[Warning]:
    """The class of warnings about answers that did not reach the asked accuracy: scikit-learn's where that is installed."""
    return _exceptions().ConvergenceWarning  # type: ignore[no-any-return]


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the line that called this package, however deep within it, and within scikit-learn around it, there is something to say."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("mercer", "sklearn"):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def _exceptions() -> ModuleType:
    return _standalone if load() is None else sys.modules["sklearn.exceptions"]


def __getattr__(name: str) -> Any:
    if name in ("ConvergenceWarning", "NotFittedError"):
        return getattr(_exceptions(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
