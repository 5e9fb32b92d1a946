"""Growing small partitions of rows, compiled: each node is cut where its residuals differ most.

`naively._kernels.partition_reference` says what is computed.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import called, kernel
from naively._kernels.partition_reference import (
    EXP_SERIES,
    HALVINGS,
    LEAST_GAIN_OF_A_CUT,
    LEAST_SCORE,
    LOW_BITS,
    SHIFT,
)
from naively.typing import AnyArray, FloatArray, IntArray

NARROW, WIDE = 2, 5
"""Sums that are counted for a label; see `_width`."""

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
    derivatives: IntArray,
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
            derivatives[group],
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
    derivatives: IntArray,
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
    n_numbers = 0
    while n_numbers < n_columns and n_labels[chosen[n_numbers]] == 0:
        n_numbers += 1
    first_bin = np.zeros(n_columns + 1, dtype=np.uint64)
    for one in range(n_numbers, n_columns):  # what is no label has a bin, too
        first_bin[one + 1] = first_bin[one] + np.uint64(n_labels[chosen[one]] + 1)
    of_labels = np.zeros((n_inner, first_bin[n_columns], _width(n_outputs)), dtype=np.int64)
    own, read = np.empty((n_outputs, n_rows), dtype=np.int64), np.empty(n_rows, dtype=codes.dtype)
    right, whole = np.empty((2, n_outputs)), np.empty((2, n_outputs))
    starts, stops = np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.int64)
    stops[0] = n_rows
    for node in range(len(column)):
        column[node] = -1
    if n_numbers < n_columns:
        _count(codes, chosen, n_numbers, first_bin, order, outputs, derivatives, of_labels[0])
    for node in range(len(column)):
        rows = order[starts[node] : stops[node]]
        size = len(rows)
        best, best_column, best_place = np.float32(LEAST_GAIN_OF_A_CUT), -1, 0
        if node < n_inner and size >= 2 * least_rows:
            for output in range(n_outputs):
                _unpack(_taken(derivatives[outputs[output]], rows, own[output]), whole, output)
            for one in range(n_numbers):
                cut = _drawn_cut(codes[chosen[one]], rows, read, draws[node, one])
                count = _count_beyond(read, size, cut)
                if min(count, size - count) >= least_rows:
                    for output in range(n_outputs):
                        _unpack(_sum_beyond(read, size, cut, own[output]), right, output)
                    gain = np.float32(_gain(right, whole, signs[chosen[one]], ridge))
                    if gain > best:
                        best, best_column, best_place = gain, one, cut
            for one in range(n_numbers, n_columns):
                for label in range(n_labels[chosen[one]]):
                    sums = of_labels[node, first_bin[one] + np.uint64(label)]
                    if min(sums[0], size - sums[0]) >= least_rows:
                        for output in range(n_outputs):
                            _unpack(sums[1 + output], right, output)
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
                _count(codes, chosen, n_numbers, first_bin, few, outputs, derivatives, of_labels[small])
                for label in range(of_labels.shape[1]):
                    for part in range(of_labels.shape[2]):
                        of_labels[large, label, part] = of_labels[node, label, part] - of_labels[small, label, part]
        elif size > 0:
            total = 0.0
            for row in rows:
                cells[row] = node
                total += weights[row]
            totals[node] = total
            for label in range(len(derivatives)):
                packed = _sum_of(derivatives[label], rows)
                pulls[label, node], stiffs[label, node] = packed >> SHIFT, packed & LOW_BITS


@called
def _count(
    codes: AnyArray,
    chosen: IntArray,
    n_numbers: int,
    first_bin: AnyArray,
    rows: AnyArray,
    outputs: IntArray,
    derivatives: IntArray,
    of_labels: IntArray,
) -> None:
    """Add 1, and the derivatives of rows, to what is known of their labels (bins, width).

    What is added to a bin is written out, so that it is done by one or two instructions: `_width` bounds it.
    """
    first, second, third, fourth = _padded(outputs, derivatives)
    for one in range(n_numbers, len(chosen)):
        labels, start = codes[chosen[one]], first_bin[one]
        if of_labels.shape[1] == NARROW:
            for row in rows:
                into = of_labels[start + np.uint64(labels[row])]
                into[0] += 1
                into[1] += first[row]
        else:
            for row in rows:
                into = of_labels[start + np.uint64(labels[row])]
                into[0] += 1
                into[1] += first[row]
                into[2] += second[row]
                into[3] += third[row]
                into[4] += fourth[row]


@called
def _width(n_outputs: int) -> int:
    """How many sums are counted for a label: the rows, and the derivatives of one output, or of up to four."""
    return NARROW if n_outputs == 1 else WIDE


@called
def _padded(outputs: IntArray, derivatives: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The derivatives of four outputs: where there are fewer, the first one stands for what nobody reads."""
    last = len(outputs) - 1
    return (
        derivatives[outputs[0]],
        derivatives[outputs[1 if last >= 1 else 0]],
        derivatives[outputs[2 if last >= 2 else 0]],
        derivatives[outputs[3 if last >= 3 else 0]],
    )


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
def _unpack(packed: int, sums: FloatArray, output: int) -> None:
    """What derivatives of an output add up to: the gradient, and the stiffness."""
    sums[0, output], sums[1, output] = packed >> SHIFT, packed & LOW_BITS


