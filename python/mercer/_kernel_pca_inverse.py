"""The way from scores back to points, for :class:`mercer.KernelPCA`."""

from typing import Any

import numpy as np

from . import _base, _checks, _mercer, _progress
from ._arrays import dense, finite, in_type, rows
from ._base import check_is_fitted
from ._components import Components
from ._kernel_pca_settings import Settings


class Inverse(Components, Settings):
    """Pre-images by a learned regression, or by one of the methods that need no learning."""

    def _learns_inverse(self) -> bool:
        """Whether a fit learns the way back from scores."""
        owner = type(self).__name__
        wanted = _checks.boolean(owner, "fit_inverse_transform", self.fit_inverse_transform)
        if wanted and self._is_precomputed():
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        method, _ = self._wanted_inverse()
        return method == "ridge" and wanted

    def _known_options(self) -> dict[str, tuple[str, ...]]:
        # The ridge is a parameter of its own, as in scikit-learn.
        return {**_mercer.INVERSE_OPTIONS, "ridge": ()}

    def _fit_inverse_transform(
        self, points: Any, alpha: Any, memory_limit: str | None, time_limit: float | None
    ) -> None:
        scores = self._model.training_scores() if self._model.keeps_training_points else self._model.transform(points)
        scores = self._results(scores, "scores")
        with _progress.bar(self.progress) as report:
            coefficients = _mercer.ridge_coefficients(
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
        self.dual_coef_ = self._results(coefficients, "coefficients of the inverse transform")
        self.X_transformed_fit_ = scores

    def _search(self, method: str, options: dict[str, Any], X: Any, start: Any) -> tuple[Any, Any, Any]:
        if method != "ridge":
            return super()._search(method, options, X, start)
        points = self._ridge(X)
        return points, None, np.ones(points.shape[0], dtype=bool)

    def _ridge(self, X: Any) -> Any:
        """Points by the regression that the fit has learned."""
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
        points = kernel_product(
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
        return in_type(points, points.dtype, "points")
