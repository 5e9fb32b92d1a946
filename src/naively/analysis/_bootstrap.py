"""How sure a model that weighs evidence can be of its probabilities: a Bayesian bootstrap of the rows that it has kept.

Densities, tables, weights and effects are estimated from the same rows, and no posterior of all of them has a closed
form. So the kept rows are weighed anew, many times, by random weights of mean 1 (Rubin 1981), and all that the model
estimates is estimated each time. How much its log-odds vary is how sure they are.

Rubin's weights are exponential, of variance 1: half of the rows would hardly count, and a model that shrinks what few
rows say would shrink too much. Weights of variance ``1 / CALM`` change little, and the standard deviation that they
cause is multiplied by the root of `CALM`: the same to first order, without that bias.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from naively._table.table import Table
from naively.analysis._credible import against_the_rest, logistic
from naively.engines._local import LocalEngine
from naively.engines._threads import thread_count
from naively.engines.base import Target
from naively.errors import RecipeError
from naively.statistics._statistics import Statistics
from naively.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

CALM = 4.0
SEED = 0


def bootstrapped_bounds(
    model: NaiveBayes, table: Table, positions: IntArray | None, level: float, n_draws: int
) -> FloatArray:
    """The bounds (rows, classes, 2) of the probability of each class.

    Parameters
    ----------
    model : NaiveBayes
        Of a recipe that weighs evidence.
    table, positions
        The rows.
    level : float
        The probability that the bounds are to hold.
    n_draws : int
        How often all is estimated anew.
    """
    found = _log_odds(_scores(model, table, positions))
    if found.shape[1] < 2:
        return np.ones((*found.shape, 2))
    draws = [_log_odds(_scores(other, table, positions)) for other in _resampled(model, n_draws)]
    deviation = np.sqrt(CALM) * np.std(draws, axis=0, ddof=1)
    spread = special.stdtrit(n_draws - 1, 0.5 + level / 2) * deviation
    return np.stack([logistic(found - spread), logistic(found + spread)], axis=2)


def _log_odds(scores: FloatArray) -> FloatArray:
    """The log-odds (rows, classes) of each class against the rest."""
    return np.stack([against_the_rest(scores, code)[0] for code in range(scores.shape[1])], axis=1)


def _scores(model: NaiveBayes, table: Table, positions: IntArray | None) -> FloatArray:
    """Log-prior and evidence, (rows, classes)."""
    scorer, log_prior = model._estimated()
    result = np.empty((table.n_rows, len(model.classes_)))

    def finish(scores: FloatArray, rows: slice) -> None:
        result[rows] = scores + (log_prior if log_prior.ndim == 1 else log_prior[rows])

    scorer.run(table, positions, finish, thread_count(model.n_threads))
    return result


def _resampled(model: NaiveBayes, n_draws: int) -> list[NaiveBayes]:
    """Models of the kept rows under random weights."""
    schema, statistics = model.schema_, model.statistics_
    kept = statistics.kept
    if kept is None or not len(kept):
        raise RecipeError(
            "credible_interval of a recipe that weighs evidence takes the kept rows, of which this model has none. Use "
            "the model that it was made from, or recipe='textbook'."
        )
    rows, positions = schema.matched(schema.kept_table(kept))
    rng, n_threads = np.random.default_rng(SEED), thread_count(model.n_threads)
    found = []
    for _ in range(n_draws):
        shape = CALM * kept.occurrences
        weights = kept.weights * rng.gamma(shape) / shape
        target = Target(statistics.classes, kept.codes, weights)
        counted: Statistics = LocalEngine().count(rows, schema, positions, target, n_threads)
        counted = counted.with_classes(statistics.classes)
        found.append(model.with_statistics(replace(counted, kept=replace(kept, weights=weights))))
    return found
