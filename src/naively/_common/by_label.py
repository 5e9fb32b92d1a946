"""Numbers that carry labels, Series and data frames, are matched by label as dicts are, never by position.

An index that pandas made up itself, 0, 1, 2, ..., and columns that Polars called column_0, column_1, ... are no labels.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from naively.errors import ParameterError, brief, listed
from naively.typing import AnyArray, FloatArray


def is_series(value: Any) -> bool:
    """Whether a value is a Series of pandas, the only kind that has labels."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series)


def is_pandas_frame(value: Any) -> bool:
    """Whether a value is a data frame of pandas, which is slow to say what attributes it lacks."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame of any library: two-dimensional, with names for its columns."""
    return not isinstance(value, np.ndarray) and hasattr(value, "columns") and len(getattr(value, "shape", ())) == 2


def by_label(value: Any, where: str) -> Any:
    """A Series with labels as a dict, one without as a list; anything else as it is.

    Parameters
    ----------
    value : any
    where : str
        What the user calls the parameter, for errors.

    Examples
    --------
    >>> import pandas as pd
    >>> by_label(pd.Series({"b": 0.7, "a": 0.3}), "prior"), by_label(pd.Series([0.3, 0.7]), "prior")
    ({'b': 0.7, 'a': 0.3}, [0.3, 0.7])
    """
    if not is_series(value):
        return value
    labels = labels_of_index(value.index)
    if labels is None:
        return value.tolist()
    if len(set(labels)) < len(labels):
        twice = next(label for place, label in enumerate(labels) if label in labels[:place])
        raise ParameterError(f"{where} has the label {twice!r} more than once. Give each label one number.")
    return dict(zip(labels, value.tolist(), strict=True))


def labels_of_index(index: Any) -> list[Any] | None:
    """The labels of an index of pandas; None if it only counts rows."""
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    return [label[0] if isinstance(label, tuple) and len(label) == 1 else label for label in index.tolist()]


def labels_of_columns(frame: Any) -> list[Any] | None:
    """The names of a frame's columns; None if its library made them up."""
    if hasattr(frame, "index"):
        return labels_of_index(frame.columns)
    names = list(getattr(frame, "column_names", frame.columns))
    return None if names == [f"column_{place}" for place in range(len(names))] else names


def ordered_columns(frame: Any, labels: Sequence[Any], where: str) -> FloatArray:
    """The numbers of a data frame whose columns are named by label, its columns in the order of `labels`.

    Parameters
    ----------
    frame : data frame
    labels : sequence
        Libraries whose columns are named by text only may have ``str(label)`` there.
    where : str
    """
    names = labels_of_columns(frame)
    values = _as_floats(frame, where)
    if names is None:
        return values
    if not hasattr(frame, "index"):
        written = {str(label): label for label in labels}
        names = [written.get(name, name) for name in names]
    return values[:, _places(names, labels, where, "column")]


def ordered_square(frame: Any, labels: Sequence[Any], where: str) -> FloatArray:
    """The numbers of a data frame whose rows and columns are named by label, both in the order of `labels`."""
    values = ordered_columns(frame, labels, where)
    rows = labels_of_index(frame.index) if hasattr(frame, "index") else None
    if rows is not None:
        return values[_places(rows, labels, where, "row")]
    names = labels_of_columns(frame)
    if names is not None and list(map(str, names)) != list(map(str, labels)):
        raise ParameterError(
            f"{where} names its columns, {listed(names)}, but not its rows, and the columns are not in the order "
            f"{listed(labels)} in which rows without names are read. Give a dict, or name the rows as well."
        )
    return values


def _places(names: Sequence[Any], labels: Sequence[Any], where: str, axis: str) -> AnyArray:
    known = set(labels)
    for problem, which in (
        (f"has no {axis} for", [label for label in labels if label not in names]),
        (f"has a {axis} for something else:", [name for name in names if name not in known]),
    ):
        if which:
            raise ParameterError(f"{where} {problem} {which[0]!r}. It must have one for each of {listed(labels, 10)}.")
    return np.array([list(names).index(label) for label in labels], dtype=np.int64)


def _as_floats(frame: Any, where: str) -> FloatArray:
    try:
        return np.asarray(frame, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{where} must hold numbers, got {brief(frame)}.") from error


def labels_held(value: Any) -> tuple[AnyArray, ...]:
    """The labels of a Series or data frame, as arrays: what else than its numbers can change in place."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, (pandas.Series, pandas.DataFrame)):
        return ()
    return tuple(np.array(axis.tolist(), dtype=object) for axis in value.axes)


def code_of(label: Any, classes: Sequence[Any], where: str) -> int:
    """The place of one class, given by its label; whatever is none of them is refused."""
    if isinstance(label, np.generic):
        label = label.item()
    places = {known: place for place, known in enumerate(classes)}
    try:
        place = places.get(label)
    except TypeError:  # what cannot be a label: a list, or pandas.NA where it meets a label of its own hash
        place = None
    if place is None:
        raise ParameterError(f"{where} must be one of the classes {listed(classes, 20)}, got {brief(label)}.")
    return place


def refuse_unknown(where: str, given: Mapping[Any, Any], labels: Sequence[Any]) -> None:
    """Refuse a mapping with a key that is none of the labels."""
    known = set(labels)
    unknown = [key for key in given if key not in known]
    if unknown:
        raise ParameterError(
            f"{where} names {unknown[0]!r}, which the model does not know: it knows {listed(labels, 10)}. Leave it "
            "out; partial_fit(classes=...) declares a class of which there are no rows yet."
        )
