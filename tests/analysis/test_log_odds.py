"""The additive form: constants and functions of columns that add up to the posterior log-odds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes
from naively.demo import penguins
from naively.errors import InputTypeError, ParameterError, RecipeError
from naively.families import Binned, Kernel, Stacked, StudentT
from tests.models import textbook
from tests.strategies import assert_close, cases

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")


def differences(model, X, base, **options):
    """What the log-odds must be."""
    logs = model.predict_log_proba(X, **options)
    with np.errstate(invalid="ignore"):
        return logs - logs[:, [model.classes_.tolist().index(base)]]


def added_up(log_odds, columns):
    """The intercept, and what each column says of its cells."""
    parts = [log_odds.columns[name](cells) for name, cells in columns.items()]
    return log_odds.intercept + sum(parts)


def as_columns(rows):
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@given(cases(), st.sampled_from(["estimated", "uniform"]), st.integers(0, 3))
def test_the_functions_of_the_columns_add_up_to_the_log_odds(case, prior, place):
    model = case.fitted(prior=prior)
    base = model.classes_.tolist()[place % len(model.classes_)]
    log_odds = model.log_odds(base)
    expected = differences(model, case.query, base)
    evidence = model.evidence(case.query)
    finite = np.isfinite(evidence).all(axis=(1, 2))
    scale = 1.0 + np.abs(np.where(np.isfinite(evidence), evidence, 0.0)).sum(axis=(1, 2))[:, None]
    assert_close(added_up(log_odds, case.query)[finite], expected[finite], scale[finite])
    assert_close((log_odds.intercept + log_odds.terms(case.query).sum(axis=1))[finite], expected[finite], scale[finite])
    told = ~np.isnan(expected)
    assert_close(log_odds(case.query)[told], expected[told], np.broadcast_to(scale, expected.shape)[told])
    assert log_odds.base == base
    assert (log_odds(case.query)[:, model.classes_.tolist().index(base)] == 0).all()


@given(cases())
def test_tables_are_values_of_the_functions(case):
    for column in case.fitted().log_odds().columns.values():
        values = list(column.table)
        if column.kind in ("label", "point") and values:
            np.testing.assert_array_equal(np.stack(list(column.table.values())), column(values))


FAMILIES = [Binned(), Binned("mdl"), Binned(3), Kernel(), Kernel(scores=True), Stacked(), StudentT(), StudentT(True)]


@pytest.mark.parametrize("families", FAMILIES, ids=repr)
def test_densities_of_any_shape(families):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 2)) + y[:, None] * [1.0, 0.2]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = textbook(families=families).fit(X, y)
    log_odds = model.log_odds(0)
    assert_close(added_up(log_odds, {"x0": X[:, 0], "x1": X[:, 1]}), differences(model, X, 0), 100.0)
    assert 1 <= len(log_odds.columns["x0"].table) <= 33
    assert all(np.isfinite(ratios).all() for ratios in log_odds.columns["x0"].table.values())
    assert len(model.log_odds(0, n_points=5).columns["x0"].table) <= (33 if isinstance(families, Binned) else 5)


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto"])
@pytest.mark.parametrize("prior", ["estimated", "uniform", {"Adelie": 0.2, "Chinstrap": 0.3, "Gentoo": 0.5}])
def test_recipes_priors_missing_cells_and_strangers(recipe, prior):
    rows, species = penguins()
    model = NaiveBayes(recipe, prior=prior).fit(rows, species)
    asked = [*rows[:30], {"island": "Mars", "sex": None, "body_mass_g": 9000.0}, {"island": None}]
    asked = [{name: row.get(name) for name in rows[0]} for row in asked]
    for base in ("Adelie", "Gentoo"):
        log_odds = model.log_odds(base)
        assert_close(log_odds(asked), differences(model, asked, base), 100.0)
        assert_close(added_up(log_odds, as_columns(asked)), differences(model, asked, base), 100.0)


def test_missing_cells_that_tell_the_class_tell_it_here():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = np.where((rng.random(400) < 0.8) & (y == 1), np.nan, rng.normal(size=400))
    model = NaiveBayes("auto").fit({"x": x.tolist(), "z": rng.normal(size=400).tolist()}, y)
    log_odds = model.log_odds(0)
    assert log_odds.columns["x"].missing[1] > 1
    assert log_odds.columns["x"](None)[1] == log_odds.columns["x"].missing[1]


def test_another_prior_changes_the_intercept_and_nothing_else():
    rows, species = penguins()
    model = textbook().fit(rows, species)
    prior = [0.1, 0.1, 0.8]
    plain, other = model.log_odds(), model.log_odds(prior=prior)
    np.testing.assert_allclose(other.intercept, np.log([0.125, 0.125, 1.0]), atol=1e-15)
    assert_close(other(rows), differences(model, rows, "Gentoo", prior=prior), 100.0)
    np.testing.assert_array_equal(plain.terms(rows[:5]), other.terms(rows[:5]))


def test_the_base_is_a_matter_of_taste():
    rows, species = penguins()
    model = textbook().fit(rows, species)
    first, last = model.log_odds("Adelie"), model.log_odds()
    assert last.base == "Gentoo"
    np.testing.assert_allclose(first(rows) - first(rows)[:, [2]], last(rows), atol=1e-11)


def test_what_is_impossible_is_infinite():
    table = {"colour": ["red", "red", "blue", "green"], "yes": [1, 1, 0, 0]}
    model = textbook(families={"yes": "bernoulli"}, smoothing="none").fit(table, ["a", "a", "b", "b"])
    log_odds = model.log_odds()
    colour = log_odds.columns["colour"]
    assert colour("red")[0] == np.inf
    assert colour("blue")[0] == -np.inf
    assert log_odds.columns["yes"].table[True][0] == np.inf
    assert log_odds({"colour": ["red"], "yes": [1]})[0, 0] == np.inf
    assert log_odds({"colour": ["red"], "yes": [0]}).tolist() == [[0.0, 0.0]]  # no class: the prior
    three = textbook(smoothing="none").fit({"c": ["x", "y", "y"]}, ["a", "b", "c"]).log_odds("b")
    assert np.isnan(three.columns["c"]("x")[2])  # neither b nor c
    assert three.columns["c"]("x")[1] == 0  # the base against itself


def test_a_class_that_the_prior_excludes():
    model = textbook(prior={"a": 1.0, "b": 0.0}).fit([[1.0], [2.0], [3.0], [5.0]], list("aabb"))
    assert model.log_odds().intercept.tolist() == [np.inf, 0.0]
    assert model.log_odds("a")([[2.0]]).tolist() == [[0.0, -np.inf]]


def test_tables_of_each_kind():
    table = {
        "events": [0, 1, 5, 7],
        "word": [1, 0, 3, 2],
        "flag": [0.0, 1.0, 1.0, 1.0],
        "bins": [1.0, 2.0, 8.0, 9.0],
        "empty": [None] * 4,
        "colour": ["red", "?", "red", None],
    }
    families = {"events": "poisson", "word": "multinomial", "flag": "bernoulli", "bins": Binned(2)}
    log_odds = textbook(families=families).fit(table, list("aabb")).log_odds()
    assert list(log_odds.columns["events"].table)[:3] == [0, 1, 2]
    assert list(log_odds.columns["word"].table) == [0, 1]
    assert list(log_odds.columns["flag"].table) == [False, True]
    assert list(log_odds.columns["bins"].table) == [-np.inf, 5.0]
    assert list(log_odds.columns["colour"].table) == ["?", "red"]
    assert log_odds.columns["colour"].unknown.tolist() == [0.0, 0.0]
    assert log_odds.columns["events"].unknown is None
    assert log_odds.columns["empty"].table == {}
    assert log_odds.columns["empty"]([1.0, 2.0]).tolist() == [[0.0, 0.0]] * 2
    for value, at in ((False, 0.0), (True, 1.0)):
        np.testing.assert_array_equal(log_odds.columns["flag"].table[value], log_odds.columns["flag"](at))
    np.testing.assert_array_equal(log_odds.columns["bins"].table[5.0], log_odds.columns["bins"](6.0))


@pytest.mark.parametrize("library", [pd, pl])
def test_the_tidy_frame(library):
    model = textbook().fit({"coat": ["red", "blue", "blue"], "size": [1.0, 2.0, 3.0]}, ["cat", "dog", "dog"])
    frame = model.log_odds().frame(like=library.DataFrame())
    assert isinstance(frame, library.DataFrame)
    assert list(frame.columns) == ["column", "kind", "value", "class", "log_ratio"]
    records = list(zip(*(frame[name] for name in frame.columns), strict=True))
    assert records[0][:2] == ("prior", "prior")
    assert records[0][4] == pytest.approx(np.log(0.5))
    found = {record[2]: record[4] for record in records if record[0] == "coat" and record[1] == "label"}
    assert found == {"red": pytest.approx(np.log((2 / 3) / (1 / 4))), "blue": pytest.approx(np.log((1 / 3) / (3 / 4)))}
    assert {record[1] for record in records if record[0] == "size"} == {"point", "missing"}


def test_how_it_is_printed():
    model = textbook().fit(np.arange(80.0).reshape(4, 20), list("aabb"))
    text = repr(model.log_odds())
    assert text.startswith("Log-odds against 'b'")
    assert "... and 8 more columns" in text
    assert "missing" in repr(model.log_odds().columns["x3"])


def test_reads_a_series_and_a_single_value():
    model = textbook().fit(pd.DataFrame({"size": [1.0, 2.0, 5.0, 7.0]}), list("aabb"))
    column = model.log_odds().columns["size"]
    expected = column([1.0, 2.0])
    np.testing.assert_array_equal(column(pd.Series([1.0, 2.0])), expected)
    np.testing.assert_array_equal(column(pl.Series([1.0, 2.0])), expected)
    np.testing.assert_array_equal(column(2.0), expected[1])
    assert column(np.empty(0)).shape == (0, 2)


def test_what_cannot_be_asked():
    rows, species = penguins()
    model = textbook().fit(rows, species)
    with pytest.raises(ParameterError, match=r"base must be one of the classes 'Adelie'.*got 'Emperor'"):
        model.log_odds("Emperor")
    with pytest.raises(ParameterError, match="n_points"):
        model.log_odds(n_points=1)
    with pytest.raises(ParameterError, match="one prior for all rows"):
        model.log_odds(prior=np.full((2, 3), 1 / 3))
    with pytest.raises(InputTypeError, match="'body_mass_g' must hold numbers"):
        model.log_odds().columns["body_mass_g"]("heavy")
    strong = NaiveBayes("strong").fit(rows, species)
    with pytest.raises(RecipeError, match=r"'strong' pools.*recipe='auto'"):
        strong.log_odds()
    assert strong.set_params(recipe="auto").log_odds().base == "Gentoo"


def test_the_form_is_that_of_the_model_when_it_was_asked():
    X, y = [[1.0], [2.0], [5.0], [7.0]], list("aabb")
    model = textbook().fit(X, y)
    log_odds, before = model.log_odds(), model.predict_log_proba(X)
    model.partial_fit([[9.0], [0.0]], ["a", "c"])
    np.testing.assert_allclose(log_odds(X)[:, 0], before[:, 0] - before[:, 1], rtol=1e-12)
