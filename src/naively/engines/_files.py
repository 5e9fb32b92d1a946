"""Rows in files, read piece by piece: each file in its format, all of them with the same columns."""

from __future__ import annotations

import glob
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from naively._common.progress import RowsShown
from naively.engines._arrow import Read, arrow, as_pieces, is_text, needed_columns, require_target, without_index
from naively.engines._formats import SUFFIXES, File, JsonLines, format_of, given_types, suffix_of
from naively.engines._pieces import annotated_pieces, from_the_start
from naively.engines._read_ahead import read_ahead
from naively.engines._write import may_encode, require_writable, write_tables
from naively.engines.base import Piece, Source
from naively.errors import InputError, InputTypeError, ParameterError, SchemaError, brief, listed, warn
from naively.typing import PathLike


class Options(NamedTuple):
    """How files are read: the options of `files`."""

    format: str | None = None
    columns: tuple[str, ...] | None = None
    types: Mapping[str, str] = {}
    missing_columns: str = "error"
    delimiter: str | None = None


def files(
    paths: PathLike | Sequence[PathLike],
    *,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    missing_columns: str = "error",
    format: str | None = None,  # noqa: A002 (what it is called everywhere)
    delimiter: str | None = None,
) -> Source:
    r"""Rows in files, to be given to a model in the place of X: a path with options.

    Parameters
    ----------
    paths : path, pattern, folder, or list of these
        Parquet, CSV, JSON lines or Arrow files; CSV and JSON lines may be compressed (.gz, .bz2, .zst). A pattern is
        one as of the shell: ``"sales/*.parquet"``, ``"sales/**/*.csv"``. Of a folder all files in it that have a
        known ending.
    columns : sequence of str, optional
        The columns to read, that of the classes among them; by default all.
    types : dict, optional
        What columns of CSV and JSON lines hold, "number", "text" or "truth", where it must not be guessed:
        ``{"postcode": "text"}``.
    missing_columns : "error" or "empty", default="error"
        What becomes of a column that one of the files lacks, or holds as another type: an error that names both, or
        missing cells.
    format : "parquet", "csv", "json" or "arrow", optional
        By default it follows from the names.
    delimiter : str, optional
        What stands between the cells of CSV; by default a tab in files that end in .tsv, and else a comma.

    Returns
    -------
    Source
        For `fit`, `partial_fit`, `forget`, `score`, `loo`, `annotate`, `drift.compare` and `drift.check`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naively import NaiveBayes, files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.csv").write_text("postcode,kind\n00123,x\n10115,y\n")
    ...     source = files(f"{folder}/*.csv", types={"postcode": "text"})
    ...     model = NaiveBayes("textbook").fit(source, "kind")
    >>> list(model.parameters()["postcode"]["probability"])
    ['00123', '10115']
    """
    if missing_columns not in ("error", "empty"):
        raise ParameterError(f"files(missing_columns) must be 'error' or 'empty', got {brief(missing_columns)}.")
    if not FilesSource.reads(paths) and not isinstance(paths, (list, tuple)):
        raise InputTypeError(f"files(paths) must be a path, a pattern or a list of these, got {brief(paths)}.")
    chosen = None if columns is None else tuple(columns)
    return FilesSource(paths, Options(format, chosen, types or {}, missing_columns, delimiter))


