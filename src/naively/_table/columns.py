"""Tables whose columns are stored one by one: data frames, object arrays, records."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from naively._table.dates import encode_seconds, seconds_of_texts
from naively._table.labels import MISSING, encode_array, is_missing
from naively._table.table import (
    NO_INTEGER,
    Cells,
    Kind,
    Table,
    held,
    is_addressable,
    is_far,
    whole_numbers,
    without_marks,
)
from naively.errors import InputTypeError, SchemaError, listed
from naively.typing import AnyArray, FloatArray, IntArray, Label


class Column:
    """One column of a `ColumnsTable`: its kind, and its cells as numbers or as codes, converted when asked for."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        numbers: Callable[[], AnyArray],
        labels: Callable[[], tuple[IntArray, list[Label]]],
        declared: Callable[[], Sequence[Label]] | None = None,
        cells: Callable[[], list[Any]] | None = None,
    ):
        self.name, self.kind = name, kind
        self._numbers, self.labels, self.declared, self._cells = numbers, labels, declared, cells

    @cached_property
    def texts(self) -> list[str | None]:
        """The cells as texts, None where missing."""
        if self._cells is None:
            codes, labels = self.encoded
            cells: list[Any] = np.array([*labels, None], dtype=object)[codes].tolist()
        else:
            cells = self._cells()
        if all(type(cell) is str for cell in cells):
            return cells
        return [_text_or_none(cell, row, self.name) for row, cell in enumerate(cells)]

    @cached_property
    def numbers(self) -> AnyArray:
        """The cells as a one-dimensional array of numbers or booleans."""
        if self.kind in ("label", "text", "mixed"):
            raise InputTypeError(
                f"Column {self.name!r} must hold numbers for its family, but it holds "
                f"{'values of several types' if self.kind == 'mixed' else 'text or categories'}. Convert it, or "
                f'give it another family, for example families={{"{self.name}": "categorical"}}.'
            )
        return self._numbers()

    @cached_property
    def is_unknown(self) -> bool:
        """Whether no cell is known."""
        if self.kind in ("label", "text", "mixed"):
            return bool((self.encoded[0] == MISSING).all())
        values = self.numbers
        return self.kind == "empty" or (values.dtype.kind == "f" and bool(np.isnan(values).all()))

    def as_numbers(self) -> Column:
        """The column with its texts read as numbers; the first that is none is named in the error."""
        codes, labels = self.encoded
        parsed = np.array([*(_parsed(label) for label in labels), np.nan])
        wrong = np.flatnonzero(np.isnan(parsed[codes]) & (codes != MISSING))
        if len(wrong):
            raise InputTypeError(
                f"Column {self.name!r} held numbers when the model was fitted, and row {wrong[0]} now holds "
                f"{labels[codes[wrong[0]]]!r:.60}, which is no number. Correct it, or leave the cell empty (None)."
            )
        return self.with_numbers(parsed[codes])

    def with_numbers(self, values: AnyArray) -> Column:
        """The column with these numbers for cells."""
        return Column(self.name, "number", lambda: values, lambda: encode_array(values, f"Column {self.name!r}"))

    def as_dates(self, kind: Kind) -> Column:
        """The column with its texts read as dates, or as times of day; the first that is none is named in the error."""
        seconds = seconds_of_texts(*self.encoded, kind, f"Column {self.name!r}")
        return dates_column(self.name, kind, lambda: seconds)

    @cached_property
    def encoded(self) -> tuple[IntArray, list[Label]]:
        """Codes, of any width, and labels, found once: they are counted, hashed and looked up."""
        return self.labels()

    def renamed(self, name: str) -> Column:
        """The column under another name."""
        other = copy.copy(self)
        other.name = name
        return other

    def only_rows(self, places: IntArray) -> Column:
        """The column, of these rows; the labels of the whole are found once for all of its parts."""

        def labels() -> tuple[IntArray, list[Label]]:
            codes, known = self.encoded
            return codes[places], known

        def cells() -> list[Any]:
            return [self.texts[place] for place in places]

        return Column(self.name, self.kind, lambda: self.numbers[places], labels, self.declared, cells)


def dates_column(name: str, kind: Kind, seconds: Callable[[], FloatArray]) -> Column:
    """A column of dates or times of day, given as seconds: see `naively._table.dates`."""
    return Column(name, kind, seconds, lambda: encode_seconds(seconds(), kind))


