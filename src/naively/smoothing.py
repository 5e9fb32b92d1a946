"""Smoothing is one idea: pseudo-counts, ``(count_a + alpha_a) / (n + sum of alpha)``.

=====================  =========================================  ====================================
object                 pseudo-count of value a                    name accepted in ``smoothing=``
=====================  =========================================  ====================================
`NoSmoothing()`        0 (maximum likelihood)                     ``"none"``, ``0``
`Laplace()`            1                                          ``"laplace"``, ``1``
`Jeffreys()`           1/2                                        ``"jeffreys"``
`Lidstone(tau)`        tau                                        any number
`MEstimate(m, p)`      m p_a, with p summing to one
`Dirichlet(beta)`      beta_a - 1 (``"map"``), beta_a (``"mean"``)
`Beta(b1, b0)`         the same for yes and no
`PerColumn(tau)`       tau_i in column i
`ImaginarySample(s)`   s over the cells of the table
=====================  =========================================  ====================================

Laplace smoothing is the MAP estimate under Dirichlet(2) and the posterior mean under Dirichlet(1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np

from naively.errors import ParameterError
from naively.typing import FloatArray

PerValue: TypeAlias = float | Mapping[Any, float] | Sequence[float]


def require_number(where: str, value: Any, at_least: float) -> None:
    """Refuse what is not a finite number of at least so much."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(value)) or float(value) < at_least:
        raise ParameterError(f"{where} must be a finite number of at least {at_least:g}, got {value!r}.")


def _numbers(where: str, given: Any) -> list[float]:
    """The numbers of a mapping or sequence, which must be finite and at least one."""
    try:
        values = list(given.values()) if isinstance(given, Mapping) else list(given)
    except TypeError:
        values = []
    if not values or not all(isinstance(value, Real) and math.isfinite(float(value)) for value in values):
        raise ParameterError(f"{where} must hold finite numbers, by value or in the values' order; got {given!r}.")
    return values


@dataclass(frozen=True)
class Smoothing:
    """Base of the smoothing rules."""

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        """The pseudo-count of every value, in a shape that can be added to `counts`.

        Parameters
        ----------
        counts : ndarray of shape (n_classes, ..., n_values)
            The observed counts, for the rules that look at them; axes between are columns with the same values.
        labels : sequence
            What the values are called, for the rules that give each its own.
        """
        raise NotImplementedError(f"{type(self).__name__} must say its pseudo-counts.")  # pragma: no cover

    def pseudo_counts_without(
        self, pseudo_counts: FloatArray, count: FloatArray, total: FloatArray, n_values: int
    ) -> FloatArray:
        """The pseudo-counts of values, given what is left of their counts: the same for rules that look at no counts.

        Parameters
        ----------
        pseudo_counts : ndarray (n_classes, ...)
            What they were before.
        count, total : ndarray (n_classes, ...)
            What is left of the value, and of all values, in each class.
        n_values : int
            How many values there are.
        """
        return pseudo_counts

    def pseudo_counts_together(
        self, part: FloatArray, whole: FloatArray, n_part: FloatArray, n_values: FloatArray, n_classes: int
    ) -> FloatArray:
        """The pseudo-counts of some of very many values, summed: no table of the values is needed.

        Parameters
        ----------
        part, whole : ndarray
            What was counted of those values, and of all, over all classes.
        n_part, n_values : ndarray
            How many values they are, and how many there are.
        n_classes : int
        """
        raise ParameterError(
            f"{self!r} gives every value its own pseudo-count, but the values of a Joint are combinations. Use a rule "
            "that treats all alike: Laplace(), Lidstone(tau), MEstimate(m), MEstimate(m, 'marginal'), Dirichlet(2.0)."
        )


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
        the same values; or probabilities that sum to one, by value or in the sorted order of the values.

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
        values = _numbers("MEstimate(p)", self.p)
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


