"""Larger pictures of a kind that is known."""

import numpy as np
import pytest

import mercer


def disc(radius, channels=None):
    y, x = np.mgrid[:24, :18]
    grey = np.where(np.hypot(x - 9, y - 12) < radius, 210.0, 40.0)
    return grey if channels is None else np.stack([grey / (1 + c) for c in range(channels)], axis=2)


def blocks(picture):
    return picture.reshape(8, 3, 6, 3, *picture.shape[2:]).mean(axis=(1, 3))


@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_pictures_of_a_known_kind_get_sharper(channels, dtype):
    known = np.stack([disc(radius, channels) for radius in np.linspace(2, 8, 80)]).astype(dtype)
    wanted = np.stack([disc(4.44, channels), disc(6.83, channels)])
    small = np.stack([blocks(picture) for picture in wanted])
    small = (np.rint(small) if dtype == "uint8" else small).astype(dtype)
    found = mercer.upscale(small, known)
    assert found.shape == wanted.shape and found.dtype == small.dtype
    coarse = small.astype(float).repeat(3, axis=1).repeat(3, axis=2)
    assert ((found.astype(float) - wanted) ** 2).mean() < 0.5 * ((coarse - wanted) ** 2).mean()
    np.testing.assert_array_equal(mercer.upscale(small, known, n_jobs=1), found)


def test_wrong_pictures_and_settings_are_named():
    known = np.stack([disc(radius) for radius in (3, 4, 5, 6)])
    small = blocks(disc(5))[None]
    for images, of, message in [
        (small[0], known, r"images must have the shape \(n, height, width\)"),
        (small, known[0], r"known must have the shape \(n, height, width\)"),
        (small[:, 1:], known, r"a half, a third, ... of 18x24 pixels along both sides, but it is 6x7"),
        (np.stack([small] * 3, axis=3), known, "must be of 1 channels"),
        (small, known[:1], "needs at least 2 rows"),
        (small * np.nan, known, "kernels need finite numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            mercer.upscale(images, of)
    with pytest.raises(TypeError, match="known must hold real numbers"):
        mercer.upscale(small, known + 1j)
    with pytest.raises(ValueError, match="The 'bandwidth' parameter of upscale must be"):
        mercer.upscale(small, known, bandwidth=0)
    with pytest.raises(ValueError, match="`bandwidth` must be between 1e-153 and 1e153"):
        mercer.upscale(small, known, bandwidth=1e-200)


def test_a_wrong_small_picture_is_told_before_anything_is_learned():
    known = np.stack([disc(radius) for radius in (3, 4, 5, 6)])
    with pytest.raises(ValueError, match=r"`images` must be a half, a third"):
        mercer.upscale(blocks(disc(5))[None, 1:], known, n_components=99)
