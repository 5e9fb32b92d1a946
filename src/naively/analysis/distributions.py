"""The estimates of a model read as distributions: what can be drawn from them, and what is expected of a cell.

Each factor of a model becomes one of two things, by its family: `Numbers`, whose cells have a mean in each class, or
`Labels`, whose cells have a probability of each value in each class. All is read off the parameters that
`NaiveBayes.parameters` shows; bins also look at which values fell into them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively.errors import ParameterError
from naively.families import (
    Bernoulli,
    Binned,
    Categorical,
    Codes,
    Family,
    Gaussian,
    Kernel,
    Multinomial,
    Poisson,
    StudentT,
)
from naively.schema import Schema
from naively.scoring.model import Factor, statistics_of
from naively.statistics.histogram import Histograms
from naively.statistics.moments import Moments, centred, pooled
from naively.statistics.statistics import Statistics
from naively.typing import FloatArray, IntArray, Label

Draw = Callable[[IntArray, np.random.Generator], FloatArray]
"""From the class code of each row to numbers (rows, columns)."""


@dataclass(frozen=True)
class Numbers:
    """Columns of numbers.

    Parameters
    ----------
    members : ndarray
        The positions of the columns in the schema.
    mean : ndarray of shape (classes, columns)
    draw : Draw
    """

    members: IntArray
    mean: FloatArray
    draw: Draw

    def expected(self, block: FloatArray) -> FloatArray:
        """What is expected of each cell in each class, (rows, columns, classes), given the block's known cells."""
        return np.broadcast_to(self.mean.T, (*block.shape, len(self.mean)))


@dataclass(frozen=True)
class Shares(Numbers):
    """Counts that share a total: how many there are is told by the counts that are known.

    Parameters
    ----------
    probability : ndarray of shape (classes, columns)
    """

    probability: FloatArray

    def expected(self, block: FloatArray) -> FloatArray:
        """The share of the cell against that of the known cells, times their counts; the mean if none is known."""
        known = ~np.isnan(block)
        counted = np.where(known, block, 0.0).sum(axis=1)[:, None, None]
        share = known @ self.probability.T
        told = np.asarray(known.any(axis=1))[:, None, None] & (share > 0)[:, None, :]
        ratio = self.probability.T[None] / np.where(share > 0, share, 1.0)[:, None, :]
        return np.where(told, counted * ratio, super().expected(block))


@dataclass(frozen=True)
class Labels:
    """Columns of labels.

    Parameters
    ----------
    members : ndarray
        The positions of the columns in the schema.
    values : tuple of tuples of labels
    probabilities : tuple of ndarray of shape (classes, values)
    """

    members: IntArray
    values: Sequence[tuple[Label, ...]]
    probabilities: Sequence[FloatArray]

    def draw(self, codes: IntArray, rng: np.random.Generator) -> IntArray:
        """The place of a value for each cell (rows, columns); -1 in a column that has no values."""
        places = [
            draw_places(probability, codes, rng) if probability.shape[1] else np.full(len(codes), -1)
            for probability in self.probabilities
        ]
        return np.stack(places, axis=1)


Distribution = Numbers | Labels


def distributions(
    factors: Sequence[Factor], schema: Schema, statistics: Statistics, length: Any = None
) -> list[Distribution]:
    """The factors of a model as distributions.

    Parameters
    ----------
    factors, schema, statistics
        Of a model.
    length : float, mapping from group to float, or None
        The total of the counts of a row, for `Multinomial`; by default the mean of the row's class.
    """
    result: list[Distribution] = []
    for factor in factors:
        read = _READERS.get(type(factor.family))
        if factor.family.together:
            names = ", ".join(repr(schema.names[member]) for member in factor.members.tolist()[:5])
            raise ParameterError(f"The columns {names} are read together, which this cannot do yet: leave factors out.")
        if read is None or not factor.family.is_distribution or getattr(factor.family, "scores", False):
            raise ParameterError(
                f"Column {schema.names[int(factor.members[0])]!r}: {factor.family!r} tells classes apart, but is no "
                "distribution of a column's values, which this needs. Use another family, for example Gaussian() or "
                "Kernel() for numbers, Categorical() for labels, or leave the column out."
            )
        tables = statistics_of(schema, factor.family, factor.members.tolist(), statistics)
        found = read(factor, tables, statistics.class_weight.high, length)
        result.append(_without_unknown(found, tables[0]) if isinstance(found, Numbers) else found)
    return result


def _without_unknown(found: Numbers, table: Any) -> Numbers:
    """The same, but of a column without a single known cell nothing is expected or drawn: NaN."""
    if isinstance(table, Histograms):
        unknown = np.array([not len(histogram.keys) for histogram in table.histograms])
    elif table.observed is not None:
        unknown = np.asarray(table.observed.high.sum(axis=0) == 0)
    else:
        return found
    if not unknown.any():
        return found
    mean = np.where(unknown, np.nan, found.mean)
    return replace(found, mean=mean, draw=lambda codes, rng: np.where(unknown, np.nan, found.draw(codes, rng)))


