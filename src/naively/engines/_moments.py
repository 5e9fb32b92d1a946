"""Power sums of numeric columns: dense blocks through the kernels, sparse matrices by their stored cells."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from naively._kernels import frozen, kernel_of, reference, repays_compiler, with_reference
from naively._table.table import ArrayTable, SparseTable, with_data
from naively.engines._rows import CHUNK_ROWS, REFERENCE_CHUNK_CELLS, REFERENCE_CHUNK_ROWS, Rows
from naively.engines._sparse import sparse_power_sums
from naively.engines._threads import in_order
from naively.errors import InputError
from naively.statistics._moments import Moments
from naively.statistics._sums import Sum, any_nonzero
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

PIECE_CELLS = 1 << 20
"""So many cells, which are converted at once if need be, are handed to the kernel, which cuts its own blocks."""

Sums = tuple[Sum, Sum, Sum | None]
"""The sums, the sums of squares, and the weight of missing cells (None: none is missing)."""


def sum_powers(rows: Rows, names: tuple[str, ...], positions: IntArray, summary: Summary) -> Moments:
    """The power sums of each column."""
    sparse = isinstance(rows.table, SparseTable) and not (summary.above is not None and summary.above < 0)
    chosen = rows.all_or(positions)
    sums = _sparse_sums(rows, chosen, summary) if sparse else _dense_sums(rows, len(names), chosen, summary)
    total, square, absent = sums
    if not (square if summary.squares else total).is_finite():  # squares are the first to overflow
        _refuse_infinite(rows, chosen, total, square)
    observed = _observed(rows.class_weight, total.shape, absent) if summary.observed else None
    log = _log_sums(rows, positions, summary) if summary.logs else None
    return Moments(names, total, observed, square if summary.squares else None, log=log)


def _log_sums(rows: Rows, positions: IntArray | None, summary: Summary) -> Sum:
    """The sums of the logarithms of numbers, which must be above 0."""

    def of_chunk(chunk: slice) -> Sum:
        block = _numbers(rows, chunk, positions, summary)
        weights = None if rows.weights is None else rows.weights[chunk]
        return reference.power_sums(np.log(block), rows.codes[chunk], weights, rows.n_classes)[0]

    return reduce(add, in_order(of_chunk, rows.chunks(REFERENCE_CHUNK_ROWS), rows.n_threads))


def _observed(class_weight: Sum, shape: tuple[int, ...], absent: Sum | None) -> Sum:
    """The weight of the known cells: that of the class, less that of the missing ones."""
    high, low = class_weight.high, class_weight.low
    observed = Sum(
        np.repeat(high, shape[1]).reshape(shape), None if low is None else np.repeat(low, shape[1]).reshape(shape)
    )
    return observed if absent is None else (observed - absent).without_noise(observed.high)


@with_reference
def _dense_sums(rows: Rows, n_columns: int, positions: IntArray | None, summary: Summary) -> Sums:
    compiled = repays_compiler(rows.table.n_rows * n_columns)
    few_rows = min(REFERENCE_CHUNK_ROWS, max(REFERENCE_CHUNK_CELLS // max(n_columns, 1), 4 * rows.n_classes))
    chunk_rows = max(CHUNK_ROWS, 128 * rows.n_classes) if compiled else few_rows
    of_chunk = _compiled_sums if compiled else _reference_sums
    parts = in_order(lambda chunk: of_chunk(rows, chunk, positions, summary), rows.chunks(chunk_rows), rows.n_threads)
    return reduce(lambda left, right: _both(left, right, summary.squares), parts)


def _both(left: Sums, right: Sums, squares: bool) -> Sums:
    """The sums of the rows of both; the squares, where they are not wanted, of the first alone."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = left[0] + right[0]
        square = left[1] + right[1] if squares else left[1]
        absent = left[2] + right[2] if left[2] is not None and right[2] is not None else left[2] or right[2]
    return total, square, absent


def _reference_sums(rows: Rows, chunk: slice, positions: IntArray | None, summary: Summary) -> Sums:
    block = _numbers(rows, chunk, positions, summary)
    weights = None if rows.weights is None else rows.weights[chunk]
    with np.errstate(over="ignore", invalid="ignore"):
        return reference.power_sums(block, rows.codes[chunk], weights, rows.n_classes)


def _compiled_sums(rows: Rows, chunk: slice, positions: IntArray | None, summary: Summary) -> Sums:
    n_columns = rows.table.n_columns if positions is None else len(positions)
    shape = (rows.n_classes, n_columns)
    sums, absent, absent_low = np.zeros((4, *shape)), np.zeros(shape), np.zeros(shape)
    if rows.weights is None:
        _add_plain(rows, chunk, positions, summary, sums, absent)
    else:
        _add_weighted(rows, chunk, positions, summary, sums, (absent, absent_low))
    return (
        Sum(sums[0], sums[1] if any_nonzero(sums[1]) else None),
        Sum(sums[2], sums[3] if any_nonzero(sums[3]) else None),
        Sum.of_parts(absent, absent_low) if any_nonzero(absent) else None,
    )


