"""Bad input: the exact class of the error, a message that says where and what to do, and a model left as it was."""

import contextlib
import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from naively import NaiveBayes, load
from naively.errors import (
    ForgetError,
    InputError,
    InputTypeError,
    ModelFileError,
    NaivelyError,
    NaivelyWarning,
    ParameterError,
    SchemaError,
    listed,
)
from tests.models import textbook

GOOD, Y = {"size": [1.0, 2.0], "n": [3, 4]}, ["a", "b"]
DAY = datetime.date(2024, 2, 29)

BAD_TABLES = {
    "no rows": (np.empty((0, 2)), [], InputError, r"0 sample\(s\) \(shape=\(0, 2\)\).*minimum of 1"),
    "no rows in a frame": (pd.DataFrame({"size": []}), [], InputError, r"0 sample\(s\)"),
    "no columns": (np.empty((2, 0)), Y, InputError, r"0 feature\(s\) \(shape=\(2, 0\)\).*minimum of 1"),
    "a record without cells": ({}, ["a"], InputError, r"0 feature\(s\)"),
    "only the target": ({"kind": ["a"]}, "kind", InputError, r"0 feature\(s\)"),
    "an empty list": ([], [], InputError, "2D"),
    "infinity": ({"size": [1.0, np.inf]}, Y, InputError, "infinity.*'size', row 1.*NaN.*clip"),
    "infinity in an array": (np.array([[1.0, 2.0], [3.0, -np.inf]]), Y, InputError, "infinity.*'x1', row 1.*clip"),
    "infinity in a sparse matrix": (
        sparse.csr_array([[1.0, 2.0], [3.0, np.inf]]),
        Y,
        InputError,
        "infinity.*'x1', row 1",
    ),
    "infinity in float32": (np.array([[np.inf]], dtype=np.float32), ["a"], InputError, "infinity.*'x0', row 0"),
    "numbers too large": ([[1e200], [2e200]], Y, InputError, r"'x0'.*too large.*2e\+200.*Rescale"),
    "an integer beyond all floats": ({"size": [10**400, 1]}, Y, InputError, "'size'"),
    "duplicate names": (pd.DataFrame([[1, 2]], columns=["n", "n"]), ["a"], SchemaError, "distinct.*'n'.*Rename"),
    "duplicate names in arrow": (pa.table([[1], [2]], names=["n", "n"]), ["a"], SchemaError, "distinct.*'n'.*Rename"),
    "names equal as text": ({1: [1.0], "1": [2.0]}, ["a"], SchemaError, "distinct.*'1'.*Rename"),
    "a name that is no text": ({(1, 2): [1.0]}, ["a"], SchemaError, r"strings.*\(1, 2\)"),
    "names of several types": (
        pd.DataFrame([[1, 2]], columns=["n", 0]),
        ["a"],
        InputTypeError,
        "convert them all to strings",
    ),
    "text and numbers": ({"size": ["big", 1]}, Y, InputTypeError, "'size' mixes.*families=.*categorical"),
    "complex": (np.array([[1j], [2]]), Y, InputTypeError, "Complex data not supported.*real and imaginary"),
    "complex cells": ({"size": [1j, 2]}, Y, InputTypeError, "'size'.*1j.*real and the imaginary"),
    "complex sparse": (sparse.csr_array([[1j]]), ["a"], InputTypeError, "Complex data not supported"),
    "dates and text": ({"day": [DAY, "tomorrow"]}, Y, InputTypeError, "'day' mixes text with.*dates"),
    "dates and times": ({"day": [DAY, datetime.time(12)]}, Y, InputTypeError, "'day' mixes text with.*dates"),
    "durations and numbers": ({"n": [datetime.timedelta(1), 2.0]}, Y, InputTypeError, "'n' mixes text with numbers"),
    "nested lists": ({"words": [[1, 2], [3]]}, Y, InputTypeError, r"'words'.*\[1, 2\].*column of its own"),
    "nested lists in polars": (pl.DataFrame({"words": [[1, 2], [3]]}), Y, InputTypeError, "'words'.*List.*drop"),
    "nested structs in arrow": (pa.table({"point": [{"x": 1}]}), ["a"], InputTypeError, "'point'.*Struct.*drop"),
    "sets": ({"words": [{1}, {2}]}, Y, InputTypeError, "'words'.*collections"),
    "arrays in cells": ({"words": [np.zeros(2), np.ones(2)]}, Y, InputTypeError, "'words'.*collections"),
    "rows of unequal length": ([[1, 2], [3]], Y, InputError, r"equal lengths.*\[1, 2\]"),
    "columns of unequal length": ({"a": [1, 2], "b": [1]}, Y, InputError, r"equal lengths.*\[1, 2\]"),
    "one dimension": (np.zeros(2), Y, InputError, "2D array, got 1D.*reshape"),
    "three dimensions": (np.zeros((2, 2, 2)), Y, InputError, "2D array, got 3D.*reshape"),
    "a series": (pd.Series([1.0, 2.0]), Y, InputError, "2D array, got 1D.*reshape"),
    "bytes": (np.array([[b"\xff"]]), ["a"], InputTypeError, "Decode"),
    "bytes in cells": ({"text": [b"\xff\xfe"]}, ["a"], InputTypeError, r"'text'.*xff.*Decode"),
    "bytes in lists": ([[b"\xff"], [b"b"]], Y, InputTypeError, "'x0'.*Decode"),
    "bytes in polars": (pl.DataFrame({"text": [b"\xff"]}), ["a"], InputTypeError, "'text'.*Binary"),
    "decimals in cells": ({"size": [Decimal("1.5")]}, ["a"], InputTypeError, "'size'.*Decimal.*Convert"),
    "structured arrays": (np.zeros((2, 1), dtype=[("x", float)]), Y, InputTypeError, "numbers, booleans, text, dates"),
    "records of several kinds": ([{"n": 1}, 3], Y, InputTypeError, "row 1 is of type int"),
    "a lazy frame": (pl.LazyFrame({"n": [1]}), ["a"], InputTypeError, "y must be the name of the column"),
    "text": ("n", ["a"], InputError, "There is no file 'n'. X as a text is the path of a file"),
    "nothing": (None, ["a"], InputTypeError, "got NoneType"),
    "a number": (3, ["a"], InputTypeError, "got int"),
    "a generator": ((row for row in [[1]]), ["a"], InputTypeError, "where X is an iterator of tables; or let it give"),
}


