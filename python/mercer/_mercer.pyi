"""Kernel PCA that is exact at any size within a memory budget."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "INSTRUCTIONS",
    "ConvergenceError",
    "MemoryBudgetError",
    "Model",
    "__version__",
    "kernel_product",
    "plan",
    "ridge_coefficients",
]

__version__: Final[str]
INSTRUCTIONS: Final[str]

_Progress = Callable[[str, int, int | None, float, float | None], None]

class MemoryBudgetError(MemoryError): ...
class ConvergenceError(RuntimeError): ...

@final
class Model:
    @staticmethod
    def fit(
        x: NDArray[Any],
        settings: dict[str, Any],
        *,
        time_limit: float | None = None,
        progress: _Progress | None = None,
        on_partial: Callable[[Model], None] | None = None,
    ) -> Model: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Model: ...
    @staticmethod
    def from_bytes(data: bytes, kernel: dict[str, Any] | None = None) -> Model: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def to_bytes(self) -> bytes: ...
    def transform(
        self, x: NDArray[Any], *, threads: int | None = None, progress: _Progress | None = None
    ) -> NDArray[Any]: ...
    def training_scores(self) -> NDArray[Any]: ...
    def eigenvalues(self) -> NDArray[Any]: ...
    def eigenvectors(self) -> NDArray[Any]: ...
    def residuals(self) -> NDArray[np.float64]: ...
    def explained_variance_ratio(self) -> NDArray[np.float64]: ...
    def basis(self) -> NDArray[Any]: ...
    def basis_size(self) -> int: ...
    def record(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    @property
    def precision(self) -> str: ...

def plan(data: NDArray[Any] | tuple[int, int, str], settings: dict[str, Any]) -> tuple[str, str]: ...
def kernel_product(
    x: NDArray[Any], vectors: NDArray[np.float64], queries: NDArray[Any] | None, settings: dict[str, Any]
) -> tuple[NDArray[Any], str]: ...
def ridge_coefficients(
    scores: NDArray[Any],
    x: NDArray[Any],
    kernel: dict[str, Any],
    *,
    alpha: float,
    memory_limit: str | None = None,
    threads: int | None = None,
    dtype: str,
) -> NDArray[Any]: ...
