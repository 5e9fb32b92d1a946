"""Conjugate priors: Dirichlet, and Beta for two values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from naively._common.checks import require_number, require_one_of
from naively.errors import ParameterError
from naively.smoothing._base import Smoothing, finite_numbers, numbers_by_value, per_value
from naively.typing import FloatArray

PerValue: TypeAlias = float | Mapping[Any, float] | Sequence[float]


@dataclass(frozen=True)
class Dirichlet(Smoothing):
    """A Dirichlet (for two values: Beta) prior.

    Parameters
    ----------
    beta : float, mapping or sequence, default=2.0
        The prior's parameters: one for all, by value (a dict or a Series), or in the sorted order of the values.
    estimator : "map" or "mean", default="map"
        The posterior's mode, with ``beta - 1`` imaginary examples (so `beta` must be at least 1), or its mean, with
        ``beta`` of them.

    Examples
    --------
    >>> import numpy as np
    >>> Dirichlet(2.0, "map").pseudo_counts(np.array([[3.0, 0.0]]), ["no", "yes"])
    array([1., 1.])
    """

    beta: PerValue = 2.0
    estimator: Literal["map", "mean"] = "map"

    def __post_init__(self) -> None:
        require_one_of("Dirichlet(estimator)", self.estimator, ("map", "mean"))
        numbers_by_value(self, "beta")
        values = finite_numbers("Dirichlet(beta)", [self.beta] if isinstance(self.beta, Real) else self.beta)
        least = 1 if self.estimator == "map" else 0
        if min(values) < least:
            raise ParameterError(
                f"Dirichlet(beta) must be at least {least} for the {self.estimator!r} estimator, got {self.beta!r}. "
                "Priors below 1 have no mode inside: use estimator='mean'."
            )

    @property
    def by_value(self) -> bool:
        return not isinstance(self.beta, Real)

    def concentration(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if isinstance(self.beta, Real):
            return np.full(counts.shape[-1], float(self.beta))
        return per_value("Dirichlet(beta)", self.beta, labels)  # type: ignore[arg-type]

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        return self.concentration(counts, labels) - (1.0 if self.estimator == "map" else 0.0)

    def pseudo_counts_together(
        self, part: FloatArray, whole: FloatArray, n_part: FloatArray, n_values: FloatArray, n_classes: int
    ) -> FloatArray:
        if not isinstance(self.beta, Real):
            return super().pseudo_counts_together(part, whole, n_part, n_values, n_classes)
        return (float(self.beta) - (1.0 if self.estimator == "map" else 0.0)) * n_part


@dataclass(frozen=True)
class Beta(Smoothing):
    """A Beta prior on the probability of yes: the Dirichlet prior of two values.

    Parameters
    ----------
    b1, b0 : float, default=2.0
        The prior's parameters for yes and for no: of `Bernoulli` columns; of any other column with two values, the
        second in sorted order is yes.
    estimator : "map" or "mean", default="map"
        The posterior's mode, ``(yes + b1 - 1) / (n + b1 + b0 - 2)``, with ``b1 - 1`` imaginary yeses and ``b0 - 1``
        imaginary noes (so both must be at least 1); or its mean, ``(yes + b1) / (n + b1 + b0)``.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> tosses, coin = [[1], [1], [1], [0]], ["mine"] * 4
    >>> for rule in ("none", Beta(3, 3), Beta(3, 3, "mean")):
    ...     model = NaiveBayes("textbook", families="bernoulli", smoothing=rule).fit(tosses, coin)
    ...     print(model.parameters()["x0"]["probability"])
    [0.75]
    [0.625]
    [0.6]
    """

    b1: float = 2.0
    b0: float = 2.0
    estimator: Literal["map", "mean"] = "map"

    def __post_init__(self) -> None:
        for name in ("b1", "b0"):
            require_number(f"Beta({name})", getattr(self, name), at_least=0)
        self._as_dirichlet()

    def _as_dirichlet(self) -> Dirichlet:
        return Dirichlet((self.b0, self.b1), self.estimator)

    def concentration(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        self._require_two(labels)
        return self._as_dirichlet().concentration(counts, labels)

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        self._require_two(labels)
        return self._as_dirichlet().pseudo_counts(counts, labels)

    def _require_two(self, labels: Sequence[Any]) -> None:
        if len(labels) != 2:
            raise ParameterError(
                f"Beta is a prior for two values, but here are {len(labels)}: {list(labels)[:10]}. Use Dirichlet for "
                "more, and Categorical(categories) to declare a value that did not occur."
            )
