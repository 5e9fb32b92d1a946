"""The rows that weights are fitted on: what they weigh, how often they occurred, their folds, and which are kept."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively._weighing.kept import FOLDS, dealt, in_rows, removed_weights, sample_weights
from naively.statistics._kept_rows import KeptRows

pytestmark = pytest.mark.every_tree

RECIPES = ["fast", "auto", "strong"]


def log_loss(probabilities, y):
    return float(-np.log(np.clip(probabilities[np.arange(len(y)), y], 1e-15, 1)).mean())


def mixed_table(n, seed=0):
    """Numbers, two of them dependent, a label and a useless one; the classes are 70 to 30."""
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.3).astype(int)
    x = random.normal(size=(n, 3)) + 0.8 * y[:, None]
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["d"] = frame["a"] + 0.2 * random.normal(size=n)
    frame["label"] = np.where(random.random(n) < 0.3, random.choice(list("pq"), n), np.where(y == 1, "r", "s"))
    frame["noise"] = random.choice([f"v{k}" for k in range(40)], n)
    frame.loc[random.random(n) < 0.1, "b"] = np.nan
    return frame, y


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("weight", [4.0, 20.0, 0.01, 1 / 300, 1e-200, 1e90])
def test_a_constant_weight_changes_no_answer(recipe, weight):
    (X, y), (new, _) = mixed_table(300), mixed_table(50, seed=1)
    plain, weighted = NaiveBayes(recipe).fit(X, y), NaiveBayes(recipe).fit(X, y, np.full(len(y), weight))
    # A solver that stops early sees the last bits of its numbers.
    np.testing.assert_allclose(weighted.predict_proba(new), plain.predict_proba(new), atol=5e-3)
    np.testing.assert_allclose(weighted.class_prior_, plain.class_prior_, rtol=1e-9)
    assert weighted.calibration_.log_loss == pytest.approx(plain.calibration_.log_loss, abs=2e-3)


@pytest.mark.parametrize("recipe", RECIPES)
def test_decay_alone_changes_no_answer(recipe):
    X, y = mixed_table(200)
    model = NaiveBayes(recipe).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_allclose(model.decay(0.25).predict_proba(X), before, atol=1e-9)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_model_reads_no_labels_of_its_own_from_uneven_weights(recipe):
    """Weights that mean nothing, on rows that mean nothing: the prior is all that is known."""
    random = np.random.default_rng(2)
    X, y = random.normal(size=(300, 4)), random.integers(0, 2, 300)
    model = NaiveBayes(recipe).fit(X, y, np.exp(random.normal(size=300)))
    new, truth = random.normal(size=(2000, 4)), random.integers(0, 2, 2000)
    assert model.calibration_.log_loss > 0.66
    assert log_loss(model.predict_proba(new), truth) < np.log(2) + 0.03


@pytest.mark.parametrize("recipe", RECIPES)
def test_balancing_weights_are_an_equal_prior(recipe):
    (X, y), (new, truth) = mixed_table(1000), mixed_table(2000, seed=1)
    balance = (len(y) / (2 * np.bincount(y)))[y]
    plain = NaiveBayes(recipe).fit(X, y).predict_proba(new, prior=[0.5, 0.5])
    weighted = NaiveBayes(recipe).fit(X, y, balance)
    np.testing.assert_allclose(weighted.class_prior_, 0.5, atol=1e-3)
    share = (1 / np.bincount(truth))[truth] / 2
    losses = [float(share @ -np.log(one[np.arange(len(truth)), truth])) for one in (plain, weighted.predict_proba(new))]
    assert losses[1] < losses[0] + 0.01


@pytest.mark.parametrize("recipe", RECIPES)
def test_copies_of_all_rows_change_little(recipe):
    (X, y), (new, truth) = mixed_table(300), mixed_table(1000, seed=1)
    again = np.repeat(np.arange(300), 3)
    plain, copied = NaiveBayes(recipe).fit(X, y), NaiveBayes(recipe).fit(X.iloc[again], y[again])
    assert copied.calibration_.log_loss == pytest.approx(plain.calibration_.log_loss, rel=0.02)
    losses = [log_loss(model.predict_proba(new), truth) for model in (plain, copied)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from(["fast", "auto"]), st.booleans())
def test_copies_of_rows_that_repeat_change_no_answer(seed, times, recipe, of_one_class):
    """Also where rows repeat by chance: all of a table, or of a class, given several times, are so many weights."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, 200)
    cells = random.integers(0, 3, (200, 4)) * (random.random((200, 4)) < 0.7) + y[:, None]
    X = pd.DataFrame(cells.astype(str), columns=list("abcd"))
    weight = np.where(of_one_class & (y == 0), 1, times)
    again = np.repeat(np.arange(200), weight)
    copied = NaiveBayes(recipe).fit(X.iloc[again], y[again])
    plain = NaiveBayes(recipe).fit(X, y, weight.astype(float))
    np.testing.assert_allclose(copied.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_rows_of_few_values_repeat_and_each_counts():
    """A table of 8 kinds of rows: repetitions are no copies."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 500)
    X = pd.DataFrame({name: np.where(random.random(500) < 0.8, y, 1 - y).astype(str) for name in "abc"})
    statistics = NaiveBayes("auto").fit(X, y).statistics_
    assert in_rows(statistics) == statistics
    assert removed_weights(statistics.kept).tolist() == [1.0] * 16


def test_what_decayed_to_next_to_nothing_counts_no_row():
    model, random = NaiveBayes("auto"), np.random.default_rng(0)
    for batch in range(40):
        X = random.normal(size=(100, 2))
        model = model.decay(0.5) if batch else model
        model.partial_fit(X, (X[:, 0] > 0).astype(int))
    assert len(model.statistics_.kept) == 4000
    # The weights add up to 200, their squares to 133.
    assert in_rows(model.statistics_).class_weight.high.sum() == pytest.approx(300, rel=1e-6)


# -- folds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("n_labels", [100, 300, 1000])
def test_one_column_of_noise_says_the_prior(recipe, n_labels):
    random = np.random.default_rng(n_labels)
    X = {"c": [f"v{k}" for k in random.integers(0, n_labels, 5000)]}
    y = random.integers(0, 2, 5000)
    model = NaiveBayes(recipe).fit({"c": X["c"][:1000]}, y[:1000])
    assert abs(model.calibration_.log_loss - np.log(2)) < 0.02
    assert log_loss(model.predict_proba({"c": X["c"][1000:]}), y[1000:]) < np.log(2) + 0.02


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2), st.integers(1, 90)), max_size=60))
def test_occurrences_are_dealt_evenly(rows):
    hashes, codes, times = (np.array([row[place] for row in rows], dtype) for place, dtype in enumerate("Qll"))
    kept = KeptRows.of_rows(1000, hashes, codes, times.astype(float), times, {})
    rows, folds, weights = dealt(kept, np.bincount(kept.codes, kept.weights, 3), FOLDS)
    np.testing.assert_allclose(np.bincount(rows, weights, len(kept)), kept.weights)
    assert len(set(zip(rows.tolist(), folds.tolist(), strict=True))) == len(rows)
    if kept.occurrences.max(initial=1) <= 64:
        for code in range(3):
            of_fold = np.bincount(folds[kept.codes[rows] == code], weights[kept.codes[rows] == code], FOLDS)
            assert np.ptp(of_fold) < 1 + 1e-9


# -- which rows are kept ----------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_the_sample_is_that_of_all_cuts_and_stands_for_all_rows(seed, n_parts):
    random = np.random.default_rng(seed)
    n = 600
    X, y = random.integers(0, 400, (n, 1)).astype(float), np.minimum(random.geometric(0.6, n) - 1, 5)
    whole = NaiveBayes("fast", kept_rows=48).fit(X, y).statistics_
    part = random.integers(0, n_parts, n)
    merged = sum(
        (NaiveBayes("fast", kept_rows=48).fit(X[part == k], y[part == k]) for k in set(part.tolist()) - {part[0]}),
        NaiveBayes("fast", kept_rows=48).fit(X[part == part[0]], y[part == part[0]]),
    ).statistics_
    assert merged.kept == whole.kept
    assert len(whole.kept) <= 48 + 24 + 6 * 6  # equal rows of several classes share a hash
    assert set(whole.kept.codes.tolist()) == set(range(len(whole.classes)))
    weights = sample_weights(whole.kept, whole.class_weight.high)
    shares = np.bincount(whole.kept.codes, weights) / weights.sum()
    np.testing.assert_allclose(shares, whole.class_weight.high / n, rtol=1e-9)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_class_of_one_in_five_thousand_stays_in_the_sample(recipe):
    random = np.random.default_rng(0)
    n = 100_000
    y = (random.random(2 * n) < 2e-4).astype(int)
    X = random.normal(size=(2 * n, 4))
    X[:, :2] += 2.0 * y[:, None]
    X[:, 3] = X[:, 0] + 0.1 * X[:, 3]
    model = NaiveBayes(recipe).fit(X[:n], y[:n])
    assert (model.statistics_.kept.codes == 1).sum() == y[:n].sum()
    prior = np.array([1 - y[:n].mean(), y[:n].mean()])
    found, floor = log_loss(model.predict_proba(X[n:]), y[n:]), log_loss(np.tile(prior, (n, 1)), y[n:])
    assert found < floor * 1.05
    assert model.calibration_.log_loss == pytest.approx(found, rel=0.5)
    assert 1 / 3 < model.predict_proba(X[n:])[:, 1].mean() / y[n:].mean() < 3


# -- few rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", RECIPES)
def test_ten_rows_are_no_worse_than_the_prior(recipe):
    """On average over classes from no difference to a clear one."""
    worse = []
    for gap, seed in itertools.product([0.0, 1.0, 2.0, 3.0], range(10)):
        random = np.random.default_rng(seed)
        y = np.concatenate([[0, 1], random.integers(0, 2, 508)])
        X = random.normal(size=(510, 6)) + gap * y[:, None] * [1.0, 0.5, 0.0, 0.0, 0.0, 0.0]
        X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
        prior = np.tile((np.bincount(y[:10]) + 1.0) / 12, (500, 1))
        model = NaiveBayes(recipe).fit(X[:10], y[:10])
        worse.append(log_loss(model.predict_proba(X[10:]), y[10:]) - log_loss(prior, y[10:]))
    assert np.mean(worse) < 0.02


@pytest.mark.parametrize("heavy", [3e6, 1e9, 1e30])
def test_one_row_may_outweigh_all_others(heavy):
    """All others together are less than a unit of what trees count: they say the prior, and nothing else breaks."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(300, 4)), np.ones(300)
    weights[0] = heavy
    model = NaiveBayes("strong").fit(X, X[:, 0] * X[:, 1] > 0, weights)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.isfinite(model.loo()).all()
    assert np.isfinite(model.calibration_.log_loss)
