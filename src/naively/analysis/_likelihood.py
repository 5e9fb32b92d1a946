"""How well a model fits what it has learnt: log-likelihood, numbers of parameters, AIC and BIC.

The log-likelihood of the learnt rows is a sum over what was counted, so it needs no rows. With ``u_j`` the weight of
class j, and ``v_jia`` that of value a of column i in it::

    sum over rows of log P(x, y) = sum_j u_j log pi_j + sum_jia v_jia log theta_jia

A normal column adds ``-n/2 log(2 pi sigma^2) - scatter / (2 sigma^2)`` for each class, and the families that read
histograms a sum over their cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._scoring.model import Factor, statistics_of
from naively.analysis._parameter_counts import ParameterCounts, count_factors
from naively.errors import GapError, RecipeError
from naively.families import Estimate
from naively.statistics._information import counted
from naively.statistics._statistics import Statistics
from naively.statistics.base import Summary

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes


# -- log-likelihood -------------------------------------------------------------------------------------------------


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
    if not factor.family.is_distribution:
        raise _refusal(
            names[0], f"{factor.family.name()!r} evidence tells classes apart and is no density of the value"
        )
    own: list[Any] = statistics_of(schema, factor.family, factor.members.tolist(), statistics)
    if factor.family.together and not _complete(own, statistics):
        raise _refusal(
            names[0], "it is read together with others, and rows where some of them are missing are not kept"
        )
    try:
        return float(factor.estimate.log_likelihood(*own).sum())
    except GapError as gap:
        return _of_cells(factor.estimate, names, statistics, gap.reason)


def _complete(tables: Sequence[Any], statistics: Statistics) -> bool:
    """Whether no cell of columns that are read together was ever missing."""
    weight = statistics.class_weight.high
    return all(np.allclose(table.weight.high.sum(axis=1), weight, rtol=1e-9, atol=0.0) for table in tables)


def _of_cells(estimate: Estimate, names: Sequence[str], statistics: Statistics, gap: str) -> float:
    """The log-likelihood of values counted in a histogram's cells: exact where a cell is one value, or within a bin."""
    table = statistics.table(Summary("histogram"))
    kept = [name for name in names if name in table.columns]
    if len(kept) < len(names):
        absent = next(name for name in names if name not in kept)
        raise _refusal(absent, f"it {gap}")
    total = 0.0
    for place, name in enumerate(names):
        histogram = table.histogram_of(name)
        if histogram.level > 0 and not estimate.constant_in_cells:
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
                 stored  free
    naive Bayes      12     7
    P(X, Y)          12    11
    P(X | Y)         12    10
    P(Y | X)         12     6
    """
    model = model._taken()
    factors = model._unweighed_factors("n_parameters_")
    estimated = model.prior is None or (isinstance(model.prior, str) and model.prior == "estimated")
    return count_factors(factors, model.schema_.names, len(model.classes_), estimated)