def _gaussian(factor: Factor, *_: Any) -> Numbers:
    described = factor.estimate.describe()
    mean, deviation = described["mean"], np.sqrt(described["variance"])
    step = getattr(factor.family, "interval", None)

    def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
        numbers = rng.normal(mean[codes], deviation[codes])
        return np.asarray(numbers if step is None else np.rint(numbers / step) * step)

    return Numbers(factor.members, mean, draw)


def _student(factor: Factor, *_: Any) -> Numbers:
    freedom, location, scale = (factor.estimate.describe()[name] for name in ("freedom", "location", "scale"))
    return Numbers(
        factor.members, location, lambda codes, rng: location[codes] + scale[codes] * rng.standard_t(freedom[codes])
    )


def _poisson(factor: Factor, *_: Any) -> Numbers:
    rate = factor.estimate.describe()["rate"]
    return Numbers(factor.members, rate, lambda codes, rng: rng.poisson(rate[codes]).astype(np.float64))


def _bernoulli(factor: Factor, *_: Any) -> Labels:
    assert isinstance(factor.family, Bernoulli)
    yes = factor.estimate.describe()["probability"]
    values = no_and_yes(factor.family.threshold)
    tables = [np.stack([1 - yes[:, place], yes[:, place]], axis=1) for place in range(yes.shape[1])]
    return Labels(factor.members, [values] * len(tables), tables)


def no_and_yes(threshold: float | None) -> tuple[Label, Label]:
    """Numbers that are read as no and as yes: 0 and 1, if the threshold lies between them.

    Examples
    --------
    >>> no_and_yes(0.0), no_and_yes(10.0)
    ((0.0, 1.0), (10.0, 11.0))
    """
    if threshold is None or 0 <= threshold < 1:
        return 0.0, 1.0
    return float(threshold), float(max(threshold + 1, np.nextafter(threshold, np.inf)))


def _categorical(factor: Factor, *_: Any) -> Labels:
    tables: list[dict[Label, FloatArray]] = factor.estimate.describe()["probability"]
    empty = np.empty((0, 0))
    return Labels(
        factor.members,
        [tuple(table) for table in tables],
        [np.stack(list(table.values()), axis=1) if table else empty for table in tables],
    )


def _multinomial(factor: Factor, tables: Any, class_weight: FloatArray, length: Any) -> Shares:
    assert isinstance(factor.family, Multinomial)
    probability = factor.estimate.describe()["probability"]
    lengths = _lengths(factor.family.group, tables[0].total.high, class_weight, length)

    def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
        return rng.multinomial(np.rint(lengths[codes]).astype(np.int64), probability[codes]).astype(np.float64)

    return Shares(factor.members, lengths[:, None] * probability, draw, probability)


def _lengths(group: str, totals: FloatArray, class_weight: FloatArray, length: Any) -> FloatArray:
    """The total of a row's counts, per class."""
    given = length.get(group) if isinstance(length, Mapping) else length
    if given is None:
        return np.asarray(totals.sum(axis=1) / np.where(class_weight > 0, class_weight, 1.0))
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0 <= given < 2**31:
        raise ParameterError(f"length must be a number of at least 0, or a dict of them by group; got {length!r}.")
    return np.full(len(totals), float(given))


def _kernel(factor: Factor, tables: Any, *_: Any) -> Numbers:
    described = factor.estimate.describe()
    densities = list(zip(described["knots"], described["evidence"], strict=True))
    constant = _means(tables[0])
    mean = np.stack(
        [
            curve_mean(knots, logs) if len(knots) > 1 else constant[:, place]
            for place, (knots, logs) in enumerate(densities)
        ],
        axis=1,
    )

    def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
        columns = [
            draw_from_curve(knots, logs, codes, rng) if len(knots) > 1 else constant[codes, place]
            for place, (knots, logs) in enumerate(densities)
        ]
        return np.stack(columns, axis=1)

    return Numbers(factor.members, mean, draw)


def _means(moments: Moments) -> FloatArray:
    """The mean of each class (classes, columns), of all classes where a class has no known cell."""
    weight, mean, _ = centred(moments)
    return np.where(weight > 0, mean, pooled(moments)[1])


def _binned(factor: Factor, tables: Any, *_: Any) -> Numbers:
    (histograms,) = tables
    assert isinstance(histograms, Histograms)
    described = factor.estimate.describe()
    columns = [
        _values_in_bins(histogram.values(), histogram.counts.sum(axis=0), cuts, probability)
        for histogram, cuts, probability in zip(
            histograms.histograms, described["cuts"], described["probability"], strict=True
        )
    ]

    def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
        return np.stack([values[draw_places(table, codes, rng)] for values, table in columns], axis=1)

    return Numbers(factor.members, np.stack([table @ values for values, table in columns], axis=1), draw)


