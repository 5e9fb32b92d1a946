"""The compiled way through a long column: its cells for `Histogram`, without a sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively.typing import FloatArray, IntArray

_FREE = np.int64(-(2**63))  # the key of no finite value: it marks a free slot
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LARGEST_WINDOW = 1 << 20


def count_cells(
    values: FloatArray, codes: IntArray, n_classes: int, weights: FloatArray | None, cap: int, level: int
) -> tuple[int, IntArray, FloatArray]:
    """Count rows on a level no coarser than the finest with at most ``cap`` occupied cells.

    The level of the first few rows, which the caller gives, is one. Where its cells lie close together they are
    counted in place, several times faster than by looking each up in a hash table.

    Parameters
    ----------
    values : float64 array (rows,), any stride; NaN is ignored
    codes : int64 array (rows,)
    n_classes : int
    weights : float64 array (rows,) or None
    cap : int
    level : int
        Where to start.

    Returns
    -------
    level : int
    keys : int64 array (cells,), ascending
    counts : float64 array (n_classes, cells)
    """
    # One NumPy pass takes the zero-copy int64 view that a strided float column cannot give in the kernel.
    bits = np.ascontiguousarray(values).view(np.int64)
    codes = np.ascontiguousarray(codes)
    weight = np.empty(0) if weights is None else np.ascontiguousarray(weights)
    least_below, largest_below, least_above, largest_above = map(int, cell_bounds(bits, codes, weight, level))
    n_below, n_above = max(0, largest_below - least_below + 1), max(0, largest_above - least_above + 1)
    if (n_below + 1 + n_above) * n_classes <= LARGEST_WINDOW:
        table = np.zeros((n_below + 1 + n_above, n_classes))
        shift_below, shift_above = -least_below if n_below else 0, n_below + 1 - least_above if n_above else 0
        _count_directly(bits, codes, weight, level, shift_below, n_below, shift_above, table)
        occupied = _occupied(table)
        keys = np.where(occupied < n_below, occupied - shift_below, occupied - shift_above)
        keys[occupied == n_below] = 0
        return level, keys, np.ascontiguousarray(table[occupied].T)
    level, slots, table = _fill(bits, codes, weight, n_classes, cap, _slots_for(cap), level)
    occupied = np.flatnonzero(slots != _FREE)
    occupied = occupied[np.argsort(slots[occupied])]
    return int(level), slots[occupied], np.ascontiguousarray(table[occupied].T)


def _slots_for(cap: int) -> int:
    return 1 << int(np.ceil(np.log2(4 * cap)))


@inlined
def _key(bits: Any) -> Any:
    # No branch on the sign, which is a coin toss for centred data; -1 is the key of -0.0 alone.
    key = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    return key + (key == -1)


@inlined
def _counts(bits: Any, code: Any) -> Any:
    """Whether a row is counted: its value is no NaN, and its class is known."""
    return (bits & np.int64(0x7FFFFFFFFFFFFFFF)) <= np.int64(0x7FF0000000000000) and code >= 0


@kernel
def cell_bounds(bits: IntArray, codes: IntArray, weights: FloatArray, level: int) -> tuple[Any, Any, Any, Any]:
    """The least and the largest cell below zero and above it, of the rows that count; the least is above if none does.

    Between them, around zero, are as many cells as in all the rest: those of numbers that hardly ever occur.
    """
    far = np.int64(2**62)
    least_below, largest_below, least_above, largest_above = far, -far, far, -far
    for row in range(len(bits)):
        if _counts(bits[row], codes[row]) and (len(weights) == 0 or weights[row] > 0):
            cell = _key(bits[row]) >> level
            least_below, largest_above = min(least_below, cell), max(largest_above, cell)
            largest_below = max(largest_below, cell if cell < 0 else -far)
            least_above = min(least_above, cell if cell > 0 else far)
    return least_below, largest_below, least_above, largest_above


@kernel
def _occupied(table: FloatArray) -> IntArray:
    """The cells that any class has rows in."""
    n_cells, n_classes = table.shape
    found = np.empty(n_cells, np.int64)
    n_found = 0
    for cell in range(n_cells):
        for code in range(n_classes):
            if table[cell, code] > 0:
                found[n_found] = cell
                n_found += 1
                break
    return found[:n_found].copy()


@kernel
def _count_directly(
    bits: IntArray,
    codes: IntArray,
    weights: FloatArray,
    level: int,
    shift_below: int,
    zero: int,
    shift_above: int,
    table: FloatArray,
) -> None:
    """Count every row in the cell that its key names: those below zero first, then that of zero, then those above."""
    weighted = len(weights) > 0
    for row in range(len(bits)):
        if _counts(bits[row], codes[row]) and (not weighted or weights[row] > 0):
            cell = _key(bits[row]) >> level
            place = cell + shift_above + ((cell >> 63) & (shift_below - shift_above))  # again without a branch
            place += (cell == 0) * (zero - shift_above)
            table[np.uint64(place), np.uint64(codes[row])] += weights[row] if weighted else 1.0


@kernel
def _slot_of(key: int, slots: IntArray, shift: int) -> int:
    """Return the slot that holds ``key``, or the free slot where it belongs."""
    mask = len(slots) - 1
    slot = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(shift))
    while slots[slot] != key and slots[slot] != _FREE:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def _fill(
    bits: IntArray, codes: IntArray, weights: FloatArray, n_classes: int, cap: int, n_slots: int, level: int
) -> tuple[int, IntArray, FloatArray]:
    """Count every row in a hash table of cells; when the cap is passed, drop one more bit of all keys."""
    shift = 64
    while n_slots >> (64 - shift) > 1:
        shift -= 1
    slots, table = np.full(n_slots, _FREE), np.zeros((n_slots, n_classes))
    occupied, row = 0, 0
    while True:
        row, occupied = _count_until_full(bits, codes, weights, row, level, slots, table, shift, occupied, cap)
        if occupied <= cap:
            return level, slots, table
        level += 1
        slots, table, occupied = _coarsened(slots, table, shift)


@kernel
def _count_until_full(
    bits: IntArray,
    codes: IntArray,
    weights: FloatArray,
    first: int,
    level: int,
    slots: IntArray,
    table: FloatArray,
    shift: int,
    occupied: int,
    cap: int,
) -> tuple[int, int]:
    """Count rows from ``first`` on until more than ``cap`` cells are occupied; return the next row and the cells."""
    weighted = len(weights) > 0
    for row in range(first, len(bits)):
        if occupied > cap:
            return row, occupied
        key = bits[row]
        if not _counts(key, codes[row]) or (weighted and weights[row] == 0):
            continue
        key = _key(key) >> level
        slot = _slot_of(key, slots, shift)
        if slots[slot] == _FREE:
            slots[slot] = key
            occupied += 1
        table[slot, codes[row]] += weights[row] if weighted else 1.0
    return len(bits), occupied


@kernel
def _coarsened(slots: IntArray, table: FloatArray, shift: int) -> tuple[IntArray, FloatArray, int]:
    """Return the hash table with one more bit of all keys dropped, and its number of cells."""
    coarse_slots, coarse_table = np.full(len(slots), _FREE), np.zeros(table.shape)
    occupied = 0
    for old in range(len(slots)):
        if slots[old] != _FREE:
            new = _slot_of(slots[old] >> 1, coarse_slots, shift)
            occupied += coarse_slots[new] == _FREE
            coarse_slots[new] = slots[old] >> 1
            coarse_table[new] += table[old]
    return coarse_slots, coarse_table, occupied
