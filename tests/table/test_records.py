"""One record is one row; texts are one column; a column of which nothing is known fits any; numbers written as text."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes, load
from naively.errors import InputError, InputTypeError, NaivelyWarning
from naively.recipes import as_recipe
from tests.models import textbook

ROWS = [
    {"weight": 4.2, "coat": "striped", "tame": True},
    {"weight": 5.0, "coat": "plain", "tame": True},
    {"weight": 31.0, "coat": "plain", "tame": False},
    {"weight": 24.0, "coat": "plain", "tame": True},
]
Y = ["cat", "cat", "dog", "dog"]
MESSAGES = ["free prize call now", "are you home", "win free cash now", "see you at home"]
SPAM = [1, 0, 1, 0]


def fitted(**parameters):
    return textbook(**parameters).fit(ROWS, Y)


cells = st.fixed_dictionaries(
    {
        "weight": st.none() | st.floats(0, 50),
        "coat": st.none() | st.text(max_size=8),
        "tame": st.none() | st.booleans(),
    }
)


@given(cells)
def test_a_dict_of_single_values_is_one_row(record):
    model = fitted()
    expected = model.predict_proba([record])
    np.testing.assert_array_equal(model.predict_proba(record), expected)
    np.testing.assert_array_equal(model.predict_proba(pd.Series(record, dtype=object)), expected)
    np.testing.assert_array_equal(model.predict_proba({name: [value] for name, value in record.items()}), expected)
    assert len(model.explain(record)) == len(model.explain([record]))
    learnt = fitted().partial_fit(record, "dog")
    assert learnt.statistics_ == fitted().partial_fit([record], ["dog"]).statistics_
    assert learnt.forget(record, "dog").class_count_.tolist() == [2, 2]
    filled = model.impute(record)
    assert filled == model.impute([record])[0]


def test_a_record_may_hold_its_class():
    model = fitted().partial_fit({**ROWS[0], "kind": "cat"}, "kind")
    assert model.class_count_.tolist() == [3, 2]
    assert model.feature_names_in_.tolist() == ["weight", "coat", "tame"]


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_a_record_without_cells_is_answered_by_the_prior(recipe):
    model = NaiveBayes(recipe).fit(ROWS * 5, Y * 5)
    nothing = model.predict_proba({"weight": None, "coat": None, "tame": None})
    for empty in ([{}], {}, pd.DataFrame(index=[0])):
        with pytest.warns(NaivelyWarning, match="lacks the columns"):
            np.testing.assert_array_equal(model.predict_proba(empty), nothing)
    with pytest.warns(NaivelyWarning, match="lacks the columns"):
        assert model.predict_proba([{}, {}]).shape == (2, 2)
    with pytest.raises(InputError, match=r"0 feature\(s\)"):
        model.partial_fit([{}], ["cat"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"weight": 4.0, "coat": ["plain"]}, "'weight' holds a single value and 'coat' several"),
        ({"weight": [4.0], "coat": "plain"}, "'coat' holds a single value and 'weight' several"),
        ({"weight": {0: 4.0}}, "must be a list of cells.*to_dict"),
        ({"weight": {4.0, 5.0}}, "must be a list of cells"),
        ({"weight": np.ones((2, 2))}, "one dimension"),
        ({"weight": b"4.0"}, "Decode the bytes"),
        ("plain", "X must be an array"),
        ({"weight": pd.Series([1.0], index=["p"]), "coat": pd.Series(["plain"], index=["q"])}, "other row labels"),
        ([{"weight": 1.0}, 3.0], "a dict per row, but row 1"),
        ([3.0, {"weight": 1.0}], "a dict per row, but row 0"),
    ],
)
def test_what_is_neither_a_row_nor_a_table_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        fitted().predict(table)


# -- texts ------------------------------------------------------------------------------------------------------------

LISTS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "pandas": pd.Series,
    "pandas with names of rows": lambda texts: pd.Series(texts, index=range(5, 5 + len(texts))),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow in chunks": lambda texts: pa.chunked_array([texts]),
}


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_a_list_of_texts_is_one_column_of_prose(kind, recipe):
    expected = NaiveBayes(recipe, families=as_recipe(recipe).text).fit([[text] for text in MESSAGES], SPAM)
    model = NaiveBayes(recipe).fit(LISTS[kind](MESSAGES), SPAM)
    assert model.statistics_ == expected.statistics_
    asked = ["free cash", "you", "x"]
    np.testing.assert_array_equal(model.predict_proba(LISTS[kind](asked)), expected.predict_proba([[t] for t in asked]))
    assert model.partial_fit(LISTS[kind](asked[:1]), [1]).class_count_.sum() == 5


def test_a_series_of_texts_keeps_its_name_and_asks_for_none(tmp_path):
    model = textbook().fit(pd.Series(MESSAGES, name="body"), SPAM)
    assert model.feature_names_in_.tolist() == ["body"]
    assert model.predict(["free cash"]).tolist() == [1]  # without a warning: a list cannot have a name
    model.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").predict({"body": "free cash"}).tolist() == [1]


@given(st.lists(st.text(), min_size=1, max_size=5).filter(any))
def test_a_text_is_never_split(texts):
    assert len(textbook().fit(MESSAGES, SPAM).predict(texts)) == len(texts)


# -- nothing known ----------------------------------------------------------------------------------------------------


def unknown_columns(n):
    nat = np.array(["NaT"] * n, dtype="datetime64[s]")
    yield from (pd.Series([value] * n, dtype=dtype) for value, dtype in [(None, object), (np.nan, float)])
    yield from (pd.Series([pd.NA] * n, dtype=dtype) for dtype in ["string", "Int64", "boolean", "Float64", "category"])
    yield pd.Series(nat)
    yield pd.Series(pd.Categorical([None] * n, categories=["plain"]))
    yield from (pl.Series([None] * n, dtype=dtype) for dtype in [pl.String, pl.Float64, pl.Int8, pl.Boolean, pl.Date])
    yield pl.Series([float("nan")] * n)
    yield pl.Series([None] * n, dtype=pl.Categorical)


def frame_of(columns):
    make = pd.DataFrame if isinstance(next(iter(columns.values())), pd.Series) else pl.DataFrame
    return make(columns)


@pytest.mark.parametrize("name", ["weight", "coat", "tame"])
@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_a_column_of_which_nothing_is_known_fits_any(name, recipe):
    model = NaiveBayes(recipe).fit(ROWS, Y)
    record = {**ROWS[0], name: None}
    expected = model.predict_proba(record)
    for column in unknown_columns(1):
        series = type(column)
        frame = frame_of({key: column if key == name else series([value]) for key, value in record.items()})
        np.testing.assert_array_equal(model.predict_proba(frame), expected)
        learnt = NaiveBayes(recipe).fit(ROWS, Y).partial_fit(frame, ["cat"]).statistics_
        assert learnt == NaiveBayes(recipe).fit(ROWS, Y).partial_fit(record, "cat").statistics_


@pytest.mark.parametrize("later", [[1.0, 2.0], ["u", "v"], [True, False], MESSAGES[:2]])
def test_a_column_that_begins_unknown_becomes_what_comes(later):
    for column in unknown_columns(2):
        frame = frame_of({"x": type(column)([1.0, 2.0]), "c": column})
        more = frame_of({"x": type(column)([1.0, 2.0]), "c": type(column)(later)})
        model = textbook().fit(frame, ["a", "b"]).partial_fit(more, ["a", "b"])
        assert model.schema_.kinds[1] == textbook().fit(more, ["a", "b"]).schema_.kinds[1]
        whole = textbook().fit({"x": [1.0, 2.0] * 2, "c": [None, None, *later]}, ["a", "b"] * 2)
        np.testing.assert_array_equal(model.predict_proba(more), whole.predict_proba(more))


def test_an_array_of_missing_numbers_fits_labels():
    model = textbook().fit([["striped", 1.0], ["plain", 2.0]], ["a", "b"])
    np.testing.assert_array_equal(model.predict_proba(np.array([[np.nan, 1.0]])), model.predict_proba([[None, 1.0]]))


# -- numbers written as text ------------------------------------------------------------------------------------------


@given(st.lists(st.none() | st.floats(-1e6, 1e6) | st.integers(-(2**40), 2**40), min_size=1, max_size=5).filter(any))
def test_numbers_that_arrive_as_text_are_read_as_numbers(values):
    model = fitted()
    others = {"coat": ["plain"] * len(values), "tame": [True] * len(values)}
    written = [None if value is None else str(value) for value in values]
    for cells_of in (written, [*written[:-1], values[-1]]):
        if not any(isinstance(cell, str) for cell in cells_of):
            continue
        with pytest.warns(NaivelyWarning, match="'weight' held numbers.*read as numbers"):
            found = model.predict_proba({**others, "weight": cells_of})
        expected = model.predict_proba({**others, "weight": values})
        np.testing.assert_array_equal(found, expected)


def test_numbers_that_are_categories_are_read_as_numbers_too():
    model = textbook(families={"code": "categorical"}).fit({"code": [1, 2, 2]}, ["a", "b", "b"])
    with pytest.warns(NaivelyWarning, match="read as numbers"):
        found = model.predict_proba({"code": ["1", "2", "2.0"]})
    np.testing.assert_array_equal(found, model.predict_proba({"code": [1, 2, 2]}))


@pytest.mark.parametrize("text", ["thirty", "", "1_000", "0x10", "1,5", "12 kg"])
def test_a_text_that_is_no_number_is_named(text):
    with pytest.raises(InputTypeError, match=f"'weight' held numbers.*row 1 now holds {text!r}, which is no number"):
        fitted().predict({"weight": ["4.5", text], "coat": ["plain"] * 2, "tame": [True] * 2})


def test_infinity_is_refused_as_a_number():
    with pytest.raises(InputError, match="contains infinity: column 'weight', row 0"):
        fitted().predict({**ROWS[0], "weight": np.inf})


# -- new columns ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:X lacks the columns", "ignore:X has new columns", "ignore:X has columns")
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=3, unique=True), min_size=2, max_size=5))
def test_columns_may_arrive_in_a_stream(names_of_batches):
    rows = [{"x": number % 4, **dict.fromkeys(names, number % 3)} for number, names in enumerate(names_of_batches)]
    y = [number % 2 for number in range(len(rows))]
    model = textbook()
    for row, label in zip(rows, y, strict=True):
        model.partial_fit(row, label)
    whole = textbook().fit(rows, y)
    assert model.statistics_ == whole.statistics_
    np.testing.assert_array_equal(model.predict_proba(rows), whole.predict_proba(rows))
    model.forget(rows[-1], y[-1])
    np.testing.assert_allclose(model.predict_proba(rows), textbook().fit(rows[:-1], y[:-1]).predict_proba(rows))


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_a_new_column_counts_as_missing_in_the_rows_before(recipe):
    rows = [{"x": float(number % 7), "z": "uv"[number % 2]} for number in range(40)]
    y = [number % 3 % 2 for number in range(40)]
    earlier = [{"x": row["x"]} for row in rows[:20]]
    model = NaiveBayes(recipe).fit(earlier, y[:20])
    with pytest.warns(NaivelyWarning, match="new columns, which are learnt from now on.*'z'"):
        model.partial_fit(rows[20:], y[20:])
    whole = NaiveBayes(recipe).fit([*earlier, *rows[20:]], y)
    assert model.statistics_ == whole.statistics_
    np.testing.assert_array_equal(model.predict_proba(rows), whole.predict_proba(rows))


def test_a_table_that_shares_no_column_is_refused():
    with pytest.raises(InputError, match="none of the model's columns"):
        fitted().partial_fit({"wieght": [4.0]}, ["cat"])