@dataclass(frozen=True)
class Dirichlet(Smoothing):
    """A Dirichlet (for two values: Beta) prior.

    Parameters
    ----------
    beta : float, mapping or sequence, default=2.0
        The prior's parameters: one for all, by value, or in the sorted order of the values.
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
        if self.estimator not in ("map", "mean"):
            raise ParameterError(f"Dirichlet(estimator) must be 'map' or 'mean', got {self.estimator!r}.")
        values = _numbers("Dirichlet(beta)", [self.beta] if isinstance(self.beta, Real) else self.beta)
        least = 1 if self.estimator == "map" else 0
        if min(values) < least:
            raise ParameterError(
                f"Dirichlet(beta) must be at least {least} for the {self.estimator!r} estimator, got {self.beta!r}. "
                "Priors below 1 have no mode inside: use estimator='mean'."
            )

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if isinstance(self.beta, Real):
            beta = np.full(counts.shape[-1], float(self.beta))
        else:
            beta = per_value("Dirichlet(beta)", self.beta, labels)  # type: ignore[arg-type]
        return beta - 1.0 if self.estimator == "map" else beta

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

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if len(labels) != 2:
            raise ParameterError(
                f"Beta is a prior for two values, but here are {len(labels)}: {list(labels)[:10]}. Use Dirichlet for "
                "more, and Categorical(categories) to declare a value that did not occur."
            )
        return self._as_dirichlet().pseudo_counts(counts, labels)


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
        object.__setattr__(self, "tau", tuple(map(float, _numbers("PerColumn(tau)", self.tau))))
        if min(self.tau) < 0:
            raise ParameterError(f"PerColumn(tau) must hold numbers of zero or more, got {min(self.tau)!r}.")

    def pseudo_counts(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        if counts.ndim < 3 or counts.shape[-2] != len(self.tau):
            raise ParameterError(
                f"PerColumn(tau) has {len(self.tau)} numbers; it needs one for each column, and columns that are "
                "estimated together, as those of 'bernoulli' are. Give a dict by column instead."
            )
        return np.asarray(self.tau)[:, None]


NAMES: dict[str, Smoothing] = {
    "none": NoSmoothing(),
    "laplace": Laplace(),
    "jeffreys": Jeffreys(),
}


def as_smoothing(value: Any, where: str = "smoothing") -> Smoothing:
    """Read a smoothing rule from an object, a number (Lidstone) or a name.

    Examples
    --------
    >>> as_smoothing(0.1), as_smoothing("laplace")
    (Lidstone(tau=0.1), Laplace(tau=1.0))
    """
    if isinstance(value, Smoothing):
        return value
    if isinstance(value, str) and value in NAMES:
        return NAMES[value]
    if isinstance(value, Real) and not isinstance(value, bool):
        require_number(where, value, at_least=0)
        return Lidstone(float(value))
    raise ParameterError(
        f"{where} must be a smoothing object such as Laplace() or MEstimate(2), a number (Lidstone's tau) or one of "
        f"{', '.join(map(repr, NAMES))}; got {value!r}."
    )


def smoothed_frequencies(counts: FloatArray, smoothing: Smoothing, labels: Sequence[Any]) -> FloatArray:
    """``(count + alpha) / (n + sum of alpha)`` along the last axis; where a class has nothing at all, the marginal's.

    A class without a single observation and without pseudo-counts has no frequencies of its own: it borrows those of
    all classes together, so that it neither gains nor loses by what is unknown.
    """
    total = counts + smoothing.pseudo_counts(counts, labels)
    uniform = np.full(counts.shape[-1], 1.0 / max(counts.shape[-1], 1))
    return shares(total, shares(total.sum(axis=0), uniform))


def share(part: FloatArray, whole: FloatArray, otherwise: FloatArray | float) -> FloatArray:
    """``part / whole``; `otherwise` where there is no whole."""
    return np.asarray(np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), otherwise))


def _mean_share(part: FloatArray, whole: FloatArray, axis: int, otherwise: FloatArray) -> FloatArray:
    """The plain mean of ``part / whole`` along an axis, over the places that have a whole; `otherwise` without any."""
    known = (whole > 0).sum(axis=axis, keepdims=True)
    return share(share(part, whole, 0.0).sum(axis=axis, keepdims=True), known, otherwise)


def shares(counts: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Counts as shares of their sum along the last axis; `otherwise` where there is nothing to share."""
    total = counts.sum(axis=-1, keepdims=True)
    some = total > 0
    return np.asarray(np.where(some, counts / np.where(some, total, 1.0), otherwise))


def per_value(where: str, given: Mapping[Any, float] | Sequence[float], labels: Sequence[Any]) -> FloatArray:
    """One number per value, from a mapping by value or a sequence in the values' order."""
    if isinstance(given, Mapping):
        unknown = [label for label in labels if label not in given]
        if unknown:
            raise ParameterError(f"{where} has no entry for the value {unknown[0]!r}; it has {list(given)}.")
        return np.array([float(given[label]) for label in labels])
    if len(given) != len(labels):
        raise ParameterError(
            f"{where} has {len(given)} entries but the column has {len(labels)} values: {list(labels)[:10]}."
        )
    return np.asarray(given, dtype=np.float64)
