"""Growing small partitions of rows, in plain NumPy.

All sums are of whole numbers below 2**53 and therefore exact, so that neither the order of the rows nor the way they
are added up shows in a partition: the compiled kernel cuts alike, to the last bit.
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray

LEAST_GAIN_OF_A_CUT = 1e2
"""What a cut must gain, in units of the gradients: less is rounding."""

MOST_OUTPUTS = 4
"""With more classes, a partition is cut for those whose residuals are largest; its steps are made for all."""

SHIFT = 32
"""Gradient and stiffness are kept, and added up, as one whole number: the gradient times 2 ** SHIFT, and the stiffness.
Of no sum may either reach 2 ** 31."""

LOW_BITS = (1 << SHIFT) - 1

LEAST_SCORE = np.float32(-17.0)
"""The exponential of what is less is none."""

HALVINGS = np.float32(1 / 16)
"""The series is that of the exponential of so small a part of a score, and is squared as many times as that halves it:
a few exact operations, the same in each kernel. It is off by 4e-6 of itself or by 4e-8."""

EXP_SERIES = tuple(np.float32(1 / factorial(power)) for power in range(6, -1, -1))


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
    """Cut rows into cells, for each group of partitions, which does not learn the rows that it holds out.

    Each node of a level is cut, at once, where the loss of its rows falls most by a Newton step. The nodes of a full
    tree are numbered level by level; those next to node i are 2 i + 1 and 2 i + 2. Of a number one cut is tried, drawn
    between the lowest and the highest of the node; of labels, each against all others.

    Parameters
    ----------
    codes : unsigned ndarray (columns, rows)
        Ranks of numbers, and labels; what is no label stands behind the last of them. Numbers come first.
    n_labels : ndarray (columns,)
        How many labels a column has, 0 for numbers.
    signs : ndarray (columns,)
        1 or -1 where the step of the one output must not fall or rise with the number, else 0.
    held_out_by : ndarray (rows,)
        The group that does not learn the row.
    groups : ndarray (groups,)
        The groups to grow for; what follows has a part for each of them.
    chosen : ndarray (groups, chosen)
        The columns that may be cut, in their order.
    outputs : ndarray (groups, outputs)
        The classes for which rows are cut, `MOST_OUTPUTS` at most.
    derivatives : int64 ndarray (groups, classes, rows)
        First and second derivatives of the loss, times weights, in whole units; see `SHIFT`.
    weights : ndarray (rows,)
    draws : ndarray (groups, nodes, chosen)
        Random numbers from 0 up to 1.
    ridge : float
        What is added to the stiffness of a cell.
    least_rows : int
        Of a cell.
    column, place : int64 ndarray (groups, nodes)
        Result: the column that each node asks for, or -1; and the highest rank that goes left, or the label that goes
        right.
    cells : uint8 ndarray (groups, rows)
        Result: the node in which each row ends, learnt or not.
    pulls, stiffs : int64 ndarray (groups, classes, nodes)
        Result: the sums of the derivatives of the learnt rows in each cell. Those of other nodes are left as they are.
    totals : ndarray (groups, nodes)
        Result: the same of the weights.
    """
    gradient, stiffness = derivatives >> SHIFT, derivatives & LOW_BITS
    of_group, rows = np.nonzero(held_out_by != groups[:, None])  # side by side, all groups at once
    learnt = _Learnt(
        codes[chosen[of_group].T, rows].astype(np.int32),
        of_group,
        n_labels[chosen],
        signs[chosen],
        *(part[of_group, outputs[of_group].T, rows].astype(np.float64) for part in (gradient, stiffness)),
    )
    asked, place[:], ends = _cut(learnt, draws, ridge, least_rows)
    column[:] = np.where(asked >= 0, np.take_along_axis(chosen, np.maximum(asked, 0), axis=1), -1)
    cells[of_group, rows] = ends
    _, n_classes, n_nodes = pulls.shape
    there, of_cell = np.unique(of_group * n_nodes + ends, return_inverse=True)
    totals.reshape(-1)[there] = np.bincount(of_cell, weights[rows], len(there))
    for sums, values in ((pulls, gradient), (stiffs, stiffness)):
        for label in range(n_classes):
            of_cells = np.bincount(of_cell, values[of_group, label, rows], len(there))
            sums[there // n_nodes, label, there % n_nodes] = of_cells
    for at, group in enumerate(groups.tolist()):
        held_out = np.flatnonzero(held_out_by == group)
        cells[at, held_out] = _ends(codes[:, held_out], n_labels, column[at], place[at])


class _Learnt(NamedTuple):
    """The rows that all groups learn, side by side.

    Parameters
    ----------
    table : ndarray (chosen, rows)
        Their codes in the columns that their group has chosen; the rows of a column side by side, as they are added up.
    of_group : ndarray (rows,)
    n_labels, signs : ndarray (groups, chosen)
    gradient, stiffness : ndarray (outputs, rows)
    """

    table: IntArray
    of_group: IntArray
    n_labels: IntArray
    signs: IntArray
    gradient: FloatArray
    stiffness: FloatArray


def _cut(learnt: _Learnt, draws: FloatArray, ridge: float, least_rows: int) -> tuple[IntArray, IntArray, IntArray]:
    """Which of the chosen columns, and where, each node asks (groups, nodes); and the node in which each row ends."""
    n_groups, n_nodes, n_chosen = draws.shape
    is_number = learnt.n_labels == 0
    first_bin = np.cumsum(learnt.n_labels, axis=1) - learnt.n_labels
    # What a node may ask: each number, then each label; to which column that belongs, or -1 where a group lacks it.
    n_bins = int(learnt.n_labels.sum(axis=1).max())
    column_of = np.full((n_groups, n_chosen + n_bins), -1)
    column_of[:, :n_chosen] = np.where(is_number, np.arange(n_chosen), -1)
    for group, counts in enumerate(learnt.n_labels):
        column_of[group, n_chosen : n_chosen + counts.sum()] = np.repeat(np.arange(n_chosen), counts)
    column, place = np.full((n_groups, n_nodes), -1), np.zeros((n_groups, n_nodes), dtype=np.int64)
    cells, rows, first = np.zeros(len(learnt.of_group), dtype=np.int64), np.arange(len(learnt.of_group)), 0
    while 2 * first + 1 < n_nodes and len(rows):
        order = rows[np.argsort(learnt.of_group[rows] * n_nodes + cells[rows], kind="stable")]
        keys, starts = np.unique(learnt.of_group[order] * n_nodes + cells[order], return_index=True)
        group, node = keys // n_nodes, keys % n_nodes
        sizes = np.diff(np.append(starts, len(order)))
        table, at = learnt.table[:, order], np.repeat(np.arange(len(keys)), sizes)
        lowest, highest = (extreme.reduceat(table, starts, axis=1).T for extreme in (np.minimum, np.maximum))
        cuts = lowest + (draws[group, node] * (highest - lowest)).astype(np.int64)
        left = table <= cuts.T.astype(np.int32)[:, at]
        of_column, of_row = np.nonzero((table < learnt.n_labels[group].T[:, at]) if n_bins else left[:, :0])
        into = at[of_row] * n_bins + first_bin[group[at[of_row]], of_column] + table[of_column, of_row]

        def inside(values: FloatArray) -> FloatArray:
            of_numbers = np.add.reduceat(left * values, starts, axis=1).T  # noqa: B023
            of_labels = np.bincount(into, values[of_row], len(keys) * n_bins).reshape(len(keys), n_bins)  # noqa: B023
            return np.concatenate([of_numbers, of_labels], axis=1)

        rows_inside, asked_of = inside(np.ones(len(order))), column_of[group]
        allowed = (np.minimum(rows_inside, sizes[:, None] - rows_inside) >= least_rows) & (asked_of >= 0)
        sign = np.take_along_axis(learnt.signs[group], np.maximum(asked_of, 0), axis=1)
        gain, whole = np.zeros(rows_inside.shape), np.zeros(len(keys))
        for pulls, stiffs in zip(learnt.gradient[:, order], learnt.stiffness[:, order], strict=True):
            pull, stiff = inside(pulls), inside(stiffs)
            total, total_stiff = np.add.reduceat(pulls, starts), np.add.reduceat(stiffs, starts)
            whole += total * total / (total_stiff + ridge)
            other, other_stiff = total[:, None] - pull, total_stiff[:, None] - stiff
            step, other_step = pull / (stiff + ridge), other / (other_stiff + ridge)
            gain += pull * step + other * other_step
            allowed &= sign * (other_step - step) >= 0.0
        gain = np.where(allowed, gain - whole[:, None], -np.inf).astype(np.float32)
        best, each = gain.argmax(axis=1), np.arange(len(keys))
        is_cut = gain[each, best] > np.float32(LEAST_GAIN_OF_A_CUT)
        one, number = np.maximum(asked_of[each, best], 0), best < n_chosen
        column[group, node] = np.where(is_cut, one, -1)
        place[group, node] = np.where(number, cuts[each, one], best - n_chosen - first_bin[group, one])
        here = is_cut[at]
        rows, asked = order[here], at[here]
        answers, wanted = table[one[asked], np.flatnonzero(here)], place[group, node][asked]
        is_right = np.where(number[asked], answers > wanted, answers == wanted)
        cells[rows] = 2 * node[asked] + 1 + is_right
        first = 2 * first + 1
    return column, place, cells


def _ends(codes: AnyArray, n_labels: IntArray, column: IntArray, place: IntArray) -> IntArray:
    """The node of a partition in which each row ends."""
    cells = np.zeros(codes.shape[1], dtype=np.int64)
    goes_on = np.arange(len(cells))
    while len(goes_on := goes_on[column[cells[goes_on]] >= 0]):
        nodes = cells[goes_on]
        answers, wanted = codes[column[nodes], goes_on].astype(np.int64), place[nodes]
        is_right = np.where(n_labels[column[nodes]] == 0, answers > wanted, answers == wanted)
        cells[goes_on] = 2 * nodes + 1 + is_right
    return cells


def units_of_one(n_classes: int) -> np.float32:
    """The number of units in the exponential of 0: exponentials are rounded, so that classes add up in any order.

    Those of all classes together stay below 2 ** 31.
    """
    return np.float32(2.0 ** min(22, 30 - (n_classes - 1).bit_length()))


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
    """Add what cells say to the scores of the rows in them, and derive the log-loss by the scores, in each group.

    Parameters
    ----------
    scores : float32 ndarray (groups, classes, rows)
        Changed.
    steps : float32 ndarray (groups, classes, cells)
    cells : ndarray (groups, rows)
    target : ndarray (rows,)
    units : float32 ndarray (groups, rows)
        What the rows weigh, in the units that are counted: 0 for those that the group does not learn.
    of_one : float32
        See `units_of_one`.
    highest : float32 ndarray (groups, rows)
        Result: the highest score of each row.
    totals : int32 ndarray (groups, rows)
        Result: the sum of the exponentials of the scores less the highest, in units; see `units_of_one`.
    derivatives : int64 ndarray (groups, classes, rows)
        Result: the first derivatives, with the sign turned, and the second ones, in whole units; see `SHIFT`.
    pulls : int64 ndarray (groups, classes)
        Result: the sums of the first ones without their signs.
    """
    scores += np.take_along_axis(steps, cells[:, None].astype(np.int64), axis=2)
    np.max(scores, axis=1, out=highest)
    small = np.maximum(scores - highest[:, None], LEAST_SCORE) * HALVINGS
    series = np.full_like(small, EXP_SERIES[0])
    for factor in EXP_SERIES[1:]:
        series = series * small + factor
    for _ in range(4):
        series *= series
    shares = np.rint(series * of_one).astype(np.int32)
    np.sum(shares, axis=1, out=totals)
    inverse = (np.float32(1.0) / totals.astype(np.float32))[:, None]
    proba, rest = shares.astype(np.float32) * inverse, (totals[:, None] - shares).astype(np.float32) * inverse
    is_own = np.arange(scores.shape[1])[:, None] == target
    gradient = np.rint(np.where(is_own, rest, -proba) * units[:, None]).astype(np.int64)
    stiffness = np.rint(proba * rest * units[:, None]).astype(np.int64)
    np.add(gradient << SHIFT, stiffness, out=derivatives)
    np.sum(np.abs(gradient), axis=2, out=pulls)
