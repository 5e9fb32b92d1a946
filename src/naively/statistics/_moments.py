"""Power sums of numeric columns, per class: the statistics of all families that read numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from naively.errors import ForgetError, GapError, InputError
from naively.statistics._plain import peak_from, peak_to_dict, require, sum_from, sum_to_dict
from naively.statistics._scatter import rounding_of, scatter
from naively.statistics._sums import SMALLEST_SQUARE, WEIGHT_NOISE, Sum
from naively.statistics.base import Statistic, Summary
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively.statistics._divergence import Change

VALUE_TOLERANCE = 2.0**-40
"""Sums of values that rows cannot leave are refused if they are off by more than this share of the largest so far."""

LARGEST_LOG = 745.0
"""The logarithms of numbers above 0 are no larger than this, in size."""

ROUNDING = 1e-9
"""Sums that differ by no more than this share are equal, but for rounding."""


def most_weight(weight: FloatArray, peak: FloatArray) -> FloatArray:
    """The largest that a part of a weight can be, given rounding; `peak` is the largest weight that was ever there."""
    return weight * (1 + ROUNDING) + WEIGHT_NOISE * peak


def has_impossible_spread(weight: FloatArray, total: FloatArray, square: FloatArray, scale: FloatArray) -> AnyArray:
    """Where squares are smaller than their mean allows; rounding is judged by `scale`, a weight times a square.

    Squares so small that they lose digits, or so large that a product overflows, prove nothing.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        rounding = VALUE_TOLERANCE * scale + SMALLEST_SQUARE * (1 + weight) ** 2
        return np.asarray(total**2 > weight * square * (1 + ROUNDING) + rounding)


def has_impossible_logs(weight: FloatArray, total: FloatArray, log: FloatArray, peak: FloatArray) -> AnyArray:
    """Where the mean of logarithms is above the logarithm of the mean, which no numbers above 0 have."""
    known = (weight > 0) & (total > 0)
    most = np.log(np.where(known, total, 1.0) / np.where(known, weight, 1.0))
    slack = ROUNDING * (1 + np.abs(most)) * weight + VALUE_TOLERANCE * LARGEST_LOG * peak
    return np.asarray(known & (log > weight * most + slack))


