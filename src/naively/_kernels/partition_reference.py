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
    """Cut rows into cells: each node of a level, at once, where the loss of its rows falls most by a Newton step.

    The nodes of a complete tree are numbered level by level; those next to node i are 2 i + 1 and 2 i + 2. Of a number
    one cut is tried, drawn between the lowest and the highest of the node; of labels, each against all others.

    Parameters
    ----------
    codes : unsigned ndarray (columns, rows)
        Ranks of numbers, and labels; what is no label stands behind the last of them. Numbers come first.
    n_labels : ndarray (columns,)
        How many labels a column has, 0 for numbers.
    signs : ndarray (columns,)
        1 or -1 where the step of the one output must not fall or rise with the number, else 0.
    outputs : ndarray (outputs,)
        The classes for which rows are cut.
    gradient, stiffness : int64 ndarray (classes, rows)
        First and second derivatives of the loss, times weights, in whole units.
    weights : ndarray (rows,)
    draws : ndarray (nodes, columns)
        Random numbers from 0 up to 1.
    ridge : float
        What is added to the stiffness of a cell.
    least_rows : int
        Of a cell.
    column, place : int64 ndarray (nodes,)
        Result: the column that each node asks for, or -1; and the highest rank that goes left, or the label that goes
        right.
    cells : uint8 ndarray (rows,)
        Result: the node in which each row ends.
    pulls, stiffs : int64 ndarray (classes, nodes)
        Result: the sums of the derivatives in each cell. Those of other nodes are left as they are.
    totals : ndarray (nodes,)
        Result: the same of the weights.
    """
    _cut(codes, n_labels, signs, gradient[outputs], stiffness[outputs], draws, ridge, least_rows, column, place, cells)
    there, of_row = np.unique(cells, return_inverse=True)
    totals[there] = np.bincount(of_row, weights, len(there))
    for sums, values in ((pulls, gradient), (stiffs, stiffness)):
        for label, of_class in enumerate(values):
            sums[label, there] = np.bincount(of_row, of_class, len(there))


def _cut(
    codes: AnyArray,
    n_labels: IntArray,
    signs: IntArray,
    gradient: IntArray,
    stiffness: IntArray,
    draws: FloatArray,
    ridge: float,
    least_rows: int,
    column: IntArray,
    place: IntArray,
    cells: AnyArray,
) -> None:
    bins = np.maximum(n_labels, 1)
    first_bin = np.concatenate([[0], np.cumsum(bins)])
    of_bin = np.repeat(np.arange(len(bins)), bins)
    is_number = n_labels == 0
    cells[:], column[:] = 0, -1
    first = 0
    while 2 * first + 1 < len(column):
        rows = np.flatnonzero(cells >= first)
        if not len(rows):
            return
        order = rows[np.argsort(cells[rows], kind="stable")]
        nodes, starts = np.unique(cells[order], return_index=True)
        nodes = nodes.astype(np.int64)
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
            return
        one = of_bin[best]
        column[nodes] = np.where(is_cut, one, -1)
        place[nodes] = np.where(is_number[one], cuts[np.arange(len(nodes)), one], best - first_bin[one])
        asked, answers = at[is_cut[at]], table[is_cut[at], one[at[is_cut[at]]]]
        wanted, numbers = place[nodes][asked], is_number[one][asked]
        is_right = np.where(numbers, answers > wanted, answers == wanted)
        cells[order[is_cut[at]]] = 2 * nodes[asked] + 1 + is_right
        first = 2 * first + 1


def _sums(values: FloatArray, into: IntArray, shape: tuple[int, int]) -> FloatArray:
    """The sums of values (nodes, bins)."""
    return np.bincount(into, values, shape[0] * shape[1]).astype(np.float64).reshape(shape)


def ends(codes: AnyArray, n_labels: IntArray, column: IntArray, place: IntArray, cells: IntArray) -> None:
    """Find the node of a partition in which each row ends.

    Parameters
    ----------
    codes, n_labels, column, place
        As `grow` takes and gives them.
    cells : uint8 ndarray (rows,)
        Result.
    """
    cells[:] = 0
    goes_on = np.arange(len(cells))
    while len(goes_on := goes_on[column[cells[goes_on]] >= 0]):
        nodes = cells[goes_on]
        answers, wanted = codes[column[nodes], goes_on].astype(np.int64), place[nodes]
        is_right = np.where(n_labels[column[nodes]] == 0, answers > wanted, answers == wanted)
        cells[goes_on] = 2 * nodes + 1 + is_right


def add_steps(scores: FloatArray, steps: FloatArray, cells: AnyArray, shifted: FloatArray, highest: FloatArray) -> None:
    """Add what cells say to the scores of the rows in them.

    Parameters
    ----------
    scores : ndarray (classes, rows)
        Changed.
    steps : ndarray (classes, cells)
    cells : ndarray (rows,)
    shifted : ndarray (classes, rows)
        Result: the scores less the highest of each row.
    highest : ndarray (rows,)
        Result: the highest score of each row.
    """
    scores += steps[:, cells]
    np.max(scores, axis=0, out=highest)
    np.subtract(scores, highest, out=shifted)


def derivatives(
    exponentials: FloatArray,
    target: IntArray,
    units: FloatArray,
    totals: FloatArray,
    gradient: IntArray,
    stiffness: IntArray,
) -> None:
    """The derivatives of the log-loss of the first rows by the score of each class, rounded to whole numbers.

    Parameters
    ----------
    exponentials : ndarray (classes, all rows)
        Of the scores less the highest of each row.
    target : ndarray (rows,)
    units : ndarray (rows,)
        What the rows weigh, in the units that are counted.
    totals : ndarray (all rows,)
        Result: the sum of the exponentials.
    gradient, stiffness : int64 ndarray (classes, rows)
        Results: first derivatives, with the sign turned, and second ones.
    """
    np.sum(exponentials, axis=0, out=totals)
    proba = exponentials[:, : len(target)] * (1.0 / totals[: len(target)])
    own = np.arange(len(proba))[:, None] == target
    gradient[:] = ((own - proba) * units + TO_WHOLE) - TO_WHOLE
    stiffness[:] = ((1.0 - proba) * proba * units + TO_WHOLE) - TO_WHOLE
