"""Tables of P(x | y): right, at once, and as R prints them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from naively import TAN, JointBayes, NaiveBayes, compat, load
from naively.demo import penguins
from naively.errors import FrozenError, ParameterError
from naively.families import FAMILIES as REGISTERED
from naively.families import Joint
from tests.weighing.tables import table

ROWS, Y = penguins()
RECIPES = ["textbook", "fast", "auto", "strong"]
FAMILIES = {"body_mass_g": "kernel", "bill_length_mm": "binned", "bill_depth_mm": "studentt"}
JOINT = [Joint("bill_length_mm", "bill_depth_mm", "sex")]


@pytest.mark.parametrize("recipe", RECIPES)
def test_tables_need_no_estimates(recipe):
    model = NaiveBayes(recipe).partial_fit(ROWS, Y)
    before = list(model._state.estimates)
    tables = model.tables()
    assert "FEMALE" in repr(tables)
    assert "FEMALE" in tables._repr_html_()
    assert list(model._state.estimates) == before == [None] * len(before)


@pytest.mark.parametrize("recipe", RECIPES)
def test_numbers_have_the_mean_and_the_deviation_of_each_class(recipe):
    frame = NaiveBayes(recipe).partial_fit(ROWS, Y).tables().frame()
    mass = np.array([np.nan if row["body_mass_g"] is None else row["body_mass_g"] for row in ROWS], dtype=float)
    of_mass = frame[frame["column"] == "body_mass_g"]
    for label in np.unique(Y):
        known = mass[(np.asarray(Y) == label) & ~np.isnan(mass)]
        own = of_mass[of_mass["class"] == label].set_index("parameter")["estimate"]
        np.testing.assert_allclose([own["mean"], own["sd"]], [known.mean(), known.std()], rtol=1e-9)


@pytest.mark.parametrize(
    "model", [*map(NaiveBayes, RECIPES), NaiveBayes("textbook", families=FAMILIES), TAN(), JointBayes()], ids=repr
)
def test_probabilities_sum_to_one(model):
    frame = model.partial_fit(ROWS, Y).tables().frame()
    shares = frame[frame["parameter"] == "probability"]
    assert len(shares) > 0
    totals = shares.groupby(["column", "class"])["estimate"].sum()
    n_given = totals.round() if isinstance(model, TAN) else 1.0  # of a tree: once for each value of the parent
    np.testing.assert_allclose(totals, n_given, atol=1e-9)
    assert (totals > 0.5).all()


@pytest.mark.parametrize("options", [{}, {"families": FAMILIES}, {"factors": JOINT}], ids=repr)
def test_tables_of_the_textbook_are_its_parameters(options):
    model = NaiveBayes("textbook", **options).fit(ROWS, Y)
    parameters = model.parameters()
    tables = model.tables()
    assert set(tables) == set(parameters)
    for name, found in parameters.items():
        shown = {(entry.parameter, entry.value): entry.estimates for entry in tables[name].entries}
        if "mean" in found and not isinstance(found["mean"], dict) and "variance" in found:
            np.testing.assert_array_equal(shown["mean", None], found["mean"])
            np.testing.assert_array_equal(shown["sd", None], np.sqrt(found["variance"]))
        elif isinstance(found.get("probability"), dict):
            named = {", ".join(key) if isinstance(key, tuple) else key for key in found["probability"]}
            assert named == {value for parameter, value in shown if parameter == "probability"}


def test_a_joint_factor_shows_means_by_combination_and_column():
    tables = NaiveBayes("textbook", factors=JOINT).fit(ROWS, Y).tables()
    heads = [entry.head for entry in tables["bill_length_mm & bill_depth_mm & sex"].entries]
    assert "mean FEMALE, bill_length_mm" in heads
    assert "covariance MALE, bill_length_mm, bill_depth_mm" in heads


@settings(max_examples=10)
@given(cut=st.integers(1, len(Y) - 1))
def test_tables_follow_updates(cut):
    parts = NaiveBayes("textbook").fit(ROWS[:cut], Y[:cut]).partial_fit(ROWS[cut:], Y[cut:])
    whole, other = NaiveBayes("textbook").fit(ROWS, Y).tables().frame(), parts.tables().frame()
    assert set(whole["class"]) == set(other["class"])
    key = ["column", "parameter", "value", "class"]
    both = whole.merge(other, on=key, validate="one_to_one")
    assert len(both) == len(whole)
    np.testing.assert_allclose(both["estimate_x"], both["estimate_y"], rtol=1e-9)


def test_tables_print_as_r_prints_those_of_e1071():
    model = compat.e1071().fit(ROWS, Y)
    in_r = str(model).partition("Conditional probabilities:")[2].replace("[,1]", "mean").splitlines()
    ours = repr(model.tables()).partition("Conditional probabilities:")[2].splitlines()
    same = [line.replace(" ", "") for line in in_r if line.strip() and "mean" not in line]
    assert [line.replace(" ", "") for line in ours if line.strip() and "mean" not in line] == same


def test_saved_tables_are_the_same(tmp_path):
    model = NaiveBayes().fit(ROWS, Y)
    model.save(tmp_path / "m.json")
    assert repr(load(tmp_path / "m.json").tables()) == repr(model.tables())


def test_long_tables_are_cut_and_whole_in_the_frame():
    X = {f"c{place}": [f"v{row % 40}" for row in range(120)] for place in range(15)}
    tables = NaiveBayes("textbook").fit(X, [str(row % 30) for row in range(120)]).tables()
    assert "and 3 more columns" in repr(tables)
    assert "and 10 more classes, ... and 30 more values" in repr(tables)
    assert "and 3 more columns" in tables._repr_html_()
    assert len(tables.frame()) == 15 * 40 * 30


def test_prose_ignored_and_empty_columns():
    X = {"text": ["free cash", "lunch"], "id": ["a", "b"], "none": [None, None]}
    model = NaiveBayes("textbook", families={"text": "text"}, ignore=["id"]).fit(X, ["u", "v"])
    assert len(model.tables()) == 0
    assert "top_words" in repr(model.tables())


def test_what_has_no_tables_says_so():
    with pytest.raises(NotFittedError):
        NaiveBayes().tables()
    model = NaiveBayes().fit(ROWS, Y)
    with pytest.raises(FrozenError, match="Ask the model"):
        model.frozen().tables()
    with pytest.raises(ParameterError, match="no table of 'sx'"):
        model.tables()["sx"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_parts_of_dates_are_probabilities(recipe):
    days = np.datetime64("2024-01-01") + np.arange(60)
    tables = NaiveBayes(recipe).fit({"day": days, "x": np.arange(60.0) % 7}, np.arange(60) % 2).tables()
    frame = tables["day"].frame()
    for part in ("month", "weekday"):
        shares = frame[frame["parameter"] == part].groupby("class")["estimate"].sum()
        np.testing.assert_allclose(shares, 1.0, atol=1e-12)
    assert {"mean", "sd"} <= set(frame["parameter"])


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_every_family_has_tables(name):
    frame, y, by_column = table(name, n=60)
    tables = NaiveBayes("textbook", families=by_column).fit(frame, y).tables()
    assert set(tables) == set(frame) - {column for column in frame if name == "text" and column != "beside"}
    assert repr(tables)
    assert tables._repr_html_()
    assert np.isfinite(tables.frame()["estimate"]).all()
