"""Autoencoder kernel PCA."""

import json
import os
from typing import Any

import numpy as np

from . import _checks, _mercer, _progress
from ._arrays import DTYPES, Room, by_blocks, dense, in_type, vectors
from ._autoencoder_settings import cut_into_epochs, rate
from ._base import Estimator, check_is_fitted, convergence_warning, validate_data, warn

_STARTS = ("kernel-pca", "random")
# A mean of less than this share of the longest point learned from says nothing about signs: it is rounding, in single precision, too.
_TELLS = 1e-6
# Parameters that partial_fit after a fit goes by, as they were when learning began.
_LEARNS_WITH = (
    "n_components",
    "span",
    "optimizer",
    "learning_rate",
    "decay",
    "epochs",
    "batch_size",
    "gradient",
    "sign",
    "landmarks",
    "scale",
    "tolerance",
    "start",
    "order",
    "validation_fraction",
    "patience",
    "random_state",
)


class AutoencoderKernelPCA(Estimator):
    """Kernel PCA of degree 2 whose components are learned so that points can be reconstructed from their codes.

    A point is encoded by quadratic forms, ``code_j = x @ A_j @ x``, and decoded as the leading eigenvector of ``sum_j code_j * B_j``. The forms
    minimise the mean spectral norm of ``sum_j code_j * B_j - outer(x, x)``, by stochastic gradients from the solution of kernel PCA
    with the kernel ``(x @ y)**2``.

    Parameters
    ----------
    n_components : int, default=2
        Number of forms: at most ``d * (d + 1) / 2`` for ``d`` features.
    span : {"full", "data"}, default="full"
        Whether forms are any, or combinations of ``outer(x, x)`` of points that are learned from: ``k * m`` numbers for ``m`` points instead
        of ``k * d * d``.
    optimizer : {"sgd", "svrg"}, default="sgd"
        Stochastic gradients, plain or with reduced variance.
    learning_rate : float or "auto", default="auto"
        Step ``eta0`` of the first update, for points whose largest norm is one. ``"auto"`` is found by trying on a sample, and halved when an
        epoch makes things worse. The best epoch is kept, of which the start is one; a step that was given and ends with a loss of more than 1.02 times
        that of the start is a ``ConvergenceWarning``, with an ``order``, too.
    decay : float, default=None
        Updates ``tau`` after which the step ``eta0 * tau / (tau + t)`` has halved; ``None``: a quarter of all updates with ``"sgd"`` (of 20 epochs
        where ``epochs`` is 0), a step that stays with ``"svrg"``.
    epochs : int, default=None
        Passes over the points; ``None`` is 20. With 0 the start is what is learned.
    batch_size : int, default=None
        Samples that are averaged in an update; ``None``: one of 64 rows, at least 2 and at most 128.
    start : {"kernel-pca", "random"} or pair of arrays, default="kernel-pca"
        Where learning starts; ``(A0, B0)`` of shape (k, d, d), or (k, m) with ``span="data"``. Of components that the points do not have, because
        ``n_components`` is above the rank of the kernel matrix, kernel PCA starts with small random forms.
    order : array-like of int, default=None
        Samples in the order in which they are learned from, instead of random permutations: one row per epoch, or one row in all, which
        ``epochs``, if given, cuts into equal parts. With a ``learning_rate`` that is given, what is kept is where they have led, unless
        an epoch ends with ten times the loss of the start, or the mean squared norm if that is more.
    gradient : {"functional", "plain"}, default="functional"
        With ``span="data"``: the gradient that moves the forms as it would with full span, or that of the coefficients.
    sign : {"nearest", "nonnegative"}, default="nearest"
        ``x`` and ``-x`` have the same code. A decoded point is the one nearer to a reference (the mean of the points learned from, if there is
        none), or the one whose sum is not negative. Without a reference that is right for points on one side of the origin, as pictures are; of
        points around it, such as standardized ones, about half are decoded with the wrong sign (a ``UserWarning`` where their mean is zero).
    random_state : int, RandomState, Generator or None, default=None
        Where everything random comes from; ``None`` is 0.
    landmarks : int, default=None
        With ``span="data"``: points that the span is made of, drawn at random; ``None``: all, up to 4000.
    validation_fraction : float, default=0.0
        Share of the points that is held out, to end when their loss falls no more and to keep what was best for them.
    patience : int, default=None
        Epochs without a smaller loss of points held out after which learning ends; ``None`` is 5.
    scale : bool, default=True
        Whether points are divided by their largest norm while they are learned from. Only the meaning of ``learning_rate`` depends on it.
    tolerance : float, default=None
        Residual of eigenpairs while learning, relative to the eigenvalue; ``None``: 1e-12 with ``batch_size=1``, else 1e-3.
    memory_limit : int or str, default=None
        Memory that a fit may take beyond the data: bytes, ``"4GiB"``, ``"50%"``; 70 % of what is available by default.
    n_jobs : int, default=None
        Threads; ``None`` and -1 are all processors. Results do not depend on it.
    progress : bool or callable, default=False
        Whether to show a bar, or a function ``f(phase, epoch, epochs, fraction, loss)`` to call instead.
    time_limit : float, default=None
        Seconds after which what has been learned so far is returned, with ``converged_ = False`` and a ``ConvergenceWarning``; before the
        first epoch that is where learning starts. Out of time before kernel PCA has found that start, there is nothing to return: ``ConvergenceError``.

    Attributes
    ----------
    encoder_, decoder_ : ndarray of shape (n_components, n_features, n_features) or (n_components, n_span)
        The forms ``A_j`` and ``B_j``, or the coefficients ``H`` and ``G`` over ``span_points_``.
    loss_history_ : ndarray
        Mean loss of the points learned from (of 1000 of them if there are more) at the start and after every epoch; that of the start is of fewer
        points if there was no time for more.
    history_ : list of dict
        The same with ``epoch``, ``updates``, ``rate``, ``seconds``, and ``validation_loss`` if points were held out.
    span_points_ : ndarray of shape (n_span, n_features) or None
        Points of the span.
    learning_rate_, decay_ : float
        As given, or as found and halved ``n_halved_`` times; ``decay_`` is ``None`` for a step that stays.
    n_halved_ : int
        How often a step that was found has been halved because it made things worse.
    scale_ : float
        What points were divided by while they were learned from.
    mean_ : ndarray of shape (n_features,)
        Mean of the points learned from.
    n_updates_ : int
        Updates so far.
    converged_ : bool
        Whether learning went on to its end: ``False`` if it was stopped, has diverged, or no epoch made the loss (of points held out, if there are any) smaller.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoencoderKernelPCA
    >>> X = np.random.default_rng(0).random(size=(200, 6))
    >>> model = AutoencoderKernelPCA(3, epochs=5).fit(X)
    >>> codes = model.transform(X)
    >>> model.inverse_transform(codes, reference=X).shape
    (200, 6)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        span: str = "full",
        optimizer: str = "sgd",
        learning_rate: Any = "auto",
        decay: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        start: Any = "kernel-pca",
        order: Any = None,
        gradient: str = "functional",
        sign: str = "nearest",
        random_state: Any = None,
        landmarks: int | None = None,
        validation_fraction: float = 0.0,
        patience: int | None = None,
        scale: bool = True,
        tolerance: float | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        progress: Any = False,
        time_limit: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.span = span
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.decay = decay
        self.epochs = epochs
        self.batch_size = batch_size
        self.start = start
        self.order = order
        self.gradient = gradient
        self.sign = sign
        self.random_state = random_state
        self.landmarks = landmarks
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.scale = scale
        self.tolerance = tolerance
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.progress = progress
        self.time_limit = time_limit

    # Learning

    def fit(self, X: Any, y: Any = None) -> "AutoencoderKernelPCA":
        """Learns from the rows of ``X``, anew.

        Ctrl-C raises ``KeyboardInterrupt``; what was learned until then is in the fitted attributes, if there is anything. A learning rate that was
        given and diverges is a ``ConvergenceWarning``, and the best there was is kept (but see ``order``); so is a fit in which no epoch made the loss smaller, which
        keeps where it started.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self : AutoencoderKernelPCA
        """
        return self._fit(X)

    def _fit(self, X: Any, epochs_now: int | None = None) -> "AutoencoderKernelPCA":
        """A fit, of all epochs or of the first so many."""
        owner = type(self).__name__
        # A fit that fails leaves no model that could be taken for its own.
        self.__dict__.pop("_model", None)
        time_limit = _checks.real(owner, "time_limit", self.time_limit, 0, optional=True)
        room = Room(_checks.memory_limit(owner, self.memory_limit))
        room.take_copy(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C")
        points = dense(X, room)
        settings = {**self._settings(points), "epochs_now": epochs_now, "memory_limit": room.limit}
        with room.told(), _progress.bar(self.progress) as report:
            model = _mercer.Autoencoder.fit(
                points, settings, time_limit=time_limit, progress=report, on_partial=self._adopt
            )
        self._adopt(model)
        order = settings["order"]
        advice = "use a smaller one, or 'auto'" if epochs_now is None else "fit begins anew with a smaller one, or 'auto'"
        self._warn(order is not None and len(self.history_) > len(order), advice)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "AutoencoderKernelPCA":
        """Learns from more points, in their order: one epoch, with the step that is due.

        With ``span="data"`` the span stays that of the first call; new points are learned from by what of them lies in it. Before a fit these are the
        first points, and this is a fit of one epoch, whose step falls as it would over ``epochs`` of them (20 if that is ``None``). On an error everything stays as it was; after Ctrl-C or a time limit, updates until then are kept,
        unless there are none or they have made things much worse, and ``converged_`` is ``False``. Parameters of learning have to stay as they were. A step that was found by trying is divided by the square of
        how much longer these points are than those it was found with, and halved while it makes their loss much larger; if that does not help,
        what was known is kept, with a ``ConvergenceWarning`` and ``converged_ = False``. So it is if the step was given and ends with more than 1.02 times the
        loss that these points had before, as in a fit that ended there; the same call again changes nothing then, since steps fall by the updates that are kept: a
        fit with a smaller ``learning_rate`` does. But up to ten points with ``batch_size=1`` are for the iterates of the textbook, which are kept up to
        ten times the loss that the fit started with, or the points' mean squared norm if that is more. Over several such calls, with more than ten points in
        all, it is a ``ConvergenceWarning`` and ``converged_ = False`` if the losses that points had when they came are more than 1.02 times what they would
        have been before the first of these calls.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self : AutoencoderKernelPCA
        """
        owner = type(self).__name__
        if "_model" not in self.__dict__:
            return self._fit(X, 1 if self.order is None else None)
        _checks.unchanged(self.get_params(deep=False), self._learns_with)
        time_limit = _checks.real(owner, "time_limit", self.time_limit, 0, optional=True)
        threads = _checks.threads(owner, self.n_jobs)
        room = Room(_checks.memory_limit(owner, self.memory_limit))
        room.take_copy(X)
        points = dense(validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False), room)
        with _progress.bar(self.progress) as report:
            model = self._model.partial_fit(
                points, threads=threads, time_limit=time_limit, progress=report, on_partial=self._adopt
            )
        updates = self.n_updates_
        self._adopt(model)
        # Coefficients of a span are those of its own points, which another fit would not have.
        start = " and start=(encoder_, decoder_)" if self.span == "full" else ""
        self._warn(self.n_updates_ > updates, f"fit goes on with a smaller learning_rate{start}")
        return self

    def _settings(self, points: Any) -> dict[str, Any]:
        """What is asked for, as the extension module takes it."""
        owner = type(self).__name__
        k = _checks.integer(owner, "n_components", self.n_components, 1)
        epochs = _checks.integer(owner, "epochs", self.epochs, 0, optional=True)
        span = _checks.choice(owner, "span", self.span, _mercer.SPANS)
        start, encoder, decoder = self._start(points.shape[1])
        return {
            "n_components": k,
            "span": span,
            "optimizer": _checks.choice(owner, "optimizer", self.optimizer, _mercer.OPTIMIZERS),
            "learning_rate": rate(owner, self.learning_rate),
            "decay": _checks.real(owner, "decay", self.decay, 0, above=True, optional=True),
            "epochs": epochs,
            "batch_size": _checks.integer(owner, "batch_size", self.batch_size, 1, optional=True),
            "start": start,
            "encoder": encoder,
            "decoder": decoder,
            "order": None if self.order is None else cut_into_epochs(self.order, points.shape[0], epochs),
            "gradient": _checks.choice(owner, "gradient", self.gradient, _mercer.GRADIENTS),
            "sign": _checks.choice(owner, "sign", self.sign, _mercer.SIGNS),
            "landmarks": _checks.integer(owner, "landmarks", self.landmarks, 1, optional=True),
            "validation": self._held_out(),
            "patience": _checks.integer(owner, "patience", self.patience, 1, optional=True),
            "scale": _checks.boolean(owner, "scale", self.scale),
            "tolerance": _checks.real(owner, "tolerance", self.tolerance, 0, above=True, optional=True),
            "threads": _checks.threads(owner, self.n_jobs),
            "seed": _checks.seed(owner, self.random_state),
        }

    def _held_out(self) -> float:
        owner = type(self).__name__
        share = _checks.real(owner, "validation_fraction", self.validation_fraction, 0) or 0.0
        if share >= 1:
            raise _checks.refuse(owner, "validation_fraction", "a float in the range [0, 1)", self.validation_fraction)
        return share

    def _start(self, n_features: int) -> tuple[str, Any, Any]:
        owner = type(self).__name__
        if isinstance(self.start, str):
            return _checks.choice(owner, "start", self.start, _STARTS), None, None
        if not isinstance(self.start, (tuple, list)) or len(self.start) != 2:
            raise _checks.refuse(owner, "start", "'kernel-pca', 'random' or a pair of arrays", self.start)
        dimensions = 3 if self.span == "full" else 2
        flat = []
        for values in self.start:
            array = np.asarray(values)
            if array.dtype.kind not in "fiub":
                raise TypeError(f"start must hold real numbers, but its dtype is {array.dtype}")
            is_square = dimensions == 2 or array.shape[1:] == (n_features, n_features)
            if array.ndim != dimensions or array.shape[0] != self.n_components or not is_square:
                shape = f"(k, {n_features}, {n_features})" if dimensions == 3 else "(k, m)"
                raise ValueError(
                    f"start must hold two arrays of shape {shape} with k = {self.n_components}, but one has shape {array.shape}"
                )
            flat.append(np.ascontiguousarray(array, dtype=np.float64).ravel())
        return "given", flat[0], flat[1]

    def _adopt(self, model: _mercer.Autoencoder) -> None:
        """Makes what has been learned this estimator's own."""
        self._model = model
        self._learns_with = _checks.as_given({name: getattr(self, name) for name in _LEARNS_WITH})
        self.encoder_ = model.encoder()
        self.decoder_ = model.decoder()
        self.history_ = json.loads(model.history())
        self.loss_history_ = np.array([entry["loss"] for entry in self.history_])
        self.span_points_ = model.span_points()
        self.learning_rate_ = model.learning_rate
        self.decay_ = model.decay
        self.scale_ = model.scale
        self.mean_ = model.mean()
        self.n_updates_ = model.n_updates
        self.n_halved_ = model.n_halved
        self.converged_ = model.converged

    def _warn(self, is_kept: bool, advice: str) -> None:
        """Says what went wrong, if anything did: whether where learning has led is kept all the same, and what would help against a given step."""
        if self._model.is_stuck or (self._model.diverged and self._model.rate_was_found):
            whose = "the loss of points held out" if self._model.is_stuck and self.validation_fraction else "their loss"
            halved = f", though the step was halved {self.n_halved_} times" if self.n_halved_ else ""
            message = (
                f"nothing was learned from these points: no epoch made {whose} smaller{halved}, and what was known is kept; "
                "more epochs, another learning_rate or another start may help"
            )
            warn(message, convergence_warning())
        elif self._model.diverged:
            kept = "where the samples in their order have led is kept" if is_kept else "the best there was is kept"
            message = f"learning diverged with learning_rate={self.learning_rate_}: {kept}; {advice}"
            warn(message, convergence_warning())
        elif self._model.was_stopped:
            message = f"learning was stopped by its time limit after {self.n_updates_} updates; partial_fit goes on"
            warn(message, convergence_warning())

    # Using

    def transform(self, X: Any) -> Any:
        """Codes of the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)

        Returns
        -------
        ndarray of shape (n_queries, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False)
        precision, threads = _precision(X), _checks.threads(type(self).__name__, self.n_jobs)

        def encode(rows: Any, report: Any) -> Any:
            codes = self._model.encode(rows, dtype="float64", threads=threads, progress=report)
            return in_type(codes, precision, "codes", "give points in float64")

        with _progress.bar(self.progress) as report:
            return by_blocks(X, encode, report)

    def inverse_transform(self, X: Any, reference: Any = None) -> Any:
        """Points that codes are decoded to.

        A ``ConvergenceWarning`` says how many of them are made of eigenpairs with a residual of more than 1e-10 of their value after 300 products; up to 300
        features there are none.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_components)
            Codes.
        reference : array-like of shape (n_queries, n_features), optional
            With ``sign="nearest"``: for each code a point near which the decoded one is to lie; without it, the mean of the points learned from.

        Returns
        -------
        ndarray of shape (n_queries, n_features)
        """
        check_is_fitted(self)
        if self.sign != self._model.sign:
            raise ValueError(
                f"sign must stay {self._model.sign!r}, which codes are decoded with since the fit, but it is {self.sign!r}; fit begins anew"
            )
        codes = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if codes.ndim != 2:
            raise ValueError(f"X must be a 2D array of codes, but it has {codes.ndim} dimension(s)")
        precision = "float32" if codes.dtype == np.float32 else "float64"
        codes = vectors(codes, "X", codes.shape[0])
        if reference is not None:
            reference = dense(validate_data(self, reference, accept_sparse="csr", dtype=DTYPES, order="C", reset=False))
        with _progress.bar(self.progress) as report:
            points, n_missed = self._model.decode(
                codes,
                reference,
                dtype="float64",
                threads=_checks.threads(type(self).__name__, self.n_jobs),
                progress=report,
            )
        points = in_type(points, precision, "points", "give codes in float64")
        if n_missed:
            message = f"{n_missed} of {len(points)} codes were decoded by eigenpairs that have not converged: their points have fewer digits"
            warn(message, convergence_warning())
        if reference is None:
            self._warn_of_signs(points)
        return points

    def _warn_of_signs(self, points: Any) -> None:
        """Says that decoded points may have the wrong sign, where the mean of those learned from is zero but for rounding, or on the other side."""
        is_nearest = self.sign == "nearest"
        tells = np.abs(self.mean_).max() if is_nearest else self.mean_.sum()
        if points.any() and tells <= _TELLS * self._model.longest:
            advice = "give a reference" if is_nearest else "fit with sign='nearest', and give a reference"
            message = f"x and -x have the same code, and the mean of the points learned from does not tell which of them is meant: many may have the wrong sign; {advice}"
            warn(message, UserWarning)

    def loss(self, X: Any) -> float:
        """The mean over the rows of ``X`` of the spectral norm of ``sum_j code_j * B_j - outer(x, x)``."""
        check_is_fitted(self)
        X = dense(validate_data(self, X, accept_sparse="csr", dtype=DTYPES, order="C", reset=False))
        return float(self._model.losses(X, threads=_checks.threads(type(self).__name__, self.n_jobs)).mean())

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the autoencoder to a file that :func:`mercer.load` reads.

        What is read has the parameters that ``partial_fit`` goes on with. A ``fit`` of it is another: it makes 20 epochs, from kernel PCA, with the ``decay_`` of this one.
        """
        check_is_fitted(self)
        self._model.save(os.fspath(path), self._feature_names())

    @classmethod
    def _from_model(cls, model: _mercer.Autoencoder) -> "AutoencoderKernelPCA":
        """The estimator that learns on as this autoencoder would."""
        span = model.span_points()
        estimator = cls(
            model.n_components,
            span=model.span,
            optimizer=model.optimizer,
            learning_rate="auto" if model.rate_was_found or model.learning_rate == 0 else model.learning_rate,
            decay=model.decay,
            batch_size=model.batch_size,
            gradient=model.gradient,
            sign=model.sign,
            random_state=model.seed,
            landmarks=None if span is None else len(span),
            scale=model.is_scaled,
            tolerance=model.tolerance,
        )
        estimator.n_features_in_ = model.n_features
        estimator._adopt_feature_names(model.feature_names)
        estimator._adopt(model)
        return estimator

    def _model_from_bytes(self, data: bytes) -> _mercer.Autoencoder:
        return _mercer.Autoencoder.from_bytes(data)

    # What scikit-learn asks

    @property
    def _n_features_out(self) -> int:
        return int(self._model.n_components)


def _precision(X: Any) -> str:
    return "float64" if X.dtype == np.float64 else "float32"
