"""Normal densities of several numbers together: a mean vector and a covariance per class and combination of labels.

Which covariance is whose is decided here, by degrees of freedom: rows that are too few for a covariance of their own
borrow it from the next larger company. The functions take arrays with any leading axes, then the classes; the
estimate has one entry per combination, leave-one-out one per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from naively.statistics._joint import JointSums
from naively.statistics._scatter import rounding_of
from naively.statistics._scatter import scatter as scatter_of
from naively.statistics._sums import Sum
from naively.typing import AnyArray, FloatArray

LARGEST_DEVIATION = 1e150
"""Deviations are held within this many standard deviations, so that their squares stay finite."""


class Spread(NamedTuple):
    """Weight (...), mean (..., numbers) and scatter (..., numbers, numbers) of some rows."""

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray


class Pooled(NamedTuple):
    """Scatter around the means of several groups: degrees of freedom (...), weight (...), scatter."""

    freedom: FloatArray
    weight: FloatArray
    scatter: FloatArray


class Known(NamedTuple):
    """All that covariances are made of.

    Attributes
    ----------
    cell : Spread of shape (..., classes)
        The rows of one combination.
    within : Pooled of shape (..., classes)
        The rows of a class, each around the mean of its combination.
    whole : Spread of shape (..., classes)
        The rows of a class, around the mean of the class.
    all_within : Pooled of shape (...)
    all_whole : Spread of shape (...)
        The same over all classes.
    """

    cell: Spread
    within: Pooled
    whole: Spread
    all_within: Pooled
    all_whole: Spread


class Normals(NamedTuple):
    """Means and covariances (..., classes, numbers[, numbers]), and the columns' scales (..., numbers).

    Covariances are of numbers divided by their scales; a scale of 0 marks a column that says nothing.
    """

    mean: FloatArray
    covariance: FloatArray
    scale: FloatArray


# -- from sums ------------------------------------------------------------------------------------------------------


def spread_of(weight: Sum, total: Sum, cross: Sum) -> Spread:
    """Mean and scatter, rounded once at the end."""
    n = total.shape[-1]
    first, second = np.triu_indices(n)
    divisor = Sum(np.where(weight.high == 0, 1.0, weight.high), weight.low).reshaped((*weight.shape, 1))
    mean = total / divisor
    weights = weight.reshaped((*weight.shape, 1))[..., np.zeros(len(first), dtype=np.int64)]
    packed = scatter_of(weights, total[..., first], total[..., second], cross)
    size = np.sqrt(np.abs(cross.high[..., np.flatnonzero(first == second)]))
    noise = np.abs(packed) <= rounding_of(weights) * size[..., first] * size[..., second]
    scatter = np.zeros((*weight.shape, n, n))
    scatter[..., first, second] = scatter[..., second, first] = np.where(noise, 0.0, packed)
    constant = scatter[..., np.arange(n), np.arange(n)] <= 0
    scatter[constant[..., :, None] | constant[..., None, :]] = 0.0
    return Spread(weight.high, mean.high, scatter)


def pooled_within(cells: Spread, axis: int) -> Pooled:
    """The scatter of several groups around their own means."""
    some = cells.weight > 0
    freedom = np.where(some, np.maximum(cells.weight - 1.0, 0.0), 0.0).sum(axis=axis)
    return Pooled(freedom, cells.weight.sum(axis=axis), cells.scatter.sum(axis=axis))


def known_of(sums: JointSums) -> Known:
    """What the sums say, one entry per cell and, at the end, one for a combination that no class has had."""
    nothing = [Sum.zeros((part.shape[0], 1, *part.shape[2:])) for part in (sums.weight, sums.total, sums.cross)]
    parts = [Sum.concatenated([part, none], 1) for part, none in zip(_parts(sums), nothing, strict=True)]
    cells = Spread(*(np.swapaxes(part, 0, 1) for part in spread_of(parts[0], parts[1], parts[2])))
    whole = spread_of(*(part.total(1) for part in _parts(sums)))
    overall = spread_of(*(part.total(1).total(0) for part in _parts(sums)))
    within = pooled_within(cells, axis=0)
    return Known(cells, within, whole, Pooled(*(part.sum(axis=0) for part in within)), overall)


def _parts(sums: JointSums) -> tuple[Sum, Sum, Sum]:
    return sums.weight, sums.total, sums.cross


# -- parameters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """How covariances are estimated: the options of `Joint`."""

    ties: str = "none"
    ddof: int = 0
    floor: float = 1e-9

    def normals(self, known: Known) -> Normals:
        """Means and covariances of every class, from what is known."""
        n = known.cell.mean.shape[-1]
        overall = _covariance(known.all_whole.scatter, known.all_whole.weight)
        scale = np.sqrt(_diagonal(overall))
        of_class, of_all, of_any = self._shared(known, n)
        weight = known.cell.weight
        own = _covariance(known.cell.scatter, weight - self.ddof)
        enough = weight - 1.0 >= n + 1
        if self.ties == "none":
            covariance = _where(enough, own, of_class)
        else:
            covariance = np.broadcast_to(of_class if self.ties == "class" else of_all, own.shape)
        unseen = weight == 0
        covariance = _where(unseen, np.broadcast_to(of_any, own.shape), covariance)
        in_class = np.where((known.whole.weight > 0)[..., None], known.whole.mean, known.all_whole.mean[..., None, :])
        mean = np.where(unseen[..., None], in_class, known.cell.mean)
        return Normals(mean, self._lifted(covariance, scale[..., None, :]), scale)

    def _shared(self, known: Known, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The covariances to borrow: of a class within its combinations, of all classes so, and of a whole class."""
        groups = known.all_within.weight - known.all_within.freedom
        of_all = _covariance(known.all_within.scatter, known.all_within.weight - self.ddof * groups)
        overall = _covariance(known.all_whole.scatter, known.all_whole.weight - self.ddof)
        variances = overall * np.eye(n)
        of_all = _where(known.all_within.freedom >= n + 1, of_all, variances)[..., None, :, :]
        groups = known.within.weight - known.within.freedom
        of_class = _covariance(known.within.scatter, known.within.weight - self.ddof * groups)
        of_class = _where(known.within.freedom >= n + 1, of_class, np.broadcast_to(of_all, of_class.shape))
        whole = _covariance(known.whole.scatter, known.whole.weight - self.ddof)
        anyone = _where(known.all_whole.weight - 1.0 >= n + 1, overall, variances)[..., None, :, :]
        of_any = _where(known.whole.weight - 1.0 >= n + 1, whole, np.broadcast_to(anyone, whole.shape))
        return of_class, of_all, of_any

    def _lifted(self, covariance: FloatArray, scale: FloatArray) -> FloatArray:
        """Covariances in units of the scales, no direction having a variance below the floor."""
        informative = np.broadcast_to(scale > 0, covariance.shape[:-1])
        unit = np.where(scale > 0, scale, 1.0)
        standard = covariance / unit[..., :, None] / unit[..., None, :]
        standard = np.where(
            informative[..., :, None] & informative[..., None, :], standard, np.eye(covariance.shape[-1])
        )
        values, vectors = np.linalg.eigh(standard)
        low = (values < self.floor).any(axis=-1)
        lifted = (vectors * np.maximum(values, self.floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return _where(low, lifted, standard)


def _covariance(scatter: FloatArray, freedom: FloatArray) -> FloatArray:
    some = freedom[..., None, None]
    return np.asarray(np.where(some > 0, scatter / np.where(some > 0, some, 1.0), 0.0))


def _where(condition: Any, these: FloatArray, others: FloatArray) -> FloatArray:
    return np.asarray(np.where(condition[..., None, None], these, others))


def _diagonal(matrices: FloatArray) -> FloatArray:
    return np.asarray(np.diagonal(matrices, axis1=-2, axis2=-1))


# -- densities ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Densities:
    """Normal densities of some of the numbers, the others being integrated out.

    Attributes
    ----------
    mean : ndarray (..., classes, numbers)
    scale : ndarray (..., numbers)
        1 where the column says nothing; `informative` is 0 there.
    informative : ndarray (..., numbers)
    whitener : ndarray (..., classes, numbers, numbers)
    peak : ndarray (..., classes)
        The log-density at the mean.
    """

    mean: FloatArray
    scale: FloatArray
    informative: FloatArray
    whitener: FloatArray
    peak: FloatArray

    @classmethod
    def of(cls, normals: Normals, known: AnyArray, floor: float) -> Densities:
        """The densities of the known numbers."""
        covariance = normals.covariance[..., known, :][..., known]
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, floor)
        scale = normals.scale[..., known]
        informative = scale > 0
        unit = np.where(informative, scale, 1.0)
        constant = (informative * (np.log(unit) + 0.5 * math.log(2 * math.pi))).sum(axis=-1)
        peak = -0.5 * np.log(values).sum(axis=-1) - constant[..., None]
        whitener = vectors * (math.sqrt(0.5) / np.sqrt(values))[..., None, :]
        return cls(normals.mean[..., known], unit, informative.astype(np.float64), whitener, peak)

    def at(self, place: int, numbers: FloatArray) -> FloatArray:
        """The log-density (rows, classes) of rows, by the normals at one place: one product of matrices per class."""
        with np.errstate(over="ignore"):
            deviation = (numbers[None] - self.mean[place][:, None]) / self.scale
        squares = _squares(deviation * self.informative, self.whitener[place])
        return np.asarray(self.peak[place] - squares.T)

    def each(self, numbers: FloatArray) -> FloatArray:
        """The log-density (rows, classes) of rows, each by its own normals."""
        with np.errstate(over="ignore"):
            deviation = (numbers[:, None] - self.mean) / self.scale[:, None]
        squares = _squares((deviation * self.informative[:, None])[..., None, :], self.whitener)
        return np.asarray(self.peak - squares[..., 0])


def _squares(deviation: FloatArray, whitener: FloatArray) -> FloatArray:
    """Half the squared distance from the mean, in standard deviations, along the last axis."""
    whitened = np.clip(deviation, -LARGEST_DEVIATION, LARGEST_DEVIATION) @ whitener
    return np.asarray(np.square(np.clip(whitened, -LARGEST_DEVIATION, LARGEST_DEVIATION)).sum(axis=-1))
