"""Counts that share a total: how a document's words, or a basket's goods, are drawn, per class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from naively._common.checks import require_bool
from naively.errors import ParameterError
from naively.families._distributions import Shares
from naively.families._linear import LinearEstimate, left_out, logs_and_zeros
from naively.families._posteriors import Posteriors, betas, log_marginal, prior_counts, refuse_prior_from_data
from naively.families._uncertainty import Uncertain, independent, log_gamma_moments
from naively.families.base import Count, Family, LeftOut, Parameters
from naively.smoothing import Smoothing, smoothed_frequencies
from naively.statistics._counts import frequencies_without
from naively.statistics._moments import Moments
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Multinomial(Family):
    """Word counts and the like, dense or sparse; the columns of a group share one distribution.

    Parameters
    ----------
    group : str, default=""
        Columns of the same group are one multinomial. Give the words of the title and of the body different groups
        and each has its own distribution.
    squares : bool, default=False
        Also keep the sums of squares, which no answer needs: with them `drift.compare` of two models can tell a change
        from words that come in bursts. Compared with rows, a model needs none.

    Notes
    -----
    The multinomial coefficient, the same for all classes, is left out, as in other systems. A missing count is read as
    "not counted" and gives no evidence.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> model = NaiveBayes("textbook", families="multinomial").fit([[2, 0], [0, 1]], ["spam", "ham"])
    >>> [float(probability) for probability in model.parameters()["x0"]["probability"]]
    [0.3333333333333333, 0.75]
    """

    shares_weight: ClassVar[bool] = True

    group: str = ""
    squares: bool = False

    def __post_init__(self) -> None:
        require_bool(self.squares, "Multinomial(squares)")

    # -- Statistics -----------------------------------------------------------------------------------------------

    @property
    def summaries(self) -> tuple[Summary, ...]:
        return (Summary("moments", observed=False, squares=bool(self.squares), nonnegative=True),)

    # -- Estimate -------------------------------------------------------------------------------------------------

    def estimate(self, statistics: Moments, *, smoothing: Smoothing) -> LinearEstimate:
        """The probability of each column; smoothing adds pseudo-counts to every column."""
        frequencies = smoothed_frequencies(statistics.total.high, smoothing, statistics.columns)
        slope, no_other = logs_and_zeros(frequencies)
        return LinearEstimate(
            slope, np.zeros_like(slope), no_other, nonnegative=True, parameters={"probability": frequencies}
        )

    # -- Leave-one-out --------------------------------------------------------------------------------------------

    def leave_one_out(self, statistics: Moments, *, smoothing: Smoothing) -> LeftOut:
        """The estimate from sums without one row at a time: exact."""
        dense = left_out(statistics, lambda moments: self.estimate(moments, smoothing=smoothing))
        return replace(dense, sparse=partial(_sparse_without, statistics, smoothing))

    # -- Questions ------------------------------------------------------------------------------------------------

    def n_parameters(self, estimate: Any, n_classes: int, n_columns: int) -> Parameters:
        """The shares of the columns, which sum to one."""
        return Parameters(Count(n_classes * n_columns, n_classes * (n_columns - 1)))

    def distribution(self, estimate: Any, tables: Any, class_weight: FloatArray, length: Any) -> Shares:
        """Counts that share a total: the one given, or the mean of the class."""
        probability = estimate.parameters["probability"]
        lengths = _lengths(self.group, tables[0].total.high, class_weight, length)

        def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
            return rng.multinomial(np.rint(lengths[codes]).astype(np.int64), probability[codes]).astype(np.float64)

        return Shares(lengths[:, None] * probability, draw, probability=probability)

    def uncertain(self, estimate: Any, tables: Any, smoothing: Smoothing, block: FloatArray) -> Uncertain:
        """Under a Dirichlet posterior of the shares."""
        return independent(*_uncertain_shares(tables[0], smoothing, block))

    def posterior(self, tables: Any, smoothing: Smoothing) -> list[Posteriors]:
        """Beta: the share of one column among all, under a Dirichlet posterior."""
        counts = tables[0].total.high
        after = counts + prior_counts(smoothing, counts, tables[0].columns)
        rest = after.sum(axis=1)
        return [{"probability": betas(own, rest - own)} for own in after.T]

    def log_marginal_likelihood(self, tables: Any, smoothing: Smoothing) -> float:
        """Of the events in their order, under the Dirichlet prior that the smoothing is."""
        refuse_prior_from_data(smoothing)
        counts = tables[0].total.high
        return log_marginal(counts, prior_counts(smoothing, counts, tables[0].columns))

    def rows_of(self, parameters: Any) -> list[list[tuple[Any, float]]]:
        """The share of the column, as a part of one event."""
        return [[(share, 1.0)] for share in parameters["probability"].tolist()]

    def to_compare(self) -> Family:
        """With squares."""
        return replace(self, squares=True)

    def cells(self, statistics: Moments) -> list[FloatArray]:
        """Of one event: whether it is of another column, or of this one."""
        return share_cells(statistics)

    def log_base(self, block: FloatArray) -> FloatArray:
        """In how many orders each row's counts can have come about."""
        from scipy.special import gammaln

        counts = np.nan_to_num(block, nan=0.0)
        return np.asarray(gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1))


