"""Sums in double-double: the arithmetic that lets statistics be added and subtracted without drift.

A `Sum` is an unevaluated pair ``high + low`` of float64 arrays, some 106 bits. Adding and subtracting lose at most some
units of 2**-104, so merging and forgetting are exact for counts and for all practical purposes for moments, and the
variance of data far from zero does not cancel. Algorithms: Dekker 1971, Knuth's two-sum, Joldes, Muller and Popescu
2017 (addition), Rump, Ogita and Oishi 2008 (`exact_slices`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from naively.typing import AnyArray, FloatArray, IntArray

_SPLITTER = 134217729.0  # 2**27 + 1
_MOST_SLICES = 6
RELATIVE_NOISE = 2.0**-90
"""What is left of a sum of values counts as rounding, and so as zero, below this share of the largest it has been."""

WEIGHT_NOISE = 2.0**-44
"""What is left of a weight counts as nothing below this share of the largest weight that its class has had.

A weight that has been scaled many times is known to some 106 bits, but rows are forgotten with a weight of 53 bits.
"""

SMALLEST_SQUARE = 2.0**-1000
"""Squares of about this size and below are not exact."""

FEW_CELLS = 1 << 12
"""Of fewer cells NumPy counts those that are not 0 in a fraction of the time that `any` takes to begin."""


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its rounding error."""
    total = a + b
    b_rounded = total - a
    return total, (a - (total - b_rounded)) + (b - b_rounded)


def fast_two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """`two_sum` for ``abs(a) >= abs(b)``."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded product and its rounding error."""
    product = a * b
    a_high = _SPLITTER * a
    a_high = a_high - (a_high - a)
    a_low = a - a_high
    b_high = _SPLITTER * b
    b_high = b_high - (b_high - b)
    b_low = b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def any_nonzero(values: FloatArray) -> bool:
    """Whether any of some numbers is not 0."""
    return bool(np.count_nonzero(values)) if values.size < FEW_CELLS else bool(values.any())


