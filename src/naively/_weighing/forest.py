"""A fold forest: extremely random trees whose nodes hold class counts, in groups that each leave a fold out.

Trees find interactions of any order. Each tree is grown out; the counts of a node are drawn to those of its parent, by
as many rows as make left-out rows most probable, so that a leaf of one row does not claim to be sure. A group of trees
does not learn one of the folds: a row's left-out answer is that of the group that did not see it, and nothing is fitted
twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._weighing.softmax import log_loss
from naively._weighing.terms import Column
from naively._weighing.trees import NOT_MONOTONE, Features, Trees, joined_trees, levels, monotone_values
from naively.engines._threads import in_order
from naively.typing import AnyArray, FloatArray, IntArray

FOLDS = 4
TREES_PER_FOLD = 25
SHARE_OF_FEATURES = 0.7
"""Of the features, how many are tried at each node."""

SHRINKAGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Rows by which a node may be drawn to its parent."""

LEAST_ROWS = 20
"""With fewer kept rows no trees are grown."""


@dataclass(frozen=True)
class ForestExpert:
    """The mean of the trees' class probabilities, with a share of the prior.

    Parameters
    ----------
    features : Features
    trees : Trees
        Their values are probabilities divided by the number of trees.
    prior : ndarray (classes,)
    floor : float
        The share of the prior.
    """

    features: Features
    trees: Trees
    prior: FloatArray
    floor: float
    name: str = "forest"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes)."""
        return floored_log(self.trees.total(self.features(columns)), self.prior, self.floor)


def floored_log(proba: FloatArray, prior: FloatArray, floor: float) -> FloatArray:
    """The logarithm of probabilities with a share of the prior; a class that no tree saw has no more than that."""
    return np.asarray(np.log((1.0 - floor) * proba / proba.sum(axis=1, keepdims=True) + floor * prior))


def fit_forest(
    features: Features,
    table: AnyArray,
    target: IntArray,
    weights: FloatArray,
    folds: IntArray,
    prior: FloatArray,
    floor: float,
    n_threads: int,
    monotone: Mapping[int, int] = NOT_MONOTONE,
) -> tuple[ForestExpert, FloatArray]:
    """Grow the forest, and answer for each row by the trees that did not see it.

    Parameters
    ----------
    features, table : Features, ndarray (rows, features)
        How columns are read, and the kept rows so read.
    target, weights, folds : ndarray (rows,)
    prior, floor
        See `ForestExpert`.
    n_threads : int
    monotone : dict
        Columns in which the probability of the second of two classes must only rise (1) or fall (-1).
    """
    filled, signs = np.where(np.isnan(table), features.middles, table), features.signs(monotone)
    numbers = [fold for fold in range(FOLDS) if (folds == fold).any()]
    groups = list(in_order(lambda fold: _grow(filled, target, weights, folds == fold, fold, signs), numbers, n_threads))
    n_classes = len(prior)
    shrinkage = min(SHRINKAGES, key=lambda rows: _loss(groups, target, weights, prior, floor, rows))
    left_out = np.empty((len(target), n_classes))
    for group in groups:
        trees = joined_trees([(tree, _probabilities(tree, group, n_classes, shrinkage)) for tree in group.trees])
        left_out[group.held_out] = trees.total(table[group.held_out])
    n_trees = sum(len(group.trees) for group in groups)
    every = [
        (tree, _probabilities(tree, group, n_classes, shrinkage) / n_trees) for group in groups for tree in group.trees
    ]
    return ForestExpert(features, joined_trees(every), prior, floor), floored_log(left_out, prior, floor)


@dataclass(frozen=True)
class Group:
    """Trees that did not see the rows of a fold.

    Parameters
    ----------
    held_out : bool ndarray (rows,)
        The rows of the fold.
    classes : ndarray
        The classes that the trees know, in the order of their counts.
    trees : list
        Trees of scikit-learn.
    leaves : list of ndarray
        Where the rows of the fold end, in each tree.
    signs : ndarray (features,)
        Which features are monotone: see `Features.signs`.
    """

    held_out: AnyArray
    classes: IntArray
    trees: list[Any]
    leaves: list[IntArray]
    signs: IntArray


def _grow(
    filled: AnyArray, target: IntArray, weights: FloatArray, held_out: AnyArray, fold: int, signs: IntArray
) -> Group:
    from sklearn.tree import ExtraTreeClassifier

    learnt = ~held_out if not held_out.all() else held_out
    rows, classes, weight = filled[learnt], target[learnt], weights[learnt]
    first, constraints = fold * TREES_PER_FOLD, signs if signs.any() else None
    trees = [
        ExtraTreeClassifier(max_features=SHARE_OF_FEATURES, random_state=first + number, monotonic_cst=constraints)
        .fit(rows, classes, sample_weight=weight, check_input=False)
        .tree_
        for number in range(TREES_PER_FOLD)
    ]
    asked = filled[held_out]
    return Group(held_out, np.unique(classes), trees, [tree.apply(asked) for tree in trees], signs)


def _probabilities(tree: Any, group: Group, n_classes: int, shrinkage: float) -> FloatArray:
    """The class probabilities of each node, drawn to those of its parent by so many rows, (nodes, classes)."""
    totals = tree.weighted_n_node_samples[:, None]
    proba = np.zeros((tree.node_count, n_classes))
    proba[:, group.classes] = tree.value[:, 0, :]
    for front in levels(tree):
        for child in (tree.children_left[front], tree.children_right[front]):
            proba[child] = (totals[child] * proba[child] + shrinkage * proba[front]) / (totals[child] + shrinkage)
    return monotone_values(tree, proba, group.signs)


def _loss(
    groups: Sequence[Group],
    target: IntArray,
    weights: FloatArray,
    prior: FloatArray,
    floor: float,
    shrinkage: float,
) -> float:
    """The log-loss of the rows, each by the group that did not see it."""
    loss = 0.0
    for group in groups:
        proba = np.zeros((np.count_nonzero(group.held_out), len(prior)))
        for tree, leaves in zip(group.trees, group.leaves, strict=True):
            proba += _probabilities(tree, group, len(prior), shrinkage)[leaves]
        loss += log_loss(floored_log(proba, prior, floor), target[group.held_out], weights[group.held_out])
    return loss
