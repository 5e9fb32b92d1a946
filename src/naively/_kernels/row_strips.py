"""Eight rows at a time: cells turned on their side, and log-densities summed in the processor's registers.

The compiler does not find these loops by itself, so they are written in its vector instructions; each step is rounded
as in a loop over one row. With the JIT switched off the same names are plain NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from naively.typing import FloatArray

LANES = 8
SUMMED_ROWS = 16
"""So many rows are summed at once: they share what is read of the parameters."""

MOST_CLASSES = 8
"""And so many classes: they share what is read of the rows."""

if config.DISABLE_JIT:

    def copy_turned(cells: FloatArray, row: int, column: int, turned: FloatArray, at_row: int, at_column: int) -> None:
        """Copy eight rows of eight cells from a place on, as columns, to another place."""
        part = cells[row : row + LANES, column : column + LANES].T
        turned[at_row : at_row + LANES, at_column : at_column + LANES] = part

    def add_turned(cells: FloatArray, row: int, column: int, turned: FloatArray, at_row: int, at_column: int) -> None:
        """The same, added to what is there."""
        part = cells[row : row + LANES, column : column + LANES].T
        turned[at_row : at_row + LANES, at_column : at_column + LANES] += part

    def sum_bells(
        values: FloatArray,
        row: int,
        mean: FloatArray,
        scale: FloatArray,
        peak: FloatArray,
        code: int,
        n_classes: int,
        most: float,
        sums: FloatArray,
    ) -> None:
        """Write to ``sums[:n_classes, :16]`` those of ``peak - ((x - mean) * scale)**2``.

        The values (columns, rows) are those of 16 rows from `row` on, the parameters (columns, classes) those of 1, 2
        or 8 classes from `code` on. Deviations are held within ``+-most``; a cell that is NaN adds nothing.
        """
        codes = slice(code, code + n_classes)
        sums[:n_classes] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for column in range(len(values)):
                cells = values[column, row : row + SUMMED_ROWS]
                deviation = np.abs((cells - mean[column, codes, None]) * scale[column, codes, None])
                evidence = peak[column, codes, None] - np.minimum(deviation, most) ** 2
                sums[:n_classes] += np.where(np.isnan(cells), 0.0, evidence)

else:  # pragma: no cover (what is below runs in the compiler, or compiled)
    from llvmlite import ir
    from numba.core import cgutils

    _DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
    _FLAGS = ir.VectorType(ir.IntType(1), LANES)
    _LANE, _PLACE = ir.IntType(32), ir.IntType(64)
    _ZEROS = ir.Constant(_DOUBLES, [0.0] * LANES)

    @intrinsic
    def copy_turned(
        typing_context: Any, cells: Any, row: Any, column: Any, turned: Any, at_row: Any, at_column: Any
    ) -> Any:
        """Copy eight rows of eight cells as columns; as above."""
        return types.void(cells, row, column, turned, at_row, at_column), _generate_copy

    @intrinsic
    def add_turned(
        typing_context: Any, cells: Any, row: Any, column: Any, turned: Any, at_row: Any, at_column: Any
    ) -> Any:
        """Add eight rows of eight cells as columns; as above."""
        return types.void(cells, row, column, turned, at_row, at_column), _generate_addition

    def _generate_copy(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for row, pointer in _turned_cells(context, builder, signature, arguments):
            builder.store(row, pointer, align=8)
        return context.get_dummy_value()

    def _generate_addition(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for row, pointer in _turned_cells(context, builder, signature, arguments):
            builder.store(builder.fadd(builder.load(pointer, align=8), row), pointer, align=8)
        return context.get_dummy_value()

    def _turned_cells(context: Any, builder: Any, signature: Any, arguments: Any) -> Iterator[tuple[Any, Any]]:
        """Eight vectors of cells, turned on their side, and where each of them belongs."""
        rows = [builder.load(cells, align=8) for cells in _cells_at(context, builder, signature, arguments[:3], 0)]
        return zip(_turned(builder, rows), _cells_at(context, builder, signature, arguments[3:], 3), strict=True)

    def _cells_at(context: Any, builder: Any, signature: Any, place: Any, position: int) -> list[Any]:
        """Pointers to eight cells of eight rows of an array from a row and a column on."""
        array = context.make_array(signature.args[position])(context, builder, place[0])
        width = cgutils.unpack_tuple(builder, array.shape, 2)[1]
        start = builder.add(builder.mul(place[1], width), place[2])
        cells = (builder.gep(array.data, [builder.add(start, builder.mul(width, _PLACE(row)))]) for row in range(LANES))
        return [builder.bitcast(cell, _DOUBLES.as_pointer()) for cell in cells]

    def _turned(builder: Any, rows: list[Any]) -> list[Any]:
        """Eight vectors of eight as columns: neighbours at a distance of 1, 2 and 4 swap their parts of that size."""
        for size in (1, 2, 4):
            swapped = list(rows)
            for low in (place for place in range(LANES) if not place & size):
                high = low | size
                # Of both vectors together, as 0 ... 7 and 8 ... 15.
                first = [lane if not lane & size else LANES + lane - size for lane in range(LANES)]
                second = [lane + size if not lane & size else LANES + lane for lane in range(LANES)]
                swapped[low], swapped[high] = (
                    builder.shuffle_vector(rows[low], rows[high], ir.Constant(ir.VectorType(_LANE, LANES), chosen))
                    for chosen in (first, second)
                )
            rows = swapped
        return rows

    @intrinsic
    def sum_bells(
        typing_context: Any,
        values: Any,
        row: Any,
        mean: Any,
        scale: Any,
        peak: Any,
        code: Any,
        n_classes: Any,
        most: Any,
        sums: Any,
    ) -> Any:
        """Write the sums of 1, 2 or 8 classes for 16 rows; as above."""
        return types.void(values, row, mean, scale, peak, code, n_classes, most, sums), _generate_sums

    def _generate_sums(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, *parameters, sums = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 2, 3, 4, 8)
        )
        row, code, n_classes, most = (arguments[place] for place in (1, 5, 6, 7))
        n_columns, values_width = cgutils.unpack_tuple(builder, values.shape, 2)
        width = cgutils.unpack_tuple(builder, parameters[0].shape, 2)[1]
        sums_width = cgutils.unpack_tuple(builder, sums.shape, 2)[1]
        strips = range(0, SUMMED_ROWS, LANES)
        fabs = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_DOUBLES, [_DOUBLES]), f"llvm.fabs.v{LANES}f64"
        )

        def everywhere(value: Any) -> Any:
            lone = builder.insert_element(ir.Constant(_DOUBLES, ir.Undefined), value, _LANE(0))
            return builder.shuffle_vector(lone, lone, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))

        def strip_at(data: Any, place: Any, strip: int) -> Any:
            return builder.bitcast(builder.gep(data, [builder.add(place, _PLACE(strip))]), _DOUBLES.as_pointer())

        def sum_columns(n_chosen: int, held: bool) -> list[list[Any]]:
            totals = [[cgutils.alloca_once(builder, _DOUBLES) for _ in strips] for _ in range(n_chosen)]
            for total in (total for of_class in totals for total in of_class):
                builder.store(_ZEROS, total)
            with cgutils.for_range(builder, n_columns) as loop:
                place = builder.add(builder.mul(loop.index, values_width), row)
                cells = [builder.load(strip_at(values.data, place, strip), align=8) for strip in strips]
                known = [builder.fcmp_ordered("ord", cell, cell) for cell in cells]
                start = builder.add(builder.mul(loop.index, width), code)
                for chosen, of_class in enumerate(totals):
                    place = builder.add(start, _PLACE(chosen))
                    mean, scale, peak = (
                        everywhere(builder.load(builder.gep(part.data, [place]))) for part in parameters
                    )
                    for cell, is_known, total in zip(cells, known, of_class, strict=True):
                        deviation = builder.fmul(builder.fsub(cell, mean), scale)
                        if held:
                            deviation = builder.call(fabs, [deviation])
                            far = builder.fcmp_ordered(">", deviation, everywhere(most))
                            deviation = builder.select(far, everywhere(most), deviation)
                        evidence = builder.fsub(peak, builder.fmul(deviation, deviation))
                        evidence = builder.select(is_known, evidence, _ZEROS)
                        builder.store(builder.fadd(builder.load(total), evidence), total)
            return [[builder.load(total) for total in of_class] for of_class in totals]

        def are_finite(totals: list[list[Any]]) -> Any:
            odd = ir.Constant(_FLAGS, [0] * LANES)
            for total in (total for of_class in totals for total in of_class):
                nothing = builder.fsub(total, total)
                odd = builder.or_(odd, builder.fcmp_unordered("uno", nothing, nothing))
            return builder.icmp_unsigned("==", builder.bitcast(odd, ir.IntType(LANES)), ir.IntType(LANES)(0))

        def write(totals: list[list[Any]]) -> None:
            for chosen, of_class in enumerate(totals):
                for strip, total in zip(strips, of_class, strict=True):
                    place = builder.mul(sums_width, _PLACE(chosen))
                    builder.store(total, strip_at(sums.data, place, strip), align=8)

        for n_chosen in (1, 2, MOST_CLASSES):
            with builder.if_then(builder.icmp_signed("==", n_classes, _PLACE(n_chosen))):
                totals = sum_columns(n_chosen, held=False)
                write(totals)
                with builder.if_then(builder.not_(are_finite(totals)), likely=False):  # a number too far away, if any
                    write(sum_columns(n_chosen, held=True))
        return context.get_dummy_value()
