"""Tables: named columns of equal length, however they are stored, never copied whole.

A table is read by rows: `numbers` gives a block of float64 with NaN where a cell is missing, `integers` the same as
int64, `labels` a whole column of codes. Which of them is asked for is the families' business.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from naively._table.labels import LARGEST_EXACT, encode_array
from naively.errors import InputError, InputTypeError
from naively.typing import AnyArray, FloatArray, IntArray, Label

Kind = Literal["number", "truth", "label", "text", "date", "time", "mixed", "empty"]
"""What a column holds: numbers, booleans, names or categories, prose, dates with or without a time, times of day,
several of these, or nothing known at all. Durations are numbers, of seconds."""

NO_INTEGER = np.iinfo(np.int64).min
"""What `integers` gives for a cell that is missing."""

NOT_WHOLE = NO_INTEGER + 1
"""What `integers` gives for a cell that is not a whole number, or one too large to be told from its neighbours or from
these marks."""


class Cells(NamedTuple):
    """Where the numbers of some rows lie in memory: ``addresses[column] + row * stride`` bytes.

    Parameters
    ----------
    dtype : dtype
        float32 or float64.
    addresses : ndarray
        Of each column's first cell.
    stride : int
        The bytes from one row to the next.
    owners : object
        What must stay alive as long as the cells are read.
    """

    dtype: Any
    addresses: IntArray
    stride: int
    owners: Any


class Table:
    """Named columns of equal length; the subclasses differ in how the cells are stored.

    Attributes
    ----------
    n_rows : int
    names : sequence of str
        One per column, distinct.
    named : bool
        Whether the user gave the names, or they were made up here (x0, x1, ...).
    integer_names : tuple of int or None
        The names of a data frame whose columns are called by whole numbers; those that count from 0 are not `named`.
    is_text_list : bool
        Whether the table is one list of texts, which cannot have a name.
    set_aside : tuple of str
        The columns that held the classes and the weights, and were taken out.
    """

    n_rows: int
    named: bool = True
    integer_names: tuple[int, ...] | None = None
    is_text_list: bool = False
    set_aside: tuple[str, ...] = ()

    @property
    def names(self) -> Sequence[str]:
        raise NotImplementedError  # pragma: no cover

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, as of an array: what cross-validation asks for."""
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Any) -> Table:
        """Some rows, by a slice, a mask or their positions."""
        return self.only_rows(np.arange(self.n_rows)[rows])

    def kind(self, position: int) -> Kind:
        """What a column holds."""
        return self.kinds[position]

    @property
    def kinds(self) -> Sequence[Kind]:
        """What each column holds."""
        raise NotImplementedError  # pragma: no cover

    def numbers(self, positions: IntArray | None, rows: slice) -> FloatArray:
        """A row-major float64 block of these columns (None: all), NaN where missing or where the position is -1."""
        raise NotImplementedError  # pragma: no cover

    def cells(self, positions: IntArray | None, rows: slice) -> Cells:
        """Where the cells of a block of numbers are or, if they are no floats, where a converted copy is."""
        return _cells_of_array(self.numbers(positions, rows), None)

    def numbers_by_column(self, positions: IntArray, rows: slice) -> Sequence[FloatArray]:
        """The columns of a block of numbers, each by itself."""
        n_columns = self.n_columns
        everything = len(positions) == n_columns and bool((positions == np.arange(n_columns)).all())
        return list(np.ascontiguousarray(self.numbers(None if everything else positions, rows).T))

    def column(self, position: int) -> AnyArray:
        """One whole column of numbers, as it is stored."""
        raise NotImplementedError  # pragma: no cover

    def labels(self, position: int) -> tuple[IntArray, list[Label]]:
        """Codes (-1: missing) and the labels they stand for, of one whole column."""
        raise NotImplementedError  # pragma: no cover

    def coded(self, position: int) -> tuple[IntArray, list[Label]]:
        """The same with codes as they are stored, in integers of any width."""
        return self.labels(position)

    def declared(self, position: int) -> tuple[Label, ...] | None:
        """The values that a column's type declares, used or not; None if it declares none."""
        return (False, True) if self.kind(position) == "truth" else None

    def texts(self, position: int) -> list[str | None]:
        """One whole column of texts, None where missing."""
        raise InputTypeError(
            f"Column {self.names[position]!r} must hold text for its family, but it holds numbers. Convert it, or give "
            "it another family."
        )

    def is_unknown(self, position: int) -> bool:
        """Whether no cell of a column is known."""
        if self.kind(position) == "empty":
            return True
        values = self.column(position)
        return values.dtype.kind == "f" and bool(np.isnan(values).all())

    def as_numbers(self, position: int) -> Table:
        """The table with a column of text read as numbers; a cell that is none is refused."""
        raise NotImplementedError  # pragma: no cover

    def as_dates(self, position: int, kind: Kind) -> Table:
        """The table with a column of text read as dates, or as times of day; a cell that is none is refused."""
        raise InputTypeError(
            f"Column {self.names[position]!r} must hold dates or times for its family, but it holds numbers. Convert "
            "it, for example with pandas.to_datetime(column, unit=...), or give it another family."
        )

    def without(self, position: int) -> Table:
        """The table without one column."""
        raise NotImplementedError  # pragma: no cover

    def renamed(self, names: Sequence[str]) -> Table:
        """The table under names that the user gives them."""
        raise NotImplementedError  # pragma: no cover

    def only_rows(self, places: IntArray) -> Table:
        """The table of these rows in this order."""
        raise NotImplementedError  # pragma: no cover

    def held_within(self, positions: IntArray, largest: float) -> Table:
        """The table with the finite numbers of these columns brought to at most so far from zero."""
        block = self.numbers(None, slice(0, self.n_rows))
        return ArrayTable(block, self.names if self.named else None).held_within(positions, largest)

    def integers(self, positions: IntArray | None, rows: slice) -> IntArray:
        """A block of cells as int64, `NO_INTEGER` where missing and `NOT_WHOLE` where not whole."""
        block = self.numbers(positions, rows)
        return whole_numbers(block)