class FilesSource(Source):
    """Files by path, pattern, folder, or a list of these.

    Parameters
    ----------
    given : path, or sequence of paths
    options : Options, optional
    """

    name: ClassVar[str] = "files"
    sources: ClassVar[str] = "files: Parquet, CSV, JSON lines, Arrow"
    shows_progress: ClassVar[bool] = True

    def __init__(self, given: Any, options: Options | None = None):
        super().__init__(given)
        self.options = options or Options()

    @classmethod
    def reads(cls, X: Any) -> bool:
        if isinstance(X, (list, tuple)):
            return len(X) > 0 and all(isinstance(path, (str, os.PathLike)) and _is_path(path) for path in X)
        return isinstance(X, (str, os.PathLike))

    @cached_property
    def files(self) -> list[File]:
        """The files, each with its format and what is known of its types."""
        format_, _, types, _, delimiter = self.options
        known = given_types(types) if types else {}
        files = [File(path, format_of(path, format_, delimiter, types), dict(known)) for path in found(self.given)]
        typed = next((file for file in files if types and not file.format.guesses), None)
        if typed is not None:
            raise ParameterError(f"files(types) is for CSV and JSON lines; the types of {typed.path} are in the file.")
        return files

    @property
    def names(self) -> list[str]:
        """The columns of all files together."""
        return Layout.of(self.files, self.options, evidence=True).names

    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        layout = Layout.of(self.files, self.options, evidence=True)
        if not layout.names:
            raise InputError(f"There are no rows in {listed([str(file.path) for file in self.files], 3)}.")
        if columns is None:  # whoever names the columns may do without classes
            require_target(y, layout.names)
        needed = needed_columns(layout.names, y, sample_weight, columns)
        open_ended = columns is None and self.options.columns is None
        reads = layout.reads(needed, encoded=True, open_ended=open_ended)
        with closing(read_ahead(reads)) as ahead, RowsShown("rows") as shown:
            yield from as_pieces(_counted_off(ahead, shown), y, sample_weight, layout.texts)

    def annotate(self, model: Any, to: Any, evidence: bool) -> Any:
        """Tables with answers, one by one; or, with `to`, one file of them."""
        path = None if to is None else require_writable(to)
        self._take_types_of(model)
        plain = path is not None and may_encode(path, [file.schema() for file in self.files])

        def tables() -> Iterator[Any]:
            layout = Layout.of(self.files, self.options)
            reads = layout.reads(layout.names, encoded=plain)
            with closing(read_ahead(reads)) as ahead, RowsShown("rows") as shown:
                pieces = (Piece(read.batch, None, None, read.place) for read in _counted_off(ahead, shown))
                yield from annotated_pieces(model, pieces, evidence)

        if path is None:
            return tables()
        from_the_start(lambda: write_tables(tables(), path, plain))
        return path

    def _take_types_of(self, model: Any) -> None:
        """Read columns of CSV as a model does: what it knows as labels, or not at all, is text as it stands.

        Lines of JSON are read once more: the first of them tell neither all columns nor what all of them hold.
        """
        known = dict(zip(model.schema_.names, model.schema_.kinds, strict=True))
        whole = [(file, file.format.whole_schema(file)) for file in self.files if isinstance(file.format, JsonLines)]
        for file, _ in whole:
            file.types.update(_together([schema for _, schema in whole], self.options.types))
        for file in self.files:
            if file.format.guesses and not file.format.finds_columns:
                labels = [name for name in file.schema().names if known.get(name, "label") in ("label", "text")]
                file.types.update({name: arrow().string() for name in labels if name not in self.options.types})


def _together(schemas: list[Any], given: Mapping[str, str]) -> dict[str, Any]:
    """The types of columns that hold the cells of all files, but for those that were given."""
    pyarrow = arrow()
    try:
        whole = pyarrow.unify_schemas(schemas, promote_options="permissive")
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        raise InputError(
            f"The files differ in what a column holds: {error}. Give it a type: files(types=...)."
        ) from error
    return {one.name: one.type for one in whole if one.name not in given and not pyarrow.types.is_null(one.type)}


def _counted_off(reads: Iterator[Read], shown: RowsShown) -> Iterator[Read]:
    """What is read, told to whoever watches."""
    for read in reads:
        yield read
        shown.update(read.batch.num_rows, read.share)


def _is_path(path: Any) -> bool:
    return isinstance(path, os.PathLike) or suffix_of(path) in SUFFIXES


def found(given: Any) -> list[Path]:
    """The files that paths, patterns and folders name, in order, each once."""
    paths: dict[Path, None] = {}
    for path in [given] if isinstance(given, (str, os.PathLike)) else given:
        if Path(path).is_dir():
            inside = sorted(file for file in Path(path).iterdir() if suffix_of(file) in SUFFIXES)
            if not inside:
                raise InputError(
                    f"The folder {os.fspath(path)!r} holds no file that is read: one that ends in "
                    f"{listed(SUFFIXES, 20)}."
                )
        elif Path(path).exists():  # a name may have brackets in it
            inside = [Path(path)]
        else:
            inside = [Path(name) for name in sorted(glob.glob(os.fspath(path), recursive=True))]  # noqa: PTH207
        if not inside:
            raise InputError(
                f"There is no file {os.fspath(path)!r}. X as a text is the path of a file, a folder, or a pattern such "
                f"as 'sales/*.parquet'; files that end in {listed(SUFFIXES, 20)} are read."
            )
        paths.update(dict.fromkeys(inside))
    return list(paths)


