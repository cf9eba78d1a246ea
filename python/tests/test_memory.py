"""What is made of the data, measured in processes of their own, and counted before it is made."""

import json

import numpy as np
import pytest
import scipy.sparse

import mercer
from mercer import KernelPCA, _arrays, kernel_product

MEASURE = """
import json
import numpy as np, scipy.sparse, mercer
def peak(label):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(label))
def growth(work):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = peak("VmRSS:")
    work()
    return peak("VmHWM:") - before
def refusal(work):
    try:
        work()
    except mercer.MemoryBudgetError as error:
        said.append(str(error))
def sparse(n, d, count, dtype):
    columns, starts = random.integers(d, size=n * count), np.arange(0, n * count + 1, count)
    made = scipy.sparse.csr_array((random.random(n * count, dtype=dtype), columns, starts), shape=(n, d))
    made.sum_duplicates()
    return made
random, said = np.random.default_rng(0), []
warm = random.random((64, 8), dtype=np.float32)
for start in (warm, scipy.sparse.csr_array(warm)):
    mercer.KernelPCA(2, kernel="rbf").fit(start).transform(start)
"""

# Few points of many columns: their array is large, and everything else is small.
WIDE = MEASURE + """
X = random.random((1000, 16_000), dtype=np.float32)
wanted = dict(n_components=2, kernel="rbf", precision="float32", n_jobs=1)
"""


def share(run_python, program):
    return float(run_python(program, timeout=400))


def test_fitting_a_given_matrix_does_not_copy_it(run_python):
    program = MEASURE + """
X = random.random((5000, 4), dtype=np.float32)
K = X @ X.T
pca = mercer.KernelPCA(2, kernel="precomputed", copy_X=False, tolerance=1e-3)
print(growth(lambda: pca.fit(K)) / K.nbytes)
"""
    assert share(run_python, program) < 0.5


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_fitting_points_does_not_copy_them(run_python, kernel):
    program = WIDE + f"""
pca = mercer.KernelPCA(**{{**wanted, "kernel": {kernel!r}}}, copy_X=False, memory_limit="24MB")
print(growth(lambda: pca.fit(X)) / X.nbytes)
"""
    assert share(run_python, program) < 0.8


@pytest.mark.parametrize("params", [{}, {"scaling": "standardize", "copy_X": False}, {"scaling": 0.5, "copy_X": False}])
def test_copies_are_part_of_the_budget(run_python, params):
    program = WIDE + f"""
pca = mercer.KernelPCA(**wanted, memory_limit="90MB", **{params!r})
print((growth(lambda: pca.fit(X)) - 90e6) / X.nbytes)
"""
    # What a process takes beside what is planned is less than 200 MB; here it must be less than a copy.
    assert share(run_python, program) < 0.75


def test_a_copy_that_does_not_fit_is_not_made(run_python):
    program = WIDE + """
def fit(**params):
    refusal(lambda: mercer.KernelPCA(**wanted, memory_limit="50MB", **params).fit(X))
taken = growth(lambda: (fit(), fit(scaling="standardize", copy_X=False)))
print(json.dumps([taken / X.nbytes, said]))
"""
    taken, (copied, scaled) = json.loads(run_python(program))
    assert taken < 0.35
    assert copied == (
        "A copy of X (1000 x 16000, float32) needs 61.1 MiB, but the memory budget is 47.7 MiB; a C-ordered array of float64, float32 or "
        "uint8, with copy_X=False, needs none"
    )
    assert scaled.startswith("A scaled copy of X (1000 x 16000, float32) needs 61.1 MiB, but the memory budget is 47.7 MiB; data that")


