"""The engines there are, and which one reads a source."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from naively._common.by_label import is_pandas_frame
from naively._table.table import Table
from naively.engines._dask import DaskSource
from naively.engines._files import FilesSource
from naively.engines._gpu import GpuEngine
from naively.engines._lazy_source import LazySource
from naively.engines._local import LocalEngine
from naively.engines._spark import SparkSource
from naively.engines._streams import ArrowSource, IteratorSource
from naively.engines.base import Engine, Source
from naively.errors import InputTypeError, listed

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (GpuEngine(), LocalEngine())}
"""By name; the first that reads a source counts and scores it."""


def engine_of(source: Any) -> Engine:
    """The engine that reads a source.

    Examples
    --------
    >>> from naively._table.read import read_table
    >>> engine_of(read_table([[1.0], [2.0]])).name
    'local'
    """
    for engine in ENGINES.values():
        if engine.reads(source):
            return engine
    known = listed([engine.sources for engine in ENGINES.values()])
    raise InputTypeError(f"No engine reads a {type(source).__name__}. There are engines for {known}.")


SOURCES: list[type[Source]] = [FilesSource, LazySource, SparkSource, DaskSource, ArrowSource, IteratorSource]
"""What reads rows that are no table in memory; the first that reads what the user gave is taken."""


def source_of(X: Any, y: Any = None) -> Source | None:
    """What the user gave, opened as a source; None if it is to be read as a table.

    Parameters
    ----------
    X : Any
    y : Any, optional
        What was given beside it: a list of texts with a class for each is no list of paths.

    Examples
    --------
    >>> source_of([[1.0], [2.0]]) is None
    True
    >>> source_of(iter([([[1.0]], ["a"])])).name
    'iterator'
    """
    if isinstance(X, (np.ndarray, Table)) or is_pandas_frame(X):
        return None
    if isinstance(X, Source):
        return X
    if isinstance(X, (list, tuple)) and y is not None and not isinstance(y, str):
        return None
    X = _unwrapped(X)
    return next((kind(X) for kind in SOURCES if kind.reads(X)), None)


def _unwrapped(X: Any) -> Any:
    """What narwhals has wrapped as a lazy frame; anything else as it is."""
    narwhals = sys.modules.get("narwhals")
    return X.to_native() if narwhals is not None and isinstance(X, narwhals.LazyFrame) else X
