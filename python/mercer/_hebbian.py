"""Kernel PCA by the kernel Hebbian algorithm."""

import json
from typing import Any

import numpy as np

from . import _base, _checks, _mercer, _progress
from ._arrays import AS_IT_IS, DTYPES, Room, by_blocks, dense, indices, too_large
from ._base import check_is_fitted, validate_data
from ._hebbian_files import Files
from ._hebbian_metrics import Metrics, model_of
from ._hebbian_numbers import beside, coefficients_of, gain, share
from ._kernel_pca import RankWarning
from ._kernels import describe

# It reads rows of the matrix, which an expansion does not have.
_GRAMS = tuple(name for name in _mercer.GRAMS if name != "expansion")
# Parameters that may change from one call of partial_fit to the next.
_MAY_CHANGE = ("passes", "progress", "time_limit", "inverse", "inverse_options")


class KernelHebbianPCA(Metrics, Files):
    """Kernel PCA by iteration over single points: the kernel Hebbian algorithm with all its gain rules.

    It gives an answer at any time, goes on where it stopped, and takes in new points (:meth:`partial_fit`). For an exact answer
    :class:`KernelPCA` needs fewer passes.

    Parameters
    ----------
    n_components : int, default=2
        Number of components. If the points have fewer directions, there are fewer, and a :class:`mercer.RankWarning` says so.
    kernel, gamma, degree, coef0, kernel_params, bandwidth
        As in :class:`KernelPCA`; ``gamma=None`` is ``1 / n_features``. ``kernel="precomputed"`` with ``center=False`` takes a centred
        matrix as it is.
    center : bool, default=True
        Whether the points are centred in feature space.
    gain : {"constant", "t", "et*", "et", "smd*", "smd", "s", "ts", "es"}, default="et*"
        Gain rule. A rule does not read parameters that it does not have.
    eta0 : float or "auto", default="auto"
        Gain; ``"auto"`` is the largest that does not diverge, found by trying. From a start that is given to ``fit`` it is also one that
        leaves the components no worse than the start was.
    tau : float, default=None
        Updates after which annealing has halved the gain, for ``t``, ``et*``, ``smd*`` and ``ts``; ``None`` is the number of points, three
        times that for ``et*`` and ``smd*``.
    mu : float or "auto", default="auto"
        Meta-gain of the rules that adapt their gains (``smd*``, ``smd``, ``s``, ``ts``, ``es``), as are ``xi`` and ``rho0``; 0 switches adaptation off.
    xi : float, default=0.99
        How long meta-descent remembers, from 0 to 1.
    rho0 : float, default=0.0
        Log-gains at the start.
    refresh : {"pass", "iteration", "pass-eigenvalues"}, default="pass"
        When eigenvalue estimates and gains are renewed: once per pass, so that annealing stands still within a pass; at every update; or
        estimates once per pass and annealing at every update. For ``et*``, ``et``, ``smd*``, ``smd`` and ``es``, whose gains come from
        estimates; ``t`` and ``ts`` anneal at every update.
    passes : int, default=10
        Passes over the points. If residuals are then above ``tolerance``, a ``ConvergenceWarning`` says so.
    batch_size : int, default=None
        Updates that are computed together. The iterates are the same for every size, up to rounding.
    random_state : int, RandomState, Generator or None, default=None
        Where start coefficients and the order of the points come from; ``None`` is 0.
    memory_limit : int or str, default=None
        Memory that a fit may take beyond the data: bytes, ``"4GiB"``, ``"50%"``; 70 % of what is available by default.
    gram : {"auto", "tiled", "stored"}, default="auto"
        Whether kernel rows are computed in every pass or kept as far as the memory budget reaches.
    precision : {"float32", "float64"}, default=None
        Precision of kernel rows and of results: that of the data by default (``float32`` for ``uint8``). As in :class:`KernelPCA`, rows
        are made in double where single precision would change them too much, and results are in the type of the data all the same.
    record_every : int, default=None
        Updates after which ``history_`` gets an entry, beside those at the end of every pass.
    record_error : bool, default=None
        Whether entries of ``history_`` hold the reconstruction error, which costs half a pass each time; ``None``: up to 4096 points, at
        the end of every pass, and inside a pass where the last one is half a pass ago.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors. Results do not depend on it.
    copy_X : bool, default=True
        Whether a copy of ``X`` is kept. Without it a C-ordered array is not copied, and must not be changed while the estimator is in use.
    progress : bool or callable, default=False
        Whether to show a bar, or a function ``f(phase, pass, expected_passes, fraction, residual)`` to call instead.
    time_limit : float, default=None
        Seconds after which what has been learned so far is returned, with a ``ConvergenceWarning``.
    negative : {"error", "clip"}, default="error"
        What significant negative eigenvalues of a kernel that is not positive semi-definite are: an error, or left out.
    tolerance : float, default=None
        Residual, relative to the largest eigenvalue, that is enough; ``None`` is 0.01. It does not end a run, which makes all its passes.
    inverse : {"gradient", "fixed-point", "distance", "polynomial", "ridge"}, default="gradient"
        How scores become points (:meth:`inverse_transform`, :meth:`preimages`), as in :class:`KernelPCA`; the regression of ``"ridge"`` is learned
        by the call that needs it. Not for ``kernel="precomputed"``.
    inverse_options : dict, default=None
        Settings of the way that ``inverse`` says, as in :class:`KernelPCA`, and ``alpha`` (1.0), the ridge of ``"ridge"``.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_components, n_samples)
        Expansion coefficients as updated: neither orthonormal nor ordered, and in double precision, as they are learned.
    eigenvalue_estimates_ : ndarray of shape (n_components,)
        ``‖K a‖ / ‖a‖`` for each row of ``coefficients_``.
    log_gains_ : ndarray of shape (n_components,)
        Adapted log-gains; zero if the gain rule does not adapt them.
    gains_ : ndarray of shape (n_components,)
        Gains of the last update, adapted part included.
    gain_parameters_ : dict
        ``eta0``, ``tau`` and ``mu`` as given or as tuned; ``None`` for what the gain rule does not have.
    n_updates_ : int
        Updates so far.
    history_ : list of dict
        At the end of every pass: ``passes``, ``updates``, ``eigenvalue_estimates``, ``gains``, ``error``, ``seconds``.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the finished model, whose directions are orthonormal, inside the learned span, and ordered by variance
        (Rayleigh and Ritz). ``transform`` uses them, too; there are fewer than ``n_components`` if the span has fewer dimensions.
    components_ : ndarray of shape (n_components, n_samples)
        Expansion coefficients of these directions.
    residuals_ : ndarray of shape (n_components,)
        ``‖K a − λ a‖ / (λ₁ ‖a‖)`` of each of them.
    converged_ : bool
        Whether every one of them reached ``tolerance``, in a run that was not stopped.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance of each of them.
    total_variance_ : float
        Trace of the centred kernel matrix.
    gamma_ : float
        Inverse width that was used.
    X_fit_ : ndarray of shape (n_samples, n_features)
        A copy of the points that have been learned from.
    record_ : dict
        What was done, as in :class:`KernelPCA`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelHebbianPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> learner = KernelHebbianPCA(n_components=3, kernel="rbf", passes=20).fit(X)
    >>> learner.partial_fit(passes=5).n_updates_
    5000
    >>> learner.partial_fit(X[:50] + 1.0).transform(X).shape
    (200, 3)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1,
        center: bool = True,
        gain: str = "et*",
        eta0: Any = "auto",
        tau: float | None = None,
        mu: Any = "auto",
        xi: float = 0.99,
        rho0: float = 0.0,
        refresh: str = "pass",
        passes: int = 10,
        batch_size: int | None = None,
        random_state: Any = None,
        memory_limit: int | str | None = None,
        kernel_params: dict[str, Any] | None = None,
        bandwidth: float | str | None = None,
        gram: str = "auto",
        precision: str | None = None,
        record_every: int | None = None,
        record_error: bool | None = None,
        n_jobs: int | None = None,
        copy_X: bool = True,
        progress: Any = False,
        time_limit: float | None = None,
        negative: str = "error",
        tolerance: float | None = None,
        inverse: str = "gradient",
        inverse_options: dict[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.gain = gain
        self.eta0 = eta0
        self.tau = tau
        self.mu = mu
        self.xi = xi
        self.rho0 = rho0
        self.refresh = refresh
        self.passes = passes
        self.batch_size = batch_size
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.kernel_params = kernel_params
        self.bandwidth = bandwidth
        self.gram = gram
        self.precision = precision
        self.record_every = record_every
        self.record_error = record_error
        self.n_jobs = n_jobs
        self.copy_X = copy_X
        self.progress = progress
        self.time_limit = time_limit
        self.negative = negative
        self.tolerance = tolerance
        self.inverse = inverse
        self.inverse_options = inverse_options

    # Learning

    def fit(
        self, X: Any, y: Any = None, *, initial_coefficients: Any = None, initial_model: Any = None, order: Any = None
    ) -> "KernelHebbianPCA":
        """Learns from the rows of ``X``, anew.

        Ctrl-C raises ``KeyboardInterrupt``; what was learned until then is in the fitted attributes, if there is anything. A gain
        that was given and diverges is a ``ValueError`` that names it. A fit that fails leaves everything as it was.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, one per row; kernel values for ``kernel="precomputed"``. Sparse rows are made dense for the computation.
        y : Ignored
        initial_coefficients : array-like of shape (n_components, n_samples), optional
            Start coefficients, instead of random ones.
        initial_model : fitted KernelPCA, KernelHebbianPCA or OnlineKernelPCA, optional
            What to start from, instead of random coefficients: a model of the same kernel, of these points or others. Components that it does not
            have start at random.
        order : array-like of int, optional
            The samples in the order in which they are learned from: exactly one update each, instead of ``passes``.

        Returns
        -------
        self : KernelHebbianPCA
        """
        with self._or_as_it_was():
            self._fit(X, initial_coefficients=initial_coefficients, initial_model=initial_model, order=order)
        self._warn()
        return self

    def _fit(
        self,
        X: Any,
        *,
        initial_coefficients: Any = None,
        initial_model: Any = None,
        order: Any = None,
        updates: int | None = None,
    ) -> None:
        owner = type(self).__name__
        settings = self._settings(updates)
        # What has no part in learning is refused before it, too.
        self._wanted_inverse()
        time_limit = _checks.real(owner, "time_limit", self.time_limit, 0, optional=True)
        copy = _checks.boolean(owner, "copy_X", self.copy_X)
        room = Room(settings["memory_limit"])
        room.take_copy(X, copy=copy, without=f"{AS_IT_IS}, with copy_X=False,")
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", copy=copy, ensure_min_samples=2)
        points = dense(X, room)
        self._dtype = self._type_of_results(points)
        settings["memory_limit"] = room.limit
        coefficients = None if initial_coefficients is None else coefficients_of(initial_coefficients)
        samples = None if order is None else indices(order, "order", points.shape[0])
        model = None if initial_model is None else self._start(initial_model)
        with room.told(), _progress.bar(self.progress) as report:
            learner = _mercer.HebbianLearner.fit(
                points,
                settings,
                initial_coefficients=coefficients,
                initial_model=model,
                order=samples,
                time_limit=time_limit,
                progress=report,
                on_partial=self._adopt,
            )
        self._adopt(learner)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Learns from the rows of ``X`` and returns their scores, which the fit knows already."""
        self.fit(X, y, **params)
        return self._results(self._model.training_scores(), "scores")

    def partial_fit(
        self, X: Any = None, y: Any = None, *, passes: int | None = None, updates: int | None = None
    ) -> "KernelHebbianPCA":
        """Goes on learning: more passes or updates, over more points if some are given.

        New points enter the expansion with coefficients of zero; passes then go over old and new points. All parameters but
        ``passes``, ``progress``, ``time_limit``, ``inverse`` and ``inverse_options`` are those of the fit and refused if they have been
        changed since. Gains are those of the fit, too; where they are ``"auto"`` and do not serve any more, they are lowered and these
        passes made again (``gain_parameters_``). On an error everything stays
        as it was.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), optional
            New points. Before a fit these are the first ones, and this is a fit.
        y : Ignored
        passes : int, optional
            Passes over all points; the parameter ``passes`` by default.
        updates : int, optional
            Updates, one point each, instead of passes: where a pass takes long, there is a model, a history and something to pickle
            after every so many. The next call goes on in the middle of the pass.

        Returns
        -------
        self : KernelHebbianPCA
        """
        owner = type(self).__name__
        if passes is not None and updates is not None:
            raise ValueError("passes and updates cannot both be given: updates are made instead of passes")
        count = _checks.integer(owner, "passes", self.passes if passes is None else passes, 1)
        updates = _checks.integer(owner, "updates", updates, 1, optional=True)
        if "_model" not in self.__dict__:
            if X is None:
                raise _base.not_fitted(
                    f"This {owner} instance is not fitted yet: partial_fit needs points, or a call of 'fit' before it."
                )
            self._first_fit(X, count, updates)
            self._warn()
            return self
        _checks.unchanged(self.get_params(deep=False), self._learns_with)
        time_limit = _checks.real(owner, "time_limit", self.time_limit, 0, optional=True)
        room = Room(_checks.memory_limit(owner, self.memory_limit))
        points = None if X is None else self._more(X, room)
        results = self._result_type()
        with room.told(), _progress.bar(self.progress) as report:
            finished, refused = self._model.partial_fit(
                points,
                count,
                updates,
                taken=room.copied,
                results=results,
                time_limit=time_limit,
                progress=report,
                on_partial=lambda finished: self._adopt(self._model, finished),
            )
        if refused is not None:
            raise too_large(refused, results)
        self._adopt(self._model, finished)
        self._warn()
        return self

    def _more(self, X: Any, room: Room) -> Any:
        """New points in the type of those that were learned from; what that takes of the budget is noted."""
        room.take_copy(X)
        points = dense(validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False), room)
        own = self._model.dtype
        if own != "uint8" and points.dtype != own:
            room.take(f"X as {own}", points.shape, own, f"points of {own} need none")
            points = np.require(points, dtype=own)
        return points

    def _start(self, initial_model: Any) -> _mercer.Model:
        """The model of an estimator to start from, which must have learned from the same columns if it knows their names."""
        model = model_of(initial_model, "initial_model")
        there, here = (getattr(estimator, "feature_names_in_", None) for estimator in (initial_model, self))
        if there is not None and here is not None and list(there) != list(here):
            raise ValueError(f"initial_model was fitted on other columns than X has, or in another order: {list(there)}, not {list(here)}")
        return model

    def _first_fit(self, X: Any, passes: int, updates: int | None) -> None:
        given = self.passes
        self.passes = passes
        try:
            with self._or_as_it_was():
                self._fit(X, updates=updates)
        finally:
            self.passes = given

    def _settings(self, updates: int | None = None) -> dict[str, Any]:
        """What is asked for, as the extension module takes it."""
        owner = type(self).__name__
        record_error = self.record_error
        if record_error is not None:
            record_error = _checks.boolean(owner, "record_error", record_error)
        return {
            "kernel": self._kernel_settings(),
            "n_components": _checks.integer(owner, "n_components", self.n_components, 1),
            "center": _checks.boolean(owner, "center", self.center),
            "gain": _checks.choice(owner, "gain", self.gain, _mercer.GAINS),
            "eta0": gain(owner, "eta0", self.eta0, above=True),
            "tau": _checks.real(owner, "tau", self.tau, 0, above=True, optional=True),
            "mu": gain(owner, "mu", self.mu, above=False),
            "xi": share(owner, "xi", self.xi),
            "rho0": _checks.real(owner, "rho0", self.rho0, float("-inf")),
            "refresh": _checks.choice(owner, "refresh", self.refresh, _mercer.REFRESHES),
            "passes": _checks.integer(owner, "passes", self.passes, 1),
            "updates": updates,
            "batch_size": _checks.integer(owner, "batch_size", self.batch_size, 1, optional=True),
            "record_every": _checks.integer(owner, "record_every", self.record_every, 1, optional=True),
            "record_error": record_error,
            "gram": _checks.choice(owner, "gram", self.gram, _GRAMS),
            "precision": _checks.precision(owner, self.precision),
            "memory_limit": _checks.memory_limit(owner, self.memory_limit),
            "threads": _checks.threads(owner, self.n_jobs),
            "seed": _checks.seed(owner, self.random_state),
            "negative": _checks.choice(owner, "negative", self.negative, ("error", "clip")),
            "tolerance": _checks.real(owner, "tolerance", self.tolerance, 0, above=True, below=1, optional=True),
        }

    def _kernel_settings(self) -> dict[str, Any]:
        return describe(
            type(self).__name__,
            self.kernel,
            gamma=self.gamma,
            bandwidth=self.bandwidth,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )

    def _adopt(self, learner: _mercer.HebbianLearner, finished: _mercer.Model | None = None) -> None:
        """Makes what was learned this estimator's own; its finished model, if it is there already."""
        finished = learner.model() if finished is None else finished
        record = json.loads(finished.record())
        eta0, tau, mu = learner.gain_parameters()
        # Before anything is this estimator's own: they may be too large for their type.
        eigenvalues = self._results(finished.eigenvalues(), "eigenvalues")
        components = self._results(np.ascontiguousarray(finished.dual_coefficients().T), "components")
        self._model = learner
        self._finished = finished
        # A pickle needs the function, whatever the parameter is by then.
        self._function = self._kernel_settings() if callable(self.kernel) else None
        params = self.get_params(deep=False).items()
        self._learns_with = _checks.as_given({name: value for name, value in params if name not in _MAY_CHANGE})
        self.coefficients_ = learner.coefficients()
        self.eigenvalue_estimates_ = learner.eigenvalue_estimates()
        self.log_gains_ = learner.log_gains()
        self.gains_ = learner.gains()
        self.gain_parameters_ = {"eta0": eta0, "tau": tau, "mu": mu}
        self.n_updates_ = learner.n_updates
        self.history_ = json.loads(learner.history())
        self.eigenvalues_ = eigenvalues
        self.components_ = components
        self.residuals_ = finished.residuals()
        self.converged_ = finished.converged
        self.explained_variance_ratio_ = finished.explained_variance_ratio()
        self.total_variance_ = record["total_variance"]
        self.gamma_ = self._width(record["kernel"])
        self.record_ = record

    def _warn(self) -> None:
        """Says what is not as it was asked for: passes that were not made or not enough, components that there are not."""
        found = int(np.count_nonzero(self.eigenvalues_))
        if self._model.was_stopped:
            message = f"the run was stopped by its time limit after {self.n_updates_} updates; partial_fit goes on"
            _base.warn(message, _base.convergence_warning())
            return
        if not self.converged_:
            residual, enough = beside(float(np.max(self.residuals_)), self.record_["tolerance"])
            message = (
                f"not every component has converged: after {self.n_updates_} updates the largest residual is {residual}, where "
                f"{enough} would be enough; partial_fit goes on, and a fit with more passes comes closer"
            )
            _base.warn(message, _base.convergence_warning())
        if found < self.n_components:
            # Before components have converged, nothing tells whether there are others.
            whether = "have a variance; there are no others" if self.converged_ else "were found; more passes may find others"
            _base.warn(f"{found} of the n_components={self.n_components} components asked for {whether}", RankWarning)

    # Using

    def transform(self, X: Any) -> Any:
        """Scores of the rows of ``X`` along the directions of the finished model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        threads = _checks.threads(type(self).__name__, self.n_jobs)
        with _progress.bar(self.progress) as report:
            scores = by_blocks(X, lambda rows, report: self._finished.transform(rows, threads=threads, progress=report), report)
        return self._results(scores, "scores")
