"""Law 1: fit(A ++ B) == fit(A) + fit(B) for any chunking, order, number of threads and storage."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from naively.families import Bernoulli, Gaussian
from tests.models import textbook
from tests.strategies import assert_close, assert_same_answer, cases, cut, learn

pytestmark = [
    pytest.mark.usefixtures("kernels"),
    pytest.mark.filterwarnings("ignore:.*every class had probability zero"),  # without smoothing, that is right
]

cuts = st.lists(st.integers(0, 99), max_size=4)


@given(cases(), cuts)
def test_learning_in_chunks_is_learning_at_once(case, places):
    whole = case.fitted()
    model = reduce(learn, cut(case.rows, places), case.model())
    assert model.statistics_ == whole.statistics_
    assert model.classes_.tolist() == whole.classes_.tolist() == sorted(set(case.rows.y))


@given(cases(inferred=True), cuts)
def test_chunks_agree_when_families_are_inferred(case, places):
    model = reduce(learn, cut(case.rows, places), case.model())
    assert model.statistics_ == case.fitted().statistics_
    assert_same_answer(model, case.fitted(), case.query)


@given(cases(), cuts, st.randoms(use_true_random=False))
def test_merging_chunks_in_any_order_and_nesting_is_learning_at_once(case, places, random):
    models = [case.fitted(rows) for rows in cut(case.rows, places)]
    while len(models) > 1:
        first = models.pop(random.randrange(len(models)))
        second = models.pop(random.randrange(len(models)))
        models.append(first + second)
    assert models[0].statistics_ == case.fitted().statistics_


@given(cases(inferred=True), cuts)
def test_merging_chunks_agrees_when_families_are_inferred(case, places):
    merged = reduce(add, [case.fitted(rows) for rows in cut(case.rows, places)])
    assert merged.statistics_ == case.fitted().statistics_


@given(cases())
def test_fit_forgets_what_came_before(case):
    model = case.fitted()
    assert model.fit(case.rows.columns, case.rows.y, case.rows.weights).statistics_ == case.fitted().statistics_


finite = st.floats(-1e6, 1e6, allow_nan=False, width=64)


@given(st.lists(st.tuples(finite, st.floats(0.001, 1000), st.sampled_from("ab")), min_size=1, max_size=40), cuts)
def test_any_numbers_agree_to_rounding_however_they_are_cut(rows, places):
    values, weights, classes = (np.array(part) for part in zip(*rows, strict=True))
    whole = textbook().fit(values[:, None], classes, weights)
    model = textbook()
    edges = sorted({0, len(values), *(place % len(values) for place in places)})
    for start, stop in pairwise(edges):
        model.partial_fit(values[start:stop, None], classes[start:stop], sample_weight=weights[start:stop])
    for part in ("total", "square", "observed"):
        (expected,) = whole.statistics_.tables.values()
        (actual,) = model.statistics_.tables.values()
        expected, actual = getattr(expected, part), getattr(actual, part)
        scale = weights.sum() * (1.0 + np.abs(values).max() ** 2)
        assert_close(actual.high, expected.high, scale)


@pytest.fixture(scope="module")
def long_table():
    """More rows than one thread takes at a time: numbers that are not exact, counts, categories, missing cells."""
    n = 150_000
    random = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "length": random.normal(1e3, 1.0, n),
            "events": random.poisson(3.0, n).astype(float),
            "words": random.poisson(1.0, n),
            "yes": random.normal(size=n),
            "code": random.integers(0, 40, n),
            "colour": pd.Categorical.from_codes(random.integers(0, 3, n), ["amber", "blue", "cyan"]),
        }
    )
    frame.loc[random.integers(0, n, 500), "length"] = np.nan
    return frame, random.integers(0, 3, n), random.uniform(0.1, 2.0, n)


FAMILIES = {"events": "poisson", "words": "multinomial", "yes": "bernoulli", "code": "categorical"}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_number_of_threads_changes_no_bit(long_table, weighted):
    frame, y, weights = long_table
    models = [textbook(families=FAMILIES, n_threads=n).fit(frame, y, weights if weighted else None) for n in (1, 2, 3)]
    answers = [model.predict_log_proba(frame[:50_000]) for model in models]
    for model, answer in zip(models[1:], answers[1:], strict=True):
        assert model.statistics_ == models[0].statistics_
        assert np.array_equal(answer, answers[0])


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "family",
    [
        "gaussian",
        Gaussian(ties="all"),
        "bernoulli",
        Bernoulli(-1.0),
        Bernoulli(0.5),
        "poisson",
        "multinomial",
        "categorical",
    ],
)
def test_sparse_and_dense_storage_give_the_same_bits(family, weighted, n_threads):
    random = np.random.default_rng(3)
    X = np.where(random.random((60, 7)) < 0.3, random.integers(1, 9, (60, 7)), 0).astype(float)
    X[random.random(X.shape) < 0.05] = np.nan
    y, weights = random.integers(0, 5, 60), random.integers(1, 9, 60) / 4 if weighted else None
    dense = textbook(families=family).fit(X, y, weights)
    for matrix in (sparse.csr_array(X), sparse.csc_matrix(X), sparse.coo_array(X)):
        model = textbook(families=family, n_threads=n_threads).fit(matrix, y, weights)
        assert model.statistics_ == dense.statistics_
        assert_same_answer(dense, model, X, matrix)


def test_sparse_threads_change_no_bit_of_inexact_sums():
    random = np.random.default_rng(5)
    X = sparse.csr_array(random.random((5000, 30)) * (random.random((5000, 30)) < 0.2))
    y, weights = random.integers(0, 20, 5000), random.uniform(0.1, 2.0, 5000)
    first, *others = [textbook(n_threads=n).fit(X, y, weights).statistics_ for n in (1, 2, 3)]
    assert all(other == first for other in others)
