"""Where there is nothing to learn, the recipes say no more than the prior, and know it."""

import numpy as np
import pytest

from naively import NaiveBayes

pytestmark = pytest.mark.every_tree


def log_loss(model, X, y):
    return -float(np.log(model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]).mean())


def noise(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1], rng.integers(0, 2, n_rows - 2)])
    return rng.normal(size=(n_rows, n_columns)), y, rng.normal(size=(400, n_columns)), rng.integers(0, 2, 400)


def beyond_prior(recipe, X, y, X_new, y_new):
    """By how much the log-loss that is said, and that is found, exceeds that of the class frequencies."""
    log_prior = np.log((np.bincount(y) + 1) / (len(y) + y.max() + 1))
    model = NaiveBayes(recipe).fit(X, y)
    return model.calibration_.log_loss + log_prior[y].mean(), log_loss(model, X_new, y_new) + log_prior[y_new].mean()


@pytest.mark.filterwarnings("ignore:The data deserve a look")  # they do: that is the case in question
@pytest.mark.parametrize(("recipe", "most"), [("auto", 0.02), ("strong", 0.03)])
def test_ten_rows_of_noise_are_worth_the_prior(recipe, most):
    beyond = []
    for seed in range(24):
        X, y, X_new, y_new = noise(seed, 10, 4)
        prior = (np.bincount(y) + 1) / (len(y) + 2)
        beyond.append(log_loss(NaiveBayes(recipe).fit(X, y), X_new, y_new) + np.log(prior)[y_new].mean())
    assert np.mean(beyond) < most


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_wide_noise_is_worth_the_prior_and_says_so():
    said, found = [], []
    for seed in range(3):
        X, y, X_new, y_new = noise(seed, 100, 300)
        model = NaiveBayes().fit(X, y)
        said.append(model.calibration_.log_loss)
        found.append(log_loss(model, X_new, y_new))
    assert np.mean(said) == pytest.approx(np.log(2), abs=0.02)
    assert np.mean(found) == pytest.approx(np.log(2), abs=0.02)


def test_what_is_plain_is_believed_in_full():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    model = NaiveBayes("strong").fit(rng.normal(size=(60, 2)) + 3 * y[:, None], y)
    assert model._estimated()[0].model.believed == 1.0


def labels(seed, n_columns, n_values):
    """Labels that mean nothing, of 2,000 rows and of 1,000 new ones."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([[0, 1], rng.integers(0, 2, 1998)])
    drawn = [rng.integers(0, n_values, (n_rows, n_columns)).astype(str) for n_rows in (2000, 1000)]
    X, X_new = ({f"c{place}": column for place, column in enumerate(cells.T)} for cells in drawn)
    return X, y, X_new, rng.integers(0, 2, 1000)


MANY_SEEDS = [(recipe, seed) for recipe in ("fast", "auto") for seed in range(5)] + [("strong", 0), ("strong", 1)]


@pytest.mark.filterwarnings("ignore:The data deserve a look")
@pytest.mark.parametrize(("recipe", "seed"), MANY_SEEDS)
@pytest.mark.parametrize(
    "table",
    [lambda seed: noise(seed, 200, 2000), lambda seed: labels(seed, 5, 100), lambda seed: labels(seed, 1, 300)],
    ids=["200 x 2000 numbers", "5 x 100 labels", "1 x 300 labels"],
)
def test_what_calibration_says_of_noise_can_be_quoted(table, recipe, seed):
    assert beyond_prior(recipe, *table(seed)) == pytest.approx((0.0, 0.0), abs=0.02)


@pytest.mark.filterwarnings("ignore:The data deserve a look")
@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
@pytest.mark.parametrize(("n_rows", "n_columns", "share"), [(1000, 10, 0.1), (200, 2000, 0.1), (1000, 100, 0.02)])
def test_noise_leaves_the_prior_of_unequal_classes_in_force(recipe, n_rows, n_columns, share):
    """Evidence that means nothing is not weighed by weakening the prior, nor do very many columns read the class."""
    found = []
    for seed in range(2 if recipe == "strong" else 4):
        rng = np.random.default_rng(seed)
        y, y_new = ((rng.random(n) < share).astype(int) for n in (n_rows, 1000))
        X, X_new = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(1000, n_columns))
        found.append(beyond_prior(recipe, X, y, X_new, y_new))
    np.testing.assert_allclose(found, 0.0, atol=0.02)
