"""Kernel PCA that is exact at any size within a memory budget.

``from mercer import KernelPCA`` is a drop-in for scikit-learn's class of that name. Importing this package costs next to
nothing: NumPy is imported with the first name that needs it, and scikit-learn by whoever needs it: estimators are its own as soon as it is there.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._mercer import ConvergenceError, MemoryBudgetError, __version__

if TYPE_CHECKING:
    from . import metrics
    from ._autoencoder import AutoencoderKernelPCA
    from ._base import ConvergenceWarning
    from ._climb import ArdResult, ParameterResult, tune_ard, tune_parameters
    from ._cluster import SpectralClustering
    from ._denoise import denoise_image, denoise_rows
    from ._fourier import FourierFeatures
    from ._functions import Plan, kernel_product, plan
    from ._hebbian import KernelHebbianPCA
    from ._kernel_pca import KernelPCA, RankWarning
    from ._kernels import block_kernel
    from ._load import load
    from ._nystroem import Nystroem
    from ._online import OnlineKernelPCA
    from ._tune import KernelTuner, TuneResult, tune_kernel
    from ._upscale import upscale
    from ._versions import show_versions

# Where each name that is imported on first use lives.
_LAZY = {
    "ArdResult": "_climb",
    "AutoencoderKernelPCA": "_autoencoder",
    "ConvergenceWarning": "_base",
    "FourierFeatures": "_fourier",
    "KernelHebbianPCA": "_hebbian",
    "KernelPCA": "_kernel_pca",
    "KernelTuner": "_tune",
    "Nystroem": "_nystroem",
    "OnlineKernelPCA": "_online",
    "ParameterResult": "_climb",
    "Plan": "_functions",
    "RankWarning": "_kernel_pca",
    "SpectralClustering": "_cluster",
    "TuneResult": "_tune",
    "block_kernel": "_kernels",
    "denoise_image": "_denoise",
    "denoise_rows": "_denoise",
    "kernel_product": "_functions",
    "load": "_load",
    "plan": "_functions",
    "show_versions": "_versions",
    "tune_ard": "_climb",
    "tune_kernel": "_tune",
    "tune_parameters": "_climb",
    "upscale": "_upscale",
}
# Modules that are part of the interface.
_MODULES = ("metrics",)

__all__ = [
    "ArdResult",
    "AutoencoderKernelPCA",
    "ConvergenceError",
    "ConvergenceWarning",
    "FourierFeatures",
    "KernelHebbianPCA",
    "KernelPCA",
    "KernelTuner",
    "MemoryBudgetError",
    "Nystroem",
    "OnlineKernelPCA",
    "ParameterResult",
    "Plan",
    "RankWarning",
    "SpectralClustering",
    "TuneResult",
    "__version__",
    "block_kernel",
    "denoise_image",
    "denoise_rows",
    "kernel_product",
    "load",
    "metrics",
    "plan",
    "show_versions",
    "tune_ard",
    "tune_kernel",
    "tune_parameters",
    "upscale",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_LAZY) | set(_MODULES))
