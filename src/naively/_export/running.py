"""Sums that follow records one at a time, and answers straight from them.

A textbook model whose columns are normal or categorical needs no new estimates for a new record: its mean, scatter or
count moves, and evidence is computed from that when it is asked for. The sums here start from the exact ones of a state
and leave them after some thousand records at most, so that rounding does not add up. Whatever is not sure to end as the
exact sums would, such as taking away most of a scatter, is refused here and done the ordinary way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._export.additive import AdditiveForm, ColumnTable
from naively._export.python import compiled, text_only
from naively._scoring.decision import log_prior
from naively._scoring.model import statistics_of
from naively.families import Family, Gaussian
from naively.recipes import as_recipe
from naively.smoothing import Lidstone, Smoothing
from naively.statistics._moments import Centre, centre, pooled_centre
from naively.typing import Label

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

LEAST_LEFT = 1e-3
"""The share of the largest scatter that must be left when a number is taken away: rounding is judged by the largest."""

HALF_LOG_TWO_PI = 0.5 * log(2 * pi)
ROOT_HALF = sqrt(0.5)


class Spread:
    """The weight, mean and scatter of numbers that come and go.

    Parameters
    ----------
    weight, mean, scatter : float
    """

    __slots__ = ("anchor", "peak", "scatter", "shift", "weight")

    def __init__(self, weight: float, mean: float, scatter: float):
        self.weight, self.anchor, self.shift, self.scatter, self.peak = weight, mean, 0.0, scatter, scatter

    def add(self, number: float) -> None:
        """Learn a number. The mean is held as a shift from where it began: far from zero nothing rounds away."""
        if self.weight == 0:
            self.anchor = number
        self.weight += 1
        gap = (number - self.anchor) - self.shift
        self.shift += gap / self.weight
        self.scatter += gap * ((number - self.anchor) - self.shift)
        if self.scatter > self.peak:
            self.peak = self.scatter

    def without(self, number: float) -> tuple[float, float, float] | None:
        """Weight, shift and scatter without a number; None where it is not sure that they are right."""
        weight = self.weight - 1
        if weight < 1:
            return None
        gap = (number - self.anchor) - self.shift
        shift = self.shift - gap / weight
        scatter = self.scatter - gap * ((number - self.anchor) - shift)
        return (weight, shift, scatter) if scatter > LEAST_LEFT * self.peak else None

    def set(self, parts: tuple[float, float, float]) -> None:
        """Take the weight, shift and scatter that `without` gave."""
        self.weight, self.shift, self.scatter = parts

    @property
    def variance(self) -> float:
        """The scatter of a row."""
        return self.scatter / self.weight if self.weight > 0 else 0.0


class NormalColumn:
    """A column of numbers, normal in each class.

    Parameters
    ----------
    family : Gaussian
    of_class : list of Spread
    of_all : Spread

    Attributes
    ----------
    bells : list of tuple
        Of each class: where numbers are read from, the mean from there, the scale and the peak.
    changed : set of int
        The classes whose bells are no longer right.
    own : list of float
        The variance of each class; 0 where it has too few numbers for one.
    leant : bool
        Whether the bells of some class lean on the variance of all classes: then they change with every number.
    is_silent : bool
        Whether a class has no variance at all, so that the column says nothing.
    """

    def __init__(self, family: Gaussian, of_class: list[Spread], of_all: Spread):
        self.family, self.of_class, self.of_all = family, of_class, of_all
        self.bells = [(0.0, 0.0, 0.0, 0.0)] * len(of_class)
        self.silence = (0.0,) * len(of_class)
        self.changed, self.own = set(range(len(of_class))), [0.0] * len(of_class)
        self.leant, self.is_silent = True, True

    def add(self, cell: float, code: int) -> None:
        """Learn a cell of a class."""
        self.of_class[code].add(cell)
        self.of_all.add(cell)
        self.changed.add(code)

    def without(self, cell: float, code: int) -> list[tuple[Spread, tuple[float, float, float]]] | None:
        """What is left without a cell of a class; None where that is not sure."""
        spreads = self.of_class[code], self.of_all
        left = [spread.without(cell) for spread in spreads]
        if None in left:
            return None
        self.changed.add(code)
        return [(spread, parts) for spread, parts in zip(spreads, left, strict=True) if parts is not None]

    def leave(self, left: list[tuple[Spread, tuple[float, float, float]]]) -> None:
        """Take what `without` gave."""
        for spread, parts in left:
            spread.set(parts)

    def evidence(self, number: float) -> Sequence[float]:
        """The log-density of a number in each class."""
        if self.changed:
            self._estimate()
        if self.is_silent:
            return self.silence
        said = []
        for anchor, shift, scale, peak in self.bells:
            deviation = (number - anchor - shift) * scale
            said.append(peak - deviation * deviation if -1e150 < deviation < 1e150 else peak - 1e300)
        return said

    def _estimate(self) -> None:
        """Make the bells of the classes that changed; of all where one leans on the variance of all classes."""
        overall, ddof = self.of_all.variance, self.family.ddof
        for code in self.changed:
            spread = self.of_class[code]
            self.own[code] = spread.scatter / spread.weight if spread.weight > ddof else 0.0
        leans = self.family.floor * overall >= min(self.own)
        for code in range(len(self.bells)) if leans or self.leant else self.changed:
            self.bells[code] = self._bell(self.of_class[code], overall)
        self.leant, self.is_silent = leans, leans and any(bell[2] == inf for bell in self.bells)
        self.changed.clear()

    def _bell(self, spread: Spread, overall: float) -> tuple[float, float, float, float]:
        """As `Gaussian` estimates it; of infinite scale where there is no variance."""
        freedom = spread.weight - self.family.ddof
        variance = overall if spread.weight == 0 else spread.scatter / freedom if freedom > 0 else 0.0
        floor = self.family.floor
        variance = variance + floor if self.family.rule == "absolute" else max(variance, floor * overall)
        place = spread if spread.weight > 0 else self.of_all
        if variance == 0:
            return place.anchor, place.shift, inf, inf
        return place.anchor, place.shift, ROOT_HALF / sqrt(variance), -0.5 * log(variance) - HALF_LOG_TWO_PI


class LabelColumn:
    """A column of labels, whose pseudo-counts are all the same.

    Parameters
    ----------
    tau : float
        The pseudo-count.
    declared : tuple of labels
        The labels that stay, however few cells have them.
    counts : dict
        How often each label occurred in each class.
    totals : list of float
        The known cells of each class.
    """

    def __init__(self, tau: float, declared: tuple[Label, ...], counts: dict[Label, list[float]], totals: list[float]):
        self.tau, self.declared, self.counts, self.totals = tau, frozenset(declared), counts, totals
        self.known: dict[Label, Sequence[float]] = {}

    def add(self, cell: Label, code: int) -> None:
        """Learn a cell of a class."""
        counted = self.counts.get(cell)
        if counted is None:
            counted = self.counts[cell] = [0.0] * len(self.totals)
        counted[code] += 1
        self.totals[code] += 1
        self.known.clear()

    def without(self, cell: Label, code: int) -> tuple[Label, int] | None:
        """What is to be taken away; None where the label would be gone, or never was there."""
        counted = self.counts.get(cell)
        if counted is None or counted[code] < 1 or (sum(counted) < 2 and cell not in self.declared):
            return None
        return cell, code

    def leave(self, gone: tuple[Label, int]) -> None:
        """Take away what `without` gave."""
        cell, code = gone
        self.counts[cell][code] -= 1
        self.totals[code] -= 1
        self.known.clear()

    def get(self, cell: Label, unknown: Sequence[float]) -> Sequence[float]:
        """The log-probability of a label in each class, as a dict would have it; `unknown` for one that has none."""
        said = self.known.get(cell)
        if said is None:
            counted = self.counts.get(cell)
            if counted is None:
                return unknown
            said = self.known[cell] = self._logs(counted)
        return said

    def _logs(self, counted: list[float]) -> Sequence[float]:
        tau, pseudo = self.tau, self.tau * len(self.counts)
        borrowed = 0.0
        if not pseudo and not all(self.totals):  # a class of which nothing is known borrows from all together
            whole = sum(self.totals)
            borrowed = sum(counted) / whole if whole > 0 else 1.0 / len(self.counts)
        shares = [
            (count + tau) / (total + pseudo) if total + pseudo > 0 else borrowed
            for count, total in zip(counted, self.totals, strict=True)
        ]
        return [log(share) if share > 0 else -inf for share in shares]


Column = NormalColumn | LabelColumn


class Running:
    """A model that follows records one at a time.

    Parameters
    ----------
    weights : list of float
        The rows of each class.
    prior_tau : float, optional
        The pseudo-count of the estimated prior; None: the prior is given, and stays.
    columns : dict
        By name; those that are read.
    program : dict
        The functions that answer.

    Attributes
    ----------
    n_followed : int
        How many of the records that wait it has followed.
    """

    def __init__(
        self, weights: list[float], prior_tau: float | None, columns: dict[str, Column], program: dict[str, Any]
    ):
        self.weights, self.prior_tau = weights, prior_tau
        self.codes = {label: code for code, label in enumerate(program["CLASSES"])}
        self.columns, self.program, self.n_followed = columns, program, 0

    def learn(self, keys: Sequence[str], cells: Sequence[Any], label: Label) -> None:
        """Learn a record of which every cell is of the column's kind."""
        code, columns = self.codes[label], self.columns
        for name, cell in zip(keys, cells, strict=True):
            if name in columns:
                columns[name].add(cell, code)
        self.weights[code] += 1
        self._set_prior()

    def forget(self, keys: Sequence[str], cells: Sequence[Any], label: Label) -> bool:
        """Forget such a record, if it is sure that all is then as if it had never been; else change nothing."""
        code = self.codes[label]
        if self.weights[code] < 2:
            return False
        left: list[tuple[Any, Any]] = []
        for name, cell in zip(keys, cells, strict=True):
            column = self.columns.get(name)
            if column is not None:
                rest = column.without(cell, code)
                if rest is None:
                    return False
                left.append((column, rest))
        for column, rest in left:
            column.leave(rest)
        self.weights[code] -= 1
        self._set_prior()
        return True

    def _set_prior(self) -> None:
        if self.prior_tau is not None:
            tau = self.prior_tau
            whole = sum(self.weights) + tau * len(self.weights)
            shares = [(weight + tau) / whole for weight in self.weights]
            logs = tuple(log(share) if share > 0 else -inf for share in shares)
            self.program["PRIOR"] = self.program["START"] = logs


