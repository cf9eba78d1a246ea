"""Online kernel PCA: the reference values through the package, scikit-learn's checks, state, refusals."""

import copy
import io
import pickle
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as BatchKernelPCA
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelPCA, OnlineKernelPCA, RankWarning

REFERENCE = Path(__file__).parents[2] / "testdata" / "reference"
KERNELS = {
    "kashima_gauss1": {"kernel": "rbf", "gamma": 0.5},
    "kashima_poly2_c1": {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0},
}
P = 3


def agrees(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-8 * np.abs(want).max() + 1e-13)


def over_all_rows(learner, z):
    """Coefficients over all rows of ``z``, zero for rows that are not remembered."""
    alpha = np.zeros((learner.coefficients_.shape[0], len(z)))
    for slot, row in enumerate(learner.basis_):
        alpha[:, np.flatnonzero((z == row).all(axis=1))[0]] = learner.coefficients_[:, slot]
    return alpha


@pytest.fixture(params=KERNELS)
def case(request):
    with np.load(REFERENCE / f"{request.param}.npz") as file:
        return {name: file[name] for name in file.files}, KERNELS[request.param]


@pytest.mark.parametrize(
    ("label", "more"),
    [
        ("sim_beta1", {}),
        ("sim_beta2", {"beta": 2.0}),
        ("budget8", {"budget": 8, "policy": "oldest"}),
        ("centred", {"center": True}),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 30])
def test_the_simultaneous_rule_gives_the_reference_values(case, label, more, size):
    values, kernel = case
    z = values["in_Z"]
    settings = {"center": False, "learning_rate": float(values["par_eta"]), "start": z[:P], **kernel, **more}
    learner = OnlineKernelPCA(P, **settings)
    outputs = np.concatenate([learner.learn(z[i : i + size]) for i in range(P, len(z), size)])
    agrees(outputs, values[f"out_{label}_Y"])
    agrees(over_all_rows(learner, z), values[f"out_{label}_alpha"])
    assert learner.n_seen_ == len(z) - P


def test_oja_and_then_apex_give_the_reference_values(case):
    values, kernel = case
    z = values["in_Z"]
    first = OnlineKernelPCA(
        1, rule="oja", center=False, learning_rate=float(values["par_eta"]), start=z[:1], **kernel
    )
    agrees(first.learn(z[P:])[:, 0], values["out_oja_y"])
    agrees(first.coefficients_[0], values["out_oja_alpha"])
    second = first.next_component(z[1])
    outputs = second.learn(z[P:])
    agrees(outputs[:, :1], values["out_apex_yprev"])
    agrees(outputs[:, 1], values["out_apex_ytilde"])
    agrees(over_all_rows(second, z)[1], values["out_apex_alpha"])
    agrees(second.lateral_[1, :1], values["out_apex_a"])


@parametrize_with_checks([OnlineKernelPCA(), OnlineKernelPCA(1), OnlineKernelPCA(1, rule="oja", budget=20, policy="smallest")])
def test_common_check(estimator, check):
    check(estimator)


def test_a_pickled_learner_goes_on_to_the_same_bits():
    rows = np.random.default_rng(1).normal(size=(200, 3))
    learner = OnlineKernelPCA(2, gamma=0.3, budget=20).partial_fit(rows[:100])
    other = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(learner.learn(rows[100:]), other.learn(rows[100:]))
    np.testing.assert_array_equal(learner.coefficients_, other.coefficients_)


def rbf(x, y, width=1.0):
    """A function that is called as a kernel of ours is."""
    return float(np.exp(-0.3 * width * np.sum((np.asarray(x) - y) ** 2)))


def distances(X, Y):
    return np.exp(-0.3 * ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2))


class Widened:
    """A kernel that is no function but an object."""

    def __init__(self, width):
        self.width = width

    def __call__(self, x, y):
        return rbf(x, y, self.width)


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("way", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, through_joblib], ids=["pickle", "deepcopy", "joblib"])
@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": rbf, "kernel_params": {"width": 0.5}, "budget": 20},
        {"kernel": mercer.block_kernel(distances), "rule": "apex", "budget": 20, "policy": "oldest"},
        {"kernel": Widened(2.0)},
    ],
    ids=["function", "blocks", "object"],
)
def test_a_copy_of_a_learner_with_a_function_goes_on_to_the_same_bits(way, settings):
    rows = np.random.default_rng(1).normal(size=(120, 3))
    learner = OnlineKernelPCA(2, **settings).partial_fit(rows[:60])
    other = way(learner)
    np.testing.assert_array_equal(learner.learn(rows[60:]), other.learn(rows[60:]))
    np.testing.assert_array_equal(learner.coefficients_, other.coefficients_)
    np.testing.assert_array_equal(learner.transform(rows), other.transform(rows))
    # It learns with the kernel it began with, whatever its parameters have become.
    renamed = way(learner.set_params(kernel="rbf"))
    np.testing.assert_array_equal(renamed.transform(rows), other.transform(rows))
    with pytest.raises(ValueError, match="kernel must stay"):
        renamed.partial_fit(rows)


