"""Kernel PCA of MNIST digits in Python: `mercer.KernelPCA` against scikit-learn's class with each of its solvers.

    python bench/python_vs_sklearn.py --data DIR --commit HASH [--sizes 500,2000,5000,10000] [--components 2,10,50] [--rounds 5]

The folder holds `mnist.npz` (array `X`, 60000 x 28 x 28 bytes). Contenders take turns within a round, `fit` and `fit_transform` in the
same one, and count with their best round: other work on the machine only ever makes one slower. Which of the two comes first changes from
round to round: the first one finds memory and caches as another contender left them, the second one as its own kind did. Fits of a few milliseconds need more
chances than long ones to meet a quiet moment, so rounds go on until they have taken some seconds. A machine that was busy before, and
a `fit` that seems to take longer than the `fit_transform` around it, are noted in the record. Answers are compared before times are.
Writes bench/records/python_vs_sklearn.json in the layout of the other benchmarks, from which `scripts/bench table` makes its section of
the page. `--quick` shows on random points and in seconds that it works, and writes nothing.
"""

import argparse
import datetime
import gc
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import numpy as np
import sklearn
from sklearn.decomposition import KernelPCA as Theirs

import mercer
from mercer._mercer import INSTRUCTIONS

RECORD = pathlib.Path(__file__).parent / "records" / "python_vs_sklearn.json"
SCHEMA = 1
GAMMA = 1 / 128  # bandwidth 8 on pixels from 0 to 1
# scikit-learn's dense solver takes minutes beyond this and is never its fastest there.
DENSE_UP_TO = 2000
# Single precision: eigenvalues of both carry a few units of 1e-7 per sum of n terms, theirs in single-precision algebra.
AGREEMENT = 2e-3
# What may be left of their scores outside the span of ours, relative to all of them: eigenvectors to residuals of 1e-5 turn by as much beside
# the gap to the next eigenvalue, which is below a thousandth of the first one for the last of fifty components, and those are short.
SPAN = 1e-2
# What answers are held against: ARPACK, which goes on to rounding. Others may end with less, and their times count all the same.
EXACT = "scikit-learn arpack"
# The tolerance of ours, by default; ARPACK goes on to rounding unless it is told as well.
TOLERANCE = 1e-5
# How many times as fast a fit has to be, by the number of points; between them nothing was asked.
NEVER_SLOWER_AT, FAST_FROM, FAST = 500, 5000, 5.0
# Rounds of one case go on until they have taken this many seconds together, up to so many of them.
SECONDS, MOST_ROUNDS = 10.0, 40
# Seconds of rest before every run.
REST = 0.2
# Processes that want to run, for each processor, from which on a machine is busy.
BUSY = 0.5
# Seconds that an import may take beyond NumPy's own.
IMPORT = 0.15


class Findings:
    """What was found, in the layout of a record."""

    def __init__(self):
        self.timings, self.quantities, self.answers, self.ratios, self.notes = [], [], [], [], []

    def timing(self, name, seconds):
        self.timings.append({"name": name, "seconds": seconds})
        return {"name": name, "value": min(seconds), "unit": "s"}

    def note(self, text):
        print(f"  note: {text}", flush=True)
        self.notes.append(text)

    def check(self, what, found, limit):
        if not found <= limit:
            raise SystemExit(f"wrong answer: {what}: {found:.1e}, where at most {limit:.1e} is right")
        self.answers.append({"what": what, "found": found, "limit": limit})

    def ratio(self, what, dividend, divisor, bar=None):
        value = dividend["value"] / divisor["value"]
        met = None
        if bar is not None:
            ((kind, limit),) = bar.items()
            met = value <= limit if kind == "at_most" else value >= limit
        verdict = {None: "", True: ": bar met", False: ": BAR MISSED"}[met]
        print(f"  {what}: {value:.3f}{verdict}", flush=True)
        self.ratios.append({"what": what, "dividend": dividend, "divisor": divisor, "value": value, "bar": bar, "met": met})


def contenders(n, k):
    """What can be fitted, by name."""
    solvers = [("arpack", 0), ("randomized", 0)] + ([("dense", 0)] if n <= DENSE_UP_TO else []) + [("arpack", TOLERANCE)]
    made = {
        f"scikit-learn {solver}{f' to {tol:.0e}' if tol else ''}": lambda solver=solver, tol=tol: Theirs(
            k, kernel="rbf", gamma=GAMMA, eigen_solver=solver, tol=tol, random_state=0
        )
        for solver, tol in solvers
    }
    return {"mercer": lambda: mercer.KernelPCA(k, kernel="rbf", gamma=GAMMA), **made}


def outside(scores, span):
    """The share of scores that is not in the span of others."""
    basis = np.linalg.qr(span)[0]
    return float(np.linalg.norm(scores - basis @ (basis.T @ scores)) / np.linalg.norm(scores))


