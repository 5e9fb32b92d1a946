"""Asking for memory before it is needed.

Rows that are read in the order of their classes, or columns in the order of a row's words, lie anywhere: the processor
cannot guess which comes next, the loop knows. With the JIT switched off nothing is asked for.
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic

from naively.typing import AnyArray

LINE_BYTES = 64

if config.DISABLE_JIT:

    def prefetch(cells: AnyArray, place: int) -> None:
        """Ask for the line of memory that holds a cell, which need not exist."""

else:  # pragma: no cover (what is below runs in the compiler, or compiled)
    from llvmlite import ir
    from numba.core import cgutils

    @intrinsic
    def prefetch(typing_context: Any, cells: Any, place: Any) -> Any:
        """Ask for the line of memory that holds a cell, which need not exist."""
        return types.void(cells, place), _generate

    def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        ask_for(builder, builder.gep(array.data, [arguments[1]]))
        return context.get_dummy_value()

    def ask_for(builder: Any, pointer: Any) -> None:
        """Generate the instruction that asks for the line of memory that a pointer leads to."""
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(pointer, cgutils.voidptr_t)
        builder.call(function, [address, number(0), number(3), number(1)])  # to read, to keep, data
