"""Columns say no more than left-out rows justify in the recipes that weigh evidence: tables with a known truth."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively._scoring.model import CLASS_BIAS

pytestmark = pytest.mark.every_tree

WEIGHED = ["fast", "auto"]
RECIPES = ["textbook", *WEIGHED]


def log_loss(model, X, y):
    return float(-model.predict_log_proba(X)[np.arange(len(y)), y].mean())


def labels(rng, n, n_values):
    return [f"v{value}" for value in rng.integers(0, n_values, n)]


# -- what was never seen, what is missing, what is constant --------------------------------------------------------


def skewed(seed, n=150, missing=0.0):
    """Two columns of labels and one of numbers; one class has a few rows only."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.03, 2, rng.integers(0, 2, n))
    y[:3] = [0, 1, 2]
    table = pd.DataFrame({"a": labels(rng, n, 3), "b": np.where(rng.random(n) < 0.7, y.astype(str), "other")})
    table["x"] = rng.normal(size=n) + y
    return table.mask(rng.random(table.shape) < missing), y


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), recipe=st.sampled_from(RECIPES), missing=st.sampled_from([0.0, 0.3]))
def test_a_label_never_seen_gives_no_evidence(seed, recipe, missing):
    table, y = skewed(seed, missing=missing)
    model = NaiveBayes(recipe).fit(table, y)
    asked = table[:5].assign(a="new", b="newer")
    assert not model.evidence(asked)[:, :2].any()


def test_a_label_never_seen_gives_no_evidence_where_missing_cells_tell_the_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    column = np.where((y == 1) & (rng.random(400) < 0.6), None, rng.choice(list("uv"), 400))
    model = NaiveBayes("auto").fit({"c": column.tolist(), "x": rng.normal(size=400)}, y)
    evidence = model.evidence({"c": ["new", None, "u"], "x": [0.0, 0.0, 0.0]})[:, 0]
    assert not evidence[0].any()
    assert evidence[1, 1] > evidence[1, 0]
    asked = {"c": ["new"], "x": [np.nan]}
    joint = np.log(model.class_prior_) + model.evidence(asked).sum(axis=1)
    np.testing.assert_allclose(model.predict_joint_log_proba(asked), joint, rtol=1e-12)


def test_in_strong_too_respelt_labels_leave_the_other_columns_to_decide():
    table, y = skewed(1, n=600)
    model = NaiveBayes("strong").fit(table, y)
    found = model.predict(table.assign(a="new", b="newer"))
    assert (found == 2).mean() < 0.1


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), recipe=st.sampled_from(WEIGHED))
def test_a_constant_column_and_a_missing_cell_say_nothing_and_the_class_bias_is_a_term(seed, recipe):
    table, y = skewed(seed)
    table = table.assign(constant=3.0, same="s")
    model = NaiveBayes(recipe).fit(table, y)
    assert model.evidence_names_ == ["a", "b", "x", "constant", "same", CLASS_BIAS]
    evidence = model.evidence(table)
    # rounding: a class's share of one value is its count over itself
    np.testing.assert_allclose(evidence[:, 3:5], 0.0, atol=1e-12)
    assert (evidence[:, -1] == evidence[0, -1]).all()
    assert evidence[:, -1].any() == (recipe == "auto")  # one temperature leaves the prior as it is
    assert not model.evidence(table[:1].assign(a=None, b=None, x=np.nan))[:, :3].any()


@pytest.mark.parametrize("recipe", WEIGHED)
def test_the_class_bias_is_in_explanations_and_log_odds(recipe):
    table, y = skewed(2)
    model = NaiveBayes(recipe).fit(table, y)
    frame = model.explain(table[:4], target=1)
    assert frame["column"].tolist()[:5] == ["prior", "a", "b", "x", CLASS_BIAS]
    p = model.predict_proba(table[:4])[:, 1]
    np.testing.assert_allclose(frame.groupby("row")["bits"].sum(), np.log2(p / (1 - p)), rtol=1e-9)
    form = model.log_odds(base=0)
    logs = model.predict_log_proba(table)
    expected = logs - logs[:, [0]]
    np.testing.assert_allclose(form.intercept + form.terms(table).sum(axis=1), expected, atol=1e-9)


