"""How well a model fits what it has learnt: log-likelihood, numbers of parameters, AIC and BIC.

The log-likelihood of the learnt rows is a sum over what was counted, so it needs no rows. With ``u_j`` the weight of
class j, and ``v_jia`` that of value a of column i in it::

    sum over rows of log P(x, y) = sum_j u_j log pi_j + sum_jia v_jia log theta_jia

A normal column adds ``-n/2 log(2 pi sigma^2) - scatter / (2 sigma^2)`` for each class, and the families that read
histograms a sum over their cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively.analysis.parameter_counts import ParameterCounts, count_factors
from naively.errors import RecipeError
from naively.families.categorical import CategoricalEstimate
from naively.families.gaussian import GaussianEstimate
from naively.families.linear import LinearEstimate
from naively.families.steps import Steps
from naively.scoring.model import Factor, statistics_of
from naively.statistics.base import Summary
from naively.statistics.histogram import Histograms
from naively.statistics.moments import centred
from naively.statistics.statistics import Statistics
from naively.typing import FloatArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes


# -- log-likelihood -------------------------------------------------------------------------------------------------


def counted(counts: FloatArray, logs: FloatArray) -> float:
    """The sum of counts times logarithms, in which what was never counted adds nothing, be it impossible or not.

    Examples
    --------
    >>> counted(np.array([2.0, 0.0]), np.array([-0.5, -np.inf]))
    -1.0
    """
    seen = counts > 0
    return float((counts[seen] * logs[seen]).sum())


def factor_log_likelihood(factor: Factor, schema: Any, statistics: Statistics) -> float:
    """The log-likelihood of all learnt cells of some columns, each in its own class.

    Parameters
    ----------
    factor : Factor
    schema : Schema
    statistics : Statistics
        What the factor was estimated from.
    """
    names = [schema.names[member] for member in factor.members.tolist()]
    if factor.family.together:
        raise _refusal(
            names[0], "it is read together with others, and rows where some of them are missing are not kept"
        )
    if not factor.family.is_distribution:
        raise _refusal(
            names[0], f"{factor.family.name()!r} evidence tells classes apart and is no density of the value"
        )
    own = statistics_of(schema, factor.family, factor.members.tolist(), statistics)
    match factor.estimate:
        case CategoricalEstimate():
            return _of_categories(factor.estimate, *own)
        case GaussianEstimate():
            return _of_normal(factor.estimate, *own)
        case LinearEstimate():
            return _of_linear(factor.estimate, *own)
        case _:
            return _of_cells(factor.estimate, names, statistics)


def _of_categories(estimate: CategoricalEstimate, counts: Any) -> float:
    """Counts times log-probabilities; values that were declared and never seen add nothing."""
    wider = counts.with_categories(estimate.categories)
    return sum(counted(wider.table(place).high, table[:, :-2]) for place, table in enumerate(estimate.tables))


def _of_normal(estimate: GaussianEstimate, moments: Any) -> float:
    """``-n/2 log(2 pi variance) - (scatter + n (mean of the class - mean in force)^2) / (2 variance)``."""
    weight, mean, scatter = centred(moments)
    silent = np.isnan(estimate.variance)
    speaks = ((estimate.variance > 0) | silent).all(axis=0) & (weight > 0) & ~silent
    variance = np.where(speaks, estimate.variance, 1.0)
    squares = scatter + weight * (mean - estimate.mean) ** 2
    terms = -0.5 * (weight * np.log(2 * math.pi * variance) + squares / variance)
    return float(np.where(speaks, terms, 0.0).sum())


def _of_linear(estimate: LinearEstimate, moments: Any) -> float:
    """Slopes times sums, offsets times weights. Where a value is impossible its sum is zero, and so is the slope."""
    offsets = 0.0 if moments.observed is None else moments.observed.high * estimate.offset
    return float((moments.total.high * estimate.slope + offsets).sum())


def _of_cells(estimate: Any, names: Sequence[str], statistics: Statistics) -> float:
    """The log-likelihood of values counted in a histogram's cells: exact where a cell is one value, or within a bin."""
    table = statistics.table(Summary("histogram"))
    assert isinstance(table, Histograms)
    kept = [name for name in names if name in table.columns]
    if len(kept) < len(names):
        absent = next(name for name in names if name not in kept)
        raise _refusal(absent, "it is no function of means and variances, and no histogram was kept")
    total = 0.0
    for place, (name, histogram) in enumerate(zip(names, table.for_columns(names).histograms, strict=True)):
        if histogram.level > 0 and not isinstance(estimate, Steps):
            raise _refusal(name, f"it has more than {histogram.cap} distinct values, too many to keep")
        block = np.full((len(histogram.keys), len(names)), np.nan)
        block[:, place] = histogram.values()
        total += counted(histogram.counts, estimate.evidence(block)[:, place].T)
    return total


def _refusal(column: str, why: str) -> RecipeError:
    return RecipeError(
        f"Column {column!r} has no log-likelihood: {why}. Read it by itself with another family, such as Gaussian() or "
        "Binned(); or sum predict_joint_log_proba(X) at the rows' own classes."
    )


# -- numbers of parameters ------------------------------------------------------------------------------------------


def parameter_counts(model: NaiveBayes) -> ParameterCounts:
    """How many parameters a model has, and how many its full joint distribution would have.

    Parameters
    ----------
    model : NaiveBayes
        Fitted, of the recipe "textbook".

    Returns
    -------
    ParameterCounts
        The free ones of the prior are K - 1 if it is estimated, none if it is given. The cuts of `Binned` and the prior
        of `StudentT` are not counted. `Joint` factors and the tree of `TAN` count all combinations, seen or not.
        `Kernel` and `Stacked` have no fixed number: they raise a `RecipeError`.

    Examples
    --------
    >>> from naively import NaiveBayes
    >>> rows = {"coat": ["striped", "plain", "plain", "black"], "tail": [True, True, False, True]}
    >>> print(parameter_counts(NaiveBayes("textbook").fit(rows, ["cat", "cat", "dog", "dog"])))
                   stored   free
    naive Bayes        12      7
    P(X, Y)            12     11
    P(X | Y)           12     10
    P(Y | X)           12      6
    """
    model = model._taken()
    factors = model._unweighed_factors("n_parameters_")
    estimated = model.prior is None or (isinstance(model.prior, str) and model.prior == "estimated")
    return count_factors(factors, model.schema_.names, len(model.classes_), estimated)
