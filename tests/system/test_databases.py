"""Databases: PostgreSQL on a server of our own, SQLite in a file, DuckDB through Ibis, each with odd tables."""

import logging
import math
import sqlite3

import duckdb
import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from naively import NaiveBayes
from naively.errors import InputError
from tests.engines.lazy_data import NAMES, arrow_table, odd_rows
from tests.engines.test_lazy import assert_alike

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*infer_string"),  # Ibis sets an option that pandas 3 is to drop
    pytest.mark.filterwarnings("ignore:fetch_arrow_table"),  # and calls what DuckDB is to drop
]

TABLE = 'an "odd" table; drop table x'
POSTGRES = {
    pa.float64(): "double precision",
    pa.int64(): "bigint",
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.decimal128(12, 2): "numeric(12, 2)",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}
SQLITE = {**dict.fromkeys(POSTGRES, "real"), pa.int64(): "integer", pa.string(): "text", pa.bool_(): "boolean"}


class Postgres:
    """Makes tables of a PostgreSQL server."""

    has_nan = True

    def __init__(self, address, folder):
        self.connection = psycopg.connect(**address, autocommit=True)
        given = {name: value for name, value in address.items() if name != "dbname"}
        self.ibis = ibis.postgres.connect(**given, database=address["dbname"])

    def table(self, rows, name):
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(POSTGRES[field.type])) for field in rows.schema
        ]
        self.connection.execute(sql.SQL("drop table if exists {}").format(sql.Identifier(name)))
        self.connection.execute(
            sql.SQL("create table {} ({})").format(sql.Identifier(name), sql.SQL(", ").join(columns))
        )
        with (
            self.connection.cursor() as cursor,
            cursor.copy(sql.SQL("copy {} from stdin").format(sql.Identifier(name))) as copy,
        ):
            for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                copy.write_row(row)
        return self.ibis.table(name)

    def close(self):
        self.connection.close()
        self.ibis.disconnect()


class SQLite:
    """Makes tables of a SQLite file."""

    has_nan = False

    def __init__(self, address, folder):
        self.path = folder / "rows.db"

    def table(self, rows, name):
        quoted = '"{}"'.format(name.replace('"', '""'))
        columns = ", ".join(
            '"{}" {}'.format(field.name.replace('"', '""'), SQLITE[field.type]) for field in rows.schema
        )
        with sqlite3.connect(self.path) as connection:
            connection.execute(f"drop table if exists {quoted}")
            connection.execute(f"create table {quoted} ({columns})")
            cells = [[_plain(cell) for cell in column.to_pylist()] for column in rows.columns]
            marks = ", ".join("?" * rows.num_columns)
            connection.executemany(f"insert into {quoted} values ({marks})", list(zip(*cells, strict=True)))
        connection.close()
        self.ibis = ibis.sqlite.connect(self.path)
        return self.ibis.table(name)

    def close(self):
        self.ibis.disconnect()


class DuckDB:
    """Makes tables of DuckDB that Ibis reads."""

    has_nan = True

    def __init__(self, address, folder):
        self.path = folder / "rows.duckdb"
        self.ibis = None

    def table(self, rows, name):
        self.close()
        quoted = '"{}"'.format(name.replace('"', '""'))
        with duckdb.connect(self.path) as connection:
            connection.register("given", rows)
            connection.execute(f"create or replace table {quoted} as select * from given").fetchall()
        self.ibis = ibis.duckdb.connect(self.path)
        return self.ibis.table(name)

    def close(self):
        if self.ibis is not None:
            self.ibis.disconnect()


def _plain(cell):
    return float(cell) if type(cell).__name__ == "Decimal" else cell


@pytest.fixture(scope="module", params=[Postgres, SQLite, DuckDB], ids=["postgresql", "sqlite", "duckdb"])
def database(request, postgres, tmp_path_factory):
    made = request.param(postgres, tmp_path_factory.mktemp("database"))
    yield made
    made.close()


