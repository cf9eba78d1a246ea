"""Several parameters of a kernel, and a width for every feature, by gradient."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import ArdResult, KernelPCA, ParameterResult, tune_ard, tune_kernel, tune_parameters


def criterion(K):
    """The variance of the components' variances, by eigenvalues."""
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.var(np.linalg.eigvalsh(H @ K @ H) / n)


def squared_distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(-1)


@pytest.fixture(scope="module")
def grouped():
    """Two features with groups in them, and two of noise."""
    noise = np.random.default_rng(4).normal(size=(90, 4))
    rows = np.arange(90)
    return np.column_stack([4.0 * (rows % 2) + 0.3 * noise[:, 0], 4.0 * (rows % 3) + 0.3 * noise[:, 1], noise[:, 2:]])


def test_two_parameters_are_where_eigenvalues_have_their_maximum(points):
    ranges = {"gamma": (1e-3, 1e3), "alpha": (0.2, 3.0)}
    result = tune_parameters(points, "rational-quadratic", ranges)
    assert isinstance(result, ParameterResult) and result.converged and result.steps > 0
    D = squared_distances(points)

    def at(gamma, alpha):
        return criterion((1 + gamma * D / alpha) ** -alpha)

    gamma, alpha = result.parameters["gamma"], result.parameters["alpha"]
    assert result.best_value == pytest.approx(at(gamma, alpha), rel=1e-9)
    for name, (low, high) in ranges.items():
        for factor in (0.99, 1.01):
            moved = {**result.parameters, name: min(max(factor * result.parameters[name], low), high)}
            assert at(**moved) <= result.best_value * (1 + 1e-9), (name, factor)
    numeric = (at(gamma, alpha * (1 + 1e-5)) - at(gamma, alpha * (1 - 1e-5))) / (2e-5 * alpha)
    assert result.gradient["alpha"] == pytest.approx(numeric, rel=1e-3, abs=1e-8 * result.best_value)
    assert result.at_bound == [name for name in ranges if result.parameters[name] in ranges[name]]


def test_one_parameter_is_what_the_search_for_a_width_finds(points):
    result = tune_parameters(points, "rbf", {"gamma": (1e-4, 1e4)}, gamma=1.0)
    assert result.parameters["gamma"] == pytest.approx(tune_kernel(points).best_gamma, rel=1e-4)
    assert not result.at_bound


def test_a_climb_tells_where_it_began_and_how_many_steps_it_took(points, grouped):
    found = tune_parameters(points, "rbf", {"gamma": (1e-4, 1e4)}, gamma=1.0)
    assert found.start_value == pytest.approx(criterion(np.exp(-squared_distances(points))), rel=1e-9)
    assert found.start_value < found.best_value
    for result in (found, tune_ard(grouped)):
        assert result.best_value > result.start_value and result.steps > 0


def test_a_polynomial_kernel_grows_to_the_ends_of_its_ranges(points):
    result = tune_parameters(points, "poly", {"gamma": (0.01, 1.0), "coef0": (0.0, 2.0)}, degree=2)
    assert result.converged and result.at_bound and result.parameters["gamma"] == pytest.approx(1.0)
    expected = criterion((result.parameters["gamma"] * points @ points.T + result.parameters["coef0"]) ** 2)
    assert result.best_value == pytest.approx(expected, rel=1e-9)


def test_widths_per_feature_iron_out_noise(grouped):
    result = tune_ard(grouped)
    assert isinstance(result, ArdResult) and result.converged
    assert result.gammas[2:].max() < 0.1 * result.gammas[:2].max()
    np.testing.assert_allclose(result.gammas, 0.5 / result.bandwidths**2)
    X = grouped * np.sqrt(result.gammas)
    assert result.best_value == pytest.approx(criterion(np.exp(-squared_distances(X))), rel=1e-9)
    start = tune_kernel(grouped)
    assert result.start_value == pytest.approx(start.best_value, rel=1e-9) and result.best_value > start.best_value
    # Such a kernel is the common one of scaled features.
    assert KernelPCA(2, kernel="rbf", gamma=1.0).fit(X).eigenvalues_.sum() > 0


def test_the_width_to_start_from_is_searched_with_the_seed():
    # More rows than all pairs are looked at of.
    X = np.random.default_rng(4).normal(size=(10_500, 2))
    starts = [tune_ard(X, max_steps=1, random_state=seed).start_value for seed in (None, 0, 1)]
    assert starts[0] == starts[1] and starts[1] != starts[2]
    found = [tune_parameters(X, "rbf", {"gamma": (1e-3, 1e3)}, max_steps=1, random_state=seed) for seed in (0, 1)]
    assert found[0].parameters != found[1].parameters
    with pytest.raises(ValueError, match="seed|random_state"):
        tune_ard(X[:10], random_state="now")


def test_widths_per_feature_start_where_they_are_told_to(grouped):
    with pytest.warns(ConvergenceWarning, match="the climb ended after 1 step, before a maximum"):
        short = tune_ard(grouped, [0.1, 0.2, 0.3, 0.4], max_steps=1)
    X = grouped * np.sqrt([0.1, 0.2, 0.3, 0.4])
    assert short.start_value == pytest.approx(criterion(np.exp(-squared_distances(X))), rel=1e-9)
    assert short.steps == 1 and not short.converged


@pytest.mark.parametrize(
    ("kernel", "ranges", "arguments", "words"),
    [
        ("rbf", {}, {}, "at least one parameter"),
        ("rbf", [("gamma", 1, 2)], {}, "ranges"),
        ("rbf", {"sigma": (1, 2)}, {}, "ranges"),
        ("rbf", {"gamma": 1.0}, {}, r"ranges\['gamma'\]"),
        ("rbf", {"gamma": (1, np.nan)}, {}, r"ranges\['gamma'\]"),
        ("rbf", {"gamma": (2, 1)}, {}, "`ranges` must be two positive numbers for gamma, the smaller one first, but it is 2 to 1"),
        ("rbf", {"gamma": (0, 1)}, {}, "positive"),
        ("rbf", {"coef0": (0, 1)}, {}, "coef0"),
        ("linear", {"gamma": (1, 2)}, {}, "linear"),
        ("no such", {"gamma": (1, 2)}, {}, "no such"),
        (lambda x, y: 1.0, {"gamma": (1, 2)}, {}, "function"),
        ("rbf", {"gamma": (1, 2)}, {"max_steps": 0}, "max_steps"),
    ],
)
def test_ranges_that_make_no_sense(kernel, ranges, arguments, words):
    with pytest.raises(ValueError, match=words):
        tune_parameters(np.eye(5), kernel, ranges, **arguments)


@pytest.mark.parametrize(
    ("X", "gammas", "words"),
    [
        (np.eye(5), [1.0], "one number per feature"),
        (np.eye(5), [1.0, 1.0, 1.0, 1.0, 0.0], "positive"),
        (np.eye(5), [[1.0] * 5], "gammas"),
        (np.ones((5, 2)), [1.0, 1.0], "equal"),
        (np.ones((5, 2)), None, "equal"),
    ],
)
def test_widths_that_make_no_sense(X, gammas, words):
    with pytest.raises(ValueError, match=words):
        tune_ard(X, gammas)
