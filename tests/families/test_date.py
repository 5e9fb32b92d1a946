"""Dates, times of day and durations: read alike in every library, part by part, weighed, explained and saved."""

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes, load
from naively._table.dates import written
from naively._table.read import read_table
from naively.errors import InputTypeError, ParameterError
from naively.families import Categorical, Date, Gaussian, Poisson, Stacked
from naively.statistics._calendar import MONTHS, NAMES, WEEKDAYS, part_of
from naively.testing import check_family

rng = np.random.default_rng(3)
N = 400
WHEN = np.datetime64("2023-01-01", "s") + rng.integers(0, 500 * 86400, N).astype("timedelta64[s]")
MOMENTS = WHEN.astype(object).tolist()
WORKS = np.array([moment.weekday() < 5 and 8 <= moment.hour < 18 for moment in MOMENTS])
Y = np.where(WORKS ^ (rng.random(N) < 0.1), "work", "home")

FRAMES = {
    "pandas": lambda: pd.DataFrame({"when": WHEN}),
    "pandas nanoseconds": lambda: pd.DataFrame({"when": WHEN.astype("datetime64[ns]")}),
    "pandas arrow": lambda: pd.DataFrame({"when": pd.Series(WHEN).astype("timestamp[us][pyarrow]")}),
    "pandas objects": lambda: pd.DataFrame({"when": pd.Series(MOMENTS, dtype=object)}),
    "polars": lambda: pl.DataFrame({"when": MOMENTS}),
    "arrow": lambda: pa.table({"when": pa.array(MOMENTS, pa.timestamp("ms"))}),
    "duckdb": lambda: duckdb.from_arrow(pa.table({"when": MOMENTS})).to_arrow_table(),
    "records": lambda: [{"when": moment} for moment in MOMENTS],
    "pandas records": lambda: [{"when": pd.Timestamp(moment)} for moment in MOMENTS],
    "a dict of an array": lambda: {"when": WHEN},
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_every_library_has_the_same_dates(make):
    table = read_table(make())
    assert table.kinds == ("date",)
    assert table.numbers(None, slice(0, N))[:, 0].tolist() == WHEN.astype(np.int64).tolist()
    assert table.labels(0)[1][int(table.labels(0)[0][0])] == str(MOMENTS[0])


def test_an_array_of_dates_is_a_table_of_them():
    model = NaiveBayes("textbook").fit(WHEN[:, None], Y)
    assert isinstance(model.families_["x0"], Date)
    assert read_table(np.array([["NaT"], ["NaT"]], dtype="datetime64[D]")).kinds == ("empty",)


DAYS = [moment.date() for moment in MOMENTS]
TIMES = [moment.time() for moment in MOMENTS]
LASTED = [dt.timedelta(seconds=int(second)) for second in rng.integers(1, 9999, N)]


@pytest.mark.parametrize(
    "make",
    [
        lambda cells: {"c": cells},
        lambda cells: pl.DataFrame({"c": cells}),
        lambda cells: pa.table({"c": cells}),
        lambda cells: pd.DataFrame({"c": pd.Series(cells, dtype=object)}),
        lambda cells: pa.table({"c": cells}).to_pandas(types_mapper=pd.ArrowDtype),
    ],
    ids=["records", "polars", "arrow", "pandas objects", "pandas arrow"],
)
def test_days_times_and_durations_are_read_everywhere(make):
    epoch = dt.datetime(1970, 1, 1)
    for cells, kind, seconds in (
        (DAYS, "date", [(dt.datetime.combine(day, dt.time()) - epoch).total_seconds() for day in DAYS]),
        (TIMES, "time", [time.hour * 3600 + time.minute * 60 + time.second for time in TIMES]),
        (LASTED, "number", [lasted.total_seconds() for lasted in LASTED]),
    ):
        table = read_table(make([None, *cells]))
        assert table.kinds == (kind,)
        found = table.numbers(None, slice(0, N + 1))[:, 0]
        assert np.isnan(found[0])
        assert found[1:].tolist() == seconds


def test_durations_are_numbers_in_numpy_and_pandas():
    lasted = np.array([[90], [30]], dtype="timedelta64[m]")
    assert read_table(lasted).numbers(None, slice(0, 2)).tolist() == [[5400.0], [1800.0]]
    assert read_table(pd.DataFrame({"lasted": lasted[:, 0]})).kinds == ("number",)


@given(st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)))
def test_parts_are_those_of_the_calendar(moment):
    seconds = read_table({"when": [moment]}).numbers(None, slice(0, 1))[0]
    found = [int(part_of(seconds, part)[0]) for part in NAMES]
    assert found == [moment.month - 1, moment.weekday(), moment.hour]
    assert written(float(seconds[0]), "date").startswith(str(moment.date()))


