"""Files: whatever their format and however they are cut, a model of them is that of one table in memory."""

import csv
import gzip
import json
import re
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import dataset, feather, ipc, parquet

from naively import NaiveBayes, files
from naively.analysis import drift
from naively.engines import _arrow, _files, _formats
from naively.errors import InputError, InputTypeError, NaivelyWarning, ParameterError, SchemaError
from naively.families import Categorical
from naively.testing import _alike

TEXTS = [
    "the parcel has not come yet and nobody at the shop answers my letters",
    "many thanks for the quick and kind help",
]


def make(n: int, seed: int = 0) -> pd.DataFrame:
    """Rows of all kinds, with missing cells; numbers that text files hold exactly."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).round(6),
            "code": rng.integers(0, 9, n),
            "colour": rng.choice(np.array(["red", "green", "blue, or grey", 'a "b"'], dtype=object), n),
            "old": rng.random(n) < 0.4,
            "letter": [f"{TEXTS[place]} {seed} {row}" for row, place in enumerate(rng.integers(0, 2, n))],
            "kind": rng.choice(np.array(["a", "b", "c"], dtype=object), n),
            "n": rng.integers(1, 4, n),
        }
    )
    frame.loc[rng.random(n) < 0.2, "size"] = None
    frame.loc[rng.random(n) < 0.2, "colour"] = None
    return frame


def write(frame: pd.DataFrame, path: Path, rows: int) -> None:
    """Write a file in the format that its name says, in row groups of so many rows."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=rows)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=rows)
    elif path.suffix == ".arrows":
        with pa.OSFile(str(path), "wb") as sink, ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    elif path.suffixes[0] == ".jsonl":
        opened: Any = gzip.open if path.suffix == ".gz" else open
        with opened(path, "wt") as sink:
            for number, row in enumerate(table.to_pylist()):
                known = {name: cell for name, cell in row.items() if cell is not None or number == 0}
                sink.write(json.dumps(known) + "\n")
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")


