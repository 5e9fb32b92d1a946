"""Counting in this process: row blocks over a few threads, one partial sum per chunk of rows, merged by ``+``.

The rows are cut into chunks of a fixed size and the partial sums are added in the order of the rows: the result is the
same to the last bit for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from naively.engines.threads import in_order
from naively.errors import InputError
from naively.families import Summary
from naively.families.counts import Counts
from naively.families.moments import Moments
from naively.kernels import reference, repays_compiler
from naively.schema import Schema
from naively.statistics import ColumnStatistics, Statistics
from naively.sums import Sum, sum_by_code
from naively.table import NO_INTEGER, SparseTable, Table
from naively.typing import AnyArray, FloatArray, IntArray, Label

CHUNK_ROWS = 1 << 16
REFERENCE_CHUNK_ROWS = 1 << 13
BLOCK_CELLS = 1 << 16
LARGEST_TABLE_BYTES = 4 << 30


def count(
    table: Table,
    schema: Schema,
    positions: IntArray | None,
    classes: AnyArray,
    codes: IntArray,
    weights: FloatArray | None,
    n_threads: int,
) -> Statistics:
    """The statistics of a table.

    Parameters
    ----------
    table : Table
    schema : Schema
        What to add up for which column.
    positions : ndarray or None
        Where the schema's columns stand in the table (-1: absent); None if in the same order.
    classes, codes : ndarray
        The class labels, and each row's position among them.
    weights : ndarray or None
        The rows' weights; rows of weight 0 count as absent.
    n_threads : int
    """
    if weights is not None:
        codes = np.where(weights > 0, codes, -1)
        class_weight = sum_by_code(codes, weights, len(classes))
    else:
        class_weight = Sum(np.bincount(codes, minlength=len(classes)).astype(np.float64))
    rows = _Rows(table, codes, weights, class_weight, n_threads)
    tables: dict[Summary, ColumnStatistics] = {}
    for summary, members in schema.by_summary.items():
        whole = len(members) == table.n_columns and positions is None
        chosen = None if whole else members if positions is None else positions[members]
        names = schema.names if whole else tuple(schema.names[place] for place in members)
        if summary.kind == "counts":
            tables[summary] = rows.category_counts(names, np.arange(table.n_columns) if chosen is None else chosen)
        elif isinstance(table, SparseTable) and not (summary.above is not None and summary.above < 0):
            tables[summary] = rows.sparse_moments(names, chosen, summary)
        else:
            tables[summary] = rows.moments(names, chosen, summary)
    return Statistics(classes, class_weight, tables).without_empty_classes()


class _Rows:
    """The rows to count, and the ways of counting them."""

    def __init__(self, table: Table, codes: IntArray, weights: FloatArray | None, class_weight: Sum, n_threads: int):
        self.table, self.codes, self.weights = table, codes, weights
        self.class_weight, self.n_threads = class_weight, n_threads
        self.n_classes = class_weight.shape[0]

    def _chunks(self, chunk_rows: int) -> list[slice]:
        n_rows = self.table.n_rows
        return [slice(start, min(start + chunk_rows, n_rows)) for start in range(0, n_rows, chunk_rows)]

    def _blocks(self, chunk: slice, n_columns: int) -> Iterator[slice]:
        step = max(16, BLOCK_CELLS // max(n_columns, 1))
        for start in range(chunk.start, chunk.stop, step):
            yield slice(start, min(start + step, chunk.stop))

    # -- power sums -----------------------------------------------------------------------------------------------

    def moments(self, names: tuple[str, ...], positions: IntArray | None, summary: Summary) -> Moments:
        """Power sums of dense columns."""
        compiled = repays_compiler(self.table.n_rows * len(names))
        chunk_rows = max(CHUNK_ROWS, 4 * self.n_classes) if compiled else REFERENCE_CHUNK_ROWS

        def sums(chunk: slice) -> tuple[Sum, Sum, Sum | None]:
            if compiled:
                return self._compiled_sums(chunk, positions, len(names), summary)
            block = self._numbers(chunk, positions, summary)
            weights = None if self.weights is None else self.weights[chunk]
            with np.errstate(over="ignore", invalid="ignore"):
                return reference.power_sums(block, self.codes[chunk], weights, self.n_classes)

        shape = (self.n_classes, len(names))
        total, square, absent = Sum.zeros(shape), Sum.zeros(shape), None
        with np.errstate(over="ignore", invalid="ignore"):
            for part_total, part_square, part_absent in in_order(sums, self._chunks(chunk_rows), self.n_threads):
                total = total + part_total
                square = square + part_square if summary.squares else square
                if part_absent is not None:
                    absent = part_absent if absent is None else absent + part_absent
        return self._finished(names, positions, summary, total, square, absent)

    def _numbers(self, rows: slice, positions: IntArray | None, summary: Summary) -> FloatArray:
        """A block of the numbers that are to be summed, checked."""
        block = self.table.numbers(positions, rows)
        if summary.nonnegative and (block < 0).any():
            row, column = np.argwhere(block < 0)[0]
            raise InputError(
                f"Column {self._name(positions, column)!r} must hold counts of zero or more for its family, but row "
                f"{rows.start + int(row)} has {block[row, column]!r} (negative values in data). "
                "Use families='gaussian' for numbers that can be negative."
            )
        if summary.above is not None:
            block = np.where(np.isnan(block), np.nan, block > summary.above)
        return block

    def _name(self, positions: IntArray | None, place: Any) -> str:
        return self.table.names[int(place) if positions is None else int(positions[place])]

    def _compiled_sums(
        self, chunk: slice, positions: IntArray | None, n_columns: int, summary: Summary
    ) -> tuple[Sum, Sum, Sum | None]:
        from naively.kernels.power_sums import add_power_sums, add_weighted_power_sums, fold_all

        shape = (self.n_classes, n_columns)
        recent = [np.zeros(shape) for _ in range(4)]
        n_recent, sums = np.zeros(self.n_classes, dtype=np.int64), np.zeros((4, *shape))
        absent, absent_low = np.zeros(shape), np.zeros(shape)
        for rows in self._blocks(chunk, n_columns):
            block = frozen(self._numbers(rows, positions, summary))
            codes = frozen(self.codes[rows])
            if self.weights is None:
                add_power_sums(block, codes, *recent, n_recent, sums, absent)
            else:
                weights = frozen(self.weights[rows])
                add_weighted_power_sums(block, codes, weights, *recent, n_recent, sums, absent, absent_low)
        fold_all(*recent, n_recent, sums)
        return (
            Sum(sums[0], sums[1] if sums[1].any() else None),
            Sum(sums[2], sums[3] if sums[3].any() else None),
            Sum.of_parts(absent, absent_low) if absent.any() else None,
        )

    def sparse_moments(self, names: tuple[str, ...], positions: IntArray | None, summary: Summary) -> Moments:
        """Power sums of sparse columns: only the stored cells are read."""
        assert isinstance(self.table, SparseTable)
        matrix = self.table.rows(positions, slice(None))
        if summary.nonnegative and matrix.nnz and np.nanmin(matrix.data, initial=0.0) < 0:
            self._numbers(slice(0, self.table.n_rows), positions, summary)
        if summary.above is not None:
            known = ~np.isnan(matrix.data)
            matrix.data = np.where(known, matrix.data > summary.above, np.nan)
        from naively.engines.sparse import sparse_power_sums

        total, square, absent = sparse_power_sums(
            matrix, self.codes, self.weights, self.n_classes, summary.squares, self.n_threads
        )
        return self._finished(names, positions, summary, total, square, absent)

    def _finished(
        self,
        names: tuple[str, ...],
        positions: IntArray | None,
        summary: Summary,
        total: Sum,
        square: Sum,
        absent: Sum | None,
    ) -> Moments:
        if not total.is_finite() or (summary.squares and not square.is_finite()):
            self._refuse_infinite(positions, total, square)
        observed = None
        if summary.observed:
            observed = Sum(np.broadcast_to(self.class_weight.high[:, None], total.shape).copy())
            if self.class_weight.low is not None:
                observed = Sum(observed.high, np.broadcast_to(self.class_weight.low[:, None], total.shape).copy())
            if absent is not None:
                observed = (observed - absent).without_noise(observed.high)
        return Moments(names, total, observed, square if summary.squares else None)

    def _refuse_infinite(self, positions: IntArray | None, total: Sum, square: Sum) -> None:
        """Say which cell made the sums overflow."""
        bad = ~(np.isfinite(total.high) & np.isfinite(square.high)).all(axis=0)
        place = int(np.flatnonzero(bad)[0]) if bad.any() else 0
        name = self._name(positions, place)
        column = np.array([place]) if positions is None else positions[[place]]
        values = self.table.numbers(column, slice(0, self.table.n_rows))[:, 0]
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise InputError(
                f"Input X contains infinity: column {name!r}, row {int(infinite[0])}. Replace infinite values by NaN "
                "(missing), or clip them."
            )
        raise InputError(
            f"The values of column {name!r} are too large to be squared and summed in float64 (up to "
            f"{np.nanmax(np.abs(values)):g}). Rescale the column to within 1e150."
        )

    # -- counts of values -----------------------------------------------------------------------------------------

    def category_counts(self, names: tuple[str, ...], positions: IntArray) -> Counts:
        """How often each value of each column occurs."""
        labels: list[list[Label]] = [[] for _ in names]
        tables = [Sum.zeros((self.n_classes, 0)) for _ in names]
        low, high = self._windows(positions)
        direct = np.flatnonzero(high >= low)
        if len(direct):
            found = self._counted(positions[direct], low[direct], high[direct] - low[direct] + 1)
            for place, values_of in zip(direct.tolist(), found, strict=True):
                truth = self.table.kind(int(positions[place])) == "truth"
                window = range(int(low[place]), int(high[place]) + 1)
                labels[place] = [bool(value) for value in window] if truth else list(window)
                tables[place] = values_of
        by_label = [place for place in range(len(names)) if high[place] < low[place] and positions[place] >= 0]
        for place, (column_labels, values_of) in zip(
            by_label,
            in_order(lambda place: self._labelled(int(positions[place])), by_label, self.n_threads),
            strict=True,
        ):
            labels[place], tables[place] = column_labels, values_of
        return Counts.of_tables(names, labels, tables)

    def _windows(self, positions: IntArray) -> tuple[IntArray, IntArray]:
        """The least and largest value of each column of whole numbers close together; low > high for the others."""
        n = len(positions)
        low, high = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        numeric = [
            place
            for place, position in enumerate(positions.tolist())
            if position >= 0 and self.table.kind(position) in ("number", "truth")
        ]
        if not numeric:
            return low, high
        chosen = positions[numeric]

        def bounds(chunk: slice) -> tuple[IntArray, IntArray]:
            parts = [self._bounds(chosen, rows) for rows in self._blocks(chunk, len(chosen))]
            return np.min([part[0] for part in parts], axis=0), np.max([part[1] for part in parts], axis=0)

        parts = list(in_order(bounds, self._chunks(CHUNK_ROWS), self.n_threads))
        least = np.min([part[0] for part in parts], axis=0)
        largest = np.max([part[1] for part in parts], axis=0)
        room = min(4 * self.table.n_rows + 1024, (64 << 20) // (8 * self.n_classes * len(chosen)))
        # Python integers: the difference of two int64 may not fit one.
        fits = [0 <= int(top) - int(bottom) < room for bottom, top in zip(least, largest, strict=True)]
        places = np.array(numeric)[fits]
        low[places], high[places] = least[fits], largest[fits]
        return low, high

    def _bounds(self, positions: IntArray, rows: slice) -> tuple[IntArray, IntArray]:
        """The least and largest value of some rows; the whole int64 range for a column with a fraction."""
        block = self.table.integers(positions, rows)
        least, largest = block.min(axis=0), block.max(axis=0)
        if (least == NO_INTEGER).any():
            none = block == NO_INTEGER
            limits = np.iinfo(np.int64)
            least = np.where(none, limits.max, block).min(axis=0)
            largest = np.where(none, limits.min, block).max(axis=0)
            fraction = (none & ~np.isnan(self.table.numbers(positions, rows))).any(axis=0)
            least[fraction], largest[fraction] = limits.min, limits.max
        return least, largest

    def _counted(self, positions: IntArray, low: IntArray, size: IntArray) -> list[Sum]:
        """One table per column of whole numbers, (classes, size)."""
        offset = np.concatenate([[0], np.cumsum(size + 1)[:-1]]).astype(np.int64)

        def read(rows: slice) -> IntArray:
            return self.table.integers(positions, rows)

        cells = self._value_sums(read, low, size, offset)
        return [cells[:, start : start + width] for start, width in zip(offset.tolist(), size.tolist(), strict=True)]

    def _labelled(self, position: int) -> tuple[list[Label], Sum]:
        """The labels of one column and their table."""
        codes, labels = self.table.labels(position)
        need = 8 * self.n_classes * (len(labels) + 1)
        if need > LARGEST_TABLE_BYTES:
            raise InputError(
                f"Column {self.table.names[position]!r} has {len(labels):,} values and y has {self.n_classes:,} "
                f"classes: their table would take {need / 2**30:.0f} GiB. Drop the column, group its rare values, or "
                "read it as another family."
            )
        size = np.array([len(labels)], dtype=np.int64)
        zero = np.zeros(1, dtype=np.int64)
        cells = self._value_sums(lambda rows: codes[rows, None], zero, size, zero, n_threads=1)
        return labels, cells[:, : len(labels)]

    def _value_sums(
        self, read: Any, low: IntArray, size: IntArray, offset: IntArray, n_threads: int | None = None
    ) -> Sum:
        """The weight of every value (and in each column's last cell of the missing), per class."""
        shape = (self.n_classes, int((size + 1).sum()))
        layout = (low, size, offset)
        compiled = repays_compiler(self.table.n_rows * len(low))
        chunk_rows = max(CHUNK_ROWS, 4 * shape[0] * shape[1]) if compiled else REFERENCE_CHUNK_ROWS * 4

        def sums(chunk: slice) -> Sum:
            counts = np.zeros(shape, dtype=np.int64)
            total, total_low = np.zeros(shape), np.zeros(shape)  # no memory is touched unless there are weights
            result = None
            for rows in self._blocks(chunk, len(low)):
                block, codes = read(rows), self.codes[rows]
                if self.weights is None and compiled:
                    kernels().count_values(frozen(block), frozen(codes), *layout, counts)
                elif self.weights is None:
                    reference.count_values(block, codes, *layout, counts)
                elif compiled:
                    weights = frozen(self.weights[rows])
                    kernels().add_value_weights(frozen(block), frozen(codes), weights, *layout, total, total_low)
                else:
                    part = reference.value_weights(block, codes, self.weights[rows], *layout, shape)
                    result = part if result is None else result + part
            if result is not None:
                return result
            return Sum(counts.astype(np.float64)) if self.weights is None else Sum.of_parts(total, total_low)

        result = Sum.zeros(shape)
        for part in in_order(sums, self._chunks(chunk_rows), n_threads or self.n_threads):
            result = result + part
        return result


def kernels() -> Any:
    """The compiled kernels of category counts."""
    from naively.kernels import category_counts

    return category_counts


def frozen(array: Any) -> Any:
    """A read-only view: kernels are compiled once, whether or not the user's array can be written to."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
