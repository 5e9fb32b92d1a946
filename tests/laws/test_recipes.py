"""The laws for the recipes that weigh evidence: their histograms and kept rows merge and forget like all else."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes, load
from naively.errors import ForgetError, SchemaError

RECIPES = ["fast", "auto", "strong"]


def table(n=240, seed=0, classes=3):
    """Numbers on a dyadic grid (so that sums are exact), categories and missing cells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    frame = pd.DataFrame(
        {
            "length": np.round((rng.normal(size=n) + y) * 8) / 8,
            "width": np.round(rng.normal(size=n) * 4) / 4,
            "colour": np.array(["red", "green", "blue", "grey"])[(y + rng.integers(0, 2, n)) % 4],
        }
    )
    frame.loc[rng.random(n) < 0.1, "length"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, y


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=15, deadline=None)
@given(cut=st.integers(1, 239), seed=st.integers(0, 5))
def test_any_cut_and_order_gives_the_same_statistics(recipe, cut, seed):
    frame, y = table(seed=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    whole = NaiveBayes(recipe).fit(frame, y).statistics_
    first, second = order[:cut], order[cut:]
    merged = NaiveBayes(recipe).fit(frame.iloc[first], y[first]) + NaiveBayes(recipe).fit(frame.iloc[second], y[second])
    streamed = NaiveBayes(recipe).partial_fit(frame.iloc[second], y[second]).partial_fit(frame.iloc[first], y[first])
    assert merged.statistics_ == whole
    assert streamed.statistics_ == whole


@pytest.mark.parametrize("recipe", RECIPES)
def test_forgetting_leaves_what_was_there_before(recipe):
    frame, y = table()
    model = NaiveBayes(recipe).fit(frame, y).forget(frame[:100], y[:100])
    again = NaiveBayes(recipe).fit(frame[100:], y[100:])
    assert model.statistics_ == again.statistics_
    assert np.array_equal(model.predict_proba(frame), again.predict_proba(frame))


@pytest.mark.parametrize("recipe", RECIPES)
def test_forgetting_what_was_never_learnt_is_an_error_and_changes_nothing(recipe):
    frame, y = table()
    model = NaiveBayes(recipe).fit(frame, y)
    before = model.statistics_
    with pytest.raises(ForgetError):
        model.forget(frame.assign(length=99.0)[:3], y[:3])
    assert model.statistics_ is before


@pytest.mark.parametrize("recipe", RECIPES)
def test_threads_and_files_change_nothing(recipe, tmp_path):
    frame, y = table()
    model = NaiveBayes(recipe, n_threads=1).fit(frame, y)
    other = NaiveBayes(recipe, n_threads=3).fit(frame, y)
    assert np.array_equal(model.predict_proba(frame), other.predict_proba(frame))
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").statistics_ == model.statistics_
    assert np.array_equal(load(tmp_path / "model.json").predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("recipe", RECIPES)
def test_evidence_sums_to_the_probabilities(recipe):
    frame, y = table()
    model = NaiveBayes(recipe).fit(frame, y)
    evidence = model.evidence(frame)
    assert evidence.shape[1] == len(model.evidence_names_)
    joint = np.log(model.class_prior_) + evidence.sum(axis=1)
    proba = np.exp(joint - joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(proba / proba.sum(axis=1, keepdims=True), model.predict_proba(frame), atol=1e-12)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_weight_counts_as_repetitions(recipe):
    frame, y = table(n=90)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = NaiveBayes(recipe).fit(frame, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(y)), weights)
    expected = NaiveBayes(recipe).fit(frame.iloc[repeated], y[repeated]).statistics_
    # One row that weighs three has occurred once: what is held out to judge it is all of it.
    assert weighted.statistics_.kept.occurrences.sum() == np.count_nonzero(weights)
    assert expected.kept.occurrences.sum() == weights.sum()
    once = dataclasses.replace(expected.kept, occurrences=weighted.statistics_.kept.occurrences)
    assert weighted.statistics_ == dataclasses.replace(expected, kept=once)


@pytest.mark.parametrize("recipe", RECIPES)
def test_renaming_classes_and_moving_columns_permutes_the_answer(recipe):
    frame, y = table()
    model = NaiveBayes(recipe).fit(frame, y)
    renamed = NaiveBayes(recipe).fit(frame[["colour", "width", "length"]], 2 - y)
    expected = model.predict_proba(frame)[:, ::-1]
    # The optimiser's path depends on the order of its parameters, its optimum does not.
    np.testing.assert_allclose(renamed.predict_proba(frame), expected, atol=1e-4)


def test_the_kept_rows_are_a_mergeable_sample():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000)
    whole = NaiveBayes("fast", kept_rows=200).fit(X, y).statistics_.kept
    parts = [NaiveBayes("fast", kept_rows=200).fit(X[i::7], y[i::7]).statistics_.kept for i in range(7)]
    merged = parts[3]
    for place in (0, 6, 1, 5, 2, 4):
        merged = merged + parts[place]
    assert len(whole) == 200
    assert merged == whole
    kept = np.isin(X[:, 0], whole.columns["x0"])
    assert kept.sum() == 200
    assert abs(X[kept].mean()) < 0.2  # a sample like any other


def test_a_prior_given_per_call_still_shifts_the_answer():
    frame, y = table()
    for recipe in RECIPES:
        model = NaiveBayes(recipe).fit(frame, y)
        proba, prior = model.predict_proba(frame), np.array([0.8, 0.1, 0.1])
        shifted = proba * prior / model.class_prior_
        np.testing.assert_allclose(
            model.predict_proba(frame, prior=prior), shifted / shifted.sum(axis=1, keepdims=True), atol=1e-10
        )


def test_a_model_without_kept_rows_says_so():
    frame, y = table()
    model = NaiveBayes("textbook").fit(frame, y).set_params(recipe="auto")
    with pytest.raises(SchemaError, match="Fit again"):
        model.predict(frame)


def test_textbook_can_be_read_from_what_auto_kept():
    frame, y = table()
    model = NaiveBayes("auto").fit(frame, y).set_params(recipe="textbook")
    expected = NaiveBayes("textbook").fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-12)


@pytest.mark.parametrize("recipe", RECIPES)
def test_huge_and_missing_values_give_finite_probabilities(recipe):
    frame, y = table()
    model = NaiveBayes(recipe).fit(frame, y)
    odd = pd.DataFrame({"length": [1e308, -1e308, np.nan], "width": [np.nan] * 3, "colour": ["mauve", None, "red"]})
    proba = model.predict_proba(odd)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0]])
def test_the_order_of_the_classes_changes_no_answer(recipe, order):
    frame, y = table()
    renamed = np.array(order)
    model, other = NaiveBayes(recipe).fit(frame, y), NaiveBayes(recipe).fit(frame, renamed[y])
    np.testing.assert_allclose(other.predict_proba(frame)[:, renamed], model.predict_proba(frame), atol=1e-6)


@pytest.mark.filterwarnings("ignore:The data deserve a look")  # they do: that is the case in question
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("n_rows", [2, 16, 20, 40, 200])
def test_every_class_may_occur_once(recipe, n_rows):
    """Of these there is no row outside the fold that all are in."""
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    y = np.arange(n_rows)
    numbers = NaiveBayes(recipe).fit(X, y).predict_proba(X)
    labels = (
        NaiveBayes(recipe).fit({"label": [f"label {row % 7}" for row in y]}, y).predict_proba({"label": ["label 1"]})
    )
    for proba in (numbers, labels):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