ENDINGS = ("parquet", "feather", "arrows", "csv", "csv.gz", "tsv", "jsonl", "jsonl.gz")


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_of_any_format_is_one_table(
    tmp_path_factory: pytest.TempPathFactory, recipe: str, ending: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("files")
    n = data.draw(st.integers(260, 400), label="rows")  # enough to tell prose
    frame = make(n, data.draw(st.integers(0, 99), label="seed"))
    if recipe != "textbook":
        frame = frame.drop(columns="letter")
    cuts = sorted(data.draw(st.lists(st.integers(1, n - 1), max_size=3, unique=True), label="cuts"))
    rows = data.draw(st.integers(20, 200), label="rows of a group")
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, n], strict=True)):
        write(frame[start:stop], folder / f"{number}.{ending}", rows)
    weight = data.draw(st.sampled_from([None, "n"]), label="weight")
    whole = NaiveBayes(recipe).fit(frame, "kind", sample_weight=weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_formats, "BATCH_ROWS", data.draw(st.sampled_from([64, 1 << 18]), label="rows of a batch"))
        model = NaiveBayes(recipe).fit(str(folder / f"*.{ending}"), "kind", sample_weight=weight)
    assert model.schema_ == whole.schema_
    assert _alike(model.statistics_, whole.statistics_)
    assert model.statistics_.kept == whole.statistics_.kept
    assert np.allclose(model.predict_proba(frame), whole.predict_proba(frame), rtol=1e-12, atol=1e-12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame = make(300)
    write(frame[:100], tmp_path / "a.parquet", 40)
    write(frame[100:], tmp_path / "b.parquet", 40)
    return tmp_path


def test_paths_patterns_folders_lists_and_streams(folder: Path) -> None:
    whole = NaiveBayes("textbook").fit(make(300), "kind")
    paths = [folder / "a.parquet", folder / "b.parquet"]
    reader = dataset.dataset(paths[0].parent).scanner().to_reader()
    sources = [folder, str(folder), f"{folder}/*.parquet", paths, list(map(str, paths)), dataset.dataset(folder)]
    for source in [*sources, reader, dataset.dataset(folder).scanner(), files(paths)]:
        model = NaiveBayes("textbook").fit(source, "kind")
        assert _alike(model.statistics_, whole.statistics_)


def test_all_methods_take_files(folder: Path) -> None:
    frame, path = make(300), f"{folder}/*.parquet"
    model = NaiveBayes("textbook").fit(frame, "kind")
    weighed = NaiveBayes("textbook").fit(frame, "kind", sample_weight="n")
    assert model.score(path, "kind") == model.score(frame, "kind")
    assert weighed.score(path, "kind", sample_weight="n") == pytest.approx(weighed.score(frame, "kind", "n"))
    assert np.allclose(model.loo(path, "kind"), model.loo(frame, "kind"), rtol=1e-12)
    twice = NaiveBayes("textbook").fit(path, "kind").partial_fit(path, "kind")
    assert twice.class_count_.tolist() == (2 * model.class_count_).tolist()
    assert np.allclose(twice.forget(path, "kind").predict_proba(frame), model.predict_proba(frame), rtol=1e-12)


def test_drift_is_found_in_files(folder: Path) -> None:
    frame = make(300)
    model = NaiveBayes("textbook").fit(frame, "kind")
    write(frame.assign(size=frame["size"] + 2), folder / "c.parquet", 100)
    found = drift.compare(model, folder / "c.parquet", "kind")
    assert {change["column"] for change in found if change["p_adjusted"] < 1e-6} == {"size"}
    assert found == drift.compare(model, frame.assign(size=frame["size"] + 2), "kind")
    unchanged = drift.compare(model, [folder / "a.parquet", folder / "b.parquet"], "kind")
    assert all(change["p_value"] > 0.99 for change in unchanged)
    with pytest.raises(ParameterError, match=r"y and sample_weight come with rows, and `after` is a model"):
        drift.compare(model, model, "kind")


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 300), max_size=4), ending=st.sampled_from(ENDINGS), seed=st.integers(0, 99))
def test_unlabelled_rows_of_files_and_streams_are_checked_as_one_table(
    tmp_path_factory: pytest.TempPathFactory, recipe: str, cuts: list[int], ending: str, seed: int
) -> None:
    model = NaiveBayes(recipe).fit(make(300), "kind")
    moved = make(300, seed).drop(columns="kind")
    moved["size"] += seed
    folder, bounds = tmp_path_factory.mktemp("rows"), sorted({0, 300, *cuts})
    for place, (start, stop) in enumerate(pairwise(bounds)):
        write(moved[start:stop], folder / f"{place}.{ending}", 100)
    expected = by_column(drift.check(model, moved))
    streams = (moved[start:stop] for start, stop in pairwise(bounds))
    reader = pa.Table.from_pandas(moved, preserve_index=False).to_reader(50)
    for source in (folder, [*folder.iterdir()], streams, reader):
        pd.testing.assert_frame_equal(by_column(drift.check(model, source)), expected, rtol=1e-9, atol=1e-12)


def by_column(found: drift.Checked) -> pd.DataFrame:
    return pd.DataFrame(list(found)).set_index("column").sort_index()


def test_one_unlabelled_row_of_a_stream_is_refused() -> None:
    model = NaiveBayes("textbook").fit(make(300), "kind")
    with pytest.raises(InputError, match="at least two rows"):
        drift.check(model, iter([make(1)]))


def test_a_list_of_texts_with_classes_is_no_list_of_paths() -> None:
    model = NaiveBayes("textbook").fit(["see a.csv", "see b.parquet"], ["x", "y"])
    assert model.n_features_in_ == 1


