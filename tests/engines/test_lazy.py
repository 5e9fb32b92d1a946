"""Lazy frames that are added up by their engine give the statistics of the same rows in memory."""

import logging
from datetime import date

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes, drift
from naively._table.read import read_table
from naively.engines._lazy import lazy_statistics
from naively.engines._lazy_head import first_rows, head_table
from naively.engines._lazy_rows import lazy_rows
from naively.engines._registry import source_of
from naively.errors import InputError, InputTypeError, ParameterError, SchemaError
from naively.families import ByKind, Gaussian, Poisson
from naively.statistics._statistics import same
from tests.engines.lazy_data import NAMES, arrow_table, odd_rows


def as_polars(table):
    return pl.from_arrow(table).lazy()


def as_relation(table):
    connection = duckdb.connect()
    connection.register("rows", table)
    connection.execute("create table t as select * from rows")
    return connection.table("t")


ENGINES = {"polars": as_polars, "duckdb": as_relation}


@pytest.fixture(params=list(ENGINES))
def as_lazy(request):
    return ENGINES[request.param]


def pushed(native, model, y="class", weight=None):
    """The statistics of a lazy frame for a model that knows its columns."""
    frame, names = nw.from_native(native), model.schema_.names
    head = read_table(first_rows(frame.select(*names)))
    return lazy_statistics(lazy_rows(frame, names, y, weight), model.schema_, None, head)


def assert_alike(found, expected, tolerance=1e-12):
    """Counts are equal; sums are equal but for the rounding of one pass in float64.

    They are taken about one anchor for all classes, so what is rounded is small beside the sums of the whole column.
    """
    assert found.classes.tolist() == expected.classes.tolist()
    assert found.classes.dtype == expected.classes.dtype
    np.testing.assert_allclose(found.class_weight.high, expected.class_weight.high, rtol=1e-14)
    assert found.tables.keys() == expected.tables.keys()
    for summary, table in expected.tables.items():
        if summary.kind == "counts":
            assert same(found.tables[summary], table)
            continue
        other = found.tables[summary].for_columns(table.columns)
        scale = np.sqrt(expected.class_weight.high[:, None] * (table.square or table.total).high)
        for part in ("observed", "total", "square", "log"):
            one, two = getattr(other, part), getattr(table, part)
            assert (one is None) == (two is None)
            if two is not None:
                size = scale if part in ("total", "log") else np.abs(two.high)
                size = np.maximum(size, np.abs(two.high)).max(axis=0)
                assert (np.abs(one.high - two.high) <= tolerance * size).all(), part


@pytest.mark.parametrize("weight", [None, "weight"])
def test_odd_rows(as_lazy, weight):
    table = arrow_table(odd_rows())
    table = table if weight else table.drop_columns(["weight"])
    model = NaiveBayes("textbook", families={NAMES["wide"]: "categorical"}).fit(table, "class", weight)
    found = pushed(as_lazy(table), model, "class", weight)
    assert_alike(found, model.statistics_)
    other = model.with_statistics(found)
    np.testing.assert_allclose(other.predict_proba(table), model.predict_proba(table), atol=1e-11)
    far = [one.parameters()[NAMES["far"]]["variance"] for one in (other, model)]
    np.testing.assert_allclose(*far, rtol=1e-12)


def test_classes_that_are_far_apart_beside_their_spread(as_lazy):
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 2000)
    x = rng.normal(size=6000) * np.repeat([1e-3, 1.0, 1.0], 2000) + np.repeat([0.0, 1e8, -3e11], 2000)
    table = pa.table({"x": x, "class": y})
    model = NaiveBayes("textbook").fit(table, "class")
    variance = model.with_statistics(pushed(as_lazy(table), model)).parameters()["x"]["variance"]
    np.testing.assert_allclose(variance, model.parameters()["x"]["variance"], rtol=1e-9)


