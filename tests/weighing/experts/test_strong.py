"""The recipe "strong" on tables with known truth: interactions, missing and wild cells, noise, order of columns."""

import numpy as np
import pytest

from naively import NaiveBayes
from naively._weighing import strong as strong_module

pytestmark = pytest.mark.every_tree


def loss(model: NaiveBayes, X: np.ndarray, y: np.ndarray) -> float:
    return -float(model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean())


def mixed(seed: int, n_rows: int = 300) -> tuple[dict, np.ndarray]:
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n_rows)
    numbers = random.normal(size=(n_rows, 3)) + y[:, None]
    numbers[random.random(numbers.shape) < 0.1] = np.nan
    labels = np.array(list("abcd"), dtype=object)[(random.integers(0, 3, n_rows) + y) % 4]
    labels[random.random(n_rows) < 0.1] = None
    return {"u": numbers[:, 0], "v": numbers[:, 1], "w": numbers[:, 2], "label": labels}, y


def test_probabilities_are_finite_and_sum_to_one_whatever_the_cells() -> None:
    model = NaiveBayes("strong").fit(*mixed(0))
    X, _ = mixed(7, 100)
    X["u"][:4] = [np.nan, 1e308, -1e308, 0.0]
    X["label"][:2] = ["never seen", None]
    proba = model.predict_proba(X)
    assert np.isfinite(np.log(proba)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_it_learns_what_an_additive_model_cannot_and_says_what_saw_it() -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (800, 4)).astype(float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    auto, strong = NaiveBayes("auto").fit(X, y), NaiveBayes("strong").fit(X, y)
    assert loss(auto, X, y) > 0.6
    assert loss(strong, X, y) < 0.05
    assert strong.calibration_.log_loss < 0.05
    names = list(strong.evidence_names_)
    assert "expert: forest" in names
    evidence = strong.evidence(X[:5])
    assert np.abs(evidence[:, names.index("expert: forest")]).max() > np.abs(evidence[:, :4]).max()


@pytest.mark.parametrize("kind", ["number", "label"])
def test_one_column_of_one_kind_is_enough(kind: str) -> None:
    values = np.arange(40) % 5
    X = {"column": values.astype(float) if kind == "number" else np.array(list("abcde"), dtype=object)[values]}
    y = (values > 2).astype(int)
    assert (NaiveBayes("strong").fit(X, y).predict(X) == y).all()


def test_useless_columns_do_no_harm() -> None:
    X, y = mixed(3, 80)
    empty = {"nothing": np.full(80, np.nan), "constant": np.full(80, 2.0)}
    assert np.isfinite(NaiveBayes("strong").fit({**X, **empty}, y).predict_log_proba({**X, **empty})).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_row_without_known_cells_gets_the_prior(seed: int) -> None:
    """Experts leave missing cells out, and the pool its biases: what is added to class frequencies is from "auto"."""
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [300, 200, 100])
    X = random.normal(size=(600, 4)) + 2 * y[:, None]
    model, unknown = NaiveBayes("strong").fit(X, y), np.full((1, 4), np.nan)
    evidence = dict(zip(model.evidence_names_, model.evidence(unknown)[0], strict=True))
    for name in ("joint Gaussian", "similar rows", "forest", "boosted trees"):
        np.testing.assert_allclose(evidence[f"expert: {name}"], 0.0, atol=1e-3)
    np.testing.assert_allclose(model.predict_proba(unknown)[0], [1 / 2, 1 / 3, 1 / 6], atol=0.02)


@pytest.mark.filterwarnings("ignore:The data deserve a look")  # they do: that is the case in question
def test_missing_and_wild_test_cells_cost_no_more_than_in_auto() -> None:
    random = np.random.default_rng(2)
    y = random.integers(0, 2, 1200)
    X = random.normal(size=(1200, 8)) @ (np.eye(8) + 0.3) + 0.5 * y[:, None]
    models = {recipe: NaiveBayes(recipe).fit(X[:600], y[:600]) for recipe in ("auto", "strong")}
    missing, wild = X[600:].copy(), X[600:].copy()
    missing[random.random(missing.shape) < 0.3] = np.nan
    wild[random.random(wild.shape) < 0.02] *= 1000
    for cells in (missing, wild):
        cost = {name: loss(model, cells, y[600:]) - loss(model, X[600:], y[600:]) for name, model in models.items()}
        assert cost["strong"] <= cost["auto"] + 0.01


