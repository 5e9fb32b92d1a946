"""Labels: the values of categorical columns and of the target, encoded as small integers.

A label is a bool, an int, a float or a str. Numbers that are equal are one label, however they were stored: 1, 1.0 and
True of a column that lost its type to a missing cell still meet. Missing is None, NaN, NaT or pandas' NA, with code -1.
All others are distinct: no label passes through a type that rounds it (large whole numbers as floats) or cuts it (NumPy
drops the NULs at the end of text).
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from naively.errors import InputError, InputTypeError
from naively.typing import AnyArray, FloatArray, IntArray, Label

MISSING = -1
CHUNK_ROWS = 1 << 15
PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types whose values Python compares exactly; NumPy's scalars round whole numbers to compare them with floats."""

LARGEST_EXACT = 2**53
"""Whole numbers below this are exact as float64."""


def is_missing(value: Any) -> bool:
    """Whether a cell stands for "not known": None, NaN, NaT or pandas' NA."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")


def as_label(value: Any, where: str) -> Label:
    """The plain Python label of a cell, or a clear error."""
    if isinstance(value, str):
        return str.__str__(value)  # str() would cut NumPy's text, and give an Enum's name
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            raise InputError(
                f"{where}: Input X contains infinity, which is no category. Use NaN for what is not known."
            )
        return _float_label(value, where)
    raise InputTypeError(
        f"{where}: the value {_shown(value)} is of type {type(value).__name__}; each argument must be a string, a bool "
        f"or a real number. {_advice(value)}"
    )


def _float_label(value: Any, where: str) -> Label:
    """A finite float as the number it is; one of more than 64 bits that float64 cannot hold must be whole."""
    if value == np.trunc(value):
        return int(value)
    if float(value) != value:
        raise InputError(
            f"{where}: the value {value!r} is a category that float64 cannot hold exactly. Round the column to "
            "float64, or turn it into text."
        )
    return float(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _advice(value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        return "Decode the bytes first, for example with column.decode('utf-8')."
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return (
            "A column of dates alone is read as dates; turn dates that are classes, or beside other values, into text."
        )
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
    cells = list(values)
    if not set(map(type, cells)) <= PLAIN:
        cells = [value if type(value) in PLAIN else _plain(value, where) for value in cells]
    code_of: dict[Any, int] = dict.fromkeys(cells, MISSING)
    labels: list[Label] = []
    for value in code_of:
        if not is_missing(value):
            code_of[value] = len(labels)
            labels.append(as_label(value, where))
    return np.fromiter(map(code_of.__getitem__, cells), dtype=np.int64, count=len(cells)), labels


def _plain(value: Any, where: str) -> Label | None:
    return None if is_missing(value) else as_label(value, where)


def encode_array(values: AnyArray, where: str) -> tuple[IntArray, list[Label]]:
    """Codes and labels of a one-dimensional NumPy array of any kind."""
    kind = values.dtype.kind
    if kind in "OUST" or kind not in "biuf":
        cells = values.tolist() if kind in "OUT" else values
        if kind == "O" and len(values) > 1000 and _pandas_factorizes_exactly() and set(map(type, cells)) <= PLAIN:
            return _encoded_by(sys.modules["pandas"].factorize(values), where)
        return encode_objects(cells, where)
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


def _pandas_factorizes_exactly() -> bool:
    """Whether pandas is there, to find distinct objects faster, and tells texts apart that differ after a NUL."""
    return "pandas" in sys.modules and _factorizes_exactly(sys.modules["pandas"])


@cache
def _factorizes_exactly(pandas: Any) -> bool:
    return len(pandas.factorize(np.array(["a", "a\0", "a\0b"], dtype=object))[1]) == 3


def encode_series(series: Any, where: str) -> tuple[IntArray, list[Label]]:
    """Codes, integers of any width, and labels of a narwhals series, by whatever its own library does fastest."""
    native = series.to_native()
    if series.implementation.is_pandas():
        if str(native.dtype) == "category":
            return _encoded_by((native.array.codes, native.cat.categories), where)
        if getattr(native.dtype, "storage", "") == "pyarrow" or hasattr(native.dtype, "pyarrow_dtype"):
            return _encoded_by(native.factorize(), where)
        return encode_array(native.to_numpy(dtype=object), where)
    if series.implementation.is_polars() and series.dtype in _polars_text():
        polars = sys.modules["polars"]
        if series.dtype != nw_string():
            return _polars_categories(native, polars)
        labels = native.unique().drop_nulls().cast(polars.String).sort()
        physical = native.cast(polars.String).cast(polars.Enum(labels)).to_physical()
        return _polars_codes(physical, len(labels), polars), labels.to_list()
    if series.implementation.is_pyarrow():
        return encode_arrow(native, where)
    return encode_objects(series.to_list(), where)


def encode_arrow(array: Any, where: str) -> tuple[IntArray, list[Label]]:
    """Codes and labels of an Arrow array, in chunks or not; each chunk of a dictionary may have a list of its own."""
    codes: list[IntArray] = []
    values: list[Any] = []
    for chunk in _arrow_chunks(array):
        encoded = chunk if hasattr(chunk, "dictionary") else chunk.dictionary_encode()
        codes.append(_arrow_codes(encoded.indices, len(values)))
        values += encoded.dictionary.to_pylist()
    whole = codes[0] if len(codes) == 1 else np.concatenate([np.zeros(0, dtype=np.int64), *codes])
    return _encoded_by((whole, values), where)


def _arrow_codes(indices: Any, first: int) -> IntArray:
    """The indices of a dictionary, counted from `first`, -1 where missing; each step is a pass over all rows."""
    if indices.null_count:
        signed = indices if str(indices.type) == "int32" else indices.cast("int64")
        indices = signed.fill_null(MISSING)
    codes: IntArray = indices.to_numpy(zero_copy_only=False)
    return np.where(codes < 0, MISSING, codes + np.int64(first)) if first else codes


def _arrow_chunks(array: Any) -> Sequence[Any]:
    chunks: Sequence[Any] = getattr(array, "chunks", [array])
    return chunks


def categories_of(series: Any) -> list[Any]:
    """All values that the categorical type of a narwhals series lists, used or not; none if it keeps no list."""
    native = series.to_native()
    if series.implementation.is_pandas():
        return [value for value in native.cat.categories.tolist() if not is_missing(value)]
    if series.implementation.is_pyarrow():
        listed = (value for chunk in _arrow_chunks(native) for value in chunk.dictionary.to_pylist())
        return [value for value in dict.fromkeys(listed) if not is_missing(value)]
    return list(getattr(series.dtype, "categories", ()))


def _polars_categories(native: Any, polars: Any) -> tuple[IntArray, list[Label]]:
    """Codes and labels of a Polars column that is encoded already, renumbered only if some codes do not occur."""
    physical = native.to_physical()
    n_codes = int(physical.max() or 0) + 1
    codes = _polars_codes(physical, n_codes, polars)
    row_of = np.full(n_codes + 1, MISSING, dtype=np.int64)  # the last is of the missing
    for start in range(0, len(codes), CHUNK_ROWS):  # some row that has the code; soon all are found, as a rule
        part = codes[start : start + CHUNK_ROWS]
        row_of[part] = np.arange(start, start + len(part))
        if (row_of[:-1] >= 0).all():
            break
    found = np.flatnonzero(row_of[:-1] >= 0)
    labels = native.gather(row_of[found]).cast(polars.String).to_list()
    if len(found) == n_codes:
        return codes, labels
    numbering = np.full(n_codes, MISSING, dtype=np.int64)
    numbering[found] = np.arange(len(found))
    return recoded(codes, numbering), labels


def _polars_codes(physical: Any, n_codes: int, polars: Any) -> IntArray:
    """The codes below `n_codes` of a column, as they are stored where none is missing."""
    if physical.null_count():
        physical = physical.cast(polars.Int32 if n_codes < 1 << 31 else polars.Int64).fill_null(MISSING)
    codes: IntArray = physical.to_numpy()
    return codes


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
    """Codes under another numbering, -1 staying -1."""
    return np.asarray(np.append(new_codes, MISSING)[codes], dtype=np.int64)


def positions_in(labels: Sequence[Label], wanted: Sequence[Label]) -> IntArray:
    """Where each wanted label stands among `labels`; -1 where it does not."""
    index = {label: position for position, label in enumerate(labels)}
    return np.array([index.get(label, MISSING) for label in wanted], dtype=np.int64)


# -- arrays of labels -----------------------------------------------------------------------------------------------


def unmasked(values: Any) -> FloatArray:
    """Numbers as float64, NaN where a masked array has none."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    return np.asarray(values, dtype=np.float64)


