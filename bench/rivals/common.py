"""What the rivals' scripts share: the points, the clock, the peak of memory, and the answer on standard output."""

import argparse
import json
import os
import platform
import time

import numpy
import scipy
import sklearn


def arguments():
    """A parser of the flags that describe a file of plain numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", required=True)
    parser.add_argument("--format", required=True, choices=["f32"])
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--features", type=int, required=True)
    return parser


def load(path, rows, features):
    """Single-precision points, row by row."""
    return numpy.fromfile(path, dtype=numpy.float32, count=rows * features).reshape(rows, features)


def _kilobytes(label):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(label):
                return int(line.split()[1])
    raise RuntimeError(f"no {label} in /proc/self/status")


class Measured:
    """Seconds of a stretch of work, and by how much it raised the peak of memory above what was resident before."""

    def __enter__(self):
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")  # resets the peak to what is resident
            self._before = _kilobytes("VmRSS:")
        except OSError:
            self._before = _kilobytes("VmHWM:")
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self._start
        self.peak_growth_bytes = 1024 * max(0, _kilobytes("VmHWM:") - self._before)


def warm_up(work):
    """Runs `work` on a few points, so that loading libraries and starting threads is not timed."""
    work(numpy.random.default_rng(0).random((64, 8), dtype=numpy.float32))


def answer(measured, more_versions=(), **more):
    """Prints what was measured."""
    versions = {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        **dict(more_versions),
    }
    if "OPENBLAS_CORETYPE" in os.environ:
        versions["openblas routines"] = os.environ["OPENBLAS_CORETYPE"]
    measurement = {"seconds": measured.seconds, "peak_growth_bytes": measured.peak_growth_bytes}
    print(json.dumps({**measurement, "versions": versions, **more}))
