"""Online kernel PCA that begins with something learned before: models, states of streams, components one after the other."""

import json
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import mercer
from mercer import AutoencoderKernelPCA, KernelHebbianPCA, KernelPCA, OnlineKernelPCA, RankWarning, SpectralClustering

REFERENCE = Path(__file__).parents[2] / "testdata" / "reference"
KERNEL = {"kernel": "rbf", "gamma": 0.3}


@pytest.fixture
def rows():
    rng = np.random.default_rng(20)
    return rng.normal(size=(400, 3)) * [2.0, 1.0, 0.5]


def centred_gram(x, y, mean_of, gamma=0.3):
    """Inner products of centred images, by NumPy alone."""

    def k(a, b):
        return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(axis=2))

    return k(x, y) - k(x, mean_of).mean(axis=1)[:, None] - k(mean_of, y).mean(axis=0)[None] + k(mean_of, mean_of).mean()


@pytest.mark.parametrize("fit", [
    lambda x: KernelPCA(3, **KERNEL).fit(x),
    lambda x: KernelPCA(3, center=False, **KERNEL).fit(x),
    lambda x: KernelPCA(3, scaling="standardize", **KERNEL).fit(x),
    lambda x: KernelPCA(3, gram="nystrom", n_landmarks=40, random_state=0, **KERNEL).fit(x),
    lambda x: KernelPCA(3, kernel="rational-quadratic", gamma=0.4, kernel_params={"alpha": 1.5}).fit(x),
    lambda x: KernelPCA(3, kernel="poly", degree=2, gamma=0.1).fit(x),
    lambda x: KernelHebbianPCA(3, passes=20, **KERNEL).fit(x),
    lambda x: OnlineKernelPCA(3, budget=60, **KERNEL).fit(x),
    lambda x: KernelPCA(3, kernel=lambda a, b: float(np.exp(-0.3 * ((a - b) ** 2).sum()))).fit(x),
])
def test_components_begin_as_those_of_a_model(rows, fit):
    model = fit(rows[:100])
    learner = OnlineKernelPCA.from_model(model, learning_rate=1e-12)
    # What learns on from a learner is the model that it would save.
    saved = model._model.model() if isinstance(model, OnlineKernelPCA) else model
    scores = saved.transform(rows[100:150])
    np.testing.assert_allclose(learner.transform(rows[100:150]), scores, atol=1e-9)
    assert (learner.n_before_, learner.n_seen_, learner.n_components) == (100, 0, 3)
    # The model's points count: the mean takes a row in as one of 101 before it is answered.
    share = 100 / 101 if learner.center else 1
    np.testing.assert_allclose(learner.learn(rows[100:101]), share * scores[:1], atol=1e-9)
    assert learner.partial_fit(rows[101:150]).n_seen_ == 50
    assert learner.n_before_ == 100


def test_the_mean_goes_on_from_the_models_with_the_weight_of_its_points(rows):
    past, present = rows[:100], rows[100:130]
    pca = KernelPCA(2, **KERNEL).fit(past)
    learner = OnlineKernelPCA.from_model(pca, learning_rate=1e-12).partial_fit(present)
    # Components stay; scores are those of images centred by the mean of all points, old and new.
    queries, everything = rows[200:220], np.vstack([past, present])
    alpha = pca.eigenvectors_ / np.sqrt(pca.eigenvalues_)
    gram = centred_gram(queries, past, everything)
    # Components are combinations of centred images of the past: sums of their coefficients are zero.
    coefficients = alpha - alpha.mean(axis=0)
    np.testing.assert_allclose(learner.transform(queries), gram @ coefficients, atol=1e-8)


