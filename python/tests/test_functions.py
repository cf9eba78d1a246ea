"""Products with kernel matrices, plans, versions."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import KernelCenterer

import mercer
from mercer import kernel_product


@pytest.fixture
def vectors():
    return np.random.default_rng(1).normal(size=(150, 3))


@pytest.mark.parametrize(
    "kernel, matrix",
    [
        ("rbf", lambda X, Y: rbf_kernel(X, Y, gamma=0.1)),
        ("poly", lambda X, Y: polynomial_kernel(X, Y, gamma=0.1)),
        ("laplacian", lambda X, Y: laplacian_kernel(X, Y, gamma=0.1)),
        (lambda x, y: x @ y, lambda X, Y: X @ Y.T),
        (mercer.block_kernel(lambda X, Y: X @ Y.T), lambda X, Y: X @ Y.T),
    ],
)
def test_products_are_those_of_the_matrix(points, vectors, kernel, matrix):
    queries = points[:40] + 0.1
    for centred in (False, True):
        centre = KernelCenterer().fit(matrix(points, points))
        expected = matrix(points, points), matrix(queries, points)
        if centred:
            expected = tuple(centre.transform(K.copy()) for K in expected)
        for against, K in zip((None, queries), expected, strict=True):
            product, record = kernel_product(
                points, vectors, kernel=kernel, gamma=0.1, queries=against, center=centred, return_record=True
            )
            np.testing.assert_allclose(product, K @ vectors, rtol=1e-10, atol=1e-10 * abs(K).max())
            assert record["measured_error"] < 1e-13 and record["checked_rows"] == min(len(product), 100)
            assert record["centered"] is centred
            assert record["method"] == record["gram"] == "tiled"


@pytest.mark.parametrize("gram", ["auto", "tiled", "stored"])
def test_many_vectors_are_multiplied_some_at_a_time(points, gram):
    V = np.random.default_rng(1).normal(size=(150, 600))
    product, record = kernel_product(points, V, kernel="rbf", gamma=0.1, gram=gram, return_record=True)
    np.testing.assert_allclose(product, rbf_kernel(points, gamma=0.1) @ V, rtol=1e-10, atol=1e-10)
    assert record["gram"] == {"auto": "stored", "tiled": "tiled", "stored": "stored"}[gram]
    if gram == "stored":
        assert record["kernel_entries"] <= 150 * 150


def test_one_vector_gives_one_vector(points):
    for V in (np.ones(150), [1.0] * 150):
        assert kernel_product(points, V).shape == (150,)
    assert kernel_product(points, np.ones((150, 1))).shape == (150, 1)


def test_a_tolerance_that_single_precision_misses_brings_double(points, vectors):
    X = points.astype(np.float32)
    product, record = kernel_product(X, vectors, kernel="rbf", gamma=0.1, tolerance=1e-12, return_record=True)
    assert record["precision"] == "f64" and record["measured_error"] <= 1e-12
    _, record = kernel_product(X, vectors, kernel="rbf", gamma=0.1, tolerance=1e-4, return_record=True)
    assert record["precision"] == "f32" and 1e-12 < record["measured_error"] <= 1e-4
    with pytest.raises(ValueError, match="`tolerance` must be at least"):
        kernel_product(X, vectors, kernel="rbf", gamma=0.1, tolerance=1e-12, precision="float32")


def test_a_given_matrix_is_multiplied(points, vectors):
    K = points @ points.T
    np.testing.assert_allclose(kernel_product(K, vectors, kernel="precomputed"), K @ vectors, rtol=1e-10, atol=1e-9)


def test_wrong_shapes_are_refused(points, vectors):
    with pytest.raises(ValueError, match="V must have 150 rows, one per point, but it has 149"):
        kernel_product(points, vectors[1:])
    with pytest.raises(ValueError, match="`queries` must be of 8 columns, as the points are, but it is 7"):
        kernel_product(points, vectors, queries=points[:, 1:])
    with pytest.raises(ValueError, match="X must be a 2D array, but it has 1 dimension"):
        kernel_product(points[0], vectors)
    for X in (points + 1j, points.astype(str), np.full((150, 2), "a", dtype=object)):
        with pytest.raises(TypeError, match="X must hold real numbers"):
            kernel_product(X, vectors)
    with pytest.raises(mercer.MemoryBudgetError, match="A product of 150 points"):
        kernel_product(points, vectors, memory_limit="1kB")


def test_numbers_that_are_not_finite_are_found_in_the_argument_that_holds_them(points, vectors):
    def broken(array, *place):
        array = array.copy()
        array[place] = np.nan
        return array

    with pytest.raises(ValueError, match="V must be finite, but it is nan in row 3, column 1"):
        kernel_product(points, broken(vectors, 3, 1))
    with pytest.raises(ValueError, match="V must be finite, but it is nan in row 3$"):
        kernel_product(points, broken(vectors[:, 0], 3))
    with pytest.raises(ValueError, match="`queries` must be finite, but it is NaN in row 2, column 5"):
        kernel_product(points, vectors, queries=broken(points, 2, 5))
    with pytest.raises(ValueError, match="`X` must be finite, but it is NaN in row 2, column 5"):
        kernel_product(broken(points, 2, 5), vectors)


def test_vectors_and_points_may_be_sparse_or_objects_or_none_at_all(points, vectors):
    expected = kernel_product(points, vectors)
    for X, V in (
        (scipy.sparse.csr_array(points), vectors),
        (points, scipy.sparse.csr_array(vectors)),
        (points.astype(object), vectors.astype(object)),
        (points.tolist(), vectors.tolist()),
    ):
        np.testing.assert_array_equal(kernel_product(X, V), expected)
    assert kernel_product(points, vectors[:, :0]).shape == (150, 0)
    assert kernel_product(points[:0], vectors[:0]).shape == (0, 3)
    assert kernel_product(points, vectors, queries=points[:0]).shape == (0, 3)


def test_a_plan_says_what_a_fit_does(points):
    plan = mercer.plan(points, n_components=3, kernel="rbf")
    model = mercer.KernelPCA(3, kernel="rbf").fit(points)
    assert plan["solver"] == model.record_["solver"] and plan["gram"] == model.record_["gram"]
    assert plan["expected_memory_bytes"] > 0 and "solver on a" in str(plan)


def test_a_plan_needs_only_a_shape():
    plan = mercer.plan((60_000, 784), dtype="float32", n_components=50, kernel="rbf", gamma="median", memory_limit="2GiB")
    assert plan["gram"] in ("tiled", "stored") and plan["precision"] == "f32" and plan["stored_share"] < 1
    assert plan["expected_memory_bytes"] <= 2 << 30
    sizes = tuple(np.array([60_000, 784]))
    assert mercer.plan(sizes, n_components=50, memory_limit="2GiB")["precision"] == "f64"
    with pytest.raises(mercer.MemoryBudgetError):
        mercer.plan((60_000, 784), n_components=50, memory_limit="20MB")


def test_a_plan_of_bytes_is_that_of_an_array_of_bytes():
    rows = np.random.default_rng(0).integers(256, size=(3000, 784)).astype(np.uint8)
    params = {"n_components": 5, "kernel": "rbf", "gamma": 1e-6, "memory_limit": "1GiB"}
    fields = ("gram", "solver", "precision", "block", "store_bytes", "expected_passes", "expected_memory_bytes")
    given, shaped = mercer.plan(rows, **params), mercer.plan(rows.shape, dtype="uint8", **params)
    assert [given[name] for name in fields] == [shaped[name] for name in fields]
    wide = mercer.plan(rows.shape, dtype="float32", **params)
    assert shaped["precision"] == "f32" and shaped["expected_memory_bytes"] < wide["expected_memory_bytes"]


def test_a_plan_counts_the_inverse_transform():
    params = {"n_components": 5, "kernel": "rbf", "memory_limit": "2GiB", "gram": "tiled"}
    without, both = (mercer.plan((8000, 20), fit_inverse_transform=wanted, **params) for wanted in (False, True))
    assert both["expected_memory_bytes"] >= 8 * 8000**2 > without["expected_memory_bytes"]
    assert both["expected_seconds"] > without["expected_seconds"]
    assert "the way back from scores is learned after the fit" in str(both)
    with pytest.raises(mercer.MemoryBudgetError, match="Learning pre-images of 8000 points"):
        mercer.plan((8000, 20), **{**params, "memory_limit": "400MB"}, fit_inverse_transform=True)
    assert mercer.plan((8000, 20), **{**params, "memory_limit": "400MB"})["gram"] == "tiled"


def test_a_share_of_the_variance_has_a_plan():
    assert mercer.plan((8000, 20), kernel="rbf", variance=0.9)["solver"] == "krylov"


def test_a_plan_refuses_what_it_would_have_to_ignore(points):
    with pytest.raises(ValueError, match="dtype='float32' is for a shape"):
        mercer.plan(points, dtype="float32")
    with pytest.raises(ValueError, match="'dtype' parameter of plan must be a str among {'float64', 'float32', 'uint8'}"):
        mercer.plan((100, 4), dtype="int16")
    with pytest.raises(ValueError, match="'X' parameter of plan must be an int"):
        mercer.plan((100, 0))


@pytest.mark.parametrize("params", [{"gram": "nystrom", "n_landmarks": 30}, {"gram": "nystrom", "landmarks": "kmeans"}, {"accuracy": 0.05}])
def test_a_plan_over_landmarks_says_what_a_fit_does(params):
    X = np.random.default_rng(3).normal(size=(2500, 3)).cumsum(axis=0) / 50
    given = {"n_components": 2, "kernel": "rbf", "gamma": 0.1, "memory_limit": "1GiB", **params}
    plan, shaped = mercer.plan(X, **given), mercer.plan(X.shape, **given)
    record = mercer.KernelPCA(**given).fit(X).record_
    assert plan["gram"] == record["gram"] == "nystrom"
    for name in ("method", "n_landmarks", "solver", "precision"):
        assert plan[name] == shaped[name] == record["plan"][name]
    assert plan["n_landmarks"] == record["nystrom"]["n_landmarks"] and plan["expected_seconds"] > 0
    # The copy of X counts, too, which the fit's own record does not know.
    assert plan["expected_memory_bytes"] == record["plan"]["expected_memory_bytes"] + X.nbytes
    assert f"{plan['n_landmarks']} landmarks" in str(plan)


@pytest.mark.parametrize("scaling", [None, "standardize"])
@pytest.mark.parametrize(("own", "planned"), [(np.float64, np.float64), (np.float32, np.float32), (np.uint8, None)])
def test_landmarks_for_a_shape_of_bytes_have_the_type_that_a_fit_gives_them(monkeypatch, scaling, own, planned):
    from mercer import _mercer

    seen, plan = [], _mercer.plan

    def looked_at(data, exact, rough, **more):
        seen.append(rough["landmarks"])
        return plan(data, exact, rough, **more)

    monkeypatch.setattr(_mercer, "plan", looked_at)
    X = np.random.default_rng(0).integers(0, 256, size=(200, 5)).astype(np.uint8)
    settings = {"gram": "nystrom", "landmarks": X[:30].astype(own), "n_components": 3, "kernel": "rbf", "scaling": scaling}
    mercer.plan(X, **settings)
    mercer.plan(X.shape, dtype="uint8", **settings)
    of_points, of_shape = seen
    assert of_points.dtype == own
    # Bytes become single precision when they are standardized, points and landmarks alike.
    assert of_shape.dtype == (planned or (np.uint8 if scaling is None else np.float32))


def test_a_plan_approximates_only_what_may_be_and_is_worth_it():
    X = np.random.default_rng(3).normal(size=(2500, 3))
    given = {"n_components": 2, "kernel": "rbf", "gamma": 0.1}
    assert "n_landmarks" not in mercer.plan(X, **given)
    few = mercer.plan(X[:1999], accuracy=0.05, **given)
    assert "n_landmarks" not in few and "no landmarks, because 1999 rows are fewer than 20" in str(few)
    assert "an exact fit follows" in str(mercer.plan(X, accuracy=0.05, **given))
    for wrong, words in (({"accuracy": 0.1, "gram": "tiled"}, "asks for another method"), ({"accuracy": 2}, "accuracy")):
        with pytest.raises(ValueError, match=words):
            mercer.plan(X, **given, **wrong)
    with pytest.raises(mercer.MemoryBudgetError, match="landmarks"):
        mercer.plan((10**6, 20), **given, gram="nystrom", n_landmarks=50_000, memory_limit="1GiB")


@pytest.mark.parametrize(
    "params", [{"time_limit": "x"}, {"alpha": -1}, {"copy_X": 3}, {"progress": 7}, {"inverse": "pinv"}, {"fit_inverse_transform": 1}]
)
def test_a_plan_refuses_what_a_fit_refuses(points, params):
    messages = []
    for call in (mercer.KernelPCA(2, kernel="rbf", **params).fit, lambda X: mercer.plan(X, n_components=2, kernel="rbf", **params)):
        with pytest.raises(ValueError) as raised:
            call(points)
        messages.append(str(raised.value))
    assert messages[0] == messages[1] and next(iter(params)) in messages[0]


def test_versions_are_shown(capsys):
    mercer.show_versions()
    shown = capsys.readouterr().out
    assert f"mercer: {mercer.__version__}" in shown and "numpy: " in shown and "instructions: " in shown
