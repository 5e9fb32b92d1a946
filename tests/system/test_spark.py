"""Spark, on a cluster of two executors in processes of their own."""

import os
import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

from naively import NaiveBayes
from naively.errors import InputError, InputTypeError
from tests.engines.lazy_data import NAMES, arrow_table, odd_rows
from tests.system.likeness import assert_same_answers, assert_same_sums

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*pandas:FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)

TOLERANCE = {"textbook": 1e-12, "auto": 1e-6}
"""Equal sums give answers that are equal but for rounding; a solver that weighs evidence stops where it is close."""

BACKTICK = "a `tick`. and a dot"


@pytest.fixture(scope="module")
def table():
    rows = arrow_table(odd_rows(900)).drop_columns([NAMES["wide"]])
    return rows.append_column(BACKTICK, pa.array(np.arange(900) % 7))


@pytest.fixture(scope="module")
def frame(spark, table):
    return spark.createDataFrame(table).repartition(4).cache()


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_the_same_model_as_in_memory(frame, table, recipe):
    local = NaiveBayes(recipe).fit(table, "class", "weight")
    model = NaiveBayes(recipe).fit(frame, "class", "weight")
    assert model.schema_ == local.schema_
    assert_same_sums(model.statistics_, local.statistics_)
    assert_same_answers(model, local, table, TOLERANCE[recipe])


def numbers_alone(n=900):
    """Numbers near and far from zero, whole and not, some of them missing; a class is rare, and one column narrow."""
    rows = arrow_table(odd_rows(n)).select([NAMES["plain"], NAMES["far"], NAMES["sparse"], NAMES["whole"], "class"])
    narrow = pa.array(np.arange(n) % 5 / 3, pa.float32())
    return rows.append_column(BACKTICK, narrow)


@pytest.mark.parametrize("families", [None, {NAMES["plain"]: "studentt"}, {NAMES["whole"]: "poisson"}])
def test_numbers_alone_are_added_up_by_spark(spark, caplog, families):
    table = numbers_alone()
    if families and NAMES["whole"] in families:
        table = table.set_column(3, NAMES["whole"], pa.compute.abs(table[NAMES["whole"]]))
    local = NaiveBayes("textbook", families=families).fit(table, "class")
    frame = spark.createDataFrame(table).repartition(3).cache()
    with caplog.at_level("DEBUG", logger="naively"):
        model = NaiveBayes("textbook", families=families).fit(frame, "class")
    assert frame.storageLevel.useMemory, "what the user has cached stays so"
    assert "pyspark: sums of 5 columns" in caplog.messages
    assert any("group by" in message for message in caplog.messages)
    assert not any("partitions" in message for message in caplog.messages)
    assert model.schema_ == local.schema_
    assert model.classes_.dtype == local.classes_.dtype
    assert model.class_count_.tolist() == local.class_count_.tolist()
    for name in (NAMES["far"], NAMES["sparse"]):
        for part in ("mean", "variance"):
            np.testing.assert_allclose(model.parameters()[name][part], local.parameters()[name][part], rtol=1e-9)
    assert_same_answers(model, local, table)


def test_sums_that_would_lose_digits_are_left_to_the_kernels(spark, caplog):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    rows = pa.table({"x": np.where(y == 1, 1e8, 0.0) + rng.normal(size=300), "class": y})
    with caplog.at_level("INFO", logger="naively"):
        model = NaiveBayes("textbook").fit(spark.createDataFrame(rows).repartition(3), "class")
    assert "pyspark: statistics of 3 partitions" in caplog.messages
    assert_same_sums(model.statistics_, NaiveBayes("textbook").fit(rows, "class").statistics_)


@pytest.mark.parametrize(
    ("cells", "families", "words"),
    [
        ([1.0, 2.0, np.inf, 4.0], None, "Input X contains infinity: column 'x'"),
        ([1.0, 2.0, -3.0, 4.0], {"x": "poisson"}, "Negative values in data"),
    ],
)
def test_numbers_that_are_refused_are_refused_in_the_words_of_a_table(spark, cells, families, words):
    frame = spark.createDataFrame(pa.table({"x": cells, "class": ["a", "b", "a", "b"]})).repartition(2)
    with pytest.raises(InputError, match=f"In a partition: {words}"):
        NaiveBayes("textbook", families=families).fit(frame, "class")


def test_learning_more_forgetting_and_scoring(frame, table):
    local = NaiveBayes("textbook", families={NAMES["whole"]: "categorical"}).fit(table, "class")
    model = NaiveBayes("textbook", families={NAMES["whole"]: "categorical"}).fit(table, "class")
    model.partial_fit(frame, "class")
    assert model.class_count_.tolist() == (2 * local.class_count_).tolist()
    assert_same_sums(model.forget(frame, "class").statistics_, local.statistics_)
    assert model.score(frame, "class") == local.score(table, "class")