# -- errors -----------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(SchemaError, match=r"y='knid' names no column\. Did you mean 'kind'\? There are 'size', 'code'"):
        NaiveBayes().fit(folder, "knid")
    with pytest.raises(SchemaError, match=r"sample_weight='N' names no column. Did you mean 'n'"):
        NaiveBayes().fit(folder, "kind", sample_weight="N")
    with pytest.raises(InputTypeError, match=r"y must be the name of the column that holds the classes"):
        NaiveBayes().fit(folder)
    with pytest.raises(
        InputTypeError, match="y must be the name of the column that holds the classes, where rows come"
    ):
        NaiveBayes().fit(folder / "a.parquet", [1, 2])
    with pytest.raises(InputError, match=r"There is no file '.*none\*\.csv'\. X as a text is the path of a file"):
        NaiveBayes().fit(f"{folder}/none*.csv", "kind")
    (folder / "notes").write_text("abc")
    with pytest.raises(InputError, match=r"notes: the format of the file is not known by its name.*'\.parquet'"):
        NaiveBayes().fit(folder / "notes", "kind")
    with pytest.raises(ParameterError, match=r"format.*'parquet', 'csv', 'json', 'arrow', got 'xls'"):
        NaiveBayes().fit(files(folder / "notes", format="xls"), "kind")
    with pytest.raises(ParameterError, match=r"missing_columns.*'error' or 'empty', got 'drop'"):
        files(folder, missing_columns="drop")
    with pytest.raises(ParameterError, match=r"types.*one of 'number', 'text', 'truth', got 'date'"):
        NaiveBayes().fit(files(folder, types={"a": "date"}), "kind")
    with pytest.raises(ParameterError, match=r"types\) is for CSV and JSON lines; the types of .*a.parquet are in"):
        NaiveBayes().fit(files(folder, types={"a": "text"}), "kind")
    with pytest.raises(InputTypeError, match=r"files\(paths\) must be a path, a pattern or a list"):
        files(3)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"files\(columns\) names 'x'; there are 'size'"):
        NaiveBayes().fit(files(folder, columns=["x", "kind"]), "kind")


def test_columns_can_be_chosen(folder: Path) -> None:
    model = NaiveBayes("textbook").fit(files(folder, columns=["kind", "size"]), "kind")
    assert model.feature_names_in_.tolist() == ["size"]


def test_a_bad_row_names_the_file_and_the_row_group(folder: Path) -> None:
    frame = make(300)
    frame.loc[250, "kind"] = None
    write(frame[100:], folder / "b.parquet", 40)
    model = NaiveBayes("textbook").fit(make(50), "kind")
    before = model.statistics_
    for learn in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(InputError, match=r"b\.parquet, row groups 0 to 4, counting rows from \d+: ") as error:
            learn(folder, "kind")
        first, row = re.findall(r"(?:rows from|: row) (\d+)", str(error.value))
        assert int(first) + int(row) == 150
        assert model.statistics_ is before


@pytest.mark.parametrize("damaged", [0, 3, 4])
def test_a_damaged_row_group_is_named(folder: Path, damaged: int) -> None:
    path = folder / "b.parquet"
    column = parquet.ParquetFile(path).metadata.row_group(damaged).column(0)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"b\.parquet, row group {damaged}: the file cannot be read: "):
        NaiveBayes().fit(folder, "kind")


def test_what_wants_a_table_says_who_takes_files_and_streams(folder: Path) -> None:
    frame = make(300)[["size", "code", "kind"]]
    model = NaiveBayes("textbook").fit(frame, "kind")
    reader = pa.Table.from_pandas(frame).to_reader()
    for source in (
        str(folder / "a.parquet"),
        folder / "a.parquet",
        reader,
        iter([frame]),
        pl.from_pandas(frame).lazy(),
    ):
        for ask in (model.predict, model.predict_proba, model.explain, model.evidence):
            with pytest.raises(InputTypeError, match=r"answered by model\.annotate\(X\)"):
                ask(source)