# -- from a model -----------------------------------------------------------------------------------------------------


def running_of(model: NaiveBayes) -> Running | None:
    """What goes on from all that a model has learnt; None where a new record changes more than sums.

    Parameters
    ----------
    model : NaiveBayes
        With classes.
    """
    state, recipe = model._fitted(), as_recipe(model.recipe)
    schema, statistics = state.schema, state.statistics
    if state.frozen or recipe.tempering is not None or statistics.kept is not None or not schema.named:
        return None
    families, smoothings = model._checked_families(recipe), model._smoothings(schema.names, recipe)
    known = zip(families, smoothings, schema.summaries, strict=True)
    if not all(family is None or _follows(family, rule, kept) for family, rule, kept in known):
        return None
    given, rule = model._given_prior(), model._prior_rule()
    estimated = given is None or (isinstance(given, str) and given == "estimated")
    logs = log_prior(model._prior(given))
    if logs.ndim != 1 or (estimated and not isinstance(rule, Lidstone)):
        return None
    columns = _columns(model, families, smoothings)
    program = _program(model, columns, logs)
    tau = float(rule.tau) if estimated and isinstance(rule, Lidstone) else None
    return Running(statistics.class_weight.high.tolist(), tau, columns, program)


def _follows(family: Family, smoothing: Smoothing, kept: Sequence[Any]) -> bool:
    """Whether the sums of a column are all that its evidence needs, and no other column's, and no other record's."""
    decided = tuple(kept) == tuple(family.summaries)  # or it is not known yet which family reads the column
    return decided and family.followed_as(smoothing) is not None