@dataclass(frozen=True)
class Moments(Statistic):
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
    peak : ndarray of shape (classes, columns) or None
        The largest that `square` (or `total`, where there is no `square`) has been; None: it is the present one,
        since nothing was ever forgotten. Rounding is judged by it.
    log : Sum or None
        Sum of weight * log(x); None where no family asks for it.
    """

    kind: ClassVar[str] = "moments"

    columns: tuple[str, ...]
    total: Sum
    observed: Sum | None = None
    square: Sum | None = None
    peak: FloatArray | None = field(default=None, compare=False)
    log: Sum | None = None

    @classmethod
    def empty(cls, summary: Summary, columns: tuple[str, ...], n_classes: int) -> Moments:
        zeros = Sum.zeros((n_classes, len(columns)))
        wanted = (summary.observed, summary.squares, summary.logs)
        observed, square, log = (zeros if one else None for one in wanted)
        return cls(columns, zeros, observed, square, log=log)

    def _map(self, change: Callable[[Sum], Sum], columns: tuple[str, ...] | None = None) -> Moments:
        return replace(
            self,
            columns=self.columns if columns is None else columns,
            total=change(self.total),
            observed=None if self.observed is None else change(self.observed),
            square=None if self.square is None else change(self.square),
            peak=None if self.peak is None else change(Sum(self.peak)).high,
            log=None if self.log is None else change(self.log),
        )

    @property
    def largest(self) -> FloatArray:
        """The largest that the sums of squares (or the totals, where there are none) have been."""
        now = self.total.high if self.square is None else self.square.high
        return now if self.peak is None else np.maximum(now, self.peak)

    def __add__(self, other: Moments) -> Moments:
        merged = type(self)(
            self.columns,
            self.total + other.total,
            None if self.observed is None or other.observed is None else self.observed + other.observed,
            None if self.square is None or other.square is None else self.square + other.square,
            log=None if self.log is None or other.log is None else self.log + other.log,
        )
        if self.peak is None and other.peak is None:
            return merged
        return replace(merged, peak=np.maximum(np.maximum(self.largest, other.largest), merged.largest))

    def less(self, other: Moments, peak: FloatArray) -> Moments:
        return self._less(other, peak[:, None])

    def _less(self, other: Moments, peak: FloatArray) -> Moments:
        """Forget; `peak` broadcasts against the sums."""
        largest = self.largest
        scale = largest if self.square is None else np.sqrt(peak * np.maximum(largest, 0.0))
        total = (self.total - other.total).without_noise(scale)
        observed = square = None
        log = None if self.log is None or other.log is None else self.log - other.log
        if self.square is not None and other.square is not None:
            square = self._not_negative((self.square - other.square).without_noise(largest), largest, "sum of squares")
        else:  # what is summed without its squares is never negative
            total = self._not_negative(total, largest, "total")
        if self.observed is not None and other.observed is not None:
            observed = self.observed.less(other.observed, peak)
            self._refuse_where(observed.high < 0, "weight")
            gone = observed.high == 0
            total = self._gone(total, gone, scale, "sum where no weight is left")
            if square is not None:
                square = self._gone(square, gone, largest, "sum of squares where no weight is left")
            if log is not None:
                log = self._gone(log, gone, LARGEST_LOG * peak, "sum of logarithms where no weight is left")
        return replace(self, total=total, observed=observed, square=square, peak=largest, log=log)

    def _not_negative(self, part: Sum, scale: FloatArray, what: str) -> Sum:
        self._refuse_where(part.high < -VALUE_TOLERANCE * scale, what)
        return part.zeroed(part.high < 0)

    def _gone(self, part: Sum, gone: AnyArray, scale: FloatArray, what: str) -> Sum:
        """Nothing where no weight is left; refused where more than rounding would stay."""
        self._refuse_where(gone & (np.abs(part.high) > VALUE_TOLERANCE * scale), what)
        return part.zeroed(gone)

    def check(self, summary: Summary, class_weight: FloatArray, peak: FloatArray) -> None:
        """Refuse what no rows can leave: more known cells than rows, more "yes" than cells, events without a row."""
        if self.observed is None:
            gone = class_weight[:, None] == 0
            self._refuse_impossible(gone & (np.abs(self.total.high) > VALUE_TOLERANCE * self.largest))
            return
        bad = self.observed.high > most_weight(class_weight, peak)[:, None]
        if summary.above is not None or summary.unlike is not None:
            bad |= self.total.high > most_weight(self.observed.high, peak[:, None])
        if self.square is not None:
            scale = peak[:, None] * self.largest
            bad |= has_impossible_spread(self.observed.high, self.total.high, self.square.high, scale)
        if self.log is not None:
            bad |= has_impossible_logs(self.observed.high, self.total.high, self.log.high, peak[:, None])
        self._refuse_impossible(bad)

    def refuse_overflow(self) -> None:
        part = self.total if self.square is None else self.square  # squares are the first to overflow
        if not part.is_finite():
            place = int(np.argwhere(~np.isfinite(part.high + part.low_or_zero))[0][1])
            raise InputError(
                f"The sums of column {self.columns[place]!r} become too large for a float64. Rescale the column "
                "to within 1e150."
            )

    def _refuse_where(self, bad: Any, what: str) -> None:
        if np.any(bad):
            column = self.columns[int(np.argwhere(bad)[0][1])]
            raise ForgetError(
                f"Column {column!r}: forgetting these rows would leave an impossible {what}, so they were never all "
                "learnt by this model (or with other weights or classes). Forget only rows that were learnt."
            )

    def scaled(self, factor: float) -> Moments:
        return self._map(lambda part: part * factor)

    def for_classes(self, positions: IntArray, n_classes: int) -> Moments:
        kept = positions >= 0
        shape = (n_classes, len(self.columns))
        return self._map(lambda part: part[kept].spread(shape, positions[kept]))

    def for_columns(self, columns: Sequence[str]) -> Moments:
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

    def to_dict(self) -> dict[str, Any]:
        parts = {"total": self.total, "observed": self.observed, "square": self.square}
        sums = {name: None if part is None else sum_to_dict(part) for name, part in parts.items()}
        logs = {} if self.log is None else {"log": sum_to_dict(self.log)}
        return {**sums, **logs, **peak_to_dict(self.peak)}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], summary: Summary, columns: tuple[str, ...], n_classes: int) -> Moments:
        shape = (n_classes, len(columns))
        require((entry["observed"] is not None) == summary.observed, "'observed' does not fit the summary")
        require((entry["square"] is not None) == summary.squares, "'square' does not fit the summary")
        return cls(
            columns,
            sum_from(entry["total"], shape, nonnegative=summary.nonnegative),
            sum_from(entry["observed"], shape, nonnegative=True) if summary.observed else None,
            sum_from(entry["square"], shape, nonnegative=True) if summary.squares else None,
            peak_from(entry, shape),
            sum_from(entry["log"], shape, nonnegative=False) if summary.logs else None,
        )

    def observed_weight(self, place: int) -> FloatArray | None:
        return None if self.observed is None else self.observed.high[:, place]

    def value_range(self, column: str, class_weight: FloatArray) -> tuple[float, float]:
        """Three standard deviations around the means of the classes; without squares, those that counts would have."""
        own = self.for_columns([column])
        if own.square is None or own.observed is None:
            rows = class_weight if own.observed is None else own.observed.high[:, 0]
            mean = np.maximum(own.total.high[rows > 0, 0], 0.0) / rows[rows > 0]
            return 0.0, float((mean + 3 * np.sqrt(mean)).max(initial=0.0)) or 1.0
        weight, mean, scatter = (part[:, 0] for part in centred(own))
        known = weight > 0
        deviation = np.sqrt(scatter[known] / weight[known])
        of_all, _, scatter_of_all = pooled(own)
        spread = np.where(deviation > 0, deviation, np.sqrt(scatter_of_all[0] / of_all[0]) or 1.0)
        return float((mean[known] - 3 * spread).min()), float((mean[known] + 3 * spread).max())

    def bounds(self) -> FloatArray | None:
        """Six standard deviations around the mean: of any numbers at least 35 in 36 lie there."""
        if self.square is None or self.observed is None:
            return None
        weight, mean, scatter = pooled(self)
        known = np.where(weight > 0, weight, np.nan)
        spread = np.sqrt(scatter / known)
        return np.column_stack([mean - 6 * spread, mean + 6 * spread])

    # -- Comparison -----------------------------------------------------------------------------------------------

    def compare(self, other: Moments, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        if not summary.observed:
            return self._compare_counts(other, rows)
        if summary.above is not None or summary.unlike is not None:
            return self._compare_truths(other, rows)
        if not summary.squares:
            raise GapError(
                "Sums without squares do not tell a change from chance. Ask for squares in the family's summaries, or "
                "define its `compare`.",
                "keeps sums without squares, which do not tell a change from chance",
            )
        return self._compare_normal(other, rows)

    def _compare_counts(self, other: Moments, rows: FloatArray) -> tuple[Change, FloatArray]:
        """Mean counts of a row, tested by how counts vary in those of the two that kept their squares; else not at all.

        By chance the sum of counts varies as one of events does, times how many events come at once: their variance as
        a share of their mean, which one of the two tells as well as both. Where it saw none, the other columns tell.
        """
        from scipy import special

        from naively.statistics._divergence import Change, by_chance, poisson_divergences

        total = np.stack([self.total.high, other.total.high])
        every = np.broadcast_to(rows[:, :, None], total.shape)
        some = np.where(every > 0, every, 1.0)
        mean = total / some
        scatter, events, freedom = (np.zeros(total.shape[1:]) for _ in range(3))
        for one, weight in zip((self, other), every, strict=True):
            if one.square is not None:
                scatter = scatter + _centre(Sum(weight), one.total, one.square).scatter
                events, freedom = events + one.total.high, freedom + np.maximum(weight - 1, 0)
        known = np.where(events > 0, events, 1.0)
        of_all = np.maximum(scatter.sum(axis=1, keepdims=True) / known.sum(axis=1, keepdims=True), 1.0)
        at_once = np.where(events > 0, scatter / known, of_all)
        error = np.sqrt(at_once * total.sum(axis=0) / some.sum(axis=0) * (1 / some).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):  # the same count in all rows has no spread
            gap = np.where(mean[0] == mean[1], 0.0, np.abs(mean[0] - mean[1]) / error)
        p_value = np.where(freedom > 0, 2 * special.stdtr(np.maximum(freedom, 1.0), -gap), 1.0)
        if self.square is None and other.square is None:
            p_value = np.full(freedom.shape, np.nan)
        bits = poisson_divergences(mean, np.zeros(mean.shape))
        return Change(bits, by_chance(1, some), p_value), every

    def _compare_truths(self, other: Moments, rows: FloatArray) -> tuple[Change, FloatArray]:
        """No, yes, or missing."""
        from naively.statistics._divergence import compare_cells, with_missing

        yes, known = np.stack([self.total.high, other.total.high]), np.stack([self._weight(), other._weight()])
        every = np.broadcast_to(rows[:, :, None], yes.shape)
        return compare_cells(with_missing(np.stack([known - yes, yes], axis=-1), every)), every

    def compare_rates(self, other: Moments, rows: FloatArray) -> tuple[Change, FloatArray]:
        """Poisson distributions, and how often a cell is missing.

        By chance rates move as far as the squares say, where they are kept, and not only as far as Poisson's.
        """
        from naively.statistics._divergence import compare_in_parts, poisson_divergences, two_sided

        total, known = np.stack([self.total.high, other.total.high]), np.stack([self._weight(), other._weight()])
        some = np.where(known > 0, known, 1.0)
        rate, overall = total / some, total.sum(axis=0) / some.sum(axis=0)
        variance = overall
        if self.square is not None and other.square is not None:
            scatter = centred(self)[2] + centred(other)[2]
            variance = scatter / np.maximum(some.sum(axis=0) - 2, 1.0)
        error = np.sqrt(variance * (1 / some).sum(axis=0))
        rates = two_sided(np.where(error > 0, (rate[0] - rate[1]) / np.where(error > 0, error, 1.0), 0.0))
        return compare_in_parts([rates], known, rows, lambda missing: poisson_divergences(rate, missing))

    def _compare_normal(self, other: Moments, rows: FloatArray) -> tuple[Change, FloatArray]:
        """Means, and how often a cell is missing; the divergence is that of normal distributions.

        Variances are not tested: how far they move by chance is up to the fourth moments, which are not kept, and in
        columns with heavy tails that is very far.
        """
        from scipy import special

        from naively.statistics._divergence import compare_in_parts, normal_divergence

        known, mean, scatter = (np.stack(parts) for parts in zip(centred(self), centred(other), strict=True))
        some = np.where(known > 0, known, 1.0)
        variance = scatter / some
        freedom = some.sum(axis=0) - 2
        error = np.sqrt(scatter.sum(axis=0) / np.where(freedom > 0, freedom, 1.0) * (1 / some).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):  # the same value in all rows has no spread
            gap = np.where(mean[0] == mean[1], 0.0, np.abs(mean[0] - mean[1]) / error)
        means = np.where(freedom > 0, 2 * special.stdtr(np.maximum(freedom, 1.0), -gap), 1.0)
        return compare_in_parts([means], known, rows, lambda missing: normal_divergence(mean, variance, missing), 2)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def without_each(self, block: FloatArray, codes: IntArray, weights: FloatArray) -> Moments:
        """The sums without one row at a time, (classes, rows, columns): a row is in one class only.

        An estimate that treats its axes as classes first and columns last takes these as it takes any others.
        """
        own = self.of_own_class(block, codes, weights)

        def beside(of_all: Sum, of_row: Sum) -> Sum:
            high = placed(of_all.high, of_row.high, codes)
            if of_all.low is None and of_row.low is None:
                return Sum(high)
            low, low_of_row = (np.zeros(part.shape) if part.low is None else part.low for part in (of_all, of_row))
            return Sum(high, placed(low, low_of_row, codes))

        return Moments(
            self.columns,
            beside(self.total, own.total),
            None if self.observed is None or own.observed is None else beside(self.observed, own.observed),
            None if self.square is None or own.square is None else beside(self.square, own.square),
            log=None if self.log is None or own.log is None else beside(self.log, own.log),
        )

    def of_own_class(self, block: FloatArray, codes: IntArray, weights: FloatArray) -> Moments:
        """The sums of each row's class without the row, (rows, columns)."""
        own = self._map(lambda part: part[codes])
        return own._less(self._of_rows(block, weights), own._weight())

    def of_all_classes(self, block: FloatArray, weights: FloatArray) -> Moments:
        """The sums over all classes without the row, (rows, columns)."""
        everything = self._map(lambda part: part.total(0).reshaped((1, len(self.columns))))
        return everything._less(self._of_rows(block, weights), everything._weight())

    def _weight(self) -> FloatArray:
        """The weight by which rounding is judged where that of the classes is not known."""
        return np.ones(self.total.shape) if self.observed is None else self.observed.high

    def _of_rows(self, block: FloatArray, weights: FloatArray) -> Moments:
        """What each row adds, (rows, columns)."""
        missing = np.isnan(block)
        weight = np.where(missing, 0.0, weights[:, None])
        values = np.where(missing, 0.0, block)
        total = Sum(weight) * Sum(values)
        observed = None if self.observed is None else Sum(weight)
        square = None if self.square is None else total * Sum(values)
        log = None if self.log is None else Sum(weight) * Sum(np.log(np.where(missing, 1.0, block)))
        return Moments(self.columns, total, observed, square, log=log)


