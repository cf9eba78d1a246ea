"""The way from scores back to points, for :class:`mercer.KernelPCA`."""

from typing import Any

import numpy as np

from . import _base, _checks, _mercer, _progress
from ._arrays import DTYPES, dense, finite, rows, vectors
from ._base import check_is_fitted, validate_data
from ._kernel_pca_settings import Settings


class Inverse(Settings):
    """Pre-images by a learned regression, or by one of the methods that need no learning."""

    def _learns_inverse(self) -> bool:
        """Whether a fit learns the way back from scores."""
        owner = type(self).__name__
        wanted = _checks.boolean(owner, "fit_inverse_transform", self.fit_inverse_transform)
        if wanted and isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        method, _ = self._wanted_inverse()
        return method == "ridge" and wanted

    def _wanted_inverse(self) -> tuple[str, dict[str, Any]]:
        """The way back from scores that is asked for, and its settings as the extension module takes them."""
        owner, given = type(self).__name__, self.inverse_options
        method = _checks.choice(owner, "inverse", self.inverse, _mercer.INVERSES)
        if given is not None and not isinstance(given, dict):
            raise _checks.refuse(owner, "inverse_options", "an instance of 'dict' or None", given)
        options = dict(given or {})
        _check_names(owner, method, options)

        def count(name: str, minimum: int) -> int | None:
            return _checks.integer(owner, f"inverse_options[{name!r}]", options.get(name), minimum, optional=True)

        tolerance = options.get("tolerance")
        return method, {
            "max_iterations": count("max_iterations", 1),
            "tolerance": _checks.real(owner, "inverse_options['tolerance']", tolerance, 0, above=True, optional=True),
            "restarts": count("restarts", 0),
            "neighbors": count("neighbors", 2),
        }

    def _fit_inverse_transform(
        self, points: Any, alpha: Any, memory_limit: str | None, time_limit: float | None
    ) -> None:
        scores = self._model.training_scores() if self._model.keeps_training_points else self._model.transform(points)
        scores = self._results(scores)
        with _progress.bar(self.progress) as report:
            self.dual_coef_ = _mercer.ridge_coefficients(
                dense(scores),
                points,
                self._kernel_settings(self.gamma_, None),
                alpha=alpha,
                memory_limit=memory_limit,
                threads=_checks.threads(type(self).__name__, self.n_jobs),
                dtype=scores.dtype.name,
                time_limit=time_limit,
                progress=report,
            )
        self.X_transformed_fit_ = scores

    def inverse_transform(self, X: Any, start: Any = None) -> Any:
        """Points whose scores are near the rows of ``X``, in the way that ``inverse`` says.

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
        method, _ = self._wanted_inverse()
        return self._ridge(X, start) if method == "ridge" else self.preimages(X, start)[0]

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
        owner = type(self).__name__
        method, options = self._wanted_inverse()
        if method == "ridge":
            points = self._ridge(X, start)
            return points, self._feature_errors(points, rows(X, "X")), np.ones(points.shape[0], dtype=bool)
        check_is_fitted(self)
        if start is not None:
            if method == "distance":
                raise ValueError("start must be left out with inverse='distance', which searches from nowhere")
            start = dense(validate_data(self, start, accept_sparse="csr", dtype=DTYPES, order="C", reset=False))
        scores = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if scores.ndim != 2:
            raise ValueError(f"X must be a 2D array of scores, but it has {scores.ndim} dimension(s)")
        settings = {"method": method, **options, "threads": _checks.threads(owner, self.n_jobs)}
        with _progress.bar(self.progress) as report:
            points, feature_error, converged = _mercer.preimages(
                self._model, vectors(scores, "X", scores.shape[0]), settings, start=start, progress=report
            )
        return self._results(points), feature_error, converged

    def _feature_errors(self, points: Any, scores: Any) -> Any:
        """Squared distances in feature space between images of points and what scores stand for.

        They are what the components leave of an image, and the squared differences of its scores, with the signs of the eigenvalues.
        """
        threads = _checks.threads(type(self).__name__, self.n_jobs)
        left, _ = self._model.novelty(points, threads=threads)
        gaps = self._model.transform(points, threads=threads).astype(np.float64) - scores
        return left.astype(np.float64) + gaps**2 @ np.sign(self._model.eigenvalues().astype(np.float64))

    def _ridge(self, X: Any, start: Any) -> Any:
        if start is not None:
            raise ValueError("start must be left out with inverse='ridge', which searches from nowhere")
        if not self.fit_inverse_transform:
            raise _base.not_fitted(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available. Other values of inverse than 'ridge' need nothing to be learned: "
                "set_params(inverse='fixed-point'), for example."
            )
        if hasattr(self, "eigenvalues_") and not hasattr(self, "dual_coef_"):
            raise _base.not_fitted(
                "The inverse transform is not available: the fit was stopped before it was learned, or the model comes from a "
                "file, which does not hold it."
            )
        check_is_fitted(self)
        from ._functions import kernel_product

        scores, expected = finite(rows(X, "X"), "X"), self.X_transformed_fit_.shape[1]
        if scores.shape[1] != expected:
            raise ValueError(f"X must have {expected} columns, one per component, but it has {scores.shape[1]}")
        return kernel_product(
            self.X_transformed_fit_,
            self.dual_coef_,
            queries=scores,
            kernel=self.kernel,
            gamma=self.gamma_,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            memory_limit=self.memory_limit,
            n_jobs=self.n_jobs,
        )


def _check_names(owner: str, method: str, options: dict[str, Any]) -> None:
    """Refuses settings that there are not, and those that the method does not read."""
    # The ridge is a parameter of its own, as in scikit-learn.
    known = {name: () if name == "ridge" else names for name, names in _mercer.INVERSE_OPTIONS.items()}
    for name in options:
        if name in known[method]:
            continue
        allowed = f"a dict with keys among {{{', '.join(map(repr, known[method]))}}}" if known[method] else "left out"
        readers = " and ".join(repr(other) for other, names in known.items() if name in names)
        why = f"{name!r} is for {readers}" if readers else f"there is no {name!r}"
        if method == "ridge" and name == "alpha":
            why = "its ridge is the parameter alpha"
        raise _checks.InvalidParameterError(
            f"The 'inverse_options' parameter of {owner} must be {allowed} with inverse={method!r}: {why}. Got {options!r} instead."
        )