def test_sparse_rows_that_would_not_fit_are_not_made_dense(run_python):
    program = MEASURE + """
X = sparse(11_314, 130_107, 10, np.float64)
V = np.ones(X.shape[0])
pca = mercer.KernelPCA(2, kernel="rbf", memory_limit="1GiB")
ways = [
    lambda: pca.fit(X),
    lambda: mercer.plan(X, kernel="rbf", memory_limit="1GiB"),
    lambda: mercer.kernel_product(X, V, memory_limit="1GiB"),
    lambda: mercer.kernel_product(X[:10], V[:10], queries=X, memory_limit="1GiB"),
    lambda: mercer.KernelHebbianPCA(2, memory_limit="1GiB").fit(X),
    lambda: mercer.SpectralClustering(2, memory_limit="1GiB").fit(X),
    lambda: mercer.AutoencoderKernelPCA(2, memory_limit="1GiB").fit(X),
]
taken = [growth(lambda: refusal(way)) for way in ways]
# Where there is no budget, what the machine has.
empty = scipy.sparse.csr_array((1_000_000, 10_000_000))
refusal(lambda: mercer.Nystroem().fit(empty))
refusal(lambda: mercer.tune_kernel(empty))
print(json.dumps([max(taken), len(ways), said]))
"""
    taken, count, said = json.loads(run_python(program))
    assert taken < 150e6
    assert len(said) == count + 2
    for message in said[:count]:
        assert "as dense rows (11314 x 130107, float64) needs 11.0 GiB, but the memory budget is" in message, message
    for message in said[count:]:
        assert "as dense rows (1000000 x 10000000, float64) needs 72.8 TiB" in message, message


def test_transforming_does_not_copy_the_points(run_python):
    program = MEASURE + """
X = random.random((200_000, 250), dtype=np.float32)
pca = mercer.KernelPCA(2, kernel="rbf").fit(X[:50])
print(growth(lambda: pca.transform(X)) / X.nbytes)
"""
    assert share(run_python, program) < 0.5


@pytest.mark.parametrize("scaling", [None, "standardize"])
def test_rows_to_transform_are_made_dense_or_scaled_block_by_block(run_python, scaling):
    program = MEASURE + f"""
X = sparse(400_000, 250, 3, np.float32)
if {scaling!r} is not None:
    X = X.toarray()
pca = mercer.KernelPCA(2, kernel="rbf", scaling={scaling!r}).fit(X[:50])
print(growth(lambda: (pca.transform(X), pca.score_samples(X))) / (4 * X.shape[0] * X.shape[1]))
"""
    assert share(run_python, program) < 0.4


def _answers(X):
    """What estimators that were fitted on dense rows say of these."""
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    yield KernelPCA(3, kernel="rbf").fit(dense).transform(X)
    yield from KernelPCA(3, kernel="rbf", scaling="standardize").fit(dense).novelty(X)
    yield mercer.Nystroem(n_components=20).fit(dense).transform(X)
    yield mercer.FourierFeatures(n_components=20).fit(dense).transform(X)
    yield mercer.KernelHebbianPCA(2, kernel="rbf", passes=2).fit(dense).transform(X)
    yield mercer.SpectralClustering(3, gamma=0.05, random_state=0).fit(dense).predict(X)
    yield mercer.AutoencoderKernelPCA(2, epochs=2).fit(dense).transform(X)


