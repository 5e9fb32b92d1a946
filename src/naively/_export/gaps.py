"""What each export cannot do, and why: one table, which the documentation prints."""

from __future__ import annotations

from naively._export.additive import JOINED, OUT_OF_SCALE, POOLED
from naively.families import FAMILIES
from naively.families.base import NO_TABLE

EVERYWHERE = "everywhere"


def export_gaps() -> list[tuple[str, str, str]]:
    """What cannot be exported, where, and why.

    Examples
    --------
    >>> export_gaps()[0][:2]
    ('the recipe "strong"', 'everywhere')
    """
    without_table = NO_TABLE
    prose = [name for name in sorted(FAMILIES) if name in ("text", "thresholded")]
    return [
        ('the recipe "strong"', EVERYWHERE, POOLED.reason),
        ("factors that join columns: `Joint`, `TAN`, `JointBayes`", EVERYWHERE, JOINED.reason),
        *((f"columns of the family `{name}`", EVERYWHERE, without_table) for name in prose),
        ("`Gaussian(interval=...)`", EVERYWHERE, without_table),
        ("a prior for each row", EVERYWHERE, "an exported model has one"),
        ("text and numbers as labels of one column", "SQL, ONNX", "a column of a database, or an input, has one type"),
        ("labels with a NUL or half a surrogate pair", "SQL", "SQL text cannot hold them"),
        ("whole numbers as labels, beyond 64 bits, that are no doubles", "SQL", "no type of a column holds them"),
        ("whole numbers as labels that are no doubles, as 2 ** 53 + 1", "ONNX", "an input of numbers is float64"),
        ("columns of numbers so near to zero that they cannot be told apart", EVERYWHERE, OUT_OF_SCALE),
        ("columns learnt at numbers beyond 1e100, for a formula, or 1e307", "SQL, ONNX", OUT_OF_SCALE),
        ("columns learnt at numbers beyond 1e100 or below 1e-100", "PostgreSQL", OUT_OF_SCALE),
        ("telling numbers beyond 1e100, or 1e150 scales, apart by a formula", "SQL, ONNX", "too large to be squared"),
        ("columns whose names differ in case alone", "DuckDB, SQLite, Spark SQL", "there they are one name"),
        ("columns whose names differ after 63 bytes", "PostgreSQL", "it cuts names there"),
        ("columns with an empty name", "DuckDB, PostgreSQL, Spark SQL", "there is no such name"),
        ("names with `${`", "Spark SQL", "it replaces them as variables, even between quotes"),
        ("dates as text with an offset, such as `+02:00`", "DuckDB", "it reads the moment in UTC, not what it shows"),
        ("dates that are labels, by `Categorical`", "SQL, ONNX", "each writes dates in a way of its own"),
        ("texts that are no dates", "SQL", "a query refuses no row: the cell is read as missing; PostgreSQL refuses"),
        (
            "curves weighed over more than 10,000 nats",
            "SQL, ONNX",
            "what is cut off cannot be folded into a table",
        ),
        (
            "refusing a number, such as infinity",
            "SQL, ONNX",
            "a query refuses no row: the cell is read as missing",
        ),
    ]


def as_markdown() -> str:
    """The table for the documentation."""
    lines = [f"| {what} | {where} | {why} |" for what, where, why in export_gaps()]
    return "\n".join(["| cannot be exported | where | why |", "|---|---|---|", *lines])
