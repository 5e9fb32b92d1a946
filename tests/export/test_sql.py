"""`to_sql`: databases answer as the model does."""

import sqlite3
import warnings
from contextlib import closing, nullcontext

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import example, given
from hypothesis import strategies as st

from naively import NaiveBayes
from naively._export.sql_dialects import DIALECTS
from naively._export.sql_search import Search
from naively._export.sql_tables import FARTHEST, FOR_LISTS, Buckets, Intervals
from naively._export.sql_writer import probability_names
from naively.errors import GapError, ParameterError
from tests.export.databases import duckdb_answers, sqlite_answers
from tests.export.exported import NAMES, models, rows

MODELS = models()
DATABASES = {"duckdb": duckdb_answers, "sqlite": sqlite_answers}


def assert_same(model, frame, found):
    labels, probabilities = found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that no class could have produced
        expected, answers = model.predict_proba(frame), model.predict(frame)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-9)
    sure = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, :-1].max(axis=1, initial=0) > 1e-9
    assert [label for label, one in zip(labels, sure, strict=True) if one] == answers[sure].tolist()


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("name", MODELS)
def test_the_database_answers_as_the_model(name, database):
    model, frame = MODELS[name]
    assert_same(model, frame, DATABASES[database](model, frame))


@pytest.mark.parametrize("inline", [0, 1000])
def test_look_ups_may_stand_in_the_query_or_beside_it(inline):
    model, frame = MODELS["labels of numbers"]
    assert_same(model, frame, duckdb_answers(model, frame, inline=inline))


@pytest.mark.parametrize("table", ["cells", "Scores", "odds"])
@pytest.mark.parametrize("database", DATABASES)
def test_a_table_may_be_called_like_a_step_of_the_query(table, database):
    model, frame = MODELS["fast"]
    assert_same(model, frame, DATABASES[database](model, frame, table=table))


def test_what_the_model_refuses_is_missing_in_a_database():
    frame, y = rows()
    model = NaiveBayes("textbook").fit(frame, y)
    odd, empty = frame.copy(), frame.copy()
    odd[NAMES[0]] = [np.inf, -np.inf] * 200
    empty[NAMES[0]] = None
    for found in (duckdb_answers(model, odd), sqlite_answers(model, odd)):
        np.testing.assert_allclose(found[1], model.predict_proba(empty), rtol=0, atol=1e-9)


def test_not_a_number_is_missing_in_a_database():
    model = NaiveBayes().fit({"x": np.arange(60.0)}, np.arange(60) // 20)
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (x DOUBLE)")
        db.execute("INSERT INTO t VALUES ('NaN'::DOUBLE)")
        sql = model.to_sql("t")
        for statement in sql.statements:
            db.execute(statement)
        found = db.execute(str(sql)).fetchall()[0]
    assert found[1:] == pytest.approx(model.predict_proba({"x": [np.nan]})[0].tolist(), abs=1e-12)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["textbook", "auto", "auto families"])
def test_every_statement_can_be_parsed(name, dialect):
    sql = MODELS[name][0].to_sql("t", dialect)
    for statement in [*sql.statements, sql.query]:
        assert len(sqlglot.parse(statement, read=dialect)) == 1
    assert sql.script().count("CREATE TABLE") == len(sql.tables)
    assert str(sql) == sql.query
    assert "SQLModel" in repr(sql)


def test_columns_of_the_answer_have_names():
    frame = pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0]})
    model = NaiveBayes("textbook").fit(frame, ["a", "A", "a", "A"])
    found = duckdb.sql(model.to_sql("frame", keep=["x"]).query)
    assert found.columns == ["x", "prediction", "probability_A", "probability_a_2"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"dialect": "oracle"}, "dialect must be one of"),
        ({"table": ""}, "table must be the name"),
        ({"keep": "id"}, "keep must be a list"),
        ({"keep": ["Prediction"]}, "a column of the answer is called so"),
        ({"table": "naively_0", "inline": 0}, "gives a model table the name"),
    ],
)
def test_bad_options_are_refused(options, match):
    model = MODELS["auto"][0]
    with pytest.raises(ParameterError, match=match):
        model.to_sql(**{"table": "t", **options})


@pytest.mark.parametrize(("dialect", "connect"), [("duckdb", duckdb.connect), ("sqlite", sqlite3.connect)])
@given(names=st.lists(st.text("aAäÄkK\u212a", max_size=2), min_size=2, max_size=2, unique=True))
@example(names=["a", "A"])
@example(names=["", "a"])
def test_names_that_a_database_takes_for_one_or_for_none_are_a_gap(dialect, connect, names):
    model = NaiveBayes("textbook").fit({name: [1.0, 2.0, 5.0, 6.0] for name in names}, [0, 0, 1, 1])
    with closing(connect(":memory:")) as connection:
        try:
            connection.execute("CREATE TABLE t ({})".format(", ".join(f'"{name}" DOUBLE' for name in names)))
        except (duckdb.Error, sqlite3.Error):
            with pytest.raises(GapError, match=r"one name|is empty"):
                model.to_sql("t", dialect)
        else:
            assert connection.execute(model.to_sql("t", dialect).query).fetchall() == []


