"""`to_sql` on servers: PostgreSQL and Spark SQL answer as the model does."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.export.databases import TABLE, TYPES, answers, created, plain_rows, quoted
from tests.export.exported import models
from tests.export.test_sql import assert_same

MODELS = models()
BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def _as_postgres(command):
    """A command of the server, which refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A connection to a server of its own."""
    import psycopg

    folder = tmp_path_factory.mktemp("postgres")
    for path in (folder, *folder.parents[:2]):
        path.chmod(0o755)
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    control = [str(BINARIES[-1] / "pg_ctl"), "-D", str(folder / "data")]
    initialise = [str(BINARIES[-1] / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "tester"]
    subprocess.run(_as_postgres(initialise), check=True, capture_output=True, cwd=folder)
    options = f"-k {folder} -h '' -c fsync=off"
    start = [*control, "-o", options, "-l", str(folder / "log"), "-w", "start"]
    subprocess.run(_as_postgres(start), check=True, capture_output=True, cwd=folder)
    with psycopg.connect(f"host={folder} user=tester dbname=postgres", autocommit=True) as connection:
        yield connection
    subprocess.run(_as_postgres([*control, "-m", "immediate", "stop"]), check=True, capture_output=True, cwd=folder)


@pytest.mark.parametrize("name", MODELS)
def test_postgresql_answers_as_the_model(name, postgres):
    model, frame = MODELS[name]
    postgres.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    created(frame, postgres.execute, TABLE, "DOUBLE PRECISION")
    with postgres.cursor() as cursor, cursor.copy(f"COPY {quoted(TABLE)} FROM STDIN") as copy:
        for row in plain_rows(frame):
            copy.write_row(row)
    sql = model.to_sql(TABLE, "postgres", keep=["id"])
    for statement in sql.statements:
        postgres.execute(statement)
    assert_same(model, frame, answers(postgres.execute(sql.query).fetchall()))


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A session on this machine."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(folder)).config("spark.sql.shuffle.partitions", "2")
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore")  # of pyspark itself
@pytest.mark.parametrize("name", ["textbook", "auto", "auto families", "labels of numbers"])
def test_spark_answers_as_the_model(name, spark):
    from pyspark.sql.types import BooleanType, DoubleType, IntegerType, StringType, StructField, StructType

    model, frame = MODELS[name]
    kinds = {"DOUBLE": DoubleType(), "TEXT": StringType(), "BOOLEAN": BooleanType()}
    fields = [StructField("id", IntegerType()), *(StructField(column, kinds[TYPES[column]]) for column in frame)]
    numbers = [TYPES.get(column) == "DOUBLE" for column in ("id", *frame)]
    rows = [
        tuple(float(cell) if number and cell is not None else cell for cell, number in zip(row, numbers, strict=True))
        for row in plain_rows(frame)
    ]
    table = f"rows_{list(MODELS).index(name)}"
    spark.createDataFrame(rows, StructType(fields)).createOrReplaceTempView(table)
    sql = model.to_sql(table, "spark", keep=["id"], prefix=f"model_{table}")
    for statement in sql.statements:
        spark.sql(statement)
    assert_same(model, frame, answers([tuple(row) for row in spark.sql(sql.query).collect()]))
    for made in sql.tables:
        spark.sql(f"DROP TABLE `{made}`")
