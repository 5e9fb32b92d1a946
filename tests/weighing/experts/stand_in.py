"""A small additive model for the tests: bins, an m-estimate with leave-one-out, one temperature."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from naively._weighing.ande import estimate_one_parent, leave_out_marginals
from naively._weighing.discretise import plan_bins
from naively._weighing.pair_counts import count_pairs
from naively._weighing.softmax import best_temperature
from naively._weighing.terms import Column
from naively.typing import FloatArray, IntArray


@dataclass
class Kept:
    rows: IntArray
    folds: IntArray
    codes: IntArray
    weights: FloatArray
    evidence: FloatArray
    effects: FloatArray
    counted: FloatArray
    log_prior: FloatArray
    temperature: float
    best: str
    log_posterior: FloatArray

    def one_occurrence(self, weights: FloatArray) -> FloatArray:
        return weights[self.rows]


class StandIn:
    """What the experts ask of an additive model, on naive Bayes over equal-frequency bins."""

    def __init__(self, columns: Sequence[Column], target: IntArray, n_classes: int, best: str = "W") -> None:
        ones = np.ones(len(target))
        self.plan = plan_bins(columns, 5)
        cells = self.plan.cells(columns)
        model = estimate_one_parent(count_pairs(cells, target, self.plan.n_cells, n_classes, ones), self.plan)
        self.table = np.log(model.marginal)
        self.log_prior = np.log(np.bincount(target, minlength=n_classes) + 1.0) - np.log(len(target) + n_classes)
        self.numeric_weights = np.array([kind == "numeric" for kind, _ in columns])
        present = (cells >= 0)[:, :, None]
        evidence = self.table[np.maximum(cells, 0)]
        row = np.arange(len(target))
        evidence[row, :, target] = np.log(leave_out_marginals(model, cells, target, ones))
        evidence = (evidence - evidence.mean(axis=2, keepdims=True)) * present
        log_prior = np.repeat(self.log_prior[None], len(target), axis=0)
        total = log_prior + evidence.sum(axis=1)
        temperature = best_temperature(total, target, ones)
        self.loo = Kept(
            row,
            row % 4,
            target,
            ones,
            evidence,
            self.effects(columns),
            np.ones(len(columns)),
            log_prior,
            temperature,
            best,
            log_softmax(temperature * total, axis=1),
        )

    def effects(self, columns: Sequence[Column]) -> FloatArray:
        return (self.plan.cells(columns)[:, :, None] == np.arange(self.plan.n_cells)).any(axis=1).astype(float)

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        weights = np.full((len(self.log_prior), len(columns)), self.loo.temperature)
        no_effects = np.zeros((len(self.log_prior), self.plan.n_cells))
        return log_softmax(
            self.reweighted(self.loo.temperature, 0 * self.log_prior, weights, no_effects)(columns), axis=1
        )

    def reweighted(
        self, prior_scale: float, bias: FloatArray, weights: FloatArray, effects: FloatArray
    ) -> Callable[[Sequence[Column]], FloatArray]:
        def score(columns: Sequence[Column]) -> FloatArray:
            cells = self.plan.cells(columns)
            evidence = self.table[np.maximum(cells, 0)]
            evidence = (evidence - evidence.mean(axis=2, keepdims=True)) * (cells >= 0)[:, :, None]
            return (
                prior_scale * self.log_prior
                + bias
                + np.einsum("nij,ji->nj", evidence, weights)
                + self.effects(columns) @ effects.T
            )

        return score
