"""Files as tables: delimiters, quotes, encodings, codes, missing cells, and errors that name the file and the line."""

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.cli._reading import Source, require_column, sniffed_delimiter
from naively.errors import InputError, InputTypeError, SchemaError


def table_of(path, **options):
    return Source(str(path), **options).table()


def numbers(table, name):
    return np.asarray(table.column(list(table.names).index(name))).tolist()


def labels(table, name):
    codes, known = table.labels(list(table.names).index(name))
    return [None if code < 0 else known[code] for code in codes]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    lines = [["size", "coat"], ["1.5", "plain"], ["2", "striped, or not"]]
    pd.DataFrame(lines[1:], columns=lines[0]).to_csv(tmp_path / "d.csv", sep=delimiter, index=False)
    table = table_of(tmp_path / "d.csv")
    assert numbers(table, "size") == [1.5, 2.0]
    assert labels(table, "coat") == ["plain", "striped, or not"]


def test_quoted_cells_may_hold_delimiters_lines_and_quotes(tmp_path):
    (tmp_path / "d.csv").write_text('a,b\n"x, y","say ""hi"""\n"two\nlines",z\n')
    table = table_of(tmp_path / "d.csv")
    assert labels(table, "a") == ["x, y", "two\nlines"]
    assert labels(table, "b") == ['say "hi"', "z"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_found(tmp_path, encoding, capsys):
    (tmp_path / "d.csv").write_bytes("größe,ort\n1,Köln\n2,Žilina\n".encode(encoding))
    table = table_of(tmp_path / "d.csv")
    assert list(table.names) == ["größe", "ort"]
    assert labels(table, "ort") == ["Köln", "Žilina"]
    assert ("Windows-1252" in capsys.readouterr().err) == (encoding == "cp1252")


def test_an_encoding_can_be_named(tmp_path):
    (tmp_path / "d.csv").write_bytes("ort\nŁódź\n".encode("iso8859-2"))
    assert labels(table_of(tmp_path / "d.csv", encoding="iso8859-2"), "ort") == ["Łódź"]
    with pytest.raises(InputError, match=r"d\.csv: byte .* is no utf-8.*--encoding"):
        table_of(tmp_path / "d.csv", encoding="utf-8")


def test_decimal_commas_are_numbers_where_they_do_not_part_cells(tmp_path):
    (tmp_path / "d.csv").write_text("price;n\n1,5;1\n2;2\n")
    assert numbers(table_of(tmp_path / "d.csv"), "price") == [1.5, 2.0]


def test_codes_with_leading_zeros_are_text(tmp_path):
    (tmp_path / "d.csv").write_text("plz,share\n01067,0.5\n10115,0\n")
    table = table_of(tmp_path / "d.csv")
    assert labels(table, "plz") == ["01067", "10115"]
    assert numbers(table, "share") == [0.5, 0.0]


def test_missing_cells(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,c\n1,x,\nNA,,NA\n,null,\n")
    table = table_of(tmp_path / "d.csv")
    assert np.isnan(numbers(table, "a")).tolist() == [False, True, True]
    assert labels(table, "b") == ["x", None, None]
    assert table.kinds[2] == "empty"


def test_pieces_are_read_alike(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n1,007\n2,8\n3,9\n")
    parts = list(Source(str(tmp_path / "d.csv")).batches(2))
    assert [part.n_rows for part in parts] == [2, 1]
    assert [part.kinds for part in parts] == [("number", "label")] * 2


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "a,b\n1,2\n1,2,3\n",
            InputError,
            r"d\.csv, line 3: 3 cells, where the first line names 2 columns.*--delimiter",
        ),
        ("a,a\n1,2\n", SchemaError, r"d\.csv, line 1: the columns 'a' are named more than once"),
        ("", InputError, r"d\.csv is empty"),
        ("a,b\n", InputError, r"d\.csv holds no rows"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path, text, error, message):
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(error, match=message):
        table_of(tmp_path / "d.csv")


def test_a_word_among_numbers_is_refused_with_its_line(tmp_path):
    (tmp_path / "d.csv").write_text('a,b\n1,"x\ny"\n\n2,z\nmany,z\n')
    with pytest.raises(InputTypeError, match=r"d\.csv, line 6: 'many' in column 'a' is no number"):
        list(Source(str(tmp_path / "d.csv"), written={"a": "number"}).batches())


def test_empty_lines_are_left_out(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n1,2\n\n\n3,4\n\n")
    assert table_of(tmp_path / "d.csv").n_rows == 2


def test_compressed_files(tmp_path):
    with gzip.open(tmp_path / "d.csv.gz", "wt") as file:
        file.write("a;b\n1;x\n")
    assert numbers(table_of(tmp_path / "d.csv.gz"), "a") == [1.0]


def test_json_lines(tmp_path):
    records = [{"a": 1, "b": "x"}, {"a": None, "c": True}]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n\n")
    table = table_of(tmp_path / "d.jsonl")
    assert list(table.names) == ["a", "b", "c"]
    assert labels(table, "b") == ["x", None]
    (tmp_path / "d.jsonl").write_text('{"a": 1}\n{"a": }\n')
    with pytest.raises(InputError, match=r"d\.jsonl, line 2: no JSON"):
        table_of(tmp_path / "d.jsonl")
    (tmp_path / "d.jsonl").write_text("[1]\n")
    with pytest.raises(InputError, match=r"d\.jsonl, line 1: a JSON object is expected"):
        table_of(tmp_path / "d.jsonl")


def test_parquet(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", None, "y"]}).to_parquet(tmp_path / "d.parquet")
    assert labels(table_of(tmp_path / "d.parquet"), "b") == ["x", None, "y"]
    assert [part.n_rows for part in Source(str(tmp_path / "d.parquet")).batches(2)] == [2, 1]
    (tmp_path / "e.parquet").write_text("no parquet")
    with pytest.raises(InputError, match=r"e\.parquet is no Parquet file"):
        table_of(tmp_path / "e.parquet")


def test_parquet_says_what_is_lacking(tmp_path, monkeypatch):
    pd.DataFrame({"a": [1.0]}).to_parquet(tmp_path / "d.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'naively\[files\]'"):
        table_of(tmp_path / "d.parquet")


def test_a_wrong_path_is_told_with_a_guess(tmp_path):
    (tmp_path / "train.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"There is no file .*trian\.csv\. Did you mean '.*train\.csv'\?"):
        table_of(tmp_path / "trian.csv")
    with pytest.raises(InputError, match="is a folder"):
        table_of(tmp_path)


def test_a_mistyped_column_is_told_with_a_guess():
    with pytest.raises(SchemaError, match=r"--target Target: d\.csv has no such column\. Did you mean 'target'\?"):
        require_column("Target", ["a", "target"], "d.csv", "--target")


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2\n1,7;2\n", ";"),
        ("text\nhello, world\n", ","),
        ("a\tb, c\n1\t2, 3\n", "\t"),
        ("only\n1\n", ","),
    ],
)
def test_sniffing(head, delimiter):
    assert sniffed_delimiter(head.splitlines(keepends=True)) == delimiter


def test_only_line_ends_end_lines(tmp_path):
    """Python's `splitlines` cuts at more characters than a text file does."""
    odd = "a\x0bb\x0cc\x1cd\x85e\u2028f"
    (tmp_path / "d.csv").write_text(f'id,coat\n1,{odd}\n2,"two\nlines"\n\n3,plain\nx,plain\n', encoding="utf-8")
    batches = Source(str(tmp_path / "d.csv")).batches(rows=3)
    assert labels(next(batches), "coat") == [odd, "two\nlines"]
    with pytest.raises(InputTypeError, match=r"d\.csv, line 7: 'x' in column 'id' is no number"):
        next(batches)


@given(
    st.lists(st.lists(st.sampled_from(["", "NA", "1", "2.5", "1_0", "a", "a\nb", "c\r\nd"]), min_size=2, max_size=2)),
    st.integers(1, 4),
)
def test_batches_hold_what_the_lines_hold(lines, rows):
    """Whatever stands between: empty lines, cells of several lines, batches of any size."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["n", "label"])
    for line in lines:
        writer.writerow(line)
        text.write("\n" if line[0] == "1" else "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "d.csv")
        path.write_text(text.getvalue(), newline="")
        source = Source(str(path), written={"n": "text", "label": "text"})
        found = [(labels(table, "n"), labels(table, "label")) for table in source.batches(rows=rows)]
    cells = [(a, b) for first, second in found for a, b in zip(first, second, strict=True)]
    assert cells == [tuple(None if cell in ("", "NA") else cell for cell in line) for line in lines]
