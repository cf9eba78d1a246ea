"""Files and pickles of :class:`mercer.KernelHebbianPCA`."""

import os
from typing import Any

from . import _checks, _mercer
from ._base import check_is_fitted
from ._components import Components


class Files(Components):
    """How a fitted estimator becomes bytes, and comes back from them; its finished model is in ``_finished``."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the finished model to a file that :func:`mercer.load` (as a :class:`KernelPCA`) and the command ``mercer`` read.

        It cannot learn on; a pickle of this estimator can.
        """
        check_is_fitted(self)
        self._finished.save(os.fspath(path), self._feature_names())

    def _model_from_bytes(self, data: bytes) -> _mercer.HebbianLearner:
        owner = type(self).__name__
        points = self.__dict__.pop("_points")
        return _mercer.HebbianLearner.from_bytes(
            data,
            points,
            self.__dict__.get("_function"),
            memory_limit=_checks.memory_limit(owner, self.memory_limit),
            threads=_checks.threads(owner, self.n_jobs),
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # The points are not among the bytes of a run, and the finished model follows from it.
        if state.pop("_finished", None) is not None:
            state["_points"] = self._model.points()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in self.__dict__:
            self._finished = self._model.model()

    def _searched_model(self) -> Any:
        return self._finished
