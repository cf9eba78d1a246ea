"""Kernel PCA."""

import json
import time
from typing import Any

import numpy as np

from . import _base, _checks, _mercer, _progress
from ._arrays import AS_IT_IS, DTYPES, Room, by_blocks, dense
from ._base import check_is_fitted, validate_data
from ._kernel_pca_files import Files

# What a fit learns.
_LEARNED = (
    "_model",
    "_function",
    "_dtype",
    "_X_fit",
    "record_",
    "eigenvalues_",
    "eigenvectors_",
    "residuals_",
    "explained_variance_ratio_",
    "total_variance_",
    "converged_",
    "gamma_",
    "dual_coef_",
    "X_transformed_fit_",
    "n_features_in_",
    "feature_names_in_",
)


class RankWarning(UserWarning):
    """There are fewer components with a variance than were asked for."""


class KernelPCA(Files):
    """Kernel principal component analysis, exact at any size within a memory budget.

    A drop-in for scikit-learn's class of the same name: the same parameters, fitted attributes and behaviour, and more of each.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; ``None`` keeps all whose eigenvalue is not zero. If there are fewer directions than that, the last columns of
        scores are zero, as in scikit-learn, and a :class:`mercer.RankWarning` says so.
    kernel : str or callable, default="linear"
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``, ``"cosine"``, ``"precomputed"`` as in scikit-learn, and ``"laplacian"``,
        ``"exponential"``, ``"matern32"``, ``"matern52"``, ``"rational-quadratic"``, ``"epanechnikov"``. A function is called for
        every pair of points; wrapped in :func:`mercer.block_kernel`, for pairs of blocks of points, and so are scikit-learn's kernels of
        Gaussian processes. One that is not symmetric is refused.
    gamma : float, "auto", "scale" or "median", default=None
        Inverse width. ``None`` is ``1 / n_features``, ``"scale"`` is ``1 / (n_features * X.var())``, ``"median"`` is one over the
        median of what it multiplies, ``"auto"`` is where the variances of the components differ most (:func:`mercer.tune_kernel`).
        Kernels without a width ignore a number.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant term of the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function; ``{"alpha": ...}`` of the rational quadratic kernel.
    alpha : float, default=1.0
        Ridge of the regression that learns the inverse transform.
    fit_inverse_transform : bool, default=False
        Whether to learn the inverse transform with ``inverse="ridge"``; the other ways have nothing to learn.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        ``"dense"`` decomposes the matrix; the others leave the method to the plan. With ``"randomized"`` components are, as in
        scikit-learn, the largest by absolute value.
    tol : float, default=0
        As ``tolerance``; 0 is its default.
    max_iter : int, default=None
        Passes over the kernel matrix after which the best answer so far is returned.
    iterated_power : int or "auto", default="auto"
        With ``eigen_solver="randomized"``, passes after the first one, at most.
    remove_zero_eig : bool, default=False
        Whether components with eigenvalue zero are dropped.
    random_state : int, RandomState, Generator or None, default=None
        Where random start vectors come from; ``None`` is 0, so that two fits of the same data give the same bits.
    copy_X : bool, default=True
        Whether the model keeps a copy of ``X``. Without it a C-ordered array is not copied at all, and must not be changed
        while the model is in use.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors. Results do not depend on it, unless ``memory_limit`` is so tight that what threads
        take decides the method.
    gram : {"auto", "tiled", "stored", "expansion", "nystrom"}, default="auto"
        How products with the kernel matrix are made: recomputed tile by tile, kept as far as the memory budget reaches (more than 1 GiB, or what does
        not all fit, in 16 bits where ``tolerance`` permits that, which ``record_["plan"]`` tells), or by an
        expansion in time proportional to the number of points, with entries to within a twentieth of ``tolerance``; ``record_["expansion"]``
        then says by which method and how good it is. With
        ``"nystrom"`` the matrix is replaced by what landmarks make of it, which is an approximation; ``record_["nystrom"]`` says how good
        it is, ``residuals_`` are measured on rows of the exact matrix, and ``X_fit_`` are the landmarks.
    solver : {"auto", "dense", "krylov", "lanczos", "subspace", "power"}, default="auto"
        How eigenpairs are found.
    tolerance : float, default=None
        What the residual of every component must reach, relative to the first eigenvalue: 1e-5 in single, 1e-9 in double
        precision by default.
    memory_limit : int or str, default=None
        Memory that a fit may take beyond the data: bytes, ``"4GiB"``, ``"50%"``; 70 % of what is available by default. What has to be made of
        the data is part of it: the copy of ``copy_X``, other layouts and types converted, sparse rows made dense, what ``scaling`` makes of them.
    precision : {"float32", "float64"}, default=None
        Precision of the kernel matrix and of the results: that of the data by default (``float32`` for ``uint8``). Where single
        precision would change the kernel matrix by more than the tolerance, the matrix is made in double, unless ``float32`` was given;
        results are in the type of the data all the same.
    inverse : {"ridge", "fixed-point", "distance", "gradient", "polynomial"}, default="ridge"
        How scores become points: by a learned regression; by repeated weighted means (gaussian kernel); from distances to neighbours; by descent
        of the distance in feature space (kernels with a derivative); by an eigenvector (polynomial kernel, ``degree=2``, ``coef0=0``).
    inverse_options : dict, default=None
        Settings of the way that ``inverse`` says. ``"fixed-point"`` and ``"gradient"``: ``max_iterations`` (1000), ``tolerance`` (1e-10), how small
        the last step must be relative to the kernel's width or to the size of the points, and ``restarts`` (2), other starts for points that do
        not converge. ``"distance"``: ``neighbors`` (10), which place a point. The others have none; the ridge of ``"ridge"`` is ``alpha``.
    progress : bool or callable, default=False
        Whether to show a bar, or a function ``f(phase, pass, expected_passes, fraction, residual)`` to call instead, in the thread that called
        the method and every 50 ms at most: with the phase as a word, the pass over the kernel matrix (from 1, or 0 where there are none),
        about how many there will be (or ``None``), the share of the pass that is done, and the largest residual so far (or ``None``). What
        it raises ends the fit as Ctrl-C does.
    time_limit : float, default=None
        Seconds after which the best answer so far is returned, with ``converged_ = False`` and a ``ConvergenceWarning``. An inverse
        transform that they were not enough for is not available then. The warning may take a second or two more: its class is scikit-learn's,
        which is imported if nothing has imported it before.
    bandwidth : float, "auto", "scale" or "median", default=None
        Width sigma in place of ``gamma``: ``gamma = 1 / (2 sigma**2)``; found as for ``gamma`` by name.
    center : bool, default=True
        Whether the points are centred in feature space.
    scaling : "standardize", float or None, default=None
        What is done to the columns before the kernel sees them, here and in ``transform``: ``"standardize"`` gives each mean 0 and
        variance 1, a number multiplies all of them. It belongs to the model and its file, as ``--standardize`` and ``--scale`` do.
        ``landmarks`` that are given go through it with the points.
    negative : {"error", "clip", "flip"}, default=None
        What significant negative eigenvalues of a kernel that is not positive semi-definite are: an error if there is one, zero,
        or counted with their absolute value. By default they are an error if they are among the components asked for.
    landmarks : {"rpcholesky", "uniform", "kmeans", "leverage"} or array-like of shape (n_landmarks, n_features), default=None
        With ``gram="nystrom"``, how landmarks are chosen; ``None`` is ``"rpcholesky"``.
    n_landmarks : int, default=None
        With ``gram="nystrom"``, how many there are; ``None`` is 100, or ten for each component if that is more.
    accuracy : float, default=None
        Allows an approximation over landmarks whose residuals against the exact matrix are at most this, relative to the first eigenvalue: over as
        many landmarks as it takes, or exactly where they would not be much fewer than the rows. ``record_["gram"]`` says which it was. With
        ``gram="nystrom"`` the landmarks are those asked for, and a fit that misses it warns.
    variance : float, default=None
        In place of ``n_components``: as many components as explain this share of the total variance, and no more.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred kernel matrix in decreasing order.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Eigenvectors of the centred kernel matrix; the entry of largest absolute value of each is positive. No rows with
        ``gram="nystrom"``.
    gamma_ : float
        Inverse width that was used.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Points that were learned from, before ``scaling``. Of a model from a file with a scaling they are computed back, which
        rounds.
    dual_coef_, X_transformed_fit_ : ndarray
        Coefficients of the inverse transform and the scores they belong to, with ``fit_inverse_transform``.
    residuals_ : ndarray of shape (n_components,)
        ``‖K v − λ v‖ / λ₁`` of each component, from products that were made.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance of each component.
    total_variance_ : float
        Trace of the centred kernel matrix: the sum of all its eigenvalues.
    converged_ : bool
        Whether every component reached the tolerance.
    record_ : dict
        What the fit did: method and reasons, passes, seconds, memory, warnings.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> pca = KernelPCA(n_components=3, kernel="rbf", gamma="median").fit(X)
    >>> pca.transform(X).shape
    (200, 3)
    >>> pca.converged_
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: Any = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        gram: str = "auto",
        solver: str = "auto",
        tolerance: float | None = None,
        memory_limit: int | str | None = None,
        precision: str | None = None,
        inverse: str = "ridge",
        inverse_options: dict[str, Any] | None = None,
        progress: Any = False,
        time_limit: float | None = None,
        bandwidth: float | str | None = None,
        center: bool = True,
        negative: str | None = None,
        scaling: Any = None,
        landmarks: Any = None,
        n_landmarks: int | None = None,
        accuracy: float | None = None,
        variance: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.gram = gram
        self.solver = solver
        self.tolerance = tolerance
        self.memory_limit = memory_limit
        self.precision = precision
        self.inverse = inverse
        self.inverse_options = inverse_options
        self.progress = progress
        self.time_limit = time_limit
        self.bandwidth = bandwidth
        self.center = center
        self.negative = negative
        self.scaling = scaling
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks
        self.accuracy = accuracy
        self.variance = variance

    # Learning

    def fit(self, X: Any, y: Any = None) -> "KernelPCA":
        """Learns the components of the rows of ``X``.

        Ctrl-C raises ``KeyboardInterrupt``; what was found until then is in the fitted attributes, if there is anything, with
        ``converged_ = False``. What an earlier fit has learned is gone, however this one ends.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points, one per row; kernel values for ``kernel="precomputed"``. Sparse rows are made dense for the computation.
        y : Ignored

        Returns
        -------
        self : KernelPCA
        """
        owner, started = type(self).__name__, time.monotonic()
        # A fit that fails leaves nothing of the one before it that could be taken for its own.
        for name in _LEARNED:
            self.__dict__.pop(name, None)
        learns_inverse, (alpha, time_limit, copy) = self._learns_inverse(), self._wanted_run()
        room = Room(_checks.memory_limit(owner, self.memory_limit))
        room.take_copy(X, copy=copy, without=f"{AS_IT_IS}, with copy_X=False,")
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", copy=copy, ensure_min_samples=2)
        if self.fit_inverse_transform and hasattr(X, "tocsr"):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        points = dense(X, room)
        room.take_scaled(points.shape, points.dtype, self._wanted_scaling())
        self._dtype = self._type_of_results(points)
        with room.told():
            if learns_inverse:
                # Before the components are learned, which would be in vain.
                n_samples, n_features = points.shape
                _mercer.check_ridge_memory(n_samples, n_features, room.limit)
            model = self._learn(X, points, room.limit, time_limit, started)
            return self._finish(model, X, points, alpha if learns_inverse else None, room.limit, time_limit, started)

    def _learn(
        self, X: Any, points: Any, memory_limit: str | None, time_limit: float | None, started: float
    ) -> _mercer.Model:
        exact, rough = self._wanted_fits(len(points), points.dtype, memory_limit)
        # Either of the two is asked for.
        asked = exact or rough or {}
        # A pickle needs the function, whatever the parameter is by then.
        self._function = asked["kernel"] if callable(self.kernel) else None

        def keep(model: _mercer.Model) -> None:
            self._adopt(model, X)

        with _progress.bar(self.progress) as report:
            if exact is None:
                return _mercer.Model.fit_nystrom(points, asked, time_limit=time_limit, progress=report)
            left = time_limit
            if rough is not None:
                model = _mercer.Model.fit_to_accuracy(points, rough, time_limit=time_limit, progress=report)
                if model is not None:
                    return model
                left = None if time_limit is None else max(0.0, time_limit - (time.monotonic() - started))
            return _mercer.Model.fit(points, exact, time_limit=left, progress=report, on_partial=keep)

    def _finish(
        self,
        model: _mercer.Model,
        X: Any,
        points: Any,
        alpha: float | None,
        memory_limit: str | None,
        time_limit: float | None,
        started: float,
    ) -> "KernelPCA":
        self._adopt(model, X)
        if not model.converged:
            _base.warn(self._why_not_converged(), _base.convergence_warning())
        elif (missing := self._what_is_missing()) is not None:
            _base.warn(missing, RankWarning)
        if alpha is not None:
            left = None if time_limit is None else max(0.0, time_limit - (time.monotonic() - started))
            try:
                self._fit_inverse_transform(points, alpha, memory_limit, left)
            except _mercer.ConvergenceError:
                self.converged_ = False
                message = f"time_limit={time_limit!r} was not enough to learn the inverse transform, which is not available"
                _base.warn(message, _base.convergence_warning())
            except BaseException:
                # Ctrl-C, or scores that cannot be brought back.
                self.converged_ = False
                raise
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Learns the components of the rows of ``X`` and returns their scores, which the fit knows already."""
        self.fit(X, y, **params)
        if self._model.keeps_training_points:
            return self._results(self._model.training_scores(), "scores")
        return self.transform(X)

    def _adopt(self, model: _mercer.Model, X: Any) -> None:
        """Makes a model this estimator's own, with the points it was learned from if they are at hand."""
        record = json.loads(model.record())
        self.__dict__.setdefault("_dtype", model.precision)
        # Before anything is this estimator's own: they may be too large for their type.
        eigenvalues = self._results(model.eigenvalues(), "eigenvalues")
        eigenvectors = self._results(model.eigenvectors(), "eigenvectors")
        self._model = model
        # A model that does not keep the points it was learned from has landmarks instead.
        self._X_fit = X if model.keeps_training_points else None
        self.record_ = record
        self.eigenvalues_ = eigenvalues
        self.eigenvectors_ = eigenvectors
        self.residuals_ = model.residuals()
        self.explained_variance_ratio_ = model.explained_variance_ratio()
        self.total_variance_ = record["total_variance"]
        self.converged_ = model.converged
        self.gamma_ = self._width(record["kernel"])

    def _why_not_converged(self) -> str:
        warned: list[str] = self.record_["warnings"]
        return warned[-1] if warned else "not every component reached the tolerance"

    def _what_is_missing(self) -> str | None:
        """What of the components that were asked for there is not, if all that there are have been found."""
        found = int(np.count_nonzero(self.eigenvalues_))
        if self.variance is not None:
            explained = float(self.explained_variance_ratio_.sum())
            # The last component of an exact share may miss it by rounding.
            if explained >= self.variance * (1 - 1e-9):
                return None
            kept = f"the {found} components that can be told from rounding explain {explained:.6g} of the variance"
            return f"{kept}, not variance={self.variance}"
        if self.n_components is None or self.remove_zero_eig or found >= self.n_components:
            return None
        rest = "the scores along the others are zero" if found < self.eigenvalues_.size else "there are no others"
        return f"{found} of the n_components={self.n_components} components asked for have a variance; {rest}"

    # Using

    def _learned_from(self) -> Any:
        if self.__dict__.get("_X_fit") is None:
            # The model came from a file or a pickle and brought its points along.
            self._X_fit = self._model.points()
        return self._X_fit

    def transform(self, X: Any) -> Any:
        """Scores of the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Sparse rows are made dense block by block.

        Returns
        -------
        ndarray of shape (n_queries, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        return self._results(self._of_rows(X, self._model.transform), "scores")

    def _of_rows(self, X: Any, ask: Any) -> Any:
        """What a method of the model says of rows."""
        threads = _checks.threads(type(self).__name__, self.n_jobs)
        with _progress.bar(self.progress) as report:
            return by_blocks(
                X,
                lambda rows, report: ask(rows, threads=threads, progress=report),
                report,
                is_scaled=self._model.scaling is not None,
            )

    def score_samples(self, X: Any) -> Any:
        """How well the components explain each row: minus the squared distance of its image from their span.

        As everywhere in scikit-learn, less is stranger.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return -self.novelty(X)[0]

    def novelty(self, X: Any) -> tuple[Any, Any]:
        """How unlike the training points each row is; ``record_["control_limits"]`` says what is usual.

        Not for ``kernel="precomputed"``, whose values do not tell the kernel of a new point with itself.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)

        Returns
        -------
        reconstruction_error : ndarray of shape (n_queries,)
            Squared distance in feature space from the span of the components.
        t_squared : ndarray of shape (n_queries,)
            Squared distance of the scores from the centre, in units of their variance: Hotelling's T².
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        error, t_squared = self._of_rows(X, self._model.novelty)
        return self._results(error, "reconstruction errors"), self._results(t_squared, "T² values")
