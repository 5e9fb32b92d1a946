"""Rows drawn from a model: fitting them again finds the model, whatever the families."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from scipy import stats

from naively import NaiveBayes
from naively.errors import InputError, ParameterError, RecipeError
from naively.families import Bernoulli, Binned, Categorical, Gaussian, Kernel, Multinomial, Poisson, Stacked, StudentT
from naively.families._distributions import curve_mean, draw_from_curve, draw_places
from tests.models import textbook
from tests.strategies import cases

N = 40_000
RNG = np.random.default_rng(5)
Y = np.repeat(["a", "b"], [60, 40])
SKEWED = RNG.gamma(2.0, size=(100, 2)) + (Y == "b")[:, None]


def drawn(model, label, n=N):
    rows, labels = model.sample(n, y=label, seed=7)
    assert (labels == label).all()
    return np.asarray(rows)


def assert_near(actual, expected, deviation):
    """Means of N draws agree to five standard errors."""
    np.testing.assert_array_less(np.abs(actual - expected), 5 * np.asarray(deviation) / np.sqrt(N) + 1e-12)


@pytest.mark.parametrize("ties", ["none", "feature", "class", "all"])
def test_gaussian(ties):
    model = textbook(families=Gaussian(ties=ties)).fit(SKEWED, Y)
    for place, label in enumerate("ab"):
        cells = drawn(model, label)
        for column in range(2):
            parameters = model.parameters()[f"x{column}"]
            mean, variance = parameters["mean"][place], parameters["variance"][place]
            assert stats.kstest(cells[:, column], stats.norm(mean, np.sqrt(variance)).cdf).pvalue > 1e-4


@pytest.mark.parametrize("pooled", [False, True])
def test_student_t(pooled):
    model = textbook(families=StudentT(pooled=pooled)).fit(SKEWED[50:70], Y[50:70])
    for place, label in enumerate("ab"):
        parameters = model.parameters()["x1"]
        truth = stats.t(parameters["freedom"][place], parameters["location"][place], parameters["scale"][place])
        assert stats.kstest(drawn(model, label)[:, 1], truth.cdf).pvalue > 1e-4


def test_poisson():
    counts = RNG.poisson(3.0, (100, 1)) + (Y == "b")[:, None]
    model = textbook(families=Poisson()).fit(counts, Y)
    for rate, label in zip(model.parameters()["x0"]["rate"], "ab", strict=True):
        cells = drawn(model, label)[:, 0]
        assert_near(cells.mean(), rate, np.sqrt(rate))
        assert_near((cells == 0).mean(), np.exp(-rate), 0.5)


@pytest.mark.parametrize(("threshold", "values"), [(0.0, (0.0, 1.0)), (0.5, (0.0, 1.0)), (30.0, (30.0, 31.0))])
def test_bernoulli(threshold, values):
    cells = np.where(RNG.random((100, 1)) < np.where(Y == "a", 0.2, 0.7)[:, None], threshold + 1, threshold - 1)
    model = textbook(families=Bernoulli(threshold)).fit(cells, Y)
    for yes, label in zip(model.parameters()["x0"]["probability"], "ab", strict=True):
        found = drawn(model, label)[:, 0]
        assert set(found) == set(values)
        assert_near((found > threshold).mean(), yes, 0.5)


def test_categorical_with_text_numbers_and_booleans():
    frame = pd.DataFrame(
        {"colour": RNG.choice(["red", "blue", "green"], 100), "code": RNG.integers(0, 3, 100), "flag": Y == "a"}
    )
    model = textbook(families={"code": Categorical([0, 1, 2, 9])}).fit(frame, Y)
    rows, labels = model.sample(N, seed=1)
    assert [rows.dtypes[name].kind for name in ("flag", "code")] == ["b", "f"]
    assert isinstance(rows["colour"][0], str)
    assert_near((labels == "a").mean(), 0.6, 0.5)
    for name in frame:
        for value, probability in model.parameters()[name]["probability"].items():
            for place, label in enumerate("ab"):
                share = (rows[name][labels == label] == value).mean()
                assert abs(share - probability[place]) < 0.02


def test_multinomial_lengths():
    words = RNG.multinomial(20, [0.5, 0.3, 0.2], 100).astype(float)
    words[Y == "b"] *= 2
    model = textbook(families=Multinomial()).fit(words, Y)
    probability = np.stack([model.parameters()[f"x{place}"]["probability"] for place in range(3)], axis=1)
    for place, (label, length) in enumerate((("a", 20), ("b", 40))):
        rows = drawn(model, label)
        assert (rows.sum(axis=1) == length).all()
        assert_near(rows.mean(axis=0), length * probability[place], np.sqrt(length))
    rows, _ = model.sample(5, seed=0, length=7)
    assert (rows.sum(axis=1) == 7).all()
    two = {0: Multinomial("title"), 1: Multinomial("title"), 2: Multinomial("body")}
    rows, _ = textbook(families=two).fit(words, Y).sample(50, seed=0, length={"title": 3})
    assert (rows[:, :2].sum(axis=1) == 3).all()
    assert set(rows[:, 2]) <= set(range(30))
    with pytest.raises(ParameterError, match="length must be a number"):
        model.sample(5, length=-1)


def test_kernel():
    model = textbook(families=Kernel()).fit(SKEWED, Y)
    for place, label in enumerate("ab"):
        cells = np.sort(drawn(model, label)[:, 0])
        grid = np.linspace(cells[0] - 1, cells[-1] + 1, 4001)
        density = np.exp(model.evidence(np.column_stack([grid, np.full(4001, np.nan)]))[:, 0, place])
        below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
        assert below[-1] == pytest.approx(1, abs=5e-3)
        found = np.searchsorted(cells, grid) / len(cells)
        assert np.abs(found - below / below[-1]).max() < 2 / np.sqrt(N) + 1e-3


@pytest.mark.parametrize("bins", ["pkid", "mdl", 4])
def test_binned_draws_learnt_values_as_often_as_the_bins_say(bins):
    model = textbook(families=Binned(bins)).fit(SKEWED, Y)
    parameters = model.parameters()["x1"]
    for place, label in enumerate("ab"):
        cells = drawn(model, label)[:, 1]
        assert set(cells) <= set(SKEWED[:, 1])
        shares = np.bincount(
            np.searchsorted(parameters["cuts"], cells, side="right"), minlength=len(parameters["cuts"])
        )
        assert_near(shares / N, parameters["probability"][place], 0.5)


def test_a_constant_column_stays_constant():
    constant = np.full((6, 3), 4.0)
    families = {0: Gaussian(), 1: Kernel(), 2: Binned()}
    rows, _ = textbook(families=families).fit(constant, list("aabbab")).sample(10, seed=0)
    assert (rows == 4.0).all()


@given(cases(min_rows=2, kinds=("gaussian", "colour", "code", "truth", "level", "yes", "flag", "events", "words")))
def test_what_is_drawn_can_be_learnt_and_asked_about(case):
    assume(case.is_a_distribution)
    model = case.fitted()
    rows, labels = model.sample(5, seed=3)
    again, labels_again = model.sample(5, seed=np.random.default_rng(3))
    pd.testing.assert_frame_equal(rows, again)
    assert labels.tolist() == labels_again.tolist()
    assert set(labels) <= set(model.classes_)
    model.predict_proba(rows)
    learnt = case.model().fit(rows, labels)
    assert set(learnt.classes_) <= set(model.classes_)


def test_arrays_give_arrays_and_frames_give_frames(monkeypatch):
    assert textbook().fit(SKEWED, Y).sample(3, seed=0)[0].dtype == float
    mixed = textbook().fit([["red", 1.0], ["blue", 2.0]], [0, 1]).sample(3, seed=0)[0]
    assert (mixed.dtype, mixed.shape) == (object, (3, 2))
    model = textbook().fit({"size": [1.0, 2.0, 3.0], "coat": ["x", "y", "x"]}, [0, 1, 1])
    assert isinstance(model.sample(2)[0], pd.DataFrame)
    monkeypatch.setattr("naively._table.frames.find_spec", lambda name: None)
    rows, labels = model.sample(4, seed=0, y=[0, 1, 1, 0])
    assert {name: len(cells) for name, cells in rows.items()} == {"size": 4, "coat": 4}
    assert labels.tolist() == [0, 1, 1, 0]


def test_columns_without_any_value_are_missing():
    model = textbook().fit({"size": [1.0, 2.0], "void": [None, None]}, [0, 1])
    assert model.sample(2, seed=0)[0]["void"].isna().all()
    model = textbook(families={"void": "categorical"}).fit({"size": [1.0, 2.0], "void": [None, None]}, [0, 1])
    assert model.sample(2, seed=0)[0]["void"].isna().all()


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_weighed_evidence_is_no_distribution(recipe):
    model = NaiveBayes(recipe).fit(SKEWED, Y)
    for ask in (model.sample, model.bayes_error, lambda: model.score_samples(SKEWED)):
        with pytest.raises(RecipeError, match="Use recipe='textbook'"):
            ask()
    if recipe == "strong":
        with pytest.raises(RecipeError, match="credible_interval needs a model that is a distribution"):
            model.credible_interval(SKEWED)


@pytest.mark.parametrize("family", [Stacked(), Kernel(scores=True)])
def test_families_that_are_no_distribution(family):
    model = textbook(families=family).fit(SKEWED, Y)
    with pytest.raises(ParameterError, match="no distribution of a column's values"):
        model.sample(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "at least 1"),
        ({"n": True}, "at least 1"),
        ({"n": 2.5}, "whole number"),
        ({"n": 2, "y": "z"}, "must be one of the classes 'a', 'b'"),
        ({"n": 2, "y": ["a"]}, "n=2 of them"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ParameterError, match=message):
        textbook().fit(SKEWED, Y).sample(**arguments)


def test_curves_steep_flat_and_falling():
    rng = np.random.default_rng(0)
    knots, logs = np.array([0.0, 1.0, 2.0, 4.0]), np.array([[0.0, 0.0, -50.0, -800.0], [-700.0, 3.0, 3.0 + 1e-9, 1.0]])
    fine = np.linspace(0, 4, 400_001)
    for code in range(2):
        cells = draw_from_curve(knots, logs, np.full(N, code), rng)
        weight = np.exp(np.interp(fine, knots, logs[code]) - logs[code].max())
        expected = np.average(fine, weights=weight)
        assert curve_mean(knots, logs)[code] == pytest.approx(expected, rel=1e-4)
        assert_near(cells.mean(), expected, np.sqrt(np.average((fine - expected) ** 2, weights=weight)) * 1.2)


def test_places_that_cannot_be_drawn():
    places = draw_places(np.array([[0.0, 0.5, 0.0, 0.5, 0.0]]), np.zeros(1000, dtype=int), np.random.default_rng(0))
    assert set(places.tolist()) == {1, 3}


def test_a_model_that_knows_no_class_or_no_one_prior():
    model = textbook().fit(SKEWED, Y)
    with pytest.raises(ParameterError, match="differs from row to row"):
        textbook(prior=[[0.5, 0.5]] * 3).fit(SKEWED, Y).sample(2)
    with pytest.raises(InputError, match="knows no class"):
        model.forget(SKEWED, Y).sample(2)


def test_classes_and_columns_that_were_declared_but_never_seen():
    model = textbook(prior_smoothing=1, families={0: Gaussian(), 1: Binned(), 2: Categorical()})
    model.partial_fit([[1.0, 2.0, "x"], [2.0, 4.0, "y"]], ["a", "b"], classes=["a", "b", "z"])
    rows, _ = model.sample(200, y="z", seed=0)
    assert set(rows[:, 1]) == {2.0, 4.0}
    assert set(rows[:, 2]) == {"x", "y"}
    assert np.isfinite(rows[:, 0].astype(float)).all()
    void = textbook(families={1: Binned()}).fit(np.array([[1.0, np.nan], [2.0, np.nan]]), [0, 1])
    assert np.isnan(void.sample(3, seed=0)[0][:, 1]).all()


def test_rounded_numbers_are_drawn_rounded():
    X = np.array([[0.5], [1.0], [1.5], [7.0], [7.5], [9.0]])
    model = NaiveBayes("textbook", families=Gaussian(interval=0.5)).fit(X, [0, 0, 0, 1, 1, 1])
    drawn, _ = model.sample(50, seed=0)
    assert np.array_equal(drawn * 2, np.rint(drawn * 2))
    assert len(np.unique(drawn)) > 2
