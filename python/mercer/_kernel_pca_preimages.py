"""Points from scores, for estimators that have learned a model."""

from typing import Any

import numpy as np

from . import _base, _checks, _mercer, _progress
from ._arrays import DTYPES, dense, rows, vectors
from ._base import Estimator, check_is_fitted, validate_data

# Ways back that do not begin at a point.
_WITHOUT_START = ("ridge", "distance")

_OF_ITERATIONS = "more max_iterations or restarts in inverse_options, a larger tolerance there, or another start may help"

# What to do about points that have not converged.
_ADVICE = {
    "fixed-point": _OF_ITERATIONS,
    "gradient": _OF_ITERATIONS,
    "distance": "not all of their values are those of distances, and fewer neighbors in inverse_options, or inverse='gradient', may help",
    "polynomial": "inverse='gradient' may help",
}


class Preimages(Estimator):
    """Pre-images in the way that the parameters ``inverse`` and ``inverse_options`` say."""

    def inverse_transform(self, X: Any, start: Any = None) -> Any:
        """Points whose scores are near the rows of ``X``, in the way that ``inverse`` says.

        Points that have not converged are told with a ``ConvergenceWarning``; :meth:`preimages` says which they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_components)
        start : array-like of shape (n_queries, n_features), optional
            Points from which the others are searched, for ``inverse`` other than ``"ridge"`` and ``"distance"``; the points learned from
            with the nearest scores by default.

        Returns
        -------
        ndarray of shape (n_queries, n_features)
        """
        method, points, _, converged = self._found(X, start)
        if not converged.all():
            missed = f"{np.count_nonzero(~converged)} of {converged.size} points did not converge with inverse={method!r}"
            message = f"{missed}: {_ADVICE[method]}; preimages says which they are and how far off"
            _base.warn(message, _base.convergence_warning())
        return points

    def preimages(self, X: Any, start: Any = None) -> tuple[Any, Any, Any]:
        """What :meth:`inverse_transform` gives, and how good it is.

        Returns
        -------
        points : ndarray of shape (n_queries, n_features)
        feature_error : ndarray of shape (n_queries,)
            Squared distance in feature space between each point's image and what its scores stand for.
        converged : ndarray of bool, of shape (n_queries,)
            Always so for ``inverse="ridge"``, which searches nothing.
        """
        _, points, feature_error, converged = self._found(X, start)
        if feature_error is None:
            feature_error = self._feature_errors(points, rows(X, "X"))
        return points, feature_error, converged

    def _found(self, X: Any, start: Any) -> tuple[str, Any, Any, Any]:
        """The way that was taken, points, their errors if it tells them, and whether each has converged."""
        method, options = self._wanted_inverse()
        if start is not None and method in _WITHOUT_START:
            raise ValueError(f"start must be left out with inverse={method!r}, which searches from nowhere")
        return method, *self._search(method, options, X, start)

    def _search(self, method: str, options: dict[str, Any], X: Any, start: Any) -> tuple[Any, Any, Any]:
        """Points, their errors (``None`` where the way does not tell them), and whether each has converged."""
        owner = type(self).__name__
        check_is_fitted(self)
        if start is not None:
            start = dense(validate_data(self, start, accept_sparse="csr", dtype=DTYPES, order="C", reset=False))
        scores = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if scores.ndim != 2:
            raise ValueError(f"X must be a 2D array of scores, but it has {scores.ndim} dimension(s)")
        memory_limit, n_jobs, progress = self._means()
        settings = {
            "method": method,
            **options,
            "memory_limit": _checks.memory_limit(owner, memory_limit),
            "threads": _checks.threads(owner, n_jobs),
        }
        model, scores = self._model_and_scores(vectors(scores, "X", scores.shape[0]))
        with _progress.bar(progress) as report:
            points, feature_error, converged = _mercer.preimages(model, scores, settings, start=start, progress=report)
        return self._results(points, "points"), feature_error, converged

    def _means(self) -> tuple[Any, Any, Any]:
        """The memory that a search may take, its threads, and what shows how far it is, as parameters say it."""
        return self.memory_limit, self.n_jobs, self.progress

    def _model_and_scores(self, scores: Any) -> tuple[Any, Any]:
        """The model that is searched with, and its scores for what :meth:`transform` gives."""
        return self._searched_model(), scores

    def _searched_model(self) -> Any:
        """The model that the scores belong to."""
        return self._model

    def _results(self, values: Any, what: str) -> Any:
        """Numbers of the model in the type that results have; ``what`` they are."""
        return values

    def _feature_errors(self, points: Any, scores: Any) -> Any:
        """Squared distances in feature space between images of points and what scores stand for.

        They are what the components leave of an image, and the squared differences of its scores, with the signs of the eigenvalues.
        """
        model, threads = self._searched_model(), _checks.threads(type(self).__name__, self.n_jobs)
        left, _ = model.novelty(points, threads=threads)
        gaps = model.transform(points, threads=threads).astype(np.float64) - scores
        return left.astype(np.float64) + gaps**2 @ np.sign(model.eigenvalues().astype(np.float64))

    def _wanted_inverse(self) -> tuple[str, dict[str, Any]]:
        """The way back from scores that is asked for, and its settings as the extension module takes them."""
        owner, given = type(self).__name__, self.inverse_options
        method = _checks.choice(owner, "inverse", self.inverse, _mercer.INVERSES)
        if given is not None and not isinstance(given, dict):
            raise _checks.refuse(owner, "inverse_options", "an instance of 'dict' or None", given)
        options = dict(given or {})
        _check_names(owner, method, options, self._known_options())

        def count(name: str, minimum: int) -> int | None:
            return _checks.integer(owner, f"inverse_options[{name!r}]", options.get(name), minimum, optional=True)

        def number(name: str, *, above: bool) -> float | None:
            return _checks.real(owner, f"inverse_options[{name!r}]", options.get(name), 0, above=above, optional=True)

        return method, {
            "max_iterations": count("max_iterations", 1),
            "tolerance": number("tolerance", above=True),
            "restarts": count("restarts", 0),
            "neighbors": count("neighbors", 2),
            "alpha": number("alpha", above=False),
        }

    def _known_options(self) -> dict[str, tuple[str, ...]]:
        """The names of the settings of each way that ``inverse_options`` may hold."""
        return _mercer.INVERSE_OPTIONS


def _check_names(owner: str, method: str, options: dict[str, Any], known: dict[str, tuple[str, ...]]) -> None:
    """Refuses settings that there are not, and those that the method does not read."""
    for name in options:
        if name in known[method]:
            continue
        allowed = f"a dict with keys among {{{', '.join(map(repr, known[method]))}}}" if known[method] else "left out"
        readers = " and ".join(repr(other) for other, names in known.items() if name in names)
        why = f"{name!r} is for {readers}" if readers else f"there is no {name!r}"
        if name == "alpha" and not readers:
            why = "its ridge is the parameter alpha" if method == "ridge" else "alpha is a parameter of its own, for 'ridge' alone"
        raise _checks.InvalidParameterError(
            f"The 'inverse_options' parameter of {owner} must be {allowed} with inverse={method!r}: {why}. Got {options!r} instead."
        )
