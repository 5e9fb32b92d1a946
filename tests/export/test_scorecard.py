"""Scorecards: points add up to the model's odds, bins stay in the range of the data, hostile names are text."""

import math
from itertools import pairwise

import numpy as np
import pytest

from naively import NaiveBayes
from naively.demo import penguins
from naively.errors import GapError, InputError, ParameterError
from naively.families import Joint


def two_species():
    rows, species = penguins()
    kept = [place for place, name in enumerate(species) if name != "Gentoo"]
    return [rows[place] for place in kept], [species[place] for place in kept]


def log_odds(model, rows, good):
    scores = model.predict_joint_log_proba(rows)
    place = model.classes_.tolist().index(good)
    return scores[:, place] - scores[:, 1 - place]


@pytest.mark.parametrize("recipe", ["textbook", "auto", "fast"])
def test_points_of_labels_add_up_to_the_odds_of_the_model(recipe):
    rows, y = two_species()
    rows = [{name: row[name] for name in ("island", "sex")} for row in rows]
    model = NaiveBayes(recipe, smoothing=1).fit(rows, y)
    card = model.scorecard("Adelie", pdo=50, base=500, odds=3, rounded=False)
    expected = 500 + 50 * (log_odds(model, rows, "Adelie") / math.log(2) - math.log2(3))
    np.testing.assert_allclose(card.score(rows), expected, atol=1e-9)
    rounded = model.scorecard("Adelie", pdo=50, base=500, odds=3)
    assert np.abs(rounded.score(rows) - expected).max() <= 1.0  # half a point for each of two columns


def test_numbers_are_cut_within_their_range_and_rank_rows_as_the_model_does():
    rows, y = two_species()
    model = NaiveBayes().fit(rows, y)
    card = model.scorecard(n_bins=8)
    values = [row["bill_length_mm"] for row in rows if row["bill_length_mm"] is not None]
    bins = next(column for column in card.columns if column.name == "bill_length_mm").bins
    assert (bins[0].low, bins[-2].high) == (min(values), max(values))
    assert all(one.high == other.low for one, other in pairwise(bins[:-1]))
    assert sum(one.good + one.bad for one in bins) == len(rows)
    order = np.corrcoef(card.score(rows), log_odds(model, rows, card.good))[0, 1]
    assert order > 0.95


def test_information_value_is_that_of_the_rows():
    X = {"job": ["yes"] * 30 + ["no"] * 10 + ["yes"] * 10 + ["no"] * 30}
    card = NaiveBayes("textbook", smoothing=1).fit(X, ["good"] * 40 + ["bad"] * 40).scorecard("good")
    good, bad = np.array([10.5, 30.5]) / 41, np.array([30.5, 10.5]) / 41
    assert card.columns[0].information_value == pytest.approx(((good - bad) * np.log(good / bad)).sum())
    frame = card.frame()
    assert list(frame.columns) == ["column", "value", "points", "log_odds", "woe", "rows", "information_value"]


def test_a_missing_or_unknown_value_is_worth_what_the_model_says():
    rows, y = two_species()
    model = NaiveBayes("textbook", smoothing=1, families={"island": "categorical"}).fit(
        [{"island": row["island"]} for row in rows], y
    )
    card = model.scorecard("Adelie", rounded=False)
    asked = [{"island": None}, {"island": "Atlantis"}]
    expected = card.offset + card.factor * log_odds(model, asked, "Adelie")
    np.testing.assert_allclose(card.score(asked), expected, atol=1e-9)


def test_names_and_values_are_text_in_html():
    X = {"<script>": ["<b>", "</td>", "<b>", "x"]}
    card = NaiveBayes("textbook", smoothing=1).fit(X, ["u", "v", "u", "v"]).scorecard()
    assert "<script>" not in card._repr_html_()
    assert "&lt;b&gt;" in card._repr_html_()


def test_what_is_refused():
    rows, species = penguins()
    with pytest.raises(InputError, match="two classes"):
        NaiveBayes().fit(rows, species).scorecard()
    rows, y = two_species()
    model = NaiveBayes().fit(rows, y)
    with pytest.raises(ParameterError, match="one of the classes"):
        model.scorecard("Gentoo")
    with pytest.raises(ParameterError, match="pdo"):
        model.scorecard(pdo=0)
    with pytest.raises(GapError, match="moments"):
        NaiveBayes("textbook").fit(rows, y).scorecard()


@pytest.mark.parametrize(
    "model", [NaiveBayes("strong"), NaiveBayes("textbook", factors=[Joint("a", "b")])], ids=["strong", "joint"]
)
def test_models_in_which_columns_depend_on_each_other_have_no_card(model):
    rng = np.random.default_rng(0)
    X = {"a": rng.choice(["x", "y"], 60).tolist(), "b": rng.choice(["u", "v"], 60).tolist()}
    with pytest.raises(GapError, match="reads several columns at once"):
        model.fit(X, rng.integers(0, 2, 60)).scorecard()
