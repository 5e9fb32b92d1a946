"""The engines there are, and which one reads a source."""

from __future__ import annotations

from typing import Any

from naively.engines._gpu import GpuEngine
from naively.engines._local import LocalEngine
from naively.engines.base import Engine
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