def case_of(cases):
    return [pytest.param(*case, id=name) for name, case in cases.items()]


def assert_raises(expected, message, work):
    with pytest.raises(NaivelyError, match=f"(?s){message}") as caught:
        work()
    assert type(caught.value) is expected


@pytest.mark.parametrize(("X", "y", "expected", "message"), case_of(BAD_TABLES))
def test_a_bad_table(X, y, expected, message):
    model = textbook()
    assert_raises(expected, message, lambda: model.fit(X, y))
    assert not hasattr(model, "statistics_")


BAD_TARGETS = {
    "longer than X": (["a", "b", "c"], InputError, "X has 2, y has 3"),
    "shorter than X": (["a"], InputError, "X has 2, y has 1"),
    "NaN": ([1.0, np.nan], InputError, "y contains NaN.*row 1.*Drop these rows"),
    "None": (["a", None], InputError, "y contains NaN or None: row 1.*Drop these rows"),
    "pandas' NA": (pd.array(["a", pd.NA], dtype="string"), InputError, "row 1.*Drop these rows"),
    "null": (pl.Series(["a", None]), InputError, "row 1.*Drop these rows"),
    "infinity": ([0.0, np.inf], InputError, "y contains infinity.*row 1"),
    "a measurement": ([0.5, 1.0], InputError, r"continuous.*row 0 is 0\.5.*Bin"),
    "measurements as objects": (np.array([0.5, 1.0], dtype=object), InputError, r"continuous.*0\.5.*Bin"),
    "text and numbers": (["a", 1], InputTypeError, "mixes text.*'a'.*1.*Convert them to strings"),
    "bytes": ([b"a", b"b"], InputTypeError, "strings, whole numbers or booleans"),
    "dates": (np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"), InputTypeError, "strings, whole numbers"),
    "complex": ([1j, 2j], InputTypeError, "strings, whole numbers"),
    "lists": (np.array([[1], None], dtype=object), InputTypeError, "y: the value"),
    "two columns": ([[1, 2], [3, 4]], InputError, r"1d array.*\(2, 2\)"),
    "a sparse matrix": (sparse.csr_array([[1], [0]]), InputTypeError, "dense array.*sparse"),
    "nothing": (None, InputError, "requires y"),
    "a number": (3, InputTypeError, "array of classes or the name of a column.*int"),
    "no column's name": ("kind", SchemaError, "'kind' names no column of X, which has 'size', 'n'"),
}


@pytest.mark.parametrize(("y", "expected", "message"), case_of(BAD_TARGETS))
def test_a_bad_target(y, expected, message):
    assert_raises(expected, message, lambda: textbook().fit(GOOD, y))


def test_a_column_vector_is_flattened_with_scikit_learns_warning():
    with pytest.warns(UserWarning, match="ravel"):
        model = textbook().fit(GOOD, [["a"], ["b"]])
    assert model.classes_.tolist() == ["a", "b"]


BAD_WEIGHTS = {
    "negative": ([1.0, -1.0], InputError, r"zero or more.*row 1 has -1\.0.*forget"),
    "NaN": ([np.nan, 1.0], InputError, "finite.*row 0 has nan"),
    "infinity": ([1.0, np.inf], InputError, "finite.*row 1 has inf"),
    "None": ([1.0, None], InputTypeError, "must hold numbers"),
    "text": (["a", "b"], InputTypeError, "must hold numbers"),
    "complex": ([1j, 1.0], InputTypeError, "must hold numbers"),
    "too few": ([1.0], InputError, r"\(1,\), expected \(2,\).*one weight per row"),
    "two columns": ([[1.0, 1.0], [1.0, 1.0]], InputError, "one weight per row"),
    "all zero": ([0.0, 0.0], InputError, "zero for every row"),
}


@pytest.mark.parametrize(("weights", "expected", "message"), case_of(BAD_WEIGHTS))
def test_bad_weights(weights, expected, message):
    assert_raises(expected, message, lambda: textbook().fit(GOOD, Y, weights))


@pytest.mark.parametrize("family", ["poisson", "multinomial"])
@pytest.mark.parametrize("storage", [lambda X: X, sparse.csr_array], ids=["dense", "sparse"])
def test_negative_counts(family, storage):
    model = textbook(families=family)
    message = r"'x1' must hold counts of zero or more.*row 1 has -2\.0.*gaussian"
    assert_raises(InputError, message, lambda: model.fit(storage(np.array([[1, 0], [3, -2]])), Y))


@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "categorical"])
def test_infinities_are_refused_by_every_family_that_reads_the_number(family):
    for storage in (np.array, sparse.csr_array):
        assert_raises(
            InputError,
            "infinity.*'x0', row 1",
            lambda storage=storage: textbook(families=family).fit(storage([[1.0], [np.inf]]), Y),
        )


