"""Files and pickles of :class:`mercer.KernelPCA`."""

import json
import os
from typing import Any, Self

import numpy as np

from . import _mercer
from ._base import check_is_fitted
from ._kernel_pca_inverse import Inverse


class Files(Inverse):
    """How a fitted estimator becomes bytes, and comes back from them."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file that :func:`mercer.load` and the command ``mercer`` read.

        The file holds kernel, points, components, the names of features and the record of the fit; it does not hold a learned
        inverse transform or a kernel that is a function (``ValueError``). A pickle holds all of them.
        """
        check_is_fitted(self)
        self._model.save(os.fspath(path), self._feature_names())

    @classmethod
    def _from_model(cls, model: _mercer.Model) -> Self:
        """The estimator that would have learned this model.

        Over landmarks it is over as many, chosen alike. A model that was learned one row at a time comes back as kernel PCA that uses it,
        and whose ``fit`` learns exact components.
        """
        record = json.loads(model.record())
        kernel, over = record["kernel"], record.get("nystrom")
        tail, tolerance = kernel.get("alpha"), record["tolerance"]
        is_solved = over is not None or record["solver"] in _mercer.SOLVERS
        landmarks = None if over is None else over["landmarks"]
        # Of those that are given, the model keeps what is no combination of others: they say themselves how many they are.
        is_given = landmarks == "given"
        estimator = cls(
            n_components=max(record["n_components"], 1),
            kernel=kernel["name"],
            gamma=kernel.get("gamma"),
            degree=kernel.get("degree", 3),
            coef0=kernel.get("coef0", 1),
            kernel_params=None if tail is None else {"alpha": tail},
            # Over landmarks, one is what was not asked for.
            tolerance=tolerance if is_solved and 0 < tolerance < 1 else None,
            precision=model.precision,
            random_state=record["seed"],
            center=record["centered"],
            negative="flip" if min(record["eigenvalues"], default=0) < 0 else None,
            scaling=model.scaling,
            gram="auto" if over is None else "nystrom",
            landmarks=model.points() if is_given else landmarks,
            n_landmarks=None if over is None or is_given else over["n_landmarks"],
        )
        estimator.n_features_in_ = model.n_features
        estimator._adopt_feature_names(model.feature_names)
        estimator._adopt(model, None)
        return estimator

    def _model_from_bytes(self, data: bytes) -> _mercer.Model:
        return _mercer.Model.from_bytes(data, self.__dict__.get("_function"))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # The model holds dense points itself; a precomputed matrix, sparse rows and points before scaling it does not hold as they
        # are.
        holds_them = self._model.basis_size() > 0 and self._model.scaling is None if "_model" in state else False
        if isinstance(state.get("_X_fit"), np.ndarray) and holds_them:
            state["_X_fit"] = None
        return state
