"""Pictures and rows without noise."""

import json
from typing import Any

import numpy as np

from . import _checks, _mercer
from ._arrays import rows


def check_pixels(pixels: Any, name: str) -> None:
    """Refuses what are no grey values."""
    if pixels.dtype.kind not in "fiu":
        raise TypeError(f"{name} must hold real numbers, but its dtype is {pixels.dtype}")


def as_type(found: Any, dtype: Any) -> Any:
    """Grey values in the type of a picture: integers are rounded, and cut off at the ends of their type."""
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        found = np.clip(np.rint(found), limits.min, limits.max)
    return found.astype(dtype, copy=False)


def _settings(
    owner: str,
    *,
    noise: Any,
    n_components: Any,
    bandwidth: Any,
    threshold: Any,
    refine: Any,
    n_landmarks: Any,
    random_state: Any,
    n_jobs: Any,
) -> dict[str, Any]:
    """What both functions are asked for, as the extension module takes it."""
    return {
        "noise": _checks.real(owner, "noise", noise, 0, optional=True),
        "n_components": _checks.integer(owner, "n_components", n_components, 1, optional=True),
        "bandwidth": _checks.real(owner, "bandwidth", bandwidth, 0, above=True, optional=True),
        "threshold": _checks.real(owner, "threshold", threshold, 0, above=True, optional=True),
        "refine": None if refine is None else _checks.boolean(owner, "refine", refine),
        "n_landmarks": _checks.integer(owner, "n_landmarks", n_landmarks, 2, optional=True),
        "threads": _checks.threads(owner, n_jobs),
        "seed": _checks.seed(owner, random_state),
    }


def denoise_image(
    image: Any,
    *,
    noise: float | None = None,
    patch_size: int = 8,
    stride: int = 2,
    threshold: float | None = None,
    refine: bool | None = None,
    n_components: int | None = None,
    bandwidth: float | None = None,
    n_landmarks: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    return_record: bool = False,
) -> Any:
    """A picture without noise, by kernel PCA of its patches.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        Grey or colour, of integers or floating-point numbers of any scale.
    noise : float, default=None
        Standard deviation of the noise, in the units of the picture; ``None`` estimates it.
    patch_size, stride : int
        Pixels along the side of a patch, and from one patch to the next; a stride of 1 is best and slowest.
    threshold : float, default=None
        How many times its noise a score must reach to be kept; ``None`` is 2.75.
    refine : bool, default=None
        Whether it is done once more with the first result as a guide; ``None`` does so.
    n_components : int, default=None
        Project on so many components instead, whatever the noise; ``noise``, ``threshold`` and ``refine`` must then be left out.
    bandwidth : float, default=None
        Width of the gaussian kernel; ``None`` is ten times the root of the total variance of patches.
    n_landmarks : int, default=None
        Landmarks that components are learned over; ``None`` is three per number of a patch, and at least 300.
    random_state, n_jobs
        Where random numbers come from, and the number of threads, on which the answer does not depend.
    return_record : bool, default=False
        Whether to return the record of the run too.

    Returns
    -------
    ndarray of the shape and type of the picture
        Integers are rounded, and cut off at the ends of their type. ``(picture, record)`` with ``return_record``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import denoise_image, metrics
    >>> row, column = np.indices((32, 32))
    >>> clean = 100 + 50 * np.sin((row + column) / 4)
    >>> noisy = clean + 10 * np.random.default_rng(0).normal(size=(32, 32))
    >>> metrics.snr(clean, denoise_image(noisy, noise=10.0)) > metrics.snr(clean, noisy) + 3
    True
    """
    owner = "denoise_image"
    pixels = np.asarray(image)
    check_pixels(pixels, "image")
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        raise ValueError(f"image must have the shape (height, width) or (height, width, 3), but it has {pixels.shape}")
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    settings = _settings(
        owner,
        noise=noise,
        n_components=n_components,
        bandwidth=bandwidth,
        threshold=threshold,
        refine=refine,
        n_landmarks=n_landmarks,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    size = _checks.integer(owner, "patch_size", patch_size, 2)
    step = _checks.integer(owner, "stride", stride, 1)
    flat = np.require(pixels.reshape(pixels.shape[0], -1), dtype=np.float64, requirements=["A"])
    found, record = _mercer.denoise_image(flat, channels, size, step, settings)
    found = as_type(found.reshape(pixels.shape), pixels.dtype)
    return (found, json.loads(record)) if return_record else found


def denoise_rows(
    X: Any,
    *,
    window: int = 1,
    noise: float | None = None,
    threshold: float | None = None,
    refine: bool | None = None,
    n_components: int | None = None,
    bandwidth: float | None = None,
    n_landmarks: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    return_record: bool = False,
) -> Any:
    """Rows without noise, such as the frames of a motion, by kernel PCA.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows in the order of time, if ``noise`` is estimated or ``window`` is more than one; columns in the same units.
    window : int, default=1
        Rows that are taken together; more of them tell more of slow motions.
    noise : float, default=None
        Standard deviation of the noise; ``None`` estimates it from second differences.
    threshold, refine, n_components, n_landmarks, random_state, n_jobs, return_record
        As for :func:`denoise_image`.
    bandwidth : float, default=None
        Width of the gaussian kernel; ``None`` is the root of the total variance of windows.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        In the precision of ``X``; ``(rows, record)`` with ``return_record``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import denoise_rows, metrics
    >>> clean = np.sin(np.arange(200)[:, None] / 10 + np.arange(6))
    >>> noisy = clean + 0.2 * np.random.default_rng(0).normal(size=clean.shape)
    >>> metrics.noise_removed(clean, noisy, denoise_rows(noisy, window=5)) > 0.5
    True
    """
    owner = "denoise_rows"
    settings = _settings(
        owner,
        noise=noise,
        n_components=n_components,
        bandwidth=bandwidth,
        threshold=threshold,
        refine=refine,
        n_landmarks=n_landmarks,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    found, record = _mercer.denoise_rows(rows(X, "X"), _checks.integer(owner, "window", window, 1), settings)
    return (found, json.loads(record)) if return_record else found
