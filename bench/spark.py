"""Row: Spark, end to end from a cached data frame."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench import data
from bench.measure import Scale, seconds, side_by_side
from bench.result import Result, at_least, duration, size
from naively import NaiveBayes

N_COLUMNS, N_CLASSES = 20, 3


def spark_fit_gaussian(scale: Scale) -> Result | None:
    """Against MLlib, which is given the vectors that it needs made from the same cached frame."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        return None
    numbers, y = data.numbers(scale.rows(1_000_000), N_COLUMNS, N_CLASSES)
    running = session()
    try:
        columns = {f"x{j}": column for j, column in enumerate(numbers.T)}
        frame = cached(running, {**columns, "y": y.astype(np.int64)})
        names = [f"x{j}" for j in range(N_COLUMNS)]
        times = side_by_side(
            scale, ours=lambda: NaiveBayes("textbook").fit(frame, "y"), peer=lambda: _mllib(frame, names)
        )
        moved = min(seconds(lambda: frame.mapInArrow(_count_rows, "n long").collect()) for _ in range(3))
        ours, theirs = NaiveBayes("textbook").fit(frame, "y"), _mllib(frame, names)
        means = np.column_stack([ours.parameters()[name]["mean"] for name in names])
        np.testing.assert_allclose(means, theirs.theta.toArray(), rtol=1e-6, atol=1e-9)
    finally:
        running.stop()
    return Result(
        work=f"fit on Spark local[2], cached frame, {size(len(y))} x {N_COLUMNS} float64, {N_CLASSES} classes",
        **times,
        peer_name="MLlib NaiveBayes (gaussian)",
        targets=[at_least(3, "x MLlib", times["peer"] / times["ours"])],
        notes="one GROUP BY of Spark itself; for the kernels rows are handed to Python as Arrow, and that alone "
        f"takes {duration(moved)}",
    )


def _count_rows(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.record_batch({"n": pa.array([sum(batch.num_rows for batch in batches)])})


def session() -> Any:
    """Spark on two cores of this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("naively-bench")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="naively-bench-"),
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def cached(running: Any, columns: dict[str, Any]) -> Any:
    """A data frame of four partitions, in memory."""
    import pyarrow as pa

    table = pa.table({name: np.ascontiguousarray(column) for name, column in columns.items()})
    frame = running.createDataFrame(table).repartition(4).cache()
    assert frame.count() == table.num_rows
    return frame


def _mllib(frame: Any, names: list[str]) -> Any:
    from pyspark.ml.classification import NaiveBayes as MLlibNaiveBayes
    from pyspark.ml.feature import VectorAssembler

    assembled = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
    return MLlibNaiveBayes(modelType="gaussian", labelCol="y").fit(assembled)