def placed(of_all: FloatArray, own: FloatArray, codes: IntArray) -> FloatArray:
    """What holds for all rows, (classes, columns), once per row, with what holds for the row's own class in place.

    Returns
    -------
    ndarray of shape (classes, rows, columns)
    """
    result = np.repeat(of_all[:, None, :], len(codes), axis=1)
    result[codes, np.arange(len(codes))] = own
    return np.asarray(result)


# -- Means and variances ------------------------------------------------------------------------------------------


class Centre(NamedTuple):
    """Weight, mean and scatter (sum of squared deviations), and what rounding takes from the mean.

    Each has shape (classes, ..., columns), or that without the classes where they are taken together.
    """

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    rest: FloatArray


def centred(moments: Moments) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, mean and scatter (sum of squared deviations) of every column in every class, rounded once at the end."""
    return centre(moments)[:3]


def pooled(moments: Moments) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, mean and scatter of every column over all classes together."""
    return pooled_centre(moments)[:3]


def centre(moments: Moments) -> Centre:
    """The centre of every column in every class."""
    assert moments.observed is not None
    assert moments.square is not None
    return _centre(moments.observed, moments.total, moments.square)


def pooled_centre(moments: Moments) -> Centre:
    """The centre of every column over all classes together.

    A row may weigh so little beside those of its class whose cell is missing that the known cells of the class have no
    weight. Then its number does not count either: there may be no weight of other classes to bear it.
    """
    assert moments.observed is not None
    assert moments.square is not None
    known = moments.observed.high > 0
    total, square = moments.total, moments.square
    if not known.all():
        total, square = _only(total, known), _only(square, known)
    return _centre(moments.observed.total(0), total.total(0), square.total(0))


def _only(sums: Sum, known: AnyArray) -> Sum:
    """The sums, and zeros where something is not known."""
    return Sum(np.where(known, sums.high, 0.0), None if sums.low is None else np.where(known, sums.low, 0.0))


def _centre(weight: Sum, total: Sum, square: Sum) -> Centre:
    mean = total / Sum(np.where(weight.high == 0, 1.0, weight.high), weight.low)
    spread = scatter(weight, total, total, square)
    spread = np.where(spread > rounding_of(weight) * square.high, spread, 0.0)
    return Centre(weight.high, mean.high, spread, np.broadcast_to(mean.low_or_zero, mean.shape))