@pytest.mark.filterwarnings("ignore::naively.errors.NaivelyWarning")
@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "categorical", "bernoulli"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinity_in_a_query_gives_probabilities_or_a_clear_error(family, value):
    model = textbook(families=family).fit([[1.0, 2.0], [3.0, 1.0]], Y)
    with contextlib.suppress(InputError):
        assert np.isfinite(model.predict_proba([[value, 1.0]])).all()


@pytest.mark.parametrize("family", ["poisson", "multinomial"])
@pytest.mark.parametrize("value", [-1.0, -1.5, -7.25])
def test_a_negative_count_in_a_query_is_refused_or_impossible(family, value):
    model = textbook(families=family).fit([[1.0, 2.0], [3.0, 1.0]], Y)
    with pytest.raises((InputError, NaivelyWarning)):
        model.predict_proba([[value, 1.0]])


BAD_LATER = {
    "text where numbers were": (
        {"size": ["big"], "n": [1]},
        InputTypeError,
        "'size' held numbers.*row 0 now holds 'big', which is no number",
    ),
    "labels where truths were": ({"size": [1.0], "n": ["1_000"]}, InputTypeError, "'n'.*'1_000', which is no number"),
    "text in a family of numbers": ({"size": [1.0, "big"], "n": [1, 2]}, InputTypeError, "'size'"),
    "dates": ({"size": [DAY], "n": [1]}, InputTypeError, "'size' held numbers.*holds dates now"),
    "no known column": ({"other": [1.0]}, SchemaError, "none of the model's columns.*'size', 'n'.*'other'"),
    "an array of another width": (np.zeros((1, 3)), SchemaError, "3 features, but NaiveBayes is expecting 2"),
    "no rows": ({"size": [], "n": []}, InputError, r"0 sample\(s\)"),
}


@pytest.mark.parametrize("method", ["predict", "predict_proba", "evidence", "partial_fit", "forget"])
@pytest.mark.parametrize(("X", "expected", "message"), case_of(BAD_LATER))
def test_a_table_that_does_not_fit_the_model(X, expected, message, method):
    model = textbook().fit(GOOD, Y)
    n_rows = len(X) if isinstance(X, np.ndarray) else len(next(iter(X.values())))
    arguments = (X, ["a"] * n_rows) if method in ("partial_fit", "forget") else (X,)
    assert_raises(expected, message, lambda: getattr(model, method)(*arguments))


def test_numbers_where_text_was():
    model = textbook().fit({"colour": ["red", "blue"]}, Y)
    assert_raises(InputTypeError, "'colour' held text.*holds numbers", lambda: model.predict({"colour": [1.0]}))


