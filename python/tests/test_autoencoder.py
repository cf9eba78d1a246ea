"""Autoencoder kernel PCA: the stored cases, what can be asked of it, and how it goes on."""

import pickle
import warnings

import numpy as np
import pytest
from conftest import ROOT
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer import AutoencoderKernelPCA, _checks


def case(name):
    return np.load(ROOT / "testdata" / "autoencoder" / f"{name}.npz")


def assert_close(found, expected):
    """The tolerance of the cases: relative to the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max() + 1e-13)


@pytest.fixture
def pictures():
    """Bumps on a line of twelve pixels."""
    random = np.random.default_rng(5)
    centre, other = random.uniform(0, 12, size=(2, 150))
    pixel = np.arange(12)
    return np.exp(-(((pixel - centre[:, None]) / 2) ** 2)) + 0.4 * np.exp(-(((pixel - other[:, None]) / 2) ** 2))


@pytest.mark.parametrize("p", range(4))
def test_losses_codes_and_decoded_points_are_those_of_the_stored_case(p):
    stored = case("cohen_akpca")
    x = stored["in_x"][p][None]
    model = AutoencoderKernelPCA(3, start=(stored["in_A"][p], stored["in_B"][p]), epochs=0, sign="nonnegative").fit(x)
    assert_close(model.loss(x), stored["out_loss"][p])
    assert_close(model.transform(x)[0], stored["out_code"][p])
    assert_close(model.inverse_transform(model.transform(x))[0], stored["out_decoded"][p])
    assert_close(model.encoder_, stored["in_A"][p])
    assert model.decoder_.shape == (3, 5, 5)


@pytest.mark.parametrize("p", range(4))
def test_a_step_is_along_the_stored_derivatives(p):
    stored = case("cohen_akpca")
    start = (stored["in_A"][p], stored["in_B"][p])
    model = AutoencoderKernelPCA(3, start=start, scale=False, learning_rate=0.5, batch_size=1, order=[0])
    model.fit(stored["in_x"][p][None])
    assert_close((start[0] - model.encoder_) / 0.5, stored["out_dA"][p])
    assert_close((start[1] - model.decoder_) / 0.5, stored["out_dB"][p])


@pytest.mark.parametrize("p", range(4))
def test_the_span_has_the_stored_losses_and_derivatives(p):
    stored = case("cohen_ds")
    H, G, x = stored["in_H"][p], stored["in_G"][p], stored["in_x"][p][None]
    settings = {"span": "data", "start": (H, G), "scale": False, "learning_rate": 1.0, "batch_size": 1}
    start = AutoencoderKernelPCA(3, epochs=0, **settings).fit(stored["in_X"])
    assert_close(start.loss(x), stored["out_loss"][p])
    assert_close(start.transform(x)[0], H @ (stored["in_X"] @ x[0]) ** 2)
    # A step of full length would be taken back: it makes the loss of the third case 479 times larger.
    short = {**settings, "learning_rate": 1e-3}
    plain = AutoencoderKernelPCA(3, epochs=0, gradient="plain", **short).fit(stored["in_X"]).partial_fit(x)
    assert_close((H - plain.encoder_) / 1e-3, stored["out_dH"][p])
    assert_close((G - plain.decoder_) / 1e-3, stored["out_dG"][p])
    functional = AutoencoderKernelPCA(3, order=[p], **settings).fit(stored["in_X"])
    assert_close(H - functional.encoder_, stored["out_fun_dH"][p])
    assert_close(G - functional.decoder_, stored["out_fun_dG"][p])
    np.testing.assert_array_equal(functional.span_points_, stored["in_X"])


def test_fifty_steps_lead_where_the_stored_ones_do():
    stored = case("cohen_train")
    model = AutoencoderKernelPCA(
        2,
        start=(stored["in_A0"], stored["in_B0"]),
        learning_rate=float(stored["par_eta0"]),
        decay=float(stored["par_tau"]),
        batch_size=1,
        order=stored["in_sgd_idx"],
    ).fit(stored["in_X"])
    assert_close(model.encoder_, stored["out_sgd_A"])
    assert_close(model.decoder_, stored["out_sgd_B"])
    assert_close(model.loss_history_, stored["out_obj"][:2])
    assert_close(model.loss(stored["in_X"]), stored["out_obj"][1])
    assert model.n_updates_ == 50


@pytest.mark.parametrize("flat", [False, True])
def test_two_epochs_with_reduced_variance_lead_where_the_stored_ones_do(flat):
    stored = case("cohen_train")
    order = stored["in_svrg_idx"].ravel() if flat else stored["in_svrg_idx"]
    model = AutoencoderKernelPCA(
        2,
        optimizer="svrg",
        start=(stored["in_A0"], stored["in_B0"]),
        learning_rate=float(stored["par_svrg_eta"]),
        batch_size=1,
        order=order,
        epochs=2,
    ).fit(stored["in_X"])
    assert_close(model.encoder_, stored["out_svrg_A"])
    assert_close(model.decoder_, stored["out_svrg_B"])
    assert_close(model.loss_history_[[0, 2]], stored["out_obj"][[0, 2]])


def test_the_start_is_the_kernel_pca_solution():
    stored = case("cohen_train")
    X = stored["in_X"]
    model = AutoencoderKernelPCA(2, epochs=0).fit(X)
    assert_close(np.einsum("kij,klm->ijlm", model.encoder_, model.decoder_), stored["out_kpca_projector"])
    again = model.inverse_transform(model.transform(X), reference=X)
    assert_close(((again - X) ** 2).sum(axis=1).mean(), stored["out_kpca_rec"])
    assert_close(model.loss(X), stored["out_obj"][3])


@pytest.mark.parametrize("params", [{}, {"span": "data"}, {"optimizer": "svrg"}, {"span": "data", "landmarks": 60}])
def test_learning_makes_reconstruction_better(pictures, params):
    before = AutoencoderKernelPCA(3, epochs=0).fit(pictures)
    after = AutoencoderKernelPCA(3, epochs=15, batch_size=10, **params).fit(pictures)

    def error(model):
        return ((model.inverse_transform(model.transform(pictures), reference=pictures) - pictures) ** 2).mean()

    assert error(after) < error(before)
    assert after.loss_history_[-1] < after.loss_history_[0]
    assert len(after.loss_history_) == len(after.history_) <= 16
    assert set(after.history_[0]) == {"epoch", "updates", "rate", "loss", "seconds"}


def test_precision_is_that_of_the_data(pictures):
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    assert model.transform(pictures).dtype == np.float64
    single = AutoencoderKernelPCA(2, epochs=1).fit(pictures.astype(np.float32))
    codes = single.transform(pictures.astype(np.float32))
    assert codes.dtype == np.float32 and single.inverse_transform(codes).dtype == np.float32
    np.testing.assert_allclose(codes, model.transform(pictures), atol=1e-4)


def test_sparse_rows_and_frames_are_taken(pictures):
    pandas = pytest.importorskip("pandas")
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    of_sparse = AutoencoderKernelPCA(2, epochs=1).fit(sparse.csr_matrix(pictures))
    np.testing.assert_allclose(of_sparse.encoder_, model.encoder_)
    names = [f"pixel {k}" for k in range(12)]
    of_frame = AutoencoderKernelPCA(2, epochs=1).fit(pandas.DataFrame(pictures, columns=names))
    assert list(of_frame.feature_names_in_) == names
    assert list(of_frame.get_feature_names_out()) == ["autoencoderkernelpca0", "autoencoderkernelpca1"]


def test_learning_goes_on(pictures):
    model = AutoencoderKernelPCA(3, batch_size=25, random_state=1)
    model.partial_fit(pictures[:100])
    assert model.n_updates_ == 4
    before = model.loss(pictures)
    for _ in range(5):
        model.partial_fit(pictures[50:])
    assert model.n_updates_ == 4 + 20
    assert model.loss(pictures) < before


def test_learning_pass_by_pass_comes_near_a_fit(pictures):
    whole = AutoencoderKernelPCA(3, epochs=10).fit(pictures)
    by_passes = AutoencoderKernelPCA(3, epochs=10).partial_fit(pictures)
    # The step falls as it does over all epochs, and not over the first alone.
    assert by_passes.decay_ == whole.decay_
    assert by_passes.n_updates_ == 75
    assert AutoencoderKernelPCA(3).partial_fit(pictures).decay_ == 2 * whole.decay_
    for _ in range(9):
        by_passes.partial_fit(pictures)
    start = AutoencoderKernelPCA(3, epochs=0).fit(pictures).loss(pictures)
    assert start - by_passes.loss(pictures) > 0.5 * (start - whole.loss(pictures))


def test_more_points_that_are_much_longer_do_not_destroy_what_was_learned(pictures):
    model = AutoencoderKernelPCA(2, epochs=2).fit(pictures)
    before = model.loss(pictures)
    model.partial_fit(1e3 * pictures)
    assert model.loss(pictures) < 1.1 * before
    given = AutoencoderKernelPCA(2, epochs=2, learning_rate=0.1).fit(pictures)
    encoder = given.encoder_.copy()
    with pytest.warns(ConvergenceWarning, match="learning diverged with learning_rate=0.1"):
        given.partial_fit(1e3 * pictures)
    np.testing.assert_array_equal(given.encoder_, encoder)


def test_a_refit_that_fails_leaves_no_model(pictures):
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    with pytest.raises(ValueError):
        model.set_params(n_components=20).fit(pictures[:, :3])
    with pytest.raises(NotFittedError):
        model.transform(pictures)


def test_few_rows_are_learned_from_in_small_batches(pictures):
    assert AutoencoderKernelPCA(2, epochs=1).fit(pictures).n_updates_ == 75
    assert AutoencoderKernelPCA(2, epochs=1, batch_size=128).fit(pictures).n_updates_ == 2


@pytest.mark.parametrize("span", ["full", "data"])
def test_pickles_and_files_hold_everything(pictures, span, tmp_path):
    model = AutoencoderKernelPCA(2, span=span, epochs=2, sign="nonnegative").fit(pictures)
    model.save(tmp_path / "codes.mercer")
    for again in (pickle.loads(pickle.dumps(model)), mercer.load(tmp_path / "codes.mercer")):
        assert isinstance(again, AutoencoderKernelPCA)
        np.testing.assert_array_equal(again.transform(pictures), model.transform(pictures))
        np.testing.assert_array_equal(again.inverse_transform(again.transform(pictures)), model.inverse_transform(model.transform(pictures)))
        np.testing.assert_array_equal(again.partial_fit(pictures).encoder_, pickle.loads(pickle.dumps(model)).partial_fit(pictures).encoder_)


def test_parameters_of_learning_stay_as_they_were_while_it_goes_on(pictures):
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    updates = model.n_updates_
    for changed in (
        {"learning_rate": 0.01},
        {"batch_size": 1},
        {"optimizer": "svrg"},
        {"sign": "nonnegative"},
        {"start": "nonsense"},
        {"order": [[1, 2]]},
        {"validation_fraction": 0.3},
        {"patience": -3},
        {"random_state": "x"},
        {"epochs": 7},
    ):
        name = next(iter(changed))
        kept = model.get_params()[name]
        with pytest.raises(ValueError, match=f"{name} must stay .* while learning goes on"):
            model.set_params(**changed).partial_fit(pictures)
        model.set_params(**{name: kept})
    assert model.n_updates_ == updates
    assert model.set_params(n_jobs=1).partial_fit(pictures).n_updates_ > updates


def test_epochs_that_were_changed_after_the_first_points_are_refused(pictures, tmp_path):
    # The step has been falling as over so many of them since the first call.
    model = AutoencoderKernelPCA(2, epochs=10).partial_fit(pictures)
    with pytest.raises(ValueError, match="epochs must stay 10 while learning goes on, but it is 30; fit begins anew"):
        model.set_params(epochs=30).partial_fit(pictures)
    # A file does not hold them, and its reader goes on without.
    model.save(tmp_path / "codes.mercer")
    again = mercer.load(tmp_path / "codes.mercer")
    assert again.partial_fit(pictures).n_updates_ == 2 * model.n_updates_
    with pytest.raises(ValueError, match="epochs must stay None"):
        again.set_params(epochs=10).partial_fit(pictures)


@pytest.mark.parametrize("of", [tuple, list])
def test_arrays_that_were_changed_in_place_are_refused_while_learning_goes_on(pictures, of):
    forms = np.random.default_rng(3).normal(size=(2, 2, 12, 12))
    start, order = of(forms.copy()), np.arange(20)
    given = {"start": start, "order": order, "learning_rate": 1e-3, "batch_size": 1}
    model = AutoencoderKernelPCA(2, **given).fit(pictures).partial_fit(pictures[:5])
    order[0] = 7
    with pytest.raises(ValueError, match="order must stay .* while learning goes on"):
        model.partial_fit(pictures[:5])
    order[0] = 0
    start[1][0, 3, 4] += 1
    with pytest.raises(ValueError, match="start must stay as it was while learning goes on; fit begins anew"):
        model.partial_fit(pictures[:5])
    start[1][0, 3, 4] = forms[1, 0, 3, 4]
    # Others with the same numbers are the same.
    assert model.set_params(start=of(forms.copy()), order=order.tolist()).partial_fit(pictures[:5]).n_updates_ == 30


def test_arrays_of_different_shapes_are_compared_one_by_one():
    pair = (np.zeros((2, 3)), np.full((4, 3), np.nan))
    then = _checks.as_given({"pair": pair, "lists": [[1, 2], [3]]})
    _checks.unchanged({"pair": (np.zeros((2, 3)), np.full((4, 3), np.nan)), "lists": [[1, 2], [3]]}, then)
    for changed in ({"lists": [[1, 2], [4]]}, {"pair": pair[::-1]}, {"pair": pair[:1]}):
        with pytest.raises(ValueError, match=f"{next(iter(changed))} must stay"):
            _checks.unchanged({"pair": pair, "lists": [[1, 2], [3]], **changed}, then)
    pair[0][1, 2] = 1
    with pytest.raises(ValueError, match="pair must stay"):
        _checks.unchanged({"pair": pair, "lists": [[1, 2], [3]]}, then)


def test_plain_numbers_and_words_are_compared_as_they_are(monkeypatch):
    from mercer import _checks

    def refuse(*args, **kwargs):
        raise AssertionError("an array was made")

    monkeypatch.setattr(np, "array_equal", refuse)
    then = _checks.as_given({"order": [list(range(50)), [1.5, "a", True]], "places": list(np.arange(3))})
    _checks.unchanged({"order": (list(range(50)), [1.5, "a", 1]), "places": [0, 1, 2]}, then)
    for name, changed in (("order", [list(range(50)), [1.5, "b", True]]), ("order", [list(range(50)), [float("nan"), "a", True]]), ("places", [0, 1, 3])):
        with pytest.raises(ValueError, match=f"{name} must stay"):
            _checks.unchanged({**then, name: changed}, then)
    # What is not a number is equal to itself only.
    with pytest.raises(ValueError, match="rate must stay"):
        _checks.unchanged({"rate": float("nan")}, {"rate": float("nan")})


def test_more_points_whose_loss_a_given_rate_makes_larger_are_a_warning(pictures):
    # One update of all points: steps that grow by a quarter cannot leap from a loss that has fallen to one that is ten times as large.
    told = 0
    for power in range(60):
        settings = {"learning_rate": 0.1 * 1.25**power, "batch_size": 150}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if len(AutoencoderKernelPCA(2, epochs=1, **settings).fit(pictures).history_) == 1:
                break
        is_worse = any("learning diverged" in str(warning.message) for warning in caught)
        model = AutoencoderKernelPCA(2, epochs=0, **settings).fit(pictures)
        encoder = model.encoder_
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(pictures)
        assert any("learning diverged" in str(warning.message) for warning in caught) is is_worse
        assert model.converged_ is not is_worse
        assert np.array_equal(model.encoder_, encoder) is is_worse
        told += is_worse
    assert told > 0


def test_a_budget_holds_for_more_points_too(pictures):
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    with pytest.raises(MemoryError, match=r"A copy of X \(150 x 12, float64\)"):
        model.set_params(memory_limit=1000).partial_fit(pictures[:, ::-1])
    assert model.set_params(memory_limit=None).partial_fit(pictures[:, ::-1]).n_updates_ > 75


def test_what_is_read_learns_on_with_the_same_parameters(pictures, tmp_path):
    asked = {"optimizer": "svrg", "learning_rate": 0.1, "batch_size": 15, "gradient": "plain", "span": "data", "landmarks": 40}
    model = AutoencoderKernelPCA(2, epochs=2, tolerance=1e-5, random_state=3, **asked).fit(pictures)
    model.save(tmp_path / "codes.mercer")
    again = mercer.load(tmp_path / "codes.mercer")
    found = again.get_params()
    assert {name: found[name] for name in asked} == asked
    assert (found["tolerance"], found["random_state"], found["scale"]) == (1e-5, 3, True)
    with pytest.warns(ConvergenceWarning, match="learning diverged with learning_rate=0.1"):
        again.partial_fit(1e3 * pictures)
    AutoencoderKernelPCA(2, epochs=1).fit(pictures).save(tmp_path / "found.mercer")
    assert mercer.load(tmp_path / "found.mercer").learning_rate == "auto"


def test_what_is_read_knows_whether_points_are_divided_by_a_largest_norm_of_one(tmp_path):
    for scale in (True, False):
        model = AutoencoderKernelPCA(1, epochs=1, scale=scale).fit(np.eye(4))
        assert model.scale_ == 1
        model.save(tmp_path / "codes.mercer")
        assert mercer.load(tmp_path / "codes.mercer").get_params()["scale"] is scale


def test_learning_that_was_all_in_vain_is_a_warning():
    # The step is found on a third of the rows: where the one that is much longer than the others is not among them, it is much too large for it.
    told = 0
    X = np.random.default_rng(0).random(size=(1600, 5))
    X[0] *= 100
    for seed in range(6):
        settings = {"batch_size": 16, "random_state": seed}
        start = AutoencoderKernelPCA(2, epochs=0, **settings).fit(X)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = AutoencoderKernelPCA(2, epochs=1, **settings).fit(X)
        messages = [str(warning.message) for warning in caught]
        is_vain = np.array_equal(model.encoder_, start.encoder_)
        assert model.converged_ is not is_vain
        assert any("nothing was learned from these points: no epoch made their loss smaller" in said for said in messages) is is_vain
        assert any("though the step was halved" in said for said in messages) is (is_vain and model.n_halved_ > 0)
        told += is_vain
    assert told > 0


def test_codes_and_losses_that_are_too_large_are_refused(pictures):
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    for X in (1e160 * pictures, sparse.csr_matrix(1e160 * pictures)):
        for use in (model.transform, model.loss):
            with pytest.raises(ValueError, match="ow 0 is too large for codes, which are squares of points"):
                use(X)
    single = (1e25 * pictures).astype(np.float32)
    with pytest.raises(ValueError, match=r"the codes are too large for float32, which ends at 3.4e\+38: give points in float64, or scale the points"):
        model.transform(single)
    assert np.isfinite(model.transform(single.astype(np.float64))).all()
    # Points go with the root of codes.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = model.inverse_transform([[3.0, 3.0]])
        single = model.inverse_transform(np.full((1, 2), 3e38, dtype=np.float32))
        np.testing.assert_allclose(single / np.float32(1e19), own, rtol=0, atol=1e-5)
        np.testing.assert_allclose(model.inverse_transform([[3e300, 3e300]]) / 1e150, own, rtol=0, atol=1e-9)


def test_signs(pictures):
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    codes = model.transform(pictures)
    plus, minus = (model.inverse_transform(codes, reference=sign * pictures) for sign in (1, -1))
    np.testing.assert_allclose(plus, -minus, atol=1e-7)
    np.testing.assert_allclose(model.inverse_transform(codes), plus, atol=1e-7)
    with pytest.raises(ValueError, match="`reference` must be left out with sign = \"nonnegative\""):
        AutoencoderKernelPCA(2, epochs=1, sign="nonnegative").fit(pictures).inverse_transform(codes, reference=pictures)


def test_a_sign_that_was_changed_after_the_fit_is_refused(pictures):
    model = AutoencoderKernelPCA(2, epochs=1).fit(pictures)
    codes = model.transform(pictures)
    with pytest.raises(ValueError, match="sign must stay 'nearest', .* but it is 'nonnegative'; fit begins anew"):
        model.set_params(sign="nonnegative").inverse_transform(codes)
    assert model.set_params(sign="nearest").inverse_transform(codes).shape == pictures.shape


def test_codes_whose_eigenpairs_have_not_converged_are_a_warning():
    # The eigenvalues of a string's matrix crowd at the upper end: 300 products of 500 tell none of them to ten digits.
    string = 0.5 * (np.eye(500, k=1) + np.eye(500, k=-1))[None]
    model = AutoencoderKernelPCA(1, start=(np.zeros_like(string), string), epochs=0).fit(np.eye(2, 500))
    with pytest.warns(ConvergenceWarning, match="1 of 2 codes were decoded by eigenpairs that have not converged"):
        points = model.inverse_transform([[1.0], [0.0]])
    assert points.shape == (2, 500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.inverse_transform([[0.0]]), 0)


def test_a_rate_that_is_too_large_is_a_warning_and_the_best_is_kept(pictures):
    with pytest.warns(ConvergenceWarning, match="learning diverged with learning_rate=10000"):
        model = AutoencoderKernelPCA(2, learning_rate=1e4, epochs=3, batch_size=10).fit(pictures)
    assert model.loss(pictures) <= AutoencoderKernelPCA(2, epochs=0).fit(pictures).loss(pictures) * (1 + 1e-12)


def test_a_time_limit_is_a_warning(pictures):
    with pytest.warns(ConvergenceWarning, match="stopped by its time limit"):
        AutoencoderKernelPCA(3, learning_rate=0.01, epochs=100_000, batch_size=1, time_limit=1.5).fit(pictures)


def test_a_fit_that_is_out_of_time_before_its_first_epoch_keeps_its_start(pictures):
    with pytest.warns(ConvergenceWarning, match="stopped by its time limit after 0 updates"):
        model = AutoencoderKernelPCA(3, start="random", time_limit=1e-9).fit(pictures)
    assert model.converged_ is False
    assert model.n_updates_ == 0 and model.loss_history_.shape == (1,)
    whole = AutoencoderKernelPCA(3, start="random", epochs=0).fit(pictures)
    assert whole.converged_ is True
    np.testing.assert_array_equal(model.encoder_, whole.encoder_)
    assert model.set_params(time_limit=None).partial_fit(pictures).n_updates_ > 0
    assert model.converged_


def test_more_points_that_are_out_of_time_before_the_first_update_leave_everything_as_it_was(pictures):
    model = AutoencoderKernelPCA(3, epochs=2).fit(pictures)
    encoder, updates, history = model.encoder_, model.n_updates_, model.history_
    with pytest.warns(ConvergenceWarning, match=f"stopped by its time limit after {updates} updates"):
        model.set_params(time_limit=1e-9).partial_fit(pictures[:50])
    assert model.converged_ is False
    assert (model.n_updates_, model.history_) == (updates, history)
    np.testing.assert_array_equal(model.encoder_, encoder)
    assert model.set_params(time_limit=None).partial_fit(pictures[:50]).n_updates_ > updates
    assert model.converged_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 79}, "`n_components` must be between 1 and 78, the quadratic forms of 12 columns, but it is 79"),
        ({"n_components": 0}, "'n_components' parameter of AutoencoderKernelPCA must be an int"),
        ({"start": (np.zeros((2, 9, 16)), np.zeros((2, 9, 16)))}, r"start must hold two arrays of shape \(k, 12, 12\) with k = 2"),
        ({"span": "half"}, "'span' parameter"),
        ({"optimizer": "adam"}, "'optimizer' parameter"),
        ({"learning_rate": -1.0}, "'learning_rate' parameter"),
        ({"learning_rate": "fast"}, "'learning_rate' parameter"),
        ({"decay": 0}, "'decay' parameter"),
        ({"epochs": -1}, "'epochs' parameter"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"start": "zero"}, "'start' parameter"),
        ({"start": (np.zeros((2, 12)), np.zeros((2, 12)))}, r"start must hold two arrays of shape \(k, 12, 12\) with k = 2"),
        ({"start": (np.zeros((2, 3, 3)), np.zeros((2, 3, 3)))}, r"arrays of shape \(k, 12, 12\) with k = 2, but one has shape \(2, 3, 3\)"),
        ({"order": [150]}, "order must hold indices of samples from 0 to 149"),
        ({"order": [1.5]}, "order must hold integers"),
        ({"order": [[0, 1]], "epochs": 2}, "order must have one row per epoch"),
        ({"order": [0, 1, 2], "epochs": 2}, "order must fall into 2 epochs of equal length"),
        ({"gradient": "plain"}, "`gradient` must be left out"),
        ({"landmarks": 5}, '`landmarks` must be left out with span = "full", which has none, but it is 5'),
        ({"span": "data", "landmarks": 151}, "`landmarks` must be between 1 and"),
        ({"sign": "positive"}, "'sign' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter of AutoencoderKernelPCA must be a float in the range"),
        ({"patience": 3}, "`patience` must be left out"),
        ({"scale": 2.0}, "'scale' parameter"),
    ],
)
def test_wrong_parameters_are_refused_by_name(pictures, params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        AutoencoderKernelPCA(**params).fit(pictures)


def test_wrong_data_are_refused(pictures):
    with pytest.raises(ValueError, match="All 5 rows are zero: there is nothing to learn a code of"):
        AutoencoderKernelPCA(2).fit(np.zeros((5, 3)))
    model = AutoencoderKernelPCA(2, epochs=1)
    with pytest.raises(NotFittedError):
        model.inverse_transform(np.zeros((1, 2)))
    model.fit(pictures)
    with pytest.raises(ValueError, match="`X` must be of 2 columns"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="`reference` must be one point per code"):
        model.inverse_transform(np.zeros((1, 2)), reference=pictures)


def test_rows_of_zeros_are_rows(pictures):
    pictures[3] = 0
    model = AutoencoderKernelPCA(2, epochs=2).fit(pictures)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.transform(pictures)[3], 0)
        np.testing.assert_array_equal(model.inverse_transform(model.transform(pictures[3:4])), 0)