def test_a_damaged_file_is_named(folder: Path) -> None:
    content = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(content[:4] + bytes(2000) + content[2004:])
    with pytest.raises(InputError, match=r"b\.parquet, row group 0: the file cannot be read"):
        NaiveBayes().fit(folder, "kind")
    (folder / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"b\.parquet: the file cannot be read"):
        NaiveBayes().fit(folder, "kind")


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("size,kind\n1,a\n2,b\n3\n")
    with pytest.raises(InputError, match=r"a\.csv, line 4: the file cannot be read: Expected 2 columns, got 1: 3"):
        NaiveBayes().fit(path, "kind")
    path.write_text("size,kind\n1,a\nmany,b\n")
    with pytest.raises(InputError, match=r"a\.csv, line 3: column 'size' is to be read as double, which 'many' is not"):
        NaiveBayes().fit(files(path, types={"size": "number"}), "kind")
    path.write_text("size,size,kind\n1,2,a\n")
    with pytest.raises(SchemaError, match=r"a\.csv: column names must be distinct, but 'size' occur"):
        NaiveBayes().fit(path, "kind")
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"size": 1, "kind": "a"}\n{"size": "x", "kind": "b"}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: JSON parse error: Column\(/size\) changed from number"):
        NaiveBayes().fit(lines, "kind")
    path.write_text("")
    with pytest.raises(InputError, match=r"a\.csv: the file cannot be read: Empty CSV file"):
        NaiveBayes().fit(path, "kind")


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_lines_are_counted_where_rows_are_none_or_take_several(tmp_path: Path, ending: str) -> None:
    """Blank lines are no rows, a cell with a line break takes two lines: the line is the one that an editor shows."""
    odd = 'size,name,kind\n\n1,"two\nlines",a\n\n2,c,b\n'
    opened = gzip.open if ending else open
    for bad, source, words in (
        ("3\n", {}, "the file cannot be read: Expected 3 columns, got 1: 3"),
        ("x,c,b\n", {"types": {"size": "number"}}, "column 'size' is to be read as double, which 'x' is not"),
    ):
        path = tmp_path / f"a.csv{ending}"
        with opened(path, "wt") as file:
            file.write(odd + bad)
        with pytest.raises(InputError, match=rf"a\.csv.*, line 7: {words}"):
            NaiveBayes().fit(files(path, **source), "kind")
    path = tmp_path / "b.csv"
    path.write_text("size,name,kind\n\n\n-1,x,a\n2,y,\n")
    with pytest.raises(InputError, match=r"b\.csv, counting rows from line 4: Input y contains .* row 1 has no class"):
        NaiveBayes().fit(path, "kind")
    path = tmp_path / f"a.jsonl{ending}"
    with opened(path, "wt") as file:
        file.write('\n{"size": 1, "kind": "a"}\n\n \n{"size": "x", "kind": "b"}\n')
    with pytest.raises(InputError, match=r"a\.jsonl.*, line 5: JSON parse error"):
        NaiveBayes().fit(path, "kind")


def test_lines_are_counted_behind_a_long_cell(tmp_path: Path) -> None:
    """Beyond the limit of the module csv, which stays as it was."""
    path, limit = tmp_path / "a.csv", 1 << 17
    path.write_text(f"size,name,kind\n1,{'x' * (limit + 1)},a\n2,y,b\n3\n")
    before = csv.field_size_limit(limit)  # the command line raises it for its process
    try:
        with pytest.raises(InputError, match=r"a\.csv, line 4: the file cannot be read: Expected 3 columns, got 1: 3"):
            NaiveBayes().fit(path, "kind")
        assert csv.field_size_limit() == limit
    finally:
        csv.field_size_limit(before)


def test_what_cannot_be_read_says_which_file_and_why(tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes("name,kind\né,a\nü,b\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.csv: column 'name' has cells that are no text in UTF-8"):
        NaiveBayes().fit(latin, "kind")
    nested = tmp_path / "nested.parquet"
    parquet.write_table(pa.table({"pair": [[1, 2], [3]], "kind": ["a", "b"]}), nested)
    with pytest.raises(InputTypeError, match=r"nested\.parquet, row group 0, .*'pair' has the type List"):
        NaiveBayes().fit(nested, "kind")
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text("")
    with pytest.raises(InputError, match=r"There are no rows in '.*nothing\.jsonl'"):
        NaiveBayes().fit(nothing, "kind")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"The folder '.*folder' holds no file that is read"):
        NaiveBayes().fit(tmp_path / "folder", "kind")
    plain = tmp_path / "plain.csv"
    plain.write_text("size,kind\n1,a\n2,b\n")
    with pytest.raises(SchemaError, match=r"files\(types\) names 'sise'; there are 'size', 'kind'"):
        NaiveBayes().fit(files(plain, types={"sise": "text"}), "kind")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_the_index_of_pandas_is_no_evidence(tmp_path: Path, ending: str) -> None:
    """Rows that were chosen from others have their numbers stored beside them; a file of all rows has none."""
    frame = make(300)
    parts = [frame[:100], frame[100:][frame["size"][100:] > 0]]
    for name, part in zip("ab", parts, strict=True):
        table = pa.Table.from_pandas(part)
        path = tmp_path / f"{name}.{ending}"
        parquet.write_table(table, path) if ending == "parquet" else feather.write_feather(table, path)
    assert "__index_level_0__" in table.column_names
    whole = NaiveBayes("textbook").fit(pd.concat(parts), "kind")
    model = NaiveBayes("textbook").fit(tmp_path, "kind")
    assert model.schema_.names == whole.schema_.names
    assert _alike(model.statistics_, whole.statistics_)
    stream = NaiveBayes("textbook").fit(dataset.dataset(path, format=ending), "kind")
    assert stream.schema_.names == whole.schema_.names
    answers = model.annotate(path, tmp_path / "answers.parquet")
    assert "__index_level_0__" in parquet.read_schema(answers).names, "what is no evidence comes along"


