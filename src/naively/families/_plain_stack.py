"""The evidence of very many columns of numbers: three plain densities, mixed for many columns at once.

What `_stacking` does column by column, with Student's t (its own variance, or one shared by the classes) and ten bins.
Shorter columns are filled up with cells that no row has, at their last value, so that one array holds many columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from naively.families._densities import (
    KERNEL_MARGIN,
    LEAST_VARIANCE,
    VARIANCE_FLOOR,
    Sample,
    log_student,
    pooled_predictive,
    rescaled,
    student_predictive,
    without_row,
)
from naively.families._stacking import LARGEST, Folds, mixed_evidence, mixture_shares, own_posterior
from naively.typing import FloatArray, IntArray

PLAIN_DENSITIES = ("t", "pool", "ef10")
N_BINS = 10
FILL_KNOTS = 65
Moments = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class PlainStack:
    """Some columns of numbers, each a mixture of `PLAIN_DENSITIES`.

    Parameters
    ----------
    values : float64 array (columns, cells)
    n_cells : int64 array (columns,)
        How many of the cells are the column's own.
    counts : float64 array (columns, classes, cells)
    n, mean, m2 : float64 arrays (columns, classes)
        The moments of each class.
    exponents : int64 array (columns,)
        The binary logarithms of what the values were divided by.
    row_weight : float64 array (classes,)
        What a row of each class weighs, which is left out to judge it.
    """

    values: FloatArray
    n_cells: IntArray
    counts: FloatArray
    n: FloatArray
    mean: FloatArray
    m2: FloatArray
    exponents: IntArray
    row_weight: FloatArray

    @classmethod
    def of(cls, samples: Sequence[Sample], row_weight: FloatArray) -> PlainStack:
        """The stack of columns with at least two cells each."""
        scaled, exponents = zip(*map(rescaled, samples), strict=True)
        n_cells = np.array([len(sample.values) for sample in scaled])
        values = np.empty((len(scaled), n_cells.max()))
        counts = np.zeros((len(scaled), len(scaled[0].n), n_cells.max()))
        for place, (sample, size) in enumerate(zip(scaled, n_cells.tolist(), strict=True)):
            values[place, :size], values[place, size:] = sample.values, sample.values[-1]
            counts[place, :, :size] = sample.counts
        n, mean, m2 = (np.stack([getattr(sample, name) for sample in scaled]) for name in ("n", "mean", "m2"))
        return cls(values, n_cells, counts, n, mean, m2, np.array(exponents), row_weight)

    # -- densities ------------------------------------------------------------------------------------------------

    @cached_property
    def total(self) -> FloatArray:
        """The weight of all rows (columns,)."""
        return np.asarray(self.n.sum(axis=1))

    @cached_property
    def center(self) -> FloatArray:
        """The mean of all rows (columns,)."""
        return np.asarray((self.n * self.mean).sum(axis=1) / self.total)

    @cached_property
    def variance(self) -> FloatArray:
        """The variance of all rows (columns,), above zero."""
        scatter = (self.m2 + self.n * (self.mean - self.center[:, None]) ** 2).sum(axis=1)
        span = self.values[:, -1] - self.values[:, 0]
        return np.asarray(np.maximum(scatter / self.total, LEAST_VARIANCE * span * span))

    @cached_property
    def freedom(self) -> FloatArray:
        """The degrees of freedom of a variance that the classes share (columns,)."""
        return np.asarray(self.total - self.n.shape[1])

    def _students(self, x: FloatArray, left: Moments, within: FloatArray, freedom: FloatArray) -> list[FloatArray]:
        """The log-likelihood of values under Student's t: with its own variance, and with one shared by the classes."""
        of_columns = (-1, *[1] * (x.ndim - 1))
        center, floor = self.center.reshape(of_columns), VARIANCE_FLOOR * self.variance.reshape(of_columns)
        usual = (self.m2.sum(axis=1) / np.maximum(self.freedom, 1.0)).reshape(of_columns)
        own = student_predictive(*left, center, np.maximum(usual, floor))
        return [log_student(x, *own), log_student(x, *pooled_predictive(*left[:2], within, freedom, center, floor))]

    @cached_property
    def bins(self) -> IntArray:
        """The bin of each cell (columns, cells), of about equal weight; with few cells each is one."""
        weight = self.counts.sum(axis=1)
        rank = (np.cumsum(weight, axis=1) - weight / 2) / weight.sum(axis=1, keepdims=True)
        dealt = np.minimum((rank * N_BINS).astype(np.int64), N_BINS - 1)
        bins = np.zeros_like(dealt)
        bins[:, 1:] = np.cumsum(np.diff(dealt, axis=1) > 0, axis=1)
        bins = np.where(self.n_cells[:, None] <= N_BINS, np.arange(bins.shape[1]), bins)
        return np.asarray(np.minimum(bins, np.take_along_axis(bins, self.n_cells[:, None] - 1, axis=1)))

    @cached_property
    def in_bins(self) -> FloatArray:
        """The weight of each class and bin (columns, classes, bins)."""
        shape = (*self.n.shape, N_BINS)
        places = N_BINS * np.arange(self.n.size).reshape(*self.n.shape, 1) + self.bins[:, None]
        return np.bincount(places.ravel(), self.counts.ravel(), self.n.size * N_BINS).reshape(shape)

    @cached_property
    def marginal(self) -> FloatArray:
        """The share of each bin in a pseudo-row (columns, bins)."""
        return np.asarray((self.in_bins.sum(axis=1) + 1) / (self.total + self.bins[:, -1] + 1)[:, None])

    @cached_property
    def cuts(self) -> FloatArray:
        """Where each bin but the first begins (columns, bins - 1); nowhere for bins that there are not."""
        first = (self.bins[:, :, None] < np.arange(1, N_BINS)).sum(axis=1)
        there = first < self.bins.shape[1]
        first = np.where(there, first, 1)
        before, after = (np.take_along_axis(self.values, cells, axis=1) for cells in (first - 1, first))
        return np.where(there, (before + after) / 2, np.inf)

    def likelihood(self, x: FloatArray, bins: IntArray) -> FloatArray:
        """The log-likelihood (columns, densities, classes, n) of values (columns, n) that are in these bins."""
        moments = (self.n[:, :, None], self.mean[:, :, None], self.m2[:, :, None])
        within = self.m2.sum(axis=1)[:, None, None]
        students = self._students(x[:, None], moments, within, self.freedom[:, None, None])
        counts = np.take_along_axis(self.in_bins, bins[:, None], axis=2)
        marginal = np.take_along_axis(self.marginal, bins, axis=1)[:, None]
        rows = self.in_bins.sum(axis=2)[:, :, None]
        return np.stack([*students, np.log((counts + marginal) / (rows + 1))], axis=1)

    def own_likelihood(self, cells: IntArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        """That of rows in cells (columns, rows) under their own classes (rows,), without the weight (rows,) they gave.

        (columns, densities, rows)
        """
        x, bins = np.take_along_axis(self.values, cells, axis=1), np.take_along_axis(self.bins, cells, axis=1)
        m2 = self.m2[:, codes]
        left = without_row(self.n[:, codes], self.mean[:, codes], m2, x, weights)
        within = self.m2.sum(axis=1)[:, None] - m2 + left[2]
        students = self._students(x, left, within, self.freedom[:, None] - weights)
        counts = np.maximum(self.in_bins[np.arange(len(bins))[:, None], codes, bins] - weights, 0.0)
        rows = np.maximum(self.in_bins.sum(axis=2)[:, codes] - weights, 0.0)
        marginal = np.take_along_axis(self.marginal, bins, axis=1)
        return np.stack([*students, np.log((counts + marginal) / (rows + 1))], axis=1)

    # -- their mixture --------------------------------------------------------------------------------------------

    @cached_property
    def _full(self) -> FloatArray:
        return self.likelihood(self.values, self.bins)

    @cached_property
    def odds(self) -> FloatArray:
        """Likelihoods of cells up to a factor per density and cell (columns, densities, classes, cells)."""
        return np.asarray(np.exp(self._full - self._full.max(axis=2, keepdims=True)))

    def _own_odds(self, cells: IntArray, codes: IntArray, weights: FloatArray) -> FloatArray:
        """Those of rows under their own classes (columns, densities, rows), without the weights that they gave."""
        highest = np.take_along_axis(self._full.max(axis=2), cells[:, None], axis=2)
        return np.asarray(np.exp(np.minimum(self.own_likelihood(cells, codes, weights) - highest, 700.0)))

    @cached_property
    def own_odds(self) -> FloatArray:
        """Those of a typical row of each class and cell (columns, densities, classes, cells), without the row."""
        n_columns, n_classes, n_cells = self.counts.shape
        codes = np.repeat(np.arange(n_classes), n_cells)
        cells = np.tile(np.arange(n_cells), (n_columns, n_classes))
        return self._own_odds(cells, codes, self.row_weight[codes]).reshape(n_columns, -1, n_classes, n_cells)

    @cached_property
    def _posterior(self) -> FloatArray:
        """P(class) of a row of each class and cell, without the row, under each density."""
        # With the prior: without it a density that merely leans to the frequent class would win.
        prior = ((self.n + 1) / (self.n + 1).sum(axis=1, keepdims=True))[:, None, :, None]
        found = own_posterior(prior * self.odds, prior * self.own_odds)
        return found.reshape(*found.shape[:2], -1)

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each density (columns, densities)."""
        return mixture_shares(self._posterior, self.counts.reshape(len(self.counts), -1))

    def _shares_without(self, cells: IntArray, codes: IntArray, folds: Folds) -> FloatArray:
        """The shares that the rows of all folds but one give (columns, folds, densities)."""
        gone = np.stack([folds.tables(codes, of_column, self.counts.shape[1:]) for of_column in cells])
        left = np.maximum(self.counts[:, None] - gone, 0.0)
        return mixture_shares(self._posterior[:, None], left.reshape(*left.shape[:2], -1), start=self.shares[:, None])

    def leave_one_out(
        self, cells: IntArray, codes: IntArray, weights: FloatArray, folds: Folds | None = None
    ) -> FloatArray:
        """The centred evidence (columns, classes, rows) of training rows, each with itself removed.

        Parameters
        ----------
        cells : int64 array (columns, rows)
            The cell of each row; -1 where the value is missing, which gives no evidence.
        codes : int64 array (rows,)
        weights : float64 array (rows,)
            What the removed rows weigh.
        folds : Folds, optional
            Where given, the shares of the densities are those that the rows of other folds give.
        """
        places, of_rows = np.maximum(cells, 0), np.zeros_like(codes) if folds is None else folds.of_rows
        shares = self.shares[:, None] if folds is None else self._shares_without(cells, codes, folds)
        typical = np.allclose(weights, self.row_weight[codes], 1e-12, 0)
        if typical and shares.shape[1] * self.counts[0].size <= len(codes):
            said = self._told_by_cell(places, codes, of_rows, shares)
        else:
            own = self.own_odds[np.arange(len(cells))[:, None], :, codes, places].swapaxes(1, 2) if typical else None
            own = self._own_odds(places, codes, weights) if own is None else own
            odds = np.take_along_axis(self.odds, places[:, None, None], axis=3)
            odds[:, :, codes, np.arange(len(codes))] = own
            said = mixed_evidence(shares[:, of_rows].swapaxes(1, 2), odds)
        said[np.broadcast_to(cells[:, None] < 0, said.shape)] = 0.0
        return said

    def let_go(self) -> None:
        """Forget what only left-out rows are told by, which is large; it is found again when some are asked."""
        for name in {"_full", "odds", "own_odds", "_posterior"} & vars(self).keys():
            del vars(self)[name]

    def _told_by_cell(self, cells: IntArray, codes: IntArray, folds: IntArray, shares: FloatArray) -> FloatArray:
        """The evidence (columns, classes, rows) of typical rows, computed once for all of a class, fold and cell.

        The shares are those without each fold (columns, folds, densities).
        """
        n_columns, n_classes, n_cells = self.counts.shape
        odds = np.repeat(self.odds[:, None], n_classes, axis=1)  # (columns, own class, densities, classes, cells)
        own = np.arange(n_classes)
        odds[:, own, :, own] = np.moveaxis(self.own_odds, 2, 0)
        of_cells = np.broadcast_to(shares[:, :, None, :, None], (*shares.shape[:2], 1, shares.shape[2], 1))
        told = mixed_evidence(of_cells, odds[:, None])  # (columns, folds, own class, classes, cells)
        places = (folds * n_classes + codes) * n_cells + cells
        by_class = np.moveaxis(told, 3, 1).reshape(n_columns, n_classes, -1)
        return np.take_along_axis(by_class, places[:, None], axis=2)

    def curves(self) -> list[tuple[FloatArray, FloatArray]]:
        """The knots (knots,) and the evidence at them (classes, knots) of each column; all cells are knots."""
        margin = KERNEL_MARGIN * np.sqrt(self.variance)
        fill = np.linspace(self.values[:, 0] - margin, self.values[:, -1] + margin, FILL_KNOTS, axis=1)
        with np.errstate(over="ignore"):  # no knot may overflow when scaled back
            far = np.abs(np.ldexp(fill, self.exponents[:, None])) >= LARGEST
        fill = np.where(far, self.values[:, -1:], fill)
        knots = np.sort(np.concatenate([self.values, fill], axis=1), axis=1)
        bins = (knots[:, :, None] >= self.cuts[:, None]).sum(axis=2)
        said = self.likelihood(knots, bins)
        table = mixed_evidence(self.shares[:, :, None], np.exp(said - said.max(axis=2, keepdims=True)))
        new = np.diff(knots, axis=1, prepend=-np.inf) > 0
        back = np.ldexp(knots, self.exponents[:, None])
        return [(at[one], of[:, one]) for at, of, one in zip(back, table, new, strict=True)]
