"""Answers as data frames of the library that the user works with."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any


def native_frame(data: Mapping[str, Any], like: Any, types: Mapping[str, Any] | None = None) -> Any:
    """Columns as a data frame of the library of `like`, of pandas if that is no data frame, else None.

    Parameters
    ----------
    data : mapping from str to sequence
        The columns.
    like : any
        What the user gave.
    types : mapping from str to narwhals type, optional
        By default they follow from the data.
    """
    import narwhals as nw

    frame = nw.from_native(like, eager_only=True, pass_through=True)
    frame = frame if isinstance(frame, nw.DataFrame) else None
    if frame is None and find_spec("pandas") is None:
        return None
    backend = nw.Implementation.PANDAS if frame is None else frame.implementation
    return nw.from_dict(dict(data), schema=None if types is None else dict(types), backend=backend).to_native()
