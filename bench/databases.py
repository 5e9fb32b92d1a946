"""Rows: `to_sql` in PostgreSQL, SQLite and Spark SQL, beside the model's own answers here.

PostgreSQL is started for the row, in a folder of its own, and stopped again; rows whose server is not installed are
left out, and the bench says so.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench import data, spark
from bench.measure import Scale, seconds
from bench.result import Result, Target, at_most, duration, size
from naively import NaiveBayes

N_ROWS, N_LEARNT, N_CLASSES = 1_000_000, 100_000, 3
Execute = Callable[[str], Any]


def sql_postgres_textbook(scale: Scale) -> Result | None:
    return _postgres(scale, "textbook")


def sql_postgres_auto(scale: Scale) -> Result | None:
    return _postgres(scale, "auto")


def sql_sqlite_textbook(scale: Scale) -> Result | None:
    return _sqlite(scale, "textbook")


def sql_sqlite_auto(scale: Scale) -> Result | None:
    return _sqlite(scale, "auto")


def sql_spark_textbook(scale: Scale) -> Result | None:
    return _spark(scale, "textbook")


def sql_spark_auto(scale: Scale) -> Result | None:
    return _spark(scale, "auto")


# -- the databases ----------------------------------------------------------------------------------------------------


def _postgres(scale: Scale, recipe: str) -> Result | None:
    installed = shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin"))
    if not installed or not _can_import("psycopg", "sqlglot"):
        return None
    import psycopg
    from tests.system.postgres import server

    model, rows = _model_and_rows(scale, recipe)
    with server() as where, psycopg.connect(**_named(where), autocommit=True) as connection:
        columns = ", ".join(f"{name} double precision" for name in data.by_name(rows))
        connection.execute(f"CREATE TABLE facts ({columns})")
        with connection.cursor() as cursor, cursor.copy("COPY facts FROM STDIN") as copy:
            for start in range(0, len(rows), 10_000):
                lines = ("\t".join(map(repr, row)) for row in rows[start : start + 10_000].tolist())
                copy.write("".join(f"{line}\n" for line in lines))
        connection.execute("VACUUM ANALYZE facts")

        def fetch(sql: str) -> Any:
            return connection.execute(sql).fetchall()

        return _row("PostgreSQL", recipe, model, rows, _answered(model, "postgres", connection.execute, fetch), 15)


def _named(where: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a connection under the names that psycopg has."""
    return {"dbname" if name == "database" else name: value for name, value in where.items()}


def _sqlite(scale: Scale, recipe: str) -> Result | None:
    if not _can_import("sqlglot"):
        return None
    model, rows = _model_and_rows(scale, recipe)
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE facts ({', '.join(f'{name} REAL' for name in data.by_name(rows))})")
        connection.executemany(f"INSERT INTO facts VALUES ({', '.join('?' * rows.shape[1])})", rows.tolist())

        def fetch(sql: str) -> Any:
            return connection.execute(sql).fetchall()

        return _row("SQLite", recipe, model, rows, _answered(model, "sqlite", connection.execute, fetch))
    finally:
        connection.close()


def _spark(scale: Scale, recipe: str) -> Result | None:
    if not _can_import("pyspark", "sqlglot") or shutil.which("java") is None:
        return None
    model, rows = _model_and_rows(scale, recipe)
    with _spark_session() as session:
        spark.cached(session, data.by_name(rows)).createOrReplaceTempView("facts")

        def fetch(sql: str) -> Any:
            return session.sql(sql).collect()

        try:
            return _row("Spark SQL", recipe, model, rows, _answered(model, "spark", session.sql, fetch))
        finally:
            for name in model.to_sql("facts", "spark").tables:
                session.sql(f"DROP TABLE IF EXISTS {name}")


@contextmanager
def _spark_session() -> Iterator[Any]:
    session = spark.session()
    try:
        yield session
    finally:
        session.stop()


# -- what the rows share ----------------------------------------------------------------------------------------------


def _can_import(*modules: str) -> bool:
    return all(find_spec(module) is not None for module in modules)


def _model_and_rows(scale: Scale, recipe: str) -> tuple[NaiveBayes, Any]:
    n_columns = scale.choose(30, quick=6)
    X, y = data.numbers(scale.rows(N_LEARNT), n_columns, N_CLASSES)
    model = NaiveBayes(recipe).fit(data.by_name(X), y)
    return model, data.numbers(scale.rows(N_ROWS), n_columns, N_CLASSES)[0]


def _answered(model: NaiveBayes, dialect: str, execute: Execute, fetch: Execute) -> tuple[float, list[float]]:
    """The seconds in which a database answers for all rows, and the mean of its answers for each class."""
    sql = model.to_sql("facts", dialect)
    for statement in sql.statements:
        execute(statement)
    names = ", ".join(f"avg(probability_{label})" for label in model.classes_.tolist())
    found: list[Any] = []
    taken = seconds(lambda: found.extend(fetch(f"SELECT {names} FROM ({sql.query}) AS answers")))
    return taken, list(found[0])


def _row(
    database: str,
    recipe: str,
    model: NaiveBayes,
    rows: Any,
    answered: tuple[float, list[float]],
    limit: float | None = None,
) -> Result:
    table = data.by_name(rows)
    expected = model.predict_proba(table).mean(axis=0)
    np.testing.assert_allclose(answered[1], expected, rtol=0, atol=1e-9)
    targets: list[Target] = [] if limit is None else [at_most(limit, "s", answered[0])]
    return Result(
        work=f"to_sql in {database}, {size(len(rows))} x {rows.shape[1]}, {recipe}, {N_CLASSES} classes",
        ours=answered[0],
        peer=seconds(lambda: model.predict_proba(table)),
        peer_name="local predict_proba",
        targets=targets,
        notes=f"run once, and only the mean answer is fetched; {duration(answered[0] / len(rows))} a row",
    )
