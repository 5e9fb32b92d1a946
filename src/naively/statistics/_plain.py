"""Statistics as plain lists, dicts, strings and numbers, and back; all that is read is checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from naively._table.labels import label_order
from naively.errors import ModelFileError
from naively.statistics._sums import Sum
from naively.typing import AnyArray


def require(condition: bool, message: str) -> None:
    """Refuse the file if something in it is not so."""
    if not condition:
        raise ModelFileError(message)


def text_from(value: Any) -> str:
    """A string, and nothing else."""
    require(isinstance(value, str), f"text was expected, got {value!r:.60}")
    return str(value)


def label_from(value: Any) -> Any:
    """A label."""
    require(isinstance(value, (bool, int, float, str)), f"a label was expected, got {value!r:.60}")
    return value


def flag_from(value: Any) -> bool:
    """True or false, and no number in their place."""
    require(isinstance(value, bool), f"true or false was expected, got {value!r:.60}")
    return bool(value)


def whole_from(value: Any, least: int, most: int) -> int:
    """A whole number within limits."""
    fits = type(value) is int and least <= value <= most
    require(fits, f"a whole number from {least} to {most} was expected, got {value!r:.60}")
    return int(value)


def whole_numbers_from(values: Any, dtype: Any) -> AnyArray:
    """A list of whole numbers that fit the type."""
    require(isinstance(values, list) and all(type(value) is int for value in values), "whole numbers were expected")
    limits = np.iinfo(dtype)
    require(not values or (min(values) >= limits.min and max(values) <= limits.max), "a whole number is too large")
    return np.array(values, dtype=dtype)


def floats_from(values: Any, shape: tuple[int, ...]) -> AnyArray:
    """A list of finite numbers, of which there are as many as the shape has places."""
    require(isinstance(values, list) and all(type(value) in (int, float) for value in values), "numbers were expected")
    array = np.array(values, dtype=np.float64)
    require(bool(np.isfinite(array).all()), "a number is not finite")
    return array.reshape(shape)


def ascends(values: AnyArray) -> bool:
    """Whether each of some numbers is above the one before; differences of them could overflow."""
    return bool((values[1:] > values[:-1]).all())


def categories_from(entry: Any, n_columns: int) -> tuple[tuple[Any, ...], ...]:
    """The values of columns, sorted and distinct."""
    categories = tuple(tuple(label_from(label) for label in labels) for labels in entry)
    require(len(categories) == n_columns, "as many lists of categories as columns")
    for labels in categories:
        require(list(labels) == sorted(set(labels), key=label_order), "categories must be sorted and distinct")
    return categories


def sum_to_dict(values: Sum) -> dict[str, Any]:
    """A sum: shape, high and low parts, row by row."""
    low = None if values.low is None else values.low.ravel().tolist()
    return {"shape": list(values.shape), "high": values.high.ravel().tolist(), "low": low}


def sum_from(entry: Mapping[str, Any], shape: tuple[int, ...], nonnegative: bool) -> Sum:
    """The inverse of `sum_to_dict`."""
    require(tuple(entry["shape"]) == shape, f"a table has the shape {entry['shape']!r:.60}, expected {list(shape)}")
    high = floats_from(entry["high"], shape)
    low = None if entry["low"] is None else floats_from(entry["low"], shape)
    require(not nonnegative or bool((high >= 0).all()), "a weight, count or square is negative")
    fits = low is None or bool((np.abs(low) <= np.spacing(np.abs(high))).all())
    require(fits, "the low part of a sum is larger than the rounding of its high part")
    return Sum(high, low)


def peak_to_dict(peak: AnyArray | None) -> dict[str, Any]:
    """The largest that sums have been, row by row; nothing where nothing was ever forgotten."""
    return {} if peak is None else {"peak": peak.ravel().tolist()}


def peak_from(entry: Mapping[str, Any], shape: tuple[int, ...]) -> AnyArray | None:
    """The inverse of `peak_to_dict`; files that were written before there were peaks have none."""
    if "peak" not in entry:
        return None
    peak = floats_from(entry["peak"], shape)
    require(bool((peak >= 0).all()), "the largest weight or square is negative")
    return peak
