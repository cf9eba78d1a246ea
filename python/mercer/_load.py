"""Models from files."""

import os
from typing import TYPE_CHECKING

from ._mercer import Autoencoder, load_any

if TYPE_CHECKING:
    from ._autoencoder import AutoencoderKernelPCA
    from ._kernel_pca import KernelPCA


def load(path: str | os.PathLike[str]) -> "KernelPCA | AutoencoderKernelPCA":
    """The estimator in a file that its ``save`` or the command ``mercer fit`` has written.

    Nothing in the file is executed. A file that is damaged, altered or not a model is refused with ``ValueError``.
    """
    model = load_any(os.fspath(path))
    if isinstance(model, Autoencoder):
        from ._autoencoder import AutoencoderKernelPCA

        return AutoencoderKernelPCA._from_model(model)
    from ._kernel_pca import KernelPCA

    return KernelPCA._from_model(model)
