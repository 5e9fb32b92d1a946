"""Tables whose cells are on a GPU, and stay there.

Anything that offers the CUDA array interface is read (CuPy, PyTorch, Numba, JAX), frames of cuDF, and CuPy's CSR
matrices. Whatever the GPU engine does not compute is read from here as from any table, block by block through the host.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from naively._table.table import ArrayTable, Kind, SparseTable, Table
from naively.errors import InputError, InputTypeError
from naively.typing import AnyArray, FloatArray, IntArray

C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "unsigned short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "bool": "unsigned char",
}
"""What a cell is called in CUDA."""


def is_on_device(X: Any) -> bool:
    """Whether the cells of X are on a GPU; nothing is imported to find out."""
    module = type(X).__module__.partition(".")[0]
    if module == "torch":
        return bool(getattr(X, "is_cuda", False))
    return module in ("cudf", "cupyx") or hasattr(X, "__cuda_array_interface__")


def device_table(X: Any) -> Table:
    """The table of cells that are on a GPU.

    Parameters
    ----------
    X : two-dimensional array, tensor, cuDF frame or CSR matrix on a GPU
    """
    cupy = _cupy()
    library = type(X).__module__.partition(".")[0]
    if library == "cudf":
        return DeviceTable(cupy.ascontiguousarray(X.to_cupy()), "cupy", names=tuple(map(str, X.columns)))
    if hasattr(X, "tocsr"):
        return DeviceSparseTable(X.tocsr())
    values, bfloat16 = device_array(X)
    if values.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {values.ndim}D array instead, of shape {values.shape}. Reshape your data with "
            "X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        )
    if values.dtype.name not in C_TYPES:
        raise InputTypeError(
            "X on a GPU must hold float64, float32, float16, bfloat16, booleans or integers other than uint64, got "
            f"dtype {values.dtype}. Convert it first."
        )
    return DeviceTable(values, library, bfloat16=bfloat16)


def device_array(values: Any) -> tuple[Any, bool]:
    """An array on a GPU as CuPy's, not copied, and whether its cells are the bits of bfloat16."""
    cupy = _cupy()
    if type(values).__module__.partition(".")[0] == "torch":
        torch = sys.modules["torch"]
        values = values.detach()
        if values.dtype == torch.bfloat16:
            return cupy.from_dlpack(values.view(torch.int16)).view(cupy.uint16), True
        return cupy.from_dlpack(values), False
    return cupy.asarray(values), False


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise InputTypeError(
            "X is on a GPU, and its rows are counted there with CuPy, which is not installed: "
            "pip install 'naively[gpu]' (for another CUDA version, cupy-cuda13x or the like). Or copy X to the host."
        ) from error
    return cupy


def on_device(values: AnyArray, device: int) -> Any:
    """An array of NumPy as one of CuPy on a GPU."""
    cupy = _cupy()
    with cupy.cuda.Device(device):
        return cupy.asarray(values)


def is_on_device_table(table: Table) -> bool:
    """Whether the cells of a table are on a GPU."""
    return isinstance(table, (DeviceTable, DeviceSparseTable))


def on_host(values: Any) -> Any:
    """An array as NumPy's, wherever it is."""
    if type(values).__module__.partition(".")[0] == "torch":
        return values.cpu().numpy()
    return values.get() if hasattr(values, "__cuda_array_interface__") else values


class DeviceTable(ArrayTable):
    """A two-dimensional array of numbers or booleans on a GPU.

    Parameters
    ----------
    values : cupy.ndarray
    library : str
        Where answers belong: "torch", or else "cupy".
    names : sequence of str, optional
    bfloat16 : bool, default=False
        Whether the cells are the bits of bfloat16 numbers.
    """

    def __init__(self, values: Any, library: str, names: Sequence[str] | None = None, bfloat16: bool = False):
        super().__init__(values, names)
        self.library, self.bfloat16 = library, bfloat16

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return int(self.values.device.id)  # type: ignore[attr-defined]

    @cached_property
    def c_type(self) -> dict[str, Any]:
        """How a CUDA source reads a cell: the names that it wants to be defined."""
        name = self.values.dtype.name
        half = 2 if self.bfloat16 else 1 if name == "float16" else 0
        return {"TYPE": C_TYPES[name], "FLOATS": int(name.startswith("float") or self.bfloat16), "HALF": half}

    def answer(self, values: Any) -> Any:
        """An array of CuPy as one of the library of X."""
        if self.library == "torch":
            return sys.modules["torch"].from_dlpack(values)
        return values

    @cached_property
    def kinds(self) -> Sequence[Kind]:
        kind: Kind = "truth" if self.values.dtype.kind == "b" else "number"
        kinds: list[Kind] = [kind] * self.n_columns
        if self.n_rows and self.c_type["FLOATS"]:
            for position in np.flatnonzero(np.isnan(self._host(self.values[0]))).tolist():
                if np.isnan(self._host(self.values[:, position])).all():
                    kinds[position] = "empty"
        return tuple(kinds)

    def _host(self, values: Any) -> AnyArray:
        cells: AnyArray = on_host(values)
        return (cells.astype(np.uint32) << 16).view(np.float32) if self.bfloat16 else cells

    def _block(self, positions: IntArray | None, rows: slice, dtype: Any, absent: Any) -> Any:
        return ArrayTable(self._host(self.values[rows]))._block(positions, slice(None), dtype, absent)

    def cells(self, positions: IntArray | None, rows: slice) -> Any:
        return Table.cells(self, positions, rows)

    def integers(self, positions: IntArray | None, rows: slice) -> IntArray:
        return ArrayTable(self._host(self.values[rows])).integers(positions, slice(None))

    def column(self, position: int) -> AnyArray:
        return self._host(self.values[:, position])

    def without(self, position: int) -> Table:
        raise InputError("The classes of rows on a GPU must be given as an array, y=..., not as a column of X.")

    def renamed(self, names: Sequence[str]) -> Table:
        return DeviceTable(self.values, self.library, names, self.bfloat16)

    def only_rows(self, places: IntArray) -> Table:
        import cupy

        return DeviceTable(self.values[cupy.asarray(places)], self.library, self._names, self.bfloat16)

    def host_rows(self, places: Any) -> ArrayTable:
        """Some rows, copied to the host, column by column: so they are asked for."""
        import cupy

        return ArrayTable(self._host(cupy.ascontiguousarray(self.values[places].T)).T, self._names)