class ColumnsTable(Table):
    """Columns that are stored one by one: data frames, object arrays, records."""

    def __init__(
        self,
        columns: Sequence[Column],
        n_rows: int,
        named: bool = True,
        integer_names: tuple[int, ...] | None = None,
        is_text_list: bool = False,
    ):
        self.columns, self.n_rows, self.named = columns, n_rows, named
        self.integer_names, self.is_text_list = integer_names, is_text_list
        counts = Counter(column.name for column in columns)
        duplicated = [name for name, count in counts.items() if count > 1]
        if duplicated:
            raise SchemaError(
                f"Column names must be distinct, but {listed(duplicated)} occur more than once. Rename the columns."
            )

    @cached_property
    def names(self) -> Sequence[str]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def kinds(self) -> Sequence[Kind]:
        return tuple(column.kind for column in self.columns)

    def numbers(self, positions: IntArray | None, rows: slice) -> FloatArray:
        chosen = range(len(self.columns)) if positions is None else positions
        block = np.empty((len(range(*rows.indices(self.n_rows))), len(chosen)))
        for place, position in enumerate(chosen):
            block[:, place] = np.nan if position < 0 else self.columns[position].numbers[rows]
        return block

    def numbers_by_column(self, positions: IntArray, rows: slice) -> Sequence[FloatArray]:
        n_rows = len(range(*rows.indices(self.n_rows)))
        return [
            np.full(n_rows, np.nan)
            if place < 0
            else np.ascontiguousarray(self.columns[place].numbers[rows], dtype=np.float64)
            for place in positions.tolist()
        ]

    def cells(self, positions: IntArray | None, rows: slice) -> Cells:
        chosen = range(len(self.columns)) if positions is None else positions.tolist()
        n_rows = len(range(*rows.indices(self.n_rows)))
        parts = [np.full(n_rows, np.nan) if place < 0 else self.columns[place].numbers[rows] for place in chosen]
        first = parts[0]
        if not all(
            part.dtype == first.dtype and part.strides == first.strides and is_addressable(part) for part in parts
        ):
            parts = [np.ascontiguousarray(part, dtype=np.float64) for part in parts]
        addresses = np.array([part.__array_interface__["data"][0] for part in parts], dtype=np.int64)
        return Cells(parts[0].dtype, addresses, parts[0].strides[0], parts)

    def integers(self, positions: IntArray | None, rows: slice) -> IntArray:
        chosen = range(len(self.columns)) if positions is None else positions
        block = np.empty((len(range(*rows.indices(self.n_rows))), len(chosen)), dtype=np.int64)
        for place, position in enumerate(chosen):
            if position < 0:
                block[:, place] = NO_INTEGER
                continue
            cells = self.columns[position].numbers[rows]
            if cells.dtype.kind in "bi" or (cells.dtype.kind == "u" and cells.dtype.itemsize < 8):
                block[:, place] = without_marks(cells.astype(np.int64, copy=False))
            else:
                block[:, place] = whole_numbers(cells if cells.dtype.itemsize > 8 else cells.astype(np.float64))
        return block

    def is_unknown(self, position: int) -> bool:
        return self.columns[position].is_unknown

    def as_numbers(self, position: int) -> Table:
        columns = list(self.columns)
        columns[position] = columns[position].as_numbers()
        return self._with(columns, self.n_rows)

    def as_dates(self, position: int, kind: Kind) -> Table:
        columns = list(self.columns)
        columns[position] = columns[position].as_dates(kind)
        return self._with(columns, self.n_rows)

    def held_within(self, positions: IntArray, largest: float) -> Table:
        columns = list(self.columns)
        for position in positions.tolist():
            if columns[position].kind == "number" and is_far(columns[position].numbers, largest):
                columns[position] = columns[position].with_numbers(held(columns[position].numbers, largest))
        return self._with(columns, self.n_rows)

    def _with(self, columns: Sequence[Column], n_rows: int) -> ColumnsTable:
        """A table like this one with other columns in the same places."""
        return ColumnsTable(columns, n_rows, self.named, self.integer_names, self.is_text_list)

    def without(self, position: int) -> Table:
        rest = [column for place, column in enumerate(self.columns) if place != position]
        names = self.integer_names
        left = None if names is None else (*names[:position], *names[position + 1 :])
        return ColumnsTable(rest, self.n_rows, self.named, left)

    def renamed(self, names: Sequence[str]) -> Table:
        return ColumnsTable(
            [column.renamed(name) for column, name in zip(self.columns, names, strict=True)], self.n_rows
        )

    def only_rows(self, places: IntArray) -> Table:
        return self._with([column.only_rows(places) for column in self.columns], len(places))

    def column(self, position: int) -> AnyArray:
        return self.columns[position].numbers

    def declared(self, position: int) -> tuple[Label, ...] | None:
        declared = self.columns[position].declared
        return super().declared(position) if declared is None else tuple(declared())

    def labels(self, position: int) -> tuple[IntArray, list[Label]]:
        codes, labels = self.coded(position)
        return codes.astype(np.int64, copy=False), labels

    def coded(self, position: int) -> tuple[IntArray, list[Label]]:
        return self.columns[position].encoded

    def texts(self, position: int) -> list[str | None]:
        return self.columns[position].texts


def _parsed(label: Label) -> float:
    """A label as a number; NaN if it is none."""
    try:
        return float("nan") if isinstance(label, str) and "_" in label else float(label)
    except (ValueError, OverflowError):
        return float("nan")


def _text_or_none(cell: Any, row: int, name: str) -> str | None:
    """A text as it is, None for a missing cell, an error for anything else."""
    if isinstance(cell, str):
        return str.__str__(cell)  # str() would cut NumPy's text, and give an Enum's name
    if is_missing(cell):
        return None
    advice = " Decode the bytes first." if isinstance(cell, (bytes, bytearray)) else ""
    raise InputTypeError(
        f"Column {name!r} must hold text, but row {row} holds {cell!r:.60} of type {type(cell).__name__}.{advice}"
    )