def test_what_began_with_a_function_can_be_copied():
    rows = np.random.default_rng(5).normal(size=(90, 3))
    pca = KernelPCA(2, kernel=rbf).fit(rows[:40])
    for learner in (OnlineKernelPCA.from_model(pca, budget=30), OnlineKernelPCA(1, kernel=rbf).fit(rows[:40]).next_component(rows[3])):
        other = pickle.loads(pickle.dumps(learner))
        np.testing.assert_array_equal(learner.learn(rows[40:]), other.learn(rows[40:]))


def test_fit_begins_anew_and_partial_fit_goes_on():
    rows = np.random.default_rng(2).normal(size=(60, 2))
    learner = OnlineKernelPCA(2, gamma=0.5).fit(rows).partial_fit(rows[:10])
    assert learner.n_seen_ == 70
    assert learner.fit(rows).n_seen_ == 60


def test_a_fit_that_fails_leaves_what_was_learned():
    rows = np.random.default_rng(2).normal(size=(60, 2))
    learner = OnlineKernelPCA(2, gamma=0.5).fit(rows)
    before, scores = pickle.dumps(learner), learner.transform(rows)
    with pytest.raises(ValueError, match="Row 0, column 0 is NaN"):
        learner.fit(np.full((5, 3), np.nan))
    assert pickle.dumps(learner) == before and learner.n_features_in_ == 2
    with pytest.raises(ValueError, match="`budget` must be at least"):
        learner.set_params(budget=1).fit(rows)
    assert learner.n_seen_ == 60
    np.testing.assert_array_equal(learner.transform(rows), scores)
    # One that has learned nothing is as new.
    fresh = OnlineKernelPCA(2, gamma=0.5)
    with pytest.raises(ValueError, match="Row 0, column 0 is NaN"):
        fresh.fit(np.full((5, 3), np.nan))
    assert not hasattr(fresh, "n_seen_") and not hasattr(fresh, "n_features_in_")


def test_settings_cannot_change_under_a_learner():
    rows = np.random.default_rng(2).normal(size=(60, 2))
    learner = OnlineKernelPCA(2, gamma=0.5).fit(rows).set_params(gamma=0.7)
    with pytest.raises(ValueError, match=r"gamma must stay 0\.5 while learning goes on, but it is 0\.7"):
        learner.partial_fit(rows)
    assert learner.n_seen_ == 60
    assert learner.fit(rows).partial_fit(rows).n_seen_ == 120
    again = pickle.loads(pickle.dumps(learner)).set_params(n_components=1)
    with pytest.raises(ValueError, match="n_components must stay 2"):
        again.learn(rows)
    # Points to start from, too, which are compared by their values; and components that were added.
    started = OnlineKernelPCA(2, gamma=0.5, start=rows[:2]).fit(rows).set_params(start=rows[:2].tolist())
    assert started.partial_fit(rows).n_seen_ == 120
    with pytest.raises(ValueError, match="start must stay as it was while learning goes on; fit begins anew"):
        started.set_params(start=rows[2:4]).partial_fit(rows)
    third = OnlineKernelPCA(2, gamma=0.5).fit(rows).next_component(rows[5])
    assert third.partial_fit(rows).n_seen_ == 120
    with pytest.raises(ValueError, match=r"gamma must stay 0\.5"):
        third.set_params(gamma=0.1).partial_fit(rows)


