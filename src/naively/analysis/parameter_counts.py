"""How many parameters a model has: what it stores, what of that is free, and what it would take to assume nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from naively.errors import ParameterError, RecipeError
from naively.families import (
    Bernoulli,
    Binned,
    Categorical,
    Family,
    Gaussian,
    JointFamily,
    Multinomial,
    Poisson,
    StudentT,
)
from naively.families.tree import TreeFamily
from naively.scoring.model import Factor


class Count(NamedTuple):
    """How many numbers a distribution is written down with, and how many of them are free to choose.

    Probabilities that sum to one are all stored, but the last of them is not free.
    """

    stored: int
    free: int


@dataclass(frozen=True)
class ParameterCounts:
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
                   stored   free
    naive Bayes        22     11
    P(X, Y)            64     63
    P(X | Y)           64     62
    P(Y | X)           64     32
    """

    naive_bayes: Count
    joint: Count | None
    columns_given_class: Count | None
    class_given_columns: Count | None
    reason: str | None = None

    def __str__(self) -> str:
        rows = {
            "naive Bayes": self.naive_bayes,
            "P(X, Y)": self.joint,
            "P(X | Y)": self.columns_given_class,
            "P(Y | X)": self.class_given_columns,
        }
        known = [number for count in rows.values() if count is not None for number in count]
        width = max(6, *(len(f"{number:,}") for number in known))
        lines = [f"{'':12}{'stored':>{width + 3}}{'free':>{width + 1}}"]
        for name, count in rows.items():
            stored, free = ("-", "-") if count is None else (f"{count.stored:,}", f"{count.free:,}")
            lines.append(f"{name:12}{stored:>{width + 3}}{free:>{width + 1}}")
        return "\n".join([*lines, *([f"- {self.reason}"] if self.reason else [])])


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


def gaussian_parameter_count(n_classes: int, n_columns: int, ties: str = "none") -> int:
    """The means and variances of normal columns: ``nK`` means, and nK, n, K or 1 variances.

    Parameters
    ----------
    n_classes, n_columns : int
    ties : "none", "feature", "class" or "all"
        Which variances are distinct, as in `Gaussian`.

    Examples
    --------
    >>> [gaussian_parameter_count(3, 4, ties) for ties in ("none", "feature", "class", "all")]
    [24, 16, 15, 13]
    """
    variances = {"none": n_columns * n_classes, "feature": n_columns, "class": n_classes, "all": 1}
    if ties not in variances:
        raise ParameterError(f"ties must be one of {', '.join(map(repr, variances))}, got {ties!r}.")
    return n_columns * n_classes + (variances[ties] if n_columns else 0)


# -- by family ------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The parameters of some columns, and how many values each has (None: no finite number)."""

    parameters: Count
    sizes: Sequence[int] | None = None


def count_factors(
    factors: Sequence[Factor], names: Sequence[str], n_classes: int, prior_is_estimated: bool
) -> ParameterCounts:
    """The counts of a model with these factors; `names` are those of all its columns."""
    stored, free = n_classes, n_classes - 1 if prior_is_estimated else 0
    sizes: list[int] = []
    reason = None
    for family, members, estimate in ((one.family, one.members.tolist(), one.estimate) for one in factors):
        found = found_in(family, estimate, n_classes, len(members))
        if found is None:
            raise RecipeError(
                f"Column {names[members[0]]!r} is read as {family.name()!r}, which has no fixed number of parameters. "
                "Use another family for it, such as Gaussian() or Binned()."
            )
        stored, free = stored + found.parameters.stored, free + found.parameters.free
        if found.sizes is None:
            reason = reason or (
                f"column {names[members[0]]!r} is read as {family.name()!r}, which has no finite table of values"
            )
        else:
            sizes += found.sizes
    if reason is not None:
        return ParameterCounts(Count(stored, free), None, None, None, reason)
    full = discrete_parameter_counts(n_classes, sizes)
    return ParameterCounts(Count(stored, free), full.joint, full.columns_given_class, full.class_given_columns)


def found_in(family: Family, estimate: Any, n_classes: int, n_columns: int) -> Found | None:
    """What the columns of one family take; None if that is no fixed number."""
    match family:
        case Categorical():
            return _of_values(n_classes, [len(labels) for labels in estimate.categories])
        case Bernoulli():
            return _of_values(n_classes, [2] * n_columns)
        case Binned():
            return _of_values(n_classes, [probability.shape[1] for probability in estimate.probabilities])
        case Multinomial():
            return Found(Count(n_classes * n_columns, n_classes * (n_columns - 1)))
        case Poisson():
            return _all_free(n_classes * n_columns)
        case Gaussian():
            return _all_free(gaussian_parameter_count(n_classes, n_columns, family.ties))
        case StudentT():  # of the normal distribution whose mean and variance are not known for certain
            return _all_free(gaussian_parameter_count(n_classes, n_columns, "feature" if family.pooled else "none"))
        case JointFamily():
            return _of_joint(family, estimate, n_classes)
        case TreeFamily():
            stored = sum(table.size for table in estimate.tables)
            sizes = [len(labels) for labels in estimate.categories]
            return Found(Count(stored, stored - sum(table[..., 0].size for table in estimate.tables)), sizes)
        case _:
            return None


def _of_joint(family: JointFamily, estimate: Any, n_classes: int) -> Found:
    """One table of all combinations of labels; of numbers, means for each of them and covariances as they are tied."""
    sizes, n_numbers = estimate.sums.sizes, len(family.numbers)
    n_cells = n_classes * math.prod(sizes)
    covariances = {"none": n_cells, "class": n_classes, "all": 1}[family.joint.ties]
    normals = n_cells * n_numbers + covariances * (n_numbers * (n_numbers + 1) // 2)
    table = Count(n_cells, n_cells - n_classes) if sizes else Count(0, 0)
    return Found(Count(table.stored + normals, table.free + normals), None if n_numbers else sizes)


def _of_values(n_classes: int, sizes: Sequence[int]) -> Found:
    seen = [size for size in sizes if size]  # a column without a single known cell takes nothing
    return Found(Count(n_classes * sum(seen), n_classes * sum(size - 1 for size in seen)), seen)


def _all_free(number: int) -> Found:
    return Found(Count(number, number))
