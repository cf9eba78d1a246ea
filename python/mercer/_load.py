"""Models from files."""

import os
from typing import TYPE_CHECKING

from ._mercer import Model

if TYPE_CHECKING:
    from ._kernel_pca import KernelPCA


def load(path: str | os.PathLike[str]) -> "KernelPCA":
    """The estimator in a file that :meth:`KernelPCA.save` or the command ``mercer fit`` has written.

    Nothing in the file is executed. A file that is damaged, altered or not a model is refused with ``ValueError``.
    """
    from ._kernel_pca import KernelPCA

    return KernelPCA._from_model(Model.load(os.fspath(path)))
