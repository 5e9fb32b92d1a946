"""Law 7: no NaN and no infinity in a probability, for any finite input; probabilities sum to one."""

import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from naively.errors import NaivelyWarning
from naively.families import Bernoulli, Categorical, Gaussian, Multinomial, Poisson
from naively.smoothing import Dirichlet, Laplace, Lidstone, MEstimate, NoSmoothing
from tests.models import textbook
from tests.strategies import Rows, cases, gaussians, learn

pytestmark = pytest.mark.usefixtures("kernels")

LARGEST = sys.float_info.max
SMALLEST = 5e-324

any_number = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e300, -1e300, LARGEST, -LARGEST, 0.0])
learnable = st.floats(-1e150, 1e150) | st.sampled_from([SMALLEST, 1e-200, -1e-160, 1e150, -1e150, 0.0, 1.0])


def assert_probabilities(model, X):
    probabilities, log_probabilities = model.predict_proba(X), model.predict_log_proba(X)
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert not np.isnan(log_probabilities).any()
    assert (log_probabilities <= 0).all()
    assert not np.isnan(model.predict_joint_log_proba(X)).any()
    assert not np.isnan(model.evidence(X)).any()
    assert set(model.predict(X)) <= set(model.classes_)


@given(cases())
@pytest.mark.filterwarnings("ignore:.*every class had probability zero")
def test_small_tables(case):
    assert_probabilities(case.fitted(), case.query)


@given(
    st.lists(st.tuples(learnable, st.sampled_from("abc")), min_size=1, max_size=6),
    gaussians,
    st.lists(any_number, min_size=1, max_size=4),
)
@example([(0.0, "a"), (1e-160, "a"), (1.0, "b")], Gaussian(), [1e300])
@example([(0.0, "a"), (1e-150, "a"), (0.0, "b"), (1e-150, "b")], Gaussian(), [1e300])
@example([(1.0, "a"), (1.0, "a"), (2.0, "b")], Gaussian(floor=0.0), [LARGEST])
@example([(-1e150, "a"), (1e150, "a"), (1e150, "b")], Gaussian(), [LARGEST])
def test_gaussian_columns_of_any_size(rows, family, query):
    values, classes = zip(*rows, strict=True)
    model = textbook(families=family).fit([[value] for value in values], classes)
    assert_probabilities(model, [[value] for value in query])


@given(
    st.lists(
        st.tuples(st.floats(-1e100, 1e100), st.floats(1e-12, 1e12), st.sampled_from("ab")), min_size=1, max_size=6
    ),
    gaussians,
    st.lists(any_number, min_size=1, max_size=4),
)
def test_weighted_gaussian_columns_of_any_size(rows, family, query):
    values, weights, classes = zip(*rows, strict=True)
    model = textbook(families=family).fit([[value] for value in values], classes, list(weights))
    assert_probabilities(model, [[value] for value in query])


@pytest.mark.parametrize("family", [Poisson(), Multinomial(), Bernoulli(), Bernoulli(-1e300)])
@given(
    rows=st.lists(st.tuples(st.floats(0, 1e150), st.floats(0, 1e150), st.sampled_from("ab")), min_size=1, max_size=6),
    query=st.lists(st.tuples(st.floats(0, LARGEST), st.floats(0, LARGEST)), min_size=1, max_size=3),
    smoothing=st.sampled_from([Laplace(), Lidstone(0.125), MEstimate(2.0), Dirichlet(1.5)]),
)
@example(rows=[(1.0, 0.0, "a"), (0.0, 1.0, "b")], query=[(1e300, 0.0)], smoothing=0.5)
@example(rows=[(1.0, 0.0, "a"), (0.0, 1.0, "b")], query=[(LARGEST, LARGEST)], smoothing=0.5)
@example(rows=[(1e150, 0.0, "a"), (0.0, 1.0, "b")], query=[(LARGEST, 1e300)], smoothing=0.5)
def test_counts_of_any_size(family, rows, query, smoothing):
    X, y = [list(row[:2]) for row in rows], [row[2] for row in rows]
    model = textbook(families=family, smoothing=smoothing).fit(X, y)
    assert_probabilities(model, [list(row) for row in query])


@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "bernoulli", "categorical"])
@pytest.mark.parametrize("value", [1e300, LARGEST, 2.0**63, 1e18])
def test_huge_values_in_a_query(family, value):
    model = textbook(families=family).fit([[0, 1], [1, 2], [3, 0], [9, 9]], ["a", "a", "b", "b"])
    assert_probabilities(model, [[value, 1.0], [value, value], [1.0, value]])


@given(cases(kinds=("colour", "yes", "events", "words"), smoothing=st.just(NoSmoothing())))
@pytest.mark.filterwarnings("ignore:.*every class had probability zero")
def test_without_smoothing_a_class_may_be_impossible_but_never_undefined(case):
    assert_probabilities(case.fitted(), case.query)


@pytest.mark.parametrize(
    ("family", "values", "query"),
    [
        (Categorical(["red", "blue", "green"]), ["red", "blue"], "green"),
        (Bernoulli(), [1, 1], 0),
        (Multinomial(), [0, 0], 3),
    ],
)
def test_where_every_class_is_impossible_the_prior_answers_and_a_warning_says_so(family, values, query):
    rows = Rows({"x": [*values, values[0]], "other": [1, 0, 1]}, ["a", "b", "b"])
    model = learn(textbook(families={"x": family, "other": "multinomial"}, smoothing=0), rows)
    with pytest.warns(NaivelyWarning, match=r"1 row.*class prior.*smoothing"):
        probabilities = model.predict_proba({"x": [query], "other": [None]})
    np.testing.assert_allclose(probabilities, [[1 / 3, 2 / 3]], rtol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=4))
def test_a_prior_of_zero_excludes_a_class(shares):
    y = [str(place) for place in range(len(shares))]
    model = textbook().fit([[float(place)] for place in range(len(shares))], y)
    prior = np.array(shares)
    prior[0] = 1.0
    prior[1] = 0.0
    probabilities = model.predict_proba([[1.0]], prior=prior / prior.sum())
    assert probabilities[0, 1] == 0
    assert np.isfinite(probabilities).all()
