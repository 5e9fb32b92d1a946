"""How many parameters a model has: what it stores, what of that is free, and what it would take to assume nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from naively._scoring.model import Factor
from naively._table.results import Columns, Result, Shown
from naively.errors import GapError, ParameterError, RecipeError
from naively.families.base import Count, Parameters


@dataclass(frozen=True, repr=False)
class ParameterCounts(Result):
    """What a naive Bayes model takes, and what it would take to assume nothing.

    Parameters
    ----------
    naive_bayes : Count
        P(Y), and P(X_i | Y) of every column by itself.
    joint : Count or None
        P(X, Y) as one table of all combinations of values.
    columns_given_class : Count or None
        P(X | Y) as such a table, one for each class.
    class_given_columns : Count or None
        P(Y | X) as such a table: what Bayes' rule alone does not save.
    reason : str or None
        Why the last three are None: there is no finite table of the values of a column.

    Examples
    --------
    >>> print(discrete_parameter_counts(2, [2] * 5))
                 stored  free
    naive Bayes      22    11
    P(X, Y)          64    63
    P(X | Y)         64    62
    P(Y | X)         64    32
    """

    naive_bayes: Count
    joint: Count | None
    columns_given_class: Count | None
    class_given_columns: Count | None
    reason: str | None = None

    def _columns(self) -> Columns:
        tables = {
            "naive Bayes": self.naive_bayes,
            "P(X, Y)": self.joint,
            "P(X | Y)": self.columns_given_class,
            "P(Y | X)": self.class_given_columns,
        }
        known = {name: count for name, count in tables.items() if count is not None}
        kind = "i" if all(count.stored < 2**63 for count in known.values()) else "U"  # no type of a frame holds more
        numbers = {field: (kind, [getattr(count, field) for count in known.values()]) for field in Count._fields}
        return {"table": ("U", list(known)), **numbers}

    def _shown(self) -> Shown:
        names, stored, free = (cells for _, cells in self._columns().values())
        lines = [[name, f"{all_of:,}", f"{own:,}"] for name, all_of, own in zip(names, stored, free, strict=True)]
        note = "" if self.reason is None else f"no other table: {self.reason}"
        return Shown([["", "stored", "free"], *lines], (1, 2), note=note)


def discrete_parameter_counts(n_classes: int, sizes: Sequence[int]) -> ParameterCounts:
    """The counts of columns that have so many values each.

    Naive Bayes stores ``J + J sum K_i`` numbers, of which ``(J - 1) + J sum (K_i - 1)`` are free; P(X | Y) has
    ``J (prod K_i - 1)`` free ones, P(X, Y) ``J prod K_i - 1``, and P(Y | X) ``(J - 1) prod K_i``.

    Parameters
    ----------
    n_classes : int
    sizes : sequence of int
        The number of values of each column.

    Examples
    --------
    >>> discrete_parameter_counts(3, [2, 5, 4]).naive_bayes
    Count(stored=36, free=26)
    >>> discrete_parameter_counts(2, [2] * 100).joint.free == 2**101 - 1
    True
    """
    if n_classes < 1 or any(size < 1 for size in sizes):
        raise ParameterError(
            f"Expected at least one class and one value per column, got {n_classes} and {list(sizes)}."
        )
    naive = Count(n_classes + n_classes * sum(sizes), n_classes - 1 + n_classes * sum(size - 1 for size in sizes))
    cells = math.prod(sizes)
    table = n_classes * cells
    return ParameterCounts(naive, Count(table, table - 1), Count(table, table - n_classes), Count(table, table - cells))


def count_factors(
    factors: Sequence[Factor], names: Sequence[str], n_classes: int, prior_is_estimated: bool
) -> ParameterCounts:
    """The counts of a model with these factors; `names` are those of all its columns."""
    stored, free = n_classes, n_classes - 1 if prior_is_estimated else 0
    sizes: list[int] = []
    reason = None
    for factor in factors:
        name, family = names[int(factor.members[0])], factor.family
        count, values = _parameters_of(factor, name, n_classes)
        stored, free = stored + count.stored, free + count.free
        if values is None:
            reason = reason or f"column {name!r} is read as {family.name()!r}, which has no finite table of values"
        else:
            sizes += values
    if reason is not None:
        return ParameterCounts(Count(stored, free), None, None, None, reason)
    full = discrete_parameter_counts(n_classes, sizes)
    return ParameterCounts(Count(stored, free), full.joint, full.columns_given_class, full.class_given_columns)


def _parameters_of(factor: Factor, name: str, n_classes: int) -> Parameters:
    try:
        found: Parameters = factor.family.n_parameters(factor.estimate, n_classes, len(factor.members))
    except GapError as gap:
        raise RecipeError(
            f"Column {name!r} is read as {factor.family.name()!r}, which {gap.reason}. Use another family for it, such "
            "as Gaussian() or Binned()."
        ) from None
    return found
