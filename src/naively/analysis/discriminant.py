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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from naively.analysis.contrast import Contrast, against
from naively.errors import ParameterError, listed
from naively.families import Bernoulli
from naively.families.categorical import LabelTables
from naively.families.gaussian import GaussianEstimate
from naively.families.linear import LinearEstimate, classes_last
from naively.scoring.model import Factor
from naively.table.frames import tidy_frame
from naively.typing import AnyArray, FloatArray

SHOWN_TERMS = 20


@dataclass(frozen=True)
class Lines:
    """Log-odds that are linear in a number: ``slope * (x - anchor - middle)``.

    `slope` and `middle` are (classes, columns). `anchor` (columns,) is the mean of the base class, and `middle` how far
    from it a class and the base are level: in this form the numbers of a column far from zero do not cancel.
    """

    reads: ClassVar[str] = "numbers"

    slope: FloatArray
    middle: FloatArray
    anchor: FloatArray

    @property
    def offset(self) -> FloatArray:
        """What is added at zero."""
        return -self.slope * (self.anchor + self.middle)

    def evidence(self, block: FloatArray) -> FloatArray:
        """The log-odds of every cell."""
        values = ((block - self.anchor)[:, :, None] - classes_last(self.middle)) * classes_last(self.slope)
        return np.where(np.isnan(block)[:, :, None], 0.0, values)

    def add_to(self, scores: FloatArray, block: FloatArray) -> None:
        """Add the log-odds of every row."""
        scores += self.evidence(block).sum(axis=1)

    def describe(self) -> dict[str, Any]:
        """Slopes, and where they cross zero."""
        return {"slope": self.slope, "middle": self.anchor + self.middle}


Linear = Lines | LinearEstimate | LabelTables


