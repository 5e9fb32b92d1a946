"""Rows on a GPU with their classes, as the kernels of `_kernels/gpu` read them.

What is added up with rounding is added in an order that the rows alone decide; all else is added as whole numbers,
whose order means nothing. So the result is the same to the last bit in every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from naively._kernels.gpu import attributes, kernel
from naively._table.device import DeviceTable, on_host
from naively.statistics._sums import Sum
from naively.statistics.base import Summary
from naively.typing import FloatArray, IntArray

LARGEST_TABLE_BYTES = 1 << 30
BLOCK_ROWS = 1 << 14
"""Rows that a block of `order_by_class` puts in order."""


@dataclass(frozen=True)
class DeviceRows:
    """Rows on a GPU with their classes and weights.

    Parameters
    ----------
    table : DeviceTable or DeviceSparseTable
    codes : cupy.ndarray of int32
        Each row's position among the classes; negative for rows that are left out.
    weights : cupy.ndarray of float64 or None
    n_classes : int
    exact : bool, default=False
        Whether sums keep what rounding leaves out, as on the host: recipes that weigh evidence decide by their last
        bits, and so weigh alike wherever rows were counted.
    """

    table: Any
    codes: Any
    weights: Any
    n_classes: int
    exact: bool = False

    def kernel(self, source: str, name: str, **options: Any) -> Any:
        """A function of a CUDA source for the cells of the table."""
        return kernel(source, name, self.table.device, **{**self.table.c_type, **options})

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.table.n_rows)

    @property
    def n_processors(self) -> int:
        """The number of multiprocessors of the GPU."""
        return attributes(self.table.device)["MultiProcessorCount"]

    @property
    def n_blocks(self) -> int:
        """As many blocks as keep the GPU busy, for kernels that stride over the rows."""
        return 16 * self.n_processors

    @property
    def shared_bytes(self) -> int:
        """The shared memory that a block can have."""
        return attributes(self.table.device)["MaxSharedMemoryPerBlockOptin"]

    @cached_property
    def unit(self) -> float:
        """What a whole unit of weight is worth: a power of two, such that whole weights stay whole and sums fit."""
        total = 0.0 if self.weights is None else float(self.weights.sum())
        return 1.0 if total == 0 else 2.0 ** float(np.ceil(np.log2(total)) - 61)

    @cached_property
    def units(self) -> Any:
        """The rows' weights as whole numbers of units; None where each weighs one."""
        import cupy

        return None if self.weights is None else cupy.rint(self.weights / self.unit).astype(cupy.uint64)

    def as_sum(self, counts: Any) -> Sum:
        """Counted units as weights."""
        if self.weights is None:
            return Sum(on_host(counts).astype(np.float64))
        whole = on_host(counts).astype(np.uint64)
        high = whole.astype(np.float64)
        rest = (whole - high.astype(np.uint64)).astype(np.int64).astype(np.float64)  # what float64 does not hold
        return Sum.of_parts(high * self.unit, rest * self.unit)

    @cached_property
    def class_weight(self) -> Sum:
        """The weight of each class; a light one is known as well as a heavy one: what units leave out is added, too."""
        import cupy

        if self.weights is None:
            return self.as_sum(self._units_of_class(self.codes, 64))
        finer = self.unit * 2.0**-30
        rest = cupy.rint((self.weights - self.units.astype(cupy.float64) * self.unit) / finer).astype(cupy.int64)
        left_out = on_host(self._units_of_class(rest, 1)).view(np.int64).astype(np.float64) * finer
        return self.as_sum(self._units_of_class(self.units, 1)) + Sum(left_out)

    def _units_of_class(self, units: Any, n_copies: int) -> Any:
        """The units of each class; without weights, the number of rows."""
        import cupy

        table = cupy.zeros((n_copies, self.n_classes), dtype=cupy.uint64)
        count = self.kernel("counts", "count_codes", WEIGHTED=int(self.weights is not None), LANES=0)
        sizes = (np.int64(self.n_rows), np.int32(self.n_classes))
        count((self.n_blocks,), (256,), (self.codes, units, *sizes, table))
        return table.sum(axis=0)

    @cached_property
    def n_of_class(self) -> IntArray:
        """The number of rows of each class, whatever they weigh."""
        alike = self if self.weights is None else DeviceRows(self.table, self.codes, None, self.n_classes)
        return alike.class_weight.high.astype(np.int64)

    @property
    def row_type(self) -> str:
        """What holds the number of a row."""
        return "unsigned int" if self.n_rows < 2**32 else "long long"

    @cached_property
    def by_class(self) -> tuple[Any, Any]:
        """The rows that count in the order of their classes, and where each class begins, and the last ends.

        Rows of a class come in any order, and not in the same one every time.
        """
        import cupy

        begins = cupy.asarray(np.concatenate([[0], np.cumsum(self.n_of_class)]))
        room = 12 * self.n_classes
        if room > self.shared_bytes:
            order = cupy.argsort(self.codes)
            narrow = cupy.uint32 if self.row_type == "unsigned int" else cupy.int64
            return order[int((self.codes < 0).sum()) :].astype(narrow), begins
        order = cupy.empty(int(self.n_of_class.sum()), cupy.uint32 if self.n_rows < 2**32 else cupy.int64)
        put = self.kernel("order", "order_by_class", ROW=self.row_type)
        put.max_dynamic_shared_size_bytes = max(room, 49152)
        sizes = (np.int64(self.n_rows), np.int32(self.n_classes))
        put((-(-self.n_rows // BLOCK_ROWS),), (1024,), (self.codes, *sizes, begins[:-1].copy(), order), shared_mem=room)
        return order, begins

    def columns(self, positions: IntArray) -> Any:
        """Positions of columns on the GPU."""
        import cupy

        return cupy.asarray(positions, dtype=cupy.int64)


def row_major(values: Any) -> tuple[Any, Any]:
    """Cells whose rows are contiguous, and the number of cells from one row to the next."""
    import cupy

    if values.strides[1] != values.itemsize:
        values = cupy.ascontiguousarray(values)
    return values, np.int64(values.strides[0] // values.itemsize)


def floats(table: DeviceTable, piece: slice, positions: IntArray) -> Any:
    """A block of float64 on the GPU."""
    import cupy

    block = table.values[piece][:, cupy.asarray(positions)]
    if table.bfloat16:
        block = (block.astype(cupy.uint32) << 16).view(cupy.float32)
    return block.astype(cupy.float64)


def answers(numbers: Any, summary: Summary, logs: bool = False) -> Any:
    """What is asked about numbers, as numbers: a logarithm, or 0 and 1."""
    import cupy

    if logs:
        return cupy.log(numbers)
    if summary.unlike == "counts":
        truth = (numbers < 0) | (numbers != cupy.floor(numbers))
    elif summary.unlike == "binary":
        truth = (numbers != 0) & (numbers != 1)
    else:
        truth = numbers > summary.above
    return cupy.where(cupy.isfinite(numbers), truth, numbers)


def fetched(values: Any) -> FloatArray:
    """A large array, copied to the host through memory that the GPU reaches directly."""
    import cupyx

    host: FloatArray = cupyx.empty_pinned(values.shape, dtype=values.dtype)
    values.get(out=host)
    return host
