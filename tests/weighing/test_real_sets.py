"""What must hold of the recipes that weigh evidence, on real tables."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from naively import NaiveBayes
from naively.demo import penguins

pytestmark = [pytest.mark.every_tree, pytest.mark.filterwarnings("ignore:The data deserve a look")]

RECIPES = ["fast", "auto", "strong"]


def birds():
    rows, species = penguins()
    return pd.DataFrame(rows), np.unique(species, return_inverse=True)[1]


def numbers(load):
    return lambda: load(return_X_y=True, as_frame=True)


SETS = {
    "penguins": birds,
    "tumours": numbers(load_breast_cancer),
    "wines": numbers(load_wine),
    "irises": numbers(load_iris),
}


def halves(name, seed=0):
    """A random half to learn from, and the other."""
    X, y = SETS[name]()
    order = np.random.default_rng(seed).permutation(len(y))
    first, second = order[: len(y) // 2], order[len(y) // 2 : len(y) // 2 * 2]
    y = np.asarray(y)
    return X.iloc[first], y[first], X.iloc[second], y[second]


def log_loss(model, X, y, **options):
    return float(-model.predict_log_proba(X, **options)[np.arange(len(y)), y].mean())


@pytest.mark.parametrize("recipe", RECIPES)
def test_respelt_labels_say_what_missing_cells_do(recipe):
    X, y, asked, _ = halves("penguins")
    labels = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    model = NaiveBayes(recipe).fit(X, y)
    respelt, missing = asked.copy(), asked.copy()
    for name in labels:
        respelt[name] = asked[name].map(lambda label: label if label is None else f"{label}!")
        missing[name] = pd.Series([None] * len(asked), index=asked.index, dtype=object)
    np.testing.assert_allclose(model.predict_proba(respelt), model.predict_proba(missing), atol=1e-9)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", ["penguins", "tumours"])
def test_a_constant_weight_and_copies_of_all_rows_change_no_loss(recipe, name):
    X, y, asked, truth = halves(name)
    plain = log_loss(NaiveBayes(recipe).fit(X, y), asked, truth)
    weights = (4.0, 20.0, 0.01, 1 / len(y)) if recipe != "strong" else (4.0, 1 / len(y))
    for weight in weights:
        weighted = NaiveBayes(recipe).fit(X, y, np.full(len(y), weight))
        assert log_loss(weighted, asked, truth) == pytest.approx(plain, rel=0.02)
    again = np.repeat(np.arange(len(y)), 3)
    assert log_loss(NaiveBayes(recipe).fit(X.iloc[again], y[again]), asked, truth) == pytest.approx(plain, rel=0.02)


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_identifier_that_is_asked_again_does_no_harm(recipe):
    harm = []
    for name in SETS:
        for seed in range(1 if recipe == "strong" else 3):
            X, y, asked, truth = halves(name, seed)
            names = [f"number {row}" for row in range(len(y))]
            with_it = NaiveBayes(recipe).fit(X.assign(identifier=names), y)
            without = log_loss(NaiveBayes(recipe).fit(X, y), asked, truth)
            harm.append(log_loss(with_it, asked.assign(identifier=names), truth) - without)
    assert np.mean(harm) < 0.02


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", ["penguins", "tumours"])
def test_shuffled_classes_are_worth_the_prior_and_known_to_be(recipe, name):
    X, y, asked, truth = halves(name)
    rng = np.random.default_rng(1)
    y, truth = rng.permutation(y), rng.permutation(truth)
    log_prior = np.log((np.bincount(y) + 1) / (len(y) + y.max() + 1))
    model = NaiveBayes(recipe).fit(X, y)
    assert model.calibration_.log_loss == pytest.approx(-log_prior[y].mean(), abs=0.02)
    assert log_loss(model, asked, truth) == pytest.approx(-log_prior[truth].mean(), abs=0.02)


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_calibration_says_is_found_on_average(recipe):
    said, found = [], []
    for name in SETS:
        for seed in range(2 if recipe == "strong" else 5):
            X, y, asked, truth = halves(name, seed)
            model = NaiveBayes(recipe).fit(X, y)
            said.append(model.calibration_.log_loss)
            found.append(log_loss(model, asked, truth))
    # half a set tells its own loss with an error of .01 to .02
    error = np.std(np.subtract(said, found)) / np.sqrt(len(said))
    assert abs(np.mean(said) - np.mean(found)) < 0.01 + 2 * error


def test_missing_cells_cost_strong_no_more_than_auto():
    cost = {"auto": [], "strong": []}
    for name, seed in product(SETS, range(3)):
        X, y, asked, truth = halves(name, seed)
        missing = asked.mask(np.random.default_rng(0).random(asked.shape) < 0.3)
        for recipe, costs in cost.items():
            model = NaiveBayes(recipe).fit(X, y)
            costs.append(log_loss(model, missing, truth) - log_loss(model, asked, truth))
    assert np.mean(cost["strong"]) <= np.mean(cost["auto"])


@pytest.mark.parametrize("recipe", RECIPES)
def test_ten_rows_are_no_worse_than_the_prior(recipe):
    worse = []
    for name in SETS:
        for seed in range(5):
            X, y, asked, truth = halves(name, seed)
            X, y = X[:10], y[:10]
            known = np.isin(truth, y)
            truth = np.searchsorted(np.unique(y), truth[known])
            y = np.searchsorted(np.unique(y), y)
            log_prior = np.log((np.bincount(y) + 1) / (len(y) + y.max() + 1))
            worse.append(log_loss(NaiveBayes(recipe).fit(X, y), asked[known], truth) + log_prior[truth].mean())
    assert np.mean(worse) < 0.02


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", SETS)
def test_a_constant_column_and_a_missing_cell_say_nothing(recipe, name):
    X, y, asked, _ = halves(name)
    whole = X.notna().all(axis=1)  # nothing is missing where it could tell the class
    X, y, asked = X[whole].assign(same="s"), y[whole], asked.dropna().assign(same="s")
    model = NaiveBayes(recipe).fit(X, y)
    evidence = dict(zip(model.evidence_names_, np.moveaxis(model.evidence(asked), 1, 0), strict=True))
    np.testing.assert_allclose(evidence["same"], 0.0, atol=1e-12)
    nothing = asked.mask(np.ones(asked.shape, dtype=bool))
    said = model.evidence(nothing)[:, [model.evidence_names_.index(column) for column in X]]
    assert not said.any()