def share_cells(moments: Moments) -> list[FloatArray]:
    """The counts (classes, 2) of events of other columns, and of each column."""
    own = moments.total.high
    every = own.sum(axis=1, keepdims=True)
    return list(np.stack([np.maximum(every - own, 0.0), own], axis=-1).swapaxes(0, 1))


def _lengths(group: str, totals: FloatArray, class_weight: FloatArray, length: Any) -> FloatArray:
    """The total of a row's counts, per class."""
    given = length.get(group) if isinstance(length, Mapping) else length
    if given is None:
        return np.asarray(totals.sum(axis=1) / np.where(class_weight > 0, class_weight, 1.0))
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0 <= given < 2**31:
        raise ParameterError(f"length must be a number of at least 0, or a dict of them by group; got {length!r}.")
    return np.full(len(totals), float(given))


def _uncertain_shares(moments: Moments, smoothing: Smoothing, block: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sum of x log share``: the shares of a class have one total in common."""
    counts = moments.total.high
    posterior = counts + smoothing.pseudo_counts(counts, moments.columns)
    x = np.where(np.isnan(block), 0.0, block)
    logs, spread = log_gamma_moments(posterior)
    of_all, spread_of_all = log_gamma_moments(posterior.sum(axis=1))
    length = x.sum(axis=1, keepdims=True)
    impossible = (x > 0).astype(np.float64) @ np.isneginf(logs).T.astype(np.float64) > 0
    mean = x @ np.where(np.isneginf(logs), 0.0, logs).T - length * np.where(np.isneginf(of_all), 0.0, of_all)
    variance = x**2 @ spread.T - length**2 * spread_of_all
    silent = np.isneginf(of_all)[None, :]
    mean = np.where(silent, 0.0, np.where(impossible, -np.inf, mean))
    return mean, np.where(silent | impossible, 0.0, np.maximum(variance, 0.0))


def _sparse_without(
    statistics: Moments, smoothing: Smoothing, rows: Any, codes: IntArray, weights: FloatArray
) -> FloatArray:
    """The log-likelihood (rows, classes) of CSR rows without them: only the cells that are stored speak."""
    n_rows, n_classes = rows.shape[0], statistics.total.shape[0]
    stored = np.flatnonzero((rows.data != 0) & ~np.isnan(rows.data))
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))[stored]
    count, place = rows.data[stored], rows.indices[stored].astype(np.int64)
    length = np.bincount(row, weights=count, minlength=n_rows)
    weight = weights[row]
    frequency = frequencies_without(
        statistics.total, smoothing, statistics.columns, place, codes[row], weight * count, weight * length[row]
    )
    with np.errstate(divide="ignore"):
        terms = count * np.log(frequency)
    return np.stack([np.bincount(row, weights=terms[code], minlength=n_rows) for code in range(n_classes)], axis=1)
