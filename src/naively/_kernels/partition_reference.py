"""Growing small partitions of rows, in plain NumPy.

All sums are of whole numbers below 2**53 and therefore exact, so that neither the order of the rows nor the way they
are added up shows in a partition: the compiled kernel cuts alike, to the last bit.
"""

from __future__ import annotations

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray

LEAST_GAIN_OF_A_CUT = 1e2
"""What a cut must gain, in units of the gradients: less is rounding."""

TO_WHOLE = 1.5 * 2.0**52
"""A number below 2 ** 51 to which this is added, and then taken away again, is the nearest whole one."""


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
        The classes for which rows are cut.
    gradient, stiffness : int64 ndarray (groups, classes, rows)
        First and second derivatives of the loss, times weights, in whole units.
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
    for at, group in enumerate(groups.tolist()):
        learnt = np.flatnonzero(held_out_by != group)
        own, ends = chosen[at], np.zeros(len(learnt), dtype=np.int64)
        pull, stiff = (part[at][:, learnt].astype(np.float64) for part in (gradient, stiffness))
        rows = codes[own][:, learnt], n_labels[own], signs[own], pull[outputs[at]], stiff[outputs[at]]
        of_group, place[at] = _cut(*rows, draws[at], ridge, least_rows, ends)
        column[at] = np.where(of_group >= 0, own[of_group], -1)
        cells[at, learnt] = ends
        held_out = np.flatnonzero(held_out_by == group)
        cells[at, held_out] = _ends(codes[:, held_out], n_labels, column[at], place[at])
        there, of_row = np.unique(ends, return_inverse=True)
        totals[at, there] = np.bincount(of_row, weights[learnt], len(there))
        for sums, values in ((pulls, pull), (stiffs, stiff)):
            for label, of_class in enumerate(values):
                sums[at, label, there] = np.bincount(of_row, of_class, len(there))


def _cut(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    gradient: FloatArray,
    stiffness: FloatArray,
    draws: FloatArray,
    ridge: float,
    least_rows: int,
    cells: IntArray,
) -> tuple[IntArray, IntArray]:
    """Which column, and where, each node asks; the node in which each row ends is put into `cells`, all 0 at first."""
    bins = np.maximum(n_labels, 1)
    first_bin = np.concatenate([[0], np.cumsum(bins)])
    of_bin = np.repeat(np.arange(len(bins)), bins)
    is_number = n_labels == 0
    column, place = np.full(len(draws), -1, dtype=np.int64), np.zeros(len(draws), dtype=np.int64)
    first = 0
    while 2 * first + 1 < len(column):
        rows = np.flatnonzero(cells >= first)
        if not len(rows):
            break
        order = rows[np.argsort(cells[rows], kind="stable")]
        nodes, starts = np.unique(cells[order], return_index=True)
        sizes = np.diff(np.append(starts, len(order)))
        table, at = codes[:, order].T.astype(np.int64), np.repeat(np.arange(len(nodes)), sizes)
        lowest, highest = (extreme.reduceat(table, starts, axis=0) for extreme in (np.minimum, np.maximum))
        cuts = lowest + (draws[nodes] * (highest - lowest)).astype(np.int64)
        counted = np.where(is_number, table <= cuts[at], table < bins)
        into = np.where(is_number, 0, table) + first_bin[:-1] + at[:, None] * first_bin[-1]
        into, taken = into[counted], order[np.nonzero(counted)[0]]
        shape = (len(nodes), int(first_bin[-1]))
        rows_inside = _sums(np.ones(len(taken)), into, shape)
        allowed = np.minimum(rows_inside, sizes[:, None] - rows_inside) >= least_rows
        gain, whole = np.zeros(rows_inside.shape), np.zeros(len(nodes))
        for pulls, stiffs in zip(gradient, stiffness, strict=True):
            pull, stiff = (_sums(values[taken], into, shape) for values in (pulls, stiffs))
            total, total_stiff = (
                np.add.reduceat(values[order].astype(np.float64), starts) for values in (pulls, stiffs)
            )
            whole += total * total / (total_stiff + ridge)
            other, other_stiff = total[:, None] - pull, total_stiff[:, None] - stiff
            step, other_step = pull / (stiff + ridge), other / (other_stiff + ridge)
            gain += pull * step + other * other_step
            allowed &= signs[of_bin] * (other_step - step) >= 0.0
        gain = np.where(allowed, gain - whole[:, None], -np.inf).astype(np.float32)
        best = gain.argmax(axis=1)
        is_cut = gain[np.arange(len(nodes)), best] > np.float32(LEAST_GAIN_OF_A_CUT)
        if not is_cut.any():
            break
        one = of_bin[best]
        column[nodes] = np.where(is_cut, one, -1)
        place[nodes] = np.where(is_number[one], cuts[np.arange(len(nodes)), one], best - first_bin[one])
        asked, answers = at[is_cut[at]], table[is_cut[at], one[at[is_cut[at]]]]
        wanted, numbers = place[nodes][asked], is_number[one][asked]
        is_right = np.where(numbers, answers > wanted, answers == wanted)
        cells[order[is_cut[at]]] = 2 * nodes[asked] + 1 + is_right
        first = 2 * first + 1
    return column, place


def _sums(values: FloatArray, into: IntArray, shape: tuple[int, int]) -> FloatArray:
    """The sums of values (nodes, bins)."""
    return np.bincount(into, values, shape[0] * shape[1]).astype(np.float64).reshape(shape)


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


def add_steps(scores: FloatArray, steps: FloatArray, cells: AnyArray, shifted: FloatArray, highest: FloatArray) -> None:
    """Add what cells say to the scores of the rows in them, in each group.

    Parameters
    ----------
    scores : ndarray (groups, classes, rows)
        Changed.
    steps : ndarray (groups, classes, cells)
    cells : ndarray (groups, rows)
    shifted : ndarray (groups, classes, rows)
        Result: the scores less the highest of each row.
    highest : ndarray (groups, rows)
        Result: the highest score of each row.
    """
    scores += np.take_along_axis(steps, cells[:, None].astype(np.int64), axis=2)
    np.max(scores, axis=1, out=highest)
    np.subtract(scores, highest[:, None], out=shifted)


def derivatives(
    exponentials: FloatArray,
    target: IntArray,
    units: FloatArray,
    totals: FloatArray,
    gradient: IntArray,
    stiffness: IntArray,
) -> None:
    """The derivatives of the log-loss of rows by the score of each class, rounded to whole numbers, in each group.

    Parameters
    ----------
    exponentials : ndarray (groups, classes, rows)
        Of the scores less the highest of each row.
    target : ndarray (rows,)
    units : ndarray (groups, rows)
        What the rows weigh, in the units that are counted: 0 for those that the group does not learn.
    totals : ndarray (groups, rows)
        Result: the sum of the exponentials.
    gradient, stiffness : int64 ndarray (groups, classes, rows)
        Results: first derivatives, with the sign turned, and second ones.
    """
    np.sum(exponentials, axis=1, out=totals)
    proba = exponentials * (1.0 / totals)[:, None]
    own = np.arange(exponentials.shape[1])[:, None] == target
    gradient[:] = ((own - proba) * units[:, None] + TO_WHOLE) - TO_WHOLE
    stiffness[:] = ((1.0 - proba) * proba * units[:, None] + TO_WHOLE) - TO_WHOLE