@called
def _gain(right: FloatArray, whole: FloatArray, sign: int, ridge: float) -> float:
    """What the loss falls by if some rows of a node go right; minus infinity where they may not.

    Both are sums of the gradients, and of the stiffnesses.
    """
    gain, before = 0.0, 0.0
    for output in range(whole.shape[1]):
        pull, stiff = right[0, output], right[1, output]
        other, other_stiff = whole[0, output] - pull, whole[1, output] - stiff
        step, other_step = pull / (stiff + ridge), other / (other_stiff + ridge)
        gain += pull * step + other * other_step
        before += whole[0, output] * whole[0, output] / (whole[1, output] + ridge)
        if sign * (step - other_step) < 0.0:
            gain = -np.inf
    return gain - before


@kernel
def add_steps(
    scores: AnyArray,
    steps: AnyArray,
    cells: AnyArray,
    target: IntArray,
    units: AnyArray,
    of_one: np.float32,
    highest: AnyArray,
    totals: AnyArray,
    derivatives: IntArray,
    pulls: IntArray,
) -> None:
    """Add what cells say to scores, and derive the loss; see `naively._kernels.partition_reference.add_steps`."""
    n_groups, n_classes, n_rows = scores.shape
    shares = np.empty((n_classes, BLOCK), dtype=np.int32)
    for group in range(n_groups):
        for label in range(n_classes):
            pulls[group, label] = 0
        for start in range(0, n_rows, BLOCK):
            block = slice(start, min(start + BLOCK, n_rows))
            cells_here, top, total = cells[group, block], highest[group, block], totals[group, block]
            for label in range(n_classes):
                _add(scores[group, label, block], steps[group, label], cells_here, top, label == 0)
            for label in range(n_classes):
                _share(scores[group, label, block], top, of_one, shares[label], total, label == 0)
            own, unit = target[block], units[group, block]
            inverse = np.float32(1.0) / total.astype(np.float32)
            for label in range(n_classes):
                result = derivatives[group, label, block]
                pulls[group, label] += _derive(shares[label], total, inverse, own, label, unit, result)


@called
def _add(scores: AnyArray, steps: AnyArray, cells: AnyArray, top: AnyArray, is_first: bool) -> None:
    """Add the steps of a class to its scores, the highest of which are kept."""
    for row in range(len(scores)):
        scores[row] += steps[cells[row]]
    for row in range(len(scores)):
        top[row] = scores[row] if is_first or scores[row] > top[row] else top[row]


@called
def _share(
    scores: AnyArray, top: AnyArray, of_one: np.float32, shares: AnyArray, total: AnyArray, is_first: bool
) -> None:
    """The exponentials of the scores of a class, in whole units, and their total over the classes so far."""
    for row in range(len(scores)):
        small = max(scores[row] - top[row], LEAST_SCORE) * HALVINGS
        series = EXP_SERIES[0]
        for factor in EXP_SERIES[1:]:
            series = series * small + factor
        series *= series
        series *= series
        series *= series
        series *= series
        shares[row] = np.int32(np.rint(series * of_one))
    for row in range(len(scores)):
        total[row] = shares[row] if is_first else np.int32(total[row] + shares[row])


@called
def _derive(
    shares: AnyArray,
    total: AnyArray,
    inverse: AnyArray,
    own: IntArray,
    label: int,
    unit: AnyArray,
    result: IntArray,
) -> int:
    """The derivatives of the loss by the scores of a class; what its gradients are, added up without signs."""
    pulls = 0
    for row in range(len(result)):
        proba = np.float32(shares[row]) * inverse[row]
        rest = np.float32(np.int32(total[row] - shares[row])) * inverse[row]
        pull = np.int32(np.rint((rest if own[row] == label else -proba) * unit[row]))
        stiff = np.int32(np.rint(proba * rest * unit[row]))
        result[row] = (np.int64(pull) << SHIFT) + np.int64(stiff)
        pulls += int(abs(pull))
    return pulls