@pytest.mark.parametrize("evidence", [False, True])
def test_a_frame_with_answers_stays_in_spark(frame, table, evidence):
    from pyspark.sql import DataFrame

    model = NaiveBayes("textbook").fit(table.drop_columns(["weight"]), "class")
    answered = model.annotate(frame, evidence=evidence)
    assert isinstance(answered, DataFrame)
    expected = model.annotate(frame.toArrow(), evidence=evidence)
    found = answered.toArrow()
    assert found.column_names == expected.column_names
    for name in expected.column_names[table.num_columns :]:
        assert found[name].to_pylist() == expected[name].to_pylist(), name


def test_large_sums_are_merged_in_a_tree(spark, caplog):
    texts = [f"on day {i} the parcel number {i % 50} came late and was sent back to the shop again" for i in range(800)]
    rows = pa.table({"text": texts, "x": np.arange(800) / 7, "class": ["a", "b"] * 400})
    local = NaiveBayes("auto").fit(rows, "class")
    with caplog.at_level("INFO", logger="naively"):
        model = NaiveBayes("auto").fit(spark.createDataFrame(rows).repartition(33), "class")
    assert "pyspark: merged to 2" in caplog.messages
    assert_same_sums(model.statistics_, local.statistics_)


def test_rows_that_are_refused_are_refused_as_in_memory(spark):
    rows = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "class": ["a", "b", None, "b"]})
    frame = spark.createDataFrame(rows).repartition(2)
    model = NaiveBayes("textbook").fit([[1.0], [2.0]], ["a", "b"])
    before = model.statistics_
    with pytest.raises(InputError, match=r"In a partition: Input y contains NaN or None"):
        model.fit(frame, "class")
    with pytest.raises(InputTypeError, match="y must be the name of the column"):
        model.fit(frame, ["a", "b", "a", "b"])
    with pytest.raises(InputTypeError, match="'pair' has the type"):
        model.fit(spark.sql("select array(1, 2) as pair, 'a' as class"), "class")
    assert model.statistics_ is before


def test_dates_are_learnt_as_in_memory(spark):
    days = pa.array([19723 + 11 * day for day in range(40)], pa.int32()).cast(pa.date32())
    rows = pa.table({"day": days, "class": ["a", "b", "b", "a"] * 10})
    local = NaiveBayes("textbook").fit(rows, "class")
    model = NaiveBayes("textbook").fit(spark.createDataFrame(rows).repartition(3), "class")
    np.testing.assert_allclose(model.predict_proba(rows), local.predict_proba(rows), atol=1e-12)
    assert model.schema_.names == local.schema_.names == ("day",)


def test_a_killed_executor_counts_no_row_twice(spark, table, tmp_path):
    folder = str(tmp_path)

    def slow(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        mark = Path(folder) / f"{task.partitionId()}-{task.taskAttemptId()}"
        daemon = os.getppid()  # the worker's parent is a daemon, whose parent is the executor
        executor = int((Path("/proc") / str(daemon) / "stat").read_text().rsplit(")", 1)[1].split()[1])
        mark.with_suffix(".started").write_text(str(executor))
        time.sleep(1.5)
        yield from batches
        mark.with_suffix(".finished").write_text("")

    rows = table.drop_columns(["weight", BACKTICK])
    rows = rows.rename_columns([f"c{place}" for place in range(rows.num_columns - 1)] + ["class"])
    frame = spark.createDataFrame(rows).repartition(6).cache()
    assert frame.count() == rows.num_rows
    killed = []

    def kill_one():
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            for started in tmp_path.glob("*.started"):
                late = int(started.stem.partition("-")[0]) >= 2 and started.read_text()
                if late and not started.with_suffix(".finished").exists() and _is_executor(int(started.read_text())):
                    os.kill(int(started.read_text()), signal.SIGKILL)
                    killed.append(started)
                    break
            time.sleep(0.05)

    killer = threading.Thread(target=kill_one)
    killer.start()
    model = NaiveBayes("textbook").fit(frame.mapInArrow(slow, frame.schema), "class")
    killer.join()
    assert killed
    (first,) = killed
    assert not first.with_suffix(".finished").exists(), "the kill came after the task"
    partition = first.stem.partition("-")[0]
    again = [mark for mark in tmp_path.glob(f"{partition}-*.finished") if mark.stem != first.stem]
    assert again, "the task was not run again"
    assert_same_sums(model.statistics_, NaiveBayes("textbook").fit(rows, "class").statistics_)


def _is_executor(pid):
    command = (Path("/proc") / str(pid) / "cmdline").read_bytes()
    return b"CoarseGrainedExecutorBackend" in command


def test_the_code_of_the_page(spark):
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    names = {"spark": spark}
    for block in blocks:
        exec(compile(block, "docs/spark.md", "exec"), names)
