"""Single values of the model file, each checked before anything is made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.errors import ModelFileError
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
