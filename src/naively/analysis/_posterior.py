"""What is known of the parameters of a model: their posterior distributions, and the probability of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively._scoring.model import Factor, statistics_of
from naively._table.results import Columns, Result
from naively.errors import GapError, ParameterError, RecipeError
from naively.smoothing import Smoothing
from naively.statistics._statistics import Statistics
from naively.typing import Label

LEVELS = (0.025, 0.975)


@dataclass(frozen=True, repr=False)
class Posterior(Result):
    """The posterior distributions of the parameters of a model; its frame tells their means and 95 % intervals.

    Parameters
    ----------
    class_prior : frozen distribution or None
        That of the class prior, a Dirichlet distribution in the order of `classes`; None if the prior was given.
    columns : dict
        For each column, or factor of several, a dict from the names of its parameters to a dict from classes to frozen
        distributions of ``scipy.stats``.
    values : dict
        For each column of labels its values, in the order of its Dirichlet distributions; combinations for a factor.
    classes : list
    """

    class_prior: Any
    columns: Mapping[str, Mapping[str, Mapping[Label, Any]]]
    values: Mapping[str, Sequence[Label]]
    classes: Sequence[Label]

    def _columns(self) -> Columns:
        rows = list(self._rows())
        names = ("column", "class", "parameter", "value", "mean", "low", "high")
        cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
        kinds = ("O", "O", "O", "O", "f", "f", "f")
        return {name: (kind, own) for name, kind, own in zip(names, kinds, cells, strict=True)}

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        if self.class_prior is not None:
            for label, marginal in zip(self.classes, _marginals(self.class_prior), strict=True):
                yield ("prior", str(label), "probability", "", *_described(marginal))
        for name, parameters in self.columns.items():
            for parameter, by_class in parameters.items():
                for label, found in by_class.items():
                    if name not in self.values:
                        yield (name, str(label), parameter, "", *_described(found))
                        continue
                    for value, marginal in zip(self.values[name], _marginals(found), strict=True):
                        yield (name, str(label), parameter, str(value), *_described(marginal))


def _marginals(joint: Any) -> list[Any]:
    """The distribution of each share of a Dirichlet distribution."""
    from scipy.stats import beta

    alpha = np.asarray(joint.alpha, dtype=np.float64)
    return [beta(own, alpha.sum() - own) if len(alpha) > 1 else None for own in alpha.tolist()]


def _described(found: Any) -> tuple[float, float, float]:
    if found is None:  # the only value there is
        return 1.0, 1.0, 1.0
    low, high = found.ppf(LEVELS)
    return float(found.mean()), float(low), float(high)


def posterior_of(
    factors: Sequence[Factor],
    smoothings: Sequence[Smoothing],
    schema: Schema,
    statistics: Statistics,
    class_prior: Any,
) -> Posterior:
    """The posterior distributions of all parameters.

    Parameters
    ----------
    factors : sequence of Factor
    smoothings : sequence of Smoothing
        That of each column.
    schema, statistics
        Of the model.
    class_prior : frozen distribution or None
    """
    classes = statistics.classes.tolist()
    columns: dict[str, dict[str, dict[Label, Any]]] = {}
    values: dict[str, Sequence[Label]] = {}
    for factor in factors:
        names = [schema.names[member] for member in factor.members.tolist()]
        names = [factor.family.term] if factor.family.one_term else names
        tables = statistics_of(schema, factor.family, factor.members.tolist(), statistics)
        smoothing = smoothings[int(factor.members[0])]
        try:
            found = factor.family.posterior(tables, smoothing)
        except GapError as gap:
            raise ParameterError(_refusal("posterior", names[0], factor, gap)) from None
        for place, (name, parameters) in enumerate(zip(names, found, strict=True)):
            columns[name] = {key: dict(zip(classes, own, strict=True)) for key, own in parameters.items()}
            if factor.family.values_of(factor.estimate, place) is not None:
                values[name] = factor.family.values_of(factor.estimate, place)
    ordered = {name: columns[name] for name in [*schema.names, *columns] if name in columns}  # factors come last
    return Posterior(class_prior, ordered, values, classes)


def factor_log_marginal_likelihood(
    factor: Factor, smoothing: Smoothing, schema: Schema, statistics: Statistics
) -> float:
    """The log-probability of all learnt cells of some columns given their classes, whatever the parameters are."""
    tables = statistics_of(schema, factor.family, factor.members.tolist(), statistics)
    try:
        return float(factor.family.log_marginal_likelihood(tables, smoothing))
    except GapError as gap:
        name = schema.names[int(factor.members[0])]
        raise RecipeError(_refusal("log_marginal_likelihood_", name, factor, gap)) from None


def _refusal(asked: str, name: str, factor: Factor, gap: GapError) -> str:
    return f"{asked}: column {name!r} is read by {factor.family!r}, which {gap.reason}."
