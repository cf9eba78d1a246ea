"""Ctrl-C, time limits and progress, in real processes where signals are involved."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import mercer
from mercer import KernelPCA

LONG = """
import sys, time
import numpy as np
import mercer
X = np.random.default_rng(0).normal(size=(60_000, 100))
pca = mercer.KernelPCA(40, kernel="rbf", gram="tiled", solver="krylov", tolerance=1e-12)
"""

THREADS = """
import os
def threads():
    return len(os.listdir("/proc/self/task"))
def threads_after(seconds):
    deadline = time.monotonic() + seconds
    while threads() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    return threads()
before = threads()
"""


def interrupted(program, after, *, begin=LONG):
    process = subprocess.Popen(
        [sys.executable, "-c", begin + textwrap.dedent(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "started\n"
        time.sleep(after)
        os.kill(process.pid, signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.readline() == "interrupted\n", process.stderr.read()
        delay = time.monotonic() - sent
        # Not by communicate, which forgets what came in one piece with the line above.
        rest, errors = process.stdout.read(), process.stderr.read()
        process.wait()
    finally:
        watchdog.cancel()
        process.kill()
    assert process.returncode == 0, errors
    return delay, rest


def test_ctrl_c_ends_a_fit_within_two_seconds_and_leaves_the_interpreter_usable():
    delay, rest = interrupted(
        """
        print("started", flush=True)
        try:
            pca.fit(X)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        small = mercer.KernelPCA(2, kernel="rbf").fit(X[:300])
        print(small.converged_, small.transform(X[:5]).shape)
        """,
        after=1.0,
    )
    assert delay < 2.0
    assert rest == "True (5, 2)\n"


def test_ctrl_c_ends_a_dense_decomposition_too():
    delay, rest = interrupted(
        """
        print("started", flush=True)
        try:
            mercer.KernelPCA(5, kernel="rbf", solver="dense").fit(X[:5000])
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(mercer.KernelPCA(2, kernel="rbf").fit(X[:300]).converged_)
        """,
        after=3.0,
    )
    assert delay < 2.0
    assert rest == "True\n"


# Forms of so many columns that the losses of all rows take ten seconds or more.
LONG_LOSSES = LONG + """
X = np.random.default_rng(0).normal(size=(30_000, 400))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_ctrl_c_ends_the_losses_of_an_autoencoder():
    delay, rest = interrupted(
        """
        model = mercer.AutoencoderKernelPCA(40, epochs=0, start="random").fit(X[:100])
        print("started", flush=True)
        try:
            model.loss(X)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(threads_after(3.0) - before)
        """,
        after=1.0,
        begin=LONG_LOSSES + THREADS,
    )
    assert delay < 2.0
    assert rest == "0\n"


# Few enough rows for a search over all pairs, and so many columns that one pass over those takes seconds however fast the machine is.
LONG_SEARCH = LONG + """
X = np.random.default_rng(0).normal(size=(10_000, 4_000))
"""

