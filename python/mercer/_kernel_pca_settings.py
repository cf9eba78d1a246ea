"""What :class:`mercer.KernelPCA` asks for, as the extension module takes it."""

from typing import Any

from . import _checks, _mercer, _progress
from ._arrays import rows
from ._base import Estimator
from ._kernels import describe

_EIGEN_SOLVERS = ("auto", "dense", "arpack", "randomized")


class Settings(Estimator):
    """Parameters of kernel PCA, checked one by one and together."""

    def _nystrom_settings(self, n_samples: int, dtype: Any, memory_limit: str | None) -> dict[str, Any]:
        """What is asked for over landmarks, as the extension module takes it."""
        owner = type(self).__name__
        defaults = {
            "solver": "auto",
            "eigen_solver": "auto",
            "max_iter": None,
            "iterated_power": "auto",
            "negative": None,
            "variance": None,
        }
        asked = "accuracy" if self.gram == "auto" else "gram='nystrom'"
        for name, default in defaults.items():
            if getattr(self, name) != default:
                raise ValueError(f"{name} has no effect with {asked}: leave it out")
        accuracy, tolerance = self._wanted_accuracy(), self._wanted_tolerance()
        if accuracy and tolerance and self.gram == "nystrom":
            raise ValueError("accuracy and tolerance say the same thing with gram='nystrom': give one of them")
        count = _checks.integer(owner, "n_components", self.n_components, 1, optional=True)
        n_landmarks = _checks.integer(owner, "n_landmarks", self.n_landmarks, 1, optional=True)
        landmarks = "rpcholesky" if self.landmarks is None else self.landmarks
        if isinstance(landmarks, str):
            _checks.choice(owner, "landmarks", landmarks, _mercer.LANDMARKS)
            if count is None:
                # One for each landmark. For a number of components the library says how many landmarks they take.
                n_landmarks = min(_mercer.DEFAULT_LANDMARKS, n_samples) if n_landmarks is None else n_landmarks
                count = min(n_landmarks, n_samples)
        else:
            landmarks = rows(landmarks, "landmarks")
            if dtype.kind == "f":
                # Bytes would not hold what lies between them.
                landmarks = landmarks.astype(dtype, order="C", copy=False)
            count = landmarks.shape[0] if count is None else count
        return {
            "kernel": self._kernel_settings(self.gamma, self.bandwidth),
            "landmarks": landmarks,
            "n_landmarks": n_landmarks,
            "n_components": count,
            "center": _checks.boolean(owner, "center", self.center),
            "accuracy": accuracy or tolerance,
            "precision": _checks.precision(owner, self.precision),
            "memory_limit": memory_limit,
            "threads": _checks.threads(owner, self.n_jobs),
            "seed": _checks.seed(owner, self.random_state),
            "scaling": self._wanted_scaling(),
        }

    def _allowed_settings(self, n_samples: int, dtype: Any, memory_limit: str | None) -> dict[str, Any] | None:
        """What an approximation over landmarks is asked for, if one is allowed."""
        if self._wanted_accuracy() is None:
            return None
        if not (isinstance(self.gram, str) and self.gram == "auto"):
            raise ValueError(f"accuracy allows an approximation, but gram={self.gram!r} asks for another method")
        if self.n_components is None:
            raise ValueError("accuracy is for a number of components: give n_components")
        if self.n_landmarks is not None:
            raise ValueError("n_landmarks is for gram='nystrom': accuracy alone finds how many it takes")
        if not (self.landmarks is None or isinstance(self.landmarks, str)):
            raise ValueError("landmarks that are given are for gram='nystrom': accuracy alone finds how many it takes")
        settings = self._nystrom_settings(n_samples, dtype, memory_limit)
        # More components than rows are those that there are, which only an exact fit has.
        return settings if settings["n_components"] <= n_samples else None

    def _wanted_fits(
        self, n_samples: int, dtype: Any, memory_limit: str | None
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """The exact fit that is asked for, if any, and the approximation that is asked for or allowed, if any."""
        if isinstance(self.gram, str) and self.gram == "nystrom":
            return None, self._nystrom_settings(n_samples, dtype, memory_limit)
        allowed = self._allowed_settings(n_samples, dtype, memory_limit)
        return self._settings(n_samples, memory_limit), allowed

    def _settings(self, n_samples: int, memory_limit: str | None) -> dict[str, Any]:
        """What is asked for, within what the data leaves of the memory, as the extension module takes it."""
        owner = type(self).__name__
        if (self.landmarks is not None and self.accuracy is None) or self.n_landmarks is not None:
            raise ValueError("landmarks and n_landmarks are for gram='nystrom' only")
        count = _checks.integer(owner, "n_components", self.n_components, 1, optional=True)
        variance = self._wanted_variance()
        eigen_solver = _checks.choice(owner, "eigen_solver", self.eigen_solver, _EIGEN_SOLVERS)
        solver = _checks.choice(owner, "solver", self.solver, _mercer.SOLVERS)
        if eigen_solver == "dense":
            if solver not in ("auto", "dense"):
                raise ValueError(f"eigen_solver='dense' and solver={solver!r} ask for two things: give one of them")
            solver = "dense"
        if self.negative is not None:
            _checks.choice(owner, "negative", self.negative, _mercer.NEGATIVES)
        scope = "asked-by-modulus" if eigen_solver == "randomized" else "asked"
        remove = _checks.boolean(owner, "remove_zero_eig", self.remove_zero_eig)
        return {
            "kernel": self._kernel_settings(self.gamma, self.bandwidth),
            "n_components": None if variance is not None else min(count or n_samples, n_samples),
            "variance": variance,
            "center": _checks.boolean(owner, "center", self.center),
            "gram": _checks.choice(owner, "gram", self.gram, (*_mercer.GRAMS, "nystrom")),
            "solver": solver,
            "precision": _checks.precision(owner, self.precision),
            "tolerance": self._wanted_tolerance(),
            "max_passes": self._wanted_passes(),
            "memory_limit": memory_limit,
            "threads": _checks.threads(owner, self.n_jobs),
            "seed": _checks.seed(owner, self.random_state),
            "negative": self.negative or "error",
            "negative_scope": "seen" if self.negative else scope,
            "zero_components": "drop" if remove or count is None else "keep",
            "scaling": self._wanted_scaling(),
        }

    def _wanted_run(self) -> tuple[float | None, float | None, bool]:
        """What is asked for of a fit beside its components: the ridge, the time limit, and whether points are copied."""
        owner = type(self).__name__
        _progress.check(self.progress)
        alpha = _checks.real(owner, "alpha", self.alpha, 0)
        time_limit = _checks.real(owner, "time_limit", self.time_limit, 0, optional=True)
        return alpha, time_limit, _checks.boolean(owner, "copy_X", self.copy_X)

    def _wanted_variance(self) -> float | None:
        owner = type(self).__name__
        share = _checks.real(owner, "variance", self.variance, 0, above=True, optional=True)
        if share is not None and share > 1:
            raise _checks.refuse(owner, "variance", "a float in the range (0, 1] or None", self.variance)
        if share is not None and self.n_components is not None:
            raise ValueError("n_components and variance say how many components there are: give one of them")
        return share

    def _wanted_scaling(self) -> float | str | None:
        if isinstance(self.scaling, str):
            allowed = "'standardize', a float in the range (0, inf), or None"
            if self.scaling != "standardize":
                raise _checks.refuse(type(self).__name__, "scaling", allowed, self.scaling)
            if self._is_precomputed():
                raise ValueError("scaling='standardize' is not for kernel='precomputed': its columns are points")
            return self.scaling
        return _checks.real(type(self).__name__, "scaling", self.scaling, 0, above=True, optional=True)

    def _kernel_settings(self, gamma: Any, bandwidth: Any) -> dict[str, Any]:
        return describe(
            type(self).__name__,
            self.kernel,
            gamma=gamma,
            bandwidth=bandwidth,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )

    def _wanted_accuracy(self) -> float | None:
        return _checks.real(type(self).__name__, "accuracy", self.accuracy, 0, above=True, below=1, optional=True)

    def _wanted_tolerance(self) -> float | None:
        owner = type(self).__name__
        tol = _checks.tolerance(owner, "tol", self.tol)
        tolerance = _checks.real(owner, "tolerance", self.tolerance, 0, above=True, below=1, optional=True)
        if tol and tolerance is not None:
            raise ValueError("tol and tolerance say the same thing: give one of them")
        return tol or tolerance

    def _wanted_passes(self) -> int | None:
        owner = type(self).__name__
        passes = _checks.integer(owner, "max_iter", self.max_iter, 1, optional=True)
        if isinstance(self.iterated_power, str):
            _checks.choice(owner, "iterated_power", self.iterated_power, ("auto",))
            return passes
        power = _checks.integer(owner, "iterated_power", self.iterated_power, 0)
        if self.eigen_solver == "randomized" and passes is None and power is not None:
            return power + 1
        return passes
