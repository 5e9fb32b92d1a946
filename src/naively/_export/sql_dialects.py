"""How SQL dialects differ: quoting, literals, fences, and how a number finds its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Any, ClassVar

from naively._export.additive import LARGEST
from naively.errors import GapError, ParameterError, brief
from naively.typing import Label

TINIEST = 1e-100
"""PostgreSQL raises an error where a product underflows: constants nearer to zero than this are zero there."""

LONGEST_NAME = 63
"""PostgreSQL cuts names after so many bytes."""

ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True)
class Dialect:
    """What one database wants to read.

    Parameters
    ----------
    name : str
        What sqlglot calls it.
    double, whole, text : str
        The types of the columns of model tables.
    infinity : str
        Minus infinity.
    greatest, least : str
        The functions of the largest and the least of several numbers.
    fence : str
        What ends a stage so that it is computed once, and not copied into every place that names its columns.
    has_lists : bool
        Whether a number finds its interval by its bucket, which is a place in a list, and not by a search.
    has_arrays : bool
        Whether the search finds a place in an array, from which all else is then read.
    has_lambdas : bool
        Whether buckets and places are found by lambdas over the cells of all columns.
    sums_twice : bool
        Whether a sum is NULL where a cell is missing, and is then computed once more: asking at every cell takes long.
    empty_names : bool
        Whether a column may have the name "".

    Attributes
    ----------
    moment : str
        What makes a date by the clock on the wall of a column.
    parts : dict
        The parts of such a date.
    """

    moment: ClassVar[str] = "TRY_CAST({} AS TIMESTAMP)"
    parts: ClassVar[Mapping[str, str]] = {}

    name: str
    double: str
    whole: str
    text: str
    infinity: str
    greatest: str = "GREATEST"
    least: str = "LEAST"
    fence: str = ""
    has_lists: bool = False
    has_arrays: bool = False
    has_lambdas: bool = False
    sums_twice: bool = False
    empty_names: bool = False

    # -- names and values: they come from the data, so that all of them pass here ---------------------------------

    def name_of(self, *parts: str) -> str:
        """A quoted identifier, of several parts if it is qualified."""
        exp = _sqlglot()
        for part in parts:
            _refuse_unwritable(part, "The name")
            if not part and not self.empty_names:
                raise GapError("A name is empty, which this database has none of. Rename the column.", "is empty")
        return ".".join(exp.to_identifier(part, quoted=True).sql(dialect=self.name) for part in parts)

    def known_as(self, name: str) -> str:
        """What a database knows a column by: where two names give the same, it takes them for one column."""
        return name.translate(ASCII_LOWER)

    def numbered(self, name: str, number: int) -> str:
        """A name with a number behind it, which a database must not cut off."""
        return f"{name}_{number}"

    def literal(self, value: Label) -> str:
        """A label as a literal."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, float):
            return Dialect.number(self, value)  # to be compared and not computed with, however small
        if isinstance(value, int):
            if abs(value) >= 2**63:
                raise GapError(f"The label {value} has more than 64 bits, which a database does not hold.")
            return f"({value})" if value < 0 else str(value)
        _refuse_unwritable(value, "The label")
        return str(_sqlglot().Literal.string(value).sql(dialect=self.name))

    def number(self, value: float) -> str:
        """A number as a literal: always of type double, in brackets if it is negative (``x--1`` is a comment)."""
        if math.isinf(value):
            return self.infinity if value < 0 else f"(-{self.infinity})"
        text = repr(float(value))
        text = text if "e" in text else f"{text}e0"
        return f"({text})" if text.startswith("-") else text

    # -- expressions ----------------------------------------------------------------------------------------------

    def cell(self, x: str, least: float | None, most: float) -> str:
        """A number that can be computed with; NULL where it is missing, infinite, or below the least that there is."""
        high, largest = self.number(most), self.number(LARGEST)
        above = f"WHEN {x} BETWEEN {high} AND {largest} THEN {high}"
        if least is not None:
            allowed = f"{x} >= 0" if least == 0 else f"{x} > 0"
            return f"CASE {self.tiny(x, least)}WHEN {allowed} AND {x} <= {high} THEN {x} {above} END"
        low, lowest = self.number(-most), self.number(-LARGEST)
        below = f"WHEN {x} BETWEEN {lowest} AND {low} THEN {low}"
        return f"CASE {self.tiny(x, least)}WHEN {x} BETWEEN {low} AND {high} THEN {x} {below} {above} END"

    def tiny(self, x: str, least: float | None) -> str:
        """What is done about numbers next to zero: nothing."""
        return ""

    def scale(self, most: float) -> tuple[float, float]:
        """The least and the largest numbers, apart from zero, at which a column may have been learnt."""
        return 0.0, most

    def square(self, value: str) -> str:
        """The square of an expression."""
        return f"{value} * {value}"

    def exponential(self, value: str) -> str:
        """The exponential of an expression that is not above 0."""
        return f"EXP({value})"

    def extreme(self, function: str, values: Sequence[str]) -> str:
        """The largest or the least of some expressions, none of which is NULL."""
        return values[0] if len(values) == 1 else f"{function}({', '.join(values)})"

    def part(self, part: str, name: str, clock: str) -> str:
        """The seconds ("trend"), month, weekday (1: Monday) or hour of a column of dates or times; NULL if missing."""
        dated = name if clock == "date" else f"('1970-01-01 ' || CAST({name} AS {self.text}))"
        return self.parts[part].format(self.moment.format(dated))

    def place(self, x: str, where: str) -> str:
        """The number of the interval that begins last at or before x, in a model table or in an array of beginnings."""
        raise NotImplementedError  # pragma: no cover

    def list_of(self, kind: str) -> str:
        """The type of a list."""
        return f"{kind}[]"

    def list_of_fields(self, names: Sequence[str]) -> str:
        """The type of a list whose every item has a number under each of some names."""
        return self.list_of(f"STRUCT({', '.join(f'{name} {self.double}' for name in names)})")

    def list_from(self, text: str, kind: str) -> str:
        """A list of numbers from a text in which commas part them."""
        return f"CAST('[{text}]' AS {self.list_of(kind)})"

    def side_by_side(self, lists: Sequence[str]) -> str:
        """Several lists as one."""
        return f"LIST_ZIP({', '.join(lists)})"

    def item(self, items: str, place: str) -> str:
        """The item at a place in a list, from 1 on; NULL beyond its end."""
        return f"{items}[{place}]"

    def stage(self, name: str, source: str, carried: Sequence[str], made: Mapping[str, str], heavy: bool = True) -> str:
        """A step of the query: the columns of the step before that are carried on, and those that are made."""
        columns = [*carried, *(f"{formula} AS {alias}" for alias, formula in made.items())]
        fence = f"\n  {self.fence}" if self.fence and heavy else ""
        return f"{name} AS (\n  SELECT\n    {_lines(columns)}\n  FROM {source}{fence}\n)"


