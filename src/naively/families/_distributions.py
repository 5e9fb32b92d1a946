"""What can be drawn from a group of columns, and what is expected of their cells: numbers or labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray, Label

NO_MEMBERS: IntArray = np.empty(0, np.int64)
NO_SHARES: FloatArray = np.empty((0, 0))

Draw = Callable[[IntArray, np.random.Generator], FloatArray]
"""From the class code of each row to numbers (rows, columns)."""


@dataclass(frozen=True)
class Numbers:
    """Columns of numbers.

    Parameters
    ----------
    mean : ndarray of shape (classes, columns)
    draw : Draw
    members : ndarray
        The positions of the columns in the schema.
    counts : bool
        Whether a cell is a whole number from 0 on, whose probability is the exponential of the evidence.
    """

    numeric: ClassVar[bool] = True

    mean: FloatArray
    draw: Draw
    members: IntArray = field(default_factory=lambda: NO_MEMBERS)
    counts: bool = False

    def labels_of(self, place: int) -> None:
        """Numbers have no list of values."""
        return

    def imputed(
        self, missing: Sequence[IntArray], posterior: FloatArray, read: Callable[[], FloatArray]
    ) -> Iterator[tuple[int, list[Any]]]:
        """The mean of what each class expects of each missing cell, by the probabilities of the classes.

        Parameters
        ----------
        missing : sequence of ndarray
            The rows in which each column is missing.
        posterior : ndarray of shape (rows, classes)
        read : callable
            Gives the numbers (rows, columns).

        Returns
        -------
        iterator of (place, values)
            Of each column that something is expected of, for its missing rows.
        """
        rows = np.unique(np.concatenate(missing))
        mean = np.einsum("rcj,rj->rc", self.expected(read()[rows]), posterior[rows])
        for place, own in enumerate(missing):
            values = mean[np.searchsorted(rows, own), place]
            if len(own) and not np.isnan(values).all():  # nothing is known of some columns
                yield place, values.tolist()

    def without(self, unknown: AnyArray) -> Numbers:
        """These distributions, but of columns without a single known cell nothing is expected or drawn: NaN."""
        mean, draw = np.where(unknown, np.nan, self.mean), self.draw
        return replace(self, mean=mean, draw=lambda codes, rng: np.where(unknown, np.nan, draw(codes, rng)))

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

    probability: FloatArray = field(default_factory=lambda: NO_SHARES)

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
    values : tuple of tuples of labels
    probabilities : tuple of ndarray of shape (classes, values)
    members : ndarray
        The positions of the columns in the schema.
    """

    numeric: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    mean: ClassVar[Any] = None

    values: Sequence[tuple[Label, ...]]
    probabilities: Sequence[FloatArray]
    members: IntArray = field(default_factory=lambda: NO_MEMBERS)

    def labels_of(self, place: int) -> tuple[tuple[Label, ...], FloatArray]:
        """The values of the column at a place, and their probabilities (classes, values)."""
        return self.values[place], self.probabilities[place]

    def imputed(
        self, missing: Sequence[IntArray], posterior: FloatArray, read: Callable[[], FloatArray]
    ) -> Iterator[tuple[int, list[Any]]]:
        """The most probable value of each missing cell: parameters and result as those of `Numbers.imputed`."""
        for place, rows in enumerate(missing):
            if len(rows) and self.values[place]:
                best = (posterior[rows] @ self.probabilities[place]).argmax(axis=1)
                yield place, [self.values[place][code] for code in best.tolist()]

    def without(self, unknown: AnyArray) -> Labels:
        """These distributions: a column without a known cell has no values."""
        return self

    def draw(self, codes: IntArray, rng: np.random.Generator) -> IntArray:
        """The place of a value for each cell (rows, columns); -1 in a column that has no values."""
        places = [
            draw_places(probability, codes, rng) if probability.shape[1] else np.full(len(codes), -1)
            for probability in self.probabilities
        ]
        return np.stack(places, axis=1)


Distribution = Any
"""`Numbers`, `Labels`, or columns that are read together (`naively.families._joint_draws.Together`)."""


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
