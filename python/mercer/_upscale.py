"""Larger pictures of a kind that is known."""

from typing import Any

import numpy as np

from . import _checks, _mercer
from ._arrays import rows
from ._denoise import as_type, check_pixels


def _stack(pictures: Any, name: str) -> Any:
    """Pictures of one shape, with their channels last."""
    stack = np.asarray(pictures)
    check_pixels(stack, name)
    if stack.ndim not in (3, 4) or (stack.ndim == 4 and stack.shape[3] not in (1, 3)):
        raise ValueError(f"{name} must have the shape (n, height, width) or (n, height, width, 3), but it has {stack.shape}")
    return stack.reshape(*stack.shape[:3], -1)


def upscale(
    images: Any,
    known: Any,
    *,
    n_components: int | None = None,
    bandwidth: float | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Small pictures made as large as known ones of the same kind, such as faces.

    Each is projected on the components of the known pictures, and what is then missing of it is added. A picture of another kind gets details of the
    known one too, and is mostly worse than by interpolation.

    Parameters
    ----------
    images : array-like of shape (n, height, width) or (n, height, width, 3)
        Small pictures, whose sides are the same whole share (a half, a third) of those of the known ones.
    known : array-like of shape (m, large height, large width) or (m, large height, large width, 3)
        Known pictures, aligned, on the same scale of grey values.
    n_components : int, default=None
        Components; ``None`` is one for every four known pictures, and 150 at most.
    bandwidth : float, default=None
        Width of the gaussian kernel; ``None`` is the root of the total variance of the known pictures.
    n_jobs : int, default=None
        The number of threads, on which the answer does not depend.

    Returns
    -------
    ndarray of shape (n, large height, large width) or (n, large height, large width, 3)
        Of the type of ``images``; integers are rounded, and cut off at the ends of their type.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import upscale
    >>> row, column = np.indices((12, 12))
    >>> shift = np.linspace(0, 6, 40)[:, None, None]
    >>> known = 100 + 50 * np.sin((row + column) / 3 + shift)
    >>> small = known[:2].reshape(2, 6, 2, 6, 2).mean(axis=(2, 4))
    >>> large = upscale(small, known)
    >>> large.shape, bool(np.abs(large - known[:2]).mean() < 5)
    ((2, 12, 12), True)
    """
    owner = "upscale"
    small, large = _stack(images, "images"), _stack(known, "known")
    settings = {
        "n_components": _checks.integer(owner, "n_components", n_components, 1, optional=True),
        "bandwidth": _checks.real(owner, "bandwidth", bandwidth, 0, above=True, optional=True),
        "threads": _checks.threads(owner, n_jobs),
    }
    flat = np.require(small.reshape(small.shape[0], -1), dtype=np.float64, requirements=["A"])
    known_rows = rows(large.reshape(large.shape[0], -1), "known")
    with _checks.called(image="images", pictures="known"):
        found = _mercer.upscale(flat, small.shape[1:], known_rows, large.shape[1:], settings)
    shape = (small.shape[0], *large.shape[1:])
    return as_type(found.reshape(shape if np.ndim(images) == 4 else shape[:3]), np.asarray(images).dtype)