def test_rows_unlike_the_others_score_lower():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 2))
    learner = OnlineKernelPCA(4, gamma=0.2, budget=60, learning_rate=0.1).fit(rows)
    assert learner.total_variance_ >= learner.variances_.sum()
    usual, strange = learner.score_samples(rows[:50]), learner.score_samples(rows[:50] + 6)
    assert np.median(strange) < np.median(usual) <= 0
    assert learner.budget_error_.shape == (4,) and (learner.budget_error_ >= 0).all()
    assert (learner.variances_ > 0).all() and learner.n_shrunk_ == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "apexx"}, "The 'rule' parameter of OnlineKernelPCA must be a str among"),
        ({"budget": 2}, "`budget` must be at least one more than the number of components"),
        ({"n_components": 2, "rule": "oja"}, "`n_components` must be 1 for the rule oja, .* but it is 2, which is the default"),
        ({"gamma": "median"}, "The 'gamma' parameter of OnlineKernelPCA must be a float"),
        ({"learning_rate": 0.0}, "The 'learning_rate' parameter of OnlineKernelPCA must be a float"),
        ({"forgetting": 1.5}, r"The 'forgetting' parameter of OnlineKernelPCA must be a float in the range \(0, 1\) or None"),
        ({"start": np.zeros((2, 5))}, "start must have 2 columns, but its shape is"),
        ({"start": [[1.0, 2.0], [np.nan, 3.0]]}, "^start must be finite, but in row 1, column 0 it is nan$"),
        ({"policy": "oldest"}, "`policy` must be left out without a budget"),
        ({"tau": 100.0}, "`tau` must be left out with the schedule constant"),
        ({"rule": "apex", "beta": 2.0}, "`beta` must be left out with the rule apex"),
        ({"kernel": "linear", "start": np.zeros((2, 2))}, "`start` must be points whose kernel with themselves is positive"),
        ({"kernel": "precomputed"}, "Online learning does not work with the precomputed kernel"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        OnlineKernelPCA(**{"n_components": 2, **settings}).fit(np.ones((4, 2)))


@pytest.mark.parametrize("method", ["partial_fit", "learn"])
@pytest.mark.parametrize(
    ("kernel", "bad", "message"),
    [
        ("rbf", np.nan, "Row 301, column 1 is NaN; kernels need finite numbers"),
        ("rbf", -np.inf, "Row 301, column 1 is -inf; kernels need finite numbers"),
        ("rbf", 1e200, "Row 301 is too large: its squared norm overflows f64; scale the data, or use a smaller gamma$"),
        ("linear", 1e200, "Row 301 is too large: its kernel with itself overflows f64; scale the data$"),
        ("poly", 1e200, "Row 301 is too large: its kernel with itself overflows f64; scale the data, or use a smaller gamma$"),
    ],
)
def test_a_batch_with_a_bad_row_is_refused_as_a_whole(method, kernel, bad, message):
    rng = np.random.default_rng(8)
    rows, batch = rng.normal(size=(50, 3)), rng.normal(size=(400, 3))
    batch[301, 1] = bad
    learner = OnlineKernelPCA(2, kernel=kernel, budget=20).fit(rows)
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match=message):
        getattr(learner, method)(batch)
    with pytest.raises(ValueError, match=message):
        learner.transform(batch)
    with pytest.raises(ValueError, match=message):
        learner.score_samples(batch)
    assert learner.n_seen_ == 50 and pickle.dumps(learner) == before
    # A learner that has not begun stays so, too.
    fresh = OnlineKernelPCA(2, kernel=kernel)
    with pytest.raises(ValueError, match=message):
        getattr(fresh, method)(batch)
    assert not hasattr(fresh, "n_seen_")


def test_a_batch_whose_kernel_fails_half_way_is_refused_as_a_whole():
    batch = np.random.default_rng(9).normal(size=(600, 2))
    batch[500] = 7.0

    def kernel(x, y):
        if (np.asarray(x) == 7.0).all() != (np.asarray(y) == 7.0).all():
            raise RuntimeError("sevens do not mix")
        return float(np.dot(x, y)) + 1.0

    learner = OnlineKernelPCA(1, kernel=kernel, budget=5).fit(batch[:20])
    coefficients, basis = learner.coefficients_, learner.basis_
    with pytest.raises(RuntimeError, match="sevens do not mix"):
        learner.partial_fit(batch)
    assert learner.n_seen_ == 20
    np.testing.assert_array_equal(learner.coefficients_, coefficients)
    np.testing.assert_array_equal(learner.basis_, basis)


def test_a_batch_whose_component_overflows_half_way_is_refused_as_a_whole():
    learner = OnlineKernelPCA(1, kernel="linear", center=False, learning_rate=1e4, start=[[1.0, 0.0]])
    learner.partial_fit([[1e-9, 0.0], [0.0, 1e-9]])
    before = pickle.dumps(learner)
    # The first row makes the component long; the kernel of the second with itself is just in the range.
    with pytest.raises(ValueError, match="Row 1 is too large: its inner product with a component overflows f64"):
        learner.partial_fit([[0.007, 1.0], [0.0, 1e151]])
    assert learner.n_seen_ == 2 and pickle.dumps(learner) == before


