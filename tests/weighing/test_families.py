"""Every family is weighed by every recipe that weighs evidence."""

import numpy as np
import pytest

from naively import NaiveBayes, load
from naively._scoring.leave_one_out import LearntRows, left_out_evidence
from naively._table.read import read_table
from naively._weighing.sources import contrasted
from naively._weighing.terms import take_rows
from naively.errors import InputError, ParameterError
from naively.families import (
    FAMILIES,
    Bernoulli,
    Binned,
    Gaussian,
    Joint,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Text,
)
from naively.recipes import RECIPES as RECIPE_OBJECTS
from naively.smoothing import StackedMEstimate

from .tables import FAMILY_OF, table

RECIPES = ["fast", "auto", "strong"]
CASES = [(name, recipe) for name in sorted(FAMILIES) for recipe in RECIPES]
SMOOTHED = [(*case, None) for case in CASES] + [
    (*case, 0.5) for case in CASES if FAMILY_OF[case[0]].takes_smoothing(weighed=True)
]
"""What no column reads is refused: see test_smoothing.py."""


def fitted(name, recipe, n=240):
    frame, y, families = table(name)
    return NaiveBayes(recipe, families=families).fit(frame[:n], y[:n]), frame, y, families


def log_loss(log_proba, y):
    return -float(log_proba[np.arange(len(y)), y].mean())


def test_the_table_has_a_column_for_every_family():
    assert set(FAMILY_OF) == set(FAMILIES)


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_a_family_is_weighed(name, recipe):
    model, frame, y, _ = fitted(name, recipe)
    proba = model.predict_proba(frame)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    joint = np.log(model.class_prior_) + model.evidence(frame).sum(axis=1)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), proba, atol=1e-12)
    left_out = model.loo()
    assert np.isfinite(left_out).all()
    of_prior = log_loss(np.log(np.tile(model.class_prior_, (60, 1))), y[240:])
    assert log_loss(np.log(proba[240:]), y[240:]) < of_prior
    assert model.calibration_.log_loss < of_prior
    assert set(model.parameters()) == set(frame)
    assert len(model.explain(frame[:1])) >= len(frame.columns)


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_weighed_families_are_sums(name, recipe, tmp_path):
    model, frame, y, families = fitted(name, recipe)
    parts = [NaiveBayes(recipe, families=families).fit(frame[a:b], y[a:b]) for a, b in ((0, 100), (100, 240))]
    streamed = (
        NaiveBayes(recipe, families=families).partial_fit(frame[:100], y[:100]).partial_fit(frame[100:240], y[100:240])
    )
    expected = model.predict_proba(frame)
    # The kept rows are equal to the last bit; sums of numbers on no grid, to the last but one.
    for other in (parts[0] + parts[1], streamed):
        np.testing.assert_allclose(other.predict_proba(frame), expected, atol=1e-6)
    left = (parts[0] + parts[1]).forget(frame[:100], y[:100])
    np.testing.assert_allclose(left.predict_proba(frame), parts[1].predict_proba(frame), atol=1e-6)
    model.save(tmp_path / "model.json")
    np.testing.assert_allclose(load(tmp_path / "model.json").predict_proba(frame), expected, atol=1e-12)


def test_several_families_in_one_model():
    frames, families, y = [], {}, None
    for name in sorted(FAMILIES):
        frame, y, chosen = table(name)
        frames.append(frame.drop(columns="beside"))
        families |= chosen
    frame = frames[0].join(frames[1:])
    for recipe in RECIPES:
        model = NaiveBayes(recipe, families=families).fit(frame[:240], y[:240])
        assert model.score(frame[240:], y[240:]) > 0.85
        assert {name: found["family"] for name, found in model.parameters().items()} == {
            name: families[name] for name in frame
        }


def test_the_evidence_is_that_of_the_family_times_a_weight():
    model, frame, y, families = fitted("gaussian", "auto")
    plain = NaiveBayes("textbook", families={**families, "beside": Stacked()}).fit(frame[:240], y[:240])
    known = frame.dropna()
    mine, theirs = (one.evidence(known)[:, 0] for one in (model, plain))
    theirs = theirs - theirs.mean(axis=1, keepdims=True)
    rest = mine - model.parameters()["gaussian"]["evidence_weight"] * theirs
    np.testing.assert_allclose(rest, np.broadcast_to(rest[0], rest.shape), atol=1e-9)  # the same for every known cell


def test_the_weights_are_fitted_on_the_leave_one_out_of_the_family():
    model, frame, y, _ = fitted("poisson", "auto")
    families, smoothings = model._checked_families(RECIPE_OBJECTS["auto"]), [StackedMEstimate()] * 3
    rows = LearntRows(read_table(frame[:240]), None, y[:240])
    expected = contrasted(left_out_evidence(model.schema_, families, smoothings, model.statistics_, rows))[:, :2]
    weighed = model._estimated()[0].weighed
    columns = take_rows(weighed.kept, weighed.rows.rows)
    times = np.round(weighed.rows.weights).astype(int)  # equal rows in one fold stand together
    assert times.sum() == 240
    evidence = np.moveaxis(weighed.model.left_out(columns, weighed.rows).evidence, 0, 2)
    found = np.repeat(evidence[:, :2], times, axis=0)
    sort = [np.lexsort(one.reshape(len(one), -1).round(9).T) for one in (found, expected)]
    np.testing.assert_allclose(found[sort[0]], expected[sort[1]], atol=1e-8)


