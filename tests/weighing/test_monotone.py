"""Monotone columns: the log-odds of the second class never turn, whatever the rows, the weights and the recipe."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import ExtraTreeRegressor

from naively import NaiveBayes, load
from naively._weighing.trees import monotone_values
from naively.errors import ParameterError
from naively.families import Stacked

TOLERANCE = 1e-9


def log_odds(model, x, **others):
    logs = model.predict_log_proba({"x": list(x), **{name: [value] * len(x) for name, value in others.items()}})
    return logs[:, 1] - logs[:, 0]


@st.composite
def rows(draw):
    n = draw(st.integers(30, 80))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = np.round(rng.normal(size=n) * 10 ** draw(st.integers(-3, 3)), draw(st.integers(0, 4)))
    turns = np.sin(draw(st.floats(0, 6)) * x / (np.abs(x).max() + 1e-9))
    y = rng.random(n) < 1 / (1 + np.exp(-4 * turns))
    y[:2] = [False, True]
    return np.where(rng.random(n) < 0.1, np.nan, x), y, rng.normal(size=n), draw(st.sampled_from([1, -1]))


@settings(max_examples=12, deadline=None)
@given(rows(), st.sampled_from(["fast", "auto", "strong"]))
def test_the_log_odds_never_turn(drawn, recipe):
    x, y, other, sign = drawn
    model = NaiveBayes(recipe, monotone={"x": sign}).fit({"x": x, "z": other}, y)
    known = x[~np.isnan(x)]
    reach = np.ptp(known) + 1.0
    grid = np.sort(np.concatenate([known, np.linspace(known.min() - reach, known.max() + reach, 301)]))
    steps = np.diff(log_odds(model, grid, z=0.3))
    assert (sign * steps >= -TOLERANCE).all()


def bent(n=1200):
    """Rows whose odds turn with x, differently by z and label: every expert of "strong" would follow them."""
    rng = np.random.default_rng(2)
    x, z, u, v = rng.normal(size=(4, n))
    label = rng.choice(["a", "b", "c"], n)
    score = 2 * np.sin(3 * x) * np.sign(z) + np.where(label == "a", x, -x) + z - u * v
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * score)), "yes", "no")
    columns = {"x": x, "z": np.round(z, 1), "u": u, "v": v}
    columns = {name: np.where(rng.random(n) < 0.05, np.nan, cells) for name, cells in columns.items()}
    return {**columns, "label": label}, y


def test_strong_is_monotone_in_every_row_though_its_experts_see_columns_together():
    X, y = bent()
    model = NaiveBayes("strong", monotone={"x": 1, "z": -1}).fit(X, y)
    grid, free = np.linspace(-4, 4, 161), NaiveBayes("strong").fit(X, y)
    additive = NaiveBayes("auto", monotone={"x": 1, "z": -1}).fit(X, y)
    assert np.abs(model.predict_proba(X) - additive.predict_proba(X)).max() > 0.1  # the experts are heard
    for name, sign in (("x", 1), ("z", -1)):
        turned = 0
        for row in range(40):
            others = {other: [cells[row]] * len(grid) for other, cells in X.items()}
            asked = {**others, name: grid}
            logs = [one.predict_log_proba(asked) for one in (model, free)]
            steps, unbound = (np.diff(log[:, 1] - log[:, 0]) for log in logs)
            assert (sign * steps >= -TOLERANCE).all()
            turned += (sign * unbound < -TOLERANCE).any()
        assert turned  # the same rows bend a model that may


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.floats(0.0, 30.0))
def test_the_values_of_a_tree_are_on_the_right_side_of_each_other(seed, n_features, noise):
    """Whatever stands in the nodes, after `monotone_values` a tree never turns in a monotone feature."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(80, n_features)).astype(np.float32)
    signs = rng.integers(-1, 2, n_features)
    tree = ExtraTreeRegressor(random_state=seed % 1000).fit(table, rng.normal(size=80)).tree_
    values = rng.normal(size=(tree.node_count, 2)) * noise
    kept = monotone_values(tree, values, signs)
    assert kept.sum(axis=1) == pytest.approx(values.sum(axis=1), abs=1e-9)
    for feature, sign in enumerate(signs):
        asked = np.repeat(rng.normal(size=(1, n_features)), 200, axis=0).astype(np.float32)
        asked[:, feature] = np.linspace(-4, 4, 200)
        steps = np.diff(kept[tree.apply(asked), 1])
        assert sign == 0 or (sign * steps >= 0).all()
    if not signs.any():
        assert kept is values