@pytest.mark.filterwarnings("ignore")
def test_blocks_of_rows_give_what_all_rows_give(points, monkeypatch):
    at_once = list(_answers(points))
    # Seven rows of eight numbers.
    monkeypatch.setattr(_arrays, "_BLOCK", 7 * 8 * 8)
    for X in (scipy.sparse.csr_matrix(points), scipy.sparse.csr_array(points), points):
        for found, expected in zip(_answers(X), at_once, strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_progress_over_blocks_is_that_of_all_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 60))
    heard = []
    model = KernelPCA(3, kernel="rbf", n_jobs=1, progress=lambda *state: heard.append(state)).fit(X[:3000])
    monkeypatch.setattr(_arrays, "_BLOCK", X.nbytes // 4)
    heard.clear()
    model.transform(scipy.sparse.csr_array(X))
    fractions = [fraction for *_, fraction, _ in heard]
    assert fractions == sorted(fractions) and all(0 <= fraction <= 1 for fraction in fractions)
    assert max(fractions) > 0.5


def test_what_a_fit_takes_beside_copies_is_told(points):
    for call in (KernelPCA(2, kernel="rbf", memory_limit="20kB").fit, lambda X: mercer.plan(X, kernel="rbf", memory_limit="20kB")):
        with pytest.raises(mercer.MemoryBudgetError, match="beside 9.4 KiB for copies of the data, which memory_limit counts, too"):
            call(points)
    with pytest.raises(mercer.MemoryBudgetError) as raised:
        KernelPCA(2, kernel="rbf", memory_limit="20kB", copy_X=False).fit(points)
    assert "beside" not in str(raised.value)


CONVERTED = {
    "Fortran order": lambda X: np.asfortranarray(np.tile(X, (2, 1))),
    "integers": lambda X: np.tile(X, (2, 1)).astype(np.int32),
    "every other row": lambda X: np.tile(X, (4, 1))[::2],
}


@pytest.mark.parametrize("kind", CONVERTED)
def test_conversions_are_counted(points, kind):
    X = CONVERTED[kind](points)
    for call in (
        lambda: KernelPCA(2, copy_X=False, memory_limit="10kB").fit(X),
        lambda: kernel_product(X, np.ones(300), memory_limit="10kB"),
    ):
        with pytest.raises(mercer.MemoryBudgetError, match=r"A copy of X \(300 x 8, float64\) needs 18.8 KiB"):
            call()


def test_a_plan_counts_what_is_made_of_the_data():
    params = {"n_components": 5, "kernel": "rbf", "memory_limit": "1GiB", "gram": "tiled"}

    def memory(data, **changes):
        plan = mercer.plan(data, **{**params, **changes})
        return plan["expected_memory_bytes"]

    rows = np.random.default_rng(0).normal(size=(3000, 200))
    for dtype in ("float64", "float32"):
        size, typed = rows.size * np.dtype(dtype).itemsize, {"dtype": dtype}
        least = memory(rows.shape, **typed, copy_X=False)
        assert memory(rows.shape, **typed) == memory(rows.astype(dtype)) == least + size
        assert memory(rows.shape, **typed, copy_X=False, scaling="standardize") == least + size
        assert memory(rows.shape, **typed, scaling=0.5) == memory(rows.astype(dtype), scaling=0.5) == least + 2 * size
    assert "what is made of the data before the kernel sees it takes 4.6 MiB of the memory" in str(mercer.plan(rows, **params))
    with pytest.raises(mercer.MemoryBudgetError, match=r"A copy of X \(3000 x 200, float64\) needs 4.6 MiB"):
        memory(rows.shape, memory_limit="4MB")


def test_a_plan_of_bytes_that_are_standardized_is_that_of_single_precision():
    rows = np.random.default_rng(0).integers(256, size=(3000, 784)).astype(np.uint8)
    params = {"n_components": 5, "kernel": "rbf", "memory_limit": "1GiB", "precision": "float32"}
    fields = ("gram", "solver", "precision", "block", "store_bytes", "expected_passes", "expected_memory_bytes")

    def planned(data, **changes):
        plan = mercer.plan(data, **{**params, **changes})
        return [plan[name] for name in fields]

    for scaling in (None, 1 / 255, "standardize"):
        assert planned(rows, scaling=scaling) == planned(rows.shape, dtype="uint8", scaling=scaling)
    # A factor leaves bytes as they are, and makes nothing of them.
    assert planned(rows.shape, dtype="uint8", scaling=1 / 255) == planned(rows.shape, dtype="uint8")
    standardized = planned(rows.shape, dtype="uint8", scaling="standardize", copy_X=False)
    single = planned(rows.shape, dtype="float32", copy_X=True)
    assert standardized == single
