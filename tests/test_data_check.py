"""The data check: what it finds, what it does not, and that `fit` and answers say it in one warning."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import naively
from naively import NaiveBayes
from naively.analysis._check import DATE, LEAST_ASKED, LEAST_LEARNT
from naively.demo import penguins
from naively.errors import NaivelyWarning
from naively.recipes import RECIPES

DATA = Path(__file__).parent / "reference" / "data"
N = 400
random = np.random.default_rng(0)
Y = np.array(["no", "yes"])[(random.random(N) < 0.3).astype(int)]
USUAL = pd.DataFrame(
    {
        "age": random.integers(18, 90, N),
        "amount": random.permutation(100_000)[:N],  # distinct whole numbers, and yet no identifier
        "weight": random.normal(70, 10, N).round(1),
        "town": random.choice(["Graz", "Linz", "Wien"], N),
        "member": random.random(N) < 0.5,
    }
)
ODD = {
    "an identifier of letters": ("id", [f"c{row}" for row in range(N)]),
    "an identifier with a few repetitions": ("id", [f"c{row % 390}" for row in range(N)]),
    "running numbers": ("id", 1000 + np.arange(N)),
    "running numbers in another order": ("id", random.permutation(N)),
    "nothing": ("empty", [None] * N),
    "one label": ("constant", ["at"] * N),
    "one number": ("constant", np.full(N, 7.5)),
    "one label and missing cells": ("constant", ["at", None] * (N // 2)),
    "dates": ("date as text", [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(N)]),
    "the class in other words": ("gives the target away", np.where(Y == "yes", "paid", "open")),
    "the class as a number": ("gives the target away", np.where(Y == "yes", 1.0, 0.0)),
    "ranges that tell the class": ("gives the target away", random.random(N) + 3 * (Y == "yes")),
    "999 for unknown": ("stand-in", np.where(random.random(N) < 0.1, 999, random.integers(0, 30, N))),
    "-1 for unknown": ("stand-in", np.where(random.random(N) < 0.1, -1, random.integers(0, 30, N))),
}


def found(check):
    return {(one.finding, one.column) for one in check}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_found(name):
    finding, cells = ODD[name]
    assert found(naively.check(USUAL.assign(odd=cells), Y)) == {(finding, "odd")}


def test_an_identifier_by_its_name():
    cells = random.permutation(10_000_000)[:N]
    assert found(naively.check(USUAL.assign(client_id=cells), Y)) == {("id", "client_id")}
    assert not naively.check(USUAL.assign(paid=cells), Y)


def test_codes_by_their_names():
    cells = random.integers(1000, 9999, N)
    assert found(naively.check(USUAL.assign(post_code=cells), Y)) == {("code", "post_code")}
    assert not naively.check(USUAL.assign(encoded=cells), Y)


@pytest.mark.parametrize(
    "twin",
    [
        USUAL["town"].map({"Graz": "G", "Linz": "L", "Wien": "W"}),
        USUAL["weight"] + 0.0,
    ],
)
def test_a_column_that_says_what_another_says_is_found(twin):
    assert found(naively.check(USUAL.assign(twin=twin), Y)) == {("duplicate", "twin")}


def test_few_rows_of_a_class():
    rare = np.where(np.arange(N) < 3, "maybe", Y)
    assert found(naively.check(USUAL, rare)) == {("few rows", "maybe")}


def test_mixed_columns_are_told_and_not_refused():
    assert found(naively.check(USUAL.assign(mixed=[1, "one"] * (N // 2)), Y)) == {("mixed", "mixed")}


def test_without_classes_nothing_is_said_of_them():
    assert not naively.check(USUAL)
    assert found(naively.check(USUAL.assign(odd="at"))) == {("constant", "odd")}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_the_findings_are_a_frame(library):
    frame = naively.check(library(USUAL.assign(odd="at").to_dict("list")), Y).frame()
    assert type(frame) is library
    assert list(frame.columns) == ["finding", "column", "share", "detail"]
    assert str(naively.check(USUAL, Y)) == "Nothing to remark."
    assert len(naively.check(USUAL, Y).frame()) == 0


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("2024-02-03", True),
        ("2024-02-03T10:20:30Z", True),
        ("2024-02-03 10:20", True),
        ("3.2.2024", True),
        ("02/03/24", True),
        ("3 Feb 2024", True),
        ("2024-02/03", False),
        ("10-20", False),
        ("A320", False),
        ("1.5", False),
        ("10.0.0.12", False),
    ],
)
def test_what_looks_like_a_date(text, is_date):
    assert bool(DATE.fullmatch(text)) == is_date


# -- one warning ------------------------------------------------------------------------------------------------------


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert {one.filename for one in caught} <= {__file__}
    assert all(one.category is NaivelyWarning for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("recipe", RECIPES)
def test_fit_says_all_in_one_warning(recipe):
    odd = USUAL.assign(client=[f"c{row}" for row in range(N)], land="at")
    (message,) = warned(lambda: NaiveBayes(recipe).fit(odd, Y))
    assert "'client' looks like an identifier (400 distinct labels in 400 rows)" in message
    assert "ignore=['client']" in message
    assert "'land' holds one value only (always 'at')" in message


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_ignored_is_not_spoken_of(recipe):
    odd = USUAL.assign(client=[f"c{row}" for row in range(N)])
    assert not warned(lambda: NaiveBayes(recipe, ignore=["client"]).fit(odd, Y).predict(odd))


def test_small_tables_and_columns_without_names_are_left_in_peace():
    few = USUAL.assign(land="at")[: LEAST_LEARNT - 1]
    assert not warned(lambda: NaiveBayes().fit(few, Y[: LEAST_LEARNT - 1]))
    assert not warned(lambda: NaiveBayes().fit(np.zeros((N, 2)), Y))


@pytest.mark.filterwarnings("error")
def test_a_warning_that_is_an_error_leaves_the_model_as_it_was():
    model = NaiveBayes("textbook").fit(USUAL, Y)
    with pytest.raises(NaivelyWarning):
        model.fit(USUAL.assign(land="at"), Y)
    assert "land" not in model.schema_.names


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_changed_coding_is_told(recipe):
    model = NaiveBayes(recipe).fit(USUAL, Y)
    changed = USUAL.assign(town=USUAL["town"].str.upper())
    for ask in (model.predict, model.predict_proba, model.explain):
        (message,) = warned(lambda ask=ask: ask(changed))
        assert "'town' holds labels that were never learnt" in message
        assert "in 400 of 400" in message
        assert "Did the coding change?" in message


@pytest.mark.parametrize("recipe", RECIPES)
def test_missing_cells_and_other_units_are_told(recipe):
    model = NaiveBayes(recipe).fit(USUAL, Y)
    changed = USUAL.assign(weight=USUAL["weight"] * 1000.0, age=[None, 40] * (N // 2))
    (message,) = warned(lambda: model.predict(changed))
    assert "'weight' holds numbers outside the range" in message
    assert "'age' has many more missing cells" in message
    assert found(model.check(changed)) == {("outside the range", "weight"), ("missing cells", "age")}


def test_a_few_rows_are_answered_for_in_silence():
    model = NaiveBayes().fit(USUAL, Y)
    changed = USUAL.assign(town="GRAZ")[: LEAST_ASKED - 1]
    assert not warned(lambda: model.predict(changed))
    assert found(model.check(changed)) == {("unseen labels", "town")}


def test_of_many_rows_some_are_looked_at():
    model = NaiveBayes("textbook").fit(USUAL, Y)
    many = pd.concat([USUAL.assign(town="Rom")] * 10)
    check = model.check(many)
    assert check.n_rows == 10 * N
    assert check.looked_at <= 1000
    assert found(check) == {("unseen labels", "town")}


def test_labels_that_are_always_new_are_not_spoken_of():
    random = np.random.default_rng(1)
    names = random.permutation([f"name {row}" for row in range(300)] * 2)[:N]
    model = NaiveBayes("textbook").fit(USUAL.assign(name=names), Y)
    assert not model.check(USUAL.assign(name=[f"other {row}" for row in range(N)]))


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_frozen_model_tells_a_changed_coding(recipe):
    model = NaiveBayes(recipe).fit(USUAL, Y).frozen()
    (message,) = warned(lambda: model.predict(USUAL.assign(town="GRAZ")))
    assert "'town' holds labels that were never learnt" in message
    assert not model.check(USUAL)


def test_numbers_that_are_read_as_categories_are_no_codes_to_speak_of():
    code = random.integers(1, 9, N)
    assert not warned(lambda: NaiveBayes(families={"code": "categorical"}).fit(USUAL.assign(code=code), Y))


def test_filters_silence_it():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaivelyWarning)
        model = NaiveBayes("textbook").fit(USUAL.assign(land="at"), Y)
        model.predict(USUAL.assign(town="Rom"))


# -- no nagging -------------------------------------------------------------------------------------------------------


def reference_sets():
    for path in sorted(DATA.glob("*.csv")):
        frame = pd.read_csv(path)
        yield pytest.param(frame.drop(columns="target"), frame["target"], id=path.stem)
    rows, species = penguins()
    yield pytest.param(pd.DataFrame(rows), pd.Series(species), id="penguins")


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
@pytest.mark.parametrize(("X", "y"), list(reference_sets()))
def test_ordinary_sets_are_learnt_and_answered_for_in_silence(X, y, recipe):
    rows = np.random.default_rng(0).permutation(len(X))
    learnt, asked = np.split(rows, [int(0.7 * len(rows))])
    assert not warned(lambda: NaiveBayes(recipe).fit(X.iloc[learnt], y.iloc[learnt]).predict(X.iloc[asked]))
    assert not warned(lambda: NaiveBayes(recipe).fit(X, y).predict(X))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_rows_that_were_learnt_are_within_their_range_however_far_from_zero(recipe):
    numbers = 2.0**53 - 8 + np.arange(200) % 7
    rows = {"far": numbers, "near": np.linspace(0.0, 1.0, 200)}
    model = NaiveBayes(recipe).fit(rows, np.arange(200) % 2)
    assert not [finding for finding in model.check(rows).findings if finding.finding == "outside the range"]


MANY = 6000
UNEQUAL = np.unique(np.exp(np.random.default_rng(1).uniform(0, 20, 4 * MANY)).astype(int))[:MANY] * 1.0
NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?")
COARSE = {
    "codes": UNEQUAL,
    "codes after a missing cell": np.append(np.nan, UNEQUAL[1:]),
    "codes of either sign": UNEQUAL - 1000,
    "98 at the end": np.append(np.random.default_rng(2).uniform(0, 40, MANY - 900), np.full(900, 98.0)),
}


@pytest.mark.parametrize("name", COARSE)
@pytest.mark.parametrize("called", ["code", "amount"])
def test_no_number_is_named_that_no_cell_holds(called, name):
    """Histograms of many numbers know ranges of them: a number that stands for one is not quoted."""
    cells = COARSE[name]
    classes = np.random.default_rng(3).integers(0, 2, len(cells))
    for finding in naively.check({called: cells}, classes):
        assert (finding.finding, called) == ("code", "code")
        (quoted,) = NUMBER.findall(finding.detail)
        assert float(quoted) in cells


def test_many_numbers_that_are_not_whole_are_no_codes():
    cells = np.append(UNEQUAL[:-1], 0.5)
    assert not naively.check({"code": cells}, np.arange(MANY) % 2)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("n_values", [5, MANY])
def test_a_range_is_called_learnt_if_its_ends_are(recipe, n_values):
    cells = UNEQUAL[np.arange(MANY) % n_values]
    model = NaiveBayes(recipe).fit({"amount": cells}, np.random.default_rng(4).integers(0, 2, MANY))
    (finding,) = model.check({"amount": cells - 10.0 * UNEQUAL[-1]})
    _, low, high, *_ = map(float, NUMBER.findall(finding.detail))
    if "was learnt" in finding.detail:
        assert {low, high} == {cells.min(), cells.max()}
    else:
        assert recipe == "textbook" or n_values == MANY
        assert "nearly all was in" in finding.detail
        assert np.mean((cells >= low) & (cells <= high)) > 0.97


# -- rows that are no table in memory ---------------------------------------------------------------------------------


def as_files(table, folder):
    half = len(table) // 2
    table.iloc[:half].to_parquet(folder / "a.parquet", index=False)
    table.iloc[half:].to_parquet(folder / "b.parquet", index=False)
    return str(folder / "*.parquet")


SOURCES = {
    "files": as_files,
    "frames": lambda table, folder: iter([table.iloc[:150], table.iloc[150:]]),
    "lazy": lambda table, folder: pl.from_pandas(table).lazy(),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["an identifier of letters", "one label", "the class in other words", "dates"])
def test_files_streams_and_lazy_frames_are_looked_at(source, name, tmp_path):
    finding, cells = ODD[name]
    table = USUAL.assign(odd=cells, y=Y)
    assert found(naively.check(SOURCES[source](table, tmp_path), "y")) == {(finding, "odd")}
    with pytest.warns(NaivelyWarning, match="deserve a look.*'odd'"):
        NaiveBayes("textbook").fit(SOURCES[source](table, tmp_path), "y")
    with warnings.catch_warnings():
        warnings.simplefilter("error", NaivelyWarning)
        NaiveBayes("textbook").fit(SOURCES[source](USUAL.assign(y=Y), tmp_path), "y")


def test_classes_of_few_rows_are_told_by_all_rows_of_a_source(tmp_path):
    few = USUAL.assign(y=["first"] + ["a", "b", "c"] * 133)
    check = naively.check(as_files(few, tmp_path), "y")
    assert found(check) == {("few rows", "first")}
    assert (check.n_rows, next(iter(check)).detail) == (N, "1 of 400 rows")
    sorted_rows = few.sort_values("y", ascending=False)
    assert found(naively.check(as_files(sorted_rows, tmp_path), "y")) == {("few rows", "first")}
    assert not naively.check(as_files(USUAL, tmp_path))


def test_rows_of_a_source_are_compared_with_those_that_were_learnt(tmp_path):
    model = NaiveBayes("textbook").fit(USUAL, Y)
    other = USUAL.assign(town="Bern")
    expected = found(model.check(other))
    assert expected == {("unseen labels", "town")}
    for source in SOURCES.values():
        assert found(model.check(source(other, tmp_path))) == expected
