"""What :class:`mercer.OnlineKernelPCA` can begin with: a model, or the state of a stream."""

import json
import os
from typing import Any, Self

from . import _checks, _mercer
from ._base import Estimator
from ._hebbian_metrics import model_of

# Parameters that have no part in learning.
_MAY_CHANGE = ("inverse", "inverse_options")

# What the state of a learner begins with.
STATE = b"mercer learner"


class Start(Estimator):
    """How an online learner begins with something that was learned before."""

    @classmethod
    def from_model(
        cls,
        model: Any,
        *,
        n_components: int | None = None,
        rule: str = "simultaneous",
        learning_rate: float | None = None,
        schedule: str = "constant",
        tau: float | None = None,
        beta: float = 1.0,
        budget: int | None = None,
        policy: str = "project",
        forgetting: float | None = None,
    ) -> Self:
        """A learner whose components begin as those of a model, with its kernel, its centring, its scaling and its columns.

        The points that the model was fitted on count as rows that were learned (``n_before_``): in the running mean, which begins as the model's
        centre, in the running variances, and in what the schedule counts. Go on with ``learn`` or ``partial_fit``; ``fit`` begins anew, with
        nothing of the model but its kernel.

        Parameters
        ----------
        model : fitted KernelPCA, KernelHebbianPCA or OnlineKernelPCA, or the path of a model file
            Not one of a precomputed kernel, nor one with components of negative eigenvalues.
        n_components : int, default=None
            Number of components; ``None`` is the model's. Those that it does not have begin at the first rows that differ.
        rule, learning_rate, schedule, tau, beta, budget, policy, forgetting
            As in the constructor. A budget below the number of the model's basis points gives some up at once, by the policy ``"project"``, and
            ``budget_error_`` begins with what that costs; the other policies need one for all of them.

        Returns
        -------
        OnlineKernelPCA

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelPCA, OnlineKernelPCA
        >>> rng = np.random.default_rng(0)
        >>> past, present = rng.normal(size=(300, 3)), rng.normal(size=(500, 3))
        >>> pca = KernelPCA(4, kernel="rbf", gamma=0.2).fit(past)
        >>> learner = OnlineKernelPCA.from_model(pca, budget=100).partial_fit(present)
        >>> learner.n_before_, learner.n_seen_, learner.basis_.shape
        (300, 500, (100, 3))
        """
        if isinstance(model, (str, os.PathLike)):
            from ._load import load

            model = load(model)
        found = model_of(model, "model")
        record = json.loads(found.record())
        own = getattr(model, "kernel", None)
        estimator = cls(
            n_components=record["n_components"] if n_components is None else n_components,
            rule=rule,
            learning_rate=learning_rate,
            schedule=schedule,
            tau=tau,
            beta=beta,
            center=record["centered"],
            budget=budget,
            policy=policy,
            forgetting=forgetting,
            **({"kernel": own, "kernel_params": model.kernel_params} if callable(own) else _kernel_of(record)),
        )
        learner = _mercer.OnlineLearner.from_model(found, estimator._learning())
        estimator._adopt(learner, getattr(model, "feature_names_in_", None))
        return estimator

    @classmethod
    def _from_state(cls, data: bytes) -> Self:
        """The estimator that goes on from the state of a stream."""
        learner, note = _mercer.OnlineLearner.from_bytes_with_note(data)
        record = json.loads(learner.settings())
        start = learner.start_points()
        estimator = cls(
            n_components=learner.n_components,
            rule=record["rule"],
            learning_rate=record["learning_rate"],
            schedule=record["schedule"],
            tau=record.get("tau"),
            beta=record.get("beta", 1.0),
            center=record["centered"],
            start=start if len(start) else None,
            budget=record["budget"],
            policy=record["policy"] or "project",
            forgetting=record["forgetting"],
            rows_per_component=record.get("rows_per_component"),
            **_kernel_of(record),
        )
        try:
            noted = json.loads(note)
        except ValueError:
            noted = None  # A note of another program.
        estimator._adopt(learner, noted.get("feature_names") if isinstance(noted, dict) else None)
        return estimator

    def _adopt(self, learner: _mercer.OnlineLearner, names: Any) -> None:
        """Goes on with a learner, of columns that may have names."""
        if learner.n_features is None:
            return  # It has seen nothing: one that begins is the same.
        self.n_features_in_ = learner.n_features
        self._adopt_feature_names(None if names is None else list(names))
        self._model = learner
        self._learns_with = _checks.as_given(self._parameters_of_learning())

    def _parameters_of_learning(self) -> dict[str, Any]:
        """What has to stay as it is while learning goes on; not copied, which only its beginning needs."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in _MAY_CHANGE}

    def _learning(self) -> dict[str, Any]:
        """How components learn, as the extension module takes it. A setting that has no effect is refused, unless it is the default."""
        owner = type(self).__name__
        beta = _checks.real(owner, "beta", self.beta, 0, above=True)
        policy = _checks.choice(owner, "policy", self.policy, _mercer.POLICIES)
        return {
            "n_components": _checks.integer(owner, "n_components", self.n_components, 1),
            "rule": _checks.choice(owner, "rule", self.rule, _mercer.RULES),
            "learning_rate": _checks.real(owner, "learning_rate", self.learning_rate, 0, above=True, optional=True),
            "schedule": _checks.choice(owner, "schedule", self.schedule, _mercer.SCHEDULES),
            "tau": _checks.real(owner, "tau", self.tau, 0, above=True, optional=True),
            "beta": None if self.rule != "simultaneous" and beta == 1.0 else beta,
            "budget": _checks.integer(owner, "budget", self.budget, 1, optional=True),
            "policy": None if self.budget is None and policy == "project" else policy,
            "forgetting": _checks.real(owner, "forgetting", self.forgetting, 0, above=True, below=1, optional=True),
            "rows_per_component": _checks.integer(owner, "rows_per_component", self.rows_per_component, 1, optional=True),
        }


def _kernel_of(record: dict[str, Any]) -> dict[str, Any]:
    """The kernel that a record names, as parameters."""
    kernel = record["kernel"]
    tail = kernel.get("alpha")
    return {
        "kernel": kernel["name"],
        "gamma": kernel.get("gamma"),
        "degree": kernel.get("degree", 3),
        "coef0": kernel.get("coef0", 1),
        "kernel_params": None if tail is None else {"alpha": tail},
    }
