"""Products and fits in time proportional to the number of points."""

import warnings

import numpy as np
import pytest
from conftest import ROOT
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import mercer
from mercer import KernelPCA, kernel_product


@pytest.fixture(scope="module")
def case():
    with np.load(ROOT / "testdata" / "reference" / "raykar.npz") as arrays:
        return dict(arrays)


def close(found, expected):
    return np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * abs(expected).max() + 1e-13)


def test_polynomial_products_are_those_of_the_reference(case):
    for points, degree, coef0, name in [("in_X2", 3, 0.5, "out_poly_p3_c05"), ("in_X3", 4, 0, "out_poly_p4_c0_d3")]:
        X = case[points]
        product, record = kernel_product(
            X,
            case["in_u"][: len(X)],
            kernel="poly",
            gamma=1,
            degree=degree,
            coef0=coef0,
            gram="expansion",
            method="polynomial",
            return_record=True,
        )
        close(product, case[name])
        assert record["method"] == "polynomial" and record["measured_error"] <= record["bound"] < 1e-13


@pytest.mark.parametrize("method", ["auto", "series", "grid"])
def test_gaussian_products_are_those_of_the_reference(case, method):
    X, u = case["in_X2"], case["in_u"]
    for tolerance in (1e-4, 1e-10):
        product, record = kernel_product(
            X,
            u,
            kernel="rbf",
            bandwidth=0.6,
            gram="expansion",
            method=method,
            tolerance=tolerance,
            return_record=True,
        )
        assert abs(product - case["out_gauss_exact"]).max() <= tolerance * abs(u).sum()
        assert record["measured_error"] <= record["bound"] <= tolerance
        assert record["terms"] > 0 or record["method"] == "tiled"


@pytest.mark.parametrize("solver", ["auto", "lanczos", "krylov", "dense"])
def test_eigenvalues_are_those_of_the_reference(case, solver):
    model = KernelPCA(4, kernel="rbf", gamma=0.5 / 0.36, gram="expansion", solver=solver, tolerance=1e-10)
    model.fit(case["in_X2"])
    close(model.eigenvalues_, case["out_fast_lam"])
    assert model.record_["gram"] == "expansion"
    assert model.record_["expansion"]["measured_error"] <= model.record_["expansion"]["bound"]


@pytest.mark.parametrize(
    "d, gamma, method", [(2, 50.0, "grid"), (3, 5.0, "grid"), (3, 0.2, "series"), (4, 4.0, "clusters")]
)
def test_each_method_keeps_its_tolerance_for_points_and_queries(d, gamma, method):
    random = np.random.default_rng(2)
    X, Q, V = random.random((600, d)), 1.4 * random.random((50, d)), random.normal(size=(600, 3))
    for queries, K in [(None, rbf_kernel(X, gamma=gamma)), (Q, rbf_kernel(Q, X, gamma=gamma))]:
        product, record = kernel_product(
            X,
            V,
            kernel="rbf",
            gamma=gamma,
            queries=queries,
            gram="expansion",
            method=method,
            tolerance=1e-6,
            return_record=True,
        )
        assert (abs(product - K @ V).max(axis=0) <= 1e-6 * abs(V).sum(axis=0)).all()
        assert record["method"] == method and record["gram"] == "expansion"
        assert record["measured_error"] <= record["bound"] <= 1e-6


def test_centred_products_are_those_of_tiles():
    random = np.random.default_rng(4)
    X, V = random.random((500, 3)), random.normal(size=(500, 2))
    settings = {"kernel": "rbf", "gamma": 8.0, "center": True}
    expected = kernel_product(X, V, **settings)
    product = kernel_product(X, V, gram="expansion", tolerance=1e-8, **settings)
    assert (abs(product - expected).max(axis=0) <= 1e-8 * abs(V).sum(axis=0)).all()


def test_the_error_of_a_centred_product_is_that_of_the_vector_that_was_given():
    # One point far from all others: centring makes its vector nearly twice as long.
    X, u = np.full((100, 1), -1.0), np.zeros(100)
    X[0], u[0] = 1, 1
    settings = {"kernel": "rbf", "gamma": 0.5, "center": True}
    expected = kernel_product(X, u, **settings)
    for tolerance in (0.17, 7.4e-3, 1.7e-4, 2.3e-6):
        fast = {"gram": "expansion", "method": "series", "tolerance": tolerance, "return_record": True}
        product, record = kernel_product(X, u, **fast, **settings)
        error = abs(product - expected).max()
        assert error <= record["measured_error"] + 1e-13 <= record["bound"] + 1e-13 <= tolerance + 1e-13