@dataclass(frozen=True, eq=False)
class Discriminant:
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
    x0       2.000
    bias    -4.000
    >>> F.decision([[3.0]])[:, 0].tolist()
    [2.0]
    """

    contrast: Contrast

    @property
    def base(self) -> Any:
        """The class that the others are compared with."""
        return self.contrast.label

    @property
    def classes(self) -> AnyArray:
        """All classes."""
        return self.contrast.classes

    @property
    def intercept(self) -> FloatArray:
        """The log-odds of the prior, (n_classes,)."""
        return self.contrast.intercept

    @property
    def bias(self) -> FloatArray:
        """The intercept plus all offsets, (n_classes,)."""
        return np.asarray(self.intercept + self.offsets.sum(axis=1))

    @cached_property
    def offsets(self) -> FloatArray:
        """What each column adds to the bias, (n_classes, n_columns)."""
        result = np.zeros((len(self.classes), len(self.contrast.schema.names)))
        for factor in self.contrast.scorer.factors:
            if not isinstance(factor.estimate, LabelTables):
                result[:, factor.members] = factor.estimate.offset  # type: ignore[attr-defined]
        return result

    @cached_property
    def _terms(self) -> list[tuple[str, str, FloatArray]]:
        """The column, the term and the weights, in the order of the columns."""
        names = self.contrast.schema.names
        found = []
        for factor in self.contrast.scorer.factors:
            for place, member in enumerate(factor.members.tolist()):
                found += [(member, term, weight) for term, weight in _terms_of(factor, place, names[member])]
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

    def decision(self, X: Any) -> FloatArray:
        """F of each row for each class, (rows, classes): above 0 where the class is more probable than the base."""
        return self.contrast.log_odds(X)

    def frame(self, like: Any = None) -> Any:
        """The weights and the bias as a tidy frame: ``column``, ``term``, ``class`` (without the base), ``weight``.

        Parameters
        ----------
        like : data frame, optional
            Another one, for its library; by default pandas. Where pandas is not installed, a dict of lists.
        """
        terms = [*self._terms, ("bias", "bias", self.bias)]
        records = [
            (column, term, label, float(weight[code]))
            for column, term, weight in terms
            for code, label in self.contrast.others
        ]
        fields = ("column", "term", "class", "weight")
        data = {field: [record[place] for record in records] for place, field in enumerate(fields)}
        return tidy_frame(data, dict(zip(fields, ("U", "U", self.classes.dtype.kind, "f"), strict=True)), like)

    def __repr__(self) -> str:
        others = self.contrast.others
        shown = self._terms[:SHOWN_TERMS]
        lines = [(term, [f"{weight[code]:.3f}" for code, _ in others]) for _, term, weight in shown]
        if len(self._terms) > SHOWN_TERMS:
            lines.append((f"... and {len(self._terms) - SHOWN_TERMS} more", [""] * len(others)))
        lines = [
            ("", [f"{label!r}" for _, label in others]),
            *lines,
            ("bias", [f"{self.bias[code]:.3f}" for code, _ in others]),
        ]
        left = max(len(name) for name, _ in lines) + 2
        widths = [max(len(cells[place]) for _, cells in lines) + 2 for place in range(len(others))]
        texts = [
            name.ljust(left) + "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
            for name, cells in lines
        ]
        return "\n".join([f"Linear discriminant against {self.base!r}", *(text.rstrip() for text in texts)])


def _terms_of(factor: Factor, place: int, name: str) -> list[tuple[str, FloatArray]]:
    """The terms of a column, and their weights."""
    estimate: Any = factor.estimate
    if not isinstance(estimate, LabelTables):
        at = factor.family.threshold if isinstance(factor.family, Bernoulli) else None
        above = "" if at is None else f" > {at:g}"
        return [(f"{name}{above}", estimate.slope[:, place])]
    table = estimate.tables[place]
    terms = [(f"{name} = {label}", table[:, code]) for code, label in enumerate(estimate.categories[place])]
    extra = [(f"{name}: unknown", table[:, -2]), (f"{name}: missing", table[:, -1])]
    return terms + [(term, weight) for term, weight in extra if weight.any()]


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


def _linear(factor: Factor, columns: Sequence[str], base: int) -> Linear:
    estimate = factor.estimate
    if isinstance(estimate, LinearEstimate):
        return _line_of_counts(factor, estimate, columns, base)
    if isinstance(estimate, GaussianEstimate):
        return _line_of_normals(factor, estimate, columns, base)
    if isinstance(estimate, LabelTables):
        for name, table in zip(columns, estimate.tables, strict=True):
            _refuse_zeros(factor, [name], np.isneginf(table).any())
        tables = tuple(against(table.T, base).T for table in estimate.tables)
        return LabelTables(estimate.categories, tables, estimate.n_classes)
    raise ParameterError(
        f"The model has no linear discriminant: column {columns[0]!r} is read by {factor.family.name()!r}, whose "
        "log-odds bend. Linear are Gaussian(ties='feature'), Bernoulli, Poisson, Multinomial and, value by value, "
        "Categorical, all in recipe='textbook'. log_odds() gives the additive form of any other."
    )


def _line_of_counts(factor: Factor, estimate: LinearEstimate, columns: Sequence[str], base: int) -> LinearEstimate:
    for zeros in (estimate.no_other, estimate.no_zero):
        if zeros is not None:
            _refuse_zeros(factor, columns, zeros.any(axis=0))
    slope, offset = (against(part.T, base).T for part in (estimate.slope, estimate.offset))
    return replace(estimate, slope=slope, offset=offset, no_other=None, no_zero=None, base=None, parameters={})


def _line_of_normals(factor: Factor, estimate: GaussianEstimate, columns: Sequence[str], base: int) -> Lines:
    mean, variance = estimate.mean, estimate.variance
    bent = [name for name, differs in zip(columns, (variance != variance[0]).any(axis=0), strict=True) if differs]
    if bent and getattr(factor.family, "ties", "none") in ("feature", "all"):
        raise ParameterError(
            f"The model has no linear discriminant: in column {listed(bent)} a class has no known value, and each of "
            "the others always has the same, so there is no variance to share. Leave the column out."
        )
    if bent:
        raise ParameterError(
            f"The model has no linear discriminant: in column {listed(bent)} ({factor.family!r}) the variance differs "
            "between the classes, so the log-odds are quadratic. Share it: families=Gaussian(ties='feature'), which "
            "needs no new fit. log_odds() gives the additive form as it is."
        )
    silent = variance == 0
    gap = mean - mean[base]
    return Lines(np.where(silent, 0.0, gap / np.where(silent, 1.0, variance)), gap / 2, mean[base])


def _refuse_zeros(factor: Factor, columns: Sequence[str], zeros: Any) -> None:
    found = [name for name, zero in zip(columns, np.atleast_1d(zeros), strict=True) if zero]
    if found:
        raise ParameterError(
            f"The model has no linear discriminant: in column {listed(found)} ({factor.family.name()}) something has "
            "probability zero in a class, and its weight would be infinite. Use some smoothing, for example "
            "smoothing='laplace', which needs no new fit."
        )


# -- rank -----------------------------------------------------------------------------------------------------------


def largest_weights(factors: Sequence[Factor], n_columns: int) -> FloatArray:
    """The largest weight of each column, in size, in the discriminant of any two classes.

    Of labels, that is the largest gap between the weights of two values: the weight of one, where the other is zero.
    """
    result = np.zeros(n_columns)
    for factor in factors:
        estimate: Any = factor.estimate
        if isinstance(estimate, LabelTables):
            result[factor.members] = [_largest_gap(table[:, :-2]) for table in estimate.tables]
        else:
            result[factor.members] = np.ptp(estimate.slope, axis=0)
    return result


def _largest_gap(table: FloatArray) -> float:
    if table.shape[1] == 0:
        return 0.0
    return float(max(np.ptp(table - row, axis=1).max() for row in table))
