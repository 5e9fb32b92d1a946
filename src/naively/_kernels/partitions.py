"""Growing small partitions of rows, compiled: level by level, each node cut where its residuals differ most.

`naively._kernels.partition_reference` says what is computed.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively._kernels.partition_reference import LEAST_GAIN_OF_A_CUT, TO_WHOLE
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
    n_numbers = 0
    while n_numbers < n_columns and n_labels[n_numbers] == 0:
        n_numbers += 1
    first_bin = np.zeros(n_columns + 1, dtype=np.int64)
    for one in range(n_numbers, n_columns):  # what is no label has a bin, too
        first_bin[one + 1] = first_bin[one] + n_labels[one] + 1
    width = 2 * n_outputs + 1
    values, beyond = np.ones(width), np.zeros(n_numbers, dtype=np.bool_)
    cells[:] = 0
    column[:] = -1
    first = 0
    while 2 * first + 1 < len(column):
        n_nodes = first + 1
        cuts = _drawn_cuts(codes, cells, first, n_numbers, draws)
        totals = np.zeros((n_nodes, width))
        sums_beyond = np.zeros((n_nodes, width, n_numbers))  # side by side what is added up at once
        sums_of_labels = np.zeros((n_nodes, first_bin[n_columns], width))
        for row in range(n_rows):
            node = cells[row] - first
            if node < 0:
                continue
            for output in range(n_outputs):
                values[output] = gradient[row, output]
                values[n_outputs + output] = stiffness[row, output]
            for one in range(n_numbers):
                beyond[one] = codes[row, one] > cuts[node, one]
            for part in range(width):
                value, into_numbers = values[part], sums_beyond[node, part]
                totals[node, part] += value
                for one in range(n_numbers):
                    into_numbers[one] += value if beyond[one] else 0.0
            for one in range(n_numbers, n_columns):
                into_label = sums_of_labels[node, first_bin[one] + np.int64(codes[row, one])]
                for part in range(width):
                    into_label[part] += values[part]
        n_cut = 0
        for node in range(n_nodes):
            number = first + node
            best = np.float32(LEAST_GAIN_OF_A_CUT)
            for one in range(n_columns):
                is_number = one < n_numbers
                for label in range(1 if is_number else n_labels[one]):
                    inside = sums_beyond[node, :, one] if is_number else sums_of_labels[node, first_bin[one] + label]
                    gain = np.float32(_gain(inside, totals[node], signs[one], ridge, least_rows))
                    if gain > best:
                        best = gain
                        column[number] = one
                        place[number] = np.int64(cuts[node, one]) if is_number else label
            n_cut += column[number] >= 0
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
def _gain(right: FloatArray, totals: FloatArray, sign: int, ridge: float, least_rows: int) -> float:
    """What the loss falls by if some rows of a node go right; minus infinity where they may not.

    Both are sums of the gradients, of the stiffnesses, and the number of rows.
    """
    n_outputs = len(totals) // 2
    if min(right[2 * n_outputs], totals[2 * n_outputs] - right[2 * n_outputs]) < least_rows:
        return -np.inf
    gain, whole = 0.0, 0.0
    for output in range(n_outputs):
        pull, stiff = right[output], right[n_outputs + output]
        other, other_stiff = totals[output] - pull, totals[n_outputs + output] - stiff
        step, other_step = pull / (stiff + ridge), other / (other_stiff + ridge)
        gain += pull * step + other * other_step
        whole += totals[output] * totals[output] / (totals[n_outputs + output] + ridge)
        if sign * (step - other_step) < 0.0:
            gain = -np.inf
    return gain - whole


@inlined
def _drawn_cuts(codes: AnyArray, cells: IntArray, first: int, n_numbers: int, draws: FloatArray) -> AnyArray:
    """The cut of each number that each node of a level tries (nodes, numbers)."""
    n_nodes = first + 1
    lowest = np.full((n_nodes, n_numbers), np.iinfo(codes.dtype).max, dtype=codes.dtype)
    highest = np.zeros((n_nodes, n_numbers), dtype=codes.dtype)
    for row in range(len(cells)):
        node = cells[row] - first
        if node >= 0:
            for one in range(n_numbers):
                lowest[node, one] = min(lowest[node, one], codes[row, one])
                highest[node, one] = max(highest[node, one], codes[row, one])
    cuts = np.zeros((n_nodes, n_numbers), dtype=codes.dtype)
    for node in range(n_nodes):
        for one in range(n_numbers):
            if lowest[node, one] <= highest[node, one]:
                low, high = np.int64(lowest[node, one]), np.int64(highest[node, one])
                cuts[node, one] = low + np.int64(draws[first + node, one] * (high - low))
    return cuts


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
def derivatives(
    exponentials: FloatArray, target: IntArray, units: FloatArray, gradient: FloatArray, stiffness: FloatArray
) -> None:
    """Derivatives of the log-loss; see `naively._kernels.partition_reference.derivatives`."""
    n_classes, n_rows = exponentials.shape
    totals = np.zeros(n_rows)
    for label in range(n_classes):
        for row in range(n_rows):
            totals[row] += exponentials[label, row]
    for label in range(n_classes):
        for row in range(n_rows):
            proba = exponentials[label, row] / totals[row]
            own = 1.0 if target[row] == label else 0.0
            gradient[label, row] = ((own - proba) * units[row] + TO_WHOLE) - TO_WHOLE
            stiffness[label, row] = ((1.0 - proba) * proba * units[row] + TO_WHOLE) - TO_WHOLE


@kernel
def add_effects(scores: FloatArray, effects: FloatArray, cells: IntArray) -> None:
    """Add the effects of cells (classes, cells) to the scores of the rows in them (classes, rows)."""
    for label in range(scores.shape[0]):
        for row in range(len(cells)):
            scores[label, row] += effects[label, cells[row]]


@kernel
def cell_sums(cells: IntArray, values: FloatArray, sums: FloatArray) -> None:
    """Add the values of rows (classes, rows) to the sums of their cells (classes, cells)."""
    for label in range(values.shape[0]):
        for row in range(len(cells)):
            sums[label, cells[row]] += values[label, row]