FAMILIES = [
    {"n": "poisson", "x": "gamma", "b": "bernoulli", "s": "categorical"},
    {"n": "multinomial", "x": "exponential", "b": "gaussian", "s": "categorical"},
    {"n": "categorical", "x": "bernoulli", "b": "categorical", "s": "categorical"},
    ByKind(Gaussian(), counts=Poisson(), binary=Gaussian(ddof=1)),
]


@pytest.mark.parametrize("families", FAMILIES, ids=["counts", "shares", "labels", "by kind"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_all_sums_and_counts(as_lazy, families, weight):
    rng = np.random.default_rng(2)
    n = 300
    table = pa.table(
        {
            "n": pa.array(rng.poisson(2.0, n), mask=rng.random(n) < 0.1),
            "x": rng.gamma(2.0, size=n),
            "b": pa.array(rng.random(n) < 0.4, mask=rng.random(n) < 0.1),
            "s": rng.choice(["u", "v"], n),
            "class": rng.integers(0, 4, n),
            "w": rng.integers(1, 4, n).astype(float),
        }
    )
    table = table if weight else table.drop_columns(["w"])
    model = NaiveBayes("textbook", families=families).fit(table, "class", weight)
    assert_alike(pushed(as_lazy(table), model, "class", weight), model.statistics_)


cells = st.one_of(st.none(), st.floats(-1e6, 1e6), st.just(float("nan")))
labels = st.one_of(st.none(), st.sampled_from(["", "a", "b c", "é"]))
rows = st.lists(st.tuples(st.sampled_from([1, 2, 30]), cells, labels, st.one_of(st.none(), st.booleans())), min_size=1)


@pytest.mark.parametrize("engine", list(ENGINES))
@given(rows=rows)
def test_any_rows(engine, rows):
    y, x, label, truth = zip(*rows, strict=True)
    table = pa.table(
        {
            "class": pa.array(y, pa.int32()),
            "x": pa.array(x, pa.float64(), from_pandas=False),
            "l": pa.array(label, pa.string()),
            "t": pa.array(truth, pa.bool_()),
        }
    )
    model = NaiveBayes("textbook").fit(table, "class")
    assert_alike(pushed(ENGINES[engine](table), model), model.statistics_, 1e-11)


# -- what is refused --------------------------------------------------------------------------------------------------


def refused(as_lazy, columns, families=None, weight=None):
    good = {name: [1.0, 2.0] if name != "class" else ["a", "b"] for name in columns}
    model = NaiveBayes("textbook", families=families).fit(good, "class", weight)
    return pushed(as_lazy(pa.table(columns)), model, "class", weight)


def test_an_infinite_number(as_lazy):
    with pytest.raises(InputError, match=r"infinity.*'x'"):
        refused(as_lazy, {"x": [1.0, np.inf], "class": ["a", "b"]})


def test_a_negative_count(as_lazy):
    with pytest.raises(InputError, match="Negative values in data: column 'x'"):
        refused(as_lazy, {"x": [1.0, -1.0], "class": ["a", "b"]}, "poisson")


def test_a_number_without_a_logarithm(as_lazy):
    with pytest.raises(InputError, match="'x' must hold numbers above 0"):
        refused(as_lazy, {"x": [1.0, 0.0], "class": ["a", "b"]}, "gamma")


def test_a_row_without_a_class_as_in_a_table(as_lazy):
    columns = {"x": [1.0, 2.0], "class": ["a", None]}
    with pytest.raises(InputError, match="Input y contains NaN or None"):
        NaiveBayes("textbook").fit(pa.table(columns), "class")
    with pytest.raises(InputError, match="Input y contains NaN or None: 1 rows"):
        refused(as_lazy, columns)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), None, float("inf")])
def test_a_weight_that_is_none(as_lazy, weight):
    with pytest.raises(InputError, match="finite numbers of zero or more, but 1 rows"):
        refused(as_lazy, {"x": [1.0, 2.0], "class": ["a", "b"], "w": [1.0, weight]}, weight="w")


