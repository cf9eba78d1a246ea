"""Pictures and rows without noise."""

import json
import subprocess

import numpy as np
import pytest

import mercer
from conftest import ROOT
from mercer import metrics


def scene(channels=None):
    """A disc on a slope, from 40 to 200."""
    y, x = np.mgrid[:44, :52]
    grey = 40.0 + x + 100.0 * (np.hypot(x - 22, y - 20) < 12)
    return grey if channels is None else np.stack([grey * (1 - 0.2 * c) for c in range(channels)], axis=2)


def noisy(clean, level=12.0):
    return clean + level * np.random.default_rng(5).normal(size=clean.shape)


def snr(clean, found):
    return 10 * np.log10(clean.var() / ((clean - found) ** 2).mean())


def test_measures_are_those_of_the_stored_case_and_of_their_formulas():
    stored = np.load(ROOT / "testdata" / "preimage" / "preimage.npz")
    assert metrics.snr(stored["in_X"], stored["in_X"] + 0.1) == pytest.approx(float(stored["out_snr"]), rel=1e-12)
    clean = scene()
    picture = noisy(clean)
    found = mercer.denoise_image(picture)
    assert metrics.snr(clean, found) == pytest.approx(snr(clean, found), rel=1e-12)
    expected = 1 - ((found - clean) ** 2).mean() / ((picture - clean) ** 2).mean()
    assert metrics.noise_removed(clean, picture, found) == pytest.approx(expected, rel=1e-12)
    assert metrics.noise_removed(clean, picture, clean) == 1.0 and np.isinf(metrics.snr(clean, clean))


def test_measures_refuse_what_cannot_be_compared():
    with pytest.raises(ValueError, match=r"estimate must have the shape of clean, \(2,\), but it has \(3,\)"):
        metrics.snr([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="a signal that is not constant"):
        metrics.snr([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="noisy must hold finite numbers"):
        metrics.noise_removed([1.0, 2.0], [1.0, np.nan], [1.0, 2.0])
    with pytest.raises(TypeError, match="clean must hold real numbers"):
        metrics.snr(["a"], [1.0])


@pytest.mark.parametrize("channels", [None, 3])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_pictures_get_better_and_keep_their_type(channels, dtype):
    clean = scene(channels)
    picture = np.clip(noisy(clean), 0, 255)
    picture = (np.rint(picture) if "int" in dtype else picture).astype(dtype)
    found, record = mercer.denoise_image(picture, return_record=True)
    assert found.shape == picture.shape and found.dtype == picture.dtype
    assert snr(clean, found.astype(float)) > snr(clean, picture.astype(float)) + 4
    assert record["noise_estimated"] and abs(record["noise"] - 12) < 2
    np.testing.assert_array_equal(mercer.denoise_image(picture, n_jobs=1), found)


def test_it_is_what_the_command_does(command, tmp_path):
    # A portable graymap needs no library to be written.
    picture = np.rint(np.clip(noisy(scene()), 0, 255)).astype(np.uint8)
    header = f"P5 {picture.shape[1]} {picture.shape[0]} 255\n".encode()
    (tmp_path / "noisy.pgm").write_bytes(header + picture.tobytes())
    words = [command, "denoise", tmp_path / "noisy.pgm", "-o", tmp_path / "out.png", "--json"]
    printed = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    _, record = mercer.denoise_image(picture, return_record=True)
    for name, value in record.items():
        assert printed[name] == value, name


def test_a_projection_is_on_as_many_components_as_asked_for():
    _, record = mercer.denoise_image(noisy(scene()), n_components=4, patch_size=6, stride=3, return_record=True)
    assert record["n_components"] == record["mean_kept_components"] == 4 and record["noise"] is None
    with pytest.raises(ValueError, match="`noise` must be left out with a number of components"):
        mercer.denoise_image(scene(), n_components=4, noise=1.0)


def test_what_has_no_noise_is_left_as_it_is():
    np.testing.assert_array_equal(mercer.denoise_image(scene()[:, 36:]), scene()[:, 36:])


def test_wrong_pictures_and_settings_are_named():
    picture = noisy(scene())
    for wrong, message in [
        (np.zeros((4, 5, 4)), r"image must have the shape \(height, width\) or \(height, width, 3\), but it has \(4, 5, 4\)"),
        (np.zeros(5), "image must have the shape"),
        (picture[:6], r"`patch_size` must be at most the smaller side of the picture \(6 pixels\), but it is 8"),
        (picture[:8, :8], r"`patch_size` must be less than the sides of the picture \(8 pixels both\), or there is one patch, but it is 8"),
        (np.where(picture > 100, np.nan, picture), "kernels need finite numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            mercer.denoise_image(wrong)
    with pytest.raises(TypeError, match="must hold real numbers"):
        mercer.denoise_image(picture + 1j)
    with pytest.raises(ValueError, match="`bandwidth` must be between 1e-153 and 1e153"):
        mercer.denoise_image(picture, bandwidth=1e-300)
    for name, value in [("noise", -1), ("stride", 0), ("patch_size", 1), ("threshold", 0), ("refine", 2), ("n_landmarks", 1)]:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of denoise_image must be"):
            mercer.denoise_image(picture, **{name: value})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_get_better_and_windows_help(dtype):
    time = np.arange(200)[:, None] / 10
    clean = np.sin(time + np.arange(6))
    rows = (clean + 0.2 * np.random.default_rng(1).normal(size=clean.shape)).astype(dtype)
    gone = []
    for window in (1, 5):
        found, record = mercer.denoise_rows(rows, window=window, return_record=True)
        assert found.shape == rows.shape and found.dtype == rows.dtype and abs(record["noise"] - 0.2) < 0.03
        gone.append(1 - ((found - clean) ** 2).mean() / ((rows - clean) ** 2).mean())
    assert 0.3 < gone[0] < gone[1]
    for window in (200, 201):
        with pytest.raises(ValueError, match=rf"`window` must be at least 1 and less than the number of rows \(200\).*but it is {window}"):
            mercer.denoise_rows(rows, window=window)


def test_frames_are_taken():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.sin(np.arange(120.0)).reshape(40, 3), columns=list("abc"))
    assert mercer.denoise_rows(frame, noise=0.1).shape == (40, 3)
