"""Recipe ``strong``: the additive recipe and experts that see columns together, pooled by their logarithms.

``additive + joint Gaussian + similar rows + fold forest + boosted trees + networks + words -> log-pool -> floor``

The pool is fitted on left-out answers: those of the additive model and the joint Gaussian in closed form, those of
the forest, the boosted trees and the networks by those of them that did not see the row, those of similar rows and
words by folds.

A column that is to be monotone is so in every step: its evidence is, the joint Gaussian leaves it to that evidence,
similar rows are found and networks learn without it, trees are grown and drawn to their parents under the constraint,
and what joins them only adds with weights of at least 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._weighing.additive import AdditiveModel
from naively._weighing.boosted import fit_boosted_expert
from naively._weighing.experts import Expert, FittedExpert, LearntRows, fit_gaussian, learnt_rows
from naively._weighing.forest import LEAST_ROWS, fit_forest
from naively._weighing.joint_gaussian import asked_rows
from naively._weighing.kept import FittedRows
from naively._weighing.networks import fit_networks
from naively._weighing.pool import LogPool, drawn_to_prior, fit_log_pool, floor_log_proba, floor_share, without_noise
from naively._weighing.similar import fit_similar_rows
from naively._weighing.softmax import believed, log_loss
from naively._weighing.terms import Column, share_known, take_rows
from naively._weighing.trees import plan_features
from naively._weighing.words import fit_words
from naively.typing import FloatArray

ROWS_WITHOUT_CELLS, SHARE_WITHOUT = 128, 0.3
"""How many rows, at most, tell how far a row with missing cells is to be believed, and the share of their cells that is
taken out."""

CAUTIONS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Powers to choose from."""

SCORE_ROWS = 4096
"""Rows scored at once: the experts hold a few tables per row."""


@dataclass(frozen=True)
class StrongModel:
    """A pool of experts.

    Parameters
    ----------
    experts : tuple of Expert
        The first is the additive model.
    pool : LogPool
        Weights of the experts' log-probabilities.
    n_labels : tuple of int
        How many labels each categorical column has.
    prior : ndarray (classes,)
        Class prior, which the floor mixes in.
    floor : float
        Share of the prior in each probability.
    believed : float
        How far the pool is believed beside the prior, from 0 to 1.
    caution : float
        A row of which fewer cells are known than usual is believed by this power of how many times fewer.
    usually_known : float
        The share of the cells of a row that is known, on average.
    left_out : ndarray (rows, classes)
        Log-probabilities of the rows that the additive weights were fitted on, each by what did not learn it, pooled as
        such answers are: with their noise.
    """

    experts: tuple[Expert, ...]
    pool: LogPool
    n_labels: tuple[int, ...]
    prior: FloatArray
    floor: float
    believed: float
    caution: float
    usually_known: float
    left_out: FloatArray

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        n_rows = len(columns[0][1])
        parts = [
            self._log_proba(take_rows(columns, slice(start, start + SCORE_ROWS)))
            for start in range(0, n_rows, SCORE_ROWS)
        ]
        return np.concatenate(parts) if parts else np.empty((0, len(self.prior)))

    def _log_proba(self, columns: Sequence[Column]) -> FloatArray:
        known = share_known(columns, self.n_labels)
        pooled = pooled_by(self.experts, self.pool, columns, known)
        share = self.believed * belief(known / self.usually_known, self.caution)
        return floor_log_proba(drawn_to_prior(pooled, np.log(self.prior), share), self.prior, self.floor)


