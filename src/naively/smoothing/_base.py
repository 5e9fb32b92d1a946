"""What a smoothing rule is, and the frequencies that it gives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from naively._common.by_label import by_label
from naively._common.checks import LARGEST_PARAMETER
from naively.errors import ParameterError
from naively.typing import FloatArray


@dataclass(frozen=True)
class Smoothing:
    """Base of the smoothing rules."""

    def for_classes(self, classes: Sequence[Any]) -> Smoothing:
        """The rule in a model with these classes, in their order; itself for rules that treat all classes alike."""
        return self

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

    def concentration(self, counts: FloatArray, labels: Sequence[Any]) -> FloatArray:
        """The parameters of the Dirichlet prior that the rule stands for: its pseudo-counts, the estimate being a mean.

        Parameters
        ----------
        counts, labels
            As in `pseudo_counts`.
        """
        return self.pseudo_counts(counts, labels)

    @property
    def by_value(self) -> bool:
        """Whether the rule is for columns that have certain values in common."""
        return False

    @property
    def knows_no_counts(self) -> bool:
        """Whether the rule is a prior opinion, and not taken from the counts themselves."""
        return True

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


def numbers_by_value(smoothing: Smoothing, name: str) -> None:
    """Turn an option that is a Series into what it says: a dict by value or, without labels, a list."""
    given = getattr(smoothing, name)
    object.__setattr__(smoothing, name, by_label(given, f"{type(smoothing).__name__}({name})"))


def finite_numbers(where: str, given: Any) -> list[float]:
    """The numbers of a mapping or sequence, which must be finite and at least one."""
    try:
        values = list(given.values()) if isinstance(given, Mapping) else list(given)
    except TypeError:
        values = []
    if not values or not all(isinstance(value, Real) and math.isfinite(float(value)) for value in values):
        raise ParameterError(f"{where} must hold finite numbers, by value or in the values' order; got {given!r}.")
    if max(values) > LARGEST_PARAMETER:
        raise ParameterError(f"{where} must hold numbers of at most {LARGEST_PARAMETER:g}, got {max(values)!r}.")
    return values
