"""The recipe "strong" with very many classes: what its experts hold is bounded, and what they answer is right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes
from naively._weighing import experts, forest
from naively.recipes import ALL_WAYS, Recipe, Tempering

N_CLASSES = 40


def clusters(seed: int, n_rows: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Rows around a mean of each class."""
    means = np.random.default_rng(0).normal(size=(N_CLASSES, 4))
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(N_CLASSES), random.integers(0, N_CLASSES, n_rows - N_CLASSES)])
    return means[y] + 0.3 * random.normal(size=(n_rows, 4)), y


def fitted(seed: int = 1) -> NaiveBayes:
    """A model whose additive weights are fitted on some of the rows."""
    return NaiveBayes(Recipe(tempering=Tempering(ALL_WAYS, rows=200), pooled=True)).fit(*clusters(seed))


def loss(model: NaiveBayes, seed: int = 2) -> float:
    X, y = clusters(seed)
    return -float(model.predict_log_proba(X)[np.arange(len(y)), y].mean())


@given(st.integers(1, 10**6), st.integers(2, 10**5), st.integers(1, 128))
def test_the_values_of_the_forest_are_within_bounds(n_rows: int, n_classes: int, n_trees: int) -> None:
    """A tree has at most a leaf for every so many rows, and a node less above them; one node it always has."""
    least = forest._least_rows_of_a_leaf(n_rows, n_classes, n_trees)
    most_nodes = max(1, 2 * (n_rows // least) - 1)
    each = n_classes * n_trees
    assert most_nodes * each <= max(forest.MOST_VALUES, each)
    if 2 * n_rows * each <= forest.MOST_VALUES:
        assert least == 1


@pytest.mark.filterwarnings("ignore:The data deserve a look")  # they do: that is the case in question
def test_what_experts_hold_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    free = fitted()._estimated()[0].model
    assert {"forest", "boosted trees"} <= {expert.name for expert in free.experts}
    n_free = next(one.trees.values.size for one in free.experts if one.name == "forest")
    monkeypatch.setattr(experts, "MOST_ANSWERS", 10_000)
    monkeypatch.setattr(forest, "MOST_VALUES", n_free // 4)
    bounded = fitted()._estimated()[0].model
    assert [expert.name for expert in bounded.experts] == ["additive", "joint Gaussian", "forest"]
    assert bounded.experts[2].trees.values.size <= n_free // 4
    monkeypatch.setattr(experts, "MOST_MATRIX_CELLS", N_CLASSES * 4**2 - 1)
    assert [expert.name for expert in fitted()._estimated()[0].model.experts] == ["additive", "forest"]


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_few_left_out_answers_pool_experts_that_learnt_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = loss(fitted())
    monkeypatch.setattr(experts, "MOST_ANSWERS", 10_000)
    model = fitted()
    few = model._estimated()[0]
    assert few.model.experts[1].model.moments.weights.sum() == pytest.approx(1200)
    assert len(few.model.left_out) == len(few.left_out.codes) < 400
    assert loss(model) < whole + 0.1
    models = [model, *(fitted(seed) for seed in (3, 4, 5))]  # some 300 rows of 40 classes tell little of one
    gaps = [one.calibration_.log_loss - loss(one, 50 + seed) for seed, one in enumerate(models)]
    assert abs(np.mean(gaps)) < 0.08


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_rows_that_are_asked_have_the_classes_as_often_as_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare classes have places of their own among the rows that additive weights are fitted on."""
    X, y = clusters(1)
    X, y = (
        np.concatenate([X, np.random.default_rng(3).normal(size=(4000, 4))]),
        np.concatenate([y, np.zeros(4000, int)]),
    )
    weighed = NaiveBayes(Recipe(tempering=Tempering(ALL_WAYS, rows=200), pooled=True)).fit(X, y)._estimated()[0].weighed
    learnt = experts.learnt_rows(weighed.model, weighed.kept, weighed.rows, weighed.weights)
    assert learnt.asked is learnt
    monkeypatch.setattr(experts, "MOST_ANSWERS", 10_000)
    asked = experts.learnt_rows(weighed.model, weighed.kept, weighed.rows, weighed.weights).asked
    assert len(asked.target) < len(learnt.target) / 4
    shares = [np.bincount(one.target, one.weights) / one.weights.sum() for one in (learnt, asked)]
    np.testing.assert_allclose(shares[1], shares[0])
    assert np.bincount(asked.target)[0] / len(asked.target) < shares[0][0] - 0.1