def test_rows_of_a_batch_whose_kernel_is_not_finite_are_counted_from_its_first():
    rows = np.arange(1.0, 31.0)[:, None]
    # It is not positive semi-definite, so the policy project would refuse it.
    learner = OnlineKernelPCA(1, kernel=lambda x, y: float(np.sqrt(1.0 + x[0] * y[0])), budget=5, policy="oldest").fit(rows)
    with pytest.raises(ValueError, match="kernel of row 3 and one that was learned before is NaN; it must be finite"):
        learner.partial_fit([[1.5], [2.5], [3.5], [-3.5]])
    assert learner.n_seen_ == 30


@pytest.mark.parametrize("method", ["partial_fit", "learn"])
def test_a_batch_with_a_row_at_a_negative_squared_distance_is_refused_as_a_whole_by_the_policy_project(method):
    settings = {"kernel": "sigmoid", "gamma": 0.5, "budget": 3}
    learner = OnlineKernelPCA(1, **settings).partial_fit([[0.0]])
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match="^The policy project does not work with the sigmoid kernel: on these rows it is not positive semi-definite"):
        getattr(learner, method)([[2.0], [1.0]])
    assert learner.n_seen_ == 1 and pickle.dumps(learner) == before
    for policy in ("oldest", "smallest"):
        assert OnlineKernelPCA(1, **settings, policy=policy).partial_fit([[0.0], [2.0], [1.0]]).n_seen_ == 3


def test_components_that_explain_more_than_there_is_are_spoken_of(tmp_path):
    learner = OnlineKernelPCA(2, kernel="sigmoid", gamma=0.5, center=False, learning_rate=1e-9)
    said = r"^the components explain 103\.4 % of the variance, which is more than there is: the sigmoid kernel is not positive semi-definite"
    with pytest.warns(UserWarning, match=said) as caught:
        learner.fit([[1.0], [-1.0], [0.0]])
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(UserWarning, match=said):
        learner.save(tmp_path / "learned.mercer")


@pytest.mark.parametrize("kernel", ["matern32", "matern52", "rbf"])
def test_a_row_that_is_far_from_all_others_is_learned(kernel):
    rows = np.random.default_rng(4).normal(size=(100, 2))
    learner = OnlineKernelPCA(2, kernel=kernel, budget=20).fit(rows)
    rows[50] = 1e150
    assert np.isfinite(learner.learn(rows)).all() and learner.n_seen_ == 200


def test_more_components_than_memory_has_room_for_are_refused():
    with pytest.raises(mercer.MemoryBudgetError, match="10000000 components .* ask for at most [0-9]+ components"):
        OnlineKernelPCA(10**7).fit(np.ones((4, 2)))


def test_a_component_that_wears_away_is_said_when_it_does():
    rows = np.random.default_rng(11).normal(size=(300, 2))
    learner = OnlineKernelPCA(2, gamma=0.5, budget=8, policy="oldest")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.partial_fit(rows[:4])
    with pytest.warns(UserWarning, match=r"^a component has shrunk to [\d.e-]+ of unit length, because rows are dropped") as caught:
        learner.partial_fit(rows[4:200])
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        # It was said.
        warnings.simplefilter("error")
        learner.learn(rows[200:])


