"""Answers beside the rows: in frames of any library, and from file to file."""

import gzip
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from pyarrow import json as pa_json

from naively import NaiveBayes, files
from naively.engines import _formats
from naively.errors import InputError, InputTypeError, ParameterError
from tests.engines.test_files import make, write

FRAME = make(300).drop(columns="letter")
ROWS = FRAME.drop(columns="kind")
MODEL = NaiveBayes("textbook").fit(FRAME, "kind")


def _check(frame: pd.DataFrame, model: NaiveBayes = MODEL, rows: pd.DataFrame = ROWS) -> None:
    """Whether a frame has the answers of a model beside the columns that it had."""
    added = ["prediction", *(f"probability_{label}" for label in model.classes_)]
    assert list(frame.columns) == [*rows.columns, *added]
    assert frame["prediction"].tolist() == model.predict(rows).tolist()
    assert np.allclose(frame[added[1:]].to_numpy(), model.predict_proba(rows), rtol=1e-12)


def test_frames_stay_in_their_library() -> None:
    shuffled = ROWS.iloc[::-1]
    answer = MODEL.annotate(shuffled)
    _check(answer, rows=shuffled)
    assert answer.index.equals(shuffled.index)
    assert "prediction" not in shuffled
    for given in (pl.from_pandas(ROWS), pa.Table.from_pandas(ROWS, preserve_index=False)):
        answer = MODEL.annotate(given)
        assert type(answer) is type(given)
        _check(answer.to_pandas())
    batch = pa.RecordBatch.from_pandas(ROWS, preserve_index=False)
    _check(MODEL.annotate(batch).to_pandas())


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("labels", [[3, 5, 5], [True, False, False], ["x", "y", "y"]])
def test_predictions_have_the_type_of_the_classes(library: Any, labels: list[Any]) -> None:
    rows = library.DataFrame({"size": [1.0, 7.0, 8.0]})
    answer = NaiveBayes("textbook", smoothing=1).fit(rows, labels).annotate(rows)
    assert list(answer["prediction"]) == labels
    assert f"probability_{labels[0]}" in answer.columns


def test_other_columns_come_along_whatever_they_hold() -> None:
    dates = pd.date_range("2020-01-01", periods=len(ROWS))
    answer = MODEL.annotate(ROWS.assign(day=dates, many=[[1]] * len(ROWS)))
    assert answer["day"].tolist() == list(dates)
    _check(answer.drop(columns=["day", "many"]))


def test_evidence_adds_up_to_the_log_odds() -> None:
    answer = MODEL.annotate(ROWS, evidence=True)
    bits = answer[[name for name in answer.columns if name.startswith("evidence_")]]
    assert list(bits.columns) == ["evidence_prior", *(f"evidence_{name}" for name in MODEL.evidence_names_)]
    best = MODEL.predict_proba(ROWS).max(axis=1)
    assert np.allclose(bits.sum(axis=1), np.log2(best / (1 - best)))


def test_what_cannot_be_annotated_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"adds columns that are called 'prediction', and there are such"):
        MODEL.annotate(ROWS.assign(prediction=1))
    with pytest.raises(InputTypeError, match=r"adds columns to data frames and files, and got ndarray"):
        NaiveBayes("textbook").fit(np.eye(2), [0, 1]).annotate(np.eye(2))
    with pytest.raises(ParameterError, match=r"annotate\(to\) is for files and streams"):
        MODEL.annotate(ROWS, "a.parquet")


@pytest.mark.parametrize("source", ["parquet", "csv", "csv.gz", "jsonl", "feather"])
@pytest.mark.parametrize("target", ["parquet", "csv", "csv.gz", "jsonl"])
def test_files_become_files(tmp_path: Path, source: str, target: str) -> None:
    write(ROWS, tmp_path / f"rows.{source}", 70)
    path = tmp_path / f"answers.{target}"
    path.write_text("old")
    assert MODEL.annotate(tmp_path / f"rows.{source}", path) == path
    assert {file.name for file in tmp_path.iterdir()} == {f"rows.{source}", path.name}
    read = READERS[target.partition(".")[0]](path)
    _check(read.to_pandas())
    assert read.schema.field("colour").type == pa.string()
    frame = read.to_pandas()
    assert frame["colour"].fillna("").tolist() == ROWS["colour"].fillna("").tolist()
    assert np.array_equal(frame["size"], ROWS["size"], equal_nan=True)


CONVERTED = csv.ConvertOptions(strings_can_be_null=True)
READERS = {
    "parquet": parquet.read_table,
    "csv": lambda path: csv.read_csv(path, None, None, CONVERTED),
    "jsonl": pa_json.read_json,
}