def test_the_order_of_columns_means_nothing() -> None:
    random = np.random.default_rng(4)
    y = random.integers(0, 2, 150)
    X = random.normal(size=(150, 170)) + np.linspace(0, 0.5, 170) * y[:, None]
    names = [f"column {place}" for place in range(170)]
    table, backwards = dict(zip(names, X.T, strict=True)), dict(zip(names[::-1], X.T[::-1], strict=True))
    forward = NaiveBayes("strong").fit(table, y).predict_proba(table)
    np.testing.assert_allclose(NaiveBayes("strong").fit(backwards, y).predict_proba(table), forward, atol=1e-6)


def test_noise_is_called_noise() -> None:
    random = np.random.default_rng(5)
    X, y = random.normal(size=(600, 6)), random.integers(0, 2, 600)
    model = NaiveBayes("strong").fit(X[:300], y[:300])
    assert abs(model.calibration_.log_loss - np.log(2)) < 0.02
    assert abs(loss(model, X[300:], y[300:]) - np.log(2)) < 0.02


def rules(seed: int, n_rows: int = 600) -> tuple[dict, np.ndarray]:
    """Labels that tell the class together, and without a doubt: the parity of three, or a fourth."""
    random = np.random.default_rng(seed)
    cells = random.integers(0, 3, (n_rows, 5))
    y = np.where(cells[:, 3] == 0, 2, (cells[:, :3] == 1).sum(axis=1) % 2)
    return {f"c{place}": np.array(list("abc"), dtype=object)[column] for place, column in enumerate(cells.T)}, y


def without(X: dict, share: float, seed: int) -> dict:
    """The table without some of its cells."""
    random = np.random.default_rng(seed)
    return {name: np.where(random.random(len(cells)) < share, None, cells) for name, cells in X.items()}


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_it_is_less_sure_of_rows_with_missing_cells_where_columns_tell_the_class_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = rules(0)
    asked, truth = rules(1, 1000)
    auto, strong = NaiveBayes("auto").fit(X, y), NaiveBayes("strong").fit(X, y)
    assert loss(strong, asked, truth) < 0.1
    frequencies = -float(np.log(strong.class_prior_[truth]).mean())
    found = {share: loss(strong, without(asked, share, 2), truth) for share in (0.2, 0.5, 0.9)}
    for share, cautious in found.items():
        assert cautious < min(loss(auto, without(asked, share, 2), truth), frequencies) + 0.05
    # Networks find the mean over what a missing cell might hold; the others are too sure, and need the caution.
    monkeypatch.setattr(strong_module, "fit_networks", lambda *_: None)
    others = NaiveBayes("strong").fit(X, y)
    cautious = loss(others, without(asked, 0.2, 2), truth)
    monkeypatch.setattr(strong_module, "belief", lambda known, caution: np.ones(len(known)))
    assert loss(others, without(asked, 0.2, 2), truth) > cautious + 0.05


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_rows_as_complete_as_usual_are_believed_as_ever() -> None:
    """Where a fifth of the cells was missing all along, a row that lacks one of five is no reason for caution."""
    X, y = rules(0)
    few = without(X, 0.2, 5)
    model = NaiveBayes("strong").fit(few, y)._estimated()[0].model
    assert model.usually_known == pytest.approx(0.8, abs=0.03)
    heard = strong_module.belief(np.array([1.0, 0.8, 0.4, 0.0]) / model.usually_known, 2.0)
    np.testing.assert_allclose(heard, [1.0, 1.0, 0.25, 0.0], atol=0.05)
    np.testing.assert_array_equal(strong_module.belief(np.array([0.0, 0.5]), 0.0), 1.0)


def test_the_cells_that_are_taken_do_not_depend_on_the_order_of_the_columns() -> None:
    X, y = mixed(0)
    X = {name: np.where(np.isnan(cells), 0.0, cells) if cells.dtype.kind == "f" else cells for name, cells in X.items()}
    asked = without({name: cells.astype(object) for name, cells in mixed(9, 50)[0].items()}, 0.3, 3)
    model = NaiveBayes("strong").fit(X, y)
    turned = NaiveBayes("strong").fit({name: X[name] for name in reversed(X)}, y)
    assert model._estimated()[0].model.caution == turned._estimated()[0].model.caution
    np.testing.assert_allclose(turned.predict_proba(asked), model.predict_proba(asked), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_classes_breaks_no_tie(seed: int) -> None:
    """Gains of cuts are rounded: sums over the classes in another order tie alike, and the same trees grow."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int) + (X[:, 3] > 0.5)
    order = np.array([2, 0, 1])
    model, other = NaiveBayes("strong").fit(X, y), NaiveBayes("strong").fit(X, order[y])
    np.testing.assert_allclose(other.predict_proba(X)[:, order], model.predict_proba(X), atol=1e-9)
