"""One numeric column as leave-one-out-stacked evidence: a mixture of densities, kept as one table of knots.

Each density gives P_f(class | x_i) under equal class weights; the column's evidence is the logarithm of their average,
``log sum_f a_f softmax_j(l_fj)``. The shares ``a`` maximise the leave-one-out likelihood of the classes, prior in.
That needs the (cell, class) pairs with their counts only, never the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from naively._kernels.reference import share_between
from naively.errors import ParameterError
from naively.families._densities import FAMILIES, KERNEL_MARGIN, Sample, normal_scores, rescaled
from naively.typing import FloatArray, IntArray

NEWTON_STEPS = 50
LEAST_GAIN = 1e-8
"""Shares are found once a step gains fewer nats than this, over all items."""

FLATNESS = 1e-9
"""Two components that say the same have any shares between them: a curvature that keeps the step finite."""

SHORTEST = 1e-6
PSEUDO_COUNT = 1.0
FILL_KNOTS = 257
FILL_WEIGHT = 1e-3
"""What all knots count together, in shares of the rows, where evidence is made monotone: between cells are no rows."""
TINY = 1e-300
LEAST_MIXTURE = 1e-100
"""An item that no component can have: its square is still above zero."""
LARGEST = 2.0**1022
MANY_CLASSES = 32
LEAST_DEVIATION = 1e-6
"""Scores of values that rows of less than 1e-14 of the weight have are not stretched to unit variance."""


def mixture_shares(
    likelihood: FloatArray,
    weights: FloatArray,
    pseudo_counts: FloatArray | float = PSEUDO_COUNT,
    start: FloatArray | None = None,
) -> FloatArray:
    """Return the shares of a mixture that make items most probable, with a pseudo-count for each component.

    The logarithm of that probability is concave in the shares, so Newton's method finds them. EM takes thousands of
    steps where a component is a little better than another for each of many items.

    Parameters
    ----------
    likelihood : float64 array (..., components, items)
        Likelihood of each item under each component, leave-one-out or cross-fitted.
    weights : float64 array (..., items)
        Of several mixtures, found together, if there are more dimensions than one.
    pseudo_counts : float64 array (components,) or float, default=1
    start : float64 array (..., components), optional
        Shares to start from, all above zero: those of nearly the same items save steps.

    Returns
    -------
    float64 array (..., components), summing to one.
    """
    components = likelihood.shape[-2]
    highest = likelihood.max(axis=-2, keepdims=True)
    likelihood = likelihood / np.where(highest > 0, highest, 1.0)  # a factor of an item changes no share
    counts = np.broadcast_to(np.asarray(pseudo_counts, dtype=np.float64), (components,))
    total = (weights.sum(axis=-1) + counts.sum())[..., None]
    weights, counts = weights / total, counts / total
    first = np.full(components, 1 / components) if start is None else start
    shares = np.broadcast_to(first, counts.shape)
    mixture = _mixture(shares, likelihood)
    for _ in range(NEWTON_STEPS):
        each = weights / mixture
        # by the logarithm of each share, as is all that follows
        gradient = shares * (likelihood @ each[..., None])[..., 0] + counts - shares
        weighed = likelihood * (each / mixture)[..., None, :]
        products = weighed @ np.swapaxes(likelihood, -1, -2)
        curvature = shares[..., :, None] * products * shares[..., None, :]
        curvature[..., np.arange(components), np.arange(components)] += counts + FLATNESS * shares
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        found = (gradient * step).sum(axis=-1) * total[..., 0] < LEAST_GAIN
        if found.all():
            break
        length = np.where(found, 0.0, np.minimum(1.0, 0.9 / np.maximum(-step.min(axis=-1), TINY)))
        value = _log_probability(shares, mixture, weights, counts)
        while True:
            moved = shares * (1 + length[..., None] * step)
            mixture = _mixture(moved, likelihood)
            worse = _log_probability(moved, mixture, weights, counts) < value
            if not (worse & (length >= SHORTEST)).any():
                break
            length = np.where(worse, length / 2, length)
        shares = moved
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _mixture(shares: FloatArray, likelihood: FloatArray) -> FloatArray:
    """The likelihood of each item (..., items) under mixtures with shares (..., components)."""
    return np.maximum((shares[..., None, :] @ likelihood)[..., 0, :], LEAST_MIXTURE)


def _log_probability(shares: FloatArray, mixture: FloatArray, weights: FloatArray, counts: FloatArray) -> FloatArray:
    """What the shares of mixtures maximise (...,)."""
    of_items = (weights * np.log(mixture)).sum(axis=-1)
    return np.asarray(of_items + (counts * np.log(shares)).sum(axis=-1) - shares.sum(axis=-1))


@dataclass(frozen=True)
class Folds:
    """Which fold each of some training rows is in, and what it weighs, (rows,) each."""

    of_rows: IntArray
    weights: FloatArray

    def tables(self, codes: IntArray, cells: IntArray, shape: tuple[int, ...]) -> FloatArray:
        """The weight of each fold, class and cell, (folds, classes, cells); rows without a cell have none."""
        whole = (int(self.of_rows.max(initial=-1)) + 1, *shape)
        known = cells >= 0
        places = np.ravel_multi_index((self.of_rows[known], codes[known], cells[known]), whole)
        found: FloatArray = np.bincount(places, self.weights[known], int(np.prod(whole))).astype(np.float64)
        return found.reshape(whole)


@dataclass(frozen=True)
class StackedColumn:
    """The evidence of one numeric column.

    The table *is* the model: between knots the evidence is linear, beyond the first and the last it is constant. All
    cells of the histogram are knots, so the tables of the cells are exact.

    Parameters
    ----------
    values : float64 array (cells,)
        The values of the histogram's cells.
    shares : float64 array (families,)
        Share of each density in the mixture.
    odds : float64 array (families, classes, cells)
        Likelihoods up to a factor per (family, cell).
    knots : float64 array (knots,), ascending
    table : float64 array (classes, knots)
        Evidence at the knots, centred over the classes.
    own_odds : function
        Maps (codes, cells, weights) of rows to the odds (families, rows) of their own class once so much weight is
        removed.
    row_weight : float64 array (classes,)
        The weight of a row of each class.
    shares_without : function, optional
        Maps weights (folds, classes, cells) of rows to the shares (folds, families) that all other rows give.
    shift : float64 array (classes, cells), optional
        What was added to the evidence of each cell to make it monotone; it is added to left-out evidence, too.
    """

    values: FloatArray
    shares: FloatArray
    odds: FloatArray
    own_odds: Callable[[IntArray, IntArray, FloatArray], FloatArray]
    knots: FloatArray
    table: FloatArray
    row_weight: FloatArray
    shares_without: Callable[[FloatArray], FloatArray] | None = None
    shift: FloatArray | None = None

    @property
    def full(self) -> FloatArray:
        """Evidence of each cell (classes, cells), centred over the classes."""
        return self.table[:, np.searchsorted(self.knots, self.values)]

    def evidence(self, x: FloatArray) -> FloatArray:
        """Return the evidence (classes, n) of values (n,); NaN has none."""
        return interpolate(self.knots, self.table, x)

    def leave_one_out(
        self, cells: IntArray, codes: IntArray, weights: FloatArray | None = None, folds: Folds | None = None
    ) -> FloatArray:
        """Return the centred evidence (classes, rows) of training rows, each with itself removed.

        Parameters
        ----------
        cells : int64 array (rows,)
            Cell of each row; -1 where the value is missing, which gives no evidence.
        codes : int64 array (rows,)
            Class of each row.
        weights : float64 array (rows,), optional
            What the removed rows weigh; as a row of their class by default.
        folds : Folds, optional
            Where given, the shares of the densities are those that the rows of other folds give.
        """
        own = self.own_odds(codes, cells, self.row_weight[codes] if weights is None else weights)
        shares = self.shares[:, None]
        if folds is not None and self.shares_without is not None:
            shares = self.shares_without(folds.tables(codes, cells, self.odds.shape[1:]))[folds.of_rows].T
        mix = mixed_by_cell if self.odds.shape[1] > MANY_CLASSES else mixed_by_row
        said = mix(shares, self.odds, own, cells, codes)
        if self.shift is not None:
            said += self.shift[:, cells]
        said[:, cells < 0] = 0.0
        return said

    def monotone(self, counts: FloatArray, sign: int) -> StackedColumn:
        """The column with the nearest evidence that rises (1) or falls (-1) from the first to the second class.

        Parameters
        ----------
        counts : float64 array (classes, cells)
        sign : 1 or -1
        """
        from scipy.optimize import isotonic_regression

        if len(counts) > 2:
            raise ParameterError(
                "A monotone column needs two classes, one whose odds rise and one whose odds fall, but there are "
                f"{len(counts)}. Leave out monotone=, or merge classes."
            )
        if len(counts) < 2 or len(self.knots) < 2:
            return self
        places = np.searchsorted(self.knots, self.values)
        weights = np.full(len(self.knots), FILL_WEIGHT * counts.sum() / len(self.knots))
        weights[places] += counts.sum(axis=0)
        risen = sign * isotonic_regression(sign * self.table[1], weights=weights).x
        table = np.stack([-risen, risen])
        return replace(self, table=table, shift=(table - self.table)[:, places])


def stack(
    sample: Sample,
    families: Sequence[str] = tuple(FAMILIES),
    row_weight: FloatArray | float = 1.0,
    monotone: int = 0,
) -> StackedColumn:
    """Fit every density to ``sample`` and stack them; a column that is to be monotone is made so.

    A column with fewer than two distinct values carries no evidence. ``row_weight`` is what a row of each class weighs,
    which is left out to judge it.
    """
    classes, n_cells = sample.counts.shape
    if n_cells < 2:
        silence = (np.zeros(1), np.zeros((classes, 1)))
        odds = np.ones((1, classes, n_cells))
        return StackedColumn(
            sample.values, np.ones(1), odds, lambda codes, *_: np.ones((1, len(codes))), *silence, np.ones(classes)
        )
    values = sample.values
    sample, exponent = rescaled(sample)
    fitted = [FAMILIES[name](sample) for name in families]
    full = np.stack([density.full for density in fitted])
    highest = full.max(axis=1, keepdims=True)
    odds = np.exp(full - highest)
    without = [density.without for density in fitted]  # the rest of a density is large, and need not stay

    def own_odds(codes: IntArray, cells: IntArray, weights: FloatArray) -> FloatArray:
        left = np.stack([one(codes, cells, weights) for one in without])
        return np.asarray(np.exp(np.minimum(left - highest[:, 0, cells], 700.0)))

    of_one = np.broadcast_to(row_weight, (classes,))
    present = sample.counts > 0
    codes, cells = np.nonzero(present)
    # With the prior: without it a density that merely leans to the frequent class would win.
    prior = (sample.n + 1) / (sample.n + 1).sum()
    likelihood = prior[:, None] * odds
    own = prior[codes] * own_odds(codes, cells, of_one[codes])
    others = np.maximum(likelihood.sum(axis=1)[:, cells] - likelihood[:, codes, cells], 0.0)
    posterior = own / np.maximum(others + own, TINY)
    shares = mixture_shares(posterior, sample.counts[present])

    def shares_without(gone: FloatArray) -> FloatArray:
        return mixture_shares(posterior, np.maximum(sample.counts - gone, 0.0)[:, present], start=shares)

    fill = fill_knots(sample)
    with np.errstate(over="ignore"):
        fill = fill[np.abs(np.ldexp(fill, exponent)) < LARGEST]  # no knot may overflow when scaled back
    filled = np.stack([density.at(fill) for density in fitted])
    filled -= filled.max(axis=1, keepdims=True)
    np.exp(filled, out=filled)  # in place: of many classes it is large
    knots = np.concatenate([values, np.ldexp(fill, exponent)])
    order = np.argsort(knots)
    table = np.concatenate([mixed_evidence(shares, odds), mixed_evidence(shares, filled)], axis=1)
    column = StackedColumn(
        values, shares, odds, own_odds, knots[order], table[:, order], of_one, shares_without=shares_without
    )
    return column.monotone(sample.counts, monotone) if monotone else column


def own_posterior(odds: FloatArray, own_odds: FloatArray) -> FloatArray:
    """Return P_f(class | cell) of rows of each class and cell, with the row removed (..., families, classes, cells)."""
    others = np.maximum(odds.sum(axis=-2, keepdims=True) - odds, 0.0)
    return np.asarray(own_odds / np.maximum(others + own_odds, TINY))


def mixed_evidence(shares: FloatArray, odds: FloatArray) -> FloatArray:
    """Return log sum_f a_f P_f(class | x), centred over the classes, from likelihoods (..., families, classes, n).

    The shares a are (families,), or (..., families, n) where they differ by item.
    """
    weight = (shares[:, None] if shares.ndim == 1 else shares) / np.maximum(odds.sum(axis=-2), TINY)
    return centred(np.log(np.maximum(np.einsum("...fn,...fjn->...jn", weight, odds), TINY)))


def mixed_by_row(shares: FloatArray, odds: FloatArray, own: FloatArray, cells: IntArray, codes: IntArray) -> FloatArray:
    """Return the mixed evidence (classes, rows) of cells, where a row's class has the odds `own` (families, rows)."""
    of_rows = odds[:, :, cells]
    of_rows[:, codes, np.arange(len(cells))] = own
    return mixed_evidence(np.broadcast_to(shares, own.shape), of_rows)


