"""Online kernel PCA."""

import os
import warnings
from typing import Any

import numpy as np

from . import _checks, _mercer
from ._arrays import dense
from ._base import check_is_fitted, validate_data
from ._kernel_pca import RankWarning
from ._kernel_pca_preimages import Preimages
from ._kernels import describe
from ._online_start import Start


class OnlineKernelPCA(Preimages, Start):
    """Kernel PCA that learns one row at a time, with a ``budget`` in bounded memory, and has an answer at any moment.

    How rows are grouped into calls changes nothing, to the bit. Rows may be sparse, and are learned in double precision.

    ``learn`` and ``transform`` give the outputs of the components as the rule leaves them: a column always belongs to the same component, and
    neither changes places nor signs while learning goes on. The model that ``save`` writes has orthonormal directions in the span of the
    components instead, in the order of the variance along them, with signs as all models have; ``explained_variance_`` is theirs.

    Parameters
    ----------
    n_components : int, default=2
        Number of components; must be 1 for the rule ``"oja"``.
    rule : {"simultaneous", "apex", "oja"}, default="simultaneous"
        How components learn: all at once, each subtracting what those before it explain; all at once, decorrelated by
        lateral weights; or only the first one.
    kernel : str or callable, default="rbf"
        As in :class:`KernelPCA`, but not ``"precomputed"``.
    gamma, bandwidth : float, default=None
        Inverse width, or the width itself. ``None`` is ``1 / n_features``.
    degree : int, default=3
    coef0 : float, default=1
    kernel_params : dict, default=None
        As in :class:`KernelPCA`.
    learning_rate : float, default=None
        The rate ``eta``. At a row for which ``eta * y**2`` reaches 2, it is made smaller, with a warning; ``n_shrunk_`` counts such rows. ``None``
        follows the rows: 0.05 over their variance so far (with the schedule ``"1/t"``, two over the smallest variance of a component, but ``eta / t`` is never
        more than that).
    schedule : {"constant", "1/t", "anneal"}, default="constant"
        ``eta``, ``eta / t``, or ``eta * tau / (t + tau)``.
    tau : float, default=None
        Rows after which an annealed rate has halved; ``None`` is 1000. For the schedule ``"anneal"`` only.
    beta : float, default=1.0
        How much of what earlier components explain the rule ``"simultaneous"`` subtracts; the others have no such number.
    center : bool, default=True
        Whether the running mean is subtracted in feature space.
    start : array-like of shape (n_components, n_features), default=None
        Points that components start from; they stay in memory, beside the budget. ``None``: the first rows that differ.
    budget : int, default=None
        Rows that are remembered; ``None`` remembers all. Beside them, the last 512 rows are kept, which ``explained_variance_`` is measured on;
        they are in a pickle, and not in what ``save`` writes.
    policy : {"project", "oldest", "smallest"}, default="project"
        What happens to a row that the budget has no room for: replaced by the best combination of the others, or dropped by
        age or weight. Another one than the default needs a budget. With a kernel that is not positive semi-definite, such as ``"sigmoid"``, ``"project"``
        refuses rows that have no best combination.
    forgetting : float, default=None
        Share of the running mean and of ``variances_`` and ``total_variance_`` that every row replaces, at least; ``None`` counts all rows
        alike. With the policies ``"oldest"`` and ``"smallest"``, one over the budget of the mean is replaced at least, so less has no effect on it.
    rows_per_component : int, default=None
        Rows that a component learns from before the next one begins, while those before it stand still; the last one goes on for ever. For the rule
        ``"apex"`` with two components or more. Outputs of a component that has finished no longer have its lateral part. ``None``: all learn at once.
    inverse : {"gradient", "fixed-point", "distance", "polynomial", "ridge"}, default="gradient"
        How outputs become points (:meth:`inverse_transform`, :meth:`preimages`), as in :class:`KernelPCA`; the regression of ``"ridge"`` is learned
        from the rows in memory by the call that needs it.
    inverse_options : dict, default=None
        Settings of the way that ``inverse`` says, as in :class:`KernelPCA`, and ``alpha`` (1.0), the ridge of ``"ridge"``.

    Attributes
    ----------
    basis_ : ndarray of shape (n_remembered, n_features)
        Rows in memory; scaled, if the learner began with a model that scales (:meth:`from_model`).
    coefficients_ : ndarray of shape (n_components, n_remembered)
        Components as combinations of their images.
    lateral_ : ndarray of shape (n_components, n_components)
        Lateral weights of the rule ``"apex"``, a lower triangle; zero for the others.
    n_seen_ : int
        Rows learned.
    n_before_ : int
        Points of the model that components began as, which count as rows that were learned; 0 without one.
    n_shrunk_ : int
        Rows for which the learning rate was made smaller.
    n_started_ : int
        Components that have begun to learn: without ``start``, each waits for a row unlike those before. ``fit`` and ``save`` give a
        :class:`mercer.RankWarning` if some have not.
    n_finished_ : int
        Components that have finished, and stand still while the one after them learns (``rows_per_component``, :meth:`next_component`).
    budget_error_ : ndarray of shape (n_components,)
        Estimate of the distance of each component, whose length is about one, from what the same updates would have made of it if no row had been
        given up: the larger of two numbers. Lengths of lost parts are followed row by row; an update leaves ``1 - eta * y**2`` of older ones; squares
        add up for the policy ``"project"``, lengths for the others, where it is mostly too large, but can be too small where rows are centred: that the running mean forgets with the rows moves
        components, too, and is not in it. And for ``"project"``, what the rows in memory have no room for is measured on the last
        512 rows. ``fit`` and ``save`` warn where the budget has cost much.
    mean_drift_ : float
        Distance of the running mean from the mean of the last 512 rows; one is the root of their variance. Large where the budget has no room for a mean, or rows have changed that all count alike.
    variances_ : ndarray of shape (n_components,)
        Mean of the squared outputs of each component, over the rows since it began, each with the output that it had when it was learned.
    total_variance_ : float
        Mean of the squared lengths of the (centred) rows' images.
    explained_variance_ : ndarray of shape (n_directions,)
        Variance of the last 512 rows along the directions of the saved model, in decreasing order: fewer than ``n_components`` if components
        depend on one another or have not begun. A model that the learner began with stands for rows that have not come yet.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        Its share of the variance of those rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelPCA
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> learner = OnlineKernelPCA(2, gamma=0.2, budget=50)
    >>> for batch in np.array_split(rows, 10):
    ...     learner = learner.partial_fit(batch)
    >>> learner.transform(rows).shape, learner.n_seen_
    ((500, 2), 500)
    """

    # Rows are learned in double precision, whatever they come in.
    _types_kept = ("float64",)

    def __init__(
        self,
        n_components: int = 2,
        *,
        rule: str = "simultaneous",
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        learning_rate: float | None = None,
        schedule: str = "constant",
        tau: float | None = None,
        beta: float = 1.0,
        center: bool = True,
        start: Any = None,
        budget: int | None = None,
        policy: str = "project",
        forgetting: float | None = None,
        rows_per_component: int | None = None,
        bandwidth: float | None = None,
        inverse: str = "gradient",
        inverse_options: dict[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.rule = rule
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.tau = tau
        self.beta = beta
        self.center = center
        self.start = start
        self.budget = budget
        self.policy = policy
        self.forgetting = forgetting
        self.rows_per_component = rows_per_component
        self.bandwidth = bandwidth
        self.inverse = inverse
        self.inverse_options = inverse_options

    # Learning

    def fit(self, X: Any, y: Any = None) -> "OnlineKernelPCA":
        """Begins anew and learns from the rows of ``X``, once each, in order. A fit that fails leaves everything as it was."""
        with self._or_as_it_was():
            self.__dict__.pop("_model", None)
            self._learn(X)
        if self.n_started_ < self.n_components:
            warnings.warn(self._what_is_missing(self.n_started_), RankWarning, stacklevel=2)
        self._say_what_is_odd()
        # That is among it; rows that come later have not been spoken of.
        self._said_worn = self._model.wear_warning() is not None
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "OnlineKernelPCA":
        """Learns from more rows: from all of them or, if one is bad, from none."""
        self._learn_and_look(X)
        return self

    def learn(self, X: Any) -> Any:
        """Learns from more rows, from all of them or, if one is bad, from none, and returns the output that each had at its own update.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        return self._learn_and_look(X)

    def _learn_and_look(self, X: Any) -> Any:
        if "_model" not in self.__dict__:
            self._said_worn = False
        outputs = self._learn(X, depth=4)
        worn = None if self.__dict__.get("_said_worn") else self._model.wear_warning()
        if worn is not None:
            self._said_worn = True
            warnings.warn(worn, stacklevel=3)
        return outputs

    def _learn(self, X: Any, depth: int = 3) -> Any:
        begins = "_model" not in self.__dict__
        rows = self._rows(X, reset=begins)
        # What has no part in learning is refused before it, too.
        self._wanted_inverse()
        if begins:
            learner = _mercer.OnlineLearner.create(rows, self._settings())
            self._model, self._learns_with = learner, _checks.as_given(self._parameters_of_learning())
        else:
            _checks.unchanged(self._parameters_of_learning(), self._learns_with)
            learner = self._model
        before = learner.n_shrunk
        try:
            outputs = learner.learn(rows)
        except Exception:
            # Nothing was learned; what was before Ctrl-C is kept.
            if begins:
                del self._model, self._learns_with
            raise
        shrunk = learner.n_shrunk - before
        if shrunk and learner.last_shrunk is not None:
            old, new = learner.last_shrunk
            message = f"the learning rate was made smaller for {shrunk} of {len(rows)} rows, which it would have overshot at"
            warnings.warn(f"{message}: last from {old:.3g} to {new:.3g}", stacklevel=depth)
        return outputs

    def _rows(self, X: Any, *, reset: bool) -> Any:
        # Numbers that are not finite are left to the learner, which says where they are.
        checked = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": False}
        return dense(validate_data(self, X, reset=reset, **checked))

    def _say_what_is_odd(self) -> None:
        """What the budget has cost, and components that explain more than there is."""
        excess = self._model.excess_warning()
        for text in self._model.budget_warnings() + ([] if excess is None else [excess]):
            warnings.warn(text, stacklevel=3)

    def _what_is_missing(self, found: int) -> str:
        why = "the others depend on them"
        if self.n_started_ == found:
            turns = self.rows_per_component
            why = "too few rows have come that differ from one another and have a positive kernel with themselves"
            why = why if turns is None else f"one learns after the other, each from {turns} rows"
        return f"{found} of the n_components={self.n_components} components have a direction of their own: {why}"

    def _settings(self) -> dict[str, Any]:
        owner = type(self).__name__
        for name in ("gamma", "bandwidth"):
            if isinstance(getattr(self, name), str):
                # Rows that are still to come have no variance or median yet.
                raise _checks.refuse(owner, name, "a float in the range (0, inf) or None", getattr(self, name))
        start = None
        if self.start is not None:
            start = np.array(self.start, dtype=np.float64, order="C")
            if start.ndim != 2 or start.shape[1] != self.n_features_in_:
                raise ValueError(f"start must have {self.n_features_in_} columns, but its shape is {start.shape}")
            # The learner would name the place as if it were one of X.
            places = np.argwhere(~np.isfinite(start))
            if len(places) > 0:
                row, column = places[0]
                raise ValueError(f"start must be finite, but in row {row}, column {column} it is {start[row, column]}")
        return {
            "kernel": describe(
                owner,
                self.kernel,
                gamma=self.gamma,
                bandwidth=self.bandwidth,
                degree=self.degree,
                coef0=self.coef0,
                kernel_params=self.kernel_params,
            ),
            "center": _checks.boolean(owner, "center", self.center),
            "start": start,
            "learning": self._learning(),
        }

    # Using

    def transform(self, X: Any) -> Any:
        """Outputs of the components, as they are now, for the rows of ``X``: column ``p`` is component ``p``, whatever its variance.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        return self._look(X)[0]

    def score_samples(self, X: Any) -> Any:
        """How well the components explain each row: minus the squared distance of its (centred) image from their span.

        It is the reconstruction error of the model that ``save`` writes, whatever the lengths of the components and the angles between them. With a
        kernel that is not positive semi-definite, such as ``"sigmoid"``, the square of a distance can be negative. As everywhere in scikit-learn, less is
        stranger.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return -self._look(X)[1]

    def _look(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        looked: tuple[Any, Any] = self._model.look(self._rows(X, reset=False))
        return looked

    def _means(self) -> tuple[Any, Any, Any]:
        return None, None, False

    def _model_and_scores(self, scores: Any) -> tuple[Any, Any]:
        # Outputs are those of components as the rule leaves them; the model has other directions in their span.
        both: tuple[Any, Any] = self._model.model_and_scores(scores)
        return both

    def next_component(self, start: Any) -> "OnlineKernelPCA":
        """A copy in which all components stand still and one more, which starts at ``start``, learns what they leave (APEX).

        Parameters
        ----------
        start : array-like of shape (n_features,)
        """
        check_is_fitted(self)
        point = np.array(start, dtype=np.float64, order="C").reshape(1, -1)
        # Start points are kept as far as they are known; the others are rows, or of a model.
        known = None if self.start is None else np.vstack([np.asarray(self.start, dtype=np.float64), point])
        changes = {"n_components": self.n_components + 1, "rule": "apex", "beta": 1.0, "start": known, "rows_per_component": None}
        estimator = type(self)(**{**self.get_params(deep=False), **changes})
        for name in ("n_features_in_", "feature_names_in_"):
            if name in self.__dict__:
                setattr(estimator, name, getattr(self, name))
        estimator._model = self._model.next_component(point)
        estimator._learns_with = _checks.as_given(estimator._parameters_of_learning())
        return estimator

    # What was learned

    @property
    def basis_(self) -> Any:
        """Rows in memory."""
        return self._fitted().basis()

    @property
    def coefficients_(self) -> Any:
        """Components as combinations of the images of the rows in memory."""
        return self._fitted().coefficients()

    @property
    def lateral_(self) -> Any:
        """Lateral weights of the rule ``"apex"``."""
        return self._fitted().lateral()

    @property
    def budget_error_(self) -> Any:
        """Estimate of the distance of each component from what it would be if no row had been given up."""
        return self._fitted().budget_error()

    @property
    def mean_drift_(self) -> float:
        """Distance of the running mean from the mean of the last rows; one is their spread."""
        return float(self._fitted().mean_drift())

    @property
    def variances_(self) -> Any:
        """Mean of the squared outputs of each component."""
        return self._fitted().variances()

    @property
    def explained_variance_(self) -> Any:
        """Variance of the last rows along the directions of the saved model, in decreasing order."""
        return self._fitted().captured()[0]

    @property
    def explained_variance_ratio_(self) -> Any:
        """Share of the variance of the last rows along each direction of the saved model."""
        return self._fitted().captured()[1]

    @property
    def total_variance_(self) -> float:
        """Mean of the squared lengths of the (centred) rows' images."""
        return float(self._fitted().total_variance)

    @property
    def n_seen_(self) -> int:
        """Rows learned."""
        return int(self._fitted().n_seen)

    @property
    def n_before_(self) -> int:
        """Points of the model that components began as."""
        return int(self._fitted().n_before)

    @property
    def n_shrunk_(self) -> int:
        """Rows for which the learning rate was made smaller."""
        return int(self._fitted().n_shrunk)

    @property
    def n_started_(self) -> int:
        """Components that have begun to learn."""
        return int(self._fitted().n_started)

    @property
    def n_finished_(self) -> int:
        """Components that have finished."""
        return int(self._fitted().n_finished)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what was learned to a model file, which :func:`mercer.load` (as a :class:`KernelPCA`) and the command ``mercer`` read.

        Its components are orthonormal directions in the span of the learned ones, in the order of the variance along them (Rayleigh and Ritz). If
        components depend on one another or have not begun, there are fewer of them, and a :class:`mercer.RankWarning` says so. It cannot learn on; a pickle of this estimator can.
        """
        check_is_fitted(self)
        model = self._model.model()
        found = len(model.eigenvalues())
        if found < self.n_components:
            warnings.warn(self._what_is_missing(found), RankWarning, stacklevel=2)
        self._say_what_is_odd()
        model.save(os.fspath(path), self._feature_names())

    def _fitted(self) -> Any:
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has learned from no row yet")
        return self._model

    def _model_from_bytes(self, data: bytes) -> _mercer.OnlineLearner:
        # A function is not among the bytes. The one that was learned with counts, whatever parameters are now.
        kernel, keywords = (self._learns_with[name] for name in ("kernel", "kernel_params"))
        function = describe(type(self).__name__, kernel, kernel_params=keywords) if callable(kernel) else None
        return _mercer.OnlineLearner.from_bytes(data, function)

    # What scikit-learn asks

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)