TURNED_ROWS = 1 << 11
"""So many rows at a time are turned into columns: they stay in cache while their lines are read cell by cell."""


def whole_numbers(block: FloatArray) -> IntArray:
    """Floats as int64, `NO_INTEGER` where missing and `NOT_WHOLE` where not whole."""
    in_range = np.abs(block) < LARGEST_EXACT
    if in_range.all():
        integers = block.astype(np.int64)
        if (integers == block).all():
            return integers
    else:
        integers = np.where(in_range, block, 0).astype(np.int64)
    whole = in_range & (integers == block)
    return np.where(whole, integers, np.where(np.isnan(block), NO_INTEGER, NOT_WHOLE))


def without_marks(block: IntArray) -> IntArray:
    """Integers of a user, `NOT_WHOLE` where one would be taken for the mark of a missing cell."""
    return np.maximum(block, NOT_WHOLE) if block.size and block.min() < NOT_WHOLE else block


class MatrixTable(Table):
    """Cells of one type in a matrix, whose columns need not have names."""

    def _hold(self, shape: tuple[int, ...], names: Sequence[str] | None) -> None:
        self.n_rows, self._n_columns = (int(length) for length in shape)
        self._names, self.named = names, names is not None

    @property
    def names(self) -> Sequence[str]:
        return made_up_names(self._n_columns) if self._names is None else self._names

    @property
    def n_columns(self) -> int:
        return self._n_columns

    def _names_without(self, position: int) -> Sequence[str] | None:
        return None if self._names is None else (*self._names[:position], *self._names[position + 1 :])