class DuckDB(Dialect):
    """DuckDB computes a stage once as it is."""

    parts: ClassVar[Mapping[str, str]] = {
        "trend": "EPOCH_US({0}) / 1e6",
        "month": "EXTRACT(MONTH FROM {0})",
        "weekday": "EXTRACT(ISODOW FROM {0})",
        "hour": "EXTRACT(HOUR FROM {0})",
    }


class PostgreSQL(Dialect):
    """PostgreSQL raises errors where a product or an exponential underflows, and answers with parallel workers."""

    moment: ClassVar[str] = "CAST({} AS TIMESTAMP)"
    parts: ClassVar[Mapping[str, str]] = {
        "trend": "CAST(EXTRACT(EPOCH FROM {0}) AS DOUBLE PRECISION)",
        "month": "CAST(EXTRACT(MONTH FROM {0}) AS BIGINT)",
        "weekday": "CAST(EXTRACT(ISODOW FROM {0}) AS BIGINT)",
        "hour": "CAST(EXTRACT(HOUR FROM {0}) AS BIGINT)",
    }

    def known_as(self, name: str) -> str:
        return name.encode()[:LONGEST_NAME].decode(errors="ignore")

    def numbered(self, name: str, number: int) -> str:
        room = LONGEST_NAME - len(f"_{number}")
        return super().numbered(name.encode()[:room].decode(errors="ignore"), number)

    def number(self, value: float) -> str:
        value = 0.0 if abs(value) < TINIEST else value
        return super().number(value) if math.isinf(value) else f"{super().number(value)}::float8"

    def tiny(self, x: str, least: float | None) -> str:
        nearest = "1e-150::float8"
        above = f"WHEN {x} > 0 AND {x} < {nearest} THEN {nearest} "
        return above if least is not None else f"{above}WHEN {x} < 0 AND {x} > -{nearest} THEN -{nearest} "

    def scale(self, most: float) -> tuple[float, float]:
        return TINIEST, min(most, 1 / TINIEST)

    def square(self, value: str) -> str:
        return f"(({value} - 1) * ({value} + 1) + 1)"

    def exponential(self, value: str) -> str:
        return f"EXP(GREATEST({value}, -700::float8))"

    def place(self, x: str, where: str) -> str:
        return f"WIDTH_BUCKET({x}, {where})"


CLOCK = "SUBSTR({0}, 1, CASE WHEN SUBSTR({0}, 17, 1) = ':' THEN 19 ELSE 16 END)"
"""A date of SQLite up to its seconds, if it has any: without their fraction, and without an offset."""


