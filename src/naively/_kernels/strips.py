"""Eight columns at a time, summed over some rows of one class, all sums kept in the processor's registers.

The compiler does not find this loop by itself, so it is written in its vector instructions. Cells are found by address:
arrays and the columns of data frames are read where they are. With the JIT switched off the same names are plain NumPy.

The sums start at an anchor that exceeds all that will be added. Each addition then loses exactly
``value - (new - old)``, three operations where a sum from zero needs six (Dekker 1971), and the anchor is taken away
at the end without rounding.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from naively._kernels.compiling import inlined
from naively.statistics._sums import two_product
from naively.typing import AnyArray, FloatArray, IntArray

LANES = 8
MOST_ROWS = 256
"""So many rows may be added to one anchor: the more, the less of each value stays in the high part of its sum."""

HEADROOM = 4.0 * MOST_ROWS
"""The anchor, in units of the largest value."""

if config.DISABLE_JIT:

    def cells_at(address: int, n_cells: int, like: AnyArray) -> AnyArray:
        """The cells that lie side by side from an address on."""
        memory = (ctypes.c_char * (n_cells * like.itemsize)).from_address(int(address))
        return np.asarray(memory).view(like.dtype)

    def sum_strip(
        like: AnyArray,
        address: int,
        stride: int,
        order: IntArray,
        first: int,
        last: int,
        column: int,
        ahead: int,
        recent: FloatArray,
    ) -> None:
        """Sum the eight columns from an address on over the rows ``order[first:last]``.

        Memory so many bytes `ahead` of each row is asked for: the next block comes while this one is summed.
        Written to ``recent[:, column : column + 8]``: sums, what their rounding lost, the same of the squares, the
        largest size, and what the rounding of each square lost (apart, as it is far smaller than the loss of the sums).
        """
        rows = [cells_at(address + row * stride, LANES, like) for row in order[first:last].tolist()]
        for lane, values in enumerate(np.array(rows, dtype=np.float64).T):
            largest = np.abs(values).max()
            with np.errstate(over="ignore", invalid="ignore"):
                squares, errors = two_product(values, values)
                total = _anchored(values, HEADROOM * largest)
                square = _anchored(squares, HEADROOM * largest * largest)
            recent[:, column + lane] = *total, *square, largest, sum(errors.tolist())

    def copy_strip(like: AnyArray, addresses: IntArray, stride: int, column: int, cells: FloatArray) -> bool:
        """Copy eight columns into cells (rows, 8); whether any of them is NaN."""
        for lane in range(LANES):
            for row in range(len(cells)):
                cells[row, lane] = cells_at(addresses[column + lane] + row * stride, 1, like)[0]
        return bool(np.isnan(cells).any())

    def _anchored(values: FloatArray, anchor: float) -> tuple[float, float]:
        high, low = anchor, 0.0
        for value in values:
            new = high + value
            low += value - (new - high)
            high = new
        return high - anchor, low

else:  # pragma: no cover (what is below runs in the compiler, or compiled)
    from llvmlite import ir
    from numba import carray
    from numba.core import cgutils

    from naively._kernels.prefetching import ask_for

    _DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
    _SINGLES = ir.VectorType(ir.FloatType(), LANES)

    @intrinsic
    def _pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return types.voidptr(address), generate

    @inlined
    def cells_at(address: int, n_cells: int, like: AnyArray) -> AnyArray:
        """The cells that lie side by side from an address on."""
        return carray(_pointer(address), (n_cells,), like.dtype)  # type: ignore[no-any-return]

    @intrinsic
    def sum_strip(
        typing_context: Any,
        like: Any,
        address: Any,
        stride: Any,
        order: Any,
        first: Any,
        last: Any,
        column: Any,
        ahead: Any,
        recent: Any,
    ) -> Any:
        """Sum the eight columns from an address on over the rows ``order[first:last]``; as above."""
        signature = types.void(like, address, stride, order, first, last, column, ahead, recent)
        return signature, _generate_strip

    def _generate_strip(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, address, stride, _, first, last, column, ahead, _ = arguments
        order, recent = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (3, 8)
        )
        is_single = signature.args[0].dtype == types.float32

        def read(position: Any, asks: bool = False) -> Any:
            row = builder.load(builder.gep(order.data, [position]))
            pointer = builder.add(address, builder.mul(row, stride))
            if asks:
                ask_for(builder, builder.inttoptr(builder.add(pointer, ahead), cgutils.voidptr_t))
            if not is_single:
                return builder.load(builder.inttoptr(pointer, _DOUBLES.as_pointer()), align=8)
            return builder.fpext(builder.load(builder.inttoptr(pointer, _SINGLES.as_pointer()), align=4), _DOUBLES)

        def each_row() -> Any:
            return cgutils.for_range_slice(builder, first, last, ir.Constant(first.type, 1))

        length = cgutils.unpack_tuple(builder, recent.shape, 2)[1]
        place = column
        for result in _generate_sums(builder, each_row, read):
            cells = builder.bitcast(builder.gep(recent.data, [place]), _DOUBLES.as_pointer())
            builder.store(result, cells, align=8)
            place = builder.add(place, length)
        return context.get_dummy_value()

    @intrinsic
    def copy_strip(typing_context: Any, like: Any, addresses: Any, stride: Any, column: Any, cells: Any) -> Any:
        """Copy eight columns into cells (rows, 8); whether any of them is NaN."""
        return types.boolean(like, addresses, stride, column, cells), _generate_copy

    def _generate_copy(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, stride, column, _ = arguments
        addresses, cells = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (1, 4)
        )
        vector = _SINGLES if signature.args[0].dtype == types.float32 else _DOUBLES
        lanes = [ir.Constant(column.type, lane) for lane in range(LANES)]
        starts = [builder.load(builder.gep(addresses.data, [builder.add(column, lane)])) for lane in lanes]
        flags = ir.VectorType(ir.IntType(1), LANES)
        missing = cgutils.alloca_once_value(builder, ir.Constant(flags, [0] * LANES))
        with cgutils.for_range(builder, cgutils.unpack_tuple(builder, cells.shape, 2)[0]) as loop:
            values = ir.Constant(vector, ir.Undefined)
            for start, lane in zip(starts, lanes, strict=True):
                address = builder.add(start, builder.mul(loop.index, stride))
                value = builder.load(builder.inttoptr(address, vector.element.as_pointer()))
                values = builder.insert_element(values, value, lane)
            values = builder.fpext(values, _DOUBLES) if vector is _SINGLES else values
            builder.store(builder.or_(builder.load(missing), builder.fcmp_unordered("uno", values, values)), missing)
            row = builder.gep(cells.data, [builder.mul(loop.index, ir.Constant(column.type, LANES))])
            builder.store(values, builder.bitcast(row, _DOUBLES.as_pointer()), align=8)
        together = builder.bitcast(builder.load(missing), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", together, ir.Constant(ir.IntType(LANES), 0))

    def _generate_sums(builder: Any, each_row: Callable[[], Any], read: Callable[..., Any]) -> list[Any]:
        def number(value: float) -> Any:
            return ir.Constant(_DOUBLES, [value] * LANES)

        def variable(value: Any) -> Any:
            return cgutils.alloca_once_value(builder, value)

        def function(name: str, n_arguments: int) -> Any:
            kind = ir.FunctionType(_DOUBLES, [_DOUBLES] * n_arguments)
            return cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")

        def add(high: Any, low: Any, value: Any) -> None:
            old = builder.load(high)
            new = builder.fadd(old, value)
            lost = builder.fsub(value, builder.fsub(new, old))
            builder.store(new, high)
            builder.store(builder.fadd(builder.load(low), lost), low)

        largest = variable(number(0.0))
        with each_row() as (position, _):
            size, so_far = builder.call(function("fabs", 1), [read(position)]), builder.load(largest)
            builder.store(builder.select(builder.fcmp_ordered(">", size, so_far), size, so_far), largest)
        size = builder.load(largest)
        anchor = builder.fmul(size, number(HEADROOM))
        square_anchor = builder.fmul(anchor, size)
        total, square = variable(anchor), variable(square_anchor)
        total_low, square_low, errors = (variable(number(0.0)) for _ in range(3))
        with each_row() as (position, _):
            value = read(position, asks=True)
            squared = builder.fmul(value, value)
            add(total, total_low, value)
            add(square, square_low, squared)
            error = builder.call(function("fma", 3), [value, value, builder.fneg(squared)])
            builder.store(builder.fadd(builder.load(errors), error), errors)
        return [
            builder.fsub(builder.load(total), anchor),
            builder.load(total_low),
            builder.fsub(builder.load(square), square_anchor),
            builder.load(square_low),
            size,
            builder.load(errors),
        ]