def test_a_gaussian_column_is_as_good_as_a_stacked_one_on_gaussian_data():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 3)) + y[:, None] * [1.5, 1.0, 0.0]
    gaussian, stacked = (
        NaiveBayes("auto", families=family).fit(X[:1000], y[:1000]).predict_log_proba(X[1000:])
        for family in (Gaussian(), Stacked())
    )
    assert abs(log_loss(gaussian, y[1000:]) - log_loss(stacked, y[1000:])) < 0.02
    assert np.abs(np.exp(gaussian) - np.exp(stacked)).mean() < 0.05


def test_options_of_a_family_are_obeyed():
    frame, y, _ = table("gaussian")
    answers = [
        NaiveBayes("auto", families={"gaussian": family}).fit(frame, y).predict_proba(frame)
        for family in (Gaussian(), Gaussian(ties="feature"), Bernoulli(0.0), Bernoulli(2.0))
    ]
    for place, one in enumerate(answers):
        assert all(np.abs(one - other).max() > 1e-3 for other in answers[:place])


def test_the_columns_of_a_multinomial_have_one_weight_and_those_of_two_groups_two():
    frame, y, families = table("multinomial")
    together = NaiveBayes("auto", families=families).fit(frame, y).parameters()
    first, second = (together[name]["evidence_weight"] for name in families)
    np.testing.assert_array_equal(first, second)
    apart = {name: Multinomial(group=name) for name in families}
    frame["multinomial2"] = frame["multinomial0"] + 1
    apart["multinomial2"] = apart["multinomial0"]
    found = NaiveBayes("auto", families=apart).fit(frame, y).parameters()
    weights = {name: found[name]["evidence_weight"] for name in apart}
    np.testing.assert_array_equal(weights["multinomial0"], weights["multinomial2"])
    assert not np.array_equal(weights["multinomial0"], weights["multinomial1"])


def test_stacked_columns_may_have_different_densities():
    frame, y, _ = table("stacked")
    families = {"stacked": Stacked(("t",)), "beside": Stacked(("pkid",))}
    found = NaiveBayes("auto", families=families).fit(frame, y).parameters()
    assert {name: found[name]["family"] for name in families} == families


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_class_that_cannot_have_a_value_is_nearly_impossible_and_never_undefined(recipe):
    y = np.array([0, 1] * 40)
    X = {"events": np.where(y == 0, 0.0, np.arange(80) % 3), "label": np.where(y == 0, "a", "b")}
    model = NaiveBayes(recipe, families={"events": "poisson"}, smoothing="none").fit(X, y)
    proba = model.predict_proba({"events": [0.0, 5.0, None], "label": ["a", "b", "c"]})
    assert np.isfinite(proba).all()
    assert np.isfinite(model.loo()).all()
    assert proba[1, 1] > 0.9


@pytest.mark.parametrize("recipe", RECIPES)
def test_negative_counts_are_refused_in_answers(recipe):
    model, frame, _, _ = fitted("poisson", recipe)
    with pytest.raises(InputError, match=r"Negative values in data.*'poisson0', row 1"):
        model.predict(frame[:3].assign(poisson0=[1.0, -1.0, 2.0]))


def test_what_cannot_be_weighed_is_refused_with_a_reason():
    frame, y, _ = table("gaussian")
    with pytest.raises(ParameterError, match="factors need recipe='textbook'"):
        NaiveBayes("auto", factors=[Joint("gaussian", "beside")]).fit(frame, y)
    frame, y, _ = table("text")
    with pytest.raises(ParameterError, match="pools scores of its own"):
        NaiveBayes("auto", families={"text": Text(event="bernoulli")}).fit(frame, y)


@pytest.mark.parametrize(("name", "recipe", "smoothing"), SMOOTHED)
def test_answers_stay_finite_whatever_was_learnt(name, recipe, smoothing):
    frame, y, families = table(name, n=60)
    first = next(iter(families))
    weights = np.random.default_rng(1).random(60) * 2
    gap = frame.copy()
    gap.loc[y == 1, first] = None if frame[first].dtype.kind == "O" else np.nan

    def model():
        return NaiveBayes(recipe, families=families, smoothing=smoothing)

    learnt = [
        model().fit(frame, y, sample_weight=weights),
        model().fit(frame, y, sample_weight=np.full(60, 1e12)),
        model().fit(frame[:30], y[:30]).decay(0.01).partial_fit(frame[30:], y[30:]),
        model().fit(frame, y).forget(frame[1:], y[1:]),
        model().partial_fit(frame[:5], y[:5], classes=[0, 1, 2, 3]),
        model().fit(frame, np.zeros(60, dtype=int)),
        model().fit(frame.assign(**{first: frame[first].dropna().iloc[0]}), y),
        model().fit(gap, y),
    ]
    for one in learnt:
        assert np.isfinite(one.predict_proba(frame)).all()
        assert np.isfinite(one.loo()).all()


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("family", [Gaussian(), StudentT(), Kernel(), Binned(), Poisson(), Multinomial()])
def test_numbers_of_any_size_are_weighed(recipe, family):
    y = np.arange(60) % 2
    X = np.abs(np.random.default_rng(0).normal(size=(60, 2))) * np.where(y == 1, 1e150, 1.0)[:, None]
    model = NaiveBayes(recipe, families=family).fit(X, y)
    query = np.array([[0.0, 1e300], [1e-300, 1.0], [np.nan, 1e150]])
    assert np.isfinite(model.predict_proba(query)).all()
    assert np.isfinite(model.loo()).all()
