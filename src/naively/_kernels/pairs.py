"""Compiled loops over pairs of columns. The plain NumPy form stands beside its caller in `naively.analysis._pairs`.

Cells number the codes of all columns in one row; ``-1`` is missing. The class axis is always last,
so the innermost loop over classes runs over neighbouring memory.
"""

from __future__ import annotations

from naively._kernels.compiling import kernel
from naively.typing import FloatArray, IntArray


@kernel
def count_pairs(cells: IntArray, target: IntArray, weights: FloatArray, counts: FloatArray) -> None:
    """Add the rows' cell pairs to ``counts`` (cells, cells, classes), the upper triangle and the diagonal."""
    for n in range(cells.shape[0]):
        y = target[n]
        w = weights[n]
        for i in range(cells.shape[1]):
            u = cells[n, i]
            if u < 0:
                continue
            for k in range(i, cells.shape[1]):
                v = cells[n, k]
                if v >= 0:
                    counts[u, v, y] += w