class SQLite(Dialect):
    """SQLite has no type of truth and none of dates, which are texts, and finds places by an index."""

    parts: ClassVar[Mapping[str, str]] = {
        "trend": f"STRFTIME('%s', {CLOCK}) + CAST('0' || SUBSTR({{0}}, 20) AS REAL)",
        "month": f"CAST(STRFTIME('%m', {CLOCK}) AS INTEGER)",
        "weekday": f"(STRFTIME('%w', {CLOCK}) + 6) % 7 + 1",
        "hour": f"CAST(STRFTIME('%H', {CLOCK}) AS INTEGER)",
    }
    moment: ClassVar[str] = "{}"

    def literal(self, value: Label) -> str:
        return str(int(value)) if isinstance(value, bool) else super().literal(value)  # TRUE may be a column's name

    def place(self, x: str, where: str) -> str:
        return (
            f"(SELECT place FROM {where} WHERE low <= {x} ORDER BY low DESC LIMIT 1)"  # MAX(place) reads all before x
        )


class Spark(Dialect):
    """Spark SQL computes a stage once if it is the row of a lateral view, and replaces ``${x}`` wherever it stands."""

    moment: ClassVar[str] = "TRY_CAST({} AS TIMESTAMP_NTZ)"
    parts: ClassVar[Mapping[str, str]] = {
        "trend": "86400e0 * DATEDIFF({0}, DATE'1970-01-01') + 3600e0 * HOUR({0}) + 60e0 * MINUTE({0}) "
        "+ CAST(EXTRACT(SECOND FROM {0}) AS DOUBLE)",
        "month": "CAST(MONTH({0}) AS BIGINT)",
        "weekday": "CAST(WEEKDAY({0}) + 1 AS BIGINT)",
        "hour": "CAST(HOUR({0}) AS BIGINT)",
    }

    def name_of(self, *parts: str) -> str:
        for part in parts:
            if "${" in part:
                raise GapError(f"The name {part!r} holds a variable of Spark SQL. Rename the column.", "holds '${'")
        return super().name_of(*parts)

    def known_as(self, name: str) -> str:
        return name.lower()

    def literal(self, value: Label) -> str:
        return super().literal(value).replace("$", "\\u0024") if isinstance(value, str) else super().literal(value)

    def list_of(self, kind: str) -> str:
        return f"ARRAY<{kind}>"

    def list_of_fields(self, names: Sequence[str]) -> str:
        return self.list_of(f"STRUCT<{', '.join(f'{name}: {self.double}' for name in names)}>")

    def list_from(self, text: str, kind: str) -> str:
        return f"CAST(SPLIT('{text}', ',') AS {self.list_of(kind)})"

    def side_by_side(self, lists: Sequence[str]) -> str:
        return f"ARRAYS_ZIP({', '.join(lists)})"

    def stage(self, name: str, source: str, carried: Sequence[str], made: Mapping[str, str], heavy: bool = True) -> str:
        if not heavy or not made:
            return super().stage(name, source, carried, made, heavy)
        fields = [f"'{alias}', {formula}" for alias, formula in made.items()]
        view = f"LATERAL VIEW INLINE(ARRAY(NAMED_STRUCT(\n    {_lines(fields)}\n  ))) made AS {', '.join(made)}"
        return f"{name} AS (\n  SELECT\n    {_lines([*carried, *made])}\n  FROM {source}\n  {view}\n)"


def _lines(parts: Sequence[str]) -> str:
    return ",\n    ".join(parts)


DIALECTS: dict[str, Dialect] = {
    "duckdb": DuckDB(
        "duckdb", "DOUBLE", "BIGINT", "VARCHAR", "CAST('-Infinity' AS DOUBLE)", has_lists=True, sums_twice=True
    ),
    "postgres": PostgreSQL(
        "postgres",
        *("DOUBLE PRECISION", "BIGINT", "TEXT", "'-Infinity'::float8"),
        fence="OFFSET NULL",  # unlike OFFSET 0, it lets parallel workers do what is outside of it
        has_arrays=True,
    ),
    "sqlite": SQLite(
        "sqlite",
        *("REAL", "INTEGER", "TEXT", "(-9e999)", "MAX", "MIN"),
        fence="LIMIT -1 OFFSET 0",
        empty_names=True,
    ),
    "spark": Spark("spark", "DOUBLE", "BIGINT", "STRING", "CAST('-Infinity' AS DOUBLE)", has_lambdas=True),
}
ALIASES = {"postgresql": "postgres", "spark sql": "spark", "databricks": "spark"}


def dialect_of(name: Any) -> Dialect:
    """The dialect of a name, or an error that lists them."""
    known = ALIASES.get(name, name) if isinstance(name, str) else None
    if known not in DIALECTS:
        raise ParameterError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}, got {brief(name)}.")
    return DIALECTS[known]


def _refuse_unwritable(text: str, what: str) -> None:
    """Refuse text that no query can hold: a NUL, or half of a surrogate pair."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise GapError(f"{what} {text!r} holds a character that SQL text cannot hold.", "holds a NUL or a surrogate")


def _sqlglot() -> Any:
    try:
        from sqlglot import exp
    except ImportError as error:
        raise ImportError("SQL is written with sqlglot. Install it with: pip install 'naively[sql]'") from error
    return exp