def test_no_rows(as_lazy):
    table = pa.table({"x": pa.array([], pa.float64()), "class": pa.array([], pa.string())})
    with pytest.raises(InputError, match="0 sample"):
        head_table(nw.from_native(as_lazy(table)), first_rows(nw.from_native(as_lazy(table))))


# -- what columns hold ------------------------------------------------------------------------------------------------


def test_kinds_are_those_of_the_table_reader(as_lazy):
    n = 600
    late = [None] * 500
    columns = {
        "number": pa.array(range(n)),
        "truth": pa.array([True, None] * (n // 2)),
        "label": pa.array(["a", "b"] * (n // 2)),
        "prose": pa.array([f"it was the day number {i} of a long and happy summer by the sea" for i in range(n)]),
        "nothing": pa.array([None] * n, pa.float64()),
        "late number": pa.array([*late, *([1.5] * 100)], pa.float64()),
        "late nan": pa.array([*([float("nan")] * 500), *([1.5] * 100)]),
        "late label": pa.array([*late, *(["a"] * 100)]),
        "late truth": pa.array([*late, *([True] * 100)]),
        "only nan": pa.array([float("nan")] * n),
    }
    table = pa.table(columns)
    frame = nw.from_native(as_lazy(table))
    assert head_table(frame, first_rows(frame)).kinds == read_table(table).kinds


def test_dates_are_read_as_in_a_table(as_lazy):
    days = [date(2024, 1 + row % 12, 1 + row % 28) for row in range(100)]
    for cells in (days * 4, [None] * 300 + days):
        table = pa.table({"day": pa.array(cells, pa.date32())})
        frame = nw.from_native(as_lazy(table))
        assert head_table(frame, first_rows(frame)).kinds == read_table(table).kinds == ("date",)
        rows = table.append_column("class", pa.array([f"c{place % 3}" for place in range(400)]))
        lazily, eagerly = (NaiveBayes("textbook").fit(given, "class") for given in (as_lazy(rows), rows))
        assert lazily.statistics_ == eagerly.statistics_


def test_durations_are_numbers_as_in_a_table():
    lasted = pa.table({"lasted": pa.array([1, 2, 3, 4], pa.duration("s")), "class": ["a", "b", "a", "b"]})
    lazily = NaiveBayes("textbook").fit(pl.from_arrow(lasted).lazy(), "class")
    assert lazily.statistics_ == NaiveBayes("textbook").fit(lasted, "class").statistics_


def test_what_is_sent_is_logged(as_lazy, caplog):
    table = pa.table({"x": [1.0, 2.5, 3.0, 4.5], "s": ["u", "v", "u", "v"], "class": ["a", "b", "a", "b"]})
    with caplog.at_level(logging.DEBUG, logger="naively"):
        NaiveBayes("textbook").fit(as_lazy(table), "class")
    told = [record.message for record in caplog.records if record.levelno == logging.INFO]
    assert [line.partition(": ")[2] for line in told] == [
        "some first rows",
        "classes",
        "sums of 1 columns",
        "counts of the values of 1 columns",
    ]
    assert sum("GROUP BY" in record.message or "AGGREGATE" in record.message for record in caplog.records) == 3


# -- a model ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto"])
def test_a_model_of_a_lazy_frame_is_that_of_a_table(as_lazy, recipe):
    table = arrow_table(odd_rows())
    families = {NAMES["wide"]: "categorical"}
    local = NaiveBayes(recipe, families=families).fit(table, "class", "weight")
    model = NaiveBayes(recipe, families=families).fit(as_lazy(table), "class", "weight")
    assert model.schema_ == local.schema_
    np.testing.assert_allclose(model.predict_proba(table), local.predict_proba(table), atol=1e-11)
    assert model.score(as_lazy(table), "class") == local.score(table, "class")
    more = arrow_table(odd_rows(seed=5))
    twice = local.partial_fit(more, "class", sample_weight="weight")
    np.testing.assert_allclose(
        model.partial_fit(as_lazy(more), "class", sample_weight="weight").predict_proba(table),
        twice.predict_proba(table),
        atol=1e-11,
    )
    model.forget(as_lazy(more), "class", sample_weight="weight")
    assert (
        model.class_count_.tolist()
        == NaiveBayes(recipe, families=families).fit(table, "class", "weight").class_count_.tolist()
    )


def test_leave_one_out_of_a_lazy_frame(as_lazy):
    table = arrow_table(odd_rows()).drop_columns(["weight"])
    model = NaiveBayes("textbook").fit(as_lazy(table), "class")
    np.testing.assert_allclose(model.loo(as_lazy(table), "class"), model.loo(table, "class"), atol=1e-11)


def test_columns_that_come_and_go(as_lazy):
    table = arrow_table(odd_rows()).drop_columns(["weight"])
    less = table.drop_columns([NAMES["far"], NAMES["label"]])
    models = []
    for some, all_rows in ((less, table), (as_lazy(less), as_lazy(table))):
        model = NaiveBayes("textbook").fit(some, "class")
        with pytest.warns(UserWarning, match="X has new columns"):
            model.partial_fit(all_rows, "class")
        with pytest.warns(UserWarning, match="X lacks the columns"):
            models.append(model.partial_fit(some, "class"))
    assert_alike(models[1].statistics_, models[0].statistics_)


def test_numbers_that_are_text_now_are_parsed_here(as_lazy):
    table = pa.table({"x": [1.5, 2.5, 3.5, 4.0], "class": ["a", "b", "a", "b"]})
    text = table.set_column(0, "x", pa.array(["1.5", "2.5", None, "4.0"]))
    models = []
    for one in (text, as_lazy(text)):
        with pytest.warns(UserWarning, match="hold text now, which is read as numbers"):
            models.append(NaiveBayes("textbook").fit(table, "class").partial_fit(one, "class"))
    assert models[0].statistics_ == models[1].statistics_


def test_classes_must_be_a_column(as_lazy):
    source = as_lazy(pa.table({"x": [1.0, 2.0], "class": ["a", "b"]}))
    with pytest.raises(InputTypeError, match="y must be the name of the column"):
        NaiveBayes().fit(source, ["a", "b"])
    with pytest.raises(InputTypeError, match=r"fit\(source, 'name'\)"):
        NaiveBayes().fit(source)
    with pytest.raises(SchemaError, match="Did you mean 'class'"):
        NaiveBayes().fit(source, "clas")


def test_an_engine_that_fails_says_so_and_the_model_stays(as_lazy):
    model = NaiveBayes("textbook").fit([[1.0], [2.0]], ["a", "b"])
    before = model.statistics_
    table = pa.table({"x": [1.0, np.inf], "class": ["a", "b"]})
    with pytest.raises(InputError, match="infinity"):
        model.fit(as_lazy(table), "class")
    assert model.statistics_ is before
    relation = as_relation(table).project("error('out of order') as x, class")
    with pytest.raises(InputError, match=r"duckdb could not answer.*out of order"):
        model.fit(relation, "class")
    assert model.statistics_ is before


def test_an_engine_that_fails_while_rows_come_says_so(as_lazy, caplog):
    lazy = as_lazy(pa.table({"x": ["1", "2", "three"], "class": ["a", "b", "b"]}))
    broken = nw.from_native(lazy).with_columns(nw.col("x").cast(nw.Float64)).to_native()
    model = NaiveBayes("textbook").fit({"x": [1.0, 2.0]}, ["a", "b"])
    asked = [lambda: model.score(broken, "class"), lambda: model.loo(broken, "class")]
    with caplog.at_level("DEBUG", "naively"):
        for ask in [*asked, lambda: drift.check(model, broken)]:
            caplog.clear()
            with pytest.raises(InputError, match=r"^(polars|duckdb) could not answer \(rows, .* at a time\): .*three"):
                ask()
            assert [record.levelname for record in caplog.records] == ["INFO", "DEBUG"]  # in words, and as it was sent


def test_unlabelled_rows_of_a_lazy_frame(as_lazy):
    table = arrow_table(odd_rows())
    model = NaiveBayes("textbook").fit(table, "class")
    assert drift.check(model, as_lazy(table)) == drift.check(model, table)


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [False, True])
def test_a_lazy_frame_with_answers_stays_lazy(as_lazy, evidence):
    table = arrow_table(odd_rows()).drop_columns([NAMES["wide"]])
    model = NaiveBayes("textbook").fit(table.drop_columns(["weight"]), "class")
    expected = model.annotate(table, evidence=evidence)
    native = as_lazy(table)
    answered = model.annotate(native, evidence=evidence)
    assert type(answered) is type(native)
    for _ in range(2):  # it can be read again
        found = nw.from_native(answered).filter(nw.col("weight") > 1).collect().to_arrow()
        assert found.column_names == expected.column_names
        chosen = expected.filter(pyarrow.compute.greater(expected["weight"], 1))
        for name in expected.column_names[table.num_columns :]:
            assert found[name].to_pylist() == chosen[name].to_pylist(), name


def test_answers_of_no_rows_and_of_columns_that_are_there(as_lazy):
    table = pa.table({"x": [1.0, 2.5, 3.0, 4.5], "class": ["a", "b", "a", "b"]})
    model = NaiveBayes("textbook").fit(table, "class")
    nothing = nw.from_native(model.annotate(as_lazy(table.slice(0, 0)))).collect()
    assert nothing.columns == ["x", "class", "prediction", "probability_a", "probability_b"]
    assert len(nothing) == 0
    with pytest.raises(ParameterError, match=r"'prediction'.*there are such columns already"):
        model.annotate(as_lazy(table.append_column("prediction", table["class"])))
    with pytest.raises(ParameterError, match="stays lazy: write what annotate returns"):
        model.annotate(as_lazy(table), to="answers.parquet")


def test_the_answers_are_those_of_the_model_that_was_asked(as_lazy):
    table = pa.table({"x": [1.0, 2.5, 3.0, 4.5], "class": ["a", "b", "a", "b"]})
    model = NaiveBayes("textbook").fit(table, "class")
    expected = model.annotate(table)["probability_a"].to_pylist()
    answered = model.annotate(as_lazy(table))
    model.partial_fit(pa.table({"x": [9.0] * 50, "class": ["a"] * 50}), "class")
    assert nw.from_native(answered).collect()["probability_a"].to_list() == expected


def test_names_that_differ_in_case_alone_are_refused_where_they_are_one():
    rows = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "A": [9.0, 8.0, 1.0, 2.0], "class": ["x", "x", "z", "z"]})
    local = NaiveBayes("textbook").fit(rows, "class")
    model = NaiveBayes("textbook").fit(as_polars(rows), "class")
    np.testing.assert_allclose(model.predict_proba(rows), local.predict_proba(rows), atol=1e-12)
    relation = duckdb.sql("""select 1.0 as a, 9.0 as "A", 'x' as class union all select 2.0, 8.0, 'z'""")
    for use in (lambda: NaiveBayes("textbook").fit(relation, "class"), lambda: local.annotate(relation)):
        with pytest.raises(SchemaError, match="Columns 'a' and 'A' differ in case alone"):
            use()


def test_a_lazy_frame_of_narwhals_is_what_it_wraps():
    rows = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "class": ["a", "a", "b", "b"]})
    source = source_of(nw.from_native(rows.lazy()))
    assert source is not None
    assert isinstance(source.given, pl.LazyFrame)
