"""Rules that give every value of a column the same pseudo-count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._common.by_label import by_label
from naively._common.checks import require_number
from naively.errors import ParameterError
from naively.smoothing._base import Smoothing, finite_numbers
from naively.typing import FloatArray


@dataclass(frozen=True)
class Lidstone(Smoothing):
    """The same pseudo-count `tau` for every value.

    Parameters
    ----------
    tau : float, default=0.5
        Zero or more: 0 is maximum likelihood, 1 Laplace's rule.

    Examples
    --------
    >>> import numpy as np
    >>> Lidstone(0.1).pseudo_counts(np.array([[3.0, 0.0]]), ["no", "yes"])
    array([0.1, 0.1])
    """

    tau: float = 0.5

    def __post_init__(self) -> None:
        require_number("Lidstone(tau)", self.tau, at_least=0)

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        return np.full(counts.shape[-1], float(self.tau))

    def pseudo_counts_together(
        self, part: FloatArray, whole: FloatArray, n_part: FloatArray, n_values: FloatArray, n_classes: int
    ) -> FloatArray:
        return float(self.tau) * n_part


@dataclass(frozen=True)
class NoSmoothing(Lidstone):
    """Maximum likelihood: what was never seen has probability zero.

    Examples
    --------
    >>> NoSmoothing().tau
    0.0
    """

    tau: float = 0.0


@dataclass(frozen=True)
class Laplace(Lidstone):
    """One pseudo-count for every value.

    Examples
    --------
    >>> Laplace().tau
    1.0
    """

    tau: float = 1.0


@dataclass(frozen=True)
class Jeffreys(Lidstone):
    """Half a pseudo-count for every value: the posterior mean under Jeffreys' prior.

    Examples
    --------
    >>> Jeffreys().tau
    0.5
    """

    tau: float = 0.5


@dataclass(frozen=True)
class PerColumn(Smoothing):
    """The same pseudo-count for every value of a column, another one for each column; for `Bernoulli` columns.

    The same as a dict of numbers by column, but at once for any number of columns.

    Parameters
    ----------
    tau : sequence of float
        One number of zero or more for each column that has this rule.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="bernoulli", smoothing=PerColumn([1, 2]))
    >>> model = model.fit([[1, 1], [0, 0]], ["a", "b"])
    >>> [found["probability"].tolist() for found in model.parameters().values()]
    [[0.6666666666666666, 0.3333333333333333], [0.6, 0.4]]
    """

    tau: Sequence[float] = ()

    def __post_init__(self) -> None:
        given = by_label(self.tau, "PerColumn(tau)")
        if isinstance(given, Mapping):
            raise ParameterError(
                "PerColumn(tau) holds numbers in the order of the columns, but it was given labels. Give smoothing= a "
                "dict by column instead."
            )
        object.__setattr__(self, "tau", tuple(map(float, finite_numbers("PerColumn(tau)", self.tau))))
        if min(self.tau) < 0:
            raise ParameterError(f"PerColumn(tau) must hold numbers of zero or more, got {min(self.tau)!r}.")

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if counts.ndim < 3 or counts.shape[-2] != len(self.tau):
            raise ParameterError(
                f"PerColumn(tau) has {len(self.tau)} numbers; it needs one for each column, and columns that are "
                "estimated together, as those of 'bernoulli' are. Give a dict by column instead."
            )
        return np.asarray(self.tau)[:, None]