def noisy(n=600):
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, n))
    y = rng.random(n) < 1 / (1 + np.exp(-x - z))
    return {"x": x, "z": z}, np.where(y, "yes", "no")


def test_it_is_as_accurate_where_the_truth_is_monotone_and_flat_where_it_goes_the_other_way():
    X, y = noisy()
    test, answers = noisy(3000)
    free, rising, falling = (
        NaiveBayes(monotone=monotone).fit(X, y) for monotone in (None, {"x": 1, "z": 1}, {"x": -1})
    )
    losses = [
        -np.mean(np.log(model.predict_proba(test)[np.arange(3000), (answers == "yes").astype(int)]))
        for model in (free, rising)
    ]
    assert losses[1] < losses[0] + 0.01
    grid = np.linspace(-3, 3, 50)
    assert np.ptp(log_odds(falling, grid, z=0.0)) < 0.1 < np.ptp(log_odds(rising, grid, z=0.0))


def test_cards_files_and_batches_keep_it(tmp_path):
    X, y = noisy()
    model = NaiveBayes(monotone={"x": 1}).fit(X, y)
    card = model.scorecard()
    frame = card.frame()
    points = [p for column, p in zip(frame["column"], frame["points"], strict=True) if column == "x"][:-1]
    steps = np.diff(points)
    assert (steps >= -TOLERANCE).all() or (steps <= TOLERANCE).all()
    model.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    assert loaded.monotone == {"x": 1}
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    batches = NaiveBayes(monotone={"x": 1}).partial_fit({name: cells[:300] for name, cells in X.items()}, y[:300])
    batches.partial_fit({name: cells[300:] for name, cells in X.items()}, y[300:])
    assert np.allclose(batches.predict_proba(X), model.predict_proba(X), atol=1e-9)
    later = NaiveBayes().fit(X, y).set_params(monotone={"x": 1})
    assert (later.predict_proba(X) == model.predict_proba(X)).all()


def test_stacked_columns_of_the_textbook_can_be_monotone():
    X, y = noisy(100)
    model = NaiveBayes("textbook", families={"x": Stacked()}, monotone={"x": 1}).fit(X, y)
    assert model.families_["x"] == Stacked(monotone=1)
    assert (np.diff(log_odds(model, np.linspace(-4, 4, 200), z=0.0)) >= -TOLERANCE).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"recipe": "textbook", "monotone": {"x": 1}}, "column 'x', which 'gaussian' reads: it has a shape of its own"),
        ({"monotone": {"x": 2}}, r"monotone\['x'\] must be 1 \(rising\) or -1"),
        ({"monotone": {"x": True}}, r"monotone\['x'\] must be 1"),
        ({"monotone": {"w": 1}}, "monotone names the column 'w', which is not among"),
        ({"monotone": ["x"]}, "monotone must be a dict"),
        ({"monotone": {"s": 1}}, "'s', which 'categorical' reads"),
    ],
)
def test_what_cannot_be_monotone_is_told(parameters, message):
    X, y = noisy(60)
    with pytest.raises(ParameterError, match=message):
        NaiveBayes(**parameters).fit({**X, "s": ["a", "b"] * 30}, y)


def test_more_classes_are_refused():
    X, y = noisy(60)
    with pytest.raises(ParameterError, match=r"needs two classes.*there are 3"):
        NaiveBayes(monotone={"x": 1}).fit(X, np.where(np.arange(60) % 3, y, "maybe"))
    with pytest.raises(ParameterError, match=r"Stacked\(monotone\)"):
        Stacked(monotone=3)
