"""The servers that tests of the system share: each is started once, when a test first asks for it."""

import os
import sys

import pytest

from tests.system.postgres import server


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server of our own, as the arguments of `psycopg.connect`."""
    with server() as address:
        yield address


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A Spark session with two executors, each a process of its own, on this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("naively")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