SEARCHES = {
    "plan": 'mercer.plan(X, n_components=2, kernel="rbf", gamma="auto")',
    "kernel_product": 'mercer.kernel_product(X, np.ones(len(X)), kernel="rbf", gamma="auto")',
    "FourierFeatures": 'mercer.FourierFeatures(gamma="auto").fit(X)',
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
@pytest.mark.parametrize("search", SEARCHES)
def test_ctrl_c_ends_the_search_for_a_width_and_its_threads(search):
    delay, rest = interrupted(
        f"""
        print("started", flush=True)
        try:
            {SEARCHES[search]}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(threads_after(5.0) - before)
        """,
        after=0.5,
        begin=LONG_SEARCH + THREADS,
    )
    assert delay < 2.0
    assert rest == "0\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
@pytest.mark.parametrize("call", ["kernel_product", "FourierFeatures"])
def test_a_search_for_a_width_has_as_many_threads_as_were_given(run_python, call):
    program = LONG + THREADS + """
import threading
X, seen, done = X[:4000], [], threading.Event()
def count():
    while not done.wait(0.001):
        seen.append(threads() - before)
watcher = threading.Thread(target=count)
watcher.start()
CALL
done.set()
watcher.join()
# The one that counts, that of the call, and one to work on; for a moment, the last one of the search is still there.
print(sorted(seen)[len(seen) * 3 // 4])
"""
    call = {
        "kernel_product": 'mercer.kernel_product(X, np.ones(len(X)), kernel="rbf", gamma="auto", n_jobs=1)',
        "FourierFeatures": 'mercer.FourierFeatures(gamma="auto", n_jobs=1).fit(X)',
    }[call]
    assert run_python(program.replace("CALL", call)) == "3\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
@pytest.mark.parametrize("ask", ["mercer.KernelPCA(2, kernel=slow).fit(X[:900])", "few.transform(X[:900])"])
def test_ctrl_c_ends_the_calls_of_a_slow_function_and_the_interpreter_exits(ask):
    delay, rest = interrupted(
        f"""
        pause = 0.0
        def slow(x, y):
            time.sleep(pause)
            return float(x[0] * y[0])
        few = mercer.KernelPCA(1, kernel=slow).fit(X[:20])
        # A tile of such calls takes minutes.
        pause = 0.005
        print("started", flush=True)
        try:
            {ask}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(threads_after(1.0) - before)
        pause = 0.0
        print(few.transform(X[:5]).shape)
        """,
        after=0.5,
        begin=LONG + THREADS,
    )
    assert delay < 1.0
    assert rest == "0\n(5, 1)\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_process_forked_during_the_fit_of_another_thread_does_not_wait_for_that_fit(run_python):
    program = """
        import os, threading, time
        import numpy as np
        import mercer

        X = np.random.default_rng(0).normal(size=(300, 5))
        at_work, go_on = threading.Event(), threading.Event()
        calls = 0

        def waiting(x, y):
            at_work.set()
            go_on.wait()
            return float(x[0] * y[0])

        def slow(x, y):
            global calls
            calls += 1
            time.sleep(0.002)
            return float(x[0] * y[0])

        def stop(*_):
            raise RuntimeError("enough")

        def calls_after_the_fit_was_given_up():
            try:
                mercer.KernelPCA(2, kernel=slow, progress=stop).fit(X)
            except RuntimeError:
                before = calls
                time.sleep(0.5)
                return calls - before

        other = threading.Thread(target=lambda: mercer.KernelPCA(1, kernel=waiting).fit(X[:20]))
        other.start()
        at_work.wait()
        forked = os.fork()
        if forked == 0:
            try:
                print(calls_after_the_fit_was_given_up(), flush=True)
            finally:
                os._exit(0)
        os.waitpid(forked, 0)
        go_on.set()
        other.join()
    """
    # The fit of the other thread is none of the forked process: nobody waits for what the function would still compute there.
    assert run_python(program) == "0\n"


def test_an_exception_of_the_progress_function_stops_the_fit_and_keeps_what_there_is(points):
    X = np.random.default_rng(0).normal(size=(6000, 50))
    seen = []

    def progress(phase, number, expected, fraction, residual):
        seen.append((phase, number, expected, fraction, residual))
        if phase == "solving" and number >= 3:
            raise RuntimeError("enough")

    model = KernelPCA(30, kernel="rbf", gram="tiled", tolerance=1e-13, progress=progress)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X)
    assert not model.converged_
    assert {phase for phase, *_ in seen} <= {"packing", "starting", "solving"}
    assert all(0 <= fraction <= 1 for *_, fraction, _ in seen)
    assert model.transform(X[:5]).shape[0] == 5


def test_a_progress_function_hears_the_latest_state_in_the_calling_thread():
    X = np.random.default_rng(0).normal(size=(4000, 60))
    heard = []

    def progress(phase, number, expected, fraction, residual):
        heard.append((time.monotonic(), threading.get_ident(), phase, number, expected, fraction, residual))

    model = KernelPCA(20, kernel="rbf", gram="tiled", solver="krylov", tolerance=1e-12, progress=progress).fit(X)
    times, callers, phases, numbers, expected, fractions, residuals = zip(*heard, strict=True)
    assert set(callers) == {threading.get_ident()}
    assert min(np.diff(times), default=1) > 0.04
    assert set(phases) <= {"packing", "starting", "solving"} and "solving" in phases
    passes = [number for phase, number in zip(phases, numbers, strict=True) if phase == "solving"]
    assert passes == sorted(passes) and 1 <= passes[0] and passes[-1] <= model.record_["passes"]
    assert all(type(number) is int for number in numbers) and all(0 <= fraction <= 1 for fraction in fractions)
    assert all(about is None or about >= 1 for about in expected)
    # Before the first check of the solver there is no residual; later ones do not grow by much.
    assert all(residual is None or residual > 0 for residual in residuals)
    assert any(residual is not None for residual in residuals)
    heard.clear()
    model.set_params(n_jobs=1).transform(np.tile(X, (4, 1)))
    assert {phase for _, _, phase, *_ in heard} == {"transforming"}


def test_what_is_over_before_anybody_looks_is_not_reported(points):
    heard = []
    KernelPCA(2, kernel="rbf", progress=lambda *state: heard.append(state)).fit(points[:10])
    assert heard == []


def test_a_time_limit_gives_the_best_model_so_far_and_a_warning():
    # A flat spectrum and power iteration: a pass takes milliseconds, and thousands of them are needed.
    X = np.random.default_rng(0).normal(size=(2000, 50))
    start = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="the run was stopped"):
        model = KernelPCA(3, kernel="rbf", gram="tiled", solver="power", tolerance=1e-12, time_limit=2.0).fit(X)
    assert time.monotonic() - start < 30
    assert not model.converged_
    assert model.residuals_.max() > 1e-12
    assert np.isfinite(model.transform(X[:5])).all()
    assert mercer.ConvergenceWarning is ConvergenceWarning