def without_mask(values: AnyArray) -> AnyArray:
    """A plain array; of a masked array one with missing cells: NaN among floats, else None among objects."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    if values.dtype.kind == "f":
        return np.asarray(values.filled(np.nan))
    cells = values.data.astype(object)
    cells[np.ma.getmaskarray(values)] = None
    return cells


def exact_array(values: Any) -> AnyArray:
    """What `numpy.asarray` makes of a list or a scalar, but of objects where that would change a label.

    Examples
    --------
    >>> exact_array([2**53 + 1, 0.5])
    array([9007199254740993, 0.5], dtype=object)
    >>> exact_array([3, 0.5])
    array([3. , 0.5])
    """
    array = np.asarray(values)
    kind = array.dtype.kind
    if kind not in "Uf" or (kind == "f" and not (np.abs(array) >= LARGEST_EXACT).any()):
        return array
    objects = np.array(values, dtype=object)
    return objects if any(_changed_in_array(value, kind) for value in objects.ravel()) else array


def exact_labels(values: Any) -> AnyArray:
    """What `exact_array` makes of labels; of objects where sequences lie among them, so that who reads them says which.

    Examples
    --------
    >>> exact_labels([1, (2, 3)])
    array([1, (2, 3)], dtype=object)
    """
    try:
        return exact_array(values)
    except ValueError:  # NumPy would make an array of more dimensions, and their lengths differ
        return object_array(values)


def _changed_in_array(value: Any, kind: str) -> bool:
    """Whether a value of a list is not what it was in an array of text, or of floats."""
    if kind == "f":
        return isinstance(value, (int, np.integer)) and abs(int(value)) >= LARGEST_EXACT
    return type(value) not in (str, np.str_) or value.endswith("\0")


def label_array(labels: Sequence[Label], preferred: Any = np.int64) -> AnyArray:
    r"""Labels, all of them text or all of them numbers, as an array of a type that holds each exactly.

    Parameters
    ----------
    labels : sequence of labels
    preferred : dtype, default=int64
        The type to use for numbers if it holds them.

    Examples
    --------
    >>> label_array([2**63, 1]).dtype.name, label_array([2**63 + 2048, -1]).dtype.name, label_array([2**63 + 1, -1])
    ('uint64', 'float64', array([9223372036854775809, -1], dtype=object))
    >>> label_array(["a", "b"]).dtype.kind, label_array(["a", "a\0"]).dtype.kind
    ('U', 'O')
    """
    labels = list(labels)
    if all(isinstance(label, str) for label in labels):
        return object_array(labels) if any(label.endswith("\0") for label in labels) else np.array(labels)  # type: ignore[union-attr]
    if all(isinstance(label, bool) for label in labels) and np.dtype(preferred) == np.int64:
        return np.array(labels)
    numbers = [label if isinstance(label, float) and not label.is_integer() else int(label) for label in labels]
    for dtype in (preferred, np.int64, np.uint64, np.float64):
        array = _array_holding(numbers, dtype)
        if array is not None:
            return array
    return object_array(numbers)


def _array_holding(numbers: list[Any], dtype: Any) -> AnyArray | None:
    """The numbers as an array of a type; None if it cannot hold them all."""
    try:
        with np.errstate(over="ignore"):
            array = np.array(numbers, dtype=dtype)
    except OverflowError:
        return None
    return array if array.tolist() == numbers else None


def object_array(values: Any) -> AnyArray:
    """A one-dimensional object array whose elements are left as they are, lists included."""
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return array
