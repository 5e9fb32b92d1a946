"""Recipe ``strong``: the additive recipe and the experts beside it, pooled by their logarithms.

``additive (with pairs if they pay) + A1DE + A2DE where small + two joint Gaussians + words -> log-pool -> floor``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively._weighing.additive import AdditiveModel
from naively._weighing.experts import (
    Expert,
    FittedExpert,
    PairExpert,
    fit_additive_expert,
    fit_gaussian,
    fit_one_parent,
    fit_two_parents,
)
from naively._weighing.pairs import PairTerm
from naively._weighing.pool import LogPool, fit_log_pool, floor_log_proba, floor_share
from naively._weighing.reweighted import take_rows
from naively._weighing.terms import Column
from naively._weighing.words import fit_words
from naively.typing import FloatArray, IntArray

# Rows scored at once: the experts hold a few tables per row.
SCORE_ROWS = 4096


@dataclass(frozen=True)
class StrongModel:
    """A pool of experts.

    Attributes
    ----------
    experts
        Tempered experts; the first is the additive one.
    pool
        Weights of the experts' log-probabilities.
    prior
        Class prior, which the floor mixes in (classes,).
    floor
        Share of the prior in each probability.
    left_out
        Log-probabilities of the rows that the additive model kept, each by experts that did not learn it
        (rows, classes).
    """

    experts: tuple[Expert, ...]
    pool: LogPool
    prior: FloatArray
    floor: float
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
        pooled = self.pool.log_proba([expert.log_proba(columns) for expert in self.experts])
        return floor_log_proba(pooled, self.prior, self.floor)

    def pair_terms(self) -> list[PairTerm]:
        """The pair corrections in use, the heaviest first; empty if none passed the gate."""
        additive = self.experts[0]
        return additive.terms() if isinstance(additive, PairExpert) else []


def fit_strong(
    columns: Sequence[Column],
    target: IntArray,
    n_classes: int,
    additive: AdditiveModel,
    weights: FloatArray | None = None,
    removed: FloatArray | None = None,
) -> StrongModel:
    """Fit the experts beside a fitted additive model, and pool them.

    Parameters
    ----------
    columns
        ``("numeric", floats with NaN)``, ``("categorical", codes with -1)`` or ``("text", texts or None)`` each.
    target
        Class of each row, ``0 .. n_classes - 1``.
    n_classes
        Number of classes.
    additive
        The additive recipe, fitted on the same rows, with the rows it kept.
    weights
        What each row counts; 1 each if not given.
    removed
        What one occurrence of each row gave to the additive model; 1 each if not given.
    """
    weights = np.ones(len(target)) if weights is None else np.asarray(weights, dtype=np.float64)
    removed = np.ones(len(target)) if removed is None else removed
    data = (additive, columns, target, n_classes, weights)
    one_parent = fit_one_parent(*data)
    found: list[FittedExpert | None] = [
        fit_additive_expert(additive, columns, weights, None if one_parent is None else one_parent[0]),
        one_parent,
        fit_two_parents(*data),
        fit_gaussian(*data, kind="normal scores"),
        fit_gaussian(*data, kind="standardised"),
        fit_words(additive, columns, target, weights, removed),
    ]
    experts = [expert for expert in found if expert is not None]
    kept = additive.loo
    log_probas = [log_proba for _, log_proba in experts]
    pool = fit_log_pool(log_probas, kept.codes, kept.weights)
    prior, floor = np.exp(additive.log_prior), floor_share(len(kept.codes))
    left_out = floor_log_proba(pool.log_proba(log_probas), prior, floor)
    return StrongModel(tuple(expert for expert, _ in experts), pool, prior, floor, left_out)