def test_a_time_limit_before_there_is_anything_is_an_error(points):
    with pytest.raises(mercer.ConvergenceError, match="before there was a result"):
        KernelPCA(2, kernel="rbf", time_limit=0.0).fit(np.random.default_rng(0).normal(size=(3000, 50)))


def test_a_time_limit_covers_the_inverse_transform():
    X = np.random.default_rng(0).normal(size=(2000, 8))

    @mercer.block_kernel
    def kernel(x, y):
        # Points have eight numbers, and their scores two: the regression on scores would take half a minute.
        if x.shape[1] == 2:
            time.sleep(1.0)
        return np.exp(-0.1 * ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))

    start = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="time_limit=5.0 was not enough to learn the inverse transform"):
        model = KernelPCA(2, kernel=kernel, fit_inverse_transform=True, time_limit=5.0).fit(X)
    assert time.monotonic() - start < 16
    assert not model.converged_ and model.transform(X[:5]).shape == (5, 2)
    assert not hasattr(model, "dual_coef_") and not hasattr(model, "X_transformed_fit_")
    with pytest.raises(ValueError, match="inverse"):
        model.inverse_transform(model.transform(X[:5]))


LEARNED = [
    "record_",
    "eigenvalues_",
    "eigenvectors_",
    "residuals_",
    "explained_variance_ratio_",
    "total_variance_",
    "converged_",
    "gamma_",
    "X_fit_",
    "dual_coef_",
    "X_transformed_fit_",
]


def test_a_second_fit_that_fails_leaves_nothing_of_the_first(points):
    big = np.random.default_rng(0).normal(size=(3000, 50))
    for params, X, error in (
        ({"time_limit": 0.0}, big, mercer.ConvergenceError),
        ({"memory_limit": "10kB"}, big, mercer.MemoryBudgetError),
        ({"gamma": -1.0}, big, ValueError),
        ({}, np.full((5, 2), np.nan), ValueError),
    ):
        model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(points)
        assert all(hasattr(model, name) for name in LEARNED)
        with pytest.raises(error):
            model.set_params(**params).fit(X)
        assert [name for name in LEARNED if hasattr(model, name)] == []
        with pytest.raises(NotFittedError):
            model.get_feature_names_out()
    # What is not learned from the data stays, and the next fit begins anew.
    assert KernelPCA.fit(model, points).converged_


def test_a_second_fit_that_is_stopped_says_so(points):
    def stop(phase, number, *_):
        if phase == "solving" and number >= 3:
            raise RuntimeError("enough")

    X = np.random.default_rng(0).normal(size=(6000, 50))
    model = KernelPCA(30, kernel="rbf", gram="tiled", tolerance=1e-13).fit(points)
    first = model.record_
    with pytest.raises(RuntimeError, match="enough"):
        model.set_params(progress=stop).fit(X)
    assert model.converged_ is False and model.record_ != first and model.record_["n_samples"] == 6000
    assert model.n_features_in_ == 50 and model.eigenvectors_.shape[0] == 6000


def test_a_fit_that_is_stopped_while_it_learns_the_way_back_has_not_converged():
    def stop(phase, *_):
        if phase not in ("packing", "starting", "solving"):
            raise KeyboardInterrupt

    X = np.random.default_rng(0).normal(size=(6000, 8)).astype(np.float32)
    model = KernelPCA(2, kernel="rbf", gamma=1e-3, tolerance=1e-2, fit_inverse_transform=True, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.converged_ is False and model.record_["converged"] is True
    # On a busy machine a transform reports, too.
    model.set_params(progress=False)
    assert not hasattr(model, "dual_coef_") and model.transform(X[:5]).shape == (5, 2)


def test_passes_that_run_out_are_a_warning():
    X = np.random.default_rng(0).normal(size=(600, 50))
    with pytest.warns(ConvergenceWarning, match="passes were used up"):
        model = KernelPCA(5, kernel="rbf", max_iter=1).fit(X)
    assert not model.converged_ and model.record_["passes"] == 1


def test_other_threads_run_meanwhile():
    X = np.random.default_rng(0).normal(size=(3000, 300))
    ticks, done = 0, threading.Event()

    def fit():
        KernelPCA(20, kernel="rbf", gram="tiled", n_jobs=1).fit(X)
        done.set()

    thread = threading.Thread(target=fit)
    thread.start()
    while not done.wait(0.005):
        ticks += 1
    thread.join()
    assert ticks >= 3


def test_nothing_is_shown_or_warned_by_default(points, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(2, kernel="rbf").fit(points).transform(points)
    assert capfd.readouterr() == ("", "")
