"""Every kind of statistics keeps the laws, and a statistic that breaks one is caught."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively._model.schema import Schema
from naively._table.table import ArrayTable
from naively.engines._local import LocalEngine
from naively.engines.base import Target
from naively.errors import ParameterError, SchemaError
from naively.families import Bernoulli, Binned, Categorical, Date, Gaussian, Joint, Kernel, Multinomial, Poisson, Text
from naively.statistics._moments import Moments
from naively.statistics._plain import sum_to_dict
from naively.statistics._registry import STATISTICS, empty_table
from naively.statistics._statistics import merged_classes
from naively.statistics._sums import Sum
from naively.statistics.base import Statistic, Summary
from naively.testing import check_statistic
from tests.models import textbook

WORDS = ("ant", "bee", "cat", "dog dog")
PARAMETERS = {
    "moments": [{"families": family} for family in (Gaussian(), Bernoulli(), Poisson(), Multinomial())],
    "counts": [{"families": Categorical()}],
    "histogram": [{"families": Binned()}, {"families": Kernel()}],
    "joint": [
        {"families": {"x": first, "z": second}, "factors": [Joint("x", "z")]}
        for first, second in (
            (Categorical(), Categorical()),
            (Categorical(), Gaussian()),
            (Gaussian(), Gaussian()),
        )
    ],
    "calendar": [{"families": Date()}],
    "tokens": [{"families": Text()}],
}


def test_every_kind_has_examples():
    assert PARAMETERS.keys() == STATISTICS.keys()
    assert all(STATISTICS[kind].kind == kind for kind in STATISTICS)


@st.composite
def parts(draw):
    """Three small tables, of two columns and one to three classes."""
    rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=7)
    return [draw(rows) for _ in range(3)]


def fitted(kind, parameters, rows):
    x, z, y = zip(*rows, strict=True)
    cells = {"x": x, "z": z}
    if kind == "calendar":
        days = [np.datetime64("2024-02-27T22", "h") + 50 * day for day in range(5)]
        cells = {name: [None if value == 5 else days[value] for value in column] for name, column in cells.items()}
    elif kind == "tokens":
        cells = {name: [" ".join(WORDS[: 1 + place % 4]) for place in column] for name, column in cells.items()}
    else:
        cells = {name: [None if value == 5 else value for value in column] for name, column in cells.items()}
    return textbook(**parameters).fit(cells, y).statistics_


@pytest.mark.parametrize(
    ("kind", "parameters"), [(kind, some) for kind, several in PARAMETERS.items() for some in several]
)
@settings(max_examples=15)
@given(parts())
def test_the_statistics_keep_the_laws(kind, parameters, tables):
    everything = [fitted(kind, parameters, rows) for rows in tables]
    classes = everything[0].classes
    for one in everything[1:]:
        classes = merged_classes(classes, one.classes)
    everything = [one.with_classes(classes) for one in everything]
    summaries = set.intersection(*(set(one.tables) for one in everything))
    assert any(summary.kind == kind for summary in summaries)
    for summary in summaries:
        examples = [(one.tables[summary].tidy(), one.class_weight.high) for one in everything]
        check_statistic(STATISTICS[summary.kind], summary, examples)


# -- statistics that break a law --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LopsidedSum(Moments):
    """Associative, with an identity, but not commutative."""

    def __add__(self, other):
        merged = super().__add__(other)
        return replace(merged, total=Sum(np.where(self.total.high == 0, other.total.high, self.total.high)))

    def scaled(self, factor):
        return replace(super().scaled(factor), total=self.total)


@dataclass(frozen=True)
class TwiceTheLarger(Moments):
    """Commutative, with an identity, but not associative."""

    def __add__(self, other):
        mine, theirs = self.total.high, other.total.high
        total = np.where((mine == 0) | (theirs == 0), mine + theirs, 2 * np.maximum(mine, theirs))
        return replace(super().__add__(other), total=Sum(total))


@dataclass(frozen=True)
class KeepsTotals(Moments):
    def less(self, other, peak):
        return replace(super().less(other, peak), total=self.total)


@dataclass(frozen=True)
class ForgetsAnything(Moments):
    def less(self, other, peak):
        return replace(self, total=self.total - other.total, observed=self.observed - other.observed)


@dataclass(frozen=True)
class SquaredScale(Moments):
    def scaled(self, factor):
        return super().scaled(factor * factor)


@dataclass(frozen=True)
class SameClasses(Moments):
    def for_classes(self, positions, n_classes):
        return self if n_classes == len(positions) else super().for_classes(positions, n_classes)


@dataclass(frozen=True)
class SortedColumns(Moments):
    def for_columns(self, columns):
        return super().for_columns(sorted(columns))


@dataclass(frozen=True)
class HalfWritten(Moments):
    def to_dict(self):
        return {**super().to_dict(), "total": sum_to_dict(Sum(np.minimum(self.total.high, 8.0)))}


@dataclass(frozen=True)
class SeesChanges(Moments):
    def compare(self, other, summary, rows):
        change, weights = self.compare_rates(other, rows)
        return change._replace(bits=change.bits + 0.5), weights


@dataclass(frozen=True)
class RefusesAll(Moments):
    def check(self, summary, class_weight, peak):
        self._refuse_impossible(np.ones(self.total.shape, dtype=bool))


def examples_of(statistic):
    totals, weights = [[[1, 9], [3, 4]], [[5, 2], [6, 1]], [[2, 7], [8, 3]]], [[2, 3], [4, 3], [3, 3]]
    return [
        (statistic(("x", "z"), Sum.of(total), Sum.of(np.repeat(np.array(weight)[:, None], 2, axis=1))), weight)
        for total, weight in zip(totals, weights, strict=True)
    ]


@pytest.mark.parametrize(
    ("statistic", "law"),
    [
        (LopsidedSum, r"S \+ T is not T \+ S"),
        (TwiceTheLarger, r"\(S \+ T\) \+ U is not S \+ \(T \+ U\)"),
        (KeepsTotals, r"\(S \+ T\) less T is not S"),
        (ForgetsAnything, "less forgets what was never added"),
        (SquaredScale, r"S.scaled\(2\) is not S \+ S"),
        (SameClasses, "for_classes"),
        (SortedColumns, "for_columns: the columns are not in the order"),
        (HalfWritten, r"from_dict\(to_dict\(\)\) is not S"),
        (SeesChanges, "compare finds S different from S"),
        (RefusesAll, "check refuses what rows have left"),
    ],
)
def test_a_statistic_that_breaks_a_law_is_caught(statistic, law):
    check_statistic(Moments, Summary("moments"), examples_of(Moments))
    with pytest.raises(AssertionError, match=f"{statistic.__name__}: .*({law})"):
        check_statistic(statistic, Summary("moments"), examples_of(statistic))


def test_check_statistic_needs_three_examples_of_the_class():
    with pytest.raises(ParameterError, match="at least 3 examples, got 2"):
        check_statistic(Moments, Summary("moments"), examples_of(Moments)[:2])
    with pytest.raises(AssertionError, match="SortedColumns: an example is a Moments"):
        check_statistic(SortedColumns, Summary("moments"), examples_of(Moments))


# -- kinds that there are not -----------------------------------------------------------------------------------------


def test_an_unknown_kind_of_statistics_is_named():
    with pytest.raises(SchemaError, match="no statistic of the kind 'medians', only 'moments', 'counts'"):
        empty_table(Summary("medians"), ("x",), 2)


def test_an_engine_says_which_kinds_it_cannot_count():
    schema = Schema(("x",), ("number",), ((Summary("medians"),),), True)
    target = Target(np.array(["a", "b"]), np.array([0, 1]), None)
    with pytest.raises(SchemaError, match="cannot count statistics of the kind 'medians', only 'moments'"):
        LocalEngine().count(ArrayTable(np.ones((2, 1))), schema, None, target, 1)


def test_a_statistic_that_cannot_be_compared_says_so():
    class Silent(Moments):
        compare = Statistic.compare

    one = examples_of(Silent)[0][0]
    with pytest.raises(ParameterError, match=r"Silent\.compare: it does not tell how a column changes"):
        one.compare(one, Summary("moments"), np.ones((2, 2)))
