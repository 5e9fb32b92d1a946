"""Yes or no: the probability that a column is above a threshold, per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._common.checks import require_number
from naively.errors import GapError, InputError
from naively.families._distributions import Labels
from naively.families._linear import LinearEstimate, left_out, logs_and_zeros
from naively.families._posteriors import Posteriors, betas, log_marginal, prior_counts, refuse_prior_from_data
from naively.families._uncertainty import Uncertain, independent, looked_up
from naively.families.base import Family, LeftOut, Parameters
from naively.smoothing import Smoothing, smoothed_frequencies
from naively.statistics._moments import Moments
from naively.statistics.base import Summary
from naively.typing import FloatArray, Label

if TYPE_CHECKING:
    from naively.statistics._divergence import Change

ROUNDING = 1e-12
"""A count of "no" that is below zero by no more than this share of the count of "yes" is zero, but for rounding."""


@dataclass(frozen=True)
class Bernoulli(Family):
    """Whether a number is above a threshold; dense or sparse, booleans included.

    Parameters
    ----------
    threshold : float or None, default=0.0
        A cell counts as "yes" above it, as `binarize` in scikit-learn. With None the cells are 0 for "no", 1 for "yes",
        or the share of a "yes" between them.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="bernoulli").fit([[0], [1], [1], [1]], ["a", "a", "b", "b"])
    >>> model.parameters()["x0"]["probability"]
    array([0.5 , 0.75])
    """

    threshold: float | None = 0.0

    def __post_init__(self) -> None:
        if self.threshold is not None:
            require_number("Bernoulli(threshold)", self.threshold, at_least=-np.inf, at_most=np.inf)

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=True, above=self._above, nonnegative=self._above is None),)

    @property
    def _above(self) -> float | None:
        return None if self.threshold is None else float(self.threshold)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> BernoulliEstimate:
        """The probability of yes; smoothing adds pseudo-counts to no and yes."""
        assert statistics.observed is not None
        counts = np.stack([(statistics.observed - statistics.total).high, statistics.total.high], axis=-1)
        if self.threshold is None:
            _refuse_more_than_yes(statistics, counts)
        counts = np.maximum(counts, 0.0)
        frequencies = smoothed_frequencies(counts, smoothing, [False, True])
        log_no, no_zero = logs_and_zeros(frequencies[..., 0])
        log_yes, no_other = logs_and_zeros(frequencies[..., 1])
        parameters = {"probability": frequencies[..., 1]}
        return BernoulliEstimate(
            *(log_yes - log_no, log_no, no_other, no_zero, self._above),
            nonnegative=self.threshold is None,
            parameters=parameters,
        )

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact."""
        return left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing), self._above)

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """The probabilities of no and yes."""
        return Parameters.of_values(n_classes, [2] * n_columns)

    def compare(self, before: Any, after: Any, summary: Summary, rows: FloatArray) -> tuple[Change, FloatArray]:
        """Whether yes is as frequent as before; sums of shares are compared as rates."""
        if self.threshold is not None:
            return super().compare(before, after, summary, rows)
        changed: tuple[Change, FloatArray] = before.compare_rates(after, rows)
        return changed

    def distribution(self, estimate: Any, tables: Any, class_weight: Any, length: Any) -> Labels:
        """No and yes, as numbers that are read as such."""
        yes = estimate.parameters["probability"]
        shares = [np.stack([1 - yes[:, place], yes[:, place]], axis=1) for place in range(yes.shape[1])]
        return Labels([no_and_yes(self.threshold)] * len(shares), shares)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: FloatArray) -> Uncertain:
        """Under a beta posterior of the probability of yes."""
        if self.threshold is None:
            reason = "has no posterior distribution in closed form"
            raise GapError(f"Bernoulli(threshold=None).uncertain: it {reason}", reason)
        counts = self.cells(*tables)
        places = np.where(np.isnan(block), -1, block > self.threshold).astype(np.int64)
        return independent(*looked_up(counts, [[False, True]] * len(counts), smoothing, places))

    def posterior(self, tables: Any, smoothing: Smoothing) -> list[Posteriors]:
        """Beta."""
        return [
            {"probability": betas(after[:, 1], after[:, 0])}
            for after in (counts + prior for counts, prior in self._with_prior(tables, smoothing))
        ]

    def log_marginal_likelihood(self, tables: Any, smoothing: Smoothing) -> float:
        """Under the beta prior that the smoothing is."""
        refuse_prior_from_data(smoothing)
        return sum(log_marginal(counts, prior) for counts, prior in self._with_prior(tables, smoothing))

    def _with_prior(self, tables: Any, smoothing: Smoothing) -> list[tuple[FloatArray, FloatArray]]:
        """The counts (classes, no and yes) of each column, and the parameters of their prior."""
        counts = np.stack(self.cells(*tables), axis=1)
        prior = np.broadcast_to(prior_counts(smoothing, counts, [False, True]), counts.shape)
        return [(counts[:, place], prior[:, place]) for place in range(counts.shape[1])]

    def rows_of(self, parameters: Any) -> list[list[tuple[Any, float]]]:
        """Yes as often as it is probable."""
        no, yes = no_and_yes(self.threshold)
        return [[(yes, share), (no, 1.0 - share)] for share in parameters["probability"].tolist()]

    def cells(self, statistics: Moments) -> list[FloatArray]:
        """How often no and yes occurred."""
        assert statistics.observed is not None
        no, yes = (statistics.observed - statistics.total).high, statistics.total.high
        return list(np.stack([np.maximum(no, 0.0), yes], axis=-1).swapaxes(0, 1))


class BernoulliEstimate(LinearEstimate):
    """The evidence of yes and no."""

    @property
    def kind(self) -> str:
        return "truth"

    def points(self, place: int, n_points: int) -> list[Any]:
        """No and yes."""
        return [False, True]

    def as_numbers(self, points: Sequence[Any]) -> list[float]:
        """Numbers that are read as no and as yes."""
        at = self.above
        no, yes = (0.0, 1.0) if at is None else (at, float(np.nextafter(at, np.inf)))
        return [yes if point else no for point in points]


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


def _refuse_more_than_yes(statistics: Moments, counts: FloatArray) -> None:
    more = counts[..., 0] < -ROUNDING * counts[..., 1]
    if more.any():
        column = statistics.columns[int(np.argwhere(more)[0][-1])]
        raise InputError(
            f"Column {column!r} holds numbers above 1, where 0 for no and 1 for yes belong. Give Bernoulli a threshold."
        )
