"""How good it is what :class:`mercer.KernelHebbianPCA` has learned."""

from typing import Any

from . import _mercer
from ._base import check_is_fitted


class Metrics:
    """Errors and angles of the components as updated, of a learner in ``_model``."""

    _model: _mercer.HebbianLearner

    def reconstruction_error(self) -> float:
        """What the components as updated leave of the kernel matrix: ``‖K − (A K)ᵀ A K‖``, with ``A`` the ``coefficients_`` and ``K`` centred.

        It takes one pass over the matrix and stores nothing of it.
        """
        check_is_fitted(self)
        return float(self._model.reconstruction_error())

    def excess_relative_error(self, reference: Any) -> float:
        """How much larger :meth:`reconstruction_error` is than that of another model of the same points, relative to it.

        Parameters
        ----------
        reference : fitted KernelPCA or KernelHebbianPCA
            Of an exact model with as many components the error is the smallest possible one.
        """
        check_is_fitted(self)
        return float(self._model.excess_relative_error(model_of(reference, "reference")))

    def feature_error(self) -> float:
        """The squared error of the points in feature space, ``‖Φ − Φ Wᵀ W‖²`` with ``W = A Φ``; it takes no pass."""
        check_is_fitted(self)
        return float(self._model.feature_error())

    def subspace_angle(self, reference: Any) -> float:
        """The largest angle between the learned span and that of another model of the same points, in radians.

        Parameters
        ----------
        reference : fitted KernelPCA or KernelHebbianPCA
            A model with as many components.
        """
        check_is_fitted(self)
        return float(self._model.subspace_angle(model_of(reference, "reference")))


def model_of(estimator: Any, name: str) -> _mercer.Model:
    """The model of a fitted estimator."""
    for attribute in ("_finished", "_model"):
        model = getattr(estimator, attribute, None)
        if isinstance(model, _mercer.Model):
            return model
        if isinstance(model, _mercer.OnlineLearner):
            return model.model()
    raise TypeError(f"{name} must be a fitted KernelPCA, KernelHebbianPCA or OnlineKernelPCA, but it is {estimator!r}")
