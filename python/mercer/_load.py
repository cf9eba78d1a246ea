"""Models from files."""

import os
from typing import TYPE_CHECKING

from ._mercer import Autoencoder, ClusterModel, load_any

if TYPE_CHECKING:
    from ._autoencoder import AutoencoderKernelPCA
    from ._cluster import SpectralClustering
    from ._kernel_pca import KernelPCA
    from ._online import OnlineKernelPCA


def load(path: str | os.PathLike[str]) -> "KernelPCA | AutoencoderKernelPCA | SpectralClustering | OnlineKernelPCA":
    """The estimator in a file that its ``save`` or the commands ``mercer fit``, ``mercer cluster --model`` and ``mercer stream`` have written.

    It would learn the model again, over landmarks as many and chosen alike; an :class:`AutoencoderKernelPCA` has the parameters that it learns on with, and
    not those that only its fit had (``epochs``, ``start``, ``order``, ``validation_fraction``, ``patience``). A model of :class:`KernelHebbianPCA` or
    :class:`OnlineKernelPCA` comes back as a :class:`KernelPCA` that uses it, and whose ``fit`` learns exact components. What ``mercer stream
    --checkpoint`` has written comes back as an :class:`OnlineKernelPCA` that goes on learning, to the same bits as the stream would.

    Nothing in the file is executed. A file that is damaged, altered or not a model is refused with ``ValueError``.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> pca = mercer.KernelPCA(2, kernel="rbf").fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.mercer")
    ...     pca.save(path)
    ...     same = mercer.load(path)
    >>> bool(np.array_equal(same.transform(X), pca.transform(X)))
    True
    """
    # Of a number, open would take the file that has it, and close that.
    path = os.fspath(path)
    state = _state(path)
    if state is not None:
        from ._online import OnlineKernelPCA

        return OnlineKernelPCA._from_state(state)
    model = load_any(path)
    if isinstance(model, Autoencoder):
        from ._autoencoder import AutoencoderKernelPCA

        return AutoencoderKernelPCA._from_model(model)
    if isinstance(model, ClusterModel):
        from ._cluster import SpectralClustering

        return SpectralClustering._from_model(model)
    from ._kernel_pca import KernelPCA

    return KernelPCA._from_model(model)


def _state(path: str) -> bytes | None:
    """The state of a learner, if that is what a file holds."""
    from ._online_start import STATE

    try:
        with open(path, "rb") as file:
            start = file.read(len(STATE))
            return start + file.read() if start == STATE else None
    except OSError:
        return None  # The reader of models says what is wrong.