# -- time zones -------------------------------------------------------------------------------------------------------


def test_a_time_zone_is_the_clock_on_the_wall():
    naive = pd.Series(pd.to_datetime(["2024-01-15 09:00", "2024-07-15 09:00"]))
    berlin, tokyo = (naive.dt.tz_localize(zone) for zone in ("Europe/Berlin", "Asia/Tokyo"))
    expected = read_table(pd.DataFrame({"when": naive})).column(0)
    for zoned in (berlin, tokyo):
        for frame in (
            pd.DataFrame({"when": zoned}),
            pl.from_pandas(pd.DataFrame({"when": zoned})),
            pa.Table.from_pandas(pd.DataFrame({"when": zoned})),
            {"when": [moment.to_pydatetime() for moment in zoned]},
        ):
            assert read_table(frame).column(0).tolist() == expected.tolist()
    hours = NaiveBayes("textbook", families=Date("hour")).fit({"when": MOMENTS}, Y)
    texts = {"when": ["2024-01-15T09:00:00+01:00", "2024-01-15 09:00"]}
    answers = hours.predict_proba(texts)
    assert (answers[0] == answers[1]).all()


# -- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [MOMENTS[:60], DAYS[:60], TIMES[:60], [str(moment) for moment in MOMENTS[:60]]])
def test_dates_do_what_families_do(cells):
    check_family(Date(), cells, Y[:60].tolist())
    check_family(Date(("month", "hour")), cells, Y[:60].tolist())


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_every_recipe_learns_explains_and_saves_dates(recipe, tmp_path):
    X = pd.DataFrame({"when": WHEN, "noise": rng.normal(size=N)})
    X.loc[::9, "when"] = pd.NaT
    model = NaiveBayes(recipe).fit(X, Y)
    known = X["when"].notna().to_numpy()
    assert (model.predict(X)[known] == Y[known]).mean() > 0.7
    assert not model.evidence(X)[~known, 0].any() or recipe != "textbook"
    halves = NaiveBayes(recipe).fit(X[:200], Y[:200]) + NaiveBayes(recipe).fit(X[200:], Y[200:])
    assert np.allclose(halves.predict_proba(X), model.predict_proba(X), atol=1e-9)
    model.save(tmp_path / "model.json")
    assert (load(tmp_path / "model.json").predict_proba(X) == model.predict_proba(X)).all()
    lines = model.explain(X[1:2])
    named = [value for column, value in zip(lines["column"], lines["value"], strict=True) if column == "when"]
    moment = MOMENTS[1]
    assert named == [
        f"trend {moment}",
        f"month {MONTHS[moment.month - 1]}",
        f"weekday {WEEKDAYS[moment.weekday()]}",
        f"hour {moment.hour}",
    ]
    odds = model.predict_proba(X[1:2])[0].max()
    assert lines["bits"].sum() == pytest.approx(np.log2(odds / (1 - odds)))


def test_parts_that_say_the_same_are_not_counted_twice_where_evidence_is_weighed():
    """Hours and minutes apart, the same date in two columns: weighed, it says what one says."""
    one, two = pd.DataFrame({"a": WHEN}), pd.DataFrame({"a": WHEN, "b": WHEN})
    single, double = (NaiveBayes("auto").fit(X, Y) for X in (one, two))
    plain, counted_twice = (NaiveBayes("textbook").fit(X, Y) for X in (one, two))

    def gap(first, second):
        return np.abs(first.predict_proba(one) - second.predict_proba(two)).max()

    assert gap(single, double) < 0.1 < gap(plain, counted_twice)


def test_a_time_of_day_has_the_hour_alone_and_a_day_none():
    model = NaiveBayes("auto").fit({"time": TIMES, "day": DAYS}, Y)
    assert model.families_["time"].parts == ("hour",)
    lines = model.explain({"time": TIMES[:1], "day": DAYS[:1]})
    hours = lines[lines["value"].astype(str).str.startswith("hour")]
    assert hours[hours["column"] == "day"]["bits"].abs().sum() == 0
    assert model.score({"time": TIMES, "day": DAYS}, Y) > 0.75


def test_the_trend_is_read_as_the_recipe_reads_numbers():
    for recipe, family in (("textbook", Gaussian()), ("auto", Stacked())):
        assert NaiveBayes(recipe).fit({"when": MOMENTS}, Y).families_["when"].trend == family
    model = NaiveBayes("auto", families={"when": Date(trend=Gaussian())}, smoothing=1.0).fit({"when": MOMENTS}, Y)
    assert model.score({"when": MOMENTS}, Y) > 0.75


