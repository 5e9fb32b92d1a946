"""Growing small partitions of rows, compiled: level by level, each node cut where its residuals differ most.

`naively._kernels.partition_reference` says what is computed.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively._kernels.partition_reference import LEAST_GAIN_OF_A_CUT
from naively.typing import AnyArray, FloatArray, IntArray


@kernel
def grow(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    gradient: FloatArray,
    stiffness: FloatArray,
    draws: FloatArray,
    ridge: float,
    least_rows: int,
    column: IntArray,
    place: IntArray,
    cells: IntArray,
) -> None:
    """Cut rows into cells; see `naively._kernels.partition_reference.grow`."""
    n_rows, n_columns, n_outputs = codes.shape[0], codes.shape[1], gradient.shape[1]
    width = 2 * n_outputs + 1
    first_bin = np.zeros(n_columns + 1, dtype=np.int64)
    for one in range(
        n_columns
    ):  # what a row adds without a branch: a number to one of two, a label, or no label, to its own
        first_bin[one + 1] = first_bin[one] + (n_labels[one] + 1 if n_labels[one] > 0 else 2)
    cells[:] = 0
    column[:] = -1
    first = 0
    while 2 * first + 1 < len(column):
        n_nodes = first + 1
        lowest = np.full((n_nodes, n_columns), np.iinfo(codes.dtype).max, dtype=codes.dtype)
        highest = np.zeros((n_nodes, n_columns), dtype=codes.dtype)
        for row in range(n_rows):
            node = cells[row] - first
            if node >= 0:
                for one in range(n_columns):
                    lowest[node, one] = min(lowest[node, one], codes[row, one])
                    highest[node, one] = max(highest[node, one], codes[row, one])
        cuts = np.zeros((n_nodes, n_columns), dtype=np.int64)
        for node in range(n_nodes):
            for one in range(n_columns):
                if lowest[node, one] <= highest[node, one]:
                    low, high = np.int64(lowest[node, one]), np.int64(highest[node, one])
                    cuts[node, one] = low + np.int64(draws[first + node, one] * (high - low))
        sums = np.zeros((n_nodes, first_bin[n_columns], width))
        for row in range(n_rows):
            node = cells[row] - first
            if node < 0:
                continue
            for one in range(n_columns):
                code = np.int64(codes[row, one])
                beyond = np.int64(code > cuts[node, one])
                into = first_bin[one] + (code if n_labels[one] > 0 else beyond)
                for output in range(n_outputs):
                    sums[node, into, output] += gradient[row, output]
                    sums[node, into, n_outputs + output] += stiffness[row, output]
                sums[node, into, width - 1] += 1.0
        n_cut = 0
        for node in range(n_nodes):
            n_cut += _cut_best(
                sums[node], first_bin, cuts[node], n_labels, signs, ridge, least_rows, first + node, column, place
            )
        if n_cut == 0:
            return
        for row in range(n_rows):
            node = cells[row]
            if node >= first and column[node] >= 0:
                code = np.int64(codes[row, column[node]])
                is_right = code > place[node] if n_labels[column[node]] == 0 else code == place[node]
                cells[row] = 2 * node + 1 + is_right
        first = 2 * first + 1


@inlined
def _cut_best(
    sums: FloatArray,
    first_bin: IntArray,
    cuts: IntArray,
    n_labels: IntArray,
    signs: IntArray,
    ridge: float,
    least_rows: int,
    number: int,
    column: IntArray,
    place: IntArray,
) -> int:
    """Cut one node where that gains most, if anywhere; how often it was cut."""
    n_outputs = sums.shape[1] // 2
    totals = np.zeros(sums.shape[1])
    for into in range(first_bin[1]):
        totals += sums[into]
    whole = 0.0
    for output in range(n_outputs):
        whole += totals[output] * totals[output] / (totals[n_outputs + output] + ridge)
    best = np.float32(LEAST_GAIN_OF_A_CUT)
    for one in range(len(n_labels)):
        for into in range(first_bin[one], first_bin[one + 1] - 1):
            n_inside = sums[into, 2 * n_outputs]
            if min(n_inside, totals[2 * n_outputs] - n_inside) < least_rows:
                continue
            gain = 0.0
            for output in range(n_outputs):
                pull, stiff = sums[into, output], sums[into, n_outputs + output]
                other, other_stiff = totals[output] - pull, totals[n_outputs + output] - stiff
                step, other_step = pull / (stiff + ridge), other / (other_stiff + ridge)
                gain += pull * step + other * other_step
                if signs[one] * (other_step - step) < 0.0:
                    gain = -np.inf
            if np.float32(gain - whole) > best:
                best = np.float32(gain - whole)
                column[number] = one
                place[number] = cuts[one] if n_labels[one] == 0 else into - first_bin[one]
    return 1 if column[number] >= 0 else 0


@kernel
def ends(codes: AnyArray, n_labels: IntArray, column: IntArray, place: IntArray, cells: IntArray) -> None:
    """Find the node in which each row ends; see `naively._kernels.partition_reference.ends`."""
    for row in range(len(cells)):
        node = 0
        while column[node] >= 0:
            code = np.int64(codes[row, column[node]])
            is_right = code > place[node] if n_labels[column[node]] == 0 else code == place[node]
            node = 2 * node + 1 + is_right
        cells[row] = node


@kernel
def cell_sums(cells: IntArray, values: FloatArray, sums: FloatArray) -> None:
    """Add the values of rows (classes, rows) to the sums of their cells (classes, cells)."""
    for label in range(values.shape[0]):
        for row in range(len(cells)):
            sums[label, cells[row]] += values[label, row]
