"""Growing extremely random trees, in plain NumPy: all trees at once, level by level.

What a node tries depends on its place in the tree alone, and sums are of whole numbers: the compiled kernel grows one
tree after the other, and they are equal to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray

GOLDEN = 0x9E3779B97F4A7C15
FIRST_FACTOR, SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
TO_SHARE = 2.0**-53
"""What makes a share from 0 up to 1 of a whole number of 53 bits."""


class Grown(NamedTuple):
    """A tree, its nodes numbered so that what lies to the left of one comes right behind it, before all to its right.

    Parameters
    ----------
    feature : int32 ndarray (nodes,)
        What a node asks for, -1 at a leaf.
    cut : int64 ndarray (nodes,)
        The highest rank that goes left.
    right : int32 ndarray (nodes,)
        The node to the right, 0 at a leaf.
    counts : int64 ndarray (nodes, classes)
        The units of the rows of each class.
    """

    feature: AnyArray
    cut: IntArray
    right: AnyArray
    counts: IntArray


def mixed(bits: AnyArray) -> AnyArray:
    """Whole numbers of 64 bits mixed (SplitMix64)."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(FIRST_FACTOR)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(SECOND_FACTOR)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def grow(
    codes: AnyArray,
    column_of: IntArray,
    label_of: IntArray,
    signs: IntArray,
    target: IntArray,
    units: IntArray,
    learnt: IntArray,
    seeds: AnyArray,
    n_classes: int,
    n_tried: int,
    least_rows: int,
    least_units: int,
) -> list[Grown]:
    """Grow trees until the rows of each leaf are of one class, or alike, or few.

    A node tries features at random until so many were not constant in it: a cut of a number anywhere between its
    lowest and highest rank, or one label against all others. It takes the one that leaves the least Gini impurity. A
    feature that was seen to be constant is not tried below.

    Parameters
    ----------
    codes : unsigned ndarray (columns, rows)
        Ranks of numbers, and labels.
    column_of, label_of : ndarray (features,)
        The column that a feature reads, and the label that it tells from the others, -1 for a number.
    signs : ndarray (features,)
        1 or -1 where the share of the second of two classes must not fall or rise with a feature, else 0.
    target, units : ndarray (rows,)
        The class of each row, and its weight in whole units.
    learnt : ndarray (learnt rows,)
        The rows to grow on.
    seeds : uint64 ndarray (trees,)
    n_classes, n_tried : int
    least_rows : int
        Of a leaf.
    least_units : int
        A node that weighs no more is not cut.
    """
    n_trees, n_features = len(seeds), len(column_of)
    rows, node_of = np.tile(learnt, n_trees), np.repeat(np.arange(n_trees), len(learnt))
    keys, levels, known = mixed(seeds), list[_Level](), np.zeros((n_trees, n_features), dtype=bool)
    flat = codes.ravel()
    while len(keys):
        sizes = np.bincount(node_of, minlength=len(keys))
        counts = _by_class(node_of * n_classes + target[rows], units[rows], len(keys), n_classes)
        asks = (sizes >= 2 * least_rows) & (np.count_nonzero(counts, axis=1) > 1) & (counts.sum(axis=1) > least_units)
        feature, cut = np.full(len(keys), -1), np.zeros(len(keys), dtype=np.int64)
        best = np.full(len(keys), -np.inf)
        order, n_free = np.argsort(known, axis=1, kind="stable"), n_features - known.sum(axis=1)
        n_found, going, nodes = np.zeros(len(keys), dtype=np.int64), asks & (n_free > 0), None
        for step in range(n_features):
            if nodes is None or going[nodes.which].sum() < len(nodes.which):
                nodes = _Nodes.of(going, rows, node_of, target, units, counts)
            which = nodes.which
            if not len(which):
                break
            with np.errstate(over="ignore"):
                draw = mixed(keys[which] + np.uint64((step + 1) * GOLDEN & (2**64 - 1)))
            other = step + ((draw >> np.uint64(11)) % (n_free[which] - step).astype(np.uint64)).astype(np.int64)
            chosen = order[which, other]
            order[which, other], order[which, step] = order[which, step], chosen
            share = (mixed(draw) >> np.uint64(11)).astype(np.float64) * TO_SHARE
            codes_of_rows = flat[(column_of[chosen] * codes.shape[1])[nodes.at] + nodes.rows]
            cuts, is_constant, gain = nodes.tried(codes_of_rows, label_of[chosen], signs[chosen], share, least_rows)
            better = gain > best[which]
            best[which[better]], feature[which[better]], cut[which[better]] = gain[better], chosen[better], cuts[better]
            known[which[is_constant], chosen[is_constant]] = True
            n_found[which] += ~is_constant
            going[which] = (n_found[which] < n_tried) & (step + 1 < n_free[which])
        levels.append(_Level(feature, cut, counts))
        cutting = np.flatnonzero(feature >= 0)
        number = np.full(len(keys), -1)
        number[cutting] = np.arange(len(cutting))
        stay = feature[node_of] >= 0
        rows, node_of = rows[stay], node_of[stay]
        code = codes[column_of[feature[node_of]], rows].astype(np.int64)
        label = label_of[feature[node_of]]
        below = 2 * number[node_of] + np.where(label < 0, code > cut[node_of], code == label)
        along = np.argsort(below, kind="stable")
        rows, node_of, known = rows[along], below[along], np.repeat(known[cutting], 2, axis=0)
        with np.errstate(over="ignore"):
            keys = mixed((keys[cutting, None] * np.uint64(2) + np.array([1, 2], dtype=np.uint64)).ravel())
    return _numbered(levels, n_trees)


