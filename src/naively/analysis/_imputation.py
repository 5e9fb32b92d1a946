"""Filling in missing cells by what the other cells of the row say.

The other cells give the classes their probabilities, and each class has an expectation of the missing cell:

    ``E[x_i | the rest] = sum_j P(j | the rest) mean_ij``,
    ``P(x_i = a | the rest) = sum_j P(j | the rest) theta_jia``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from naively._table.read import is_record
from naively._table.table import ArrayTable, SparseTable, Table
from naively.families._distributions import Distribution
from naively.typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class Filling:
    """What to write into the missing cells of one column.

    Parameters
    ----------
    position : int
        The column's position in the table.
    rows : ndarray
    values : list
        Numbers or labels.
    numeric : bool
        Whether they are means, which need not be whole numbers.
    """

    position: int
    rows: IntArray
    values: list[Any]
    numeric: bool


def fillings(
    distributions: Sequence[Distribution], table: Table, positions: IntArray | None, posterior: FloatArray
) -> Iterator[Filling]:
    """What to write into the missing cells of a table.

    Parameters
    ----------
    distributions : sequence
        Of the model's columns.
    table : Table
    positions : ndarray or None
        Where the model's columns stand in it.
    posterior : ndarray of shape (rows, classes)
        The probability of each class given the known cells.
    """
    for distribution in distributions:
        there = distribution.members if positions is None else positions[distribution.members]
        missing = [_missing(table, int(position)) for position in there]
        if not any(len(rows) for rows in missing):
            continue
        read = partial(table.numbers, there, slice(0, table.n_rows))
        for place, values in distribution.imputed(missing, posterior, read):
            position = int(there[place])
            stored = values if distribution.numeric else [_as_stored(value, table, position) for value in values]
            yield Filling(position, missing[place], stored, distribution.numeric)


def _missing(table: Table, position: int) -> IntArray:
    """The rows in which a column is missing; none if the table lacks the column."""
    if position < 0:
        return np.empty(0, np.int64)
    if table.kind(position) == "empty":
        return np.arange(table.n_rows)
    if table.kind(position) in ("number", "truth"):
        cells = table.column(position)
        return np.flatnonzero(np.isnan(cells)) if cells.dtype.kind == "f" else np.empty(0, np.int64)
    return np.flatnonzero(table.labels(position)[0] < 0)


def _as_stored(label: Any, table: Table, position: int) -> Any:
    """Labels that are equal to booleans are booleans again in a column of booleans."""
    return bool(label) if table.kind(position) == "truth" else label


# -- Writing ------------------------------------------------------------------------------------------------------


def filled(X: Any, fills: Sequence[Filling], names: Sequence[str]) -> Any:
    """A copy of X, of the same type, with the missing cells filled in."""
    if isinstance(X, ArrayTable):
        return ArrayTable(_filled_array(X.values, fills), X.names)
    if isinstance(X, SparseTable):
        return SparseTable(_filled_sparse(X.matrix, fills), X.names)
    if isinstance(X, np.ndarray):
        return _filled_array(X, fills)
    if hasattr(X, "tocsr"):
        return _filled_sparse(X, fills)
    if is_record(X):
        return _filled_record(X, fills, names)
    if isinstance(X, Mapping):
        return _filled_mapping(X, fills)
    if isinstance(X, (list, tuple)):
        return _filled_list(X, fills, names)
    if hasattr(X, "isetitem"):
        return _filled_pandas(X, fills)
    if hasattr(X, "__dataframe__") or hasattr(X, "with_columns") or hasattr(X, "schema"):
        return _filled_frame(X, fills)
    return _filled_array(np.asarray(X), fills)


def _filled_array(X: AnyArray, fills: Sequence[Filling]) -> AnyArray:
    result = X.copy()
    for fill in fills:
        result[fill.rows, fill.position] = fill.values
    return result


def _filled_sparse(X: Any, fills: Sequence[Filling]) -> Any:
    result = X.tocsr(copy=True)
    for fill in fills:
        for row, value in zip(fill.rows.tolist(), fill.values, strict=True):
            result[row, fill.position] = value  # a missing cell is stored, so this changes no structure
    return result.asformat(X.format)


def _filled_record(X: Any, fills: Sequence[Filling], names: Sequence[str]) -> Any:
    """One row, a dict or a Series of pandas."""
    result = dict(X) if isinstance(X, Mapping) else X.astype(object)
    keys = {str(key): key for key in X.keys()}  # noqa: SIM118 (iterating over a Series gives its values)
    for fill in fills:
        result[keys[names[fill.position]]] = fill.values[0]
    return result


def _filled_mapping(X: Mapping[Any, Any], fills: Sequence[Filling]) -> dict[Any, Any]:
    result = {name: cells.copy() if isinstance(cells, np.ndarray) else list(cells) for name, cells in X.items()}
    names = list(result)
    for fill in fills:
        for row, value in zip(fill.rows.tolist(), fill.values, strict=True):
            result[names[fill.position]][row] = value
    return result


def _filled_list(X: Sequence[Any], fills: Sequence[Filling], names: Sequence[str]) -> list[Any]:
    records = len(X) > 0 and isinstance(X[0], Mapping)
    result: list[Any] = [dict(row) if records else list(row) for row in X]
    keys = {str(key): key for row in result for key in row} if records else {}
    for fill in fills:
        place = keys[names[fill.position]] if records else fill.position
        for row, value in zip(fill.rows.tolist(), fill.values, strict=True):
            result[row][place] = value
    return result


def _filled_pandas(X: Any, fills: Sequence[Filling]) -> Any:
    result = X.copy()
    for fill in fills:
        cells = result.iloc[:, fill.position].copy()
        if hasattr(cells, "cat"):
            new = [value for value in dict.fromkeys(fill.values) if value not in cells.cat.categories]
            cells = cells.cat.add_categories(new)
        elif fill.numeric and not str(cells.dtype).lower().startswith("float"):
            cells = cells.astype("Float64" if str(cells.dtype)[0].isupper() else object)
        cells.iloc[fill.rows] = fill.values
        result.isetitem(fill.position, cells)
    return result


def _filled_frame(X: Any, fills: Sequence[Filling]) -> Any:
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    for fill in fills:
        series = frame[:, fill.position]
        cells = series.to_list()
        for row, value in zip(fill.rows.tolist(), fill.values, strict=True):
            cells[row] = value
        keeps = series.dtype.is_float() if fill.numeric else series.dtype != nw.Unknown
        dtype = series.dtype if keeps else nw.Float64() if fill.numeric else None
        frame = frame.with_columns(nw.new_series(series.name, cells, dtype, backend=frame.implementation))
    return frame.to_native()