def test_rows_of_the_same_kind_do_not_make_it_worse(rows):
    rng = np.random.default_rng(21)
    probes = rng.normal(size=(300, 3)) * [2.0, 1.0, 0.5]
    more = rng.normal(size=(4000, 3)) * [2.0, 1.0, 0.5]
    pca = KernelPCA(4, **KERNEL).fit(rows)
    best = KernelPCA(4, **KERNEL).fit(probes).eigenvalues_.sum() / 300

    def share(learner):
        span = learner.transform(probes)
        return span.var(axis=0).sum() / best

    for settings in ({"schedule": "1/t"}, {"budget": 80, "schedule": "1/t"}, {"budget": 80}):
        learner = OnlineKernelPCA.from_model(pca, **settings)
        before = share(learner)
        after = share(learner.partial_fit(more))
        assert after > before - 0.02, (settings, before, after)
        assert before > 0.9


def test_a_budget_below_the_basis_is_paid_for_at_once(rows):
    pca = KernelPCA(3, **KERNEL).fit(rows)
    small, large = (OnlineKernelPCA.from_model(pca, budget=budget) for budget in (6, 60))
    assert small.basis_.shape == (6, 3) and large.basis_.shape == (60, 3)
    assert small.budget_error_.max() > 0.1 > large.budget_error_.max() >= 0
    with pytest.raises(ValueError, match=r"`budget` must be at least the number of the model's basis points \(400\)"):
        OnlineKernelPCA.from_model(pca, budget=60, policy="oldest")


def test_a_model_file_is_enough_and_carries_columns_and_scaling(tmp_path, rows):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    KernelPCA(2, scaling="standardize", **KERNEL).fit(frame).save(tmp_path / "past.mercer")
    learner = OnlineKernelPCA.from_model(tmp_path / "past.mercer", budget=50)
    assert list(learner.feature_names_in_) == ["a", "b", "c"]
    learner.partial_fit(frame[:20])
    with pytest.raises(ValueError, match="feature names"):
        learner.partial_fit(frame[["c", "b", "a"]])
    learner.save(tmp_path / "present.mercer")
    back = mercer.load(tmp_path / "present.mercer")
    assert back.scaling == "standardize" and list(back.feature_names_in_) == ["a", "b", "c"]
    assert back.record_["n_samples"] == 420
    # Scaled rows are what is remembered.
    assert np.abs(learner.basis_).max() < 5


def test_it_is_an_estimator_like_any_other(rows):
    pca = KernelPCA(3, kernel="rational-quadratic", gamma=0.4, kernel_params={"alpha": 1.5}).fit(rows)
    learner = OnlineKernelPCA.from_model(pca, rule="apex", budget=50, learning_rate=0.05)
    assert learner.get_params()["kernel_params"] == {"alpha": 1.5} and learner.rule == "apex"
    other = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(learner.learn(rows[:50]), other.learn(rows[:50]))
    assert other.n_before_ == 400
    with pytest.raises(ValueError, match=r"gamma must stay 0\.4 while learning goes on"):
        clone_of = pickle.loads(pickle.dumps(learner)).set_params(gamma=1.0)
        clone_of.partial_fit(rows)
    # fit begins anew, with the settings and without the model; so does a clone.
    assert learner.fit(rows[:50]).n_before_ == 0 and learner.n_seen_ == 50
    assert not hasattr(clone(learner), "n_seen_")
    # More components than the model has begin at rows.
    wider = OnlineKernelPCA.from_model(pca, n_components=5)
    assert wider.n_started_ == 3
    assert wider.partial_fit(np.random.default_rng(3).normal(size=(5, 3))).n_started_ == 5


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: AutoencoderKernelPCA(2, epochs=1).fit(x), TypeError, "model must be a fitted KernelPCA, KernelHebbianPCA or OnlineKernelPCA"),
        (lambda x: SpectralClustering(2, **{"affinity": "rbf"}).fit(x), TypeError, "model must be a fitted KernelPCA"),
        (lambda x: KernelPCA(2), TypeError, "model must be a fitted KernelPCA"),
        (lambda x: KernelPCA(2, kernel="precomputed").fit(np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2))), ValueError, "precomputed kernel"),
        (
            lambda x: KernelPCA(8, kernel="sigmoid", gamma=0.8, coef0=-1.5, negative="flip", center=False).fit(x),
            ValueError,
            "a component has no positive length in its inner product",
        ),
    ],
)
def test_what_cannot_be_gone_on_from_is_refused(rows, make, error, message):
    with pytest.raises(error, match=message):
        OnlineKernelPCA.from_model(make(rows[:40]))