def _add_plain(
    rows: Rows, chunk: slice, positions: IntArray | None, summary: Summary, sums: FloatArray, absent: FloatArray
) -> None:
    """Add the rows of a chunk where they lie in memory."""
    add_power_sums = kernel_of("moments", "add_power_sums")
    for piece in rows.blocks(chunk, sums.shape[2], PIECE_CELLS):
        if summary.nonnegative or summary.above is not None or summary.unlike is not None:
            cells = ArrayTable(_numbers(rows, piece, positions, summary)).cells(None, slice(None))
        else:
            cells = rows.table.cells(positions, piece)
        like = np.empty(0, dtype=cells.dtype)
        add_power_sums(like, cells.addresses, cells.stride, frozen(rows.codes[piece]), sums, absent)


def _add_weighted(
    rows: Rows,
    chunk: slice,
    positions: IntArray | None,
    summary: Summary,
    sums: FloatArray,
    absent: tuple[FloatArray, FloatArray],
) -> None:
    from naively._kernels.moments import add_weighted_power_sums, fold_all

    assert rows.weights is not None
    recent = [np.zeros(sums.shape[1:]) for _ in range(4)]
    n_recent = np.zeros(rows.n_classes, dtype=np.int64)
    for piece in rows.blocks(chunk, sums.shape[2]):
        block, codes = frozen(_numbers(rows, piece, positions, summary)), frozen(rows.codes[piece])
        add_weighted_power_sums(block, codes, frozen(rows.weights[piece]), *recent, n_recent, sums, *absent)
    fold_all(*recent, n_recent, sums)


def _sparse_sums(rows: Rows, positions: IntArray | None, summary: Summary) -> Sums:
    assert isinstance(rows.table, SparseTable)
    matrix = rows.table.rows(positions, slice(None))
    if summary.nonnegative and not _least(matrix.data, rows.n_threads) >= 0 and (matrix.data < 0).any():
        row = int(np.searchsorted(matrix.indptr, np.flatnonzero(matrix.data < 0)[0], side="right")) - 1
        _numbers(rows, slice(row, row + 1), positions, summary)  # which says what is wrong
    if summary.above is not None or summary.unlike is not None:
        matrix = with_data(matrix, _answered(matrix.data, summary))
    return sparse_power_sums(matrix, rows.codes, rows.weights, rows.n_classes, summary.squares, rows.n_threads)


def _least(values: FloatArray, n_threads: int) -> float:
    """The least of the values and 0; NaN if one of them is."""
    pieces = (values[start : start + PIECE_CELLS] for start in range(0, len(values), PIECE_CELLS))
    return float(np.min([0.0, *in_order(np.min, pieces, n_threads)]))


def _numbers(rows: Rows, piece: slice, positions: IntArray | None, summary: Summary) -> FloatArray:
    """A block of the numbers that are to be summed, checked."""
    block = rows.table.numbers(positions, piece)
    if summary.nonnegative and (block < 0).any():
        row, column = np.argwhere(block < 0)[0]
        raise InputError(
            f"Negative values in data: column {_name(rows, positions, column)!r} must hold counts of zero or more for "
            f"its family, but row {piece.start + int(row)} has {float(block[row, column])!r}. Use families='gaussian' "
            "for numbers that can be negative."
        )
    if summary.logs and (block <= 0).any():
        row, column = np.argwhere(block <= 0)[0]
        raise InputError(
            f"Column {_name(rows, positions, column)!r} must hold numbers above 0 for its family, but row "
            f"{piece.start + int(row)} has {float(block[row, column])!r}. Use families='exponential' for numbers of "
            "zero or more, 'gaussian' for any."
        )
    return block if summary.above is None and summary.unlike is None else _answered(block, summary)


def _answered(block: FloatArray, summary: Summary) -> FloatArray:
    """Whether numbers are what is asked about, as 0 and 1; an infinity stays one, and is refused with the sums."""
    if summary.unlike == "counts":
        answer = (block < 0) | (block != np.floor(block))
    elif summary.unlike == "binary":
        answer = (block != 0) & (block != 1)
    else:
        assert summary.above is not None
        answer = block > summary.above
    return np.where(np.isfinite(block), answer, block)


def _name(rows: Rows, positions: IntArray | None, place: Any) -> str:
    return rows.table.names[int(place) if positions is None else int(positions[place])]


def _refuse_infinite(rows: Rows, positions: IntArray | None, total: Sum, square: Sum) -> None:
    """Say which cell made the sums overflow."""
    finite = np.isfinite(total.high + total.low_or_zero) & np.isfinite(square.high + square.low_or_zero)
    largest, name = 0.0, ""
    for place in np.flatnonzero(~finite.all(axis=0)).tolist():
        column = np.array([place]) if positions is None else positions[[place]]
        values = rows.table.numbers(column, slice(0, rows.table.n_rows))[:, 0]
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise InputError(
                f"Input X contains infinity: column {_name(rows, positions, place)!r}, row {int(infinite[0])}. Replace "
                "infinite values by NaN (missing), or clip them."
            )
        if not name or np.nanmax(np.abs(values), initial=0.0) > largest:
            largest, name = float(np.nanmax(np.abs(values), initial=0.0)), _name(rows, positions, place)
    raise InputError(
        f"The values of column {name!r} are too large to be squared and summed in float64 (up to "
        f"{largest:g}). Rescale the column to within 1e150."
    )
