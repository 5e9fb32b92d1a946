"""What an engine has to add up for a column (`Summary`), and what every such sum can do (`Statistic`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from naively._text.tokenise import View
from naively.errors import ForgetError, Gap, listed
from naively.typing import AnyArray, FloatArray, IntArray, Label

UNLIKE = {"counts": "a count", "binary": "0 and 1"}
"""What a column can be found to be none of, in words."""


@dataclass(frozen=True)
class Summary:
    """What an engine has to add up for a column. Columns with equal summaries are counted together.

    Parameters
    ----------
    kind : str
        A key of `naively.statistics._registry.STATISTICS`: "moments" (power sums of numbers), "counts" (of values),
        "histogram" (on nested keys), "calendar" (counts of months, weekdays and hours), "joint" (what several columns
        do together) or "tokens" (counts of the tokens of texts).
    observed, squares : bool
        Whether the weight of known cells and the squares are wanted.
    logs : bool
        Whether the sums of logarithms are wanted; numbers that are not above 0 are then refused.
    above : float, optional
        Sum not x but whether x is above this.
    unlike : "counts" or "binary", optional
        Sum not x but whether x is none of these: no whole number of zero or more, or neither 0 nor 1.
    nonnegative : bool
        Refuse negative numbers.
    labels, numbers : tuples of str
        The columns that are counted jointly, sorted: those whose combinations of values are counted, and those whose
        sums and products are taken within each combination.
    cuts : tuple
        For each of `labels` the cut points that turn its numbers into bins, or None where its values are labels as they
        are; empty if no column is cut.
    view : View, optional
        Which tokens of a text are counted.
    most_cells : int, optional
        How many cells a histogram may have, if not the usual number.
    """

    kind: str
    observed: bool = True
    squares: bool = False
    above: float | None = None
    nonnegative: bool = False
    labels: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    cuts: tuple[tuple[float, ...] | None, ...] = ()
    view: View | None = None
    most_cells: int | None = None
    logs: bool = False
    unlike: Literal["counts", "binary"] | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The columns that are counted jointly."""
        return self.labels + self.numbers

    def as_numbers(self, column: str) -> bool:
        """Whether the statistics take the cells of a column for numbers."""
        return column in self.numbers if self.members else self.kind in ("moments", "histogram", "calendar")

    def as_labels(self, column: str) -> bool:
        """Whether the statistics take the cells of a column for mere names."""
        if not self.members:
            return self.kind == "counts"
        return column in self.labels and (not self.cuts or self.cuts[self.labels.index(column)] is None)

    @property
    def takes_all_numbers(self) -> bool:
        """Whether the statistics refuse no finite number, unless its square is too large."""
        return self.kind in ("moments", "histogram") and not self.nonnegative and not self.logs

    @property
    def of_texts(self) -> bool:
        """Whether the statistics are those of texts."""
        return self.view is not None

    @property
    def subtracts_exactly(self) -> bool:
        """Whether a difference of statistics is what counting the rows that are left would give."""
        return self.kind != "histogram" and (self.view is None or self.view.most_tokens is None)

    def concerns(self, column: str) -> bool:
        """Whether the statistics are about a column: joint ones are about their members only."""
        return self.kind != "joint" or column in self.members

    @property
    def lenient(self) -> Summary:
        """What is kept instead where negative numbers are not refused: their squares tell what can be forgotten."""
        return replace(self, nonnegative=False, squares=True) if self.nonnegative else self

    @property
    def words(self) -> str:
        """What is kept of a column, and for which families, in the words of a message."""
        if self.kind == "counts":
            return "counts of its values, for Categorical()"
        if self.kind == "histogram":
            fine = "" if self.most_cells is None else f" of up to {self.most_cells} cells"
            return f"a histogram{fine}, for Stacked(), Kernel() or Binned()"
        if self.kind == "calendar":
            return "counts of its months, weekdays and hours, for Date()"
        if self.kind == "joint":
            bins = " in bins" if self.cuts else ""
            parts = {"labels": self.labels, "numbers": self.numbers}
            joined = " and ".join(f"the {what} {listed(names)}" for what, names in parts.items() if names)
            return f"{joined} together{bins}, for factors such as Joint()"
        if self.view is not None:
            return f"tokens of prose ({self.view.words}), for Text()"
        return self._words_of_moments()

    def _words_of_moments(self) -> str:
        if self.unlike is not None:
            return f"how often it is unlike {UNLIKE[self.unlike]}, for ByKind()"
        if self.above is not None:
            return f"how often it is above {self.above:g}, for Bernoulli({self.above:g})"
        if self.squares and self.nonnegative:
            return "sums and squares of numbers of zero or more, for Poisson() or Exponential()"
        if self.squares:
            return "sums and squares, for Gaussian() or StudentT()"
        if self.observed:
            return "sums of shares, for Bernoulli(None)"
        return "sums of counts that share a total, for Multinomial() or Complement()"


