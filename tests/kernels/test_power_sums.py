"""Power sums of dense and of sparse tables: compiled, reference and exact fractions agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from naively.families import Bernoulli
from tests.kernels.both import assert_exact_sums, moments_of, on_both
from tests.models import textbook
from tests.strategies import cases

TABLES = {
    "plain": lambda random: random.normal(size=(90, 3)),
    "offset 1e8": lambda random: random.normal(1e8, 1e-3, (90, 3)),
    "offset -1e8": lambda random: random.normal(-1e8, 1.0, (90, 3)),
    "many sizes": lambda random: random.normal(size=(90, 3)) * 10.0 ** random.uniform(-30, 30, (90, 3)),
    "cancelling": lambda random: np.repeat(random.normal(size=(45, 3)), 2, axis=0) * np.tile([[1.0], [-1.0]], (45, 1)),
    "constant": lambda random: np.full((90, 3), 0.1),
    "tiny": lambda random: random.normal(size=(90, 3)) * 1e-120,
    "huge": lambda random: random.normal(size=(90, 3)) * 1e140,
    "integers": lambda random: random.integers(-(2**53), 2**53, (90, 3)).astype(float),
    "missing": lambda random: np.where(random.random((90, 3)) < 0.3, np.nan, random.normal(size=(90, 3))),
}
WEIGHTS = {
    "plain": lambda random: None,
    "weighted": lambda random: random.uniform(0.1, 3.0, 90),
    "1e-12 and 1e12": lambda random: np.where(random.random(90) < 0.5, 1e-12, 1e12),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_sums_are_those_of_exact_arithmetic(table, weights, storage):
    random = np.random.default_rng(11)
    X, w = TABLES[table](random), WEIGHTS[weights](random)
    y = random.integers(0, 3, len(X)).tolist()
    reference, compiled = on_both(lambda: moments_of(storage(X), y, w))
    assert_exact_sums(reference, X, y, w)
    assert_exact_sums(compiled, X, y, w)


@given(cases(kinds=("gaussian", "offset", "yes", "events", "words")))
def test_both_kernels_give_the_same_bits_where_sums_are_exact(case):
    reference, compiled = on_both(lambda: case.fitted().statistics_)
    assert reference == compiled


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "bernoulli", Bernoulli(2.0), Bernoulli(-1.0)])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_every_family_gets_the_same_bits_from_both_kernels(storage, family, weighted):
    random = np.random.default_rng(2)
    X = random.poisson(0.8, (70, 5)).astype(float)
    X[random.random(X.shape) < 0.1] = np.nan
    y, weights = random.integers(0, 4, 70), random.integers(1, 9, 70) / 8 if weighted else None
    reference, compiled = on_both(lambda: textbook(families=family).fit(storage(X), y, weights).statistics_)
    assert reference == compiled


@pytest.mark.parametrize("n_rows", [1, 2, 511, 512, 513, 1200])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_constant_column_is_seen_to_be_constant(n_rows, weighted):
    X, y = np.tile([0.1, 1e8 + 0.1, -3.3e-5], (n_rows, 1)), np.zeros(n_rows, dtype=int)
    weights = np.random.default_rng(0).uniform(0.1, 2.0, n_rows) if weighted else None

    def variances():
        parameters = textbook().fit(X, y, weights).parameters()
        return [float(column["variance"][0]) for column in parameters.values()]

    assert on_both(variances) == [[0.0] * 3] * 2


@pytest.mark.parametrize("n_rows", [511, 512, 513, 1024, 1500])
def test_sums_that_are_folded_now_and_then_stay_exact(n_rows):
    random = np.random.default_rng(n_rows)
    X, y = random.normal(1e8, 1.0, (n_rows, 1)), random.integers(0, 2, n_rows).tolist()
    for table in on_both(lambda: moments_of(X, y)):
        assert_exact_sums(table, X, y)


@given(st.lists(st.tuples(st.floats(-1e100, 1e100), st.floats(1e-6, 1e6), st.integers(0, 1)), min_size=1, max_size=30))
def test_any_numbers_and_weights(rows):
    values, weights, y = (list(part) for part in zip(*rows, strict=True))
    X = np.array(values)[:, None]
    X[np.abs(X) < 1e-100] = 0.0  # below, the squares leave the range of float64
    for table in on_both(lambda: moments_of(X, y, weights)):
        assert_exact_sums(table, X, y, weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.int32, np.int64, np.uint64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_and_order_of_array_gives_the_same_bits(dtype, order):
    X = np.random.default_rng(1).integers(0, 2, (40, 3)).astype(dtype, order=order)
    y = [0, 1] * 20
    tables = on_both(lambda: textbook(families="gaussian").fit(X, y).statistics_)
    expected = textbook(families="gaussian").fit(X.astype(float), y).statistics_
    assert tables == [expected, expected]
