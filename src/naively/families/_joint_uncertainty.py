"""How sure the evidence of columns that are read together is: combinations, normal vectors, trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from naively.errors import GapError
from naively.families._uncertainty import Uncertain, independent, log_gamma_moments
from naively.smoothing import Smoothing
from naively.statistics._combinations import patterns
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively.families._joint import Block, JointEstimate
    from naively.families._tree import PairTables, TreeEstimate


def gap(family: Any, reason: str) -> GapError:
    """What is raised where there is no closed form."""
    return GapError(f"credible_interval: {family!r} {reason}.", reason)


# -- a joint factor -------------------------------------------------------------------------------------------------


def uncertain_joint(estimate: JointEstimate, block: Block) -> Uncertain:
    """The evidence (rows, classes) of combinations under a Dirichlet posterior, and of normal vectors within them."""
    family, n_labels = estimate.family, len(estimate.family.labels)
    if family.numbers and family.joint.ties != "none":
        raise gap(family, "shares covariances, and so has no posterior in closed form")
    mean = np.zeros((len(block.codes), estimate.sums.n_classes))
    variance = np.zeros_like(mean)
    if not len(estimate.sums.cells):
        return independent(mean, variance)
    for known, rows in patterns(np.hstack([block.codes >= 0, ~np.isnan(block.numbers)])):
        labels, numbers, part = known[:n_labels], known[n_labels:], block.take(rows)
        if labels.any():
            mean[rows], variance[rows] = _of_labels(estimate, part, labels)
        if numbers.any():
            of_numbers = _of_numbers_within(estimate, part, labels, numbers)
            mean[rows] += of_numbers[0]
            variance[rows] += of_numbers[1]
    return independent(mean, variance)


def _of_numbers_within(
    estimate: JointEstimate, block: Block, labels: AnyArray, numbers: AnyArray
) -> tuple[FloatArray, FloatArray]:
    """The log-density of normal vectors, each in the combination of its row; the parameters of each are its own."""
    if not labels.all():
        raise gap(estimate.family, "sums over labels that are missing, for which there is no closed form")
    cells = estimate.table.marginal(labels).combinations.find(block.codes)
    mean = np.empty((len(cells), estimate.sums.n_classes))
    variance = np.empty_like(mean)
    for cell in np.unique(cells).tolist():
        rows = cells == cell
        mean[rows], variance[rows] = _of_numbers(estimate, block.take(rows), numbers, cell)
    return mean, variance


def _of_labels(estimate: JointEstimate, block: Block, known: AnyArray) -> tuple[FloatArray, FloatArray]:
    """A set of combinations has a Dirichlet share as one of them has: its counts and pseudo-counts are added up."""
    table, smoothing = estimate.table, estimate.table.smoothing
    marginal, total, n_classes = table.marginal(known), table.total(), estimate.sums.n_classes
    part, whole, n_values = marginal.counts.sum(axis=0), total.sum(axis=0), np.asarray(table.n_values)
    alpha = smoothing.pseudo_counts_together(part, whole, np.asarray(marginal.n_hidden), n_values, n_classes)
    of_all = smoothing.pseudo_counts_together(whole, whole, n_values, n_values, n_classes)
    places = marginal.combinations.find(block.codes[:, known])
    mean, variance = dirichlet_share((marginal.counts + alpha)[:, places], total + of_all)
    return mean.T, variance.T


def dirichlet_share(counts: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the logarithm of shares of a whole, pseudo-counts included; no whole says nothing."""
    logs, variance = log_gamma_moments(counts)
    of_all, variance_of_all = log_gamma_moments(total)
    nothing = np.isneginf(of_all)
    mean = np.where(nothing, 0.0, logs - np.where(nothing, 0.0, of_all))
    return mean, np.where(nothing, 0.0, np.maximum(variance - variance_of_all, 0.0))


def _of_numbers(estimate: JointEstimate, block: Block, known: AnyArray, cell: int) -> tuple[FloatArray, FloatArray]:
    """The log-density of a normal vector in a combination of labels, under a normal-inverse-Wishart posterior.

    The precision of all p numbers is Wishart with n - 1 degrees of freedom and the mean that was estimated; that of k
    of them has f = n - 1 - (p - k). Its log-determinant has the variance ``sum_i psi'((f + 1 - i) / 2)``; the distance
    ``q (n - 1)`` of a row, in squared standard deviations, has ``2 f q^2``, and both the covariance ``2 q``. The
    uncertain mean adds ``f q / n + k / (2 n^2)``.
    """
    from scipy.special import digamma, polygamma

    p, k, n_cells = len(known), int(known.sum()), len(estimate.sums.cells)
    weight = estimate.sums.weight.high[:, cell] if 0 <= cell < n_cells else np.zeros(estimate.sums.n_classes)
    of_all, freedom = weight - 1.0, weight - 1.0 - (p - k)
    if (weight - 1.0 < p + 1).any():
        where = "a combination of labels that has, in a class," if estimate.family.labels else "a class of"
        raise gap(estimate.family, f"has {where} less than {p + 2} rows, and borrows its covariance")
    densities = estimate.densities_of(known)
    k = int(densities.informative.sum())
    peak = densities.peak[cell]
    q = 2.0 * (peak - densities.at(cell, block.numbers[:, known])) / of_all
    halves = (freedom[:, None] - np.arange(k)) / 2
    log_precision = (digamma(halves) - np.log(of_all / 2)[:, None]).sum(axis=1)
    mean = peak + 0.5 * log_precision - 0.5 * (freedom * q + k / weight)
    variance = 0.25 * polygamma(1, halves).sum(axis=1) - q + 0.5 * freedom * q**2
    return mean, np.maximum(variance + freedom * q / weight + k / (2 * weight**2), 0.0)


# -- a tree -----------------------------------------------------------------------------------------------------------


def uncertain_tree(estimate: TreeEstimate, counted: PairTables, smoothing: Smoothing, codes: IntArray) -> Uncertain:
    """The evidence of each column given its parent, under a Dirichlet posterior of each row of its table."""
    mean = np.zeros((len(codes), estimate.n_classes))
    variance = np.zeros_like(mean)
    for parent, child in estimate.arcs:
        rows = np.flatnonzero(codes[:, child] >= 0)
        if parent is not None and (codes[rows, parent] < 0).any():
            name = estimate.family.columns[parent]
            raise gap(estimate.family, f"depends on {name!r}, which is missing, so there is no closed form")
        posterior = counted.posterior(parent, child, smoothing)
        given = np.zeros(len(rows), dtype=np.int64) if parent is None else codes[rows, parent]
        share = posterior[:, given, codes[rows, child]]
        of_column = dirichlet_share(share, posterior.sum(axis=2)[:, given])
        mean[rows] += of_column[0].T
        variance[rows] += of_column[1].T
    return independent(mean, variance)
