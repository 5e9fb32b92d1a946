"""Eight classes at a time: stored values times the slopes of their columns, summed in the processor's registers.

The compiler does not find this loop by itself, so it is written in its vector instructions; each term is rounded, and
then added, as in a loop over one class. With the JIT switched off the same name is plain NumPy.
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic

from naively.typing import AnyArray, FloatArray

LANES = 8
MOST_STRIPS = 4
"""So many times eight classes are summed in one walk through the cells of a row."""

CELLS_AHEAD = 16
"""The slopes of a column are asked for so many cells before they are needed."""

if config.DISABLE_JIT:

    def sum_products(
        values: FloatArray, indices: AnyArray, first: Any, last: Any, slope: FloatArray, start: int, sums: FloatArray
    ) -> None:
        """Write to the sums (classes,), from `start` on, those of ``values * slope[indices]`` over some cells.

        The classes are as many as `slope` (columns, classes) has, a multiple of eight, or those of four strips.
        """
        stop = min(start + LANES * MOST_STRIPS, slope.shape[1])
        sums[start:stop] = 0.0
        for cell in range(int(first), int(last)):
            sums[start:stop] += values[cell] * slope[indices[cell], start:stop]

else:  # pragma: no cover (what is below runs in the compiler, or compiled)
    from llvmlite import ir
    from numba.core import cgutils

    from naively._kernels.prefetching import ask_for

    _DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
    _PLACE = ir.IntType(64)

    @intrinsic
    def sum_products(
        typing_context: Any,
        values: Any,
        indices: Any,
        first: Any,
        last: Any,
        slope: Any,
        start: Any,
        sums: Any,
    ) -> Any:
        """Write to the sums (classes,), from `start` on, those of ``values * slope[indices]``; as above."""
        return types.void(values, indices, first, last, slope, start, sums), _generate

    def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, indices, slope, sums = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 1, 4, 6)
        )
        first, last, start = (arguments[place] for place in (2, 3, 5))
        width = cgutils.unpack_tuple(builder, slope.shape, 2)[1]
        n_cells = cgutils.unpack_tuple(builder, values.shape, 1)[0]
        last_cell = builder.sub(n_cells, _PLACE(1))

        def slopes_of(cell: Any) -> Any:
            column = builder.load(builder.gep(indices.data, [cell]))
            column = builder.sext(column, _PLACE) if column.type.width < _PLACE.width else column
            return builder.gep(slope.data, [builder.add(builder.mul(column, width), start)])

        def strip_at(pointer: Any, strip: int) -> Any:
            return builder.bitcast(builder.gep(pointer, [_PLACE(LANES * strip)]), _DOUBLES.as_pointer())

        def sum_strips(n_strips: int) -> None:
            totals = [cgutils.alloca_once(builder, _DOUBLES) for _ in range(n_strips)]
            for total in totals:
                builder.store(ir.Constant(_DOUBLES, [0.0] * LANES), total)
            with cgutils.for_range_slice(builder, first, last, _PLACE(1)) as (cell, _):
                later = builder.add(cell, _PLACE(CELLS_AHEAD))
                later = builder.select(builder.icmp_signed("<", later, last_cell), later, last_cell)
                slopes_later = slopes_of(later)
                for strip in range(n_strips):
                    ask_for(builder, strip_at(slopes_later, strip))
                slopes, value = slopes_of(cell), builder.load(builder.gep(values.data, [cell]))
                value = builder.insert_element(ir.Constant(_DOUBLES, ir.Undefined), value, ir.IntType(32)(0))
                everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
                value = builder.shuffle_vector(value, value, everywhere)
                for strip, total in enumerate(totals):
                    product = builder.fmul(value, builder.load(strip_at(slopes, strip), align=8))
                    builder.store(builder.fadd(builder.load(total), product), total)
            for strip, total in enumerate(totals):
                place = builder.gep(sums.data, [start])
                builder.store(builder.load(total), strip_at(place, strip), align=8)

        left = builder.sdiv(builder.sub(width, start), _PLACE(LANES))
        for n_strips in range(1, MOST_STRIPS + 1):
            compare = "==" if n_strips < MOST_STRIPS else ">="
            with builder.if_then(builder.icmp_signed(compare, left, _PLACE(n_strips))):
                sum_strips(n_strips)
        return context.get_dummy_value()