@pytest.mark.parametrize("weight", [None, "weight"])
def test_an_odd_table(database, weight):
    rows = arrow_table(odd_rows())
    rows = rows if weight else rows.drop_columns(["weight"])
    families = {NAMES["wide"]: "categorical"}
    local = NaiveBayes("textbook", families=families).fit(rows, "class", weight)
    model = NaiveBayes("textbook", families=families).fit(database.table(rows, TABLE), "class", weight)
    assert model.schema_ == local.schema_
    assert_alike(model.statistics_, local.statistics_)
    np.testing.assert_allclose(model.predict_proba(rows), local.predict_proba(rows), atol=1e-11)


@pytest.mark.parametrize("recipe", ["auto", "fast"])
def test_rows_come_in_pieces_where_sums_are_not_enough(database, recipe):
    rows = arrow_table(odd_rows()).drop_columns(["weight", NAMES["amount"], NAMES["wide"]])
    local = NaiveBayes(recipe).fit(rows, "class")
    table = database.table(rows, "rows")
    model = NaiveBayes(recipe).fit(table, "class")
    np.testing.assert_allclose(model.predict_proba(rows), local.predict_proba(rows), atol=1e-12)
    assert model.score(table, "class") == local.score(rows, "class")


def test_answers_come_as_record_batches(database):
    rows = arrow_table(odd_rows()).drop_columns(["weight", NAMES["amount"], NAMES["wide"]])
    model = NaiveBayes("textbook").fit(rows, "class")
    reader = model.annotate(database.table(rows, "rows"))
    assert isinstance(reader, pa.RecordBatchReader)
    found = reader.read_all()  # in the order of the database
    assert found.num_rows == rows.num_rows
    expected = model.annotate(found.select(rows.column_names))
    assert found["prediction"].to_pylist() == expected["prediction"].to_pylist()
    np.testing.assert_allclose(found["probability_yes"].to_numpy(), expected["probability_yes"].to_numpy(), atol=1e-12)


def test_classes_far_apart(database):
    rng = np.random.default_rng(1)
    x = rng.normal(size=900) * np.repeat([1e-3, 1.0, 1.0], 300) + np.repeat([0.0, 1e8, -3e11], 300)
    rows = pa.table({"x": x, "order": np.repeat(["group", "by", "select"], 300)})
    local = NaiveBayes("textbook").fit(rows, "order")
    model = NaiveBayes("textbook").fit(database.table(rows, "from"), "order")
    np.testing.assert_allclose(model.parameters()["x"]["variance"], local.parameters()["x"]["variance"], rtol=1e-9)


def test_what_a_table_in_memory_is_refused_for(database):
    good = {"x": [1.0, 2.0], "class": ["a", "b"]}
    for bad, message in (
        ({**good, "x": [1.0, math.inf]}, "Input X contains infinity"),
        ({**good, "class": ["a", None]}, "Input y contains NaN or None"),
    ):
        for rows in (pa.table(bad), database.table(pa.table(bad), "bad")):
            with pytest.raises(InputError, match=message):
                NaiveBayes("textbook").fit(rows, "class")


def test_dates_are_read_as_in_a_table(postgres, tmp_path):
    import datetime

    database = Postgres(postgres, tmp_path)
    try:
        for kind, cell in (
            (pa.date32(), datetime.date(2024, 1, 1)),
            (pa.timestamp("us"), datetime.datetime(2024, 1, 1)),
        ):
            rows = pa.table({"when": pa.array([cell, None, cell], kind), "class": ["a", "b", "b"]})
            there = NaiveBayes("textbook").fit(database.table(rows, "dates"), "class")
            assert there.statistics_ == NaiveBayes("textbook").fit(rows, "class").statistics_
    finally:
        database.close()


def test_the_sql_that_is_sent_is_logged(database, caplog):
    rows = pa.table({"x": [1.0, 2.5, 3.0, 4.5], "class": ["a", "b", "a", "b"]})
    table = database.table(rows, "logged")
    with caplog.at_level(logging.DEBUG, logger="naively"):
        NaiveBayes("textbook").fit(table, "class")
    sent = [record.message for record in caplog.records if record.levelno == logging.DEBUG]
    assert any("SUM(" in text and "GROUP BY" in text and '"logged"' in text for text in sent)