def fit_strong(
    columns: Sequence[Column],
    names: Sequence[str],
    n_labels: Sequence[int],
    rows: FittedRows,
    weights: FloatArray,
    additive: AdditiveModel,
    n_threads: int,
) -> StrongModel:
    """Fit the experts beside a fitted additive model, and pool them.

    Parameters
    ----------
    columns : sequence of Column
        The kept rows.
    names : sequence of str
        What the columns are called.
    n_labels : sequence of int
        How many labels each categorical column has.
    rows : FittedRows
        The kept rows, dealt to parts.
    weights : ndarray
        What each kept row counts.
    additive : AdditiveModel
        The additive model, fitted on some of these rows.
    n_threads : int
    """
    learnt = learnt_rows(additive, columns, rows, weights)
    asked, prior, floor = learnt.asked, np.exp(additive.log_prior), floor_share(len(learnt.target))
    strengths = _column_strengths(additive, learnt)
    features = plan_features(learnt.columns, n_labels, strengths, names)
    has_trees = features.count > 0 and len(learnt.target) >= LEAST_ROWS and len(np.unique(learnt.target)) > 1
    table = features.table(learnt.columns if has_trees else take_rows(learnt.columns, slice(0)))
    boosts, monotone = has_trees and learnt.all_asked, additive.monotone
    grown_on = (learnt.target, learnt.weights)
    fitted: list[FittedExpert | None] = [
        FittedExpert(learnt.additive_expert, asked.additive_log_proba),
        fit_gaussian(learnt),
        fit_similar_rows(learnt, n_labels, strengths) if learnt.all_asked else None,
        fit_forest(features, table, *grown_on, learnt.folds, learnt.is_asked, prior, floor, n_threads, monotone)
        if has_trees
        else None,
        fit_boosted_expert(features, table, *grown_on, rows.parts, np.log(prior), n_threads, monotone)
        if boosts
        else None,
        fit_networks(learnt, n_labels, names) if learnt.all_asked else None,
        fit_words(asked),
    ]
    experts = [one for one in fitted if one is not None]
    log_probas = [one.left_out for one in experts]
    known = share_known(asked.columns, n_labels)
    usually_known = min(float(np.average(known, weights=asked.weights)), 1.0) or 1.0
    of_rows = asked.target, asked.weights, known, additive.log_prior
    pool = fit_log_pool(log_probas, *of_rows)
    left_out = pool.log_proba(log_probas, known)
    pool = without_noise(pool, log_probas, [one.noise for one in experts], *of_rows)
    share = believed(left_out, asked.log_prior, asked.target, asked.weights, n_fitted=len(experts) + len(prior))
    thinned, thinned_known = without_cells(asked, names, n_labels)
    pooled = pooled_by([one.expert for one in experts], pool, thinned.columns, thinned_known)
    caution = fit_caution(pooled, thinned_known / usually_known, thinned, prior, floor)
    shares = share * belief(known / usually_known, caution)
    left_out = floor_log_proba(drawn_to_prior(left_out, asked.log_prior, shares), prior, floor)
    return StrongModel(
        experts=tuple(one.expert for one in experts),
        pool=pool,
        n_labels=tuple(n_labels),
        prior=prior,
        floor=floor,
        believed=share,
        caution=caution,
        usually_known=usually_known,
        left_out=left_out[asked.of_additive],
    )


def pooled_by(experts: Sequence[Expert], pool: LogPool, columns: Sequence[Column], known: FloatArray) -> FloatArray:
    """Pooled log-probabilities (rows, classes); experts without weight are not asked."""
    columns = asked_rows(columns)
    weighted = zip(pool.expert_weights.tolist(), experts, strict=True)
    return pool.of_heard([(weight, expert.log_proba(columns)) for weight, expert in weighted if weight > 0], known)


def belief(known: FloatArray, caution: float) -> FloatArray:
    """How far rows are believed of which so many times as many cells are known as usual (rows,), from 0 to 1."""
    return np.asarray(np.minimum(known, 1.0) ** caution)


def fit_caution(pooled: FloatArray, known: FloatArray, rows: LearntRows, prior: FloatArray, floor: float) -> float:
    """The power with the least log-loss of rows from which cells were taken.

    Experts average a missing cell out as if its column told nothing of the others: where columns tell the class only
    together, what they say then is too sure. How much so differs from table to table.

    Parameters
    ----------
    pooled : ndarray (rows, classes)
        Pooled log-probabilities.
    known : ndarray (rows,)
        How many times as many cells of each row are known as usual.
    rows : LearntRows
        The classes and weights of these.
    prior, floor
        See `StrongModel`.
    """

    def loss(caution: float) -> float:
        drawn = drawn_to_prior(pooled, np.log(prior), belief(known, caution))
        return log_loss(floor_log_proba(drawn, prior, floor), rows.target, rows.weights)

    return min(CAUTIONS, key=loss)


def without_cells(rows: LearntRows, names: Sequence[str], n_labels: Sequence[int]) -> tuple[LearntRows, FloatArray]:
    """Some of the rows, from which cells are taken at random, and the share of the cells that is left; texts stay.

    Cells are drawn in the order of the columns' names: the order of the columns of a table should mean nothing.
    """
    random = np.random.RandomState(0)
    chosen = random.permutation(len(rows.target))[:ROWS_WITHOUT_CELLS]
    columns = take_rows(rows.columns, chosen)
    for place in sorted(range(len(names)), key=names.__getitem__):
        kind, values = columns[place]
        taken = random.random_sample(len(chosen)) < SHARE_WITHOUT
        if kind != "text":
            columns[place] = kind, np.where(taken, np.nan if kind == "numeric" else -1, values)
    thinned = LearntRows(rows.additive, columns, rows.rows.taken(chosen), rows.removed[chosen])
    return thinned, share_known(columns, n_labels)


def _column_strengths(additive: AdditiveModel, learnt: LearntRows) -> FloatArray:
    """How much each column says, on average over some rows and all classes."""
    rows = take_rows(learnt.columns, slice(0, SCORE_ROWS))
    strengths = np.zeros(len(learnt.columns))
    for term in additive.terms:
        for column, evidence in term.by_column(rows):
            strengths[column] += np.abs(evidence).mean()
    return strengths
