"""How often each value below 16 occurs in 32 columns, 16 rows at a time.

A value becomes a bit of its own, ``1 << value``, and the bits of many rows are added as digits are: three of the same
worth make one of that worth and one of twice it (Harley and Seal). What comes out of 16 rows are carries worth 16,
which are counted, and bits worth 1, 2, 4 and 8, which wait for the next 16 rows. The compiler does not find this by
itself, so it is written in its vector instructions. With the JIT switched off the same name is plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from naively.typing import AnyArray, IntArray

LANES = 32
VALUES = 16
LEVELS = 4
ROWS = 1 << LEVELS
"""So many rows are counted at once: those whose carries are worth one in the counts."""

STATE = LEVELS + VALUES + 1
"""What is held of a strip, in rows of `LANES` words of 16 bits: bits worth 1, 2, 4 and 8, carries of each value, all
bits that were seen in cells."""


def _add_rows(
    rows: list[Any], waiting: list[Any], add: Callable[[Any, Any, Any], tuple[Any, Any]]
) -> tuple[Any, list[Any]]:
    """The carries of all the rows, and the bits that wait after them; `add` gives the digit and the carry of three."""
    after = []
    for digit in waiting:
        carries = []
        for first, second in zip(rows[::2], rows[1::2], strict=True):
            digit, carry = add(digit, first, second)
            carries.append(carry)
        after.append(digit)
        rows = carries
    return rows[0], after


if config.DISABLE_JIT:

    def count_nibbles(cells: AnyArray, starts: IntArray, column: int, state: AnyArray) -> None:
        """Count 32 cells from a column on of each of 16 rows that start there; of larger values only bits are right."""
        held = state.reshape(STATE, LANES)
        words = [cells[start + column :][:LANES].astype(np.uint16) for start in starts.tolist()]
        rows = [np.uint16(1) << (word & np.uint16(VALUES - 1)) for word in words]
        carries, held[:LEVELS] = _add_rows(rows, list(held[:LEVELS]), lambda a, b, c: (a ^ b ^ c, a & b | c & (a | b)))
        for value in range(VALUES):
            held[LEVELS + value] += carries >> np.uint16(value) & np.uint16(1)
        held[-1] |= np.bitwise_or.reduce(words)

else:  # pragma: no cover (what is below runs in the compiler, or compiled)
    from llvmlite import ir

    _BYTES, _WORDS = (ir.VectorType(ir.IntType(bits), LANES) for bits in (8, 16))
    _PLACE = ir.IntType(64)

    @intrinsic
    def count_nibbles(typing_context: Any, cells: Any, starts: Any, column: Any, state: Any) -> Any:
        """Count 32 cells from a column on of each of 16 rows; as above."""
        return types.void(cells, starts, column, state), _generate

    def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells, starts, state = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 1, 3)
        )

        def all_of(number: int) -> Any:
            return ir.Constant(_WORDS, [number] * LANES)

        def held(row: int) -> Any:
            return builder.bitcast(builder.gep(state.data, [_PLACE(LANES * row)]), _WORDS.as_pointer())

        def read(row: int) -> Any:
            start = builder.load(builder.gep(starts.data, [_PLACE(row)]))
            pointer = builder.gep(cells.data, [builder.add(start, arguments[2])])
            return builder.zext(builder.load(builder.bitcast(pointer, _BYTES.as_pointer()), align=1), _WORDS)

        def add(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
            carry = builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))
            return builder.xor(builder.xor(a, b), c), carry

        seen, rows = builder.load(held(STATE - 1), align=2), []
        for row in range(ROWS):
            word = read(row)
            seen = builder.or_(seen, word)
            rows.append(builder.shl(all_of(1), builder.and_(word, all_of(VALUES - 1))))
        carries, after = _add_rows(rows, [builder.load(held(level), align=2) for level in range(LEVELS)], add)
        for level, bits in enumerate(after):
            builder.store(bits, held(level), align=2)
        for value in range(VALUES):
            carry = builder.and_(builder.lshr(carries, all_of(value)), all_of(1))
            counter = held(LEVELS + value)
            builder.store(builder.add(builder.load(counter, align=2), carry), counter, align=2)
        builder.store(seen, held(STATE - 1), align=2)
        return context.get_dummy_value()
