"""Error-free arithmetic inside the compiled kernels.

Compiled, the product uses the processor's fused multiply-add. With the JIT switched off (``NUMBA_DISABLE_JIT=1``, as in
the coverage run) the same names are plain Python, so that every kernel can be stepped through.
"""

from __future__ import annotations

from typing import Any

from numba import config
from numba.core import types
from numba.extending import intrinsic

from naively._kernels.compiling import inlined, kernel
from naively.statistics._sums import two_product
from naively.typing import FloatArray

if config.DISABLE_JIT:

    def product_error(a: float, b: float, product: float) -> float:
        """The rounding error of ``product = a * b``."""
        return float(two_product(a, b)[1])

else:

    @intrinsic
    def _fused_multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.fma(*arguments)

        return types.float64(types.float64, types.float64, types.float64), generate

    @inlined
    def product_error(a: float, b: float, product: float) -> float:
        """The rounding error of ``product = a * b``."""
        return _fused_multiply_add(a, b, -product)  # type: ignore[no-any-return]


@inlined
def accumulate(high: FloatArray, low: FloatArray, row: int, column: int, value: float, value_error: float) -> None:
    """Add ``value + value_error`` to one cell, keeping the rounding error (Ogita, Rump and Oishi 2005, Sum2)."""
    old = high[row, column]
    new = old + value
    value_rounded = new - old
    high[row, column] = new
    low[row, column] += ((old - (new - value_rounded)) + (value - value_rounded)) + value_error


@inlined
def accumulate_closely(
    high: FloatArray, low: FloatArray, row: int, column: int, value: float, value_error: float
) -> None:
    """Add a term with the error kept small beside the sum, so that it does not grow with the square of the terms."""
    total, error = _two_sum(high[row, column], value)
    error += low[row, column] + value_error
    new = total + error
    high[row, column] = new
    low[row, column] = error - (new - total)


@kernel
def fold(recent: FloatArray, recent_low: FloatArray, high: FloatArray, low: FloatArray, row: int) -> None:
    """Move one row of recent sums into the long-run ones, by an accurate double-double addition.

    `accumulate` errs with the square of the number of terms; folded often, the error stays near 2**-94 however many
    rows there are, and a constant column is still seen to be constant.
    """
    for column in range(high.shape[1]):
        new, error = _two_sum(recent[row, column], recent_low[row, column])
        total, total_error = _two_sum(high[row, column], new)
        rest, rest_error = _two_sum(low[row, column], error)
        total_error += rest
        new = total + total_error
        total_error = (total_error - (new - total)) + rest_error
        high[row, column] = new + total_error
        low[row, column] = total_error - (high[row, column] - new)
        recent[row, column] = recent_low[row, column] = 0.0


@inlined
def _two_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    b_rounded = total - a
    return total, (a - (total - b_rounded)) + (b - b_rounded)
