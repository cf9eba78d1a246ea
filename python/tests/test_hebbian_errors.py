"""What the kernel Hebbian algorithm refuses: gains that diverge, parameters and points that are wrong."""

import re

import numpy as np
import pytest

import mercer
from mercer import KernelHebbianPCA, KernelPCA


def test_divergence_is_an_error_that_names_the_gain_and_changes_nothing(points):
    learner = KernelHebbianPCA(2, kernel="rbf", gain="constant", passes=3, eta0=1e4)
    with pytest.raises(ValueError, match='diverged within .* updates with gain "constant" at eta0 = 10000'):
        learner.fit(points)
    assert not hasattr(learner, "coefficients_")
    learner.set_params(eta0=0.01).fit(points)
    before = learner.coefficients_
    with pytest.raises(ValueError, match="diverged"):
        learner.set_params(eta0=1e4).fit(points)
    np.testing.assert_array_equal(learner.coefficients_, before)
    assert learner.set_params(eta0=0.01).partial_fit(passes=1).n_updates_ == 600


def test_automatic_gains_go_on_down_when_new_points_need_it(points):
    learner = KernelHebbianPCA(2, gain="t", passes=3).fit(points)
    before = learner.gain_parameters_["eta0"]
    learner.partial_fit(10 * points, passes=3)
    assert learner.gain_parameters_["eta0"] < before
    assert learner.n_updates_ == 3 * 150 + 3 * 300 and len(learner.history_) == 6
    given = KernelHebbianPCA(2, gain="t", passes=3, eta0=before).fit(points)
    with pytest.raises(ValueError, match='; use a smaller eta0, or "auto"') as told:
        given.partial_fit(10 * points, passes=3)
    # The 450 updates of before are not among them.
    assert int(re.search(r"diverged within (\d+) updates", str(told.value))[1]) <= 300
    assert given.n_updates_ == 3 * 150 and given.X_fit_.shape == points.shape


@pytest.mark.parametrize(
    "params, message",
    [
        ({"n_components": 0}, r"'n_components' parameter of KernelHebbianPCA must be an int in the range \[1, inf\). Got 0"),
        ({"n_components": 151}, "`n_components` must be .*but it is 151"),
        ({"gain": "adam"}, "'gain' parameter of KernelHebbianPCA must be a str among {'constant', 't', 'et\\*'"),
        ({"eta0": 0}, r"'eta0' parameter of KernelHebbianPCA must be 'auto' or a float in the range \(0, inf\). Got 0"),
        ({"eta0": "much"}, "'eta0' parameter"),
        ({"mu": -1}, r"'mu' parameter of KernelHebbianPCA must be 'auto' or a float in the range \[0, inf\). Got -1"),
        ({"tau": 0.0}, "'tau' parameter"),
        ({"xi": 1.5}, r"'xi' parameter of KernelHebbianPCA must be a float in the range \[0, 1\]. Got 1.5"),
        ({"xi": -0.1}, r"'xi' parameter of KernelHebbianPCA must be a float in the range \[0, 1\]. Got -0.1"),
        ({"xi": float("nan")}, r"'xi' parameter of KernelHebbianPCA must be a float in the range \[0, 1\]. Got nan"),
        ({"rho0": float("nan")}, "'rho0' parameter"),
        ({"refresh": "never"}, "'refresh' parameter"),
        ({"passes": 0}, r"'passes' parameter of KernelHebbianPCA must be an int in the range \[1, inf\). Got 0"),
        ({"passes": 10**30}, r"'passes' parameter of KernelHebbianPCA must be an int in the range \[1, 9223372036854775807\]. Got 10{30} "),
        ({"tolerance": 0}, r"'tolerance' parameter of KernelHebbianPCA must be a float in the range \(0, 1\) or None. Got 0"),
        ({"tolerance": 1}, r"'tolerance' parameter of KernelHebbianPCA must be a float in the range \(0, 1\) or None. Got 1"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"record_every": 0}, "'record_every' parameter"),
        ({"record_error": "yes"}, "'record_error' parameter"),
        ({"gram": "dense"}, "'gram' parameter"),
        ({"gram": "nystrom"}, "'gram' parameter of KernelHebbianPCA must be a str among {'auto', 'tiled', 'stored'}. Got 'nystrom'"),
        ({"negative": "ignore"}, "'negative' parameter"),
        ({"time_limit": -1}, "'time_limit' parameter"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_allowed(points, params, message):
    with pytest.raises(ValueError, match=message):
        KernelHebbianPCA(**params).fit(points)


def test_wrong_types_and_points_are_refused(points):
    with pytest.raises(TypeError, match="order must hold integers"):
        KernelHebbianPCA(2).fit(points, order=[0.5])
    with pytest.raises(TypeError, match="initial_model must be a fitted"):
        KernelHebbianPCA(2).fit(points, initial_model=KernelPCA(2))
    with pytest.raises(ValueError, match="variance"):
        KernelHebbianPCA(2).fit(np.ones((10, 3)))
    learner = KernelHebbianPCA(2).fit(points)
    with pytest.raises(ValueError, match="X has 7 features, but KernelHebbianPCA is expecting 8"):
        learner.partial_fit(points[:, 1:])
    with pytest.raises(ValueError, match="'passes' parameter"):
        learner.partial_fit(passes=0)
    bytewise = KernelHebbianPCA(2).fit((10 * np.abs(points)).astype(np.uint8))
    with pytest.raises(ValueError, match="format learned from"):
        bytewise.partial_fit(points)
    matrix = KernelHebbianPCA(2, kernel="precomputed").fit(points @ points.T)
    with pytest.raises(ValueError, match="precomputed"):
        matrix.partial_fit(points @ points.T)
    with pytest.raises(mercer.MemoryBudgetError):
        KernelHebbianPCA(2, kernel="rbf", memory_limit="1kB").fit(points)
