"""Category codes: the probability of every whole number from 0 to the largest, per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from naively._table.table import Kind
from naively.errors import InputError, ParameterError, brief
from naively.families._categorical import Categorical
from naively.statistics._counts import Counts
from naively.typing import Label

MOST_CODES = 1 << 20
"""The number of categories that `Codes` allows in a column: each takes memory, whether it occurs or not."""

MOST_CELLS = 1 << 27
"""The number of probabilities, over all columns and classes, that `Codes` allows: 1 GiB of them."""


@dataclass(frozen=True)
class Codes(Categorical):
    """Whole numbers 0, 1, 2, ... that stand for categories, as an ordinal encoder gives them.

    Every number from 0 to the largest that occurred is a category, whether or not it occurred, and counts in smoothing.

    Parameters
    ----------
    at_least : int or sequence of int, default=0
        There are at least so many categories: for all columns, or one number for each column that has this family.

    Notes
    -----
    A number that is neither below the largest learnt nor declared gives no evidence, like a missing cell. What is no
    code (-5, 0.5) is refused once the model is asked: values are counted alike for all families of categories, so that
    another one can still be set.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families=Codes()).fit([[0], [0], [2]], ["a", "a", "b"])
    >>> model.parameters()["x0"]["probability"]
    {0: array([0.6 , 0.25]), 1: array([0.2 , 0.25]), 2: array([0.2, 0.5])}
    """

    accepts: ClassVar[tuple[Kind, ...]] = ("number", "truth", "empty")

    categories: tuple[Label, ...] | None = field(default=None, init=False, repr=False)
    at_least: int | tuple[int, ...] = 0

    def __init__(self, at_least: Any = 0):
        least = np.asarray(at_least)
        if least.dtype.kind not in "iu" or least.ndim > 1 or (least < 0).any():
            raise ParameterError(
                "Codes(at_least) must be a whole number of zero or more, or one for each column, "
                f"got {brief(at_least)}."
            )
        if (least > MOST_CODES).any():
            raise ParameterError(
                f"Codes(at_least) must be at most {MOST_CODES:,}, as each category takes memory; got {brief(at_least)}."
            )
        object.__setattr__(self, "categories", None)
        object.__setattr__(self, "at_least", tuple(least.tolist()) if least.ndim else int(least))

    def options(self) -> dict[str, Any]:
        """The options by name."""
        return {"at_least": self.at_least}

    def _known_in(self, statistics: Counts) -> list[tuple[Label, ...]]:
        return _ranges([max(top + 1, few) for top, few in self._sizes(statistics)])

    def _lasting(self, statistics: Counts) -> list[tuple[Label, ...]]:
        return _ranges([max(top, few) for top, few in self._sizes(statistics)])  # the largest goes with its last row

    def _sizes(self, statistics: Counts) -> list[tuple[int, int]]:
        """The largest code of each column (-1: none), and the least number of its categories."""
        n_columns = len(statistics.columns)
        least = self.at_least if isinstance(self.at_least, tuple) else (self.at_least,) * n_columns
        if len(least) != n_columns:
            raise ParameterError(f"Codes(at_least) has {len(least)} numbers for {n_columns} columns.")
        for column, labels in zip(statistics.columns, statistics.categories, strict=True):
            _refuse_no_code(column, labels)
        largest = [int(labels[-1]) if labels else -1 for labels in statistics.categories]
        sizes = list(zip(largest, least, strict=True))
        _refuse_too_many(sizes, statistics.cells.shape[0])
        return sizes


def _ranges(sizes: Sequence[int]) -> list[tuple[Label, ...]]:
    """The codes below each size; columns of the same size share one tuple."""
    ranges = {size: tuple(range(size)) for size in set(sizes)}
    return [ranges[size] for size in sizes]


def _refuse_too_many(sizes: Sequence[tuple[int, int]], n_classes: int) -> None:
    """Refuse a table that would take too much memory, before any of it is allocated."""
    n_cells = n_classes * sum(max(top + 1, few) for top, few in sizes)
    if n_cells > MOST_CELLS:
        raise InputError(
            f"Codes: {len(sizes)} columns and {n_classes} classes would have {n_cells:,} probabilities, more than the "
            f"{MOST_CELLS:,} that are allowed, as each takes memory. Read the columns as 'categorical'."
        )


def _refuse_no_code(column: str, labels: Sequence[Label]) -> None:
    """Refuse values that are not codes; the labels are sorted, numbers before text."""
    for label in labels:
        if isinstance(label, (str, float)):
            raise InputError(
                f"Column {column!r} holds {label!r}, where the codes 0, 1, 2, ... of categories belong. Encode the "
                "column first, or read it as 'categorical'."
            )
    if labels and int(labels[0]) < 0:
        raise InputError(
            f"Negative values in data: column {column!r} holds {labels[0]!r}, where the codes 0, 1, 2, ... of "
            "categories belong."
        )
    if labels and int(labels[-1]) >= MOST_CODES:
        raise InputError(
            f"Column {column!r} holds {labels[-1]!r}; the codes 0, 1, 2, ... of categories must be below "
            f"{MOST_CODES:,}, as each takes memory. Read the column as 'categorical'."
        )