class ArrayTable(MatrixTable):
    """A two-dimensional NumPy array of numbers or booleans, in either memory order."""

    def __init__(self, values: AnyArray, names: Sequence[str] | None = None):
        self.values = values
        self._hold(values.shape, names)

    @cached_property
    def kinds(self) -> Sequence[Kind]:
        kind: Kind = "truth" if self.values.dtype.kind == "b" else "number"
        kinds = [kind] * self.n_columns
        if self.n_rows and self.values.dtype.kind == "f":
            for position in np.flatnonzero(np.isnan(self.values[0])):
                if np.isnan(self.values[:, position]).all():
                    kinds[position] = "empty"
        return tuple(kinds)

    def numbers(self, positions: IntArray | None, rows: slice) -> FloatArray:
        block: FloatArray = self._block(positions, rows, np.float64, np.nan)
        return block

    def numbers_by_column(self, positions: IntArray, rows: slice) -> Sequence[FloatArray]:
        block, absent = self.values[rows], positions < 0
        first = int(positions[0]) if len(positions) else 0
        in_a_row = bool((positions == np.arange(first, first + len(positions))).all()) and first >= 0
        chosen: Any = slice(first, first + len(positions)) if in_a_row else positions
        result = np.empty((len(positions), len(block)))
        for start in range(0, len(block), TURNED_ROWS):
            piece = slice(start, start + TURNED_ROWS)
            result[:, piece] = block[piece, chosen].T
        result[absent] = np.nan
        return list(result)

    def cells(self, positions: IntArray | None, rows: slice) -> Cells:
        readable = is_addressable(self.values) and (positions is None or bool((positions >= 0).all()))
        return _cells_of_array(self.values[rows], positions) if readable else super().cells(positions, rows)

    def integers(self, positions: IntArray | None, rows: slice) -> IntArray:
        dtype = self.values.dtype
        if dtype.kind == "f" or dtype == np.uint64:
            exact = dtype.newbyteorder("=") if dtype.itemsize > 8 else np.float64
            return whole_numbers(self._block(positions, rows, exact, np.nan))
        block: IntArray = without_marks(self._block(positions, rows, np.int64, NOT_WHOLE))
        if positions is not None:
            block[:, positions < 0] = NO_INTEGER
        return block

    def _block(self, positions: IntArray | None, rows: slice, dtype: Any, absent: Any) -> Any:
        block = self.values[rows]
        if positions is not None:
            block = block[:, positions]
        block = np.ascontiguousarray(block, dtype=dtype)
        if positions is not None and (positions < 0).any():
            block[:, positions < 0] = absent
        return block

    def without(self, position: int) -> Table:
        return ArrayTable(np.delete(self.values, position, axis=1), self._names_without(position))

    def renamed(self, names: Sequence[str]) -> Table:
        return ArrayTable(self.values, names)

    def only_rows(self, places: IntArray) -> Table:
        return ArrayTable(self.values[places], self._names)

    def held_within(self, positions: IntArray, largest: float) -> Table:
        if not is_far(self.values, largest):
            return self
        values = self.values.copy()
        values[:, positions] = held(values[:, positions], largest)
        return ArrayTable(values, self._names)

    def column(self, position: int) -> AnyArray:
        return np.asarray(self.values[:, position])

    def labels(self, position: int) -> tuple[IntArray, list[Label]]:
        return encode_array(self.column(position), f"column {self.names[position]!r}")


class SparseTable(MatrixTable):
    """A SciPy matrix in CSR form; cells that are not stored are zeros."""

    def __init__(self, matrix: Any, names: Sequence[str] | None = None):
        self.matrix = matrix
        self._hold(matrix.shape, names)

    @cached_property
    def kinds(self) -> Sequence[Kind]:
        return ("truth" if self.matrix.dtype.kind == "b" else "number",) * self.n_columns

    def rows(self, positions: IntArray | None, rows: slice) -> Any:
        """Some rows and columns, still sparse, as float64 (NaN where the position is -1); not to be written to."""
        part = self.matrix if rows.indices(self.n_rows) == (0, self.n_rows, 1) else _rows_in_place(self.matrix, rows)
        if positions is None:
            return part.astype(np.float64, copy=False)
        absent = positions < 0
        if not absent.any():
            return part[:, positions].astype(np.float64, copy=False)
        return _with_missing_columns(part[:, positions[~absent]].astype(np.float64), absent)

    def without(self, position: int) -> Table:
        others = np.delete(np.arange(self._n_columns), position)
        return SparseTable(self.matrix[:, others], self._names_without(position))

    def renamed(self, names: Sequence[str]) -> Table:
        return SparseTable(self.matrix, names)

    def only_rows(self, places: IntArray) -> Table:
        return SparseTable(self.matrix[places], self._names)

    def held_within(self, positions: IntArray, largest: float) -> Table:
        if not is_far(self.matrix.data, largest):
            return self
        chosen = np.isin(self.matrix.indices, positions)
        return SparseTable(
            with_data(self.matrix, np.where(chosen, held(self.matrix.data, largest), self.matrix.data)), self._names
        )

    def numbers(self, positions: IntArray | None, rows: slice) -> FloatArray:
        return np.ascontiguousarray(self.rows(positions, rows).toarray())

    def numbers_by_column(self, positions: IntArray, rows: slice) -> Sequence[FloatArray]:
        if rows.indices(self.n_rows) != (0, self.n_rows, 1):
            return super().numbers_by_column(positions, rows)
        absent = np.full(self.n_rows, np.nan)
        columns = (absent if place < 0 else self.column(place) for place in positions.tolist())
        return [column.astype(np.float64, copy=False) for column in columns]

    def integers(self, positions: IntArray | None, rows: slice) -> IntArray:
        if self.matrix.dtype.itemsize <= 8:
            return super().integers(positions, rows)
        absent = np.full(self.n_rows, np.nan)  # more than 64 bits: not through float64, which would round
        chosen = range(self.n_columns) if positions is None else positions.tolist()
        columns = [whole_numbers((absent if place < 0 else self.column(place))[rows]) for place in chosen]
        return np.column_stack(columns)

    @cached_property
    def _by_column(self) -> Any:
        """The matrix in CSC form: to find one column in CSR form is to look at all of them."""
        return self.matrix.tocsc()

    def column(self, position: int) -> AnyArray:
        stored = slice(*self._by_column.indptr[position : position + 2])
        found = np.zeros(self.n_rows, dtype=self.matrix.dtype)
        np.add.at(found, self._by_column.indices[stored], self._by_column.data[stored])  # a cell may be stored twice
        return found

    def labels(self, position: int) -> tuple[IntArray, list[Label]]:
        return encode_array(self.column(position), f"column {self.names[position]!r}")


