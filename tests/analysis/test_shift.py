"""Rows without classes: new class frequencies, and models that learn from them."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from naively import NaiveBayes
from naively.analysis.shift import estimate_prior, learn_unlabelled, mixture_of
from naively.errors import InputError, NaivelyWarning, ParameterError

RECIPES = ("textbook", "fast", "auto")


def two_classes(seed, share, n_rows, distance=1.2):
    """Rows of three independent numbers, `share` of them of class 1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < share).astype(int)
    return rng.normal(distance * y[:, None], size=(n_rows, 3)), y


# -- the prior --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_shifted_prior_is_found_and_improves_accuracy(recipe):
    model = NaiveBayes(recipe).fit(*two_classes(0, 0.5, 2000))
    errors, gains = [], []
    for seed in range(1, 6):
        X, y = two_classes(seed, 0.1, 3000)
        prior = estimate_prior(model, X)
        errors.append(prior[1] - y.mean())
        gains.append((model.predict(X, prior=prior) == y).mean() - model.score(X, y))
        assert sum(prior.values()) == pytest.approx(1.0)
    assert np.abs(errors).max() < 0.03
    assert np.min(gains) > 0.05


def test_an_unchanged_prior_stays():
    model = NaiveBayes("textbook").fit(*two_classes(0, 0.3, 4000))
    X, y = two_classes(1, 0.3, 4000)
    assert estimate_prior(model, X)[1] == pytest.approx(y.mean(), abs=0.02)


def test_it_is_the_most_likely_mixture():
    model = NaiveBayes("textbook").fit(*two_classes(0, 0.5, 500))
    X, _ = two_classes(1, 0.2, 500)
    found = estimate_prior(model, X)[1]
    likelihood = model.predict_joint_log_proba(X, prior="uniform")

    def of(share):
        return logsumexp(likelihood + np.log([1 - share, share]), axis=1).sum()

    assert of(found) >= max(of(found - 1e-4), of(found + 1e-4))


def test_the_prior_in_force_is_where_it_starts_and_not_where_it_ends():
    X, y = two_classes(0, 0.5, 1000)
    new, _ = two_classes(1, 0.2, 1000)
    plain = estimate_prior(NaiveBayes("textbook").fit(X, y), new)
    other = estimate_prior(NaiveBayes("textbook", prior=[0.9, 0.1]).fit(X, y), new)
    assert other == pytest.approx(plain, abs=1e-6)


def test_labels_of_any_kind_are_the_keys():
    X, y = two_classes(0, 0.5, 300, distance=3.0)
    labels = np.array(["no", "yes"])[y]
    prior = estimate_prior(NaiveBayes("textbook").fit(X, labels), X)
    assert set(prior) == {"no", "yes"}
    assert all(isinstance(share, float) for share in prior.values())
    assert NaiveBayes("textbook").fit(X, labels).predict_proba(X, prior=prior).shape == (300, 2)


def test_excluded_classes_stay_excluded_and_one_class_is_certain():
    X, y = two_classes(0, 0.5, 300)
    model = NaiveBayes("textbook", prior=[1.0, 0.0]).fit(X, y)
    assert estimate_prior(model, X) == {0: 1.0, 1: 0.0}
    assert estimate_prior(NaiveBayes("textbook").fit(X, ["a"] * 300), X) == {"a": 1.0}
    absent = NaiveBayes("textbook").partial_fit(X, y, classes=[0, 1, 2])
    assert estimate_prior(absent, X)[2] == 0.0


@pytest.mark.filterwarnings("ignore:In 1 row.s. every class had probability zero")
def test_a_row_that_no_class_could_have_produced_says_nothing():
    model = NaiveBayes("textbook", smoothing="none").fit([["a", "x"], ["b", "y"], ["b", "y"]], [0, 1, 1])
    assert estimate_prior(model, [["a", "x"], ["b", "y"], ["a", "y"]])[0] == pytest.approx(0.5, abs=0.02)


def test_too_few_steps_are_warned_of():
    model = NaiveBayes("textbook").fit(*two_classes(0, 0.5, 500))
    with pytest.warns(NaivelyWarning, match="after 2 steps"):
        estimate_prior(model, two_classes(1, 0.1, 500)[0], n_iterations=2)
    with pytest.raises(ParameterError, match="n_iterations"):
        estimate_prior(model, [[0.0, 0.0, 0.0]], n_iterations=0)


def test_shares_at_rest_do_not_move():
    shares, rests = mixture_of(np.eye(3), np.full(3, 1 / 3), 5, 1e-12)
    assert rests
    np.testing.assert_allclose(shares, 1 / 3)


# -- the model --------------------------------------------------------------------------------------------------------


