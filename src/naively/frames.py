"""Answers that are tables: a tidy data frame of the user's own library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any


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

    frame = nw.from_native(like, eager_only=True, pass_through=True)
    frame = frame if isinstance(frame, nw.DataFrame) else None
    if frame is None and find_spec("pandas") is None:
        return otherwise(data)
    types = {"i": nw.Int64(), "u": nw.Int64(), "b": nw.Boolean(), "f": nw.Float64()}
    schema: dict[str, Any] = {name: types.get(kinds[name], nw.String()) for name in data}
    backend = nw.Implementation.PANDAS if frame is None else frame.implementation
    return nw.from_dict(data, schema=schema, backend=backend).to_native()