class _Level(NamedTuple):
    """The nodes of all trees at one depth."""

    feature: IntArray
    cut: IntArray
    counts: IntArray


def _by_class(place: IntArray, units: IntArray, n_nodes: int, n_classes: int) -> IntArray:
    """The units of rows, whose node and class are numbered together, of each node and class (nodes, classes)."""
    return np.bincount(place, units, n_nodes * n_classes).reshape(n_nodes, n_classes).astype(np.int64)


class _Nodes(NamedTuple):
    """Nodes that try features: which they are, their rows side by side, and in which of the nodes each row is."""

    which: IntArray
    rows: IntArray
    at: IntArray
    sizes: IntArray
    starts: IntArray
    place: IntArray
    units: IntArray
    counts: IntArray

    @classmethod
    def of(
        cls, going: AnyArray, rows: IntArray, node_of: IntArray, target: IntArray, units: IntArray, counts: IntArray
    ) -> _Nodes:
        """The nodes that go on."""
        which, here = np.flatnonzero(going), going[node_of]
        rows, at = rows[here], (np.cumsum(going) - 1)[node_of[here]]
        sizes = np.bincount(at, minlength=len(which))
        place = at * counts.shape[1] + target[rows]
        return cls(which, rows, at, sizes, np.cumsum(sizes) - sizes, place, units[rows], counts[which])

    def tried(
        self, codes: AnyArray, label: IntArray, sign: IntArray, share: FloatArray, least_rows: int
    ) -> tuple[IntArray, AnyArray, FloatArray]:
        """Try a feature in each node: where it cuts, whether it is constant, and what it gains."""
        lowest, highest = (part.reduceat(codes, self.starts).astype(np.int64) for part in (np.minimum, np.maximum))
        is_number = label < 0
        cuts = np.where(is_number, lowest + (share * (highest - lowest)).astype(np.int64), 0)
        goes_right = codes > cuts[self.at]
        if not is_number.all():
            goes_right = np.where(is_number[self.at], goes_right, codes == label[self.at])
        n_right = np.add.reduceat(goes_right, self.starts, dtype=np.int64)
        is_constant = np.where(is_number, lowest == highest, (n_right == 0) | (n_right == self.sizes))
        right = _by_class(self.place[goes_right], self.units[goes_right], *self.counts.shape)
        left = self.counts - right
        of_right, of_left = right.sum(axis=1), left.sum(axis=1)
        gain = np.zeros(len(label))
        with np.errstate(divide="ignore", invalid="ignore"):
            for ours, theirs in zip(left.T.astype(np.float64), right.T.astype(np.float64), strict=True):
                gain += ours * ours / of_left + theirs * theirs / of_right
            turned = sign * (right[:, -1] / of_right - left[:, -1] / of_left) < 0.0
        bad = is_constant | turned | (np.minimum(n_right, self.sizes - n_right) < least_rows)
        gain = np.where(bad | ~np.isfinite(gain), -np.inf, gain)
        return cuts, is_constant, gain.astype(np.float32)  # classes may come in any order: near ties are ties


def _numbered(levels: list[_Level], n_trees: int) -> list[Grown]:
    """The nodes of all levels, tree by tree, each before what lies to its left, which comes before all to its right."""
    sizes = [np.ones(len(level.feature), dtype=np.int64) for level in levels]
    for above, below, level in zip(sizes[-2::-1], sizes[:0:-1], levels[-2::-1], strict=True):
        above[level.feature >= 0] += below.reshape(-1, 2).sum(axis=1)
    place = np.cumsum(sizes[0]) - sizes[0]
    ends, n_nodes = np.cumsum(sizes[0]), int(sizes[0].sum())
    feature, cut, right = (
        np.full(n_nodes, -1, dtype=np.int32),
        np.zeros(n_nodes, dtype=np.int64),
        np.zeros(n_nodes, int),
    )
    counts = np.zeros((n_nodes, levels[0].counts.shape[1]), dtype=np.int64)
    tree_of = np.repeat(np.arange(n_trees), sizes[0])
    for depth, level in enumerate(levels):
        feature[place], cut[place], counts[place] = level.feature, level.cut, level.counts
        asks = level.feature >= 0
        if not asks.any():
            break
        to_left = place[asks] + 1
        to_right = to_left + sizes[depth + 1][::2]
        right[place[asks]] = to_right
        place = np.stack([to_left, to_right], axis=1).ravel()
    right = np.where(feature >= 0, right - (ends - sizes[0])[tree_of], 0).astype(np.int32)
    parts = [slice(stop - size, stop) for size, stop in zip(sizes[0], ends, strict=True)]
    return [Grown(feature[part], cut[part], right[part], counts[part]) for part in parts]


def ends(
    codes: AnyArray, column_of: IntArray, label_of: IntArray, feature: AnyArray, cut: IntArray, right: AnyArray
) -> IntArray:
    """The leaf of a tree in which each row ends (rows,)."""
    node = np.zeros(codes.shape[1], dtype=np.int64)
    going = np.flatnonzero(feature[node] >= 0)
    while len(going):
        asked = feature[node[going]]
        code, label = codes[column_of[asked], going].astype(np.int64), label_of[asked]
        goes_right = np.where(label < 0, code > cut[node[going]], code == label)
        node[going] = np.where(goes_right, right[node[going]], node[going] + 1)
        going = going[feature[node[going]] >= 0]
    return node