def seconds(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def run(make, work, X):
    """The seconds that one of the two works takes, what it returns, and the model."""
    # What the run before has left behind is given back before this one, and not within it.
    gc.collect()
    model = make()
    # Nothing of the run before, as threads that wait for more to do, is to be timed with this one.
    time.sleep(REST)
    return *seconds(lambda: getattr(model, work)(X)), model


def bar_at(n):
    """What a fit of n points has to reach against scikit-learn's fastest."""
    if n == NEVER_SLOWER_AT:
        return {"at_least": 1.0}
    return {"at_least": FAST} if n >= FAST_FROM else None


def compare(findings, X, k, rounds, spell=SECONDS):
    """Times of fit and fit_transform, side by side with the fastest of the others."""
    named = contenders(len(X), k)
    where = f"n={len(X)},k={k}"
    taken = {work: {name: [] for name in named} for work in ("fit", "fit_transform")}
    eigenvalues, scores = {}, {}
    start, done = time.perf_counter(), 0
    while done < rounds or (done < MOST_ROUNDS and time.perf_counter() - start < spell):
        # Neither of the two works is always the first after another contender.
        works = list(taken)[:: 1 if done % 2 == 0 else -1]
        for name, make in named.items():
            for work in works:
                taken_now, result, model = run(make, work, X)
                taken[work][name].append(taken_now)
                if work == "fit_transform":
                    scores[name] = np.asarray(result, dtype=float)
                eigenvalues[name] = np.asarray(model.eigenvalues_, dtype=float)
                # A fit returns its model: nothing of this run is to be there during the next one.
                del result, model
        done += 1
    ours = eigenvalues.pop("mercer")
    for name, theirs in eigenvalues.items():
        worst = float(abs(theirs - ours).max() / ours[0])
        beyond = outside(scores[name], scores["mercer"])
        if name == EXACT:
            findings.check(f"{where}: eigenvalues of {name}, relative to the first", worst, AGREEMENT)
            findings.check(f"{where}: scores of {name} outside the span of ours, relative to all", beyond, SPAN)
        elif worst > AGREEMENT or beyond > SPAN:
            findings.note(f"{where}: {name} is not as exact: eigenvalues differ by {worst:.1e}, {beyond:.1e} of its scores are outside the span")
    for work, times in taken.items():
        best = {name: findings.timing(f"{name}, {work}/{where}", runs) for name, runs in times.items()}
        fastest = min(eigenvalues, key=lambda name, times=times: min(times[name]))
        findings.ratio(f"{work}, n = {len(X)}, k = {k}: {fastest} to mercer", best[fastest], best["mercer"], bar_at(len(X)))
    for name in named:
        alone, around = (min(taken[work][name]) for work in ("fit", "fit_transform"))
        if alone > 1.1 * around:
            findings.note(f"{where}: noise: {name} took {alone:.3g} s to fit, and {around:.3g} s to fit and transform")


def import_seconds(findings, statement, times=9):
    """The times that an import takes in a fresh interpreter that has NumPy already."""
    program = f"import time, numpy; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(times)]
    return findings.timing(statement, [float(run.stdout) for run in runs])


def imports(findings):
    """What imports take beyond NumPy, and beyond the part of scikit-learn that its estimators are built on."""
    package, estimator, base = (
        import_seconds(findings, statement)
        for statement in ("import mercer", "from mercer import KernelPCA", "import sklearn.base")
    )
    allowed = {"name": "allowed", "value": IMPORT, "unit": "s"}
    findings.ratio("import mercer, beyond NumPy, to what is allowed", package, allowed, {"at_most": 1.0})
    findings.ratio("from mercer import KernelPCA, beyond NumPy, to what is allowed", estimator, allowed, {"at_most": 1.0})
    findings.ratio("from mercer import KernelPCA to import sklearn.base", estimator, base)


def machine():
    """What it runs on; nothing names the machine, its user or its folders."""
    cpuinfo, meminfo = (pathlib.Path("/proc", name).read_text().splitlines() for name in ("cpuinfo", "meminfo"))
    return {
        "cpu": next((line.split(":")[1].strip() for line in cpuinfo if line.startswith("model name")), platform.machine()),
        "processors": len(os.sched_getaffinity(0)),
        "instruction_set": INSTRUCTIONS,
        "memory_bytes": next((1024 * int(line.split()[1]) for line in meminfo if line.startswith("MemTotal:")), 0),
        "load_before": os.getloadavg()[0],
    }


def write_record(findings, options, about):
    """Writes what was measured so far."""
    record = {
        "schema": SCHEMA,
        "benchmark": "python_vs_sklearn",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": options.commit,
        "quick": False,
        "threads": about["processors"],
        "machine": about,
        "versions": {
            "mercer": mercer.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "scikit-learn": sklearn.__version__,
        },
        "settings": {"data": "MNIST, training part, first rows", "gamma": GAMMA, "precision": "float32", "rounds_at_least": options.rounds},
        **vars(findings),
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--commit", help="the commit that the package was built from")
    parser.add_argument("--sizes", default="500,2000,5000,10000")
    parser.add_argument("--components", default="2,10,50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        points, options.sizes, options.components = np.random.default_rng(0).random((400, 30), dtype=np.float32), "200,400", "2"
    elif options.data is None or options.commit is None:
        parser.error("--data and --commit are needed: a folder with mnist.npz, and what was built")
    else:
        with np.load(options.data / "mnist.npz") as data:
            points = data["X"].reshape(-1, 784).astype(np.float32) / 255
    about, findings = machine(), Findings()
    if about["load_before"] > BUSY * about["processors"] and not options.quick:
        findings.note(f"the machine was busy: {about['load_before']:.2f} processes on {about['processors']} processors wanted to run before it began")
    imports(findings)
    for n in map(int, options.sizes.split(",")):
        for k in map(int, options.components.split(",")):
            compare(findings, np.ascontiguousarray(points[:n]), k, options.rounds, 0.0 if options.quick else SECONDS)
            if not options.quick:
                # After every result: what is measured is on record, even if the rest takes too long.
                write_record(findings, options, about)


if __name__ == "__main__":
    main()
