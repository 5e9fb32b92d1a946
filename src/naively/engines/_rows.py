"""The rows that are to be counted, and how they are cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from naively._table.table import Table
from naively.statistics._sums import Sum
from naively.typing import FloatArray, IntArray

CHUNK_ROWS = 1 << 16
"""One partial sum is made per so many rows, whatever the number of threads."""

REFERENCE_CHUNK_ROWS = 1 << 13
"""The number of rows in a chunk for the NumPy references, which hold several copies of it."""

REFERENCE_CHUNK_CELLS = 1 << 13
"""And of cells where sums are taken: the copies, of which there are some twenty, stay in cache."""

BLOCK_CELLS = 1 << 18
"""A block of so many cells is converted and counted while it is in cache."""


@dataclass(frozen=True)
class Rows:
    """A table with the class and weight of each row.

    Parameters
    ----------
    table : Table
    codes : ndarray
        Each row's position among the classes; negative for rows to be left out.
    weights : ndarray or None
        None: every row weighs one.
    class_weight : Sum of shape (n_classes,)
    n_threads : int
    """

    table: Table
    codes: IntArray
    weights: FloatArray | None
    class_weight: Sum
    n_threads: int

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.class_weight.shape[0]

    def chunks(self, chunk_rows: int) -> list[slice]:
        """The rows in pieces, one partial sum each."""
        n_rows = self.table.n_rows
        return [slice(start, min(start + chunk_rows, n_rows)) for start in range(0, n_rows, chunk_rows)]

    def blocks(self, chunk: slice, n_columns: int, block_cells: int = BLOCK_CELLS) -> Iterator[slice]:
        """A chunk in pieces of about so many cells, by default such that fit in cache."""
        step = max(16, block_cells // max(n_columns, 1))
        for start in range(chunk.start, chunk.stop, step):
            yield slice(start, min(start + step, chunk.stop))

    def all_or(self, positions: IntArray) -> IntArray | None:
        """None, for "all columns as they are", where the positions say just that: reading is then free of copies."""
        if len(positions) != self.table.n_columns or np.count_nonzero(positions - np.arange(len(positions))):
            return positions
        return None