def mixture(seed, n_rows=800):
    """Three clusters, which are the classes, of six numbers."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    return 1.2 * rng.normal(size=(3, 6))[y] + rng.normal(size=(n_rows, 6)), y


@pytest.mark.parametrize("recipe", RECIPES)
def test_unlabelled_rows_help_where_labels_are_few(recipe):
    gains = []
    for seed in range(4):
        X, y = mixture(seed)
        model = NaiveBayes(recipe).fit(X[:9], y[:9])
        learnt = learn_unlabelled(model, X[9:400], n_iterations=8)
        gains.append(learnt.score(X[400:], y[400:]) - model.score(X[400:], y[400:]))
    assert np.mean(gains) > 0.02


def test_the_statistics_are_the_labelled_ones_plus_shares_of_the_others():
    X, y = two_classes(0, 0.5, 60)
    model = NaiveBayes("textbook").fit(X[:20], y[:20])
    shares = model.predict_proba(X[20:])
    learnt = learn_unlabelled(model, X[20:], weight=0.25, n_iterations=1)
    expected = NaiveBayes("textbook").fit(
        np.concatenate([X[:20], X[20:], X[20:]]),
        np.concatenate([y[:20], np.zeros(40, int), np.ones(40, int)]),
        np.concatenate([np.ones(20), 0.25 * shares[:, 0], 0.25 * shares[:, 1]]),
    )
    np.testing.assert_allclose(learnt.class_count_, expected.class_count_, rtol=1e-12)
    np.testing.assert_allclose(learnt.predict_log_proba(X), expected.predict_log_proba(X), rtol=1e-9)
    assert learnt.class_count_.sum() == pytest.approx(20 + 0.25 * 40)


def test_the_labelled_model_is_left_as_it_is():
    X, y = mixture(0, 120)
    model = NaiveBayes("auto").fit(X[:30], y[:30])
    before, answer = copy.deepcopy(model), model.predict_proba(X)
    learnt = learn_unlabelled(model, X[30:], n_iterations=2)
    assert model.statistics_ == before.statistics_
    np.testing.assert_array_equal(model.predict_proba(X), answer)
    assert learnt is not model
    assert learnt.get_params() == model.get_params()
    assert learnt.statistics_.kept == model.statistics_.kept  # only labelled rows can tell how far to trust evidence
    assert not np.array_equal(learnt.predict_proba(X), answer)


def test_em_never_lowers_the_likelihood():
    """With smoothing out of the way, and a weight that makes the labelled rows negligible, the law of EM."""
    X, y = two_classes(0, 0.5, 300)
    model = NaiveBayes("textbook").fit(X[:20], y[:20]).decay(1e-6)
    likelihood = []
    for steps in range(1, 8):
        learnt = learn_unlabelled(model, X[20:], n_iterations=steps, tolerance=0.0)
        likelihood.append(logsumexp(learnt.predict_joint_log_proba(X[20:]), axis=1).sum())
    assert (np.diff(likelihood) > -1e-6).all()


def test_it_stops_when_the_rows_stay_where_they_are():
    X, y = two_classes(0, 0.5, 400, distance=6.0)
    model = NaiveBayes("textbook").fit(X[:50], y[:50])
    once = learn_unlabelled(model, X[50:], n_iterations=1)
    often = learn_unlabelled(model, X[50:], n_iterations=50)
    np.testing.assert_allclose(often.class_count_, once.class_count_, atol=0.01)


def test_weight_zero_changes_nothing():
    X, y = two_classes(0, 0.5, 60)
    model = NaiveBayes("textbook").fit(X[:20], y[:20])
    assert learn_unlabelled(model, X[20:], weight=0).statistics_ == model.statistics_


def test_mixed_columns_missing_cells_and_frames():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = pd.DataFrame({"size": rng.normal(2.0 * y), "coat": np.where(rng.random(300) < 0.2 + 0.6 * y, "fur", "down")})
    X.loc[::7, "size"] = np.nan
    X.loc[::11, "coat"] = None
    for recipe in RECIPES:
        learnt = learn_unlabelled(NaiveBayes(recipe).fit(X[:30], y[:30]), X[30:], n_iterations=3)
        assert learnt.class_count_.sum() == pytest.approx(300)
        assert learnt.score(X[30:], y[30:]) > 0.8


def test_one_class_and_classes_without_rows():
    X, _ = two_classes(0, 0.5, 40)
    alone = learn_unlabelled(NaiveBayes("textbook").fit(X[:10], ["a"] * 10), X[10:])
    assert alone.class_count_.tolist() == [40.0]
    model = NaiveBayes("textbook").partial_fit(X[:10], [0, 1] * 5, classes=[0, 1, 2])
    learnt = learn_unlabelled(model, X[10:])
    assert learnt.classes_.tolist() == [0, 1, 2]
    assert learnt.class_count_[2] == 0.0


@pytest.mark.parametrize("learn", [estimate_prior, learn_unlabelled])
def test_no_rows_are_refused(learn):
    X, y = two_classes(0, 0.5, 40)
    model = NaiveBayes("textbook").fit(X, y)
    with pytest.raises(InputError, match="0 sample"):
        learn(model, X[:0])


@pytest.mark.parametrize("weight", [-1, np.inf, np.nan, "much", True])
def test_a_weight_must_be_a_number_of_zero_or_more(weight):
    X, y = two_classes(0, 0.5, 40)
    with pytest.raises(ParameterError, match="weight"):
        learn_unlabelled(NaiveBayes("textbook").fit(X, y), X, weight=weight)


def test_the_standard_error_of_a_prior_is_the_spread_of_estimates():
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 3
    model = NaiveBayes("textbook").fit(rng.normal(1.5 * y)[:, None], y)
    estimates, errors = [], []
    for _ in range(150):
        new = rng.choice(3, 300, p=[0.6, 0.3, 0.1])
        found = estimate_prior(model, rng.normal(1.5 * new)[:, None])  # without a warning
        estimates.append(list(found.values()))
        errors.append(list(found.standard_error.values()))
    np.testing.assert_allclose(np.mean(errors, axis=0), np.std(estimates, axis=0), rtol=0.15)


def test_a_prior_that_is_certain_has_no_standard_error():
    model = NaiveBayes("textbook").fit([[0.0], [1.0], [100.0], [101.0]], [0, 0, 1, 1])
    found = estimate_prior(model, [[0.5]] * 20)
    assert found[0] == pytest.approx(1.0)
    assert found.standard_error == {0: 0.0, 1: 0.0}