# -- values seen once or a few times -------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", [*WEIGHED, "strong"])
@pytest.mark.parametrize("n_rows_each", [1, 2])
def test_an_identifier_that_is_asked_again_does_no_harm(recipe, n_rows_each):
    harm = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        names = [f"i{row // n_rows_each}" for row in range(1000)]
        learnt, asked = rng.normal(size=1000), rng.normal(size=1000)
        y, truth = ((rng.random(1000) < 1 / (1 + np.exp(-1.5 * z))).astype(int) for z in (learnt, asked))
        with_it = NaiveBayes(recipe).fit({"z": learnt, "id": names}, y)
        without = NaiveBayes(recipe).fit({"z": learnt}, y)
        harm.append(log_loss(with_it, {"z": asked, "id": names}, truth) - log_loss(without, {"z": asked}, truth))
    assert np.mean(harm) < 0.02


def test_a_column_of_users_is_used_as_well_as_by_the_textbook():
    losses = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        user = np.repeat(np.arange(200), 6)
        chance = 1 / (1 + np.exp(-rng.normal(0, 2, 200)[user]))
        y, truth = ((rng.random(1200) < chance).astype(int) for _ in range(2))
        X = {"user": [f"u{one}" for one in user]}
        losses.append([log_loss(NaiveBayes(recipe).fit(X, y), X, truth) for recipe in RECIPES])
    textbook, fast, auto = np.mean(losses, axis=0)
    assert max(fast, auto) < textbook + 0.01


# -- noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", WEIGHED)
@pytest.mark.parametrize("n_columns", [20, 300])
def test_columns_of_noise_are_seen_as_noise(recipe, n_columns):
    said, found = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(1200, n_columns)), rng.integers(0, 2, 1200)
        model = NaiveBayes(recipe).fit(X[:200], y[:200])
        said.append(model.calibration_.log_loss)
        found.append(log_loss(model, X[200:], y[200:]))
    assert np.mean(said) == pytest.approx(np.log(2), abs=0.02)
    assert np.mean(found) == pytest.approx(np.log(2), abs=0.02)


@pytest.mark.parametrize("recipe", WEIGHED)
def test_labels_of_noise_are_seen_as_noise(recipe):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{place}": labels(rng, 4000, 100) for place in range(5)})
    y = rng.integers(0, 2, 4000)
    model = NaiveBayes(recipe).fit(X[:2000], y[:2000])
    assert model.calibration_.log_loss == pytest.approx(np.log(2), abs=0.02)
    assert log_loss(model, X[2000:], y[2000:]) == pytest.approx(np.log(2), abs=0.02)


# -- "fast", and large effects -------------------------------------------------------------------------------------


def test_fast_bears_copies_of_a_column():
    rng = np.random.default_rng(0)
    z = rng.normal(size=2500)
    y = (rng.random(2500) < 1 / (1 + np.exp(-1.5 * z))).astype(int)
    losses = []
    for n_copies in (1, 500):
        X = np.column_stack([z] * n_copies)
        losses.append(log_loss(NaiveBayes("fast").fit(X[:500], y[:500]), X[500:], y[500:]))
    assert losses[1] == pytest.approx(losses[0], abs=0.01)


def test_fast_tells_many_classes_with_few_rows_each_apart():
    rng = np.random.default_rng(1)
    centres = 1.5 * rng.normal(size=(100, 10))
    y = np.concatenate([np.arange(100), rng.integers(0, 100, 3900)])
    X = centres[y] + rng.normal(size=(4000, 10))
    assert NaiveBayes("fast").fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.6


def test_large_effects_of_labels_are_found_by_auto():
    """The class is the sign of a sum of five labels' effects: as in tic-tac-toe, a weak ridge is right."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (3000, 5))
    y = (codes.sum(axis=1) > 5).astype(int)
    X = pd.DataFrame(codes.astype(str), columns=list("abcde"))
    assert log_loss(NaiveBayes("auto").fit(X[:1000], y[:1000]), X[1000:], y[1000:]) < 0.08