def test_a_component_that_wears_away_after_another_fit_is_said_again():
    rows = np.random.default_rng(11).normal(size=(300, 2))
    learner = OnlineKernelPCA(2, gamma=0.5, budget=8, policy="oldest")
    worn = "^a component has shrunk to "
    with pytest.warns(UserWarning, match=worn):
        learner.partial_fit(rows[:200])
    with warnings.catch_warnings():
        # Nothing has been dropped of these.
        warnings.simplefilter("error")
        learner.fit(rows[:4])
    with pytest.warns(UserWarning, match=worn):
        learner.partial_fit(rows[4:200])
    # What a fit has said is not said once more.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(rows[:200])
    assert any(str(each.message).startswith("a component has shrunk to ") for each in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.partial_fit(rows[200:])


def test_a_rate_that_would_overshoot_is_made_smaller_and_counted():
    rows = np.random.default_rng(7).normal(size=(200, 2)) * 3
    learner = OnlineKernelPCA(1, kernel="linear", learning_rate=10.0)
    said = r"the learning rate was made smaller for \d+ of {} rows, which it would have overshot at: last from 10 to [\d.e-]+$"
    with pytest.warns(UserWarning, match=said.format(200)) as caught:
        learner.fit(rows)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert 0 < learner.n_shrunk_ <= 200
    assert np.isfinite(learner.transform(rows)).all()
    with pytest.warns(UserWarning, match=said.format(30)) as caught:
        learner.partial_fit(rows[:30])
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OnlineKernelPCA(1, gamma=0.5, learning_rate=0.1).fit(rows).partial_fit(rows)


def test_components_that_depend_on_one_another_are_left_out_of_the_model(tmp_path):
    rows = np.random.default_rng(10).normal(size=(60, 2))
    learner = OnlineKernelPCA(3, kernel="linear", center=False).fit(rows)
    with pytest.warns(RankWarning, match="2 of the n_components=3 components have a direction of their own: the others depend on them"):
        learner.save(tmp_path / "learned.mercer")
    assert mercer.load(tmp_path / "learned.mercer").transform(rows).shape == (60, 2)
    assert learner.transform(rows).shape == (60, 3) and learner.explained_variance_.shape == (2,)
    np.testing.assert_allclose(learner.score_samples(rows), 0.0, atol=1e-9)


def test_components_that_have_not_begun_are_spoken_of(tmp_path):
    three = np.tile(np.random.default_rng(11).normal(size=(3, 2)), (4, 1))
    with pytest.warns(RankWarning, match="3 of the n_components=5 components have a direction of their own: too few rows"):
        learner = OnlineKernelPCA(5).fit(three)
    assert learner.n_started_ == 3
    with pytest.warns(RankWarning, match="3 of the n_components=5"):
        learner.save(tmp_path / "learned.mercer")
    assert len(mercer.load(tmp_path / "learned.mercer").eigenvalues_) == 3
    assert learner.partial_fit(np.random.default_rng(12).normal(size=(9, 2))).n_started_ == 5


def test_fewer_rows_than_components_have_a_model_of_fewer_directions(tmp_path):
    rows = np.random.default_rng(13).normal(size=(3, 4))
    learner = OnlineKernelPCA(5, gamma=0.05).partial_fit(rows)
    assert learner.explained_variance_.shape == (3,)
    assert learner.inverse_transform(learner.transform(rows)).shape == rows.shape
    with pytest.warns(RankWarning, match="3 of the n_components=5"):
        learner.save(tmp_path / "few.mercer")
    assert mercer.load(tmp_path / "few.mercer").transform(rows).shape == (3, 3)


@pytest.mark.parametrize("rule", ["simultaneous", "apex"])
@pytest.mark.parametrize("center", [True, False])
def test_scores_of_samples_are_distances_from_the_span(tmp_path, rule, center):
    rng = np.random.default_rng(13)
    rows, queries = rng.normal(size=(300, 2)), rng.normal(size=(20, 2))
    learner = OnlineKernelPCA(3, rule=rule, kernel="poly", degree=2, gamma=1.0, center=center, learning_rate=0.005).fit(rows)

    def features(x):
        root = np.sqrt(2.0)
        return np.c_[np.ones(len(x)), root * x, x**2, root * x[:, :1] * x[:, 1:]]

    images, mean = features(queries), features(rows).mean(axis=0) if center else 0.0
    span, _ = np.linalg.qr((learner.coefficients_ @ features(learner.basis_)).T)
    rest = (images - mean) - (images - mean) @ span @ span.T
    np.testing.assert_allclose(learner.score_samples(queries), -(rest**2).sum(axis=1), atol=1e-8)
    learner.save(tmp_path / "learned.mercer")


@pytest.mark.parametrize("kernel", [{"gamma": 0.2}, {"gamma": 0.01}, {"kernel": "poly", "gamma": 3.0, "degree": 2}])
def test_the_automatic_rate_suits_the_kernel(kernel):
    rows = np.random.default_rng(4).normal(size=(3000, 3)) * [3.0, 2.0, 0.5]
    learner = OnlineKernelPCA(2, budget=100, **kernel).fit(rows)
    kernel = {"kernel": "rbf", **kernel}
    batch = BatchKernelPCA(2, **kernel, coef0=1).fit(rows[:1000])
    best = batch.eigenvalues_.sum() / 1000
    assert 0.8 < learner.transform(rows[:1000]).var(axis=0).sum() / best < 1.2
    assert learner.n_shrunk_ < 30


def test_what_was_learned_is_saved_as_a_model(tmp_path):
    rows = np.random.default_rng(5).normal(size=(2000, 3)) * [2.0, 1.0, 0.5]
    learner = OnlineKernelPCA(2, gamma=0.1, budget=80).fit(rows)
    learner.save(tmp_path / "learned.mercer")
    model = mercer.load(tmp_path / "learned.mercer")
    scores, outputs = model.transform(rows[:100]), learner.transform(rows[:100])
    # Components are nearly orthonormal by now, so the scores are nearly the outputs, but for their signs.
    np.testing.assert_allclose(scores, outputs * np.sign((scores * outputs).sum(axis=0)), atol=0.1)
    assert model.record_["n_samples"] == 2000 and model.record_["solver"] == "simultaneous"
    np.testing.assert_allclose(model.eigenvalues_, 2000 * learner.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(model.explained_variance_ratio_, learner.explained_variance_ratio_, rtol=1e-12)


@pytest.mark.parametrize("rule", ["simultaneous", "apex"])
def test_a_saved_model_is_ordered_and_outputs_stay_with_their_components(tmp_path, rule):
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(400, 2)) * [2.0, 0.5]
    # The wrong way round, and a rate at which nothing is learned.
    learner = OnlineKernelPCA(2, rule=rule, kernel="linear", learning_rate=1e-9, start=[[0.0, 1.0], [1.0, 0.2]])
    outputs = learner.fit(rows).transform(rows)
    assert outputs[:, 0].var() < outputs[:, 1].var()
    learner.save(tmp_path / "learned.mercer")
    scores = mercer.load(tmp_path / "learned.mercer").transform(rows)
    assert scores[:, 0].var() > scores[:, 1].var()
    # All rows are among the last ones, so what is said of them is exact.
    np.testing.assert_allclose(scores.T @ scores / 400, np.diag(learner.explained_variance_), atol=1e-9)
    assert learner.explained_variance_ratio_.sum() == pytest.approx(1.0)
    before = learner.transform(rows[:5])
    np.testing.assert_array_equal(before, outputs[:5])
    np.testing.assert_allclose(learner.partial_fit(rows[:50]).transform(rows[:5]), before, atol=0.3)


def test_what_a_budget_has_cost_is_said(tmp_path):
    rows = np.random.default_rng(8).normal(size=(3000, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = OnlineKernelPCA(2, gamma=0.02, budget=200).fit(rows)
    assert 0 <= learner.mean_drift_ < 0.05
    assert OnlineKernelPCA(2, gamma=0.02).fit(rows[:300]).mean_drift_ == 0
    with pytest.warns(UserWarning, match=r"the running mean is 1\.\d+ from .*: if the rows have changed, forgetting would follow them"):
        OnlineKernelPCA(2, gamma=0.02).fit(np.vstack([rows[:600], rows[:600] + 5]))
    with pytest.warns(UserWarning, match=r"the running mean is 0\.\d+ from that of the last rows, where one is their spread: if the rows have changed"):
        learner = OnlineKernelPCA(1, gamma=0.05, budget=3).fit(rows)
    with pytest.warns(UserWarning, match="the budget has moved a component"):
        learner.save(tmp_path / "rows.mercer")
    with pytest.warns(UserWarning, match="a component has shrunk to .* because rows are dropped faster than it learns"):
        OnlineKernelPCA(1, gamma=0.5, budget=5, policy="oldest").fit(rows)


def test_a_row_of_another_width_is_refused_and_changes_nothing():
    learner = OnlineKernelPCA(1).fit(np.eye(3))
    with pytest.raises(ValueError, match="4 features"):
        learner.partial_fit(np.ones((1, 4)))
    assert learner.n_seen_ == 3


def test_parameters_are_copied_only_where_learning_begins(monkeypatch):
    from mercer import _checks

    copied, as_given = [], _checks.as_given
    monkeypatch.setattr(_checks, "as_given", lambda params: copied.append(params) or as_given(params))
    rows = np.random.default_rng(0).normal(size=(40, 3))
    start = rows[:2].copy()
    learner = OnlineKernelPCA(2, kernel="rbf", start=start, learning_rate=0.05)
    for row in rows:
        learner.learn(row[None])
    assert len(copied) == 1
    # What is compared with is a copy all the same.
    start[0, 0] += 1
    with pytest.raises(ValueError, match="start must stay"):
        learner.learn(rows)
