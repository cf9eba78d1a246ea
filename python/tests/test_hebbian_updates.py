"""The kernel Hebbian algorithm in steps of updates, and what more points take of the memory budget."""

import pickle

import numpy as np
import pytest

import mercer
from mercer import KernelHebbianPCA

SETTINGS = {"n_components": 2, "kernel": "rbf", "eta0": 0.3, "tau": 300.0, "batch_size": 16}


def test_steps_of_updates_are_a_run(points):
    whole = KernelHebbianPCA(passes=2, **SETTINGS).fit(points)
    learner = KernelHebbianPCA(**SETTINGS)
    for step in range(1, 7):
        learner.partial_fit(points if step == 1 else None, updates=50)
        assert learner.n_updates_ == 50 * step
        assert learner.transform(points[:3]).shape == (3, 2)
        assert np.isfinite(learner.history_[-1]["gains"]).all()
    assert learner.passes == 10
    np.testing.assert_allclose(learner.coefficients_, whole.coefficients_, rtol=0, atol=1e-10)
    assert [entry["updates"] for entry in learner.history_] == [50, 100, 150, 200, 250, 300]
    assert [entry["passes"] for entry in learner.history_] == [0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize("gain", ["et*", "smd"])
def test_a_pickle_inside_a_pass_goes_on_to_the_same_bits(points, gain):
    learner = KernelHebbianPCA(gain=gain, mu=0.01, **(SETTINGS | {"eta0": 0.05})).partial_fit(points, updates=70)
    twin = pickle.loads(pickle.dumps(learner))
    for each in (learner, twin):
        each.partial_fit(updates=45).partial_fit(passes=1)
    np.testing.assert_array_equal(twin.coefficients_, learner.coefficients_)
    np.testing.assert_array_equal(twin.log_gains_, learner.log_gains_)
    assert twin.n_updates_ == learner.n_updates_ == 70 + 45 + 150


def test_new_points_are_learned_in_steps_of_updates(points):
    learner = KernelHebbianPCA(**SETTINGS).fit(points[:100]).partial_fit(points[100:], updates=20)
    assert learner.n_updates_ == 1000 + 20 and learner.coefficients_.shape == (2, 150)


def test_wrong_numbers_of_updates_are_refused(points):
    learner = KernelHebbianPCA(2)
    with pytest.raises(ValueError, match=r"'updates' parameter of KernelHebbianPCA must be an int in the range \[1, inf\) or None. Got 0"):
        learner.partial_fit(points, updates=0)
    with pytest.raises(ValueError, match="passes and updates cannot both be given"):
        learner.partial_fit(points, passes=1, updates=3)
    assert not hasattr(learner, "coefficients_")


def test_errors_are_recorded_where_they_are_cheap_or_asked_for(points):
    def updates_with_error(record_error):
        learner = KernelHebbianPCA(passes=2, record_every=30, record_error=record_error, **SETTINGS).fit(points)
        assert [entry["updates"] for entry in learner.history_] == list(range(30, 301, 30))
        return [entry["updates"] for entry in learner.history_ if entry["error"] is not None]

    assert updates_with_error(None) == [30, 120, 150, 240, 300]
    assert updates_with_error(True) == list(range(30, 301, 30))
    assert updates_with_error(False) == []


def test_copies_of_more_points_count_in_the_memory_limit():
    X = np.random.default_rng(0).normal(size=(400, 2000))
    learner = KernelHebbianPCA(2, kernel="rbf", eta0=0.1, passes=1, gram="tiled", copy_X=False, n_jobs=1, memory_limit="46MB")
    learner.fit(X[:200])
    # Both sets put together take 6.4 MB, and packed as much again: that is within the limit, and a copy of the new ones is not.
    taken = learner.record_["plan"]["expected_memory_bytes"]
    with pytest.raises(mercer.MemoryBudgetError, match="old and new ones"):
        KernelHebbianPCA(**{**learner.get_params(), "memory_limit": taken}).fit(X[:200]).partial_fit(X[200:])
    plenty = KernelHebbianPCA(**{**learner.get_params(), "memory_limit": "1GB"}).fit(X[:200]).partial_fit(X[200:])
    needed = plenty.record_["plan"]["expected_memory_bytes"]
    assert needed >= taken + 2 * X[:200].nbytes
    exact = KernelHebbianPCA(**{**learner.get_params(), "memory_limit": needed}).fit(X[:200])
    with pytest.raises(mercer.MemoryBudgetError, match=r"old and new ones.*beside 3\.1 MiB for copies of the data"):
        exact.partial_fit(np.asfortranarray(X[200:]))
    assert exact.n_updates_ == 200
    exact.partial_fit(X[200:])
    assert exact.n_updates_ == 200 + 400
