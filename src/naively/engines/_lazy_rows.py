"""Rows of a lazy frame, ready to be aggregated where they are: columns under safe names, plans sent and logged.

Names of tables in databases have quotes, spaces, dots and reserved words in them, and each engine has trouble with
others of these. So columns are renamed first: "y" is the class, "w" the weight, and "c0", "c1", ... are the columns.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from naively.errors import InputError

LOGGER = logging.getLogger("naively")

CLASS, WEIGHT = "y", "w"


@dataclass(frozen=True)
class LazyRows:
    """Rows that have not been read: a plan with a column for the classes, one for the weights, and the others.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        With the columns "y", "w" (if weighed) and "c0", "c1", ...
    names : tuple of str
        What "c0", "c1", ... are called by the user.
    types : tuple of narwhals types
        Of these columns.
    weighed : bool
        Whether rows have weights.
    """

    frame: Any
    names: tuple[str, ...]
    types: tuple[Any, ...]
    weighed: bool

    @property
    def has_nan(self) -> bool:
        """Whether the engine tells NaN from NULL."""
        native = self.frame.to_native()
        if not self.frame.implementation.is_ibis():
            return not bool(self.frame.implementation.is_dask())
        import ibis.expr.operations as operations

        return bool(native.get_backend().has_operation(operations.IsNan))


def lazy_rows(frame: Any, names: Sequence[str], y: str, weight: str | None = None) -> LazyRows:
    """The rows of a lazy frame under safe names.

    Parameters
    ----------
    frame : narwhals.LazyFrame
    names : sequence of str
        The columns that are evidence.
    y, weight : str
        The columns that hold the classes and the weights.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> frame = nw.from_native(pl.LazyFrame({"a b": [1.0], "class": ["x"]}))
    >>> lazy_rows(frame, ["a b"], "class").frame.collect_schema().names()
    ['y', 'c0']
    """
    import narwhals as nw

    schema = frame.collect_schema()
    chosen = {CLASS: y, **({} if weight is None else {WEIGHT: weight})}
    chosen |= {f"c{place}": name for place, name in enumerate(names)}
    if frame.implementation.is_pyspark() and all(name in schema for name in chosen.values()):
        # Spark takes dots and backticks in a name for syntax: all columns are renamed before any is chosen.
        native = frame.to_native()
        place = {name: f"p{position}" for position, name in enumerate(schema.names())}
        frame = nw.from_native(native.toDF(*place.values()))
        chosen = {safe: place[name] for safe, name in chosen.items()}
        types = {place[name]: dtype for name, dtype in schema.items()}
    else:
        types = dict(schema)
    columns = {safe: _plain(nw.col(name), types[name]) for safe, name in chosen.items()}
    if weight is not None:
        columns[WEIGHT] = columns[WEIGHT].cast(nw.Float64)
    renamed = frame.select(*(column.alias(safe) for safe, column in columns.items()))
    evidence = [name for safe, name in chosen.items() if safe not in (CLASS, WEIGHT)]
    return LazyRows(renamed, tuple(names), tuple(types[name] for name in evidence), weight is not None)


def _plain(column: Any, dtype: Any) -> Any:
    """A column of categories as one of text: what an engine numbers them by is its own affair."""
    import narwhals as nw

    return column.cast(nw.String) if dtype in (nw.Categorical, nw.Enum) else column


def collected(plan: Any, purpose: str) -> dict[str, list[Any]]:
    """The rows of the answer to a plan, column by column; `purpose` as in `answer`."""
    rows = answer(plan, purpose)
    return {name: rows[name].to_list() for name in rows.columns}


def answer(plan: Any, purpose: str) -> Any:
    """Send a plan to its engine, and get its answer, an eager frame of narwhals.

    Parameters
    ----------
    plan : narwhals.LazyFrame
    purpose : str
        What it is for, in the words of the log: INFO has these, DEBUG has the plan.
    """
    engine = plan.implementation.value
    LOGGER.info("%s: %s", engine, purpose)
    if LOGGER.isEnabledFor(logging.DEBUG):
        LOGGER.debug("%s", plan_text(plan))
    with asking(engine, purpose):
        return plan.collect()


@contextmanager
def asking(engine: str, purpose: str) -> Iterator[None]:
    """Let the errors of an engine, and each has errors of its own, say what it was asked for."""
    try:
        yield
    except Exception as error:
        raise InputError(
            f"{engine} could not answer ({purpose}): {error}. What was sent is logged by "
            'logging.getLogger("naively") at the level DEBUG.'
        ) from error


def plan_text(plan: Any) -> str:
    """A plan as its engine reads it: SQL, or the tree of a query planner.

    Examples
    --------
    >>> import duckdb, narwhals as nw
    >>> relation = duckdb.sql("select 1 as a, 'x' as b")
    >>> "group by" in plan_text(nw.from_native(relation).group_by("b").agg(nw.col("a").sum())).lower()
    True
    """
    native, engine = plan.to_native(), plan.implementation
    if engine.is_duckdb():
        return str(native.sql_query())
    if engine.is_ibis():
        import ibis

        return str(ibis.to_sql(native))
    if engine.is_pyspark():
        return str(native._jdf.queryExecution().toString())
    return str(native.explain()) if engine.is_polars() else str(native)
