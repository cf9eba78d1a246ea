"""What estimators of components have in common, however they learn them."""

from typing import Any

import numpy as np

from ._arrays import in_type
from ._kernel_pca_preimages import Preimages


class Components(Preimages):
    """Results in the type of the data, the points learned from, the width of the kernel, and what scikit-learn asks."""

    _kernel_named_by = "kernel"

    def _type_of_results(self, points: Any) -> str:
        """The type that results have: that of the data, even where a fit has to be made in double precision."""
        return str(self.precision or ("float64" if points.dtype == np.float64 else "float32"))

    def _result_type(self) -> str:
        """The type that results of what was learned have."""
        return str(self.__dict__.get("_dtype") or self._searched_model().precision)

    def _results(self, values: Any, what: str) -> Any:
        return in_type(values, self._result_type(), what)

    def _width(self, kernel: dict[str, Any]) -> Any:
        """The inverse width of a kernel as a record tells it; as in scikit-learn, kernels without a width have one, too."""
        width = 1 / self.n_features_in_ if self.gamma is None or isinstance(self.gamma, str) else self.gamma
        return kernel.get("gamma", width)

    @property
    def X_fit_(self) -> Any:
        """Points that were learned from."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'X_fit_' before it is fitted")
        return self._learned_from()

    def _learned_from(self) -> Any:
        return self._model.points()

    # What scikit-learn asks

    @property
    def _n_features_out(self) -> int:
        return int(self.eigenvalues_.shape[0])