class DeviceSparseTable(SparseTable):
    """A CSR matrix of CuPy; cells that are not stored are zeros."""

    library = "cupy"

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return int(self.matrix.data.device.id)

    @cached_property
    def c_type(self) -> dict[str, Any]:
        """How a CUDA source reads a stored cell."""
        name = self.matrix.data.dtype.name
        return {"TYPE": C_TYPES[name], "FLOATS": int(name.startswith("float")), "HALF": int(name == "float16")}

    def answer(self, values: Any) -> Any:
        """An array of CuPy, as it is."""
        return values

    def rows(self, positions: IntArray | None, rows: slice) -> Any:
        return SparseTable(self.matrix[rows].get()).rows(positions, slice(None))

    def column(self, position: int) -> AnyArray:
        return np.asarray(self.matrix[:, [position]].toarray().get().ravel())

    def without(self, position: int) -> Table:
        raise InputError("The classes of rows on a GPU must be given as an array, y=..., not as a column of X.")

    def renamed(self, names: Sequence[str]) -> Table:
        return DeviceSparseTable(self.matrix, names)

    def only_rows(self, places: IntArray) -> Table:
        import cupy

        return DeviceSparseTable(self.matrix[cupy.asarray(places)], self._names)


# -- classes and weights ----------------------------------------------------------------------------------------------

DIRECT_RANGE = 1 << 22
"""Whole numbers in such a range are coded by looking them up, not by sorting."""


def device_codes(y: Any, n_rows: int, device: int) -> tuple[AnyArray, Any]:
    """The sorted distinct classes (on the host), and the position of each row's class among them (on the GPU).

    Parameters
    ----------
    y : array of whole numbers or booleans on a GPU
    n_rows : int
    device : int
        The number of the GPU that the rows are on.
    """
    cupy = _cupy()
    values, _ = device_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.shape != (n_rows,):
        raise InputError(
            f"X and y must have as many rows: inconsistent numbers of samples, X has {n_rows}, y has shape "
            f"{values.shape}."
        )
    if values.dtype.kind not in "biu":
        raise InputTypeError(
            f"y on a GPU must hold whole numbers or booleans, got dtype {values.dtype}. Convert it: y.astype(int)."
        )
    if int(values.device.id) != device:
        with cupy.cuda.Device(device):
            values = cupy.array(values)
    if n_rows == 0:
        return on_host(values), values.astype(cupy.int32)
    low, high = (int(bound) for bound in cupy.stack([values.min(), values.max()]).get())
    if high - low >= DIRECT_RANGE:
        classes, codes = cupy.unique(values, return_inverse=True)
        return on_host(classes), codes.astype(cupy.int32)
    shifted = (values.astype(cupy.int64, copy=False) - low).astype(cupy.int32)
    present = cupy.zeros(high - low + 1, dtype=bool)
    present[shifted] = True
    found = np.flatnonzero(on_host(present))
    classes = (found + low).astype(values.dtype.name)
    if len(found) == high - low + 1:
        return classes, shifted
    numbering = cupy.asarray(np.cumsum(on_host(present)) - 1, dtype=cupy.int32)
    return classes, numbering[shifted]


def device_weights(weights: FloatArray | None) -> Any:
    """Checked weights as an array on the present GPU; None if every row weighs one."""
    return None if weights is None else _cupy().asarray(weights)


def device_labels(table: Any, codes: Any, classes: AnyArray) -> Any:
    """The classes of codes on a GPU: there, in the library of X, if they are numbers or booleans; else on the host."""
    if classes.dtype.kind not in "biuf":
        return classes[on_host(codes)]
    return table.answer(_cupy().asarray(classes)[codes])
