"""What a report of a problem should say about the machine."""

import importlib.metadata
import os
import platform
import sys

from ._mercer import INSTRUCTIONS, __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "polars", "joblib", "tqdm")


def show_versions() -> None:
    """Prints the versions of everything that has a part in a result.

    Examples
    --------
    >>> import mercer
    >>> mercer.show_versions()  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    mercer: ...
    """
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines = [
        ("mercer", __version__),
        ("instructions", INSTRUCTIONS),
        ("threads", threads),
        ("python", sys.version.split()[0]),
        ("interpreter lock", "off" if not getattr(sys, "_is_gil_enabled", lambda: True)() else "on"),
        ("platform", platform.platform()),
    ]
    for package in _PACKAGES:
        try:
            lines.append((package, importlib.metadata.version(package)))
        except importlib.metadata.PackageNotFoundError:
            lines.append((package, "not installed"))
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:>{width}}: {value}")
