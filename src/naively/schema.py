"""Which columns a model has, what they held when first seen, and which family reads which.

The rules of inference: numbers are numeric, whatever their type or storage; booleans, text and categorical types are
categorical; a column that mixes text and numbers must be told (``families={"column": "categorical"}``); a column
without a single known cell waits for the first batch that has one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from naively.errors import InputError, InputTypeError, NaivelyWarning, ParameterError, SchemaError, listed
from naively.families import Family, Summary, as_family
from naively.table import ArrayTable, Kind, SparseTable, Table
from naively.typing import IntArray

HELD = {
    "number": "numbers",
    "truth": "booleans",
    "label": "text or categories",
    "mixed": "values of several types",
    "empty": "nothing",
}


@dataclass(frozen=True)
class ColumnSchema:
    """A column's name, what it held, and the statistics kept of it (None while nothing is known of it)."""

    name: str
    kind: Kind
    summary: Summary | None


@dataclass(frozen=True)
class Schema:
    """The columns of a model, fixed when first fitted and checked ever after.

    Parameters
    ----------
    columns : tuple of ColumnSchema
    named : bool
        Whether the columns are matched by name (they came from a data frame) or by position.
    """

    columns: tuple[ColumnSchema, ...]
    named: bool

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def by_summary(self) -> dict[Summary, IntArray]:
        """The positions of the columns that are counted together."""
        groups: dict[Summary, list[int]] = {}
        for position, column in enumerate(self.columns):
            if column.summary is not None:
                groups.setdefault(column.summary, []).append(position)
        return {summary: np.array(positions, dtype=np.int64) for summary, positions in groups.items()}

    @classmethod
    def of_table(cls, table: Table, families: Sequence[Family | None]) -> Schema:
        """The schema of a first table, with the families that read its columns."""
        columns = []
        for position, (name, family) in enumerate(zip(table.names, families, strict=True)):
            kind = table.kind(position)
            if family is not None:
                require_readable(name, kind, family)
            columns.append(ColumnSchema(name, kind, None if family is None else family.summary))
        return cls(tuple(columns), table.named)

    def locate(self, table: Table) -> IntArray | None:
        """The table's position of each column of the model, -1 for one that the table lacks; says what is odd.

        None stands for "the same columns in the same order", the usual case.
        """
        if self.named and table.named:
            positions = self._by_name(table)
        else:
            positions = None
            if table.n_columns != len(self.columns):
                raise SchemaError(
                    f"X has {table.n_columns} features, but NaiveBayes is expecting {len(self.columns)} features as "
                    "input. Columns without names are matched by position; data frames are matched by name."
                )
            if self.named != table.named:
                have, fitted = ("has", "without") if table.named else ("does not have valid", "with")
                warnings.warn(
                    f"X {have} feature names, but NaiveBayes was fitted {fitted} feature names: the columns are "
                    "matched by position.",
                    UserWarning,
                    stacklevel=4,
                )
        self._check_kinds(table, positions)
        return positions

    def _by_name(self, table: Table) -> IntArray | None:
        if tuple(table.names) == self.names:
            return None
        there = {name: position for position, name in enumerate(table.names)}
        absent = [name for name in self.names if name not in there]
        extra = [name for name in there if name not in self._position]
        if len(absent) == len(self.names) and absent:
            raise SchemaError(
                f"X has none of the model's columns. Expected {listed(self.names)}; got {listed(table.names)}."
            )
        if absent:
            warnings.warn(
                f"X lacks the columns {listed(absent)}: their cells are treated as missing.",
                NaivelyWarning,
                stacklevel=5,
            )
        if extra:
            warnings.warn(
                f"X has columns that the model does not know, which are ignored: {listed(extra)}.",
                NaivelyWarning,
                stacklevel=5,
            )
        return np.array([there.get(name, -1) for name in self.names], dtype=np.int64)

    @cached_property
    def _all_numeric(self) -> bool:
        return all(column.kind in ("number", "truth") for column in self.columns)

    def _check_kinds(self, table: Table, positions: IntArray | None) -> None:
        """Refuse a column whose cells changed their nature since the model was first fitted."""
        if self._all_numeric and isinstance(table, (ArrayTable, SparseTable)):
            return
        for place, column in enumerate(self.columns):
            position = place if positions is None else int(positions[place])
            if position >= 0:
                kind = table.kind(position)
                if not _compatible(column.kind, kind):
                    raise InputTypeError(
                        f"Column {column.name!r} held {HELD[column.kind]} when the model was fitted and holds "
                        f"{HELD[kind]} now. Convert it back, or fit a new model."
                    )

    def merged(self, other: Schema) -> Schema:
        """The union of two schemas, which must agree on the columns they share."""
        if self == other:
            return self
        columns = {column.name: column for column in self.columns}
        for column in other.columns:
            mine = columns.get(column.name)
            columns[column.name] = column if mine is None else _agreed(mine, column)
        if not (self.named and other.named) and len(self.columns) != len(other.columns):
            raise SchemaError(
                f"The models have {len(self.columns)} and {len(other.columns)} columns without names, so they cannot "
                "be matched. Fit them on data frames, whose columns are matched by name."
            )
        return Schema(tuple(columns.values()), self.named and other.named)