def _values_in_bins(
    values: FloatArray, weights: FloatArray, cuts: FloatArray, probability: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The values that occurred and their probabilities (classes, values): in a bin they are as frequent as overall."""
    if not len(values):
        return np.full(1, np.nan), np.ones((len(probability), 1))
    bins = np.searchsorted(cuts, values, side="right")
    of_bin = np.bincount(bins, weights, probability.shape[1])
    return values, probability[:, bins] * weights / of_bin[bins]


_READERS: dict[type[Family], Callable[..., Distribution]] = {
    Gaussian: _gaussian,
    StudentT: _student,
    Poisson: _poisson,
    Bernoulli: _bernoulli,
    Categorical: _categorical,
    Codes: _categorical,
    Multinomial: _multinomial,
    Kernel: _kernel,
    Binned: _binned,
}


# -- Drawing ------------------------------------------------------------------------------------------------------


def by_class(codes: IntArray, n_classes: int, draw: Callable[[int, int], Any]) -> Any:
    """Draw for the rows of one class after the other: `draw` takes the class and how many are wanted."""
    result = None
    for code in range(n_classes):
        rows = np.flatnonzero(codes == code)
        drawn = draw(code, len(rows))
        result = np.empty(len(codes), dtype=drawn.dtype) if result is None else result
        result[rows] = drawn
    return result


def draw_places(probability: FloatArray, codes: IntArray, rng: np.random.Generator) -> IntArray:
    """The place of a value for each row, by its class's probabilities (classes, values).

    Examples
    --------
    >>> draw_places(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1, 1]), np.random.default_rng(0)).tolist()
    [0, 1, 1]
    """
    n_classes, n_values = probability.shape
    ends = np.cumsum(probability, axis=1)

    def draw(code: int, n: int) -> IntArray:
        places = np.searchsorted(ends[code], rng.random(n) * ends[code, -1], side="right")
        return np.asarray(np.minimum(places, n_values - 1))

    return np.asarray(by_class(codes, n_classes, draw))


def draw_from_curve(knots: FloatArray, logs: FloatArray, codes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draws from densities whose logarithms (classes, knots) are linear between the knots: exact, by inversion."""
    ends = np.cumsum(_masses(knots, logs), axis=1)
    slopes = np.diff(logs, axis=1)
    widths = np.diff(knots)

    def draw(code: int, n: int) -> FloatArray:
        piece = np.searchsorted(ends[code], rng.random(n) * ends[code, -1], side="right")
        piece = np.minimum(piece, len(widths) - 1)
        return np.asarray(knots[piece] + widths[piece] * _inverse(slopes[code, piece], rng.random(n)))

    return np.asarray(by_class(codes, len(logs), draw))


def curve_mean(knots: FloatArray, logs: FloatArray) -> FloatArray:
    """The means (classes,) of such densities.

    Examples
    --------
    >>> curve_mean(np.array([0.0, 1.0, 3.0]), np.log([[1.0, 1.0, 1.0]])).tolist()
    [1.5]
    """
    slopes = np.diff(logs, axis=1)
    steep = np.abs(slopes) > 1e-4
    safe = np.where(steep, np.abs(slopes), 1.0)
    rising = -1.0 / np.expm1(-safe) - 1.0 / safe
    centre = np.where(steep, np.where(slopes > 0, rising, 1.0 - rising), 0.5 + slopes / 12)
    masses = _masses(knots, logs)
    at = knots[:-1] + np.diff(knots) * centre
    return np.asarray((masses * at).sum(axis=1) / masses.sum(axis=1))


def _masses(knots: FloatArray, logs: FloatArray) -> FloatArray:
    """How much lies between each two knots, (classes, knots - 1), up to a factor for each class."""
    heights = logs - logs.max(axis=1, keepdims=True)
    low, slopes = heights[:, :-1], np.diff(heights, axis=1)
    flat = np.abs(slopes) < 1e-8
    safe = np.where(flat, 1.0, slopes)
    top = np.maximum(low, heights[:, 1:])  # from the higher end, so that nothing overflows
    shape = np.where(flat, 1.0, -np.expm1(-np.abs(safe)) / np.abs(safe))
    return np.asarray(np.diff(knots) * np.exp(top) * shape)


def _inverse(slopes: FloatArray, shares: FloatArray) -> FloatArray:
    """Where, from 0 to 1, a share of what lies below an exponential is reached."""
    flat = np.abs(slopes) < 1e-8
    safe = np.where(flat, 1.0, np.abs(slopes))
    down = -np.log1p(shares * np.expm1(-safe)) / safe  # for a falling one; a rising one is the same from its other end
    return np.asarray(np.where(flat, shares, np.where(slopes < 0, down, 1.0 - down)))