def test_dates_of_any_unit_are_one_kind(tmp_path: Path) -> None:
    """What writes a file chooses the unit of its dates; a time zone is more than a unit."""
    days = pa.array([19723, 19800, 19900, 20001], pa.int32()).cast(pa.date32())
    lasting = pa.array([60, 90, 3600, 7200], pa.duration("s"))
    kinds = {"day": pa.timestamp("ns"), "lasting": pa.duration("ms")}
    rows = pa.table({"day": days, "lasting": lasting, "kind": ["a", "b", "a", "b"]})
    finer = rows.cast(pa.schema([pa.field(one.name, kinds.get(one.name, one.type)) for one in rows.schema]))
    parquet.write_table(rows, tmp_path / "a.parquet")
    parquet.write_table(finer, tmp_path / "b.parquet")
    model = NaiveBayes("textbook").fit(tmp_path, "kind")
    whole = NaiveBayes("textbook").fit(pa.concat_tables([finer, finer]), "kind")
    assert _alike(model.statistics_, whole.statistics_)
    zone = finer.set_column(0, "day", finer["day"].cast(pa.timestamp("us", "UTC")))
    parquet.write_table(zone, tmp_path / "c.parquet")
    with pytest.raises(SchemaError, match=r"c\.parquet: column 'day' holds dates with a time zone, but dates in"):
        NaiveBayes().fit(tmp_path, "kind")


def test_a_column_that_one_file_lacks(folder: Path) -> None:
    frame = make(300)
    write(frame[100:].drop(columns="size"), folder / "b.parquet", 40)
    with pytest.raises(SchemaError, match=r"b\.parquet lacks the column 'size'.*missing_columns='empty'"):
        NaiveBayes().fit(folder, "kind")
    frame.loc[100:, "size"] = None
    whole = NaiveBayes("textbook").fit(frame, "kind")
    model = NaiveBayes("textbook").fit(files(folder, missing_columns="empty"), "kind")
    assert _alike(model.statistics_, whole.statistics_)
    write(frame[:100].drop(columns="size"), folder / "a.parquet", 40)
    write(make(300)[100:], folder / "b.parquet", 40)
    with pytest.raises(SchemaError, match=r"a\.parquet lacks the column 'size'"):
        NaiveBayes().fit(folder, "kind")


def test_a_column_that_one_file_holds_as_another_type(folder: Path) -> None:
    frame = make(300)
    write(frame[100:].assign(size="large"), folder / "b.parquet", 40)
    with pytest.raises(SchemaError, match=r"b\.parquet: column 'size' holds text, but numbers in .*a\.parquet"):
        NaiveBayes().fit(folder, "kind")
    frame.loc[100:, "size"] = None
    with pytest.warns(NaivelyWarning, match=r"b\.parquet: column 'size' holds text, .* Its cells are read as missing"):
        model = NaiveBayes("textbook").fit(files(folder, missing_columns="empty"), "kind")
    assert _alike(model.statistics_, NaiveBayes("textbook").fit(frame, "kind").statistics_)