@dataclass(frozen=True, eq=False)
class Sum:
    """An array of double-double numbers.

    Parameters
    ----------
    high : ndarray of float64
        The sums rounded to float64.
    low : ndarray of float64, optional
        What the rounding left out. None stands for zeros and takes no memory: the usual case for counts.

    Examples
    --------
    >>> tiny, huge = Sum.of([1e-12]), Sum.of([1e12])
    >>> (tiny + huge - huge).high
    array([1.e-12])
    """

    high: FloatArray
    low: FloatArray | None = None

    def __post_init__(self) -> None:
        # One layout in memory, however the sums came about: what is added up over them then rounds alike.
        object.__setattr__(self, "high", np.asarray(self.high, order="C"))
        if self.low is not None:
            object.__setattr__(self, "low", np.asarray(self.low, order="C"))

    @classmethod
    def of(cls, values: Any) -> Sum:
        """Plain numbers as a Sum."""
        return cls(np.asarray(values, dtype=np.float64))

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...]) -> Sum:
        """The empty sum."""
        return cls(np.zeros(shape))

    @classmethod
    def of_parts(cls, high: FloatArray, error: FloatArray) -> Sum:
        """A sum and the errors gathered beside it, made non-overlapping."""
        if not any_nonzero(error):
            return cls(high)
        high, low = fast_two_sum(*two_sum(high, error))
        return cls(high, low if any_nonzero(low) else None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.high.shape

    def reshaped(self, shape: tuple[int, ...]) -> Sum:
        """The numbers in another shape."""
        return Sum(self.high.reshape(shape), None if self.low is None else self.low.reshape(shape))

    def __getitem__(self, index: Any) -> Sum:
        return Sum(self.high[index], None if self.low is None else self.low[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sum):
            return NotImplemented
        return (
            self.shape == other.shape
            and bool(np.array_equal(self.high, other.high))
            and bool(np.all(self.low_or_zero == other.low_or_zero))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def low_or_zero(self) -> AnyArray | float:
        """The low part, a plain 0.0 standing for an array of zeros."""
        return 0.0 if self.low is None else self.low

    def __add__(self, other: Sum) -> Sum:
        high, error = two_sum(self.high, other.high)
        if self.low is None and other.low is None:
            return Sum(high, error if any_nonzero(error) else None)
        low, low_error = two_sum(self.low_or_zero, other.low_or_zero)
        high, low = fast_two_sum(high, error + low)
        high, low = fast_two_sum(high, low + low_error)
        return Sum(high, low if any_nonzero(low) else None)

    def __neg__(self) -> Sum:
        return Sum(-self.high, None if self.low is None else -self.low)

    def __sub__(self, other: Sum) -> Sum:
        return self + -other

    def __mul__(self, other: Sum | float) -> Sum:
        other = other if isinstance(other, Sum) else Sum.of(other)
        high, error = two_product(self.high, other.high)
        error = error + (self.high * other.low_or_zero + self.low_or_zero * other.high)
        high, low = fast_two_sum(high, error)
        return Sum(high, low if any_nonzero(low) else None)

    def __truediv__(self, other: Sum) -> Sum:
        first = self.high / other.high
        rest = self - other * Sum(first)
        second = rest.high / other.high
        rest = rest - other * Sum(second)
        return Sum.of_parts(*two_sum(first, second)) + Sum(rest.high / other.high)

    def total(self, axis: int) -> Sum:
        """The sum along one axis, by halving."""
        halves = Sum(np.moveaxis(self.high, axis, 0), None if self.low is None else np.moveaxis(self.low, axis, 0))
        if len(halves.high) == 0:
            return Sum.zeros(halves.shape[1:])
        while (n := len(halves.high)) > 1:
            merged = halves[: n // 2] + halves[n // 2 : 2 * (n // 2)]
            if n % 2:
                merged = Sum.concatenated([merged, halves[n - 1 :]], axis=0)
            halves = merged
        return halves[0]

    @classmethod
    def concatenated(cls, sums: list[Sum], axis: int) -> Sum:
        """Several sums, one after the other along an axis."""
        high = np.concatenate([part.high for part in sums], axis=axis)
        if all(part.low is None for part in sums):
            return cls(high)
        lows = [np.zeros(part.shape) if part.low is None else part.low for part in sums]
        return cls(high, np.concatenate(lows, axis=axis))

    def spread(self, shape: tuple[int, ...], index: Any) -> Sum:
        """A larger array of zeros that holds this sum at `index`."""
        high = np.zeros(shape)
        high[index] = self.high
        if self.low is None:
            return Sum(high)
        low = np.zeros(shape)
        low[index] = self.low
        return Sum(high, low)

    def without_noise(self, scale: FloatArray) -> Sum:
        """The sum with what is mere rounding beside `scale` set to zero."""
        return self.zeroed(np.abs(self.high) <= RELATIVE_NOISE * scale)

    def less(self, other: Sum, peak: AnyArray | float) -> Sum:
        """Weights once a part of them is taken away; what is but rounding counts as nothing.

        Parameters
        ----------
        other : Sum
            What is taken away.
        peak : array that broadcasts against the sum
            The largest weight that the class of each has had: rounding is judged by it.
        """
        left = self - other
        noise = (other.high != 0) & (np.abs(left.high) <= WEIGHT_NOISE * peak)
        return left.zeroed(noise)

    def zeroed(self, where: AnyArray) -> Sum:
        """The sum with zeros in some places."""
        if not (where & (self.high != 0)).any():
            return self
        return Sum(np.where(where, 0.0, self.high), None if self.low is None else np.where(where, 0.0, self.low))

    def is_finite(self) -> bool:
        """Whether no overflow or infinity has entered the sum."""
        parts = (self.high,) if self.low is None else (self.high, self.low)
        return all(np.count_nonzero(np.isfinite(part)) == part.size for part in parts)


def exact_slices(values: FloatArray, n_terms: int) -> Iterator[FloatArray]:
    """Cut numbers into slices of which any `n_terms` down a column can be added in float64 without rounding.

    The slices of a value add up to the value (to 2**-200 of the largest in its column). This makes exact sums out of
    plain ones: the NumPy reference of every compiled sum stands on it. Use a slice before asking for the next, which
    takes its place in memory: fresh memory for each would take longer than all that is computed.
    """
    rest, slice_ = values, np.empty(values.shape)
    headroom = 2.0 ** (int(n_terms).bit_length() + 1)
    for turn in range(_MOST_SLICES):
        largest = np.abs(rest, out=slice_).max(axis=0) if len(rest) else np.zeros(rest.shape[1:])
        if not largest.any():
            return
        grid = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0)))) * headroom
        np.add(rest, grid, out=slice_)
        np.subtract(slice_, grid, out=slice_)
        rest = rest - slice_ if turn == 0 else np.subtract(rest, slice_, out=rest)
        yield slice_
    if rest.any():
        yield rest


class Grouping:
    """Rows gathered by class, so that each sum is one `reduceat`; rows with a negative code are left out."""

    def __init__(self, codes: IntArray, n_classes: int):
        self.n_classes = n_classes
        narrow = codes.astype(np.int16) if n_classes < 1 << 15 else codes  # 16 bits are sorted by radix, in one sweep
        self.order = np.argsort(narrow, kind="stable")
        ordered = codes[self.order]
        skipped = int(np.searchsorted(ordered, 0))
        if skipped:
            self.order, ordered = self.order[skipped:], ordered[skipped:]
        self.ordered = ordered

    @cached_property
    def starts(self) -> IntArray:
        """Where the rows of each class begin that has any."""
        return np.flatnonzero(np.diff(self.ordered, prepend=-1))

    @cached_property
    def present(self) -> IntArray:
        """The classes that have rows."""
        return np.asarray(self.ordered[self.starts])

    def sum(self, values: FloatArray) -> Sum:
        """The exact per-class sum down the rows."""
        shape = (self.n_classes, *values.shape[1:])
        result: Sum | None = None
        for slice_ in exact_slices(values[self.order], len(self.order)):
            term = Sum(np.add.reduceat(slice_, self.starts, axis=0))
            result = term if result is None else result + term
        if result is None:
            return Sum.zeros(shape)
        return result if len(self.present) == self.n_classes else result.spread(shape, self.present)


def sum_by_code(codes: IntArray, weights: FloatArray, n_codes: int) -> Sum:
    """The exact sum of the weights of each code; negative codes are left out."""
    if (codes < 0).any():
        codes, weights = codes[codes >= 0], weights[codes >= 0]
    result = Sum.zeros(n_codes)
    for slice_ in exact_slices(weights, len(weights)):
        result = result + Sum.of(np.bincount(codes, weights=slice_, minlength=n_codes))
    return result
