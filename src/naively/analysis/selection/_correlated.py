"""Columns that repeat others: naive Bayes counts their evidence twice, so all but one of them should go."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naively._scoring.model import checked_numbers
from naively._table.read import read_table
from naively._table.results import Columns, Result, Shown
from naively._table.table import Table, require_rows
from naively._table.target import read_target
from naively.analysis._correlation import ROUNDING, correlations, in_units_of_spread
from naively.errors import InputError, ParameterError
from naively.statistics._information import symmetric_uncertainty
from naively.typing import IntArray, TableLike, TargetLike

BLOCK = 256
"""Correlations of so many columns with all others are computed at once."""


@dataclass(frozen=True, repr=False)
class Correlated(Result):
    """Which columns were dropped, because of which, and why.

    Parameters
    ----------
    kept : list of str
    dropped : list of str
    because_of : list of str
        The kept column that each of them repeats.
    measure : list of str
        "duplicate" (equal in every row), "correlation" (of numbers) or "symmetric uncertainty" (of labels).
    value : list of float
        How strongly: the correlation with its sign, or the uncertainty, from 0 to 1.
    """

    kept: list[str]
    dropped: list[str]
    because_of: list[str]
    measure: list[str]
    value: list[float]

    def _columns(self) -> Columns:
        texts = {"column": self.dropped, "because_of": self.because_of, "measure": self.measure}
        return {**{name: ("U", cells) for name, cells in texts.items()}, "value": ("f", self.value)}

    def _shown(self) -> Shown:
        return super()._shown()._replace(title=f"kept {len(self.kept)} columns, dropped {len(self.dropped)}")


def drop_correlated(X: TableLike, threshold: float = 0.95, y: TargetLike | None = None) -> tuple[Any, Correlated]:
    """Drop the columns that repeat one before them.

    Parameters
    ----------
    X : array, data frame, sparse matrix, list of dicts or dict of columns
    threshold : float, default=0.95
        From which correlation (of numbers and booleans, in absolute value) or symmetric uncertainty (of labels) on a
        column repeats another; above 0, at most 1. Columns that are equal in every row always do.
    y : array-like, optional
        The classes. With them, what counts is the dependence within the classes, which is what naive Bayes assumes
        away: two columns that both follow the class are correlated, and need not be within it.

    Returns
    -------
    X : as given
        Without the dropped columns.
    report : Correlated

    Notes
    -----
    Columns are taken in their order; one stays unless it repeats one that stays. Put those that you trust most first.
    Rows where either cell is missing are left out of a comparison. Numbers are not compared with labels. Labels with
    almost as many values as there are rows seem to depend on everything.

    Examples
    --------
    >>> X = {"cm": [1.0, 2.0, 3.0, 5.0], "inch": [0.39, 0.79, 1.18, 1.97], "kg": [4.0, 1.0, 3.0, 2.0]}
    >>> reduced, report = drop_correlated(X)
    >>> report
    kept 2 columns, dropped 1
    column  because_of  measure       value
    inch    cm          correlation  1.0000
    >>> list(reduced)
    ['cm', 'kg']
    """
    if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real) or not 0 < float(threshold) <= 1:
        raise ParameterError(f"threshold must be a number above 0 and at most 1, got {threshold!r}.")
    if isinstance(y, str):
        raise InputError(f"drop_correlated(y) takes an array of classes, one per row, and X without them, got {y!r}.")
    table = read_table(X)
    require_rows(table)
    codes = np.zeros(table.n_rows, dtype=np.int64) if y is None else read_target(y, table.n_rows)[1]
    numeric = [place for place, kind in enumerate(table.kinds) if kind in ("number", "truth", "empty")]
    labelled = [place for place, kind in enumerate(table.kinds) if kind in ("label", "text", "mixed")]
    repeats = {
        **_repeated_numbers(table, numeric, codes, float(threshold)),
        **_repeated_labels(table, labelled, codes, float(threshold)),
    }
    kept = [place for place in range(table.n_columns) if place not in repeats]
    found = [(table.names[place], *repeats[place]) for place in sorted(repeats)]
    report = Correlated(
        [table.names[place] for place in kept],
        [name for name, *_ in found],
        [table.names[other] for _, other, _, _ in found],
        [measure for *_, measure, _ in found],
        [value for *_, value in found],
    )._of(X)
    return _only(X, kept, report.kept), report


Repeat = tuple[int, str, float]
"""The column that is repeated, by which measure, and how strongly."""


def _only(X: Any, kept: Sequence[int], names: Sequence[str]) -> Any:
    """X with some of its columns."""
    if isinstance(X, Mapping):
        return {key: values for key, values in X.items() if str(key) in names}
    if isinstance(X, (list, tuple)) and isinstance(X[0], Mapping):
        return [{key: value for key, value in row.items() if str(key) in names} for row in X]
    if hasattr(X, "tocsr"):
        return X.tocsr()[:, list(kept)]
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[:, list(kept)].to_native()
    return (X if isinstance(X, np.ndarray) else np.asarray(X))[:, list(kept)]


# -- numbers --------------------------------------------------------------------------------------------------------


def _repeated_numbers(table: Table, places: Sequence[int], codes: IntArray, threshold: float) -> dict[int, Repeat]:
    """Which columns of numbers repeat which."""
    block = checked_numbers(table, np.array(places, dtype=np.int64), slice(0, table.n_rows), nonnegative=False)
    kept: list[int] = []
    repeats: dict[int, Repeat] = {}
    equal: dict[bytes, int] = {}
    centred = in_units_of_spread(block, codes)
    cells = np.asfortranarray(np.where(np.isnan(block), np.nan, block + 0.0))  # one zero, one NaN
    for start in range(0, len(places), BLOCK):
        part = slice(start, min(start + BLOCK, len(places)))
        strength = np.nan_to_num(correlations(centred, codes, part), nan=0.0)
        for place in range(part.start, part.stop):
            twin = equal.setdefault(cells[:, place].tobytes(), place)
            row = strength[place - start]
            best = kept[int(np.abs(row[kept]).argmax())] if kept else place
            if twin != place:
                repeats[places[place]] = (places[twin], "duplicate", 1.0)
            elif best != place and abs(row[best]) >= threshold - ROUNDING:
                repeats[places[place]] = (places[best], "correlation", float(row[best]))
            else:
                kept.append(place)
    return {place: _kept_origin(repeat, repeats) for place, repeat in repeats.items()}


def _kept_origin(repeat: Repeat, repeats: Mapping[int, Repeat]) -> Repeat:
    """A copy of a dropped column was dropped because of the same column, and as strongly."""
    return repeats.get(repeat[0], repeat) if repeat[1] == "duplicate" else repeat


# -- labels ---------------------------------------------------------------------------------------------------------


def _repeated_labels(table: Table, places: Sequence[int], codes: IntArray, threshold: float) -> dict[int, Repeat]:
    """Which columns of labels repeat which."""
    columns = {place: table.labels(place) for place in places}
    kept: list[int] = []
    repeats: dict[int, Repeat] = {}
    for place in places:
        found = [(other, *_compared(columns[place], columns[other], codes)) for other in kept]
        best = max(found, key=lambda repeat: (repeat[1] == "duplicate", repeat[2]), default=None)
        if best is not None and (best[1] == "duplicate" or best[2] >= threshold - ROUNDING):
            repeats[place] = best
        else:
            kept.append(place)
    return repeats


Labels = tuple[IntArray, list[Any]]
"""A column of labels: codes, -1 where missing, and what they stand for."""


def _compared(column: Labels, other: Labels, codes: IntArray) -> tuple[str, float]:
    """By which measure a column repeats another, and how strongly."""
    (left, left_labels), (right, right_labels) = column, other
    if left_labels == right_labels and np.array_equal(left, right):
        return "duplicate", 1.0
    known = (left >= 0) & (right >= 0)
    value = symmetric_uncertainty(left[known], right[known], codes[known]) if known.any() else 0.0
    return "symmetric uncertainty", value