def _compatible(before: Kind, now: Kind) -> bool:
    numeric = ("number", "truth")
    return (
        before == now or "empty" in (before, now) or "mixed" in (before, now) or (before in numeric and now in numeric)
    )


def _agreed(mine: ColumnSchema, theirs: ColumnSchema) -> ColumnSchema:
    if mine.summary is None or theirs.summary is None:
        known, unknown = (theirs, mine) if mine.summary is None else (mine, theirs)
        return replace(known, kind=known.kind if known.kind != "empty" else unknown.kind)
    if not _compatible(mine.kind, theirs.kind) or mine.summary != theirs.summary:
        raise SchemaError(
            f"Column {mine.name!r} does not fit: one side holds {HELD[mine.kind]} kept as {mine.summary}, the other "
            f"{HELD[theirs.kind]} kept as {theirs.summary}. Use the same families on both sides."
        )
    return mine if mine.kind != "empty" else theirs


def require_readable(name: str, kind: Kind, family: Family) -> None:
    """Refuse a family that cannot read what the column holds."""
    if kind not in family.accepts:
        raise InputTypeError(
            f"Column {name!r} holds {HELD[kind]}, which {family.name()!r} cannot read: it reads "
            f"{' or '.join(HELD[accepted] for accepted in family.accepts if accepted != 'empty')}. Convert the column "
            "or choose another family."
        )


def assign_families(
    names: Sequence[str], kinds: Sequence[Kind], families: Any, numeric: Family, categorical: Family
) -> list[Family | None]:
    """The family of each column: the given one, or the inferred one; None where nothing is known yet.

    Parameters
    ----------
    names, kinds : sequences
        The columns, and what they hold.
    families : None, family, name, or mapping
        What the user gave: one for all, or by column name or position.
    numeric, categorical : Family
        What is used for columns that were given none.
    """
    if families is None or isinstance(families, Mapping):
        given = _given_families(names, families or {})
        columns = enumerate(zip(names, kinds, strict=True))
        return [given.get(place) or _inferred(name, kind, numeric, categorical) for place, (name, kind) in columns]
    return [as_family(families)] * len(names)


def _inferred(name: str, kind: Kind, numeric: Family, categorical: Family) -> Family | None:
    if kind == "mixed":
        raise InputTypeError(
            f"Column {name!r} mixes text with numbers or booleans. Convert it to one type, or say "
            f'families={{"{name}": "categorical"}} to take each value as a category.'
        )
    if kind == "empty":
        return None
    return numeric if kind == "number" else categorical


def _given_families(names: Sequence[str], families: Mapping[Any, Any]) -> dict[int, Family]:
    index = {name: position for position, name in enumerate(names)}
    given = {}
    for key, value in families.items():
        given[position_of(key, index, "families")] = as_family(value, f"families[{key!r}]")
    return given


def position_of(key: Any, index: Mapping[str, int], where: str) -> int:
    """The position of a column given by name or by position."""
    if isinstance(key, str) and key in index:
        return index[key]
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and -len(index) <= key < len(index):
        return int(key) % len(index)
    raise ParameterError(f"{where} names the column {key!r}, which is not among {listed(index, 20)}.")


def require_rows(table: Table) -> None:
    """Refuse a table without rows or columns."""
    if table.n_columns == 0:
        raise InputError(f"Found array with 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required.")
    if table.n_rows == 0:
        raise InputError(
            f"Found array with 0 sample(s) (shape=(0, {table.n_columns})) while a minimum of 1 is required."
        )
