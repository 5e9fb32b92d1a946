"""Growing small partitions of rows, compiled: each node is cut where its residuals differ most.

`naively._kernels.partition_reference` says what is computed.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import called, kernel
from naively._kernels.partition_reference import LEAST_GAIN_OF_A_CUT, TO_WHOLE
from naively.typing import AnyArray, FloatArray, IntArray

BLOCK = 512
"""Rows at once, of all classes: what is written of them is still in the cache when it is read."""


@kernel
def grow(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    held_out_by: IntArray,
    groups: IntArray,
    chosen: IntArray,
    outputs: IntArray,
    gradient: IntArray,
    stiffness: IntArray,
    weights: FloatArray,
    draws: FloatArray,
    ridge: float,
    least_rows: int,
    column: IntArray,
    place: IntArray,
    cells: AnyArray,
    pulls: IntArray,
    stiffs: IntArray,
    totals: FloatArray,
) -> None:
    """Cut rows into cells, for each group of partitions; see `naively._kernels.partition_reference.grow`."""
    n_rows = codes.shape[1]
    order, later = np.empty(n_rows, dtype=np.uint32), np.empty(n_rows, dtype=np.uint32)
    for group in range(len(groups)):
        n_learnt = 0
        for row in range(n_rows):
            if held_out_by[row] != groups[group]:
                order[n_learnt] = row
                n_learnt += 1
        _grow(
            codes,
            n_labels,
            signs,
            chosen[group],
            outputs[group],
            gradient[group],
            stiffness[group],
            weights,
            draws[group],
            ridge,
            least_rows,
            order[:n_learnt],
            later,
            column[group],
            place[group],
            cells[group],
            pulls[group],
            stiffs[group],
            totals[group],
        )
        for row in range(n_rows):
            if held_out_by[row] == groups[group]:
                node = 0
                while column[group, node] >= 0:
                    asked = column[group, node]
                    code = np.int64(codes[asked, row])
                    at = place[group, node]
                    is_right = code > at if n_labels[asked] == 0 else code == at
                    node = 2 * node + 2 if is_right else 2 * node + 1
                cells[group, row] = node


@called
def _grow(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    chosen: IntArray,
    outputs: IntArray,
    gradient: IntArray,
    stiffness: IntArray,
    weights: FloatArray,
    draws: FloatArray,
    ridge: float,
    least_rows: int,
    order: AnyArray,
    later: AnyArray,
    column: IntArray,
    place: IntArray,
    cells: AnyArray,
    pulls: IntArray,
    stiffs: IntArray,
    totals: FloatArray,
) -> None:
    """Cut the rows of an order, which changes, into cells.

    The rows of a node stand side by side in it, so that what is asked of a column of numbers is asked of many rows by
    one instruction. What labels add up to is counted for the smaller of two next nodes, and is a difference for the
    larger.
    """
    n_columns, n_rows = len(chosen), len(order)
    n_outputs, n_inner = len(outputs), len(column) // 2
    width = 2 * n_outputs + 1
    n_numbers = 0
    while n_numbers < n_columns and n_labels[chosen[n_numbers]] == 0:
        n_numbers += 1
    first_bin = np.zeros(n_columns + 1, dtype=np.uint64)
    for one in range(n_numbers, n_columns):  # what is no label has a bin, too
        first_bin[one + 1] = first_bin[one] + np.uint64(n_labels[chosen[one]] + 1)
    of_labels = np.zeros((n_inner, first_bin[n_columns], width), dtype=np.int64)
    own, read = np.empty((2 * n_outputs, n_rows), dtype=np.int64), np.empty(n_rows, dtype=codes.dtype)
    right, whole = np.empty(width), np.empty(width)
    starts, stops = np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.int64)
    stops[0] = n_rows
    for node in range(len(column)):
        column[node] = -1
    if n_numbers < n_columns:
        _count(codes, chosen, n_numbers, first_bin, order, outputs, gradient, stiffness, of_labels[0])
    for node in range(len(column)):
        rows = order[starts[node] : stops[node]]
        size = len(rows)
        best, best_column, best_place = np.float32(LEAST_GAIN_OF_A_CUT), -1, 0
        if node < n_inner and size >= 2 * least_rows:
            for output in range(n_outputs):
                whole[output] = _taken(gradient[outputs[output]], rows, own[output])
                whole[n_outputs + output] = _taken(stiffness[outputs[output]], rows, own[n_outputs + output])
            whole[width - 1] = size
            for one in range(n_numbers):
                cut = _drawn_cut(codes[chosen[one]], rows, read, draws[node, one])
                right[width - 1] = _count_beyond(read, size, cut)
                if min(right[width - 1], size - right[width - 1]) >= least_rows:
                    for part in range(2 * n_outputs):
                        right[part] = _sum_beyond(read, size, cut, own[part])
                    gain = np.float32(_gain(right, whole, signs[chosen[one]], ridge))
                    if gain > best:
                        best, best_column, best_place = gain, one, cut
            for one in range(n_numbers, n_columns):
                for label in range(n_labels[chosen[one]]):
                    sums = of_labels[node, first_bin[one] + np.uint64(label)]
                    if min(sums[width - 1], size - sums[width - 1]) >= least_rows:
                        for part in range(width):
                            right[part] = sums[part]
                        gain = np.float32(_gain(right, whole, signs[chosen[one]], ridge))
                        if gain > best:
                            best, best_column, best_place = gain, one, label
        if best_column >= 0:
            column[node], place[node] = chosen[best_column], best_place
            n_left = parted(codes[chosen[best_column]], best_column >= n_numbers, best_place, rows, later)
            left, beyond = 2 * node + 1, 2 * node + 2
            starts[left], stops[left] = starts[node], starts[node] + n_left
            starts[beyond], stops[beyond] = stops[left], stops[node]
            if n_numbers < n_columns and left < n_inner:
                small, large = (left, beyond) if 2 * n_left <= size else (beyond, left)
                few = order[starts[small] : stops[small]]
                _count(codes, chosen, n_numbers, first_bin, few, outputs, gradient, stiffness, of_labels[small])
                for label in range(of_labels.shape[1]):
                    for part in range(width):
                        of_labels[large, label, part] = of_labels[node, label, part] - of_labels[small, label, part]
        elif size > 0:
            total = 0.0
            for row in rows:
                cells[row] = node
                total += weights[row]
            totals[node] = total
            for label in range(len(gradient)):
                pulls[label, node] = _sum_of(gradient[label], rows)
                stiffs[label, node] = _sum_of(stiffness[label], rows)


@called
def _count(
    codes: AnyArray,
    chosen: IntArray,
    n_numbers: int,
    first_bin: AnyArray,
    rows: AnyArray,
    outputs: IntArray,
    gradient: IntArray,
    stiffness: IntArray,
    of_labels: IntArray,
) -> None:
    """Add the derivatives of rows, and 1, to what is known of their labels (bins, width)."""
    n_outputs = len(outputs)
    values = np.ones(2 * n_outputs + 1, dtype=np.int64)
    for row in rows:
        for output in range(n_outputs):
            values[output] = gradient[outputs[output], row]
            values[n_outputs + output] = stiffness[outputs[output], row]
        for one in range(n_numbers, len(chosen)):
            into = of_labels[first_bin[one] + np.uint64(codes[chosen[one], row])]
            for part in range(len(values)):
                into[part] += values[part]


@called
def _taken(values: IntArray, rows: AnyArray, result: IntArray) -> int:
    """Put the values of rows side by side; their sum."""
    total = 0
    for row in range(len(rows)):
        result[row] = values[rows[row]]
        total += result[row]
    return total


@called
def _sum_of(values: IntArray, rows: AnyArray) -> int:
    total = 0
    for row in rows:
        total += values[row]
    return total


@called
def _drawn_cut(codes: AnyArray, rows: AnyArray, read: AnyArray, draw: float) -> np.int64:
    """Put the codes of rows side by side; a cut between the lowest and the highest."""
    for row in range(len(rows)):
        read[row] = codes[rows[row]]
    lowest, highest = read[0], read[0]
    for row in range(len(rows)):
        lowest, highest = min(lowest, read[row]), max(highest, read[row])
    low, high = np.int64(lowest), np.int64(highest)
    return low + np.int64(draw * (high - low))


@called
def _count_beyond(read: AnyArray, size: int, cut: int) -> int:
    count = 0
    for row in range(size):
        count += 1 if read[row] > cut else 0
    return count


@called
def _sum_beyond(read: AnyArray, size: int, cut: int, values: IntArray) -> int:
    total = 0
    for row in range(size):
        total += values[row] if read[row] > cut else 0
    return total


@called
def parted(codes: AnyArray, is_label: bool, asked: int, rows: AnyArray, later: AnyArray) -> int:
    """Put the rows that go left before those that go right, each in their order; how many go left."""
    n_left = n_right = 0
    for row in rows:
        code = np.int64(codes[row])
        is_right = code == asked if is_label else code > asked
        rows[n_left] = row  # which is read already
        later[n_right] = row
        n_left += 0 if is_right else 1
        n_right += 1 if is_right else 0
    for place in range(n_right):
        rows[n_left + place] = later[place]
    return n_left


@called
def _gain(right: FloatArray, whole: FloatArray, sign: int, ridge: float) -> float:
    """What the loss falls by if some rows of a node go right; minus infinity where they may not.

    Both are sums of the gradients, of the stiffnesses, and the number of rows.
    """
    n_outputs = len(whole) // 2
    gain, before = 0.0, 0.0
    for output in range(n_outputs):
        pull, stiff = right[output], right[n_outputs + output]
        other, other_stiff = whole[output] - pull, whole[n_outputs + output] - stiff
        step, other_step = pull / (stiff + ridge), other / (other_stiff + ridge)
        gain += pull * step + other * other_step
        before += whole[output] * whole[output] / (whole[n_outputs + output] + ridge)
        if sign * (step - other_step) < 0.0:
            gain = -np.inf
    return gain - before


@kernel
def add_steps(scores: FloatArray, steps: FloatArray, cells: AnyArray, shifted: FloatArray, highest: FloatArray) -> None:
    """Add what cells say to the scores of rows; see `naively._kernels.partition_reference.add_steps`."""
    n_groups, n_classes, n_rows = scores.shape
    for group in range(n_groups):
        for start in range(0, n_rows, BLOCK):
            block = slice(start, min(start + BLOCK, n_rows))
            cells_here, top = cells[group, block], highest[group, block]
            for label in range(n_classes):
                of_class, step = scores[group, label, block], steps[group, label]
                for row in range(len(of_class)):
                    of_class[row] += step[cells_here[row]]
                for row in range(len(of_class)):
                    top[row] = of_class[row] if label == 0 or of_class[row] > top[row] else top[row]
            for label in range(n_classes):
                of_class, result = scores[group, label, block], shifted[group, label, block]
                for row in range(len(of_class)):
                    result[row] = of_class[row] - top[row]


@kernel
def derivatives(
    exponentials: FloatArray,
    target: IntArray,
    units: FloatArray,
    totals: FloatArray,
    gradient: IntArray,
    stiffness: IntArray,
) -> None:
    """Derivatives of the log-loss; see `naively._kernels.partition_reference.derivatives`."""
    n_groups, n_classes, n_rows = exponentials.shape
    for group in range(n_groups):
        for start in range(0, n_rows, BLOCK):
            block = slice(start, min(start + BLOCK, n_rows))
            own, unit, total = target[block], units[group, block], totals[group, block]
            for label in range(n_classes):
                of_class = exponentials[group, label, block]
                for row in range(len(total)):
                    total[row] = of_class[row] if label == 0 else total[row] + of_class[row]
            inverse = 1.0 / total
            for label in range(n_classes):
                of_class = exponentials[group, label, block]
                first, second = gradient[group, label, block], stiffness[group, label, block]
                for row in range(len(own)):
                    proba = of_class[row] * inverse[row]
                    is_own = 1.0 if own[row] == label else 0.0
                    first[row] = np.int64(((is_own - proba) * unit[row] + TO_WHOLE) - TO_WHOLE)
                    second[row] = np.int64(((1.0 - proba) * proba * unit[row] + TO_WHOLE) - TO_WHOLE)