def is_addressable(values: AnyArray) -> bool:
    """Whether the cells are floats that a kernel can read where they are."""
    return values.dtype in (np.float64, np.float32) and values.dtype.isnative and values.flags.aligned


def is_far(values: AnyArray, largest: float) -> bool:
    """Whether a finite number is farther from zero than this."""
    if values.dtype.kind != "f" or not values.size:
        return False
    away = np.abs(values)
    return bool(((away > largest) & np.isfinite(away)).any())


def held(values: AnyArray, largest: float) -> AnyArray:
    """Numbers at most so far from zero; an infinity stays one."""
    return np.where(np.isinf(values), values, np.clip(values, -largest, largest))


def _cells_of_array(values: AnyArray, positions: IntArray | None) -> Cells:
    """The cells of some columns of a two-dimensional array."""
    columns = np.arange(values.shape[1]) if positions is None else positions
    start: int = values.__array_interface__["data"][0]
    return Cells(values.dtype, start + values.strides[1] * columns, values.strides[0], values)


@lru_cache(maxsize=8)
def made_up_names(n_columns: int) -> tuple[str, ...]:
    """Names for the columns of an array."""
    return tuple(f"x{position}" for position in range(n_columns))


def _rows_in_place(matrix: Any, rows: slice) -> Any:
    """Rows that follow each other of a CSR matrix, whose cells are not copied."""
    start, stop, _ = rows.indices(matrix.shape[0])
    first, last = int(matrix.indptr[start]), int(matrix.indptr[stop])
    part = type(matrix)((stop - start, matrix.shape[1]), dtype=matrix.dtype)  # given its cells, it would copy them
    part.data, part.indices = matrix.data[first:last], matrix.indices[first:last]
    part.indptr = matrix.indptr[start : stop + 1] - matrix.indptr[start]
    return part


def _with_missing_columns(known: Any, absent: AnyArray) -> Any:
    """A CSR matrix with columns of NaN put between its own."""
    from scipy import sparse

    unknown = sparse.csr_array(np.full((known.shape[0], int(absent.sum())), np.nan))
    place = np.empty(len(absent), dtype=np.int64)
    place[~absent], place[absent] = np.arange(known.shape[1]), known.shape[1] + np.arange(unknown.shape[1])
    return sparse.hstack([known, unknown], format="csr")[:, place]


def with_data(matrix: Any, data: AnyArray) -> Any:
    """A CSR matrix with the same cells stored and other values in them."""
    return type(matrix)((data.astype(np.float64, copy=False), matrix.indices, matrix.indptr), shape=matrix.shape)


def require_rows(table: Table, to_learn: bool = True) -> None:
    """Refuse a table without rows or columns; a record in which nothing is known can be asked about."""
    if table.n_columns == 0 and (to_learn or not table.named):
        raise InputError(f"Found array with 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required.")
    if table.n_rows == 0:
        raise InputError(
            f"Found array with 0 sample(s) (shape=(0, {table.n_columns})) while a minimum of 1 is required."
        )
