"""The classes of the rows: y and sample_weight, checked and encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from naively._common.by_label import is_series
from naively._common.checks import LARGEST_WEIGHT
from naively._table.device import (
    device_codes,
    device_weights,
    is_on_device,
    is_on_device_table,
    on_device,
    on_host,
)
from naively._table.labels import (
    encode_array,
    encode_arrow,
    exact_labels,
    label_array,
    object_array,
    recoded,
    without_mask,
)
from naively._table.read import is_record, read_table
from naively._table.table import Table, require_rows
from naively.errors import InputError, InputTypeError, SchemaError, listed, warn
from naively.typing import AnyArray, FloatArray, IntArray

_DIRECT_RANGE = 1 << 20
_LARGEST_SIGNED = np.iinfo(np.int64).max - 1
_FIRST_LABELS = 1 << 12
"""So many labels are looked at first: they show all classes, unless one is rare."""


def set_aside(table: Table, name: Any, where: str) -> tuple[Table, int]:
    """The table without a column that holds classes or weights, and where that column was."""
    position = _position(table, name)
    if position is None:
        called = table.names if table.integer_names is None else table.integer_names
        raise SchemaError(
            f"{where}={name!r} names no column of X, which has {listed(called, 20)}. "
            f"Give {'the classes' if where == 'y' else 'the weights'} as an array, or the name of a column of a data "
            "frame."
        )
    rest = table.without(position)
    rest.set_aside = (*table.set_aside, table.names[position])
    return rest, position


def _position(table: Table, name: Any) -> int | None:
    """Where the column of a name is; None if there is none."""
    names: Sequence[Any] = table.names if table.named else ()
    if not isinstance(name, str):
        names = table.integer_names or ()
    return list(names).index(name) if name in names else None


def split_target(table: Table, name: Any) -> tuple[Table, AnyArray, IntArray]:
    """Take the column that holds the classes out of the table: the rest, the classes, the codes."""
    rest, position = set_aside(table, name, "y")
    codes, labels = table.labels(position)
    _refuse_missing(codes < 0)
    classes, places = sorted_classes(labels)
    return rest, classes, recoded(codes, places)


def sorted_classes(labels: Sequence[Any]) -> tuple[AnyArray, IntArray]:
    """The classes of a column in order, and the place of each label among them."""
    classes = _class_array(labels)
    order = np.argsort(classes, kind="stable")
    return classes[order], np.argsort(order)


def read_target(y: Any, n_rows: int) -> tuple[AnyArray, IntArray]:
    """The sorted distinct classes, and the position of each row's class among them."""
    values = _as_column(y)
    if len(values) != n_rows:
        raise InputError(
            f"X and y must have as many rows: inconsistent numbers of samples, X has {n_rows}, y has {len(values)}."
        )
    kind = values.dtype.kind
    if kind in "iub":
        return _encoded_integers(values)
    if kind == "f":
        _refuse_missing(np.isnan(values))
        _refuse_fractions(values)
        return _encoded_floats(values)
    if kind in "UOT":
        codes, labels = encode_array(values, "y")
        _refuse_missing(codes < 0)
        classes = _class_array(labels)
        if kind == "O" and classes.dtype.kind == "U":
            classes = object_array(classes.tolist())
        order = np.argsort(classes, kind="stable")
        return classes[order], recoded(codes, np.argsort(order))
    raise InputTypeError(f"y must hold strings, whole numbers or booleans, got dtype {values.dtype}.")


def _as_column(y: Any) -> AnyArray:
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    if hasattr(y, "tocsr"):
        raise InputTypeError("y must be a dense array of classes, got a sparse matrix.")
    values = without_mask(y) if isinstance(y, np.ndarray) else _array_of(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
        )
        return np.asarray(values.ravel())
    if values.ndim != 1:
        raise InputError(f"y should be a 1d array, one class per row, got an array of shape {values.shape} instead.")
    return values


