"""A model's estimates as distributions, and rows drawn from them.

Each factor of a model becomes one of two things, by its family: `Numbers`, whose cells have a mean in each class, or
`Labels`, whose cells have a probability of each value in each class. Drawn rows are a table for the model itself, and a
data frame or an array for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naively._model.schema import Schema
from naively._scoring.model import Factor, statistics_of
from naively._table.columns import Column, ColumnsTable
from naively._table.frames import native_frame
from naively._table.table import ArrayTable, Kind, Table
from naively.errors import GapError, ParameterError
from naively.families._distributions import Distribution
from naively.families._information import known_weight
from naively.statistics._statistics import Statistics
from naively.typing import AnyArray, IntArray, Label


def distributions(
    factors: Sequence[Factor], schema: Schema, statistics: Statistics, length: Any = None
) -> list[Distribution]:
    """The factors of a model as distributions.

    Parameters
    ----------
    factors, schema, statistics
        Of a model.
    length : float, mapping from group to float, or None
        The total of the counts of a row, for `Multinomial`; by default the mean of the row's class.
    """
    return [_distribution(factor, schema, statistics, length) for factor in factors]


def _distribution(factor: Factor, schema: Schema, statistics: Statistics, length: Any) -> Distribution:
    names = [schema.names[member] for member in factor.members.tolist()]
    tables = statistics_of(schema, factor.family, factor.members.tolist(), statistics)
    try:
        found: Distribution = factor.family.distribution(factor.estimate, tables, statistics.class_weight.high, length)
    except GapError as gap:
        raise ParameterError(
            f"Column {names[0]!r}: {factor.family!r} {gap.reason}, which this needs. Use another family, for example "
            "Gaussian() or Kernel() for numbers, Categorical() for labels, or leave the column out."
        ) from None
    unknown = _unknown(tables)
    return replace(found.without(unknown) if unknown.any() else found, members=factor.members)


def _unknown(tables: Sequence[Any]) -> Any:
    """Which columns have not a single known cell, where the statistics tell."""
    try:
        return known_weight(tables).sum(axis=0) == 0
    except GapError:  # counts that share a total: a missing cell is a count of zero
        return np.zeros(1, dtype=bool)


# -- drawing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnColumn:
    """One column that was drawn.

    Parameters
    ----------
    kind : Kind
        What the column held when the model was fitted.
    cells : ndarray
        Numbers, or places among the values, -1 where there is none.
    values : tuple of labels, optional
    """

    kind: Kind
    cells: AnyArray
    values: tuple[Label, ...] | None = None

    def array(self) -> AnyArray:
        """The cells as the user knows them: numbers, booleans, or labels."""
        if self.values is None:
            return self.cells
        labels = np.array([*self.values, None], dtype=object)[self.cells]
        if self.kind == "truth" and (self.cells >= 0).all():
            return labels.astype(bool)
        if self.kind == "number" and (self.cells >= 0).all() and all(float(label) == label for label in self.values):
            return labels.astype(np.float64)
        return np.asarray(labels)

    def column(self, name: str) -> Column:
        """The cells as a column of a table."""
        if self.values is None:
            return Column(name, "number", lambda: self.cells, lambda: (np.empty(0, np.int64), []))
        labels = list(self.values)
        return Column(name, self.kind, self.array, lambda: (self.cells, labels))


def draw_columns(
    distributions: Sequence[Distribution], schema: Schema, codes: IntArray, rng: np.random.Generator
) -> list[DrawnColumn]:
    """Draw every column of the schema for rows of these classes; columns that nothing is known of stay empty."""
    nothing = np.full(len(codes), np.nan)
    columns = [DrawnColumn(kind, nothing) for kind in schema.kinds]
    for distribution in distributions:
        block = distribution.draw(codes, rng)
        for place, member in enumerate(distribution.members.tolist()):
            labels = distribution.labels_of(place)
            cells = block[:, place] if labels is None else block[:, place].astype(np.int64)
            columns[member] = DrawnColumn(schema.kinds[member], cells, None if labels is None else labels[0])
    return columns


def as_table(columns: Sequence[DrawnColumn], schema: Schema) -> Table:
    """The drawn rows as the model reads them."""
    n_rows = len(columns[0].cells)
    if not schema.named and all(column.values is None for column in columns):
        return ArrayTable(np.column_stack([column.cells for column in columns]))
    named = [column.column(name) for column, name in zip(columns, schema.names, strict=True)]
    return ColumnsTable(named, n_rows, schema.named)


def as_rows(columns: Sequence[DrawnColumn], schema: Schema, like: Any = None) -> Any:
    """The drawn rows as people read them: a frame of the library of `like`, or of pandas, or a dict; else an array."""
    arrays = [column.array() for column in columns]
    if not schema.named:
        numeric = all(array.dtype.kind in "bf" for array in arrays)
        return np.column_stack([array.astype(np.float64 if numeric else object) for array in arrays])
    data = dict(zip(schema.names, arrays, strict=True))
    frame = native_frame({name: array.tolist() for name, array in data.items()}, like)
    return data if frame is None else frame
