"""The compiled way through a long column: its cells for `Histogram`, without a sort."""

from __future__ import annotations

import numpy as np
from numba import njit

from naively.typing import FloatArray, IntArray

_FREE = np.int64(-(2**63))  # the key of no finite value: it marks a free slot
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def count_cells(
    values: FloatArray, codes: IntArray, n_classes: int, weights: FloatArray | None, cap: int
) -> tuple[int, IntArray, FloatArray]:
    """Count rows on the finest level with at most ``cap`` occupied cells.

    Parameters
    ----------
    values : float64 array (rows,), any stride; NaN is ignored
    codes : int64 array (rows,)
    n_classes : int
    weights : float64 array (rows,) or None
    cap : int

    Returns
    -------
    level : int
    keys : int64 array (cells,), ascending
    counts : float64 array (n_classes, cells)
    """
    n_slots = 1 << int(np.ceil(np.log2(4 * cap)))
    # One NumPy pass takes the zero-copy int64 view that a strided float column cannot give in the kernel.
    bits = np.ascontiguousarray(values).view(np.int64)
    weight = np.empty(0) if weights is None else np.ascontiguousarray(weights)
    level, slots, table = _fill(bits, np.ascontiguousarray(codes), weight, n_classes, cap, n_slots)
    occupied = np.flatnonzero(slots != _FREE)
    occupied = occupied[np.argsort(slots[occupied])]
    return int(level), slots[occupied], np.ascontiguousarray(table[occupied].T)


@njit(cache=True, nogil=True)
def _slot_of(key: int, slots: IntArray, shift: int) -> int:
    """Return the slot that holds ``key``, or the free slot where it belongs."""
    mask = len(slots) - 1
    slot = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(shift))
    while slots[slot] != key and slots[slot] != _FREE:
        slot = (slot + 1) & mask
    return int(slot)


@njit(cache=True, nogil=True)
def _fill(
    bits: IntArray, codes: IntArray, weights: FloatArray, n_classes: int, cap: int, n_slots: int
) -> tuple[int, IntArray, FloatArray]:
    """Count every row in a hash table of cells; when the cap is passed, drop one more bit of all keys."""
    shift = 64
    while n_slots >> (64 - shift) > 1:
        shift -= 1
    slots, table = np.full(n_slots, _FREE), np.zeros((n_slots, n_classes))
    level, occupied, row = 0, 0, 0
    while True:
        row, occupied = _count_until_full(bits, codes, weights, row, level, slots, table, shift, occupied, cap)
        if occupied <= cap:
            return level, slots, table
        level += 1
        slots, table, occupied = _coarsened(slots, table, shift)


@njit(cache=True, nogil=True)
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
        if key & np.int64(0x7FFFFFFFFFFFFFFF) > np.int64(0x7FF0000000000000) or codes[row] < 0:
            continue
        if weighted and weights[row] == 0:
            continue
        # No branch on the sign, which is a coin toss for centred data; -1 is the key of -0.0 alone.
        key ^= (key >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)
        key += key == -1
        key >>= level
        slot = _slot_of(key, slots, shift)
        if slots[slot] == _FREE:
            slots[slot] = key
            occupied += 1
        table[slot, codes[row]] += weights[row] if weighted else 1.0
    return len(bits), occupied


@njit(cache=True, nogil=True)
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
