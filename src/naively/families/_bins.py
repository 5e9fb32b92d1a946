"""Bins of a numeric column: which cells of its histogram go together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from naively.statistics._histogram import Histogram, Histograms
from naively.typing import FloatArray, IntArray

FEW_BINS = 10
"""Columns of numbers with a histogram are ranked by at most so many bins of equal weight."""

NOTHING = 1e-12
"""A share of the rows below this is rounding."""


def equal_frequency(counts: FloatArray, n_bins: int) -> IntArray:
    """Return the bin of each cell (cells,) when cells are dealt to ``n_bins`` bins of about equal weight.

    With at most ``n_bins`` cells each is a bin of its own. Bins are numbered without gaps: ties can leave fewer.
    """
    if counts.shape[1] <= n_bins:
        return np.arange(counts.shape[1])
    cell = counts.sum(axis=0)
    rank = (np.cumsum(cell) - cell / 2) / cell.sum()
    bins = np.minimum((rank * n_bins).astype(np.int64), n_bins - 1)
    return np.concatenate(([0], np.cumsum(np.diff(bins) > 0))).astype(np.int64)


def equal_frequency_cuts(values: FloatArray, weights: FloatArray | None = None, n_bins: int = 10) -> FloatArray:
    """Cut points that give bins of nearly equal weight.

    Parameters
    ----------
    values
        Values, or the representatives of histogram cells. NaN is ignored.
    weights
        Weight of each value (the counts of the histogram cells); 1 each if not given.
    n_bins
        Number of bins wanted; ties may leave fewer. With at most ``n_bins`` distinct values each
        value gets its own bin: no cut could say more.

    Returns
    -------
    Increasing cut points, each between two neighbouring distinct values.
    """
    values = np.asarray(values, dtype=np.float64)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    used = ~np.isnan(values) & (weights > 0)
    distinct, inverse = np.unique(values[used], return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    if len(distinct) <= n_bins:
        boundaries = np.arange(1, len(distinct))
    else:
        cumulative = np.cumsum(np.bincount(inverse, weights=weights[used]))
        targets = cumulative[-1] * np.arange(1, n_bins) / n_bins
        above = np.clip(np.searchsorted(cumulative, targets), 1, len(distinct) - 1)
        # The boundary whose cumulative weight is nearest to the target: heavy ties stay whole.
        nearer_below = targets - cumulative[above - 1] <= cumulative[above] - targets
        boundaries = np.unique(np.where(nearer_below, above, above + 1))
        boundaries = boundaries[boundaries < len(distinct)]
    lower, upper = distinct[boundaries - 1], distinct[boundaries]
    # Halving first cannot overflow; where the two halves round to the lower value, cut at the upper.
    middle = lower / 2 + upper / 2
    return np.where((middle > lower) & (middle < upper), middle, upper)


def pkid_bins(total: float) -> int:
    """Return the number of bins by proportional discretisation: as many as rows in each."""
    return max(int(np.sqrt(total)), 1)


def first_cells(bins: IntArray) -> IntArray:
    """Return the first cell of each bin (bins,) from the bin of each cell (cells,)."""
    return np.flatnonzero(np.concatenate(([True], np.diff(bins) > 0)))


def minimum_description_length(counts: FloatArray) -> IntArray:
    """Return the bin of each cell (cells,) by Fayyad and Irani's recursive splits of ``counts`` (classes, cells).

    An interval is split where the classes' entropy falls most, as long as that saves more bits than telling the split
    costs.
    """
    cells = counts.shape[1]
    before = np.concatenate([np.zeros((counts.shape[0], 1)), np.cumsum(counts, axis=1)], axis=1)
    cuts, waiting = [], [(0, cells)]
    while waiting:
        first, last = waiting.pop()
        cut = _accepted_split(before[:, first : last + 1] - before[:, first : first + 1])
        if cut:
            cuts.append(first + cut)
            waiting += [(first, first + cut), (first + cut, last)]
    bins = np.zeros(cells, dtype=np.int64)
    bins[cuts] = 1
    return np.cumsum(bins)


def _accepted_split(before: FloatArray) -> int:
    """Return how many cells the left part of the best split has, 0 if none pays; counts are cumulated from zero."""
    if before.shape[1] < 3:
        return 0
    of_all, left = before[:, -1:], before[:, 1:-1]
    right = of_all - left
    total, left_total, right_total = of_all.sum(), left.sum(axis=0), right.sum(axis=0)
    entropy = float(_entropy(of_all)[0])
    if entropy == 0:
        return 0
    left_entropy, right_entropy = _entropy(left), _entropy(right)
    remaining = (left_total * left_entropy + right_total * right_entropy) / total
    best = int(np.argmin(remaining))
    classes, left_classes, right_classes = (
        float((part > NOTHING * total).sum()) for part in (of_all, left[:, best], right[:, best])
    )
    told = left_classes * left_entropy[best] + right_classes * right_entropy[best]
    cost = np.log2(max(total - 1, 1.0)) + _log2_of_three_to(classes) - (classes * entropy - told)
    return best + 1 if total * (entropy - remaining[best]) > cost else 0


def _log2_of_three_to(classes: float) -> float:
    """Return log2(3**classes - 2), for any number of classes."""
    return float(classes * np.log2(3) + np.log1p(-2 * 3.0**-classes) / np.log(2))


def _entropy(counts: FloatArray) -> FloatArray:
    """Return the entropy in bits of each column of ``counts`` (classes, n)."""
    share = counts / np.maximum(counts.sum(axis=0), 1e-300)
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=0))


def histogram_cells(histograms: Histograms) -> list[FloatArray]:
    """The counts (classes, bins) of a few bins of about equal weight, for each column."""
    return [_few_bins(histogram) for histogram in histograms.histograms]


def _few_bins(histogram: Histogram) -> FloatArray:
    if not len(histogram.keys):
        return np.zeros((histogram.n_classes, 1))
    bins = equal_frequency(histogram.counts, FEW_BINS)
    return np.asarray(np.add.reduceat(histogram.counts, first_cells(bins), axis=1))


def names_of_bins(cuts: Sequence[float]) -> list[str]:
    """What to call the bins between cuts, each of which begins the next bin.

    Examples
    --------
    >>> names_of_bins([1.5, 20.0]), names_of_bins([])
    (['< 1.5', '[1.5, 20)', '>= 20'], ['any'])
    """
    ends = [f"{cut:.6g}" for cut in cuts]
    if not ends:
        return ["any"]
    inner = [f"[{low}, {high})" for low, high in pairwise(ends)]
    return [f"< {ends[0]}", *inner, f">= {ends[-1]}"]
