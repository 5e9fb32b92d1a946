"""Whatever the user holds becomes a `Table`, checked once.

One record is one row: a dict of single values, or a Series that is labelled by column names, is a table of one row. A
list, an array or any other Series of texts is one column of text. A text is never taken for a sequence.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from naively._common.by_label import by_label, is_pandas_frame, is_series
from naively._table.columns import Column, ColumnsTable, dates_column
from naively._table.dates import clock_of, clock_of_type, seconds_of_array, seconds_of_cells, seconds_of_series
from naively._table.device import device_table, is_on_device
from naively._table.labels import (
    LARGEST_EXACT,
    as_label,
    categories_of,
    encode_array,
    encode_objects,
    encode_series,
    exact_array,
    is_missing,
    object_array,
    without_mask,
)
from naively._table.table import ArrayTable, Kind, SparseTable, Table, made_up_names
from naively._text.tokenise import words
from naively.errors import InputError, InputTypeError, SchemaError, brief, listed
from naively.typing import AnyArray, FloatArray, IntArray, Label, TableLike

PROSE_CELLS = 256
PROSE_WORDS = 8
PROSE_DISTINCT = 0.5
PROSE_UNCAPITALISED = 0.5
PROSE_CHARACTERS = 500
"""A column of text is prose if its first cells have so many words without digits on average, such a share of the cells
is distinct, and such a share of the words does not begin with a capital (unless it is all capitals). No more than so
many characters of a cell are looked at."""

NUMBERS = frozenset(map(np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")))
"""The types of arrays whose cells are numbers or booleans of a common size."""

SMALL_FRAME = 1 << 18
"""A pandas frame of numbers with no more cells is copied into one array: a stream of small batches is read faster."""


NO_TABLE = "Rows of files, streams and lazy frames are answered by model.annotate(X)."
"""What to do with rows that are no table in memory, where a table is asked for."""


def read_table(X: Any) -> Table:
    """Read an array, data frame, sparse matrix, list of dicts, or mapping of columns; a table has been read."""
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ndarray):
        return (_texts_table(X) if X.dtype.kind in "OUT" else None) or array_table(without_mask(X))
    if (small := _small_pandas_table(X)) is not None:
        return small
    if is_on_device(X):
        return device_table(X)
    if _is_sparse(X):
        return SparseTable(_checked_csr(X))
    if isinstance(X, Mapping):
        return _records_table([X]) if is_record(X) else _mapping_table(X)
    if isinstance(X, (list, tuple)) and any(isinstance(row, Mapping) for row in X):
        return _records_table(X)
    if is_record(X):
        return _records_table([by_label(X, "X")])
    if isinstance(X, (list, tuple)) and len(X) and all(is_series(row) and _is_labelled_by_text(row) for row in X):
        return _records_table([by_label(row, f"X, row {place},") for place, row in enumerate(X)])
    if (texts := _texts_table(X)) is not None:
        return texts
    frame = _as_frame(X)
    return array_table(_as_array(X)) if frame is None else _frame_table(frame)


# -- records, and columns of text -------------------------------------------------------------------------------------


def is_record(X: Any) -> bool:
    """Whether X is one row: a dict of single values, or a Series of pandas that is labelled by names of columns."""
    if not isinstance(X, Mapping):
        return is_series(X) and _is_labelled_by_text(X)
    single = [name for name, value in X.items() if _is_cell(value)]
    if single and len(single) < len(X):
        column = next(name for name in X if name not in single)
        raise InputError(
            f"X must be one row, a dict of single values, or a table, a dict of columns, but {single[0]!r} holds a "
            f"single value and {column!r} several. Give all columns as lists of equal length."
        )
    return len(single) == len(X)


def _is_cell(value: Any) -> bool:
    """Whether a value is one cell, and not a column of cells: all that has no length, and texts."""
    return isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0


def _is_labelled_by_text(series: Any) -> bool:
    """Whether a Series of pandas is one row of a frame: its labels are names of columns."""
    return len(series) > 0 and all(isinstance(label, str) for label in series.index)


def _texts_table(X: Any) -> Table | None:
    """A list, an array or a Series of texts as one column of prose; None for anything else."""
    cells = _listed_cells(X)
    if not cells or not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return None
    if not any(isinstance(cell, str) for cell in cells):
        return None
    name = getattr(X, "name", None) if not isinstance(X, (list, tuple)) else None
    given = isinstance(name, str) and name != ""
    column = object_column(name if given else made_up_names(1)[0], object_array(cells))  # type: ignore[arg-type]
    column.kind = "text"
    return ColumnsTable([column], len(cells), named=given, is_text_list=True)


def _listed_cells(X: Any) -> list[Any] | None:
    """The cells of a one-dimensional collection; None if it is no such thing, or holds numbers."""
    if isinstance(X, (list, tuple)):
        return list(X) if len(X) and (isinstance(X[0], str) or is_missing(X[0])) else None
    if isinstance(X, np.ndarray):
        return without_mask(X).tolist() if X.ndim == 1 and X.dtype.kind in "OUT" else None
    if is_series(X):
        return None if getattr(X.dtype, "kind", "O") in "biufcmM" else list(X)
    if hasattr(X, "to_pylist") and not hasattr(X, "column_names") and not hasattr(X, "columns"):  # Arrow
        return list(X.to_pylist())
    if hasattr(X, "to_list") and not hasattr(X, "columns"):  # Polars
        return list(X.to_list())
    return None


def named(X: TableLike, names: Sequence[str]) -> Table:
    """An array or sparse matrix with names for its columns, to be used wherever a table X is.

    The names come through to `explain`, `parameters` and ``feature_names_in_``, and columns are matched by name.

    Parameters
    ----------
    X : array or sparse matrix
        It is not copied.
    names : sequence of str
        One for each column, distinct, for example ``vectorizer.get_feature_names_out()``.

    Returns
    -------
    Table
        It has a ``shape`` and gives rows by ``table[rows]``, as cross-validation wants.

    Examples
    --------
    >>> from naively import NaiveBayes, named
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> vectorizer = CountVectorizer()
    >>> counts = vectorizer.fit_transform(["free prize now", "lunch now", "free cash", "home for lunch"])
    >>> X = named(counts, vectorizer.get_feature_names_out())
    >>> model = NaiveBayes("textbook", families="multinomial").fit(X, ["spam", "ham", "spam", "ham"])
    >>> model.parameters()["free"]["probability"].round(3).tolist()
    [0.083, 0.25]
    """
    table = read_table(X)
    if table.named:
        raise InputTypeError(
            f"named(X, names) is for arrays and sparse matrices; this {type(X).__name__} has names already: "
            f"{listed(table.names)}. Rename its columns instead."
        )
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise InputTypeError(f"named(X, names) needs a list of names, one for each column; got {names!r:.60}.")
    given = tuple(_checked_name(name) for name in names)
    if len(given) != table.n_columns:
        raise SchemaError(f"named(X, names) needs a name for each of the {table.n_columns} columns, got {len(given)}.")
    if len(set(given)) < len(given):
        duplicated = [name for name, count in Counter(given).items() if count > 1]
        raise SchemaError(f"Column names must be distinct, but {listed(duplicated)} occur more than once.")
    return table.renamed(given)


def array_table(values: AnyArray) -> Table:
    """The table of a NumPy array."""
    if values.ndim != 2:
        hint = "Reshape your data with X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        raise InputError(f"Expected 2D array, got {values.ndim}D array instead, of shape {values.shape}. {hint}")
    kind = values.dtype.kind
    if kind in "biuf":
        return ArrayTable(values)
    if kind == "c":
        raise InputTypeError(
            f"Complex data not supported: X has dtype {values.dtype}. Give real and imaginary parts a column each."
        )
    if kind in "OUT":
        names = made_up_names(values.shape[1])
        columns = [object_column(name, values[:, position]) for position, name in enumerate(names)]
        return ColumnsTable(columns, len(values), named=False)
    if kind in "mM":
        return _clock_array_table(values)
    advice = "Decode the bytes first." if kind == "S" else ""
    raise InputTypeError(
        f"X must hold numbers, booleans, text, dates or durations, got an array of dtype {values.dtype}. {advice}"
    )


def _clock_array_table(values: AnyArray) -> Table:
    """The table of an array of durations, which are numbers, or of dates."""
    if values.dtype.kind == "m":
        return ArrayTable(seconds_of_array(values))
    names = made_up_names(values.shape[1])
    columns = [_dates_or_nothing(name, seconds_of_array(values[:, place])) for place, name in enumerate(names)]
    return ColumnsTable(columns, len(values), named=False)


def _dates_or_nothing(name: str, seconds: FloatArray, kind: Kind = "date") -> Column:
    return dates_column(name, "empty" if np.isnan(seconds).all() else kind, lambda: seconds)


def object_column(name: str, values: AnyArray) -> Column:
    """A column of arbitrary Python objects; its kind is that of its known cells."""
    kind = _kind_of_objects(values, f"Column {name!r}")
    if kind in ("date", "time", "duration"):
        return _clock_column(name, kind, seconds_of_cells(values.tolist()))

    def numbers() -> AnyArray:
        number: Any = np.longdouble if np.longdouble in map(type, values) else float
        try:
            return np.array([number("nan" if is_missing(value) else value) for value in values])
        except OverflowError as error:
            raise InputError(f"Column {name!r} holds a whole number too large for a float64: {error}.") from error

    if kind == "label" and is_prose(values[:PROSE_CELLS].tolist()):
        kind = "text"
    return Column(
        name, kind, numbers, lambda: encode_array(np.asarray(values), f"Column {name!r}"), None, values.tolist
    )


def _clock_column(name: str, clock: Any, seconds: FloatArray) -> Column:
    """A column of dates, of times of day, or of durations, which are numbers."""
    if clock == "duration":
        return Column(name, "number", lambda: seconds, lambda: encode_array(seconds, f"Column {name!r}"))
    return dates_column(name, clock, lambda: seconds)


def _kind_of_objects(values: AnyArray, where: str) -> Any:
    """What a column of objects holds, or "duration"."""
    if values.dtype.kind in "UT":
        return "label"
    kinds: set[str] = set()
    for value_type in {type(value) for value in values}:
        examples = ((row, value) for row, value in enumerate(values) if type(value) is value_type)
        row, known = next(((row, value) for row, value in examples if not is_missing(value)), (0, None))
        if known is None:
            continue
        if isinstance(known, (float, np.floating)):
            kinds.add("number")  # an infinite one as well, which is refused as a number
            continue
        if (clock := clock_of(known)) is not None:
            kinds.add(clock)
            continue
        label = as_label(known, f"{where}, row {row}")
        kinds.add("label" if isinstance(label, str) else "truth" if isinstance(label, bool) else "number")
    if len(kinds) > 1:
        return "mixed"
    return kinds.pop() if kinds else "empty"


def is_prose(cells: Sequence[Any]) -> bool:
    """Whether a column of text is prose, judged by its first cells: not names, codes or a few long answers.

    Examples
    --------
    >>> is_prose(["Please find attached the report that you asked for last week.", "red"])
    False
    >>> is_prose(["Please find attached the report that you asked for last week.", None])
    True
    >>> is_prose(["Flat 3, 12 Long Lane, Little Snoring, Near Fakenham, Norfolk, England, United Kingdom"])
    False
    """
    texts = [cell[:PROSE_CHARACTERS] for cell in cells if isinstance(cell, str)]
    n_characters = sum(map(len, texts))
    if n_characters < 2 * PROSE_WORDS * max(len(texts), 1) or len(set(texts)) < PROSE_DISTINCT * len(texts):
        return False
    found = [word for text in texts for word in _prose_words(text)]
    n_names = sum(word[0].isupper() and not word.isupper() for word in found)
    return len(found) >= PROSE_WORDS * len(texts) and len(found) - n_names >= PROSE_UNCAPITALISED * len(found)


def _prose_words(text: str) -> list[str]:
    """The words that can be of prose: no digits, at most one of what stands between spaces (no code, link or path)."""
    if text.isascii():
        pieces = (words(piece, lowercase=False) for piece in text.split())
        found = [piece[0] for piece in pieces if piece]
    else:
        found = words(text, lowercase=False)  # scripts that put no spaces between words
    return [word for word in found if not any(map(str.isdigit, word))]


def _mapping_table(columns: Mapping[Any, Any]) -> Table:
    """A dict of columns."""
    _refuse_other_rows(columns)
    lengths = {len(_checked_column(name, values)) for name, values in columns.items()}
    if len(lengths) > 1:
        raise InputError(f"The columns of X must have equal lengths, got lengths {sorted(lengths)}.")
    read = [_mapping_column(_checked_name(name), values) for name, values in columns.items()]
    return ColumnsTable(read, lengths.pop() if lengths else 0)


def _mapping_column(name: str, values: Any) -> Column:
    """A column of a dict: arrays of numbers and booleans are taken as they are, all else cell by cell."""
    array = values.to_numpy() if is_series(values) and isinstance(values.dtype, np.dtype) else values
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        return object_column(name, object_array(values))
    if array.dtype not in NUMBERS or not len(array) or (array[0] != array[0] and np.isnan(array).all()):
        return object_column(name, object_array(values))
    kind: Kind = "truth" if array.dtype.kind == "b" else "number"
    return Column(name, kind, lambda: array, lambda: encode_array(array, f"Column {name!r}"))


def _checked_column(name: Any, values: Any) -> Any:
    """The values of a column of a dict, which must be in an order."""
    if isinstance(values, (Mapping, Set)) or getattr(values, "ndim", 1) != 1:
        raise InputTypeError(
            f"Column {name!r} of X must be a list of cells, or an array with one dimension, got {brief(values)}. "
            "Of a data frame's to_dict, use to_dict('list') or to_dict('records')."
        )
    return values


def _refuse_other_rows(columns: Mapping[Any, Any]) -> None:
    """Refuse Series of pandas whose rows have other labels than those of their neighbours."""
    series = [(name, values) for name, values in columns.items() if is_series(values)]
    for name, values in series[1:]:
        if not values.index.equals(series[0][1].index):
            raise InputError(
                f"The columns {series[0][0]!r} and {name!r} of X are Series with other row labels. Put them into a "
                "data frame, which matches their rows, or give arrays."
            )


def _records_table(records: Sequence[Any]) -> Table:
    names: dict[Any, None] = {}
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise InputTypeError(f"X must hold a dict per row, but row {row} is of type {type(record).__name__}.")
        names.update(dict.fromkeys(record))
    columns = [
        object_column(_checked_name(name), object_array([record.get(name) for record in records])) for name in names
    ]
    return ColumnsTable(columns, len(records))


def _checked_name(name: Any) -> str:
    if not isinstance(name, (str, int, np.integer)):
        raise SchemaError(f"Column names must be strings, got {name!r} of type {type(name).__name__}.")
    return str(name)


def _as_frame(X: Any) -> Any:
    """X as an eager narwhals frame, or None if it is no data frame."""
    import narwhals as nw

    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    try:
        return nw.from_native(X, eager_only=True)
    except TypeError as error:
        if hasattr(X, "collect") or hasattr(X, "lazy"):
            raise InputTypeError(f"X is a lazy frame ({type(X).__name__}); collect it first. {NO_TABLE}") from error
        return None
    except nw.exceptions.DuplicateError as error:
        raise SchemaError(f"Column names must be distinct: {error}. Rename the columns.") from error


def _frame_table(frame: Any) -> Table:
    names = frame.columns
    given = all(isinstance(name, str) for name in names)
    integers = not given and all(_is_integer(name) for name in names)
    if not given and not integers and any(isinstance(name, str) for name in names):
        raise InputTypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(name).__name__ for name in names})} as feature name / column name types. "
            "If you want feature names to be stored and validated, convert them all to strings, by using "
            "X.columns = X.columns.astype(str) for example."
        )
    if not given and len(set(map(str, names))) < len(names):  # a NaN differs from itself, so narwhals has let it pass
        raise SchemaError(f"Column names must be distinct: {listed(map(str, names))}. Rename the columns.")
    if integers:
        numbers = tuple(map(int, names))
        given = numbers != tuple(range(len(numbers)))
        names = tuple(map(str, numbers))
    shown = names if given else made_up_names(len(names))
    columns = [_series_column(name, series) for name, series in zip(shown, frame.iter_columns(), strict=True)]
    return ColumnsTable(columns, len(frame), given, numbers if integers else None)


def _is_integer(name: Any) -> bool:
    return isinstance(name, (int, np.integer)) and not isinstance(name, bool)


def _small_pandas_table(X: Any) -> Table | None:
    """A small pandas frame of numbers that fit one array, read in one step; None for anything else."""
    if not is_pandas_frame(X) or len(X) > SMALL_FRAME or not X.columns.is_unique:
        return None
    names = tuple(X.columns.tolist())
    if len(X) * len(names) > SMALL_FRAME or set(map(type, names)) != {str}:
        return None
    dtypes = set(X.dtypes.tolist())
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes):
        return None
    values = X.to_numpy()
    may_be_empty = values.dtype.kind == "f" and len(values) and np.count_nonzero(np.isnan(values[0]))
    if may_be_empty and np.isnan(values).all(axis=0).any():
        return None  # a column without a known cell may become anything
    wide = values.dtype.kind == "f" and any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in dtypes)
    rounded = wide and bool((np.abs(values) >= LARGEST_EXACT).any())
    return None if rounded else ArrayTable(values, names)


def _series_column(name: str, series: Any) -> Column:
    import narwhals as nw

    dtype = series.dtype
    where = f"Column {name!r}"
    if _is_unknown(series):
        nothing = np.full(len(series), np.nan)
        return Column(
            name, "empty", lambda: nothing, lambda: encode_array(nothing, where), None, lambda: [None] * len(series)
        )
    if dtype.is_numeric():
        return Column(name, "number", lambda: _numbers_of(series, dtype), lambda: _number_labels(series, where))
    if dtype == nw.Boolean:
        return Column(name, "truth", lambda: _truths_of(series), lambda: encode_array(_truths_of(series), where))
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        prose = dtype == nw.String and is_prose(series[:PROSE_CELLS].to_list())
        kind: Kind = "text" if prose else "label"
        declared = None if dtype == nw.String else lambda: [as_label(label, where) for label in categories_of(series)]
        return Column(name, kind, lambda: np.empty(0), lambda: encode_series(series, where), declared, series.to_list)
    if dtype in (nw.Object, nw.Unknown):
        return object_column(name, object_array(series.to_list()))
    if (clock := clock_of_type(dtype)) is not None:
        return _clock_column(name, clock, seconds_of_series(series))
    raise InputTypeError(
        f"{where} has the type {dtype}, which no family reads: numbers, booleans, text, categories, dates, times and "
        "durations are read. Convert or drop the column."
    )


def _is_unknown(series: Any) -> bool:
    """Whether no cell of a series is known; most columns say so with their first."""
    if not len(series) or not is_missing(series[0]):
        return False
    if series.null_count() == len(series):
        return True
    return bool(series.dtype.is_float()) and bool(np.isnan(_numbers_of(series, series.dtype)).all())


def _number_labels(series: Any, where: str) -> tuple[IntArray, list[Label]]:
    """Numbers as labels; whole ones with gaps between them are not taken through floats, which would round them."""
    dtype = series.dtype
    if dtype.is_decimal():
        return _decimal_labels(series, where)
    if dtype.is_integer() and (_is_wide(dtype) or series.to_numpy().dtype.kind not in "iu"):
        return encode_objects(series.to_list(), where)
    return encode_array(_numbers_of(series, dtype), where)


def _decimal_labels(series: Any, where: str) -> tuple[IntArray, list[Label]]:
    return encode_decimals(series.to_list(), where)


def encode_decimals(cells: Sequence[Any], where: str) -> tuple[IntArray, list[Label]]:
    """Decimals as labels: whole numbers or floats, which must tell them apart."""
    numbers = {cell: _as_number(cell) for cell in dict.fromkeys(cells) if not is_missing(cell)}
    if len(set(numbers.values())) < len(numbers):
        raise InputError(f"{where} holds decimals that float64 cannot tell apart. Turn the column into text.")
    return encode_objects([numbers.get(cell) for cell in cells], where)


def _as_number(cell: Any) -> int | float:
    return int(cell) if cell == int(cell) else float(cell)


def _is_wide(dtype: Any) -> bool:
    """Whether a column holds integers of 128 bits, which NumPy does not have."""
    import narwhals as nw

    return dtype in (nw.Int128, nw.UInt128)


def _numbers_of(series: Any, dtype: Any) -> AnyArray:
    if not _is_wide(dtype):
        values: AnyArray = series.to_numpy()
        if values.dtype.kind in "biuf":
            return values
    return np.array([np.nan if is_missing(value) else float(value) for value in series.to_list()], dtype=np.float64)


def _truths_of(series: Any) -> AnyArray:
    values = series.to_numpy()
    if values.dtype.kind == "b":
        return np.asarray(values)
    return np.array([np.nan if is_missing(value) else float(value) for value in series.to_list()])


def _is_sparse(X: Any) -> bool:
    if not hasattr(X, "tocsr"):
        return False
    from scipy import sparse

    return bool(sparse.issparse(X))


def _checked_csr(X: Any) -> Any:
    if X.ndim != 2:
        raise InputError(f"Expected 2D array, got a sparse array of shape {X.shape} instead. Reshape your data.")
    if X.dtype.kind == "c":
        raise InputTypeError("Complex data not supported: give real and imaginary parts a column each.")
    if X.dtype.kind not in "biuf":
        raise InputTypeError(f"A sparse X must hold numbers or booleans, got dtype {X.dtype}.")
    _refuse_impossible_indices(X)
    matrix = X.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _refuse_impossible_indices(X: Any) -> None:
    """Refuse a compressed or COO matrix that points outside of itself: SciPy does not look, and compiled loops obey."""
    if X.format in ("csr", "csc", "bsr"):
        block = X.blocksize if X.format == "bsr" else (1, 1)
        across = X.shape[0] // block[0] if X.format == "csc" else X.shape[1] // block[1]
        along = (X.shape[1] if X.format == "csc" else X.shape[0] // block[0]) + 1
        ascending = len(X.indptr) == along and X.indptr[0] == 0 and not (np.diff(X.indptr) < 0).any()
        stored = min(len(X.indices), len(X.data))
        fine = ascending and X.indptr[-1] <= stored and _all_below(X.indices[: X.indptr[-1]], across)
    elif X.format == "coo":
        fine = all(_all_below(indices, size) for indices, size in zip((X.row, X.col), X.shape, strict=True))
    else:
        return
    if not fine:
        raise InputError(
            f"The sparse X of shape {X.shape} is damaged: its indices point outside of it. Build it again; "
            "X.check_format() of SciPy tells more."
        )


def _all_below(indices: AnyArray, size: int) -> bool:
    """Whether all are within 0 ... size - 1: without their sign, in one pass, negative ones are larger than any."""
    unsigned = indices.view(indices.dtype.str.replace("i", "u"))
    return int(unsigned.max(initial=0)) < min(size, int(np.iinfo(indices.dtype).max) + 1) or not len(indices)


def _as_array(X: Any) -> AnyArray:
    if isinstance(X, str) or not (hasattr(X, "__array__") or hasattr(X, "__len__")):
        one_text = " One text is a list of it: [text]." if isinstance(X, str) else ""
        raise InputTypeError(
            f"X must be an array, a data frame, a sparse matrix or a list of dicts, got {type(X).__name__}.{one_text} "
            f"{NO_TABLE}"
        )
    if isinstance(X, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        return without_mask(np.ma.stack(list(X)))
    try:
        array = exact_array(X)  # a list that mixes text, large whole numbers and fractions keeps them all
    except ValueError:
        lengths = sorted({len(row) if hasattr(row, "__len__") else 1 for row in X})
        raise InputError(f"The rows of X must have equal lengths, got rows of lengths {lengths}.") from None
    return np.array(X, dtype=object) if array.dtype.kind in "US" and isinstance(X, (list, tuple)) else array
