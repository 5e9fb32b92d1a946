"""Labels: the values of categorical columns and of the target, encoded as small integers.

A label is a bool, an int, a float or a str. Numbers that are equal are one label, however they were stored: 1, 1.0 and
True of a column that lost its type to a missing cell still meet. Missing is None, NaN, NaT or pandas' NA, with code -1.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from naively.errors import InputError, InputTypeError
from naively.typing import AnyArray, IntArray, Label

MISSING = -1
CHUNK_ROWS = 1 << 15


def is_missing(value: Any) -> bool:
    """Whether a cell stands for "not known": None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")


def as_label(value: Any, where: str) -> Label:
    """The plain Python label of a cell, or a clear error."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            raise InputError(
                f"{where}: Input X contains infinity, which is no category. Use NaN for what is not known."
            )
        return int(value) if float(value).is_integer() else float(value)
    raise InputTypeError(
        f"{where}: the value {_shown(value)} is of type {type(value).__name__}; each argument must be a string, a bool "
        f"or a real number. {_advice(value)}"
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _advice(value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        return "Decode the bytes first, for example with column.decode('utf-8')."
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return "Turn dates into numbers first, for example days since a reference date, month or weekday."
    if isinstance(value, (list, tuple, dict, set, np.ndarray)):
        return "Cells that hold collections are not supported: give each element a column of its own."
    if isinstance(value, (complex, np.complexfloating)):
        return "Complex data not supported: give the real and the imaginary part a column each."
    return "Convert it to one of these."


def label_order(label: Label) -> tuple[int, Any]:
    """The key that sorts labels the same way everywhere: numbers first, then text."""
    return (1, label) if isinstance(label, str) else (0, label)


def encode_objects(values: Iterable[Any], where: str) -> tuple[IntArray, list[Label]]:
    """Codes and labels, in order of first appearance, of any Python values."""
    index: dict[Any, int] = {}
    labels: list[Label] = []
    codes = []
    for value in values:
        try:
            code = index.get(value)
        except TypeError:  # not hashable, so no label either: as_label says what to do
            as_label(value, where)
            raise
        if code is None:
            if is_missing(value):
                code = MISSING
            else:
                labels.append(as_label(value, where))
                code = index[value] = len(labels) - 1
        codes.append(code)
    return np.array(codes, dtype=np.int64), labels


def encode_array(values: AnyArray, where: str) -> tuple[IntArray, list[Label]]:
    """Codes and labels of a one-dimensional NumPy array of any kind."""
    kind = values.dtype.kind
    if kind in "OUST" or kind not in "biuf":
        if kind == "O" and (pandas := sys.modules.get("pandas")) is not None and len(values) > 1000:
            return _encoded_by(pandas.factorize(values), where)
        return encode_objects(values.tolist() if kind in "UT" else values, where)
    if kind == "f":
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise InputError(
                f"Input X contains infinity, which is no category: {where}, row {row}. Use NaN for missing."
            )
        known = ~np.isnan(values)
        if not known.all():
            codes = np.full(len(values), MISSING, dtype=np.int64)
            codes[known], labels = encode_array(values[known], where)
            return codes, labels
    unique, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64, copy=False), [as_label(value, where) for value in unique.tolist()]


def encode_series(series: Any, where: str) -> tuple[IntArray, list[Label]]:
    """Codes and labels of a narwhals series, by whatever its own library does fastest."""
    native = series.to_native()
    if series.implementation.is_pandas():
        if str(native.dtype) == "category":
            return _encoded_by((native.cat.codes.to_numpy(), native.cat.categories), where)
        return _encoded_by(native.factorize(), where)
    if series.implementation.is_polars() and series.dtype in _polars_text():
        polars = sys.modules["polars"]
        if series.dtype != nw_string():
            return _polars_categories(native, polars)
        labels = native.unique().drop_nulls().cast(polars.String).sort()
        physical = native.cast(polars.String).cast(polars.Enum(labels)).to_physical()
        return physical.cast(polars.Int64).fill_null(MISSING).to_numpy(), labels.to_list()
    if series.implementation.is_pyarrow():
        encoded = native.combine_chunks()
        if not hasattr(encoded, "dictionary"):
            encoded = encoded.dictionary_encode()
        codes = encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
        return _encoded_by((codes, encoded.dictionary.to_pylist()), where)
    return encode_objects(series.to_list(), where)


def categories_of(series: Any) -> list[Any]:
    """All values that the categorical type of a narwhals series lists, used or not; none if it keeps no list."""
    native = series.to_native()
    if series.implementation.is_pandas():
        return [value for value in native.cat.categories.tolist() if not is_missing(value)]
    if series.implementation.is_pyarrow():
        return [value for value in native.combine_chunks().dictionary.to_pylist() if not is_missing(value)]
    return list(getattr(series.dtype, "categories", ()))


def _polars_categories(native: Any, polars: Any) -> tuple[IntArray, list[Label]]:
    """Codes and labels of a Polars column that is encoded already, renumbered only if some codes do not occur."""
    physical = native.to_physical()
    unused = int(physical.max() or 0) + 1
    codes = (physical.fill_null(unused) if native.null_count() else physical).to_numpy()
    row_of = np.full(unused + 1, MISSING, dtype=np.int64)
    for start in range(0, len(codes), CHUNK_ROWS):  # some row that has the code; soon all are found, as a rule
        part = codes[start : start + CHUNK_ROWS]
        row_of[part] = np.arange(start, start + len(part))
        if (row_of[:unused] >= 0).all():
            break
    found = np.flatnonzero(row_of[:unused] >= 0)
    labels = native.gather(row_of[found]).cast(polars.String).to_list()
    if len(found) == unused and not native.null_count():
        return codes, labels
    numbering = np.full(unused + 1, MISSING, dtype=np.int64)
    numbering[found] = np.arange(len(found))
    return numbering[codes], labels


def nw_string() -> Any:
    """The type of text columns."""
    import narwhals as nw

    return nw.String


def _polars_text() -> tuple[Any, ...]:
    import narwhals as nw

    return (nw.String, nw.Categorical, nw.Enum)


def _encoded_by(codes_and_values: tuple[Any, Iterable[Any]], where: str) -> tuple[IntArray, list[Label]]:
    """Tidy the codes and distinct values that another library found: missing ones out, equal ones merged."""
    codes = np.asarray(codes_and_values[0])
    new_codes, labels = encode_objects(codes_and_values[1], where)
    if np.array_equal(new_codes, np.arange(len(new_codes))):
        return codes, labels
    return recoded(codes, new_codes), labels


def recoded(codes: IntArray, new_codes: IntArray) -> IntArray:
    """Codes under another numbering, -1 staying -1; the codes may be of any width."""
    return np.asarray(np.append(new_codes, MISSING)[codes], dtype=np.int64)


def positions_in(labels: Sequence[Label], wanted: Sequence[Label]) -> IntArray:
    """Where each wanted label stands among `labels`; -1 where it does not."""
    index = {label: position for position, label in enumerate(labels)}
    return np.array([index.get(label, MISSING) for label in wanted], dtype=np.int64)
