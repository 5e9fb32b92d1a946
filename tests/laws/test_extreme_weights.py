"""Law 7 for weights: whatever finite weights rows have, answers are probabilities, or an error tells the limit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively.errors import InputError
from naively.families import (
    Bernoulli,
    Binned,
    Categorical,
    Codes,
    Complement,
    Gaussian,
    Joint,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Text,
    Thresholded,
)
from tests.models import textbook

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")

RECIPES = ["textbook", "fast", "auto", "strong"]
FAMILIES = [
    Gaussian(),
    Gaussian(ties="all", ddof=1),
    Gaussian(ties="feature", rule="scikit-learn"),
    Gaussian(interval=0.5),
    Gaussian(rule="threshold", floor=0.001, ddof=1, lone="silent"),
    StudentT(),
    StudentT(pooled=True),
    Kernel(),
    Kernel(background=False),
    Kernel(background=False, points=512),
    Binned(),
    Binned("pkid"),
    Stacked(),
    Categorical(),
    Bernoulli(),
    Poisson(),
    Multinomial(),
    Complement(),
    Codes(),
    Thresholded(Gaussian(rule="threshold", floor=0.001)),
]

log_uniform = st.floats(-300, 300).map(lambda exponent: 10.0**exponent)
any_weight = st.just(0.0) | st.just(1.0) | st.just(5e-324) | log_uniform
mild_weight = st.just(0.0) | st.just(1.0) | st.floats(-300, 97).map(lambda exponent: 10.0**exponent)


def rows(weight, most=12):
    cells = st.none() | st.integers(0, 5).map(float)
    return st.lists(st.tuples(cells, cells, st.integers(0, 2), weight), min_size=1, max_size=most)


def learnt(model, table):
    """The model after these rows; None if their weights are refused, as they must be where there are none or too much.

    Weights within the limits are never refused.
    """
    X, y = [[one, other] for one, other, _, _ in table], [code for _, _, code, _ in table]
    weights = [weight for *_, weight in table]
    if not 0 < sum(weights) <= 1e100:
        with pytest.raises(InputError, match=r"must not (be zero|add up to more than 1e\+100)"):
            model.fit(np.array(X, dtype=float), y, weights)
        return None
    return model.fit(np.array(X, dtype=float), y, weights)


def assert_answers(model):
    query = np.array([[0.0, 1.0], [3.0, np.nan], [np.nan, np.nan], [5.0, 5.0]])
    probabilities = model.predict_proba(query)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-9)
    assert not np.isnan(model.evidence(query)).any()


@pytest.mark.parametrize("recipe", RECIPES)
@given(table=rows(any_weight) | rows(mild_weight))
@example(table=[(float(n % 6), None, n % 2, 1.0 if n else 1e-16) for n in range(6)])
@example(table=[(float(n % 6), 1.0, n % 2, 0.8**n) for n in range(60)])
@example(table=[(float(n % 6), 1.0, n % 2, 10.0**n) for n in range(60)])
@example(table=[(1.0, 2.0, 0, 2e-126), (None, 3.0, 0, 2e-81), (2.0, None, 0, 1e-142)])
@example(table=[(None, None, 1, 1e28), (0.0, None, 0, 5e-324), (1.0, None, 1, 1.0)])
@settings(max_examples=25)
def test_recipes(recipe, table):
    model = learnt(NaiveBayes(recipe), table)
    if model is not None:
        assert_answers(model)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@given(table=rows(mild_weight) | rows(any_weight))
@example(table=[(1.0, 2.0, 0, 2e-126), (None, 3.0, 0, 2e-81), (2.0, None, 0, 1e-142)])
@example(table=[(float(n), 1.0, n % 2, 1e96) for n in range(6)])
@example(table=[(float(n), 1.0, n % 2, 5e-324) for n in range(6)])
def test_families(family, table):
    model = learnt(textbook(families=family), table)
    if model is not None:
        assert_answers(model)


@pytest.mark.parametrize("families", [None, "categorical"])
@given(table=rows(mild_weight))
def test_joint_columns(families, table):
    model = learnt(textbook(families=families, factors=[Joint(0, 1)]), table)
    if model is not None:
        assert_answers(model)


@pytest.mark.parametrize("recipe", RECIPES)
@given(st.lists(st.tuples(st.sampled_from(["a b", "b c d", None, "", "hello"]), mild_weight), min_size=2, max_size=25))
@example([("a b", 1e80), ("c", 1.0), ("a", 1e-300), ("b c d", 1e60)])
@settings(max_examples=15)
def test_texts(recipe, cells):
    texts, weights = (list(part) for part in zip(*cells, strict=True))
    weights[0] = weights[0] or 1.0
    X = {"text": texts}
    model = NaiveBayes(recipe, families={"text": Text()}).fit(X, [n % 2 for n in range(len(texts))], weights)
    assert np.isfinite(model.predict_proba({"text": ["a b", None, "", "unheard of"]})).all()


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_a_long_stream_with_decay(recipe):
    random = np.random.default_rng(0)
    model = NaiveBayes(recipe)
    for _ in range(320):
        X = random.normal(size=(12, 2))
        model.partial_fit(X, (X[:, 0] > 0).astype(int)).decay(0.8)
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    assert ((probabilities[:, 1] > 0.5) == (X[:, 0] > 0)).mean() > 0.7


@pytest.mark.parametrize("recipe", RECIPES)
def test_weights_that_fall_with_age(recipe):
    X = np.random.default_rng(0).normal(size=(8000, 2))
    model = NaiveBayes(recipe).fit(X, (X[:, 0] > 0).astype(int), 0.99 ** np.arange(8000))
    assert np.isfinite(model.predict_proba(X[:50])).all()


@pytest.mark.parametrize("factor", [1e-290, 1e-100, 1e-16, 1e16, 1e90])
@pytest.mark.parametrize("family", [Gaussian(), Gaussian(ties="all"), Gaussian(interval=0.5)], ids=repr)
def test_a_common_factor_changes_no_maximum_likelihood(family, factor):
    X, y = np.array([[1.0], [2.0], [2.5], [6.0], [6.5], [7.0]]), [0, 0, 0, 1, 1, 1]
    plain = textbook(families=family).fit(X, y)
    for model in (textbook(families=family).fit(X, y, [factor] * 6), textbook(families=family).fit(X, y).decay(factor)):
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("weights", [[1e300, 1.0], [1e308, 1e308], [9e99, 9e99]])
def test_weights_beyond_the_limit_are_refused(weights):
    with pytest.raises(InputError, match=r"sample_weight must not add up to more than 1e\+100.*Divide all weights"):
        textbook().fit([[1.0], [2.0]], [0, 1], weights)


def test_decay_and_merging_beyond_the_limit_are_refused_and_change_nothing():
    model = textbook().fit([[1.0], [2.0]], [0, 1], [1e50, 1e50])
    before = model.statistics_
    for factor in (1e300, 1e50, 1.7e308):
        with pytest.raises(InputError, match=r"must not weigh more than 1e\+100 together"):
            model.decay(factor)
    heavy = textbook().fit([[1.0]], [0], [9e99])
    with pytest.raises(InputError, match=r"must not weigh more than 1e\+100"):
        heavy.partial_fit([[1.0]], [0], sample_weight=[9e99])
    with pytest.raises(InputError, match=r"must not weigh more than 1e\+100"):
        heavy + heavy
    assert model.statistics_ is before


def test_decay_whose_squares_would_overflow_is_refused():
    model = textbook().fit([[1e140], [2e140]], [0, 1])
    with pytest.raises(InputError, match="too large for a float64"):
        model.decay(1e99)
    assert np.isfinite(model.predict_proba([[1e140]])).all()
