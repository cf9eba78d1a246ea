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
