"""What :class:`mercer.AutoencoderKernelPCA` asks for, as the extension module takes it."""

from numbers import Real
from typing import Any

import numpy as np

from . import _checks


def rate(owner: str, value: Any) -> float | None:
    """A learning rate; ``None`` for one that is found by trying."""
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, str) or not isinstance(value, Real):
        raise _checks.refuse(owner, "learning_rate", "'auto' or a float in the range (0, inf)", value)
    return _checks.real(owner, "learning_rate", value, 0, above=True)


def cut_into_epochs(order: Any, n_samples: int, epochs: int | None) -> list[list[int]]:
    """Samples of each epoch."""
    array = np.asarray(order)
    if array.ndim not in (1, 2):
        raise ValueError(f"order must be a 1D or 2D array, but it has {array.ndim} dimension(s)")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"order must hold integers, but its dtype is {array.dtype}")
    wrong = np.argwhere((array < 0) | (array >= n_samples))
    if wrong.size:
        place = tuple(int(index) for index in wrong[0])
        raise ValueError(
            f"order must hold indices of samples from 0 to {n_samples - 1}, but at position {place} it is {array[place]}"
        )
    if array.ndim == 1:
        if epochs is None or epochs == 0:
            array = array.reshape(1, -1)
        elif array.size % epochs:
            raise ValueError(f"order must fall into {epochs} epochs of equal length, but it has {array.size} samples")
        else:
            array = array.reshape(epochs, -1)
    elif epochs is not None and epochs != array.shape[0]:
        raise ValueError(f"order must have one row per epoch ({epochs}), but it has {array.shape[0]}")
    return [[int(sample) for sample in row] for row in array]
