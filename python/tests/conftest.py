"""What the tests share."""

import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(params=[0, 42])
def global_random_seed(request):
    """The seeds of scikit-learn's tests."""
    return request.param


@pytest.fixture
def points():
    """A cloud with structure: a few clusters in eight dimensions."""
    random = np.random.default_rng(3)
    centres = random.normal(scale=3.0, size=(4, 8))
    return centres[random.integers(4, size=150)] + random.normal(size=(150, 8))


@pytest.fixture
def run_python():
    """Runs a program in a fresh interpreter and returns what it printed; fails with its errors if it fails."""

    def run(program, *, timeout=120, **environment):
        finished = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **environment},
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return run


@pytest.fixture(scope="session")
def command():
    """The command `mercer`, built from the same sources."""
    given = os.environ.get("MERCER_COMMAND")
    candidates = [pathlib.Path(given)] if given else [ROOT / "target" / kind / "mercer" for kind in ("release", "debug")]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    pytest.fail("the command is not built: run `cargo build --release` first, or set MERCER_COMMAND")