def _array_of(y: Any) -> AnyArray:
    if not isinstance(y, (list, tuple)) and not hasattr(y, "__array__") and not hasattr(y, "__len__"):
        raise InputTypeError(f"y must be an array of classes or the name of a column of X, got {type(y).__name__}.")
    if hasattr(y, "dictionary_encode"):
        return _array_of_arrow(y)
    if str(getattr(y, "dtype", "")) in ("Int128", "UInt128"):  # NumPy has no such type
        return object_array(y.to_list())
    if hasattr(y, "__array__") or not isinstance(y, Sequence):
        return np.asarray(y)
    y = list(y)
    if any(isinstance(value, str) for value in y) and not all(isinstance(value, str) for value in y):
        return object_array(y)
    return exact_labels(y)


def _array_of_arrow(y: Any) -> AnyArray:
    """An Arrow array; of a dictionary in chunks, NumPy would get a class where there is none."""
    if not hasattr(y.type, "index_type"):
        return np.asarray(y)
    codes, labels = encode_arrow(y, "y")
    return object_array([*labels, None])[codes]


def _encoded_integers(values: AnyArray) -> tuple[AnyArray, IntArray]:
    """Sorted distinct values and codes; where the range is small by direct look-up, much faster than sorting."""
    if len(values) == 0 or values.dtype.kind == "b":
        classes, codes = np.unique(values, return_inverse=True)
        return classes, codes.astype(np.int64, copy=False)
    low, high = int(values.min()), int(values.max())
    if high - low >= min(_DIRECT_RANGE, 4 * len(values) + 1024) or high > _LARGEST_SIGNED:
        classes, codes = np.unique(values, return_inverse=True)
        return classes, codes.astype(np.int64, copy=False)
    codes = values.astype(np.int64)
    if low:
        codes -= low
    present = np.zeros(high - low + 1, dtype=bool)
    present[codes[:_FIRST_LABELS]] = True
    if np.count_nonzero(present) < len(present):
        present[codes] = True
    classes = np.arange(low, high + 1)
    if np.count_nonzero(present) < len(present):
        classes, codes = classes[present], (np.cumsum(present) - 1)[codes]
    return classes.astype(values.dtype, copy=False), codes


def _encoded_floats(values: AnyArray) -> tuple[AnyArray, IntArray]:
    """Sorted distinct values, all of them whole, and codes; as float32, as float64 or, if that rounds, as integers."""
    classes, codes = np.unique(values, return_inverse=True)
    if classes.dtype.newbyteorder("=") not in (np.float32, np.float64):
        classes = label_array([int(label) for label in classes], np.float64)
    return classes, codes.astype(np.int64, copy=False)


def _refuse_fractions(values: AnyArray) -> None:
    """Refuse floats that are not whole."""
    whole = (values == np.trunc(values)) & np.isfinite(values)
    if whole.all():
        return
    row = int(np.flatnonzero(~whole)[0])
    if not np.isfinite(values[row]):
        raise InputError(f"Input y contains infinity (row {row}).")
    raise InputError(
        f"Unknown label type: continuous. y must hold classes, but row {row} is {float(values[row])!r}. "
        "Bin the target first if its ranges are your classes."
    )


def _class_array(labels: Sequence[Any]) -> AnyArray:
    kinds = {"text" if isinstance(label, str) else "number" for label in labels}
    if len(kinds) > 1:
        text = next(label for label in labels if isinstance(label, str))
        number = next(label for label in labels if not isinstance(label, str))
        raise InputTypeError(
            f"y must hold classes of one type, but it mixes text ({text!r}) and numbers ({number!r}). "
            "Convert them to strings."
        )
    fraction = next((label for label in labels if isinstance(label, float)), None)
    if fraction is not None:
        raise InputError(
            f"Unknown label type: continuous. y must hold classes, but it holds the number {fraction!r}. "
            "Bin the target first if its ranges are your classes."
        )
    return label_array(labels)


