"""Numbers in bins: the probability of every bin, per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from naively.errors import ParameterError
from naively.families._bins import equal_frequency, first_cells, minimum_description_length, pkid_bins
from naively.families._cells import left_out
from naively.families._distributions import Numbers, draw_places
from naively.families._steps import Steps
from naively.families._uncertainty import Uncertain, independent, looked_up
from naively.families.base import Family, LeftOut, Parameters
from naively.smoothing import Smoothing, smoothed_frequencies
from naively.statistics._counts import frequencies_without
from naively.statistics._histogram import Histogram, Histograms
from naively.statistics._information import standardised_gap
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Binned(Family):
    """Numbers cut into bins, each with its probability, smoothed like any category's.

    Parameters
    ----------
    bins : "pkid", "mdl" or int, default="pkid"
        "pkid" (proportional discretisation, Yang and Webb): bins with about as many rows as there are bins. "mdl"
        (Fayyad and Irani): cuts where the classes change, as long as a cut saves more bits than it costs to tell. A
        number: so many bins of about equal weight.

    Notes
    -----
    The cuts come from the column's additive histogram, so they need no second look at the data and change as rows are
    learnt, forgotten or merged. Equal values are never separated, so there may be fewer bins than asked for; below the
    first and above the last cut the bins have no end. With "mdl" a column that tells nothing is one bin.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [7.0], [8.0], [9.0], [9.5]], ["a"] * 4 + ["b"] * 4
    >>> model = NaiveBayes("textbook", families=Binned("mdl")).fit(X, y)
    >>> model.parameters()["x0"]["cuts"]
    array([5.5])
    >>> model.predict_proba([[5.0]]).round(3)
    array([[0.833, 0.167]])
    """

    leaves_out_exactly: ClassVar[bool] = False

    bins: Literal["pkid", "mdl"] | int = "pkid"

    def __post_init__(self) -> None:
        whole = isinstance(self.bins, (int, np.integer)) and not isinstance(self.bins, bool) and self.bins >= 2
        if not whole and not (isinstance(self.bins, str) and self.bins in ("pkid", "mdl")):
            raise ParameterError(
                f"Binned(bins) must be 'pkid', 'mdl' or a whole number of at least 2, got {self.bins!r}."
            )

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("histogram"),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, histograms: Histograms, *, smoothing: Smoothing) -> Steps:
        """Cuts, and the probability of each bin; smoothing adds pseudo-counts to every bin."""
        columns = [self.bins_of(histogram) for histogram in histograms.histograms]
        probabilities = [smoothed_frequencies(counts, smoothing, _labels(counts)) for _, counts, _ in columns]
        return Steps([cuts for _, _, cuts in columns], probabilities)

    def bins_of(self, histogram: Histogram) -> tuple[IntArray, FloatArray, FloatArray]:
        """The bin of each cell, the counts (classes, bins), and the cuts between the bins."""
        counts = histogram.counts
        if not len(histogram.keys):
            return np.empty(0, np.int64), np.zeros((histogram.n_classes, 1)), np.empty(0)
        if self.bins == "mdl":
            bins = minimum_description_length(counts)
        else:
            bins = equal_frequency(counts, pkid_bins(counts.sum()) if self.bins == "pkid" else int(self.bins))
        first = first_cells(bins)
        return bins, np.add.reduceat(counts, first, axis=1), histogram.cuts_before(first[1:])

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, histograms: Histograms, *, smoothing: Smoothing) -> LeftOut:
        """The bins' counts without the row: exact, but that the cuts stay as they are."""
        columns = []
        for bins, counts, _ in map(self.bins_of, histograms.histograms):
            columns.append(partial(_without, bins, counts, smoothing) if len(bins) else None)
        return left_out(histograms, columns)

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """The probability of every bin; the cuts are not counted."""
        return Parameters.of_values(n_classes, [probability.shape[1] for probability in estimate.probabilities])

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Numbers:
        """The values that occurred: in a bin they are as frequent as overall."""
        columns = [
            _values_in_bins(histogram.values(), histogram.counts.sum(axis=0), cuts, probability)
            for histogram, cuts, probability in zip(
                tables[0].histograms, estimate.cuts, estimate.probabilities, strict=True
            )
        ]

        def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
            return np.stack([values[draw_places(table, codes, rng)] for values, table in columns], axis=1)

        return Numbers(np.stack([table @ values for values, table in columns], axis=1), draw)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: FloatArray) -> Uncertain:
        """Under a Dirichlet posterior of the bins' probabilities."""
        places = [
            np.where(np.isnan(cells), -1, np.searchsorted(cuts, cells, side="right"))
            for cells, cuts in zip(block.T, estimate.cuts, strict=True)
        ]
        counts = self.cells(*tables)
        return independent(*looked_up(counts, [_labels(one) for one in counts], smoothing, np.stack(places, axis=1)))

    def cells(self, histograms: Histograms) -> list[FloatArray]:
        """The counts of the bins."""
        return [self.bins_of(histogram)[1] for histogram in histograms.histograms]

    def effect(self, histograms: Histograms) -> FloatArray:
        """By the means and scatters of the values."""
        return np.array([_histogram_effect(histogram) for histogram in histograms.histograms])


def _histogram_effect(histogram: Histogram) -> float:
    counts, values = histogram.counts, histogram.values()
    weight = counts.sum(axis=1)
    mean = (counts @ values) / np.where(weight > 0, weight, 1.0)
    scatter = (counts * np.square(values - mean[:, None])).sum(axis=1)
    return float(standardised_gap(weight, mean, scatter))


def _values_in_bins(
    values: FloatArray, weights: FloatArray, cuts: FloatArray, probability: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The values that occurred and their probabilities (classes, values): in a bin they are as frequent as overall."""
    if not len(values):
        return np.full(1, np.nan), np.ones((len(probability), 1))
    bins = np.searchsorted(cuts, values, side="right")
    of_bin = np.bincount(bins, weights, probability.shape[1])
    return values, probability[:, bins] * weights / of_bin[bins]


def _without(
    bins: IntArray, counts: FloatArray, smoothing: Smoothing, cells: IntArray, codes: IntArray, weights: FloatArray
) -> FloatArray:
    """The log-probability (classes, rows) of the rows' bins by the classes without them."""
    with np.errstate(divide="ignore"):
        return np.log(frequencies_without(Sum(counts), smoothing, _labels(counts), bins[cells], codes, weights))


def _labels(counts: FloatArray) -> Sequence[int]:
    return range(counts.shape[1])
