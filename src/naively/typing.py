"""The types that signatures speak of.

What a parameter takes has a name that ends in "Like". A type says that a table can be one, not that its columns are
right: that is checked when it is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
AnyArray: TypeAlias = NDArray[Any]
Label: TypeAlias = bool | int | float | str


class HasShape(Protocol):
    """An array, a sparse matrix, or a data frame or column of any library."""

    @property
    def shape(self) -> Any:
        """Its size along each dimension."""


class HasArray(Protocol):
    """What NumPy can turn into an array."""

    def __array__(self) -> AnyArray:
        """The values as a NumPy array."""


TableLike: TypeAlias = HasShape | HasArray | Mapping[Any, Any] | list[Any] | tuple[Any, ...]
"""X: an array, a data frame, a sparse matrix, a dict of columns or of the cells of one row, a list of dicts, rows or
texts."""

TargetLike: TypeAlias = HasShape | HasArray | Sequence[Any]
"""y: one class per row, or the name of the column of X that holds them."""

WeightsLike: TypeAlias = HasShape | HasArray | Sequence[float] | str
"""A weight per row, or the name of the column of X that holds them."""

ColumnsLike: TypeAlias = str | int | Sequence[str | int]
"""Columns, by name or by position."""

PriorLike: TypeAlias = str | Mapping[Any, float] | HasShape | HasArray | Sequence[Any]
"""The probability of each class: "estimated", "uniform", by label, in the order of the classes, or so for each row."""

LossLike: TypeAlias = Mapping[Any, Any] | HasShape | HasArray | Sequence[Any]
"""What each mistake costs, as a matrix or by label."""

PathLike: TypeAlias = str | os.PathLike[str]
"""The path of a file."""


class HasArrowStream(Protocol):
    """What gives its rows through the Arrow C stream interface: a reader, a relation, the result of a query."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with the stream."""


class HasColumns(Protocol):
    """A lazy frame: of Polars, DuckDB, Ibis, PySpark or Dask."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""


SourceLike: TypeAlias = str | os.PathLike[str] | HasArrowStream | HasColumns | Iterable[Any]
"""Rows that are no table in memory: paths of files, an Arrow stream, a lazy frame, an iterator of frames or pairs."""

if TYPE_CHECKING:
    from naively.families import ByKind, Family, Joint, Tree
    from naively.smoothing import Smoothing

    FamiliesLike: TypeAlias = str | Family | ByKind | Mapping[Any, Any]
    FactorsLike: TypeAlias = Joint | Tree | Sequence[Joint | Tree]
    SmoothingLike: TypeAlias = str | float | Smoothing | Mapping[Any, Any]
else:  # this module is below those, so at run time nothing more is said
    FamiliesLike = Any
    """A family, its name, a dict of those by column, or a `ByKind`."""
    FactorsLike = Any
    """A `Joint`, a `Tree`, or a list of them."""
    SmoothingLike = Any
    """A smoothing, its name, a pseudo-count, or a dict of those by column."""
