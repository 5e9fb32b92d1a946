"""What a report is made from: a model, the rows to judge it on, and the row to explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from naively._scoring.model import Factor, make_factors, text_reader
from naively._table.read import read_table
from naively._table.table import Table
from naively._table.target import read_rows
from naively.analysis._sampling import distributions
from naively.errors import GapError, InputError, ParameterError
from naively.families._distributions import Distribution
from naively.recipes import as_recipe
from naively.typing import FloatArray, IntArray, Label

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes


class JudgedRows(NamedTuple):
    """Rows whose classes are known: as a table that the model reads, with class codes and weights."""

    table: Table
    positions: IntArray | None
    codes: IntArray
    weights: FloatArray


@dataclass(frozen=True)
class Sources:
    """A fitted model with what a report asks of it.

    Parameters
    ----------
    model : NaiveBayes
        Of one state.
    data : (X, y) or (X, y, sample_weight), optional
    row : table of one row, optional
    """

    model: NaiveBayes
    data: Any = None
    row: Any = None

    @cached_property
    def scorer(self) -> Any:
        """The estimates, ready to read tables."""
        return self.model._estimated()[0]

    @cached_property
    def log_prior(self) -> FloatArray:
        """The prior that is in force."""
        return np.asarray(self.model._estimated()[1])

    @cached_property
    def owner(self) -> dict[int, tuple[Factor, int]]:
        """By column: its factor, and its place there."""
        return _owners(self.scorer.factors)

    @cached_property
    def expecting(self) -> dict[int, tuple[Factor, int, Distribution]]:
        """By column: the estimate that is a distribution of its values, not weighed, for those that have one."""
        found = {}
        for factor in self._expecting_factors():
            try:
                (distribution,) = distributions([factor], self.model.schema_, self.model.statistics_)
            except ParameterError:
                continue
            found.update({member: (factor, place, distribution) for member, place in _places(factor)})
        return found

    def _expecting_factors(self) -> list[Factor]:
        """The factors of columns that are read alone, not weighed, by families that say what is expected of a cell."""
        model, recipe = self.model, as_recipe(self.model.recipe)
        families = [
            None if family is None or family.together else family.expecting()
            for family in model._checked_families(recipe)
        ]
        return make_factors(model.schema_, families, model._smoothings(model.schema_.names, recipe), model.statistics_)

    def statistics_of(self, member: int) -> list[Any]:
        """The statistics of one column."""
        name = self.model.schema_.names[member]
        tables = [self.model.statistics_.table(summary) for summary in self.model.schema_.summaries[member]]
        return [table.for_columns([name]) for table in tables]

    # -- rows that were given ---------------------------------------------------------------------------------------

    @cached_property
    def judged(self) -> JudgedRows | None:
        """The rows of `data`."""
        if self.data is None:
            return None
        if not isinstance(self.data, tuple) or len(self.data) not in (2, 3):
            raise ParameterError(
                "report(data) must be (X, y) or (X, y, sample_weight) as in fit, for example (frame, 'target'), "
                f"got {type(self.data).__name__}."
            )
        X, y, *weight = self.data
        table, classes, codes, weights = read_rows(X, y, weight[0] if weight else None)
        codes = np.array([self.model._class_code(label, "report(data)") for label in classes.tolist()])[codes]
        table, positions = self.model.schema_.matched(table)
        return JudgedRows(table, positions, codes, np.ones(len(codes)) if weights is None else weights)

    @cached_property
    def rows(self) -> tuple[Any, ...] | None:
        """X, y and weights of rows to look at: those of `data`, or those that the model has kept; None without any."""
        if self.data is not None:
            return tuple(self.data)
        kept = self.model.statistics_.kept
        if kept is None or not len(kept):
            return None
        return self.model.schema_.kept_table(kept), self.model.classes_[kept.codes], kept.weights

    def numbers_of(self, member: int) -> tuple[FloatArray, FloatArray] | None:
        """The distinct numbers of a column, ascending, and their counts (classes, numbers), if these are known."""
        name = self.model.schema_.names[member]
        for table in self.statistics_of(member):
            try:
                histogram = table.histogram_of(name)
            except GapError:
                continue
            if len(histogram.keys):
                return histogram.values(), np.asarray(histogram.counts)
        if self.judged is None or (position := _position(self.judged.positions, member)) < 0:
            return None
        cells = self.judged.table.numbers(np.array([position]), slice(0, self.judged.table.n_rows))[:, 0]
        known = ~np.isnan(cells)
        values, place = np.unique(cells[known], return_inverse=True)
        counts = np.zeros((len(self.model.classes_), len(values)))
        np.add.at(counts, (self.judged.codes[known], place), self.judged.weights[known])
        return (values, counts) if len(values) else None

    # -- the row to explain -----------------------------------------------------------------------------------------

    @cached_property
    def told(self) -> tuple[Table, IntArray | None] | None:
        """The row as a table that the model reads."""
        if self.row is None:
            return None
        row = self.row
        if isinstance(row, Mapping):  # what it does not tell is unknown
            row = [dict.fromkeys(self.model.schema_.names) | dict(row)] if self.model.schema_.named else [row]
        table = read_table(row)
        if table.n_rows != 1:
            raise InputError(f"report(row) must be one row, got {table.n_rows}.")
        return self.model.schema_.matched(table)

    def told_number(self, member: int) -> float | None:
        """The number that the row has in a column."""
        place = self._told_place(member)
        if place is None:
            return None
        table, position = place
        number = float(table.numbers(np.array([position]), slice(0, 1))[0, 0])
        return None if np.isnan(number) else number

    def told_label(self, member: int) -> Label | None:
        """The label that the row has in a column."""
        place = self._told_place(member)
        if place is None:
            return None
        codes, labels = place[0].labels(place[1])
        return None if codes[0] < 0 else labels[codes[0]]

    def told_text(self, member: int) -> str | None:
        """The text that the row has in a column."""
        place = self._told_place(member)
        if place is None:
            return None
        text: str | None = text_reader(place[0], [place[1]])(slice(0, 1))[0][0]
        return text

    def _told_place(self, member: int) -> tuple[Table, int] | None:
        if self.told is None:
            return None
        table, positions = self.told
        position = _position(positions, member)
        return None if position < 0 or table.kind(position) == "empty" else (table, position)


def _position(positions: IntArray | None, member: int) -> int:
    """Where a column stands in a table."""
    return member if positions is None else int(positions[member])


def _owners(factors: Any) -> dict[int, tuple[Factor, int]]:
    return {member: (factor, place) for factor in factors for member, place in _places(factor)}


def _places(factor: Factor) -> list[tuple[int, int]]:
    return [(member, place) for place, member in enumerate(factor.members.tolist())]
