"""Answers that are tables: data frames of the library that the user works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

LARGEST_INT64 = 2**63 - 1


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
    if types is None:
        return nw.from_dict(dict(data), backend=backend).to_native()
    result = nw.from_dict(dict(data), schema=dict(types), backend=backend)
    texts = [name for name, kind in types.items() if kind == nw.String and None in data[name]]
    return result.with_columns(*(_with_nulls(name, data[name], backend) for name in texts)).to_native()


def no_rows(like: Any) -> Any:
    """A frame of the library of `like` that holds none of its rows; None if that is no data frame."""
    import narwhals as nw

    frame = nw.from_native(like, eager_only=True, pass_through=True)
    return frame.head(0).to_native() if isinstance(frame, nw.DataFrame) else None


def _with_nulls(name: str, cells: Sequence[Any], backend: Any) -> Any:
    """A column of text whose missing cells are null: pandas before version 3 writes them out as "None"."""
    import narwhals as nw

    known = nw.new_series("known", [cell is not None for cell in cells], nw.Boolean(), backend=backend)
    return nw.when(known).then(nw.col(name)).alias(name)


def tidy_frame(
    data: dict[str, list[Any]],
    kinds: Mapping[str, str],
    like: Any = None,
    otherwise: Callable[[dict[str, list[Any]]], Any] = dict,
) -> Any:
    """Columns as a frame of the library of `like`, or of pandas, or, without pandas, as a dict of lists.

    Parameters
    ----------
    data : dict of lists
    kinds : mapping
        What each column holds, as NumPy's letters: "i", "u", "b", "f"; anything else is text.
    like : any, optional
        A data frame, for its library.
    otherwise : callable, default=dict
        What makes an answer of the dict where there is no library.

    Examples
    --------
    >>> frame = tidy_frame({"column": ["x0"], "score": [1.5]}, {"column": "U", "score": "f"})
    >>> frame["score"].tolist()
    [1.5]
    """
    import narwhals as nw

    types = {"i": nw.Int64(), "u": nw.Int64(), "b": nw.Boolean(), "f": nw.Float64()}
    written = {
        name: values if kinds[name] in types else [_as_text(value) for value in values] for name, values in data.items()
    }
    chosen = {name: types.get(kinds[name], nw.String()) for name in data}
    chosen |= {name: nw.UInt64() for name in data if kinds[name] == "u" and max(data[name], default=0) > LARGEST_INT64}
    frame = native_frame(written, like, chosen)
    return otherwise(data) if frame is None else frame


def _as_text(value: Any) -> Any:
    """A cell of a column of text; a whole number that no type of a frame holds is written, a lone surrogate escaped."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return str(value) if isinstance(value, int) else value