def test_tiles_in_the_place_of_an_expansion_keep_to_the_memory_limit():
    X, V = np.random.default_rng(10).random((600, 200)), np.ones(600)
    with pytest.raises(mercer.MemoryBudgetError, match="a product of 600 points|A product of 600 points"):
        kernel_product(X, V, kernel="rbf", gamma=1e9, gram="expansion", method="series", memory_limit=500_000)


def test_a_rational_quadratic_kernel_that_is_nearly_a_gaussian_has_its_answer_at_once():
    X = np.random.default_rng(11).random((50, 3))
    settings = {"kernel": "rational-quadratic", "gamma": 1.0, "kernel_params": {"alpha": 1e9}}
    product = kernel_product(X, np.ones(50), gram="expansion", method="grid", tolerance=1e-4, **settings)
    np.testing.assert_allclose(product, rbf_kernel(X, gamma=1.0).sum(axis=1), rtol=0, atol=50 * 1e-4)


def test_a_fitted_model_projects_new_points_by_its_expansion():
    random = np.random.default_rng(5)
    X, Q = random.random((900, 2)), 1.2 * random.random((80, 2))
    settings = {"n_components": 3, "kernel": "rbf", "gamma": 30.0, "tolerance": 1e-8}
    fast, exact = KernelPCA(gram="expansion", **settings).fit(X), KernelPCA(gram="tiled", **settings).fit(X)
    np.testing.assert_allclose(fast.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(abs(fast.transform(Q)), abs(exact.transform(Q)), atol=1e-4)


def test_polynomial_kernels_are_eigenproblems_of_few_monomials():
    X = np.random.default_rng(6).normal(size=(2000, 3))
    model = KernelPCA(3, kernel="poly", gamma=0.5, degree=2, gram="expansion").fit(X)
    assert model.record_["solver"] == "dense" and model.record_["expansion"]["terms"] == 10
    K = polynomial_kernel(X, gamma=0.5, degree=2)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(K)[::-1][:3], rtol=1e-9)


def test_a_bandwidth_far_too_small_falls_back_to_tiles_and_says_so():
    X = np.random.default_rng(7).random((300, 3))
    settings = {"kernel": "rbf", "gamma": 1e9, "gram": "expansion", "method": "series"}
    with pytest.warns(UserWarning, match="tiles are computed instead of an expansion"):
        product, record = kernel_product(X, np.ones(300), return_record=True, **settings)
    np.testing.assert_allclose(product, 1, atol=1e-12)
    assert record["method"] == record["gram"] == "tiled"
    assert "tiles are computed instead of an expansion" in record["warnings"][0]


def test_who_takes_no_record_hears_of_tiles_in_the_place_of_an_expansion():
    X = np.random.default_rng(7).random((300, 3))
    with pytest.warns(UserWarning, match="tiles are computed instead of an expansion: grid: "):
        kernel_product(X, np.ones(300), kernel="rbf", gamma=1e9, gram="expansion", method="grid")


def test_a_product_without_anything_to_say_has_an_empty_list_of_warnings():
    X = np.random.default_rng(8).random((300, 3))
    for gram in ("tiled", "expansion"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _, record = kernel_product(X, np.ones(300), kernel="rbf", gamma=0.2, gram=gram, return_record=True)
        assert record["warnings"] == [], record


def test_a_grid_that_only_memory_has_no_room_for_is_not_called_too_large_for_its_points():
    X = np.random.default_rng(9).random((600, 3))
    settings = {"kernel": "rbf", "gamma": 50.0, "gram": "expansion", "method": "grid"}
    _, record = kernel_product(X, np.ones(600), return_record=True, **settings)
    assert record["method"] == "grid"
    with pytest.warns(UserWarning, match="grid: it takes .* of memory, and .* are left"):
        _, record = kernel_product(X, np.ones(600), memory_limit="1MB", return_record=True, **settings)
    assert record["method"] == "tiled"


def test_bad_settings_are_refused(points):
    V = np.ones(150)
    with pytest.raises(ValueError, match="method.*auto.*polynomial.*series.*clusters.*grid"):
        kernel_product(points, V, kernel="rbf", gram="expansion", method="taylor")
    with pytest.raises(ValueError, match="`method` must be left out unless `gram` is \"expansion\""):
        kernel_product(points, V, kernel="rbf", method="grid")
    with pytest.raises(ValueError, match="below rounding"):
        kernel_product(points, V, kernel="rbf", gram="expansion", tolerance=1e-20)
    with pytest.raises(ValueError, match="An expansion does not work with the sigmoid kernel"):
        kernel_product(points, V, kernel="sigmoid", gram="expansion")
    with pytest.raises(ValueError, match="gram.*auto.*tiled.*stored.*"):
        mercer.KernelHebbianPCA(2, kernel="rbf", gram="expansion").fit(points)
