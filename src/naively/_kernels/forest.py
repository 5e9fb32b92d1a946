"""Growing extremely random trees, compiled: one node after the other, each column read once for all rows of a node.

`naively._kernels.forest_reference` says what is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._kernels.compiling import called, kernel
from naively._kernels.forest_reference import FIRST_FACTOR, GOLDEN, SECOND_FACTOR, TO_SHARE
from naively._kernels.partitions import parted
from naively.typing import AnyArray, FloatArray, IntArray


@kernel
def grow_tree(
    codes: AnyArray,
    column_of: IntArray,
    label_of: IntArray,
    signs: IntArray,
    target: IntArray,
    units: IntArray,
    order: AnyArray,
    seed: int,
    n_tried: int,
    least_rows: int,
    least_units: int,
    feature: AnyArray,
    cut: IntArray,
    right: AnyArray,
    counts: IntArray,
) -> int:
    """Grow a tree on the rows of an order, by class, which changes; see `naively._kernels.forest_reference.grow`.

    Returns how many nodes there are. Rows of a class stay together in every node, so that the units of each class that
    go right are the sum over a part of the rows.
    """
    n_rows, n_features, n_classes = len(order), len(column_of), counts.shape[1]
    later = np.empty(n_rows, dtype=np.uint32)
    read, goes_right = np.empty(n_rows, dtype=codes.dtype), np.empty(n_rows, dtype=np.uint8)
    own, whole, to_right = np.empty(n_rows, dtype=np.int64), np.empty(n_classes), np.empty(n_classes)
    parts = np.empty(n_classes + 1, dtype=np.int64)
    free, constant_since = np.empty(n_features, dtype=np.int64), np.full(n_features, n_rows)
    starts, stops = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows + 1, dtype=np.int64)
    parents, keys = np.empty(n_rows + 1, dtype=np.int64), np.empty(n_rows + 1, dtype=np.uint64)
    depths = np.zeros(n_rows + 1, dtype=np.int64)
    starts[0], stops[0], parents[0], keys[0] = 0, n_rows, -1, _mixed(np.uint64(seed))
    n_waiting, n_nodes = 1, 0
    while n_waiting > 0:
        n_waiting -= 1
        node, key, depth, start, stop = n_nodes, keys[n_waiting], depths[n_waiting], starts[n_waiting], stops[n_waiting]
        rows = order[start:stop]
        n_nodes += 1
        if parents[n_waiting] >= 0:
            right[parents[n_waiting]] = node
        n_there = _by_class(rows, target, units, own, parts, whole, counts[node])
        feature[node], cut[node], right[node] = -1, 0, 0
        best, best_feature, best_cut = np.float32(-np.inf), -1, 0
        if n_there > 1 and stop - start >= 2 * least_rows and counts[node].sum() > least_units:
            n_free = 0
            for one in range(n_features):
                if constant_since[one] >= depth:  # that was in another branch
                    constant_since[one] = n_rows
                    free[n_free] = one
                    n_free += 1
            step, n_found = 0, 0
            while step < n_free and n_found < n_tried:
                draw = _mixed(key + np.uint64(step + 1) * np.uint64(GOLDEN))
                other = step + np.int64((draw >> np.uint64(11)) % np.uint64(n_free - step))
                chosen, free[other] = free[other], free[step]
                step += 1
                share = np.float64(_mixed(draw) >> np.uint64(11)) * TO_SHARE
                tried, n_right = _sent(codes[column_of[chosen]], rows, label_of[chosen], share, read, goes_right)
                if tried < 0:
                    constant_since[chosen] = depth
                    continue
                n_found += 1
                if min(n_right, stop - start - n_right) >= least_rows:
                    _add_right(own, goes_right, parts, n_there, to_right)
                    gain = np.float32(_gain(to_right, whole, n_there, signs[chosen]))
                    if gain > best:
                        best, best_feature, best_cut = gain, chosen, tried
        if best_feature >= 0:
            feature[node], cut[node] = best_feature, best_cut
            label = label_of[best_feature]
            asked = label if label >= 0 else best_cut
            n_left = parted(codes[column_of[best_feature]], label >= 0, asked, rows, later)
            parents[n_waiting], keys[n_waiting] = node, _mixed(key * np.uint64(2) + np.uint64(2))
            starts[n_waiting], stops[n_waiting], depths[n_waiting] = start + n_left, stop, depth + 1
            n_waiting += 1
            parents[n_waiting], keys[n_waiting] = -1, _mixed(key * np.uint64(2) + np.uint64(1))
            starts[n_waiting], stops[n_waiting], depths[n_waiting] = start, start + n_left, depth + 1
            n_waiting += 1
    return n_nodes


@called
def _mixed(bits: Any) -> Any:
    """A whole number of 64 bits mixed (SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
    return bits ^ (bits >> np.uint64(31))


@called
def _by_class(
    rows: AnyArray,
    target: IntArray,
    units: IntArray,
    own: IntArray,
    parts: IntArray,
    whole: FloatArray,
    counts: IntArray,
) -> int:
    """Put the units of rows side by side, and add them up for each class; how many classes weigh anything.

    Of these, in their order, `parts` tells where the rows of each start, and `whole` what they add up to.
    """
    counts[:] = 0
    n_there, last = 0, -1
    for place in range(len(rows)):
        row = rows[place]
        own[place] = units[row]
        label = target[row]
        if label != last:
            if n_there > 0 and counts[last] == 0:  # it weighs nothing
                n_there -= 1
            parts[n_there], last = place, label
            n_there += 1
        counts[label] += own[place]
    if n_there > 0 and counts[last] == 0:
        n_there -= 1
    parts[n_there] = len(rows)
    for one in range(n_there):
        whole[one] = counts[target[rows[parts[one]]]]
    return n_there


@called
def _sent(
    codes: AnyArray, rows: AnyArray, label: int, share: float, read: AnyArray, goes_right: AnyArray
) -> tuple[Any, int]:
    """Which rows a feature sends to the right: where it cuts, -1 if it is constant, and how many rows go right."""
    size, n_right = len(rows), 0
    for place in range(size):
        read[place] = codes[rows[place]]
    if label >= 0:
        for place in range(size):
            goes_right[place] = 1 if read[place] == label else 0
            n_right += goes_right[place]
        return (0 if 0 < n_right < size else -1), n_right
    lowest, highest = read[0], read[0]
    for place in range(size):
        lowest, highest = min(lowest, read[place]), max(highest, read[place])
    low, high = np.int64(lowest), np.int64(highest)
    cut = low + np.int64(share * (high - low))
    for place in range(size):
        goes_right[place] = 1 if read[place] > cut else 0
        n_right += goes_right[place]
    return (cut if low < high else -1), n_right


@called
def _add_right(own: IntArray, goes_right: AnyArray, parts: IntArray, n_there: int, to_right: FloatArray) -> None:
    """The units of each class that go right."""
    for one in range(n_there):
        total = 0
        for place in range(parts[one], parts[one + 1]):
            total += own[place] if goes_right[place] else 0
        to_right[one] = total


@called
def _gain(to_right: FloatArray, whole: FloatArray, n_there: int, sign: int) -> float:
    """What a cut leaves of purity; minus infinity where it turns a monotone feature round, or one side has no weight.

    A monotone feature is tried for two classes only, and where both are there.
    """
    of_right = of_left = 0.0
    for one in range(n_there):
        of_right += to_right[one]
        of_left += whole[one] - to_right[one]
    if of_right <= 0.0 or of_left <= 0.0:
        return -np.inf
    gain = 0.0
    for one in range(n_there):
        left = whole[one] - to_right[one]
        gain += left * left / of_left + to_right[one] * to_right[one] / of_right
    last = n_there - 1
    if sign * (to_right[last] / of_right - (whole[last] - to_right[last]) / of_left) < 0.0:
        return -np.inf
    return gain


@kernel
def ends(
    codes: AnyArray,
    column_of: IntArray,
    label_of: IntArray,
    feature: AnyArray,
    cut: IntArray,
    right: AnyArray,
    found: IntArray,
) -> None:
    """Find the leaf of a tree in which each row ends; see `naively._kernels.forest_reference.ends`."""
    for row in range(len(found)):
        node = 0
        while feature[node] >= 0:
            asked = feature[node]
            code = np.int64(codes[column_of[asked], row])
            goes_right = code == label_of[asked] if label_of[asked] >= 0 else code > cut[node]
            node = int(right[node]) if goes_right else node + 1
        found[row] = node
