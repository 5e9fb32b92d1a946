"""Power sums of numeric columns, per class: the statistics of all families that read numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.errors import ForgetError
from naively.sums import Sum
from naively.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Moments:
    """Weight, sum and sum of squares of each column in each class; each Sum has shape (classes, columns).

    Parameters
    ----------
    columns : tuple of str
        The names, in the order of the second axis.
    total : Sum
        Sum of weight * x over the known cells.
    observed : Sum or None
        Sum of weight over the known cells; None where no family asks for it.
    square : Sum or None
        Sum of weight * x**2; None where no family asks for it.
    """

    columns: tuple[str, ...]
    total: Sum
    observed: Sum | None = None
    square: Sum | None = None

    @classmethod
    def empty(cls, columns: tuple[str, ...], n_classes: int, observed: bool, square: bool) -> Moments:
        """No rows at all."""
        shape = (n_classes, len(columns))
        return cls(
            columns, Sum.zeros(shape), Sum.zeros(shape) if observed else None, Sum.zeros(shape) if square else None
        )

    def _map(self, change: Callable[[Sum], Sum], columns: tuple[str, ...] | None = None) -> Moments:
        return Moments(
            self.columns if columns is None else columns,
            change(self.total),
            None if self.observed is None else change(self.observed),
            None if self.square is None else change(self.square),
        )

    def __add__(self, other: Moments) -> Moments:
        """Merge two tables of the same columns and classes."""
        return Moments(
            self.columns,
            self.total + other.total,
            None if self.observed is None or other.observed is None else self.observed + other.observed,
            None if self.square is None or other.square is None else self.square + other.square,
        )

    def __sub__(self, other: Moments) -> Moments:
        """Forget; the caller has aligned the two."""
        left = self + other.scaled(-1.0)
        total = left.total.without_noise(np.abs(self.total.high) + np.abs(other.total.high))
        observed, square = left.observed, left.square
        if observed is not None and self.observed is not None:
            observed = observed.without_noise(self.observed.high)
            self._refuse_where(observed.high < 0, "weight")
        if square is not None and self.square is not None:
            square = square.without_noise(self.square.high)
            self._refuse_where(square.high < 0, "sum of squares")
        if square is None:  # what is summed without its squares is never negative
            self._refuse_where((total.high < 0) & (self.total.high >= 0), "total")
        if observed is not None:
            gone = observed.high == 0
            self._refuse_where(gone & (total.high != 0), "sum where no weight is left")
            if square is not None:
                self._refuse_where(gone & (square.high != 0), "sum of squares where no weight is left")
        return Moments(self.columns, total, observed, square)

    def _refuse_where(self, bad: Any, what: str) -> None:
        if np.any(bad):
            column = self.columns[int(np.argwhere(bad)[0][1])]
            raise ForgetError(
                f"Column {column!r}: forgetting these rows would leave an impossible {what}, so they were never all "
                "learnt by this model (or with other weights or classes). Forget only rows that were learnt."
            )

    def scaled(self, factor: float) -> Moments:
        """Every row's weight times a factor."""
        return self._map(lambda part: part * factor)

    def for_classes(self, positions: IntArray, n_classes: int) -> Moments:
        """The same sums under another numbering of the classes; negative positions are dropped."""
        kept = positions >= 0
        shape = (n_classes, len(self.columns))
        return self._map(lambda part: part[kept].spread(shape, positions[kept]))

    def for_columns(self, columns: Sequence[str]) -> Moments:
        """The sums of these columns in this order, zeros for one that is not here."""
        columns = tuple(columns)
        if columns == self.columns:
            return self
        index = {name: position for position, name in enumerate(self.columns)}
        places = [place for place, name in enumerate(columns) if name in index]
        sources = [index[columns[place]] for place in places]
        if len(places) == len(columns):
            return self._map(lambda part: part[:, sources], columns)
        shape = (self.total.shape[0], len(columns))
        return self._map(lambda part: part[:, sources].spread(shape, (slice(None), places)), columns)

    def aligned_with(self, other: Moments) -> tuple[Moments, Moments]:
        """Both under the same columns."""
        if self.columns == other.columns:
            return self, other
        columns = tuple(dict.fromkeys(self.columns + other.columns))
        return self.for_columns(columns), other.for_columns(columns)

    def tidy(self) -> Moments:
        """Nothing is kept for what has gone."""
        return self

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def without_each(self, block: FloatArray, codes: IntArray, weights: FloatArray) -> Moments:
        """The sums without one row at a time, (classes, rows, columns): a row is in one class only.

        An estimate that treats its axes as classes first and columns last takes these as it takes any others.
        """
        own = self.of_own_class(block, codes, weights)

        def beside(everyone: Sum, mine: Sum) -> Sum:
            high = placed(everyone.high, mine.high, codes)
            if everyone.low is None and mine.low is None:
                return Sum(high)
            low, my_low = (np.zeros(part.shape) if part.low is None else part.low for part in (everyone, mine))
            return Sum(high, placed(low, my_low, codes))

        return Moments(
            self.columns,
            beside(self.total, own.total),
            None if self.observed is None or own.observed is None else beside(self.observed, own.observed),
            None if self.square is None or own.square is None else beside(self.square, own.square),
        )

    def of_own_class(self, block: FloatArray, codes: IntArray, weights: FloatArray) -> Moments:
        """The sums of each row's class without the row, (rows, columns)."""
        return self._map(lambda part: part[codes]) - self._of_rows(block, weights)

    def of_all_classes(self, block: FloatArray, weights: FloatArray) -> Moments:
        """The sums over all classes without the row, (rows, columns)."""
        return self._map(lambda part: part.total(0).reshaped((1, len(self.columns)))) - self._of_rows(block, weights)

    def _of_rows(self, block: FloatArray, weights: FloatArray) -> Moments:
        """What each row adds, (rows, columns)."""
        missing = np.isnan(block)
        weight = np.where(missing, 0.0, weights[:, None])
        values = np.where(missing, 0.0, block)
        total = Sum(weight) * Sum(values)
        observed = None if self.observed is None else Sum(weight)
        return Moments(self.columns, total, observed, None if self.square is None else total * Sum(values))


def placed(everyone: FloatArray, own: FloatArray, codes: IntArray) -> FloatArray:
    """What holds for all rows, (classes, columns), once per row, with what holds for the row's own class in place.

    Returns
    -------
    ndarray of shape (classes, rows, columns)
    """
    result = np.repeat(everyone[:, None, :], len(codes), axis=1)
    result[codes, np.arange(len(codes))] = own
    return np.asarray(result)
