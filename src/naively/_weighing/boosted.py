"""Boosted cells: small random partitions of the rows, each of which corrects the scores that are there.

A partition has a few cells. What a cell adds to a class is one Newton step: the sum of its residuals over the sum of
its variances and a ridge. As many partitions are added as left-out rows justify; none, if they only follow chance. Like
the fold forest they come in groups that each leave a fold out, so that a row's left-out scores are those of its group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from naively._weighing.softmax import log_loss
from naively._weighing.terms import Column
from naively._weighing.trees import NOT_MONOTONE, Features, Trees, joined_trees, levels, monotone_values
from naively.typing import AnyArray, FloatArray, IntArray

ROUNDS = 250
PATIENCE = 25
"""Rounds without a lower left-out loss after which no more are tried."""

STEP = 0.15
CELLS_OF_CORRECTION = 8
CELLS_OF_EXPERT = 16
LEAST_ROWS_OF_A_CELL = 3
RIDGE = 1.0
SHARE_OF_FEATURES = 0.7

MOST_ROWS_TO_CUT = 4096
"""A partition is cut by so many rows, drawn anew for each, so that partitions differ; all rows make its steps."""

RESOLUTION = 2.0**-20
"""Residuals are rounded to multiples of this, whose sums are exact: no tie of two cuts is broken by last bits, which
depend on the order of rows and classes and on the scale of weights."""

LEAST_GAIN = 1e-5
"""Nats per row by which the left-out loss must fall below its least so far, to count as lower."""

LEAST_GAIN_OF_ALL = 2.0
"""Nats, over all left-out rows, that partitions must gain together: less may be chance."""


@dataclass(frozen=True)
class BoostedExpert:
    """Partitions added up from the prior on: beside the other experts, since it makes none of their errors.

    Parameters
    ----------
    features : Features
    trees : Trees
    log_prior : ndarray (classes,)
    """

    features: Features
    trees: Trees
    log_prior: FloatArray
    name: str = "boosted trees"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return np.asarray(log_softmax(self.log_prior + self.trees.total(self.features(columns)), axis=1))


def fit_boosted_expert(
    features: Features,
    table: AnyArray,
    target: IntArray,
    weights: FloatArray,
    folds: IntArray,
    log_prior: FloatArray,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> tuple[BoostedExpert, FloatArray] | None:
    """Partitions from the prior on, and their left-out log-probabilities; None if they tell nothing.

    What starts at the answers of a good expert sees little but its few sure errors, and follows these; what starts at
    the prior finds its own way, and the pool weighs the two.

    Parameters
    ----------
    features, table, target, weights, folds, monotone
        See `fit_boosted_cells`.
    log_prior : ndarray (classes,)
    """
    start = np.tile(log_prior, (len(target), 1))
    trees, scores = fit_boosted_cells(features, table, target, weights, folds, start, CELLS_OF_EXPERT, monotone)
    if trees is None:
        return None
    return BoostedExpert(features, trees, log_prior), np.asarray(log_softmax(scores, axis=1))


def fit_boosted_cells(
    features: Features,
    table: AnyArray,
    target: IntArray,
    weights: FloatArray,
    folds: IntArray,
    start: FloatArray,
    n_cells: int = CELLS_OF_CORRECTION,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> tuple[Trees | None, FloatArray]:
    """Partitions that correct left-out scores, or None if none pays; and the corrected left-out scores.

    Parameters
    ----------
    features, table : Features, ndarray (rows, features)
        How columns are read, and the kept rows so read, numbers by rank.
    target, weights, folds : ndarray (rows,)
    start : ndarray (rows, classes)
        Left-out scores.
    n_cells : int
        Of each partition, at most.
    monotone : dict
        Columns with which the score of the second of two classes must only rise (1) or fall (-1).
    """
    filled, signs = np.where(np.isnan(table), features.middles, table), features.signs(monotone)
    random = np.random.RandomState(0)
    groups = [
        _Group(filled, target, weights, folds == fold, start, signs)
        for fold in np.unique(folds)
        if (folds != fold).any()
    ]
    if not groups:
        return None, start
    least = weights.sum() * LEAST_GAIN
    first = log_loss(log_softmax(start, axis=1), target, weights)
    best, n_rounds = first, 0
    for done in range(1, ROUNDS + 1):
        if best < LEAST_GAIN_OF_ALL:  # so much is no longer left to be gained
            break
        for group in groups:
            group.add_partition(random, n_cells)
        loss = sum(group.held_out_loss() for group in groups)
        if loss < best - least:
            best, n_rounds = loss, done
        elif done - n_rounds >= PATIENCE:
            break
    if first - best < LEAST_GAIN_OF_ALL:
        return None, start
    corrected = start.copy()
    for group in groups:
        asked = table[group.held_out].astype(np.float64)
        corrected[group.held_out] += joined_trees(group.partitions[:n_rounds]).total(asked)
    share = 1.0 / len(groups)
    every = [(tree, share * effects) for group in groups for tree, effects in group.partitions[:n_rounds]]
    return features.cut_numbers(joined_trees(every)), corrected


class _Group:
    """Partitions that do not see the rows of a fold, and the scores of all rows under them.

    Parameters
    ----------
    filled : ndarray (rows, features)
    target, weights : ndarray (rows,)
    held_out : bool ndarray (rows,)
    start : ndarray (rows, classes)
    signs : ndarray (features,)
        Which features are monotone: see `Features.signs`.
    """

    def __init__(
        self,
        filled: AnyArray,
        target: IntArray,
        weights: FloatArray,
        held_out: AnyArray,
        start: FloatArray,
        signs: IntArray,
    ):
        self.held_out, self.partitions, self._signs = held_out, list[tuple[Any, FloatArray]](), signs
        learnt = ~held_out
        self._learnt, self._asked = filled[learnt], filled[held_out]
        self._truth = np.eye(start.shape[1])[target[learnt]]
        self._weights = weights[learnt].astype(np.float32).astype(np.float64)  # equal ones to the last bit
        self._scores, self._asked_scores = start[learnt].copy(), start[held_out].copy()
        self._asked_target, self._asked_weights = target[held_out], weights[held_out]

    def add_partition(self, random: np.random.RandomState, n_cells: int) -> None:
        """Cut the learnt rows where their residuals differ, and add a step in each cell."""
        from sklearn.tree import ExtraTreeRegressor

        proba = np.exp(log_softmax(self._scores, axis=1))
        residual = self._truth - proba
        drawn: Any = slice(None)
        if len(residual) > MOST_ROWS_TO_CUT:
            drawn = random.permutation(len(residual))[:MOST_ROWS_TO_CUT]
        told = residual[drawn] if residual.shape[1] > 2 else residual[drawn, 1]  # two classes mirror each other
        told = np.round(told / RESOLUTION) * RESOLUTION
        grown = ExtraTreeRegressor(
            max_features=SHARE_OF_FEATURES,
            max_leaf_nodes=n_cells,
            min_samples_leaf=LEAST_ROWS_OF_A_CELL,
            random_state=random.randint(1 << 30),
            monotonic_cst=self._signs if self._signs.any() else None,
        ).fit(self._learnt[drawn], told, sample_weight=self._weights[drawn], check_input=False)
        tree = grown.tree_
        cells = tree.apply(self._learnt)
        steps = _newton_steps(tree, cells, residual, proba * (1.0 - proba), self._weights)
        effects = monotone_values(tree, steps, self._signs)
        self.partitions.append((tree, effects))
        self._scores += effects[cells]
        self._asked_scores += effects[tree.apply(self._asked)]

    def held_out_loss(self) -> float:
        """The log-loss of the rows that are held out."""
        return log_loss(log_softmax(self._asked_scores, axis=1), self._asked_target, self._asked_weights)


def _newton_steps(
    tree: Any, cells: IntArray, residual: FloatArray, variance: FloatArray, weights: FloatArray
) -> FloatArray:
    """What each node adds to each class (nodes, classes): of a cell a step, above the mean of what lies below."""
    n_nodes, n_classes = tree.node_count, residual.shape[1]
    steps = np.empty((n_nodes, n_classes))
    for label in range(n_classes):
        pull = np.bincount(cells, weights * residual[:, label], n_nodes)
        stiffness = np.bincount(cells, weights * variance[:, label], n_nodes)
        steps[:, label] = STEP * pull / (stiffness + RIDGE)
    totals = tree.weighted_n_node_samples[:, None]
    for front in reversed(levels(tree)):
        left, right = tree.children_left[front], tree.children_right[front]
        steps[front] = (totals[left] * steps[left] + totals[right] * steps[right]) / totals[front]
    return steps
