"""What several columns do together, counted: labels as numbered combinations, numbers summed within them.

Each chunk of rows gives one partial sum, over the combinations that occur in it; partial sums are merged by ``+`` in
the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively.engines._rows import Rows
from naively.engines._threads import in_order
from naively.families._joint import member_codes, member_numbers
from naively.statistics._combinations import Combinations
from naively.statistics._joint import JointSums
from naively.statistics._sums import Grouping, Sum, sum_by_code, two_product
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray, Label

CHUNK_ROWS = 1 << 18
"""So many rows are counted at once where only labels are joined."""

CHUNK_NUMBERS = 1 << 19
"""So many numbers and products are summed at once."""


class Members:
    """The columns of some rows, each encoded once, however many factors it is in.

    Parameters
    ----------
    rows : Rows
    names : sequence of str
        The model's columns.
    positions : ndarray or None
        Where they stand in the table; None if in the same order.
    """

    def __init__(self, rows: Rows, names: Sequence[str], positions: IntArray | None):
        self.rows, self._names, self._positions = rows, names, positions
        self._coded: dict[tuple[str, tuple[float, ...] | None], tuple[IntArray, list[Label]]] = {}

    def position(self, name: str) -> int:
        """Where a column stands in the table, -1 if nowhere."""
        place = list(self._names).index(name)
        return place if self._positions is None else int(self._positions[place])

    def codes(self, name: str, cuts: tuple[float, ...] | None) -> tuple[IntArray, list[Label]]:
        """One whole column as codes and the labels they stand for."""
        if (name, cuts) not in self._coded:
            self._coded[name, cuts] = member_codes(self.rows.table, self.position(name), cuts)
        return self._coded[name, cuts]


def sum_jointly(members: Members, summary: Summary) -> JointSums:
    """The joint sums of the rows in which all members are known."""
    rows, numbers = members.rows, summary.numbers
    cuts = summary.cuts or (None,) * len(summary.labels)
    coded = [members.codes(name, cut) for name, cut in zip(summary.labels, cuts, strict=True)]
    categories = tuple(tuple(labels) for _, labels in coded)
    positions = np.array([members.position(name) for name in numbers], dtype=np.int64)
    n_sums = len(numbers) + len(numbers) * (len(numbers) + 1) // 2
    step = min(CHUNK_ROWS, max(1024, CHUNK_NUMBERS // n_sums)) if numbers else CHUNK_ROWS

    def of_chunk(chunk: slice) -> JointSums:
        codes = np.column_stack([column[chunk] for column, _ in coded]) if coded else None
        block = member_numbers(rows.table, positions, numbers, chunk)
        return _counted(rows, chunk, codes, block, summary, categories)

    result = JointSums.empty(summary, summary.members, rows.n_classes).with_categories(categories)
    for part in in_order(of_chunk, rows.chunks(step), rows.n_threads):
        left, right = result.aligned_with(part)
        result = left + right
    result = result.tidy()
    result.refuse_overflow()
    return result


def _counted(
    rows: Rows,
    chunk: slice,
    codes: IntArray | None,
    block: FloatArray,
    summary: Summary,
    categories: tuple[tuple[Label, ...], ...],
) -> JointSums:
    """The joint sums of one chunk."""
    known = (rows.codes[chunk] >= 0) & ~np.isnan(block).any(axis=1)
    if codes is None:
        codes = np.zeros((len(known), 0), dtype=np.int64)
    known &= (codes >= 0).all(axis=1)
    everything = bool(known.all())
    classes = rows.codes[chunk] if everything else rows.codes[chunk][known]
    codes, block = (codes, block) if everything else (codes[known], block[known])
    weights = None if rows.weights is None else rows.weights[chunk][known]
    found = Combinations(codes, [len(labels) for labels in categories])
    cells = np.zeros((found.n, codes.shape[1]), dtype=np.int64)
    cells[found.places] = codes
    groups, shape = classes * found.n + found.places, (rows.n_classes, found.n)
    n_groups = rows.n_classes * found.n
    if weights is None:
        weight = Sum(np.bincount(groups, minlength=n_groups).astype(np.float64))
    else:
        weight = sum_by_code(groups, weights, n_groups)
    total, cross = _number_sums(block, groups, weights, n_groups)
    total, cross = (part.reshaped((*shape, part.shape[1])) for part in (total, cross))
    return JointSums(summary.labels, summary.numbers, categories, cells, weight.reshaped(shape), total, cross)


def _number_sums(block: FloatArray, groups: IntArray, weights: FloatArray | None, n_groups: int) -> tuple[Sum, Sum]:
    """The sums of the numbers and of their products, by group."""
    n = block.shape[1]
    first, second = np.triu_indices(n)
    if not n or not len(block):
        return Sum.zeros((n_groups, n)), Sum.zeros((n_groups, len(first)))
    with np.errstate(over="ignore", invalid="ignore"):
        high, low = (block, None) if weights is None else two_product(block, weights[:, None])
        values = [high] if low is None else [high, low]
        products = [part for value in values for part in two_product(value[:, first], block[:, second])]
        sums = Grouping(groups, n_groups).sum(np.hstack(values + products))
        total, cross = sums[:, :n], sums[:, n * len(values) : n * len(values) + len(first)]
        for place in range(1, len(values)):
            total = total + sums[:, n * place : n * (place + 1)]
        start = n * len(values)
        for place in range(1, len(products)):
            cross = cross + sums[:, start + place * len(first) : start + (place + 1) * len(first)]
    return total, cross