def test_lines_that_differ_from_the_first_ones_come_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_formats, "BLOCK_BYTES", 64)
    rows = [{"size": 1, "note": None}, *({"size": 2} for _ in range(30)), {"size": 2.5, "note": "late", "more": [1.5]}]
    source, target = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    model = NaiveBayes("textbook").fit({"size": [1.0, 2.0, 2.5]}, ["a", "b", "b"])
    model.annotate(source, target)
    written = [json.loads(line) for line in gzip.decompress(target.read_bytes()).splitlines()]
    assert [row["size"] for row in written] == [float(row["size"]) for row in rows]
    assert [row["note"] for row in written] == [None] * 31 + ["late"]
    assert written[-1]["more"] == [1.5]
    assert [row["prediction"] for row in written] == model.predict({"size": [row["size"] for row in rows]}).tolist()
    model.annotate(source, tmp_path / "b.parquet")
    assert parquet.read_table(tmp_path / "b.parquet").num_rows == len(rows)
    source.write_text("".join(f"{line:63}\n" for line in ('{"size": 1}', '{"size": "large"}')))
    with pytest.raises(InputError, match=r"a.jsonl, the lines from \d+ on are unlike those before"):
        model.annotate(source, target)


def test_what_json_has_no_type_for_is_written_as_text(tmp_path: Path) -> None:
    cells = {"day": [date(2024, 2, 1)], "price": [Decimal("1.50")], "size": [float("nan")]}
    parquet.write_table(pa.table(cells), tmp_path / "a.parquet")
    NaiveBayes("textbook").fit({"size": [1.0, 2.0]}, ["a", "b"]).annotate(tmp_path / "a.parquet", tmp_path / "b.jsonl")
    (written,) = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert (written["day"], written["price"], written["size"]) == ("2024-02-01", 1.5, None)


def test_text_of_csv_is_written_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,code,size\n007,01,1\n008,2,2.5\n")
    model = NaiveBayes("textbook").fit({"code": ["01", "2"], "size": [1.0, 2.0]}, ["a", "b"])
    model.annotate(tmp_path / "a.csv", tmp_path / "b.csv")
    lines = (tmp_path / "b.csv").read_text().splitlines()
    assert [line.split(",")[:4] for line in lines[1:]] == [
        ['"007"', '"01"', "1", '"a"'],
        ['"008"', '"2"', "2.5", '"b"'],
    ]


def test_types_of_parquet_stay(tmp_path: Path) -> None:
    table = pa.table(
        {"size": [1.0, 2.0], "code": pa.array(["a", "b"]).dictionary_encode(), "n": pa.array([1, 2], pa.int8())}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    model = NaiveBayes("textbook").fit(table, ["x", "y"])
    model.annotate(tmp_path / "a.parquet", tmp_path / "b.parquet")
    written = parquet.read_table(tmp_path / "b.parquet")
    assert written.select(table.column_names).equals(table)


def test_streams_and_iterators(tmp_path: Path) -> None:
    halves = [ROWS[:100], ROWS[100:]]
    _check(pd.concat(list(MODEL.annotate(iter(halves)))))
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    _check(pa.concat_tables(MODEL.annotate(table.to_reader(120))).to_pandas())
    write(ROWS, tmp_path / "a.parquet", 100)
    _check(pa.concat_tables(MODEL.annotate(tmp_path / "a.parquet")).to_pandas())
    MODEL.annotate(table.to_reader(120), tmp_path / "b.parquet")
    _check(parquet.read_table(tmp_path / "b.parquet").to_pandas())
    MODEL.annotate(iter([pl.from_pandas(half) for half in halves]), tmp_path / "c.parquet")
    _check(parquet.read_table(tmp_path / "c.parquet").to_pandas())


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "a.parquet", 100)
    write(ROWS.assign(size="large"), tmp_path / "b.parquet", 100)
    target = tmp_path / "to.parquet"
    target.write_text("old")
    with pytest.raises(InputError, match=r"b\.parquet: column 'size' holds text"):
        MODEL.annotate([tmp_path / "a.parquet", tmp_path / "b.parquet"], target)
    with pytest.raises(InputError, match=r"b\.parquet, row groups? .*: Column 'size' held numbers"):
        MODEL.annotate(tmp_path / "b.parquet", target)
    assert target.read_text() == "old"
    assert {file.name for file in tmp_path.iterdir()} == {"a.parquet", "b.parquet", "to.parquet"}
    for wrong in ("answers.xls", tmp_path / "none" / "a.parquet", 3):
        with pytest.raises(ParameterError, match=r"annotate\(to\)"):
            MODEL.annotate(files(tmp_path / "a.parquet"), wrong)  # type: ignore[arg-type]


def test_what_a_format_cannot_hold_is_said(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"size": [1.0, 2.0], "pair": [[1, 2], [3]]}), tmp_path / "a.parquet")
    model = NaiveBayes("textbook").fit(pa.table({"size": [1.0, 2.0], "kind": ["a", "b"]}), "kind")
    with pytest.raises(InputError, match=r"b\.csv: the file cannot be written: Unsupported Type:list"):
        model.annotate(tmp_path / "a.parquet", tmp_path / "b.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet"]