def in_words(summaries: Iterable[Summary]) -> str:
    """What is kept of a column, in the words of a message.

    Examples
    --------
    >>> in_words([Summary("counts"), Summary("moments", squares=True)])
    'counts of its values, for Categorical(); and sums and squares, for Gaussian() or StudentT()'
    """
    return "; and ".join(summary.words for summary in summaries) or "nothing"


class Values(NamedTuple):
    """The values of a column and how often they occur.

    Parameters
    ----------
    values : sequence of labels, or ndarray
        In ascending order, if they are numbers.
    weights : ndarray of shape (n_classes, n_values)
    exact : bool
        Whether each is a value by itself, or stands for those around it.
    """

    values: Sequence[Label] | FloatArray
    weights: FloatArray
    exact: bool


class Statistic(ABC):
    """What is added up over rows, per class, for the columns of one summary.

    A statistic is a frozen value. Statistics of the same summary and the same classes form a commutative monoid:
    `empty` is the identity and ``+`` adds rows, in any order and grouping. `less` takes rows away again, `scaled`
    changes the weight of all. `naively.testing.check_statistic` checks these laws. A class that is listed in
    `naively.statistics._registry.STATISTICS` under its `kind` is read from model files and compared by
    `naively.analysis.drift.compare` without more ado.

    Attributes
    ----------
    kind : str
        The kind of summaries that ask for it.
    detail : int
        Where a column has several statistics, the one with the largest is compared.
    columns : tuple of str
        The columns it is about.
    """

    kind: ClassVar[str]
    detail: ClassVar[int] = 0

    if TYPE_CHECKING:  # at run time an abstract property would be taken for the default of a dataclass's field

        @property
        def columns(self) -> tuple[str, ...]: ...

    # -- adding up ------------------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def empty(cls, summary: Summary, columns: tuple[str, ...], n_classes: int) -> Self:
        """The statistic of no rows: the identity of ``+``.

        Parameters
        ----------
        summary : Summary
            What is asked for.
        columns : tuple of str
        n_classes : int
        """

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """The statistic of the rows of both, which have been aligned."""

    @abstractmethod
    def less(self, other: Self, peak: FloatArray) -> Self:
        """The statistic without the rows of another, which has been aligned with it.

        Parameters
        ----------
        other : Statistic
            Of the rows to forget.
        peak : ndarray of shape (n_classes,)
            The largest weight that each class has had: rounding is judged by it.

        Raises
        ------
        ForgetError
            If the rows can be seen never to have been added.
        """

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The statistic with every row's weight multiplied by a factor."""

    def tidy(self) -> Self:
        """The statistic without entries that no row has any more, as if they had never been."""
        return self

    def bounded(self, summary: Summary) -> Self:
        """The statistic within the size that its summary allows."""
        return self

    # -- other classes and columns --------------------------------------------------------------------------------

    @abstractmethod
    def for_classes(self, positions: IntArray, n_classes: int) -> Self:
        """The statistic under another numbering of the classes.

        Parameters
        ----------
        positions : ndarray of shape (old number of classes,)
            The new number of each class; a class with a negative one is dropped.
        n_classes : int
            The new number of classes; those to which none is moved are empty.
        """

    @abstractmethod
    def for_columns(self, columns: Sequence[str]) -> Self:
        """The statistic of these columns in this order, empty for those it does not have.

        What is only known of several columns together stays whole.
        """

    def aligned_with(self, other: Self) -> tuple[Self, Self]:
        """Both statistics under the union of their columns (and values), ready for ``+`` and `less`."""
        if self.columns == other.columns:
            return self, other
        columns = tuple(dict.fromkeys(self.columns + other.columns))
        return self.for_columns(columns), other.for_columns(columns)

    # -- checks ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def check(self, summary: Summary, class_weight: FloatArray, peak: FloatArray) -> None:
        """Refuse what no rows can leave, such as more known cells than rows.

        Parameters
        ----------
        summary : Summary
        class_weight : ndarray of shape (n_classes,)
            The weight of the rows of each class.
        peak : ndarray of shape (n_classes,)
            The largest weight that each class has had: rounding is judged by it.

        Raises
        ------
        ForgetError
            If no rows of these weights have this statistic.
        """

    def refuse_overflow(self) -> None:  # noqa: B027
        """Raise `InputError` where sums have become too large for a float64."""

    def knows(self, column: str, cells: AnyArray) -> bool:
        """Whether all of these cells of a column may have been counted: False only if one certainly was not."""
        return True

    def observed_weight(self, place: int) -> FloatArray | None:
        """The weight (n_classes,) of the known cells of the column at a place; None if that is not told."""
        return None

    def values_of(self, column: str) -> Values | None:
        """The values of a column and their weight in each class; None if they are not told."""
        return None

    def bounds(self) -> FloatArray | None:
        """Two numbers for each column, (n_columns, 2), between which nearly all of it lies, NaN where nothing is known.

        None if that is not told.
        """
        return None

    def _refuse_impossible(self, impossible: AnyArray) -> None:
        """Raise `ForgetError` for the first column of (classes, columns) that no rows can leave."""
        if impossible.any():
            column = self.columns[int(np.argwhere(impossible)[0][1])]
            raise ForgetError(
                f"Column {column!r}: no rows could leave what would be left, so these rows were never all learnt by "
                "this model (or with other weights or classes). Forget only rows that were learnt."
            )

    # -- in a file ------------------------------------------------------------------------------------------------

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All but the columns, as plain lists, dicts, strings and numbers that JSON can hold."""

    @classmethod
    @abstractmethod
    def from_dict(cls, entry: Mapping[str, Any], summary: Summary, columns: tuple[str, ...], n_classes: int) -> Self:
        """The inverse of `to_dict`, exact to the last bit, for an entry that anyone may have written.

        Raises
        ------
        ModelFileError
            If the entry holds what no statistic has, such as a negative count or a table of another shape.
        """

    # -- comparison -----------------------------------------------------------------------------------------------

    def margins(self) -> Mapping[Summary, Statistic]:
        """What is known of each column by itself, where the statistic is about several together; else nothing."""
        return {}

    histogram_of: Any = Gap("keeps no histogram")
    """From the name of a column to its `Histogram`."""

    value_range: Any = Gap("holds no numbers")
    """From ``(column, class_weight)`` to the two numbers between which nearly all values of a column lie.

    `class_weight` (classes,) is the weight of all rows.
    """

    compare: Any = Gap("does not tell how a column changes")
    """How each column has changed in each class, ``(other, summary, rows)``.

    `other` is of other rows, with the same columns and classes; `rows` (2, n_classes) the weight of the rows of each
    class, of both. It gives a `Change` of arrays (n_classes, n_columns), and the weights (2, n_classes, n_columns) that
    were compared.
    """
