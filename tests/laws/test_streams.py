"""Law 3 in streams: every row that was learnt can be forgotten, in any order and recipe, for as long as they come."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes, load
from naively.errors import ForgetError, RecipeError
from naively.statistics._kept_rows import LARGEST_HASH, KeptRows

RECIPES = ("textbook", "fast", "auto", "strong")
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "and", "runs"]


def drawn(random, n):
    """Rows of every kind of column, numbers of wild magnitudes among them."""
    frame = pd.DataFrame(
        {
            "wild": random.normal(size=n) * 10.0 ** random.uniform(-6, 6, n),
            "tame": random.normal(5.0, 1.0, n),
            "label": random.choice(list("abcde"), n),
            "note": [" ".join(random.choice(WORDS, 9)) for _ in range(n)],
        }
    )
    frame.loc[random.random(n) < 0.1, "tame"] = np.nan
    return frame, random.choice(["u", "v", "w"], n)


def as_if_never_seen(model, X, y, weights=None, **parameters):
    """The model answers like one that has learnt these rows alone; its sample is what its threshold says."""
    other = NaiveBayes(model.recipe, families=model.families, **parameters).fit(X, y, sample_weight=weights)
    assert model.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_allclose(model.class_count_, other.class_count_, rtol=1e-9)
    if model.recipe == "textbook":
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-6, atol=1e-9)
        return
    kept = model.statistics_.kept
    full = NaiveBayes(model.recipe, families=model.families, kept_rows=10**6).fit(X, y, sample_weight=weights)
    expected = full.statistics_.kept
    below = expected.hashes <= expected.limits(kept.threshold, kept.class_thresholds)
    assert kept.hashes.tolist() == expected.hashes[below].tolist()
    np.testing.assert_allclose(kept.weights, expected.weights[below], rtol=1e-9)
    assert kept.occurrences.tolist() == expected.occurrences[below].tolist()


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans(), decay=st.sampled_from([None, 0.9, 0.37]))
def test_a_window_slides_on_for_ever(recipe, seed, weighted, decay):
    random, window = np.random.default_rng(seed), []
    kept = {} if recipe == "textbook" else {"kept_rows": 40}
    model = NaiveBayes(recipe, families={"note": "text"}, **kept)
    for _ in range(25):
        X, y = drawn(random, 8)
        weights = 10.0 ** random.uniform(-3, 3, 8) if weighted else np.ones(8)
        model.partial_fit(X, y, sample_weight=weights)
        window.append([X, y, weights])
        if decay is not None:
            model.decay(decay)
            for batch in window:
                batch[2] = batch[2] * decay
        if len(window) > 3:
            model.forget(*window[0][:2], sample_weight=window.pop(0)[2])
    X, y = pd.concat([batch[0] for batch in window]), np.concatenate([batch[1] for batch in window])
    as_if_never_seen(model, X, y, np.concatenate([batch[2] for batch in window]), **kept)
    for X, y, weights in window:
        model.forget(X, y, sample_weight=weights)
    assert model.classes_.tolist() == []


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_go_one_by_one_in_any_order(recipe, seed):
    random = np.random.default_rng(seed)
    X, y = drawn(random, 30)
    model = NaiveBayes(recipe, families={"note": "text"}).fit(X, y)
    order = random.permutation(30)
    for gone, place in enumerate(order[:-3], start=1):
        model.forget(X.iloc[[place]], y[[place]])
        if gone % 9 == 0:
            assert np.isfinite(model.predict_proba(X)).all()
    left = order[-3:]
    as_if_never_seen(model, X.iloc[left], y[left])


def test_what_a_large_number_leaves_behind_is_rounding():
    model = NaiveBayes("textbook").fit([[1000.1], [0.1], [0.3]], [0, 0, 0])
    for value in (1000.1, 0.1, 0.3):
        model.forget([[value]], [0])
    assert model.classes_.tolist() == []


@pytest.mark.parametrize("draw", ["normal", "lognormal"])
def test_a_narrow_window_over_many_classes(draw):
    random, model, window = np.random.default_rng(1), NaiveBayes("textbook"), []
    for _ in range(1000):
        X, y = getattr(random, draw)(size=(1, 2)), random.integers(5, size=1)
        model.partial_fit(X, y)
        window.append((X, y))
        if len(window) > 20:
            model.forget(*window.pop(0))
    X, y = (np.concatenate(part) for part in zip(*window, strict=True))
    np.testing.assert_allclose(model.predict_proba(X), NaiveBayes("textbook").fit(X, y).predict_proba(X), atol=1e-12)


def test_the_weight_after_decay_names_the_row():
    model = NaiveBayes("textbook").fit([[1.0], [2.0], [3.0]], [0, 0, 1]).decay(0.9).decay(0.9)
    assert model.forget([[3.0]], [1], [0.9 * 0.9]).classes_.tolist() == [0]


@pytest.mark.parametrize(("recipe", "n"), [("fast", 1000), ("auto", 3000)])
def test_a_window_of_batches_larger_than_the_sample(recipe, n):
    random, model, window = np.random.default_rng(1), NaiveBayes(recipe), []
    for _ in range(8):
        X = random.normal(size=(n, 3))
        window.append((X, (X[:, 0] > 0).astype(int)))
        model.partial_fit(*window[-1])
        if len(window) > 2:
            model.forget(*window.pop(0))
    assert model.score(*window[-1]) > 0.95


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_a_model_answers_though_no_kept_row_is_left(recipe):
    X, y = drawn(np.random.default_rng(3), 60)
    model = NaiveBayes(recipe, families={"note": "text"}, kept_rows=2).fit(X, y)
    kept = set(model.statistics_.kept.hashes.tolist())
    single = [NaiveBayes(recipe, families={"note": "text"}).fit(X.iloc[[row]], y[[row]]) for row in range(60)]
    gone = [row for row in range(60) if single[row].statistics_.kept.hashes[0] in kept]
    model.forget(X.iloc[gone], y[gone])
    assert len(model.statistics_.kept) == 0
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.loo().shape == (0, 3)
    assert model.explain(X[:2]) is not None
    with pytest.raises(RecipeError, match="none of them is left"):
        _ = model.calibration_


def test_rows_are_forgotten_by_the_sample_of_the_model_whatever_the_recipe_now():
    X, y = drawn(np.random.default_rng(4), 40)
    model = NaiveBayes("auto").fit(X, y).set_params(recipe="fast", kept_rows=5)
    assert len(model.forget(X[:10], y[:10]).statistics_.kept) == 30


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_stream_goes_on_after_saving(recipe, tmp_path):
    X, y = drawn(np.random.default_rng(6), 60)
    kept = {} if recipe == "textbook" else {"kept_rows": 20}
    model = (
        NaiveBayes(recipe, families={"note": "text"}, **kept).fit(X, y).decay(0.7).forget(X[:30], y[:30], [0.7] * 30)
    )
    model.save(tmp_path / "model.json")
    other = load(tmp_path / "model.json")
    assert other.statistics_ == model.statistics_
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    for row in range(30, 60):
        other.forget(X[row : row + 1], y[row : row + 1], [0.7])
    assert other.classes_.tolist() == []


def test_statistics_without_a_sample_cannot_be_taken_from_those_with_one():
    X, y = drawn(np.random.default_rng(5), 20)
    statistics = NaiveBayes("auto").fit(X, y).statistics_
    with pytest.raises(ForgetError, match="no sample of its rows"):
        statistics - dataclasses.replace(statistics, kept=None)


# -- the sample itself ------------------------------------------------------------------------------------------------

rows_of_hashes = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=25)


def sample(rows, capacity=6):
    hashes = np.array([hash_ for hash_, _ in rows], dtype=np.uint64) * np.uint64(2**59)
    codes = np.array([code for _, code in rows], dtype=np.int64)
    cells = {"x": hashes.astype(np.float64)}
    return KeptRows.of_rows(capacity, hashes, codes, np.ones(len(rows)), np.ones(len(rows), dtype=np.int64), cells)


@given(rows_of_hashes, rows_of_hashes, rows_of_hashes)
def test_merging_samples_is_associative_and_commutative(first, second, third):
    a, b, c = sample(first), sample(second), sample(third)
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + b == sample(first + second)
    assert a + sample([]) == a


@given(rows_of_hashes, st.data())
def test_the_sample_is_all_rows_below_the_threshold(rows, data):
    peak = np.full(3, 100.0)
    gone = data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True)) if rows else []
    everything = sample(rows)
    left = everything.less(sample([rows[place] for place in gone]), peak)
    current = [row for place, row in enumerate(rows) if place not in set(gone)]
    assert (left.threshold, left.class_thresholds) == (everything.threshold, everything.class_thresholds)
    every = sample(current, capacity=1000)
    below = every.hashes <= every.limits(left.threshold, left.class_thresholds)
    for name in ("hashes", "codes", "weights", "occurrences"):
        assert getattr(left, name).tolist() == getattr(every, name)[below].tolist()


@given(rows_of_hashes)
def test_the_threshold_falls_only_when_the_sample_overflows(rows):
    distinct, kept = len({hash_ for hash_, _ in rows}), sample(rows)
    assert (kept.threshold == LARGEST_HASH) == (distinct <= 6)
    assert kept.class_thresholds == {} or kept.threshold < LARGEST_HASH
    assert len(np.unique(kept.hashes[kept.hashes <= np.uint64(kept.threshold)])) == min(distinct, 6)


@given(rows_of_hashes)
def test_every_class_keeps_its_places_and_no_more_rows_are_kept_than_there_are(rows):
    kept = sample(rows, capacity=12)
    n_distinct = {code: len({hash_ for hash_, other in rows if other == code}) for _, code in rows}
    places = 12 // (2 * max(len(n_distinct), 1))
    for code, distinct in n_distinct.items():
        assert (kept.codes == code).sum() >= min(distinct, places)
    assert len(set(kept.hashes.tolist())) <= 12 + 6


@given(rows_of_hashes, rows_of_hashes)
def test_occurrences_add_up_and_go_with_what_is_forgotten(first, second):
    both, peak = sample(first, 1000) + sample(second, 1000), np.full(3, 100.0)
    assert both.occurrences.sum() == len(first) + len(second)
    assert both.scaled(0.25).occurrences.tolist() == both.occurrences.tolist()
    assert both.less(sample(second, 1000), peak) == sample(first, 1000)


def test_what_weighs_something_has_occurred():
    model = NaiveBayes("fast").fit([[1.0], [2.0]], [0, 1], [2.0, 2.0]).forget([[1.0]], [0], [0.5])
    assert model.statistics_.kept.weights.tolist() == [1.5, 2.0][:: 1 if model.statistics_.kept.codes[0] == 0 else -1]
    assert model.statistics_.kept.occurrences.tolist() == [1, 1]