def test_a_part_that_never_occurred_says_nothing():
    summer = [moment for moment in MOMENTS if moment.month in (6, 7)]
    y = [answer for answer, moment in zip(Y, MOMENTS, strict=True) if moment.month in (6, 7)]
    for recipe in ("textbook", "auto"):
        model = NaiveBayes(recipe, families={"when": Date("month")}).fit({"when": summer}, y)
        prior = model.predict_proba({"when": [None]})
        assert model.predict_proba({"when": [dt.datetime(2024, 1, 5)]}) == pytest.approx(prior, abs=1e-12)


def test_rows_are_forgotten_and_learnt_in_batches():
    model = NaiveBayes("auto")
    for rows in (slice(0, 150), slice(150, N)):
        model.partial_fit({"when": MOMENTS[rows]}, Y[rows])
    whole = NaiveBayes("auto").fit({"when": MOMENTS}, Y)
    assert model.statistics_ == whole.statistics_
    model.forget({"when": MOMENTS[150:]}, Y[150:])
    assert model.statistics_.tables == NaiveBayes("auto").fit({"when": MOMENTS[:150]}, Y[:150]).statistics_.tables


# -- text -------------------------------------------------------------------------------------------------------------


def test_iso_text_is_read_as_dates_where_asked(tmp_path):
    texts = [None if row % 7 == 0 else moment.isoformat() for row, moment in enumerate(MOMENTS)]
    dates = [None if text is None else moment for text, moment in zip(texts, MOMENTS, strict=True)]
    said = {"families": {"when": "date"}}
    model, same = (NaiveBayes("auto", **said).fit({"when": cells}, Y) for cells in (texts, dates))
    assert (model.predict_proba({"when": texts}) == same.predict_proba({"when": dates})).all()
    assert model.schema_.kinds == ("date",)
    with pytest.raises(InputTypeError, match=r"'when' must hold dates.*row 1 holds '29\.2\.2024'.*ISO 8601"):
        model.predict({"when": ["2024-02-29", "29.2.2024"]})
    times = [f"{moment.hour}:{moment.minute:02}" for moment in MOMENTS]
    assert NaiveBayes("auto", families={"t": "date"}).fit({"t": times}, Y).schema_.kinds == ("time",)
    later = NaiveBayes("textbook", **said).partial_fit({"when": [None] * 3, "n": [1, 2, 3]}, Y[:3])
    assert later.partial_fit({"when": texts, "n": [0] * N}, Y).schema_.kinds == ("date", "number")
    pd.DataFrame({"when": texts, "y": Y}).to_csv(tmp_path / "rows.csv", index=False)
    read = NaiveBayes("auto", **said).fit(tmp_path / "rows.csv", "y")
    assert read.statistics_.tables == model.statistics_.tables


def test_parquet_has_dates(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"when": MOMENTS, "y": Y}).write_parquet(path)
    model = NaiveBayes("auto").fit(path, "y")
    assert model.statistics_.tables == NaiveBayes("auto").fit({"when": MOMENTS}, Y).statistics_.tables


def test_dates_can_be_labels():
    model = NaiveBayes("textbook", families={"day": Categorical()}).fit({"day": DAYS[:4]}, Y[:4])
    assert str(DAYS[0]) in model.parameters()["day"]["probability"]


# -- what there is not ------------------------------------------------------------------------------------------------


def test_bad_options_and_gaps_are_told():
    for bad in ((), ("year",), ("hour", "hour")):
        with pytest.raises(ParameterError, match="some of"):
            Date(bad)
    with pytest.raises(ParameterError, match=r"Gaussian\(\) or Stacked"):
        Date(trend=Poisson())
    model = NaiveBayes("textbook").fit({"when": MOMENTS}, Y)
    for asked in (
        lambda: model.sample(3),
        lambda: model.score_samples({"when": MOMENTS}),
        lambda: model.impute({"when": [None]}),
    ):
        with pytest.raises(ParameterError, match="no density"):
            asked()
    with pytest.raises(InputTypeError, match="'n' holds numbers, which 'date' cannot read"):
        NaiveBayes("textbook", families={"n": "date"}).fit({"n": [1.0, 2.0]}, ["a", "b"])


def test_ranking_drift_and_intervals_know_dates():
    from naively.analysis import drift

    X = {"when": MOMENTS, "noise": rng.normal(size=N)}
    model = NaiveBayes("textbook").fit(X, Y)
    assert next(iter(model.rank_features()["column"])) == "when"
    low, high = np.moveaxis(model.credible_interval(X), 2, 0)
    answers = model.predict_proba(X)
    assert ((low <= answers + 1e-9) & (answers - 1e-9 <= high)).mean() > 0.95
    hours = NaiveBayes("textbook").fit({"t": TIMES}, Y)
    shifted = [time.replace(hour=(time.hour + 12) % 24) for time in TIMES]
    changed = drift.compare(hours, NaiveBayes("textbook").fit({"t": shifted}, Y))
    assert min(changed.frame()["p_value"]) < 0.01
