"""Rules that add imaginary rows, which follow a prior opinion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from naively._checks import require_number
from naively.errors import ParameterError
from naively.smoothing._base import Smoothing, finite_numbers, numbers_by_value, per_value, share, shares
from naively.typing import FloatArray

OPINIONS = ("uniform", "marginal", "classes", "features")
"""The prior opinions that `MEstimate` knows by name."""


@dataclass(frozen=True)
class MEstimate(Smoothing):
    """`m` pseudo-rows that follow the distribution `p`.

    Parameters
    ----------
    m : float, default=1.0
        How many rows the prior opinion is worth.
    p : "uniform", "marginal", "classes", "features", mapping or sequence, default="uniform"
        The prior opinion: every value alike; the frequencies over all rows; the mean over the classes of their
        frequencies, each class counting the same; the mean, within a class, of the frequencies of all columns that have
        the same values; or probabilities that sum to one, by value (a dict or a Series) or in the sorted order of the
        values.

    Notes
    -----
    ``MEstimate(1, "classes")`` and ``MEstimate(1, "features")`` are the two readings of CLOP's rule
    ``f' = (n f + mean f) / (n + 1)``.

    Examples
    --------
    >>> import numpy as np
    >>> MEstimate(2, {"no": 0.75, "yes": 0.25}).pseudo_counts(np.array([[3.0, 0.0]]), ["no", "yes"])
    array([1.5, 0.5])
    """

    m: float = 1.0
    p: Literal["uniform", "marginal", "classes", "features"] | Mapping[Any, float] | Sequence[float] = "uniform"

    def __post_init__(self) -> None:
        require_number("MEstimate(m)", self.m, at_least=0)
        if isinstance(self.p, str):
            if self.p not in OPINIONS:
                raise ParameterError(
                    f"MEstimate(p) must be one of {', '.join(map(repr, OPINIONS))} or probabilities by value, got "
                    f"{self.p!r}."
                )
            return
        numbers_by_value(self, "p")
        values = finite_numbers("MEstimate(p)", self.p)
        if min(values) < 0 or not math.isclose(sum(values), 1.0, abs_tol=1e-9):
            raise ParameterError(
                f"MEstimate(p) must hold probabilities that sum to 1, got {values} (sum {sum(values):g})."
            )

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if not isinstance(self.p, str):
            return self.m * per_value("MEstimate(p)", self.p, labels)
        uniform = np.full(counts.shape[-1], 1.0 / max(counts.shape[-1], 1))
        if self.p == "uniform":
            return self.m * uniform
        if self.p == "marginal":
            return self.m * shares(counts.sum(axis=0), uniform)
        total = counts.sum(axis=-1, keepdims=True)
        axis = 0 if self.p == "classes" else -2
        if counts.ndim + axis == 0:  # one column: its own frequencies are the mean over the features
            return self.m * shares(counts, uniform)
        return self.m * _mean_share(counts, total, axis, uniform)

    def pseudo_counts_without(
        self, pseudo_counts: FloatArray, count: FloatArray, total: FloatArray, n_values: int
    ) -> FloatArray:
        if not isinstance(self.p, str) or self.p == "uniform":
            return pseudo_counts
        if self.p == "marginal":
            return self.m * share(count.sum(axis=0), total.sum(axis=0), 1.0 / n_values)
        if self.p == "classes":
            return self.m * _mean_share(count, total, 0, np.asarray(1.0 / n_values))
        raise ParameterError(
            "MEstimate(p='features') has no leave-one-out for labels: a row changes the mean over all its columns. Use "
            "MEstimate(p='classes'), or read the columns as 0 and 1 with Bernoulli()."
        )

    def pseudo_counts_together(
        self, part: FloatArray, whole: FloatArray, n_part: FloatArray, n_values: FloatArray, n_classes: int
    ) -> FloatArray:
        if not isinstance(self.p, str) or self.p in ("classes", "features"):
            return super().pseudo_counts_together(part, whole, n_part, n_values, n_classes)
        uniform = n_part / n_values
        return self.m * (uniform if self.p == "uniform" else share(part, whole, uniform))


@dataclass(frozen=True)
class StackedMEstimate(MEstimate):
    """Pseudo-rows with the frequencies of all classes together: one, as many as values, or any number of them.

    It is the default of the recipes "fast", "auto" and "strong". For labels they mix the three estimates by how well
    each tells the classes of rows that were left out; where these cannot tell, as with values that were seen once, the
    last has four fifths, and that one says nothing. Elsewhere (counts, bins, yes and no, the recipe "textbook") it is
    ``MEstimate(1, "marginal")``.

    Examples
    --------
    >>> import numpy as np
    >>> StackedMEstimate().pseudo_counts(np.array([[3.0, 0.0], [0.0, 1.0]]), ["no", "yes"])
    array([0.75, 0.25])
    """

    m: float = field(default=1.0, init=False, repr=False)
    p: Literal["marginal"] = field(default="marginal", init=False, repr=False)


@dataclass(frozen=True)
class ImaginarySample(Smoothing):
    """One imaginary sample of rows, spread evenly over the cells of the whole table, classes included.

    Every cell of a table with J classes and K values gets ``size / (J K)``: the uniform Dirichlet prior of Bayesian
    networks (BDeu), which bnlearn calls `iss`. The larger a table, the less each of its cells gets. With the same rule
    as `prior_smoothing` every class gets ``size / J``.

    Parameters
    ----------
    size : float, default=1.0
        How many rows the sample is worth.

    Examples
    --------
    >>> import numpy as np
    >>> ImaginarySample(1).pseudo_counts(np.array([[3.0, 0.0], [1.0, 1.0]]), ["no", "yes"])
    array([0.25, 0.25])
    """

    size: float = 1.0

    def __post_init__(self) -> None:
        require_number("ImaginarySample(size)", self.size, at_least=0)

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        n_values = counts.shape[-1]
        return np.full(n_values, float(self.size) / max(counts.shape[0] * n_values, 1))

    def pseudo_counts_together(
        self, part: FloatArray, whole: FloatArray, n_part: FloatArray, n_values: FloatArray, n_classes: int
    ) -> FloatArray:
        return float(self.size) / n_classes * (n_part / n_values)


def _mean_share(part: FloatArray, whole: FloatArray, axis: int, otherwise: FloatArray) -> FloatArray:
    """The plain mean of ``part / whole`` along an axis, over the places that have a whole; `otherwise` without any."""
    known = (whole > 0).sum(axis=axis, keepdims=True)
    return share(share(part, whole, 0.0).sum(axis=axis, keepdims=True), known, otherwise)