def test_settings_that_contradict_the_model_are_refused(rows):
    pca = KernelPCA(3, **KERNEL).fit(rows)
    with pytest.raises(ValueError, match=r"`n_components` must be at least those of the model \(3\), but it is 2"):
        OnlineKernelPCA.from_model(pca, n_components=2)
    with pytest.raises(ValueError, match="`n_components` must be 1 for the rule oja"):
        OnlineKernelPCA.from_model(pca, rule="oja")
    with pytest.raises(ValueError, match="`tau` must be left out with the schedule constant"):
        OnlineKernelPCA.from_model(pca, tau=5.0)
    with pytest.raises(TypeError, match="gamma"):
        OnlineKernelPCA.from_model(pca, gamma=1.0)


# Components one after the other


def test_taking_turns_gives_the_reference_values():
    for name, kernel in (
        ("kashima_gauss1", {"kernel": "rbf", "gamma": 0.5}),
        ("kashima_poly2_c1", {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0}),
    ):
        with np.load(REFERENCE / f"{name}.npz") as file:
            values = {key: file[key] for key in file.files}
        z = values["in_Z"]
        stream = z[3:]
        learner = OnlineKernelPCA(
            2, rule="apex", center=False, learning_rate=float(values["par_eta"]), start=z[:2], rows_per_component=len(stream), **kernel
        )
        first = learner.learn(stream)
        scale = np.abs(values["out_oja_y"]).max()
        np.testing.assert_allclose(first[:, 0], values["out_oja_y"], rtol=0, atol=1e-8 * scale)
        assert (first[:, 1] == 0).all() and learner.n_finished_ == 1
        second = learner.learn(stream)
        np.testing.assert_allclose(second[:, :1], values["out_apex_yprev"], rtol=0, atol=1e-8)
        np.testing.assert_allclose(second[:, 1], values["out_apex_ytilde"], rtol=0, atol=1e-8)
        np.testing.assert_allclose(learner.lateral_[1, :1], values["out_apex_a"], rtol=0, atol=1e-8)


def test_components_take_turns(rows):
    learner = OnlineKernelPCA(3, rule="apex", rows_per_component=100, **KERNEL)
    outputs = learner.learn(rows)
    begun = (outputs != 0).sum(axis=0)
    np.testing.assert_array_equal(begun, [399, 299, 199])
    assert (learner.n_started_, learner.n_finished_) == (3, 2)
    other = pickle.loads(pickle.dumps(OnlineKernelPCA(3, rule="apex", rows_per_component=100, **KERNEL).partial_fit(rows[:150])))
    np.testing.assert_array_equal(other.learn(rows[150:]), outputs[150:])
    with pytest.warns(RankWarning, match=r"2 of the n_components=3 components .*: one learns after the other, each from 100 rows"):
        OnlineKernelPCA(3, rule="apex", rows_per_component=100, **KERNEL).fit(rows[:150])
    with pytest.raises(ValueError, match="`rows_per_component` must be left out with the rule simultaneous"):
        OnlineKernelPCA(3, rows_per_component=100).fit(rows)
    with pytest.raises(ValueError, match="The 'rows_per_component' parameter of OnlineKernelPCA must be an int"):
        OnlineKernelPCA(3, rule="apex", rows_per_component=0).fit(rows)
    # One more by hand, and anew with the same settings.
    fourth = learner.next_component(rows[7])
    assert fourth.rows_per_component is None and fourth.n_finished_ == 3
    started = OnlineKernelPCA(2, rule="apex", start=rows[:2], **KERNEL).fit(rows).next_component(rows[5])
    assert started.fit(rows).n_seen_ == 400
    np.testing.assert_array_equal(started.start, rows[[0, 1, 5]])