def test_names_of_other_databases_are_gaps():
    far = ["ä" * 31 + "a", "ä" * 31 + "ab"]  # PostgreSQL cuts both after 63 bytes
    for names, refused in ((far, {"postgres"}), (["ä", "Ä"], {"spark"}), ([""], {"duckdb", "postgres", "spark"})):
        model = NaiveBayes("textbook").fit({name: [1.0, 2.0, 5.0, 6.0] for name in names}, [0, 0, 1, 1])
        for dialect in DIALECTS:
            with pytest.raises(GapError) if dialect in refused else nullcontext():
                model.to_sql("t", dialect)


@given(st.lists(st.text("aAä", min_size=1).map(lambda end: "ä" * 24 + end), min_size=1, max_size=15, unique=True))
def test_columns_of_long_labels_are_told_apart_within_what_is_not_cut_off(labels):
    for dialect in DIALECTS.values():
        names = probability_names(labels, dialect)
        assert len({dialect.known_as(name) for name in names}) == len(labels)


def test_what_a_database_cannot_hold_is_a_gap():
    for values in (["a\0", "b"], [2**70 + 1, 1]):
        model = NaiveBayes("textbook", families="categorical").fit({"x": values}, [0, 1])
        with pytest.raises(GapError, match="hold"):
            model.to_sql("t")
    mixed = NaiveBayes("textbook", families="categorical").fit({"x": ["a", 1]}, [0, 1])
    with pytest.raises(GapError, match="text and numbers"):
        mixed.to_sql("t")
    with pytest.raises(GapError, match="strong"):
        NaiveBayes("strong").fit({"x": np.arange(40.0)}, np.arange(40) % 2).to_sql("t")


@pytest.mark.parametrize("database", DATABASES)
def test_a_column_may_be_called_true(database):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"true": random.normal(size=60), "select": random.random(60) < 0.5})
    model = NaiveBayes("textbook", families={"select": "gaussian"}).fit(frame, frame["select"] ^ (frame["true"] > 0.5))
    assert_same(model, frame, DATABASES[database](model, frame, types={"true": "DOUBLE", "select": "BOOLEAN"}))


@given(st.lists(st.floats(-FARTHEST / 2, FARTHEST / 2), min_size=1, max_size=60, unique=True), st.floats(-1e3, 1e3))
@example(knots=[1 + place * 2.0**-52 for place in range(40)] + [-1e299, 1e299], middle=1.0)
def test_the_lists_of_duckdb_find_the_interval_of_every_number(knots, middle):
    lows = np.append(-FARTHEST, np.sort(knots))
    x = np.concatenate([lows[1:], np.nextafter(lows[1:], -np.inf), np.nextafter(lows[1:], np.inf), [middle, FARTHEST]])
    buckets = Buckets.of(lows, *FOR_LISTS)
    with duckdb.connect() as db:
        numbers = pd.DataFrame({"place": np.arange(len(x)), "x": x})
        bucket = buckets.expression("x", DIALECTS["duckdb"])
        found = db.execute(f"SELECT {bucket} FROM numbers ORDER BY place").fetchall()
    assert len(numbers) == len(found)
    place = buckets.first_places()[np.ravel(found) - 1]
    ahead = np.append(lows, np.full(64, np.inf))
    for step in buckets.steps():
        place = place + step * (x >= ahead[place + step - 1])
    assert place.tolist() == np.searchsorted(lows, x, side="right").tolist()


@given(st.lists(st.lists(st.floats(-FARTHEST / 2, FARTHEST / 2), min_size=1, max_size=40, unique=True), max_size=3))
@example(columns=[[0.0], [1 + place * 2.0**-52 for place in range(40)] + [-1e299, 1e299]])
def test_the_lists_of_spark_find_the_interval_of_every_number(columns):
    knots = [np.sort(some) for some in [*columns, [0.0, 5e-324, 1.0]]]
    lows = [np.append(-FARTHEST, some) for some in knots]
    search = Search({f"x{place}": Intervals(some, some[None, :], None) for place, some in enumerate(lows)}, [0])
    lists = search.table(("t",)).lists
    begin = 0
    for some, buckets in zip(lows, search._buckets, strict=True):
        x = np.concatenate([some, np.nextafter(some[1:], -np.inf), np.nextafter(some, np.inf), [FARTHEST]])
        found = begin + buckets.number(x)
        begin += buckets.last + 1
        places = [_stepped(lists, number, bucket) for number, bucket in zip(x, found, strict=True)]
        assert lists["held"]["e0"][places].tolist() == some[np.searchsorted(some, x, side="right") - 1].tolist()


def _stepped(lists, x, bucket):
    """The place of a number, as the lambda of the query finds it."""
    place = lists["firsts"][bucket]
    for power in reversed(range(lists["crowds"][bucket])):
        place += 2**power * int(x >= lists["lows"][place + 2**power])
    return place