BAD_BATCHES = {
    "infinity at the end": ({"size": [1.0, np.inf], "colour": ["red", "new"], "n": [1, 2]}, ["a", "new"], None),
    "negative count": ({"size": [1.0, 2.0], "colour": ["red", "new"], "n": [1, -2]}, ["a", "new"], None),
    "text among numbers": ({"size": ["x", "y"], "colour": ["red", "new"], "n": [1, 2]}, ["a", "new"], None),
    "a list in a cell": ({"size": [1.0, 2.0], "colour": ["red", ["new"]], "n": [1, 2]}, ["a", "new"], None),
    "a missing class": ({"size": [1.0, 2.0], "colour": ["red", "new"], "n": [1, 2]}, ["new", None], None),
    "a class of another type": ({"size": [1.0, 2.0], "colour": ["red", "new"], "n": [1, 2]}, [1, 2], None),
    "a negative weight": ({"size": [1.0, 2.0], "colour": ["red", "new"], "n": [1, 2]}, ["a", "new"], [1.0, -1.0]),
    "too many classes": ({"size": [1.0, 2.0], "colour": ["red", "new"], "n": [1, 2]}, ["a", "b", "c"], None),
    "sums that overflow": ({"size": [1e200, 1e200], "colour": ["red", "new"], "n": [1, 2]}, ["a", "new"], None),
}


@pytest.mark.parametrize("method", ["partial_fit", "forget", "fit"])
@pytest.mark.parametrize(("X", "y", "weights"), case_of(BAD_BATCHES))
def test_a_bad_batch_leaves_the_model_bitwise_unchanged(X, y, weights, method):
    table = {"size": [1.0, 2.5, 0.1], "colour": ["red", "blue", "red"], "n": [0, 3, 1]}
    model = textbook(families={"n": "poisson"}).fit(table, ["a", "b", "b"], [0.1, 0.2, 0.3])
    before = model.statistics_, model.schema_, model.classes_.tolist(), model.predict_proba(table)
    if method == "fit":  # which would take the next two for another table, and may
        X = {**X, "size": [[1], [2]]} if isinstance(X["size"][0], str) else X
        y = ["a", 1] if y == [1, 2] else y
    with pytest.raises(NaivelyError):
        getattr(model, method)(X, y, sample_weight=weights)
    assert model.statistics_ == before[0]
    assert (model.schema_, model.classes_.tolist()) == before[1:3]
    assert np.array_equal(model.predict_proba(table), before[3])


def test_sums_that_overflow_only_together_are_refused():
    batch = ([[1e150], [0.0]], ["a", "b"], None, [1e7, 1e7])
    model = textbook().partial_fit(*batch)
    for _ in range(16):
        model.partial_fit(*batch)
    before = model.statistics_
    with pytest.raises(InputError, match=r"'x0'.*too large"):
        model.partial_fit(*batch)
    assert model.statistics_ == before
    with pytest.raises(InputError, match=r"'x0'.*too large"):
        model + model


def test_the_hierarchy():
    assert issubclass(InputError, (NaivelyError, ValueError))
    assert issubclass(InputTypeError, TypeError)
    assert issubclass(SchemaError, InputError)
    for error in (ParameterError, ForgetError, ModelFileError):
        assert issubclass(error, NaivelyError)
        assert issubclass(error, ValueError)
    assert issubclass(NaivelyWarning, UserWarning)
    assert listed("abcdefg", 3) == "'a', 'b', 'c' and 4 more"


@pytest.mark.parametrize("text", ["\udcff", "a\ud800b", "né\x00", "🐧"])
def test_any_text_can_be_learnt_saved_and_loaded(text, tmp_path):
    table = {text: [1.0, 2.0, 8.0], "colour": [text, "blue", text]}
    model = textbook().fit(table, [text, text, "other"])
    model.save(tmp_path / "model.json")
    copy = load(tmp_path / "model.json")
    assert copy.statistics_ == model.statistics_
    assert copy.predict(table).tolist() == model.predict(table).tolist()


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
@pytest.mark.parametrize(
    ("family", "cell", "told"),
    [
        (None, np.inf, "contains infinity: column 'x0', row 1"),
        ("poisson", -1.0, "Negative values.*column 'x0', row 1"),
        ("exponential", -1.0, "column 'x0', row 1"),
        ("gamma", 0.0, "must be above 0.*column 'x0', row 1"),
    ],
)
def test_numbers_that_cannot_be_are_refused_by_every_recipe(recipe, family, cell, told):
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 9, size=(60, 2)).astype(float), np.arange(60) % 2
    model = NaiveBayes(recipe, families=family).fit(X, y)
    for ask in (model.predict_proba, model.evidence, model.explain):
        with pytest.raises(InputError, match=told):
            ask(np.array([[2.0, 3.0], [cell, 3.0]]))
