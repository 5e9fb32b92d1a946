"""Linear discriminants: ``F(x) = w . x + b`` where the model's log-odds are linear, and the reason where they are not.

Against a base class, class j has one weight for

- a number read by `Gaussian` whose variance is shared by the classes: ``w = (mu_j - mu_base) / sigma**2``;
- yes or no (`Bernoulli`): ``w = log(f1_j / f1_base) - log(f0_j / f0_base)``, f1 and f0 being the shares of yes and no;
- a count (`Poisson`: ``w = log(rate_j / rate_base)``; `Multinomial`: ``w = log(p_j / p_base)``);
- every value of labels, as one-hot columns: ``w = log(p_j / p_base)``.

Each column also has an offset, and the bias is the log-odds of the prior plus all offsets. A missing cell drops both
the column's weight and its offset, so the answer is that of the model, which leaves the column out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from naively._scoring.model import Factor
from naively._table.results import SHOWN_ROWS, Columns, Result, Shown, more
from naively.analysis._contrast import Contrasted
from naively.errors import GapError, ParameterError, listed
from naively.families import Estimate
from naively.typing import FloatArray, TableLike


@dataclass(frozen=True, eq=False, repr=False)
class Discriminant(Contrasted, Result):
    """A linear function of the row for each class: its log-odds against the base class.

    Attributes
    ----------
    base : label
        The class that the others are compared with.
    classes : ndarray
        All classes; every array follows them, and the base has zeros.
    terms : list of str
        What the weights belong to: ``"x0"``, a number; ``"x0 > 0"``, whether it is above a threshold; ``"coat = red"``,
        whether a label is this one. ``"coat: unknown"`` and ``"coat: missing"`` only where these speak.
    term_columns : list of str
        The column of each term.
    weights : ndarray of shape (n_classes, n_terms)
    bias : ndarray of shape (n_classes,)
        The intercept plus all offsets.
    intercept : ndarray of shape (n_classes,)
        The log-odds of the prior.
    offsets : ndarray of shape (n_classes, n_columns)
        The part of the bias that each column brings, and that goes where its cell is missing.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> from naively.families import Gaussian
    >>> X, y = [[0.0], [2.0], [2.0], [4.0]], ["low", "low", "high", "high"]
    >>> F = NaiveBayes("textbook", families=Gaussian(ties="feature")).fit(X, y).discriminant(base="low")
    >>> F
    Linear discriminant against 'low'
          'high'
    x0     2.000
    bias  -4.000
    >>> F.decision([[3.0]])[:, 0].tolist()
    [2.0]
    """

    @property
    def bias(self) -> FloatArray:
        """The intercept plus all offsets, (n_classes,)."""
        return np.asarray(self.intercept + self.offsets.sum(axis=1))

    @cached_property
    def offsets(self) -> FloatArray:
        """What each column adds to the bias, (n_classes, n_columns)."""
        result = np.zeros((len(self.classes), len(self.contrast.schema.names)))
        for factor in self.contrast.scorer.factors:
            line: Any = factor.estimate
            result[:, factor.members] = line.offset
        return result

    @cached_property
    def _terms(self) -> list[tuple[str, str, FloatArray]]:
        """The column, the term and the weights, in the order of the columns."""
        names = self.contrast.schema.names
        found = []
        for factor in self.contrast.scorer.factors:
            line: Any = factor.estimate
            for place, member in enumerate(factor.members.tolist()):
                found += [(member, term, weight) for term, weight in line.terms(place, names[member])]
        return [(names[member], term, weight) for member, term, weight in sorted(found, key=lambda one: one[0])]

    @property
    def terms(self) -> list[str]:
        """What the weights belong to."""
        return [term for _, term, _ in self._terms]

    @property
    def term_columns(self) -> list[str]:
        """The column of each term."""
        return [column for column, _, _ in self._terms]

    @cached_property
    def weights(self) -> FloatArray:
        """The weights, (n_classes, n_terms)."""
        columns = [weight for _, _, weight in self._terms]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.classes), 0))

    def decision(self, X: TableLike) -> FloatArray:
        """F of each row for each class, (rows, classes): above 0 where the class is more probable than the base."""
        return self.contrast.log_odds(X)

    def _columns(self) -> Columns:
        """``column``, ``term``, ``class`` (without the base) and ``weight``, of the terms and the bias."""
        records = [
            (column, term, label, float(weight[code]))
            for column, term, weight in [*self._terms, ("bias", "bias", self.bias)]
            for code, label in self.contrast.others
        ]
        fields = {"column": "U", "term": "U", "class": self.classes.dtype.kind, "weight": "f"}
        return {field: (kind, [one[place] for one in records]) for place, (field, kind) in enumerate(fields.items())}

    def _shown(self) -> Shown:
        others = self.contrast.others
        terms = [*self._terms[:SHOWN_ROWS], ("bias", "bias", self.bias)]
        lines = [["", *(f"{label!r}" for _, label in others)]]
        lines += [[term, *(f"{weight[code]:.3f}" for code, _ in others)] for _, term, weight in terms]
        note = more(len(self._terms) - SHOWN_ROWS, "terms")
        return Shown(lines, range(1, len(lines[0])), f"Linear discriminant against {self.base!r}", note)


# -- from estimates to lines ----------------------------------------------------------------------------------------


def linear_factors(factors: Sequence[Factor], names: Sequence[str], base: int) -> list[Factor]:
    """The log-odds of each group of columns against the base class, as something linear.

    Parameters
    ----------
    factors : sequence of Factor
        The estimates of a model.
    names : sequence of str
        Its columns.
    base : int
        The position of the base class.
    """
    result = []
    for factor in factors:
        columns = [names[member] for member in factor.members.tolist()]
        result.append(Factor(factor.family, factor.members, _linear(factor, columns, base)))
    return result


def _linear(factor: Factor, columns: Sequence[str], base: int) -> Estimate:
    try:
        line: Estimate = factor.estimate.line(base)
    except GapError as gap:
        if not gap.places:
            raise ParameterError(
                f"The model has no linear discriminant: column {columns[0]!r} is read by {factor.family.name()!r}, "
                f"which {gap.reason}. Linear are Gaussian(ties='feature'), Bernoulli, Poisson, Multinomial and, value "
                "by value, Categorical, all in recipe='textbook'. log_odds() gives the additive form of any other."
            ) from None
        named = listed([columns[place] for place in gap.places])
        raise ParameterError(
            f"The model has no linear discriminant: in column {named} ({factor.family!r}) {gap.reason}. log_odds() "
            "gives the additive form as it is."
        ) from None
    return line


# -- rank -----------------------------------------------------------------------------------------------------------


def largest_weights(factors: Sequence[Factor], n_columns: int) -> FloatArray:
    """The largest weight of each column, in size, in the discriminant of any two classes."""
    result = np.zeros(n_columns)
    for factor in factors:
        line: Any = factor.estimate
        result[factor.members] = line.largest_weights()
    return result
