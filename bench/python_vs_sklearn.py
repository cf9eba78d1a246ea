"""Kernel PCA of MNIST digits in Python: `mercer.KernelPCA` against scikit-learn's class with each of its solvers.

    python bench/python_vs_sklearn.py --data DIR [--sizes 500,2000,5000,10000] [--components 2,10,50] [--rounds 3]

The folder holds `mnist.npz` (array `X`, 60000 x 28 x 28 bytes). Contenders take turns within a round and count with their best
round; answers are compared before times are. Writes bench/records/python_vs_sklearn.json, with every time of every round and the
load of the machine. `--quick` shows on random points and in seconds that it works, and writes nothing.
"""

import argparse
import datetime
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

RECORD = pathlib.Path(__file__).parent / "records" / "python_vs_sklearn.json"
GAMMA = 1 / 128  # bandwidth 8 on pixels from 0 to 1
# scikit-learn's dense solver takes minutes beyond this and is never its fastest there.
DENSE_UP_TO = 2000
# Single precision: eigenvalues of both carry a few units of 1e-7 per sum of n terms, theirs in single-precision algebra.
AGREEMENT = 2e-3


def contenders(n, k):
    """What can be fitted, by name."""
    solvers = ["arpack", "randomized"] + (["dense"] if n <= DENSE_UP_TO else [])
    made = {
        f"scikit-learn {solver}": lambda solver=solver: Theirs(
            k, kernel="rbf", gamma=GAMMA, eigen_solver=solver, random_state=0
        )
        for solver in solvers
    }
    return {"mercer": lambda: mercer.KernelPCA(k, kernel="rbf", gamma=GAMMA), **made}


def seconds(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def compare(X, k, rounds):
    """Times of fit for all, and of fit_transform for mercer and the fastest of the others."""
    named = contenders(len(X), k)
    fits = {name: [] for name in named}
    eigenvalues = {}
    for _ in range(rounds):
        for name, make in named.items():
            taken, model = seconds(lambda make=make: make().fit(X))
            fits[name].append(taken)
            eigenvalues[name] = np.asarray(model.eigenvalues_, dtype=float)
    ours = eigenvalues["mercer"]
    for name, theirs in eigenvalues.items():
        worst = abs(theirs - ours).max() / ours[0]
        if worst > AGREEMENT:
            raise SystemExit(f"n = {len(X)}, k = {k}: eigenvalues of {name} differ by {worst:.1e} of the first")
    fastest = min((name for name in named if name != "mercer"), key=lambda name: min(fits[name]))
    both = {name: [] for name in ("mercer", fastest)}
    for _ in range(rounds):
        for name in both:
            both[name].append(seconds(lambda name=name: named[name]().fit_transform(X))[0])
    return {
        "n_samples": len(X),
        "n_components": k,
        "fit_seconds": fits,
        "fit_transform_seconds": both,
        "fastest_rival": fastest,
        "fit_ratio": min(fits[fastest]) / min(fits["mercer"]),
        "fit_transform_ratio": min(both[fastest]) / min(both["mercer"]),
    }


def import_seconds(statement, times=5):
    """The least time that an import takes in a fresh interpreter that has NumPy already."""
    program = f"import time, numpy; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(times)]
    return min(float(run.stdout) for run in runs)


def write_record(results, imports, rounds, started, load_before):
    """Writes what was measured so far."""
    record = {
        "question": "How long do fit and fit_transform of mercer.KernelPCA take against scikit-learn's KernelPCA?",
        "started": started.isoformat(timespec="seconds"),
        "load_before": load_before,
        "load_after": os.getloadavg(),
        "processors": os.cpu_count(),
        "versions": {
            "mercer": mercer.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "python": platform.python_version(),
        },
        "precision": "float32",
        "gamma": GAMMA,
        "rounds": rounds,
        "import_seconds_beyond_numpy": imports,
        "results": results,
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--sizes", default="500,2000,5000,10000")
    parser.add_argument("--components", default="2,10,50")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        points, options.sizes, options.components = np.random.default_rng(0).random((400, 30), dtype=np.float32), "200,400", "2"
    elif options.data is None:
        parser.error("--data is needed: a folder with mnist.npz")
    else:
        with np.load(options.data / "mnist.npz") as data:
            points = data["X"].reshape(-1, 784).astype(np.float32) / 255
    imports = {name: import_seconds(name) for name in ("import mercer", "from mercer import KernelPCA", "import sklearn.base")}
    for name, taken in imports.items():
        print(f"{name}: {taken:.3f} s beyond numpy", flush=True)
    load_before, started = os.getloadavg(), datetime.datetime.now(datetime.UTC)
    results = []
    for n in map(int, options.sizes.split(",")):
        for k in map(int, options.components.split(",")):
            result = compare(np.ascontiguousarray(points[:n]), k, options.rounds)
            results.append(result)
            ours, rival = (1e3 * min(result["fit_seconds"][name]) for name in ("mercer", result["fastest_rival"]))
            print(
                f"n = {n:6d}, k = {k:3d}: fit {ours:8.1f} ms, {result['fastest_rival']} {rival:8.1f} ms, ratio {result['fit_ratio']:.2f};"
                f" fit_transform ratio {result['fit_transform_ratio']:.2f}",
                flush=True,
            )
            if not options.quick:
                # After every result: what is measured is on record, even if the rest takes too long.
                write_record(results, imports, options.rounds, started, load_before)


if __name__ == "__main__":
    main()
