"""What is left of a run of the kernel Hebbian algorithm that is stopped: by a time limit, an exception, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import KernelHebbianPCA


def test_a_time_limit_keeps_what_was_learned_and_the_run_goes_on():
    X = np.random.default_rng(0).normal(size=(2000, 20))
    learner = KernelHebbianPCA(3, kernel="rbf", eta0=0.1, passes=100_000, time_limit=1.0)
    with pytest.warns(ConvergenceWarning, match="stopped by its time limit after"):
        learner.fit(X)
    assert 0 < learner.n_updates_ < 100_000 * 2000
    assert np.isfinite(learner.transform(X[:5])).all()
    before = learner.n_updates_
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the run was stopped")
        learner.set_params(time_limit=None).partial_fit(passes=1)
    assert learner.n_updates_ == before + 2000
    with pytest.raises(mercer.ConvergenceError, match="before there was a result"):
        KernelHebbianPCA(3, kernel="rbf", time_limit=0.0).fit(X)


def test_an_exception_of_the_progress_function_keeps_what_there_is():
    X = np.random.default_rng(0).normal(size=(2000, 20))

    def progress(phase, number, expected, fraction, residual):
        if number >= 3:
            raise RuntimeError("enough")

    learner = KernelHebbianPCA(3, kernel="rbf", eta0=0.1, passes=100_000, progress=progress)
    with pytest.raises(RuntimeError, match="enough"):
        learner.fit(X)
    fitted = learner.n_updates_
    assert fitted >= 2 * 2000
    with pytest.raises(RuntimeError, match="enough"):
        learner.partial_fit()
    assert learner.n_updates_ >= fitted and learner.coefficients_.shape == (3, 2000)


PROGRAM = """
import numpy as np, mercer
X = np.random.default_rng(0).normal(size=(20_000, 100))
learner = mercer.KernelHebbianPCA(20, kernel="rbf", eta0=0.1, gram="tiled", passes=1000)
print("started", flush=True)
try:
    learner.fit(X)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(mercer.KernelHebbianPCA(2).fit(X[:300]).n_updates_)
"""


def test_ctrl_c_ends_a_fit_within_two_seconds_and_leaves_the_interpreter_usable():
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "started\n"
        time.sleep(1.5)
        os.kill(process.pid, signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.readline() == "interrupted\n", process.stderr.read()
        delay = time.monotonic() - sent
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert delay < 2.0
    assert rest == "3000\n"


CALLING = """
import os, signal, time, warnings
import numpy as np, mercer

warnings.simplefilter("ignore")

X = np.random.default_rng(3).normal(size=(240, 4))

def gaussian(A, B):
    return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(-1))

calls, stop = 0, 0

@mercer.block_kernel
def kernel(A, B):
    global calls
    if len(B) > 1:
        calls += 1
        if calls == stop:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
    return gaussian(A, B)

K = gaussian(X, X)
K = K - K.mean(0) - K.mean(1)[:, None] + K.mean()

def state(learner):
    A = learner.coefficients_
    estimates = np.linalg.norm(A @ K, axis=1) / np.linalg.norm(A, axis=1)
    off = np.abs(learner.eigenvalue_estimates_ / estimates - 1).max()
    # The model is that of these coefficients.
    P = A @ K
    largest = np.linalg.eigvals(np.linalg.solve(A @ K @ A.T, P @ P.T)).real.max()
    off = max(off, abs(learner.eigenvalues_[0] / largest - 1))
    return learner.n_updates_, "torn" if off > 1e-8 else "whole"

def fitted():
    return mercer.KernelHebbianPCA(
        3, kernel=kernel, gain="t", eta0=0.5, passes=1, batch_size=80, gram="tiled", n_jobs=1, record_error=False
    )

fitted().fit(X)
total, calls = calls, 0
# The calls of the last two batches; a batch has the same number in every pass.
learner = fitted()
learner.fit(X)
before = calls
learner.partial_fit(passes=1)
in_batch = (calls - before) // 3
print(total, in_batch, flush=True)
for back in (in_batch + in_batch // 2, in_batch - 1, in_batch // 2, 1):
    calls, stop = 0, total - back
    learner = fitted()
    try:
        learner.fit(X)
        print("not stopped")
    except KeyboardInterrupt:
        print("fit", *state(learner), flush=True)
    calls, stop = 0, 0
    learner = fitted().fit(X)
    stop = calls + 3 * in_batch - back
    try:
        learner.partial_fit(passes=1)
        print("not stopped")
    except KeyboardInterrupt:
        print("partial_fit", *state(learner), flush=True)
"""


def test_ctrl_c_inside_a_function_leaves_the_batches_that_were_complete():
    done = subprocess.run([sys.executable, "-c", CALLING], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[1:]
    # One batch of three, then two.
    expected = [(80, 320), (160, 400), (160, 400), (160, 400)]
    assert lines == [
        line for fit, more in expected for line in (f"fit {fit} whole", f"partial_fit {more} whole")
    ], done.stdout
