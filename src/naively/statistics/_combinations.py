"""Numbers for combinations of codes: the cells of a table over several columns, of which few may ever occur.

A combination is numbered among those that occur, so that a table over twenty columns takes the room of its rows and not
of its product. The number of a combination says where it stands in the sorted order of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from naively.typing import AnyArray, IntArray

WIDEST = 1 << 62
"""Products up to this are numbered in one step; larger ones column by column."""

ABSENT = -1
"""What stands for a combination that does not occur."""


class Combinations:
    """The distinct rows of an array of codes.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
        None of them negative.
    sizes : sequence of int
        How many codes each column has.

    Attributes
    ----------
    places : ndarray of shape (n_rows,)
        The number of each row's combination.
    n : int
        How many there are.

    Examples
    --------
    >>> known = Combinations(np.array([[1, 0], [0, 2], [1, 0]]), [2, 3])
    >>> known.places.tolist(), known.n
    ([1, 0, 1], 2)
    >>> known.find(np.array([[0, 2], [0, 1]])).tolist()
    [0, -1]
    """

    def __init__(self, codes: IntArray, sizes: Sequence[int]):
        self.sizes = sizes
        self._steps: list[tuple[int, int, IntArray]] = []
        self.places, self.n = np.zeros(len(codes), dtype=np.int64), min(len(codes), 1)
        stop = 0
        while stop < len(sizes):
            start, width = stop, max(self.n, 1)
            while stop < len(sizes) and width * max(int(sizes[stop]), 1) < WIDEST:
                width, stop = width * max(int(sizes[stop]), 1), stop + 1
            keys, self.places = _distinct(self._keys(self.places, codes, start, stop), width)
            self._steps.append((start, stop, keys))
            self.n = len(keys)
        self.places.flags.writeable = False

    def find(self, codes: IntArray) -> IntArray:
        """The number of each row's combination; `ABSENT` where it is none of those that occur."""
        places = np.zeros(len(codes), dtype=np.int64)
        there = np.full(len(codes), self.n > 0)
        for start, stop, keys in self._steps:
            wanted = self._keys(places, codes, start, stop)
            places = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            there &= keys[places] == wanted if len(keys) else False
        return np.where(there, places, ABSENT)

    def _keys(self, places: IntArray, codes: IntArray, start: int, stop: int) -> IntArray:
        for column in range(start, stop):
            places = places * self.sizes[column] + codes[:, column]
        return places


def _distinct(keys: IntArray, width: int) -> tuple[IntArray, IntArray]:
    """The distinct keys, sorted, and where each stands among them."""
    if width > 4 * len(keys) + 1024:
        found, places = np.unique(keys, return_inverse=True)
        return found, places.astype(np.int64, copy=False)
    occurs = np.zeros(width, dtype=bool)
    occurs[keys] = True
    return np.flatnonzero(occurs), np.cumsum(occurs)[keys] - 1


def patterns(known: AnyArray) -> list[tuple[AnyArray, IntArray]]:
    """The distinct rows of a boolean array, each with the positions of the rows that are so.

    Examples
    --------
    >>> [(which.tolist(), rows.tolist()) for which, rows in patterns(np.array([[True], [False], [True]]))]
    [([False], [1]), ([True], [0, 2])]
    """
    if known.all():
        return [(np.ones(known.shape[1], dtype=bool), np.arange(len(known)))] if len(known) else []
    numbered = Combinations(known.astype(np.int64), [2] * known.shape[1])
    order = np.argsort(numbered.places, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(numbered.places[order])) + 1)
    return [(known[rows[0]], rows) for rows in groups]
