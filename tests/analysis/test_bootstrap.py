"""Intervals of the recipes that weigh evidence, by a Bayesian bootstrap of the kept rows."""

import datetime as dt

import numpy as np
import pytest

from naively import NaiveBayes
from naively.errors import FrozenError, ParameterError, RecipeError

SHARES = np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])


def drawn(seed, n):
    """Rows of two classes whose columns are independent, and the true log-odds of the second."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=n) + y - 0.5
    c = np.array([rng.choice(3, p=SHARES[one]) for one in y])
    return {"x": x, "c": [f"label {one}" for one in c]}, y, x + np.log(SHARES[1] / SHARES[0])[c]


def test_the_truth_is_mostly_inside():
    """A nominal 90 %, over 6 sets of 300 rows: what the model shrinks is not in the interval, so not quite all."""
    inside, width = [], []
    for seed in range(6):
        X, y, _ = drawn(seed, 300)
        rows, _, truth = drawn(100 + seed, 100)
        low, high = NaiveBayes("fast").fit(X, y).credible_interval(rows, 0.9, n_draws=8)[:, 1].T
        probability = 1 / (1 + np.exp(-truth))
        inside.append(((low <= probability) & (probability <= high)).mean())
        width.append((high - low).mean())
    assert 0.75 < np.mean(inside) < 0.99
    assert np.mean(width) < 0.5


def test_bounds_are_about_the_answer_and_narrow_with_rows():
    X, y, _ = drawn(3, 100)
    many, more, _ = drawn(4, 500)
    rows = {name: cells[:20] for name, cells in X.items()}
    few = NaiveBayes("auto").fit(X, y)
    low, high = np.moveaxis(few.credible_interval(rows, n_draws=8), 2, 0)
    answers = few.predict_proba(rows)
    assert ((low <= answers) & (answers <= high)).all()
    assert np.allclose(low[:, 0], 1 - high[:, 1])
    half = few.credible_interval(rows, 0.5, n_draws=8)
    assert (half[:, :, 0] >= low).all()
    assert (half[:, :, 1] <= high).all()
    assert (few.credible_interval(rows, 0.5, n_draws=8) == half).all()
    narrow = NaiveBayes("auto").fit(many, more).credible_interval(rows, n_draws=8)
    assert np.diff(narrow, axis=2).mean() < 0.85 * (high - low).mean()


def test_dates_missing_cells_and_a_given_prior():
    X, y, _ = drawn(5, 80)
    when = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=7 * row) for row in range(80)]
    table = {**X, "when": [None if row % 5 == 0 else moment for row, moment in enumerate(when)]}
    bounds = NaiveBayes("fast", prior=[0.3, 0.7]).fit(table, y).credible_interval(table, n_draws=4)
    assert np.isfinite(bounds).all()
    assert ((bounds >= 0) & (bounds <= 1)).all()
    nothing = {name: [None] for name in table}
    assert NaiveBayes("fast", prior=[0.3, 0.7]).fit(X, y).feature_importances_.sum() == pytest.approx(1.0)
    assert NaiveBayes("auto").fit(table, y).feature_importances_[2] >= 0
    assert bounds.shape == (80, 2, 2)
    assert NaiveBayes("fast").fit(table, y).credible_interval(nothing, n_draws=4)[0, 0, 0] < 0.5


def test_what_has_no_interval_says_why():
    X, y, _ = drawn(6, 60)
    model = NaiveBayes("fast").fit(X, y)
    with pytest.raises(FrozenError, match="only answers"):
        model.frozen().credible_interval(X)
    with pytest.raises(RecipeError, match="'strong'"):
        NaiveBayes("strong").fit(X, y).credible_interval(X)
    with pytest.raises(ParameterError, match=r"credible_interval\(n_draws\)"):
        model.credible_interval(X, n_draws=1)
    assert (NaiveBayes("fast").fit(X, ["a"] * 60).credible_interval(X) == 1.0).all()