def mixed_by_cell(
    shares: FloatArray, odds: FloatArray, own: FloatArray, cells: IntArray, codes: IntArray
) -> FloatArray:
    """Return what `mixed_by_row` does, all rows of a cell at once: odds of many classes are not spread to rows."""
    totals = np.maximum(odds.sum(axis=1)[:, cells] - odds[:, codes, cells], 0.0) + own
    weight = (shares / np.maximum(totals, TINY)).T
    by_cell = np.ascontiguousarray(np.moveaxis(odds, 2, 0))
    mixture = np.empty((len(cells), odds.shape[1]))
    order = np.argsort(cells, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1):
        mixture[rows] = weight[rows] @ by_cell[cells[rows[0]]] if len(rows) else 0.0
    mixture[np.arange(len(cells)), codes] = (weight * own.T).sum(axis=1)
    said = np.log(np.maximum(mixture, TINY, out=mixture), out=mixture)  # in place: of many classes it is large
    said -= said.mean(axis=1, keepdims=True)
    return said.T


def centred(evidence: FloatArray) -> FloatArray:
    """Subtract the mean over the classes from evidence (..., classes, n)."""
    return np.asarray(evidence - evidence.mean(axis=-2, keepdims=True))


def fill_knots(sample: Sample) -> FloatArray:
    """Return knots between and beyond the cells, where smooth densities bend: a regular grid without the cells."""
    margin = KERNEL_MARGIN * np.sqrt(sample.total_variance)
    grid = np.linspace(sample.values[0] - margin, sample.values[-1] + margin, FILL_KNOTS)
    return np.setdiff1d(grid, sample.values)


def interpolate(knots: FloatArray, table: FloatArray, x: FloatArray) -> FloatArray:
    """Interpolate ``table`` (classes, knots) at ``x`` (n,): linear inside, constant beyond, 0 where NaN."""
    missing = np.isnan(x)
    if len(knots) == 1:
        return np.where(missing, 0.0, table[:, :1])
    inside = np.clip(np.where(missing, knots[0], x), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, len(knots) - 2)
    share = share_between(inside, knots[left], knots[left + 1])
    result = table[:, left] * (1 - share) + table[:, left + 1] * share
    return np.where(missing, 0.0, result)


def standard_scores(counts: FloatArray) -> FloatArray:
    """Return the normal score of each cell, scaled to mean 0 and variance 1 over the counted rows (cells,)."""
    if counts.shape[1] < 2:
        return np.zeros(counts.shape[1])
    scores, share = normal_scores(counts), counts.sum(axis=0) / counts.sum()
    scores = scores - share @ scores
    return np.asarray(scores / max(np.sqrt(share @ scores**2), LEAST_DEVIATION))