# -- the columns of several files -------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Which columns some files have together.

    Parameters
    ----------
    files : list of File
    names : list of str
        The columns of all of them, those of the first file first.
    held : list of list of str
        The columns of each file that are read from it; others are missing cells.
    schemas : list of pyarrow.Schema
        Of each file.
    """

    files: list[File]
    names: list[str]
    held: list[list[str]]
    schemas: list[Any]

    @property
    def texts(self) -> frozenset[str]:
        """The columns of plain text."""
        return frozenset(field.name for schema in self.schemas for field in schema if is_text(field.type))

    @classmethod
    def of(cls, files: list[File], options: Options, evidence: bool = False) -> Layout:
        """The columns of files; those that differ are refused, or read as missing cells.

        Parameters
        ----------
        files : list of File
        options : Options
        evidence : bool, default=False
            Whether the columns are evidence: then the numbers of rows that pandas has stored with them are none.
        """
        schemas = [without_index(file.schema()) if evidence else file.schema() for file in files]
        names = list(dict.fromkeys(name for schema in schemas for name in schema.names))
        for file, schema in zip(files, schemas, strict=True):
            _refuse_duplicates(file, schema.names)
        if options.columns is not None:
            unknown = [name for name in options.columns if name not in names]
            if unknown:
                raise SchemaError(f"files(columns) names {listed(unknown)}; there are {listed(names, 20)}.")
            names = [name for name in names if name in options.columns]
        unknown = [name for name in options.types if name not in names and not options.columns]
        if unknown and not any(file.format.finds_columns for file in files):
            raise SchemaError(f"files(types) names {listed(unknown)}; there are {listed(names, 20)}.")
        lenient = options.missing_columns == "empty"
        kinds: dict[str, tuple[str, File]] = {}
        held = [_held(file, schema, names, kinds, lenient) for file, schema in zip(files, schemas, strict=True)]
        return cls(files, names, held, schemas)

    def reads(self, columns: list[str], encoded: bool, open_ended: bool = False) -> Generator[Read, None, None]:
        """The rows of all files, with these columns.

        Parameters
        ----------
        columns : list of str
        encoded : bool
            Whether text may come as dictionaries, where that is quicker.
        open_ended : bool, default=False
            Whether formats that find their columns on the way may give more.
        """
        pyarrow = arrow()
        sizes = [max(file.path.stat().st_size, 1) for file in self.files]
        done = 0
        for file, held, size in zip(self.files, self.held, sizes, strict=True):
            there = [name for name in columns if name in held]
            absent = [name for name in columns if name not in held]
            for batch, place, share in file.reads(None if open_ended and file.format.finds_columns else there, encoded):
                for name in absent:
                    batch = batch.append_column(name, pyarrow.nulls(batch.num_rows))
                more = [name for name in batch.schema.names if name not in columns]
                yield Read(batch.select([*columns, *more]), place, (done + share * size) / sum(sizes))
            done += size


def _refuse_duplicates(file: File, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
        raise SchemaError(f"{file.path}: column names must be distinct, but {listed(twice)} occur more than once.")


def _held(
    file: File, schema: Any, names: Sequence[str], kinds: dict[str, tuple[str, File]], lenient: bool
) -> list[str]:
    """The columns that a file has as the files before it do; `kinds` learns what the columns of the file hold."""
    held = []
    for name in names:
        kind = _kind(schema.field(name).type) if name in schema.names else None
        before, first = kinds.get(name, (kind, file))
        if kind is None and not file.format.finds_columns:
            if not lenient:
                raise SchemaError(
                    f"{file.path} lacks the column {name!r}, which other files have. Leave that file out, or read its "
                    "cells as missing: naively.files(..., missing_columns='empty')."
                )
            continue
        if kind is not None and kind != "nothing" and before not in (kind, "nothing", None):
            conflict = f"{file.path}: column {name!r} holds {kind}, but {before} in {first.path}"
            if not lenient:
                raise SchemaError(
                    f"{conflict}. Convert it, or read its cells as missing: naively.files(..., "
                    "missing_columns='empty')."
                )
            warn(f"{conflict}. Its cells are read as missing.")
            continue
        if kind is not None:
            held.append(name)
            if before in (None, "nothing") or name not in kinds:
                kinds[name] = (kind, file)
    return held


def _kind(arrow_type: Any) -> str:
    """What an Arrow type holds, as far as files may differ in it."""
    types = arrow().types
    if types.is_dictionary(arrow_type):
        return _kind(arrow_type.value_type)
    if types.is_null(arrow_type):
        return "nothing"
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "numbers"
    if types.is_boolean(arrow_type):
        return "booleans"
    if types.is_date(arrow_type) or types.is_timestamp(arrow_type):
        return "dates" if getattr(arrow_type, "tz", None) is None else "dates with a time zone"
    if types.is_time(arrow_type) or types.is_duration(arrow_type):
        return "times" if types.is_time(arrow_type) else "durations"
    return "text" if is_text(arrow_type) else str(arrow_type)