# -- types that are guessed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "later", "kind", "warns"),
    [
        ("1", "1.5", "number", False),
        ("", "2", "number", False),
        ("", "red", "label", False),
        ("", "true", "truth", False),
        ("7", "A7", "label", True),
        ("true", "maybe", "label", True),
        ("2020-01-01", "soon", "label", False),
    ],
)
def test_a_later_cell_may_change_what_a_column_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, later: str, kind: str, warns: bool
) -> None:
    monkeypatch.setattr(_formats, "LOOK_BYTES", 100)
    path = tmp_path / "a.csv"
    path.write_text("cell,kind\n" + f"{first},a\n" * 200 + f"{later},b\n" * 2)
    if warns:
        with pytest.warns(
            NaivelyWarning, match=rf"a\.csv: column 'cell' seemed to be.*line 202 has '{later}'.*as text"
        ):
            model = NaiveBayes("textbook").fit(path, "kind")
    else:
        model = NaiveBayes("textbook").fit(path, "kind")
    assert model.schema_.kinds == (kind,)
    assert model.class_count_.tolist() == [200, 2]
    if kind == "label" and first:
        assert list(model.parameters()["cell"]["probability"]) == sorted([first, later])


def test_json_lines_may_have_new_columns_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_formats, "BLOCK_BYTES", 100)
    rows: list[dict[str, Any]] = [{"size": row, "kind": "ab"[row % 2]} for row in range(50)]
    rows += [{"size": 1.5, "kind": "a", "day": "2020-01-01", "seen": None}]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.warns(NaivelyWarning, match="new columns, which are learnt from now on"):
        model = NaiveBayes("textbook").fit(path, "kind")
    assert _alike(model.statistics_, NaiveBayes("textbook").fit(rows, "kind").statistics_)


def test_large_whole_numbers_and_leading_zeros_stay_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,post,kind\n{2**53 + 1},01,a\n{2**53},1,b\n")
    source = files(path, types={"post": "text"})
    model = NaiveBayes("textbook", families={"id": "categorical"}).fit(source, "kind")
    assert list(model.parameters()["id"]["probability"]) == [2**53, 2**53 + 1]
    assert list(model.parameters()["post"]["probability"]) == ["01", "1"]


def test_text_as_dictionaries_declares_nothing_and_prose_stays_prose(tmp_path: Path) -> None:
    table = pa.table({"colour": pa.array(["red", "blue"] * 150).dictionary_encode(), "kind": ["a", "b", "b"] * 100})
    parquet.write_table(table, tmp_path / "a.parquet")
    model = NaiveBayes("textbook", families={"colour": Categorical("declared")})
    assert model.fit(tmp_path / "a.parquet", "kind").schema_.declared == {"colour": ("red", "blue")}
    assert model.fit(table, "kind").schema_.declared == {"colour": ("red", "blue")}
    write(make(300), tmp_path / "b.parquet", 50)
    assert model.fit(tmp_path / "b.parquet", "kind").schema_.declared == {"colour": ()}
    assert model.schema_.kinds[4] == "text"


@pytest.mark.parametrize("index", [pa.uint8(), pa.uint32(), pa.int8()])
def test_dictionaries_with_any_indices_are_read(index: Any) -> None:
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1], index), pa.array(["red", "blue"]))
    reader = pa.table({"colour": cells, "kind": ["a", "b", "a", "b"]}).to_reader()
    model = NaiveBayes("textbook", smoothing="none").fit(reader, "kind")
    assert model.parameters()["colour"]["probability"]["blue"].tolist() == [0.0, 1.0]


# -- reading ahead ----------------------------------------------------------------------------------------------------


def test_an_interrupt_stops_the_reader_and_leaves_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    model = NaiveBayes("textbook").fit(folder, "kind")
    before = model.statistics_
    monkeypatch.setattr(_arrow, "table_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(folder, "kind")
    assert model.statistics_ is before
    assert not [thread for thread in threading.enumerate() if thread.name == "naively-reader"]


def test_progress_is_shown_to_those_who_watch(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_formats, "BATCH_ROWS", 40)
    NaiveBayes("textbook").fit(folder, "kind")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("naively._common.progress.PATIENCE", -1.0)
    monkeypatch.setattr("naively._common.progress.is_watched", lambda: True)
    NaiveBayes("textbook").fit(folder, "kind")
    lines = capsys.readouterr().err.split("\r")
    assert any("rows/s" in line and " %" in line and "left" in line for line in lines)
    assert lines[-1] == ""


def test_found_files_are_read_once(folder: Path) -> None:
    assert _files.found([folder, folder / "a.parquet"]) == [folder / "a.parquet", folder / "b.parquet"]
