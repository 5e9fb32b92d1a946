"""Dask, on a cluster of two worker processes."""

import os
import signal
import time

import dask
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster

from naively import NaiveBayes
from naively.errors import InputError
from tests.system.likeness import assert_same_answers, assert_same_sums

pytestmark = [
    pytest.mark.usefixtures("client"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=folder
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 2000
    y = rng.choice(["no", "yes"], n)
    return pd.DataFrame(
        {
            "a `tick`. and a dot": np.where(rng.random(n) < 0.1, np.nan, 1e8 + rng.normal(y == "yes", 1.0, n)),
            "größe": rng.choice(np.array(["red", "green", None], dtype=object), n),
            "truth": rng.random(n) < 0.3,
            "n": rng.poisson(3.0, n),
            "class": y,
            "weight": rng.integers(1, 4, n).astype(float),
        }
    )


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_the_same_model_as_in_memory(rows, recipe):
    local = NaiveBayes(recipe).fit(rows, "class", "weight")
    frame = dask.dataframe.from_pandas(rows, npartitions=5)
    model = NaiveBayes(recipe).fit(frame, "class", "weight")
    assert model.schema_ == local.schema_
    assert_same_sums(model.statistics_, local.statistics_)
    assert_same_answers(model, local, rows, {"textbook": 1e-12, "auto": 1e-6}[recipe])
    assert model.score(frame, "class") == local.score(rows, "class")


def test_a_frame_with_answers_stays_in_dask(rows):
    model = NaiveBayes("textbook").fit(rows.drop(columns="weight"), "class")
    answered = model.annotate(dask.dataframe.from_pandas(rows, npartitions=3))
    assert isinstance(answered, dask.dataframe.DataFrame)
    expected = model.annotate(rows)
    assert list(answered.columns) == list(expected.columns)
    found = answered.compute()
    for name in expected.columns[rows.shape[1] :]:
        assert found[name].tolist() == expected[name].tolist(), name


def test_many_partitions_are_merged_in_a_tree(rows):
    frame = dask.dataframe.from_pandas(rows, npartitions=70)
    model = NaiveBayes("textbook").fit(frame, "class", "weight")
    assert_same_sums(model.statistics_, NaiveBayes("textbook").fit(rows, "class", "weight").statistics_)


def test_rows_that_are_refused_are_refused_as_in_memory(rows):
    bad = rows.assign(n=np.where(np.arange(len(rows)) == 1500, np.inf, rows["n"]))
    with pytest.raises(InputError, match=r"In a partition: Input X contains infinity: column 'n'"):
        NaiveBayes("textbook").fit(dask.dataframe.from_pandas(bad, npartitions=4), "class", "weight")


def test_a_killed_worker_counts_no_row_twice(rows, tmp_path):
    folder = str(tmp_path)

    def slow(part):
        from pathlib import Path

        if len(part) and part.index[0] > 0:
            mark = Path(folder) / f"{part.index[0]}-{os.getpid()}"
            mark.with_suffix(".started").write_text(str(os.getpid()))
            time.sleep(1.0)
            if not list(Path(folder).glob("killed")):  # the first task that sees no kill is the one that is killed
                Path(folder, "killed").write_text(mark.name)
                os.kill(os.getpid(), signal.SIGKILL)
            mark.with_suffix(".finished").write_text("")
        return part

    frame = dask.dataframe.from_pandas(rows, npartitions=6).map_partitions(slow, meta=rows.iloc[:0])
    model = NaiveBayes("textbook").fit(frame, "class", "weight")
    killed = (tmp_path / "killed").read_text()
    first_row = killed.partition("-")[0]
    assert not (tmp_path / f"{killed}.finished").exists()
    assert list(tmp_path.glob(f"{first_row}-*.finished")), "the task was not run again"
    assert_same_sums(model.statistics_, NaiveBayes("textbook").fit(rows, "class", "weight").statistics_)
