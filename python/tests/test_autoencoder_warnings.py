"""Autoencoder kernel PCA: what is told of steps that are too large, and of signs that nothing tells."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import AutoencoderKernelPCA


@pytest.fixture
def pictures():
    """Bumps on a line of eight pixels."""
    centre = np.random.default_rng(6).uniform(0, 8, size=60)
    return np.exp(-(((np.arange(8) - centre[:, None]) / 2) ** 2))


def of_steps(**settings):
    """Autoencoders with one step after the other, of which one is too large."""
    for power in range(80):
        yield AutoencoderKernelPCA(2, learning_rate=0.01 * 1.1**power, batch_size=1, decay=1e9, **settings)


def told(learn):
    """What is warned of while something is learned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn()
    return [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]


def test_after_no_epochs_the_step_falls_as_over_the_default_number(pictures):
    expected = AutoencoderKernelPCA(2).partial_fit(pictures).decay_
    assert AutoencoderKernelPCA(2, epochs=0).fit(pictures).decay_ == expected
    assert AutoencoderKernelPCA(2, epochs=0).partial_fit(pictures).decay_ == expected


def test_an_order_that_ends_worse_than_it_began_is_kept_with_a_warning(pictures):
    start = AutoencoderKernelPCA(2, epochs=0).fit(pictures)
    n_grown = 0
    for model in of_steps(order=np.arange(60)):
        messages = told(lambda model=model: model.fit(pictures))
        if len(model.history_) == 1:
            # Ten times as large: that is taken back.
            assert "the best there was is kept; use a smaller one, or 'auto'" in messages[0]
            np.testing.assert_array_equal(model.encoder_, start.encoder_)
            break
        first, last = model.loss_history_
        has_grown = last > 1.02 * first
        assert bool(messages) is bool(has_grown) is not model.converged_
        assert all("where the samples in their order have led is kept" in message for message in messages)
        assert not np.array_equal(model.encoder_, start.encoder_)
        n_grown += has_grown
    assert n_grown > 0


def test_a_few_points_one_at_a_time_are_for_the_iterates_of_the_textbook(pictures):
    few, n_grown = pictures[:10], 0
    for model in of_steps(epochs=0):
        before = model.fit(pictures).loss(few)
        messages = told(lambda model=model: model.partial_fit(few))
        if model.n_updates_ == 0:
            break
        n_grown += model.loss(few) > 1.1 * before
        assert not messages and model.converged_ and model.n_updates_ == 10
    assert n_grown > 0


def test_points_one_at_a_time_do_not_blow_a_model_up_unnoticed(pictures):
    for rate, diverges in ((0.01, False), (3.0, True)):
        model = AutoencoderKernelPCA(2, learning_rate=rate, batch_size=1, decay=1e9, epochs=0).fit(pictures)
        before = model.loss(pictures)
        messages = [told(lambda i=i, model=model: model.partial_fit(pictures[i : i + 1])) for i in range(len(pictures))]
        # Of ten points nothing follows.
        assert all(bool(said) is diverges for said in messages[20:])
        assert model.converged_ is not diverges
        if diverges:
            assert model.loss(pictures) < 100 * model.scale_**2
            assert "learning diverged with learning_rate=3.0" in messages[-1][0]
        else:
            assert model.loss(pictures) < before


def test_what_more_points_that_diverge_are_advised_is_not_refused(pictures):
    model = AutoencoderKernelPCA(2, epochs=2, learning_rate=0.1).fit(pictures)
    with pytest.warns(ConvergenceWarning, match=r"fit goes on with a smaller learning_rate and start=\(encoder_, decoder_\)"):
        model.partial_fit(1e3 * pictures)
    before = model.loss(pictures)
    model.set_params(learning_rate=0.01, start=(model.encoder_, model.decoder_)).fit(pictures)
    assert model.loss(pictures) <= before * (1 + 1e-9)
    # Over a span the coefficients are of no use to another fit.
    model = AutoencoderKernelPCA(2, span="data", epochs=2, learning_rate=0.1).fit(pictures)
    with pytest.warns(ConvergenceWarning, match=r"fit goes on with a smaller learning_rate$"):
        model.partial_fit(1e3 * pictures)


def test_out_of_time_before_kernel_pca_has_found_a_start_is_an_error(pictures):
    with pytest.raises(mercer.ConvergenceError):
        AutoencoderKernelPCA(2, time_limit=1e-9).fit(pictures)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", ["nearest", "nonnegative"])
def test_signs_that_the_mean_does_not_tell_are_a_warning(pictures, sign, dtype):
    centred = (pictures - pictures.mean(axis=0)).astype(dtype)
    model = AutoencoderKernelPCA(4, epochs=1, sign=sign).fit(centred)
    codes = model.transform(centred)
    with pytest.warns(UserWarning, match="x and -x have the same code.* give a reference"):
        model.inverse_transform(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if sign == "nearest":
            model.inverse_transform(codes, reference=centred)
        told_by_mean = AutoencoderKernelPCA(4, epochs=1, sign=sign).fit(pictures)
        told_by_mean.inverse_transform(told_by_mean.transform(pictures))


def test_signs_of_points_that_are_longer_than_those_of_the_fit_are_told_by_their_mean(pictures):
    for settings in ({}, {"scale": False}):
        model = AutoencoderKernelPCA(4, epochs=1, **settings).fit(pictures)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            points = model.inverse_transform(model.transform(1e7 * pictures))
        expected = model.inverse_transform(model.transform(1e7 * pictures), reference=1e7 * pictures)
        np.testing.assert_allclose(points, expected, rtol=0, atol=1.0)
    # Whatever the units of points that are not divided by their largest norm.
    for factor in (1e-9, 1e9):
        sized = factor * pictures
        told_by_mean = AutoencoderKernelPCA(4, epochs=0, scale=False).fit(sized)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            told_by_mean.inverse_transform(told_by_mean.transform(sized))
        centred = sized - sized.mean(axis=0)
        model = AutoencoderKernelPCA(4, epochs=0, scale=False).fit(centred)
        with pytest.warns(UserWarning, match="x and -x have the same code"):
            model.inverse_transform(model.transform(centred))