def _columns(
    model: NaiveBayes, families: Sequence[Family | None], smoothings: Sequence[Smoothing]
) -> dict[str, Column]:
    schema, statistics = model.schema_, model.statistics_
    columns: dict[str, Column] = {}
    groups: dict[str | None, list[int]] = {}
    for place, (family, rule) in enumerate(zip(families, smoothings, strict=True)):
        if family is not None:
            groups.setdefault(family.followed_as(rule), []).append(place)
    for kind, members in groups.items():
        chosen: list[Any] = [families[place] for place in members]
        (table,) = statistics_of(schema, chosen[0], members, statistics)
        if kind == "normal":
            columns |= _normal_columns(table, chosen)
        else:
            columns |= _label_columns(table, chosen, [smoothings[place] for place in members])
    return columns


def _normal_columns(table: Any, families: Sequence[Any]) -> dict[str, Column]:
    of_class, of_all = _spreads(centre(table)), _spreads(pooled_centre(table))
    n_columns = len(families)
    return {
        name: NormalColumn(family, of_class[place::n_columns], of_all[place])
        for place, (name, family) in enumerate(zip(table.columns, families, strict=True))
    }


def _spreads(found: Centre) -> list[Spread]:
    """Class by class, each with all its columns."""
    spreads = []
    flat = (np.ravel(part).tolist() for part in found)
    for weight, mean, scatter, rest in zip(*flat, strict=True):
        spread = Spread(weight, mean, scatter)
        spread.shift = rest
        spreads.append(spread)
    return spreads


def _label_columns(table: Any, families: Sequence[Any], smoothings: Sequence[Any]) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for place, (name, family, rule) in enumerate(zip(table.columns, families, smoothings, strict=True)):
        cells = table.table(place).high
        counts = {label: [0.0] * len(cells) for label in family.known}
        counts |= dict(zip(table.categories[place], cells.T.tolist(), strict=True))
        columns[name] = LabelColumn(float(rule.tau), family.known, counts, cells.sum(axis=1).tolist())
    return columns


def _program(model: NaiveBayes, columns: Mapping[str, Column], logs: Any) -> dict[str, Any]:
    """The functions that answer, which read the columns as they are at the time."""
    schema, silence = model.schema_, np.zeros(len(logs))
    pairs = zip(schema.names, schema.kinds, strict=True)
    tables = [ColumnTable(name, "nothing", {}, silence, kind) for name, kind in pairs]
    program = compiled(AdditiveForm(model.classes_.tolist(), logs, logs, tables, schema.named))
    number, missing = program["_number"], tuple(silence.tolist())

    def read_number(name: str, cell: Any, column: NormalColumn) -> Sequence[float]:
        known = cell if type(cell) is float and -inf < cell < inf else number(name, cell, None)
        return missing if known is None else column.evidence(known)

    def reader(table: ColumnTable, column: Column) -> tuple[Any, ...]:
        if isinstance(column, NormalColumn):
            return table.name, read_number, column
        return table.name, program["_labels"], (column, missing, missing, text_only(table))

    program["READERS"] = [reader(table, columns[table.name]) for table in tables if table.name in columns]
    return program