def test_a_component_is_added_under_a_kernel_of_scikit_learn(rows):
    learner = OnlineKernelPCA(2, kernel=RBF(1.0)).fit(rows[:60])
    assert learner.next_component(rows[70]).n_components == 3


# States of streams


def state(path, learner, names=None):
    """The state of a learner as ``mercer stream --checkpoint`` writes it, here with a note of our own."""
    data = bytes(learner._model.to_bytes())
    if names is not None:
        import hashlib

        body = json.loads(data.split(b"\n", 1)[1])
        body["note"] = json.dumps({"rows_read": learner.n_seen_, "bad_rows": 0, "feature_names": names})
        text = json.dumps(body, separators=(",", ":")).encode()
        data = b"mercer learner " + hashlib.sha256(text).hexdigest().encode() + b"\n" + text
    path.write_bytes(data)


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": 20, "schedule": "anneal", "tau": 50.0, "forgetting": 0.01, **KERNEL},
        {"rule": "apex", "rows_per_component": 60, **KERNEL},
        {"rule": "apex", "budget": 30, "policy": "oldest", "kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 0.5, "center": False},
        {"beta": 2.0, "learning_rate": 0.05, "start": np.eye(3), "kernel": "rational-quadratic", "gamma": 0.2, "kernel_params": {"alpha": 2.0}},
    ],
)
def test_the_state_of_a_stream_comes_back_as_a_learner_that_goes_on(tmp_path, rows, settings):
    learner = OnlineKernelPCA(3, **settings).partial_fit(rows[:150])
    state(tmp_path / "state", learner, ["a", "b", "c"])
    other = mercer.load(tmp_path / "state")
    assert isinstance(other, OnlineKernelPCA) and list(other.feature_names_in_) == ["a", "b", "c"]
    for name, value in learner.get_params().items():
        found = getattr(other, name)
        if name in ("kernel", "start", "gamma"):
            continue
        assert found == value or (name in ("tau", "beta") and value is None), (name, found, value)
    if learner.start is not None:
        np.testing.assert_array_equal(other.start, learner.start)
    del other.feature_names_in_
    np.testing.assert_array_equal(other.learn(rows[150:]), learner.learn(rows[150:]))
    np.testing.assert_array_equal(other.coefficients_, learner.coefficients_)
    # It is fitted anew with the same settings, too.
    np.testing.assert_array_equal(other.fit(rows[:50]).transform(rows), OnlineKernelPCA(3, **settings).fit(rows[:50]).transform(rows))


def test_a_damaged_state_is_refused_by_what_is_wrong(tmp_path, rows):
    learner = OnlineKernelPCA(2, budget=20).fit(rows)
    state(tmp_path / "state", learner)
    whole = (tmp_path / "state").read_bytes()
    (tmp_path / "state").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="`state` must be that of an online learner, but it is not readable"):
        mercer.load(tmp_path / "state")
    assert not hasattr(mercer.load(_saved(tmp_path, learner)), "feature_names_in_")


def _saved(folder, learner):
    state(folder / "again", learner)
    return folder / "again"


def test_a_stream_of_the_command_goes_on_here_to_the_same_bits(tmp_path, rows, command):
    text = "x,y,z\n" + "\n".join(",".join(map(repr, row)) for row in rows.tolist()) + "\n"
    lines = text.splitlines(keepends=True)
    learn = [command, "stream", "-n", "2", "--gamma", "0.3", "--budget", "30", "--checkpoint"]
    subprocess.run([*learn, tmp_path / "part"], input="".join(lines[:201]), text=True, check=True, capture_output=True)
    subprocess.run([*learn, tmp_path / "whole"], input=text, text=True, check=True, capture_output=True)
    part, whole = mercer.load(tmp_path / "part"), mercer.load(tmp_path / "whole")
    assert list(part.feature_names_in_) == ["x", "y", "z"]
    for learner in (part, whole):
        del learner.feature_names_in_
    part.partial_fit(rows[200:])
    np.testing.assert_array_equal(part.coefficients_, whole.coefficients_)
    np.testing.assert_array_equal(part.transform(rows), whole.transform(rows))
