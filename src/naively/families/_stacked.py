"""Several densities at once, mixed by how well each tells the classes of left-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from naively._common.checks import require_one_of, some_of
from naively.errors import ParameterError
from naively.families._bins import histogram_cells
from naively.families._cells import left_out
from naively.families._curves import Curve, Curves
from naively.families._densities import FAMILIES, Sample
from naively.families._gaussian import Gaussian
from naively.families._stacking import StackedColumn, stack
from naively.families.base import EvidenceReader, Family, LeftOut
from naively.smoothing import Smoothing
from naively.statistics._histogram import Histograms
from naively.statistics._information import standardised_gap
from naively.statistics._moments import Moments, centred
from naively.statistics.base import Summary
from naively.typing import FloatArray

DENSITIES = tuple(FAMILIES)


@dataclass(frozen=True)
class Stacked(Family):
    """A mixture of densities, their shares chosen by leave-one-out; what the recipe "auto" reads numbers with.

    Parameters
    ----------
    densities : tuple of str, default=all
        Among "t" (Student-t), "pool" (Student-t, variance shared by the classes), "kde" (kernels), "kdeq" (kernels on
        normal scores), "ef5", "ef10" and "pkid" (equal-frequency bins: 5, 10, square root of the rows).
    monotone : 1, -1 or 0, default=0
        With 1 the log-odds of the second of two classes never fall as the number rises, with -1 they never rise: the
        mixture is replaced by the nearest evidence of that shape, every row counted (isotonic regression). A missing
        cell says nothing, as ever. ``NaiveBayes(monotone={"age": 1})`` sets it for a column.

    Notes
    -----
    The evidence of a value is ``log sum_f share_f P_f(class | value)`` under equal class weights, centred over the
    classes: it tells classes apart and is no density of the value. A recipe that weighs evidence reads more than 256
    columns by "t", "pool" and "ef10" alone, unless `densities` says otherwise: what many columns fit to chance adds up.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families=Stacked()).fit([[1.0], [2.0], [7.0], [8.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.4], [7.7]]).tolist()
    ['a', 'b']
    """

    leaves_out_exactly: ClassVar[bool] = False
    is_distribution: ClassVar[bool] = False
    compares_rows: ClassVar[bool] = False

    densities: tuple[str, ...] = DENSITIES
    monotone: int = 0

    def __post_init__(self) -> None:
        some_of("Stacked(densities)", self.densities, DENSITIES)
        object.__setattr__(self, "densities", tuple(self.densities))
        if isinstance(self.monotone, bool):
            raise ParameterError(f"Stacked(monotone) must be 1, -1 or 0, got {self.monotone!r}.")
        require_one_of("Stacked(monotone)", self.monotone, (1, -1, 0))

    def with_monotone(self, sign: int) -> Stacked:
        """The family whose evidence rises (1) or falls (-1) with the number."""
        return replace(self, monotone=sign)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, squares=True), Summary("histogram"))

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, moments: Moments, histograms: Histograms, *, smoothing: Smoothing) -> Curves:
        """The curve of each column; the smoothing of labels does not touch it."""
        silence = np.zeros(histograms.n_classes)
        columns = self._columns(moments, histograms)
        return Curves(tuple(Curve(column.knots, column.table, silence) for column in columns))

    def _columns(self, moments: Moments, histograms: Histograms) -> list[StackedColumn]:
        weight, mean, scatter = centred(moments)
        columns = []
        for place, histogram in enumerate(histograms.histograms):
            exact = (weight[:, place], mean[:, place], scatter[:, place])
            columns.append(
                stack(Sample(histogram.values(), histogram.counts, *exact), self.densities, monotone=self.monotone)
            )
        return columns

    def takes_smoothing(self, weighed: bool) -> bool:
        """Whether its estimates have pseudo-counts: a density has none."""
        return False

    def weighed_by(self, reader: EvidenceReader, *statistics: Any, smoothing: Any) -> None:
        """The densities, which are mixed where they are weighed."""
        moments, histograms = statistics
        reader.of_densities(self.densities, moments, histograms, self.monotone)

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, moments: Moments, histograms: Histograms, *, smoothing: Smoothing) -> LeftOut:
        """Each density without the row. Shares, cuts, bandwidths and the prior of Student's t stay as they are."""
        columns = self._columns(moments, histograms)
        return left_out(histograms, [column.leave_one_out for column in columns])

    # -- Questions ------------------------------------------------------------------------------------------------

    def cells(self, moments: Moments, histograms: Histograms) -> list[FloatArray]:
        """The counts of a few bins."""
        return histogram_cells(histograms)

    def effect(self, moments: Moments, histograms: Histograms) -> FloatArray:
        """By the means and scatters of the classes."""
        return standardised_gap(*centred(moments))

    def expecting(self) -> Family:
        """The normal distribution of the same moments."""
        return Gaussian()
