"""Dates, times of day and durations as numbers of seconds, whatever library they came from.

A date, with or without a time, is the number of seconds since the beginning of 1970 **by the clock on the wall**: of a
column or a cell with a time zone, what it shows there counts, and the zone is dropped. So nine in the morning is nine
in the morning in every zone, and in summer as in winter. A time of day is the number of seconds since midnight, a
duration the number of seconds that it lasts. Missing is NaN.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from naively._table.labels import encode_objects, is_missing
from naively.errors import InputTypeError
from naively.typing import AnyArray, FloatArray, IntArray, Label

DAY = 86400.0
EPOCH = datetime.datetime(1970, 1, 1)
COARSE_UNITS = ("Y", "M", "W", "D", "h", "m", "s")
"""NumPy's units that are whole seconds; finer ones are read in microseconds."""

TIME_OF_DAY = re.compile(r"\s*T?\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*")

Clock = Literal["date", "time", "duration"]


def clock_of(value: Any) -> Clock | None:
    """What a known cell is: a date (with or without a time), a time of day, a duration, or None of these.

    Examples
    --------
    >>> clock_of(datetime.date(2024, 2, 29)), clock_of(datetime.timedelta(hours=2)), clock_of("2024-02-29")
    ('date', 'duration', None)
    """
    if isinstance(value, (datetime.date, np.datetime64)):  # a datetime is a date
        return "date"
    if isinstance(value, datetime.time):
        return "time"
    return "duration" if isinstance(value, (datetime.timedelta, np.timedelta64)) else None


def clock_of_type(dtype: Any) -> Clock | None:
    """What a column of a type of narwhals holds."""
    import narwhals as nw

    if dtype in (nw.Datetime, nw.Date):
        return "date"
    if dtype == nw.Time:
        return "time"
    return "duration" if dtype == nw.Duration else None


# -- seconds ----------------------------------------------------------------------------------------------------------


def seconds_of_array(values: AnyArray) -> FloatArray:
    """A datetime64 or timedelta64 array as seconds.

    Examples
    --------
    >>> seconds_of_array(np.array(["1970-01-02", "NaT"], dtype="datetime64[D]")).tolist()
    [86400.0, nan]
    """
    kind = "datetime64" if values.dtype.kind == "M" else "timedelta64"
    whole = np.datetime_data(values.dtype)[0] in COARSE_UNITS
    counted = values.astype(f"{kind}[{'s' if whole else 'us'}]").astype(np.int64)
    return np.where(np.isnat(values), np.nan, counted / (1.0 if whole else 1e6))


def seconds_of_cells(cells: Sequence[Any]) -> FloatArray:
    """Python's and NumPy's dates, times or durations as seconds."""
    return np.array([np.nan if is_missing(cell) else _seconds(cell) for cell in cells], dtype=np.float64)


def _seconds(cell: Any) -> float:
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return float(seconds_of_array(np.array([cell]))[0])
    if isinstance(cell, datetime.datetime):
        return float((cell.replace(tzinfo=None) - EPOCH).total_seconds())
    if isinstance(cell, datetime.date):
        return DAY * (cell.toordinal() - EPOCH.toordinal())
    if isinstance(cell, datetime.time):
        return cell.hour * 3600.0 + cell.minute * 60.0 + cell.second + cell.microsecond / 1e6
    return float(cell.total_seconds())


def seconds_of_series(series: Any) -> FloatArray:
    """A narwhals series of dates, times or durations as seconds."""
    import narwhals as nw

    if series.dtype == nw.Datetime and series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    values = np.asarray(series.to_numpy())
    if values.dtype.kind in "mM":
        return seconds_of_array(values)
    return seconds_of_cells(series.to_list())


def dates_of_seconds(seconds: FloatArray, clock: str) -> Sequence[Any]:
    """Seconds as the dates or times of day that they stand for; the inverse of the functions above.

    Examples
    --------
    >>> dates_of_seconds(np.array([86400.0, np.nan]), "date")
    array(['1970-01-02T00:00:00.000000', 'NaT'], dtype='datetime64[us]')
    """
    known = ~np.isnan(seconds)
    moments = np.round(np.where(known, seconds, 0.0) * 1e6).astype("datetime64[us]")
    moments[~known] = np.datetime64("NaT")
    if clock == "date":
        return moments  # type: ignore[return-value]
    return [None if moment is None else moment.time() for moment in moments.astype(object).tolist()]


# -- labels -----------------------------------------------------------------------------------------------------------


def written(seconds: float, clock: str) -> str:
    """A date or a time of day as people write it.

    Examples
    --------
    >>> written(1709164800.0, "date"), written(1709218800.0, "date"), written(50400.0, "time")
    ('2024-02-29', '2024-02-29 15:00:00', '14:00:00')
    """
    moment = np.datetime64(round(seconds * 1e6), "us")
    if clock == "time":
        return _without_zeros(str(moment).partition("T")[2])
    day, _, time = str(moment).partition("T")
    return day if not seconds % DAY else f"{day} {_without_zeros(time)}"


def _without_zeros(time: str) -> str:
    return time.removesuffix(".000000")


def encode_seconds(seconds: FloatArray, clock: str) -> tuple[IntArray, list[Label]]:
    """Codes and labels of dates or times of day, whose labels are as people write them."""
    distinct, places = np.unique(seconds, return_inverse=True)
    names = [None if second != second else written(second, clock) for second in distinct.tolist()]
    codes, labels = encode_objects(names, "")
    return codes[places], labels


# -- text -------------------------------------------------------------------------------------------------------------


def clock_of_texts(texts: Sequence[Label]) -> Literal["date", "time"]:
    """Whether texts are dates, or all of them times of day such as "14:30"."""
    times = all(isinstance(text, str) and TIME_OF_DAY.fullmatch(text) for text in texts)
    return "time" if times and len(texts) else "date"


def seconds_of_texts(codes: IntArray, labels: Sequence[Label], clock: str, where: str) -> FloatArray:
    """Texts in ISO 8601, given by their codes, as seconds; the first that is none is named in the error.

    Examples
    --------
    >>> seconds_of_texts(np.array([0, -1]), ["1970-01-01T01:00+02:00"], "date", "Column 'when'").tolist()
    [3600.0, nan]
    """
    parsed = np.array([*(_parsed(label, clock) for label in labels), np.nan])
    wrong = np.flatnonzero(np.isnan(parsed[codes]) & (codes >= 0))
    if len(wrong):
        expected = "a time of day such as 14:30" if clock == "time" else "a date in ISO 8601, such as 2024-02-29 14:30"
        raise InputTypeError(
            f"{where} must hold {clock}s for its family, and row {wrong[0]} holds {labels[codes[wrong[0]]]!r:.60}, "
            f"which is not {expected}. Correct it, leave the cell empty (None), or convert the column, for example "
            "with pandas.to_datetime(column, format=...)."
        )
    return np.asarray(parsed[codes])


def _parsed(label: Label, clock: str) -> float:
    """A text as seconds; NaN if it is none."""
    read: Any = datetime.time if clock == "time" else datetime.datetime
    text = str(label).strip()
    if clock == "time" and text.find(":") == 1:
        text = f"0{text}"
    try:
        return _seconds(read.fromisoformat(text)) if isinstance(label, str) else float("nan")
    except ValueError:
        return float("nan")
