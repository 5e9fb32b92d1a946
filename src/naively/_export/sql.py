"""A fitted model as SQL: one SELECT that answers as the model does, and the model tables that it looks values up in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._export.additive import AdditiveForm, ColumnTable, additive, is_double
from naively._export.sql_dialects import dialect_of
from naively._export.sql_writer import Writer
from naively.errors import ParameterError, brief

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes


class SQLModel:
    """A model as SQL: it prints as the query.

    Parameters
    ----------
    query : str
        One SELECT: a row for each row of the table, with the columns `prediction` and ``probability_<class>``.
    statements : list of str
        What creates and fills the model tables that the query reads, to be executed once, in this order. Empty for a
        model that is small enough to stand in the query.
    tables : list of str
        The names of these tables.
    """

    def __init__(self, query: str, statements: Sequence[str], tables: Sequence[str]):
        self.query, self.statements, self.tables = query, list(statements), list(tables)

    def script(self) -> str:
        """The statements and the query as one script, each ended by a semicolon."""
        return "".join(f"{statement};\n\n" for statement in (*self.statements, self.query))

    def __str__(self) -> str:
        return self.query

    def __repr__(self) -> str:
        beside = f"; {len(self.tables)} model tables, made by .statements" if self.tables else ""
        return f"<SQLModel: .query of {len(self.query):,} characters{beside}>"


def to_sql(
    model: NaiveBayes,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    keep: Sequence[str] = (),
    prefix: str = "naively",
    inline: int = 12,
) -> SQLModel:
    """The SQL of a model: see `NaiveBayes.to_sql`."""
    form = _against_first(additive(model))
    form = replace(form, columns=[_with_labels_of_a_column(column) for column in form.columns])
    source = (table,) if isinstance(table, str) else tuple(table)
    if not source or not all(isinstance(part, str) and part for part in source):
        raise ParameterError(f"table must be the name of a table, or a tuple of its parts, got {brief(table)}.")
    if isinstance(keep, str) or not all(isinstance(name, str) for name in keep):
        raise ParameterError(f"keep must be a list of the names of columns, got {brief(keep)}.")
    return SQLModel(*Writer(form, dialect_of(dialect), source, list(keep), prefix, inline).written())


def _against_first(form: AdditiveForm) -> AdditiveForm:
    """The form with finite look-ups read against the first class, which then adds nothing: fewer numbers to fetch."""
    columns = []
    for column in form.columns:
        said = column.table.get("evidence")
        if said is None or column.contrast is not None or not np.isfinite(said).all():
            columns.append(column)
            continue
        parts = {
            key: column.table[key] - column.table[key][0] for key in ("evidence", "unknown") if key in column.table
        }
        columns.append(replace(column, table={**column.table, **parts}, missing=column.missing - column.missing[0]))
    return replace(form, columns=columns)


def _with_labels_of_a_column(column: ColumnTable) -> ColumnTable:
    """A column whose labels are doubles where one of them has a fraction or more than 64 bits."""
    values = column.table.get("values", [])
    if any(isinstance(value, str) for value in values) or all(_is_whole(value) for value in values):
        return column
    return replace(column, table={**column.table, "values": [float(v) if is_double(v) else v for v in values]})


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and abs(value) < 2**63
