"""Spectral clustering."""

import json
import os
import warnings
from typing import Any

from . import _checks, _mercer, _progress
from ._arrays import DTYPES, Room, by_blocks, dense, rows
from ._base import Clusterer, check_is_fitted, convergence_warning, validate_data
from ._hebbian import KernelHebbianPCA
from ._kernels import describe

_EIGEN_SOLVERS = (None, "arpack", "lobpcg", "amg")
# What scikit-learn makes graphs of.
_NEIGHBOURS = ("nearest_neighbors", "precomputed_nearest_neighbors")


class SpectralClustering(Clusterer):
    """Spectral clustering without the matrix of all pairs, with ``predict`` for new points.

    The method of Ng, Jordan and Weiss: leading eigenvectors of ``D^-1/2 K D^-1/2``, each point's row brought to unit length, and
    k-means. The constructor is scikit-learn's and more; scikit-learn's own embedding is not brought to unit length, so clusters
    may differ where they are not well apart.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters. There are fewer, with a ``ConvergenceWarning``, if too few embedded points differ.
    eigen_solver : {None, "arpack", "lobpcg", "amg"}, default=None
        As in scikit-learn; all of them leave the method to ``solver``.
    n_components : int, default=None
        Number of eigenvectors; ``None`` is ``n_clusters``.
    random_state : int, RandomState, Generator or None, default=None
        Where random numbers come from; ``None`` is 0, so that two fits of the same data give the same bits.
    n_init : int, default=10
        Restarts of k-means.
    gamma : float, "scale" or "median", default=1.0
        Inverse width of the kernel. Kernels without a width ignore a number.
    affinity : str or callable, default="rbf"
        The kernel, as ``kernel`` of :class:`KernelPCA`; ``"precomputed"`` takes the matrix. Graphs of nearest neighbours can be given
        as such a matrix.
    n_neighbors : int, default=10
        For graphs of nearest neighbours in scikit-learn; must be left as it is.
    eigen_tol : float or "auto", default="auto"
        As ``tolerance``; ``"auto"`` is its default.
    assign_labels : {"kmeans"}, default="kmeans"
        How clusters of the embedded points are found.
    degree : float, default=3
    coef0 : float, default=1
    kernel_params : dict, default=None
        As in :class:`KernelPCA`.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors. Results do not depend on it.
    verbose : bool, default=False
        Whether to show a bar; ``progress`` says it more exactly.
    gram : {"auto", "tiled", "stored", "expansion", "nystrom"}, default="auto"
        How products with the kernel matrix are made: recomputed tile by tile, kept as far as the memory budget reaches, or by an expansion, as in
        :class:`KernelPCA`. With ``"nystrom"`` eigenvectors are found over landmarks, which is an approximation: ``record_["nystrom"]`` says how much of the
        matrix they miss, and ``record_["residuals"]`` are measured on rows of the exact matrix. New points are then compared with the landmarks alone.
    solver : {"auto", "dense", "krylov", "lanczos", "subspace", "power", "hebbian"} or KernelHebbianPCA, default="auto"
        How eigenvectors are found. A :class:`KernelHebbianPCA` says with which gains and passes the kernel Hebbian algorithm learns
        them; it needs the normalised matrix in memory. It makes as many passes as it is told to, with a ``ConvergenceWarning`` where
        that was not enough to reach ``tolerance``.
    tolerance : float, default=None
        What the residual of every eigenvector must reach: 1e-5 in single, 1e-9 in double precision by default, 0.01 by the kernel Hebbian algorithm,
        anything over landmarks.
    memory_limit : int or str, default=None
        Memory that a fit may take beyond the data: bytes, ``"4GiB"``, ``"50%"``; 70 % of what is available by default.
    precision : {"float32", "float64"}, default=None
        Precision of the kernel matrix: that of the data by default (``float32`` for ``uint8``).
    progress : bool or callable, default=False
        Whether to show a bar, or a function ``f(phase, pass, expected_passes, fraction, residual)`` to call instead.
    time_limit : float, default=None
        Seconds after which the clusters of the best eigenvectors so far are returned, with a ``ConvergenceWarning``.
    bandwidth : float, default=None
        Width sigma in place of ``gamma``: ``gamma = 1 / (2 sigma**2)``.
    scaling : "standardize", float or None, default=None
        What is done to the columns before the kernel sees them, here and in ``predict``, as in :class:`KernelPCA`. It belongs to the model and
        its file, as ``--standardize`` and ``--scale`` do. ``landmarks`` that are given go through it with the points.
    landmarks : {"rpcholesky", "uniform", "kmeans", "leverage"} or array-like of shape (n_landmarks, n_features), default=None
        With ``gram="nystrom"``, how landmarks are chosen, or they themselves; ``None`` is ``"rpcholesky"``.
    n_landmarks : int, default=None
        With ``gram="nystrom"``, how many there are: ten for each eigenvector, but at least 100, by default.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point. Clusters are numbered in the order of their first points.
    embedding_ : ndarray of shape (n_samples, n_components)
        Points as rows of the eigenvectors, of unit length.
    cluster_centers_ : ndarray of shape (n_clusters, n_components)
        Centres of the clusters among the embedded points.
    inertia_ : float
        Sum of squared distances of the embedded points from the centres of their clusters.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the normalised matrix.
    degrees_ : ndarray of shape (n_samples,)
        Row sums of the kernel matrix.
    converged_ : bool
        Whether every eigenvector reached the tolerance, and k-means went on until no point changed its cluster.
    record_ : dict
        What the fit did: method and reasons, passes, residuals, seconds, memory, warnings.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralClustering
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> clusters = SpectralClustering(2, gamma=4.0).fit(np.vstack([ring, 4 * ring]))
    >>> np.bincount(clusters.labels_)
    array([100, 100])
    >>> clusters.predict([[0.0, 1.1], [-3.9, 0.0]])
    array([0, 1], dtype=int32)
    """

    _kernel_named_by = "affinity"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        eigen_solver: str | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int = 10,
        gamma: Any = 1.0,
        affinity: Any = "rbf",
        n_neighbors: int = 10,
        eigen_tol: Any = "auto",
        assign_labels: str = "kmeans",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        gram: str = "auto",
        solver: Any = "auto",
        tolerance: float | None = None,
        memory_limit: int | str | None = None,
        precision: str | None = None,
        progress: Any = False,
        time_limit: float | None = None,
        bandwidth: float | None = None,
        scaling: Any = None,
        landmarks: Any = None,
        n_landmarks: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.eigen_solver = eigen_solver
        self.n_components = n_components
        self.random_state = random_state
        self.n_init = n_init
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.eigen_tol = eigen_tol
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.gram = gram
        self.solver = solver
        self.tolerance = tolerance
        self.memory_limit = memory_limit
        self.precision = precision
        self.progress = progress
        self.time_limit = time_limit
        self.bandwidth = bandwidth
        self.scaling = scaling
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks

    # Learning

    def fit(self, X: Any, y: Any = None) -> "SpectralClustering":
        """Finds the clusters of the rows of ``X``.

        Ctrl-C raises ``KeyboardInterrupt``; the clusters of what was found until then are in the fitted attributes, if there is
        anything, with ``converged_ = False``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, one per row; kernel values for ``affinity="precomputed"``. Sparse rows are made dense for the computation.
        y : Ignored

        Returns
        -------
        self : SpectralClustering
        """
        owner = type(self).__name__
        self.__dict__.pop("_model", None)
        settings = self._settings()
        time_limit = _checks.real(owner, "time_limit", self.time_limit, 0, optional=True)
        room = Room(settings["memory_limit"])
        # A copy: predictions need the points as they were.
        room.take_copy(X, copy=True, without="less of it")
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", copy=True, ensure_min_samples=2)
        points = dense(X, room)
        room.take_scaled(points.shape, points.dtype, settings["scaling"])
        settings["memory_limit"] = room.limit
        if settings["landmarks"] is not None and not isinstance(settings["landmarks"], str) and points.dtype.kind == "f":
            settings["landmarks"] = settings["landmarks"].astype(points.dtype, order="C", copy=False)
        # A pickle needs the function, whatever the parameter is by then.
        self._function = settings["kernel"] if callable(self.affinity) else None
        with room.told(), _progress.bar(self._bar()) as report:
            model = _mercer.ClusterModel.fit(
                points, settings, time_limit=time_limit, progress=report, on_partial=self._adopt_as_stopped
            )
        self._adopt(model)
        # The last ones of the record: too few clusters, then a k-means that was cut short, then eigenvectors that have not converged.
        record = self.record_
        was_cut_short = record["restarts"] < settings["restarts"] or not record["kmeans_converged"]
        count = (record["n_clusters"] < settings["n_clusters"]) + was_cut_short + (not record["converged"])
        said = record["warnings"]
        for message in said[len(said) - count :]:
            warnings.warn(message, convergence_warning(), stacklevel=2)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Finds the clusters of the rows of ``X`` and returns that of each row."""
        return self.fit(X, y).labels_

    def _settings(self) -> dict[str, Any]:
        """What is asked for, as the extension module takes it."""
        owner = type(self).__name__
        if self.eigen_solver not in _EIGEN_SOLVERS:
            raise _checks.refuse(owner, "eigen_solver", "a str among {'arpack', 'lobpcg', 'amg'} or None", self.eigen_solver)
        if self.n_neighbors != 10:
            raise _checks.refuse(owner, "n_neighbors", "left at 10: it is for graphs of nearest neighbours", self.n_neighbors)
        _checks.choice(owner, "assign_labels", self.assign_labels, ("kmeans",))
        hebbian = None
        solver = self.solver
        if isinstance(solver, KernelHebbianPCA):
            hebbian, solver = solver._settings(), "auto"
        elif _checks.choice(owner, "solver", solver, (*_mercer.SOLVERS, "hebbian")) == "hebbian":
            hebbian, solver = KernelHebbianPCA()._settings(), "auto"
        return {
            "kernel": self._kernel_settings(),
            "scaling": self._wanted_scaling(),
            "n_clusters": _checks.integer(owner, "n_clusters", self.n_clusters, 1),
            "n_components": _checks.integer(owner, "n_components", self.n_components, 1, optional=True),
            "restarts": _checks.integer(owner, "n_init", self.n_init, 1),
            **self._gram_settings(),
            "solver": solver,
            "hebbian": hebbian,
            "precision": _checks.precision(owner, self.precision),
            "tolerance": self._wanted_tolerance(),
            "memory_limit": _checks.memory_limit(owner, self.memory_limit),
            "threads": _checks.threads(owner, self.n_jobs),
            "seed": _checks.seed(owner, self.random_state),
        }

    def _gram_settings(self) -> dict[str, Any]:
        """How products are made, or over which landmarks."""
        owner = type(self).__name__
        gram = _checks.choice(owner, "gram", self.gram, (*_mercer.GRAMS, "nystrom"))
        if gram != "nystrom":
            for name in ("landmarks", "n_landmarks"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} has no effect without gram='nystrom': leave it out")
            return {"gram": gram, "landmarks": None, "n_landmarks": None}
        if self.solver != "auto":
            raise ValueError("solver has no effect with gram='nystrom': leave it out")
        landmarks = "rpcholesky" if self.landmarks is None else self.landmarks
        if isinstance(landmarks, str):
            _checks.choice(owner, "landmarks", landmarks, _mercer.LANDMARKS)
        else:
            landmarks = rows(landmarks, "landmarks")
        count = _checks.integer(owner, "n_landmarks", self.n_landmarks, 1, optional=True)
        return {"gram": "auto", "landmarks": landmarks, "n_landmarks": count}

    def _kernel_settings(self) -> dict[str, Any]:
        owner = type(self).__name__
        if isinstance(self.affinity, str) and self.affinity in _NEIGHBOURS:
            allowed = "a kernel: give a graph of nearest neighbours as a matrix, with affinity='precomputed'"
            raise _checks.refuse(owner, "affinity", allowed, self.affinity)
        # scikit-learn's default width gives way to a bandwidth that was asked for.
        gamma = None if self.bandwidth is not None and self.gamma == 1.0 else self.gamma
        return describe(
            owner,
            self.affinity,
            name="affinity",
            gamma=gamma,
            bandwidth=self.bandwidth,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )

    def _wanted_tolerance(self) -> float | None:
        owner = type(self).__name__
        tolerance = _checks.real(owner, "tolerance", self.tolerance, 0, above=True, optional=True)
        if isinstance(self.eigen_tol, str):
            _checks.choice(owner, "eigen_tol", self.eigen_tol, ("auto",))
            return tolerance
        eigen_tol = _checks.tolerance(owner, "eigen_tol", self.eigen_tol)
        if eigen_tol and tolerance is not None:
            raise ValueError("eigen_tol and tolerance say the same thing: give one of them")
        return eigen_tol or tolerance

    def _wanted_scaling(self) -> float | str | None:
        owner = type(self).__name__
        if not isinstance(self.scaling, str):
            return _checks.real(owner, "scaling", self.scaling, 0, above=True, optional=True)
        if self.scaling != "standardize":
            raise _checks.refuse(owner, "scaling", "'standardize', a float in the range (0, inf), or None", self.scaling)
        if self._is_precomputed():
            raise ValueError("scaling='standardize' is not for affinity='precomputed': its columns are points")
        return self.scaling

    def _bar(self) -> Any:
        return self.progress or _checks.boolean(type(self).__name__, "verbose", bool(self.verbose))

    def _adopt(self, model: _mercer.ClusterModel) -> None:
        """Makes a model this estimator's own."""
        record = json.loads(model.record())
        self._model = model
        self.record_ = record
        self.labels_ = model.labels()
        self.embedding_ = model.embedding()
        self.cluster_centers_ = model.centers()
        self.inertia_ = record["inertia"]
        self.eigenvalues_ = model.eigenvalues()
        self.degrees_ = model.degrees()
        self.converged_ = record["converged"] and record["kmeans_converged"]

    def _adopt_as_stopped(self, model: _mercer.ClusterModel) -> None:
        """As :meth:`_adopt`, for what was found until Ctrl-C."""
        self._adopt(model)
        self.converged_ = False

    # Using

    def predict(self, X: Any) -> Any:
        """The cluster of each row of ``X``, by the extension of Nyström.

        A row whose kernel values with all clustered points are zero belongs nowhere: a ``ValueError`` names it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Points, one per row; for ``affinity="precomputed"``, kernel values with the clustered points.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        threads = _checks.threads(type(self).__name__, self.n_jobs)
        with _progress.bar(self._bar()) as report:
            return by_blocks(
                X,
                lambda rows, report: self._model.predict(rows, threads=threads, progress=report),
                report,
                is_scaled=self._model.scaling is not None,
            )

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the clusters to a file that :func:`mercer.load` and the command ``mercer`` read.

        The file holds kernel, points, eigenvectors, centres, the names of features and the record of the fit; it does not hold a kernel that is
        a function (``ValueError``). A pickle holds that, too, by its name.
        """
        check_is_fitted(self)
        self._model.save(os.fspath(path), self._feature_names())

    @classmethod
    def _from_model(cls, model: _mercer.ClusterModel) -> "SpectralClustering":
        """The estimator that would have found these clusters."""
        record = json.loads(model.record())
        kernel, tail, tolerance = record["kernel"], record["kernel"].get("alpha"), record["tolerance"]
        estimator = cls(
            record["n_clusters"],
            n_components=max(record["n_components"], 1),
            random_state=record["seed"],
            n_init=record["restarts"],
            gamma=kernel.get("gamma", 1.0),
            affinity=kernel["name"],
            degree=kernel.get("degree", 3),
            coef0=kernel.get("coef0", 1),
            kernel_params=None if tail is None else {"alpha": tail},
            solver="hebbian" if record["solver"] == "hebbian" else "auto",
            tolerance=tolerance if 0 < tolerance < 1 else None,
            precision=model.precision,
            scaling=model.scaling,
            **_landmarks_of(record),
        )
        estimator.n_features_in_ = model.n_features
        estimator._adopt_feature_names(model.feature_names)
        estimator._adopt(model)
        return estimator

    def _model_from_bytes(self, data: bytes) -> _mercer.ClusterModel:
        return _mercer.ClusterModel.from_bytes(data, self.__dict__.get("_function"))


def _landmarks_of(record: dict[str, Any]) -> dict[str, Any]:
    """The parameters that say which landmarks a clustering was over; those that were given are no part of it."""
    nystrom = record.get("nystrom")
    if nystrom is None:
        return {}
    rule = nystrom["landmarks"] if nystrom["landmarks"] in _mercer.LANDMARKS else None
    return {"gram": "nystrom", "landmarks": rule, "n_landmarks": nystrom["n_landmarks"]}
