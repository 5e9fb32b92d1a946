"""`to_sql` on servers: PostgreSQL and Spark SQL answer as the model does."""

import psycopg
import pytest

from tests.export.databases import TABLE, TYPES, answers, created, plain_rows, quoted
from tests.export.exported import models
from tests.export.test_sql import assert_same

MODELS = models()


@pytest.fixture(scope="module")
def database(postgres):
    """A connection to a database of its own."""
    with psycopg.connect(**postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE scored")
    with psycopg.connect(**{**postgres, "dbname": "scored"}, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("name", MODELS)
def test_postgresql_answers_as_the_model(name, database):
    model, frame = MODELS[name]
    database.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    created(frame, database.execute, TABLE, "DOUBLE PRECISION")
    with database.cursor() as cursor, cursor.copy(f"COPY {quoted(TABLE)} FROM STDIN") as copy:
        for row in plain_rows(frame):
            copy.write_row(row)
    sql = model.to_sql(TABLE, "postgres", keep=["id"])
    for statement in sql.statements:
        database.execute(statement)
    assert_same(model, frame, answers(database.execute(sql.query).fetchall()))


@pytest.mark.filterwarnings("ignore")  # of pyspark itself
@pytest.mark.parametrize("name", MODELS)
def test_spark_answers_as_the_model(name, spark):
    from pyspark.sql import types

    model, frame = MODELS[name]
    kinds = {"DOUBLE": types.DoubleType(), "TEXT": types.StringType(), "BOOLEAN": types.BooleanType()}
    kinds |= {"TIMESTAMP": types.TimestampNTZType(), "DATE": types.DateType(), "TIME": types.StringType()}
    fields = [types.StructField(column, kinds[TYPES[column]]) for column in frame]
    fields.insert(0, types.StructField("id", types.IntegerType()))
    reads = [{"DOUBLE": float, "TIME": str}.get(TYPES.get(column), lambda cell: cell) for column in ("id", *frame)]
    rows = [
        tuple(None if cell is None else read(cell) for cell, read in zip(row, reads, strict=True))
        for row in plain_rows(frame)
    ]
    table = f"rows_{list(MODELS).index(name)}"
    spark.createDataFrame(rows, types.StructType(fields)).createOrReplaceTempView(table)
    sql = model.to_sql(table, "spark", keep=["id"], prefix=f"model_{table}")
    for statement in sql.statements:
        spark.sql(statement)
    assert_same(model, frame, answers([tuple(row) for row in spark.sql(sql.query).collect()]))
    for made in sql.tables:
        spark.sql(f"DROP TABLE `{made}`")