def _refuse_missing(missing: AnyArray) -> None:
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise InputError(
            f"Input y contains NaN or None: row {row} has no class ({int(missing.sum())} such rows). "
            "Drop these rows, or label them."
        )


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """The weights of the rows, or None if every row weighs one."""
    if sample_weight is None:
        return None
    weights = without_mask(sample_weight) if isinstance(sample_weight, np.ndarray) else np.asarray(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, sample_weight)
    if weights.dtype.kind not in "biuf":
        raise InputTypeError(f"sample_weight must hold numbers, got dtype {weights.dtype}.")
    if weights.shape != (n_rows,):
        raise InputError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight per row of X.")
    weights = weights.astype(np.float64, copy=False)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"sample_weight must hold finite numbers of zero or more, but row {row} has {float(weights[row])!r}. "
            "To take rows out of a model again use forget, not negative weights."
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > LARGEST_WEIGHT:
        row = int(np.argmax(weights))
        raise InputError(
            f"sample_weight must not add up to more than {LARGEST_WEIGHT:g}, but row {row} alone has "
            f"{float(weights[row])!r}. Divide all weights by their largest: a common factor changes no "
            "maximum-likelihood estimate."
        )
    return None if (weights == 1).all() else weights


def read_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Table, AnyArray, IntArray, FloatArray | None]:
    """The rows, the classes among them, each row's position among these, and the weights."""
    table = read_table(X)
    if is_on_device_table(table):
        return (table, *_read_device_target(table, y, sample_weight))
    if isinstance(sample_weight, str):
        whole = table
        table, position = set_aside(whole, sample_weight, "sample_weight")
        sample_weight = whole.column(position)
    elif is_series(sample_weight):
        sample_weight = _in_order_of(X, sample_weight)
    if is_record(X) and isinstance(y, (str, int, np.generic)) and _position(table, y) is None:
        classes, codes = read_target([y], table.n_rows)  # the class of the one row
    elif isinstance(y, str) or (isinstance(y, (int, np.integer)) and table.integer_names is not None):
        table, classes, codes = split_target(table, y)
    else:
        _warn_of_other_order(X, y)
        classes, codes = read_target(y, table.n_rows)
    require_rows(table)
    return table, classes, codes, read_weights(sample_weight, table.n_rows)


def _read_device_target(table: Any, y: Any, sample_weight: Any) -> tuple[AnyArray, Any, Any]:
    """The classes of rows on a GPU and, there too, their codes and weights."""
    require_rows(table)
    if isinstance(y, str):
        raise InputError(f"The classes of rows on a GPU must be given as an array, not as the name of a column, {y!r}.")
    weights = read_weights(on_host(sample_weight), table.n_rows)
    if is_on_device(y):
        return (*device_codes(y, table.n_rows, table.device), device_weights(weights))
    classes, codes = read_target(y, table.n_rows)
    return classes, on_device(codes.astype(np.int32), table.device), device_weights(weights)


# -- rows with labels -------------------------------------------------------------------------------------------------


def _same_rows_in_other_order(X: Any, values: Any) -> bool:
    """Whether a frame and a Series of pandas have the same distinct row labels, but not in the same order."""
    if not is_series(values) or not hasattr(X, "iloc") or len(X) != len(values) or X.index.equals(values.index):
        return False
    return bool(X.index.is_unique and values.index.is_unique and X.index.isin(values.index).all())


def _in_order_of(X: Any, weights: Any) -> Any:
    """The weights in the order of the rows of X, where both have the same row labels."""
    return weights.loc[X.index] if _same_rows_in_other_order(X, weights) else weights


def _warn_of_other_order(X: Any, y: Any) -> None:
    """Say that classes are matched by position, as in scikit-learn, which permutes them on purpose."""
    if _same_rows_in_other_order(X, y):
        warn(
            "X and y have the same row labels in another order. The classes are matched by position, as in "
            "scikit-learn; use y.loc[X.index] to match them by label, or y.to_numpy() to keep this order."
        )
