"""Scoring: the compiled kernels give what the reference gives, cell by cell summed."""

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse, stats

from naively._kernels import reference
from naively._kernels.gaussian_scores import TILE_ROWS, add_gaussian
from naively._kernels.row_strips import LANES
from naively._kernels.sparse_scores import add_sparse_products, in_strips
from naively._scoring.decision import Decider
from naively.smoothing import Laplace
from tests.kernels.both import on_both
from tests.models import textbook
from tests.strategies import assert_close, cases, smoothings


@given(cases(smoothing=smoothings.filter(lambda rule: rule == Laplace())))
def test_both_kernels_give_the_same_scores(case):
    def answers():
        model = case.fitted()
        return model.predict_joint_log_proba(case.query), model.evidence(case.query)

    (reference, terms), (compiled, _) = on_both(answers)
    assert_close(compiled, reference, 1.0 + np.abs(terms).sum(axis=1))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_gaussian_scores_are_log_densities(n_classes, missing):
    random = np.random.default_rng(n_classes)
    y = np.arange(200) % n_classes
    X = random.normal(size=(200, 3)) + y[:, None]
    query = random.normal(size=(20, 3))
    if missing:
        query[random.random(query.shape) < 0.4] = np.nan
    expected = np.full((20, n_classes), np.log(np.bincount(y) / 200))
    for label in range(n_classes):
        density = stats.norm.logpdf(query, X[y == label].mean(axis=0), X[y == label].std(axis=0))
        expected[:, label] += np.where(np.isnan(query), 0.0, density).sum(axis=1)
    for joint in on_both(lambda: textbook().fit(X, y).predict_joint_log_proba(query)):
        np.testing.assert_allclose(joint, expected, rtol=1e-12)


@pytest.mark.parametrize("n_columns", [1, LANES - 1, LANES, LANES + 1, 2 * LANES + 3])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 11, 18])
@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, TILE_ROWS + 9])
def test_gaussian_scores_have_the_bits_of_the_reference(n_rows, n_columns, n_classes):
    random = np.random.default_rng(n_rows)
    block = random.normal(size=(n_rows, n_columns))
    block[random.random(block.shape) < 0.05] = np.nan
    block[n_rows // 2, -1] = 1e200  # too far away to be squared
    mean, scale, peak = random.normal(size=(3, n_columns, n_classes))
    scores = random.normal(size=(n_rows, n_classes))
    evidence = reference.gaussian_evidence(block, mean, scale, peak, 1e150)
    expected = scores + sum(evidence.transpose(1, 0, 2))  # column after column, as NumPy adds those of several classes
    add_gaussian(block, mean, scale, peak, 1e150, scores)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "multinomial", "complement", "categorical"])
def test_sparse_rows_are_scored_like_dense_ones(family):
    random = np.random.default_rng(8)
    X, y = random.poisson(0.5, (80, 6)).astype(float), random.integers(0, 3, 80)
    query = random.poisson(0.5, (10, 6)).astype(float)
    query[0, 0] = np.nan
    model = textbook(families=family).fit(X, y)
    dense, _ = on_both(lambda: model.predict_joint_log_proba(query))
    for joint in on_both(lambda: model.predict_joint_log_proba(sparse.csr_array(query))):
        np.testing.assert_allclose(joint, dense, rtol=1e-12)


@pytest.mark.parametrize("family", ["poisson", "multinomial", "bernoulli"])
def test_counting_families_follow_their_formulas(family):
    random = np.random.default_rng(9)
    X, y = random.poisson(1.5, (60, 4)), np.arange(60) % 2
    query = random.poisson(1.5, (10, 4))
    expected = np.full((10, 2), np.log(0.5))
    for label in range(2):
        rows = X[y == label]
        if family == "poisson":
            rate = (rows.sum(axis=0) + X.mean(axis=0)) / (len(rows) + 1)
            expected[:, label] += stats.poisson.logpmf(query, rate).sum(axis=1)
        elif family == "multinomial":
            share = (rows.sum(axis=0) + 1) / (rows.sum() + 4)
            expected[:, label] += query @ np.log(share)
        else:
            yes = ((rows > 0).sum(axis=0) + 1) / (len(rows) + 2)
            expected[:, label] += np.where(query > 0, np.log(yes), np.log1p(-yes)).sum(axis=1)
    for joint in on_both(lambda: textbook(families=family).fit(X, y).predict_joint_log_proba(query)):
        np.testing.assert_allclose(joint, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*encountered in scalar")  # only with the JIT off; the kernel squares, then looks
@pytest.mark.parametrize("n_rows", [127, 128, 129, 300])
@pytest.mark.parametrize("n_classes", [15, 16, 17])
def test_a_huge_value_changes_the_scores_of_its_own_row_only(n_rows, n_classes):
    random = np.random.default_rng(n_rows)
    y = np.arange(n_rows) % n_classes
    X = random.normal(size=(n_rows, 2)) + y[:, None]
    X[random.random(X.shape) < 0.1] = np.nan
    query = X.copy()
    query[n_rows // 2, 1] = 1e200  # too large to be squared
    model = textbook(prior="uniform").fit(X, y)
    others = np.arange(n_rows) != n_rows // 2
    plain, _ = on_both(lambda: model.predict_joint_log_proba(X))
    reference, compiled = on_both(lambda: model.predict_joint_log_proba(query))
    np.testing.assert_allclose(compiled, reference, rtol=1e-12)
    np.testing.assert_allclose(compiled[others], plain[others], rtol=1e-12)
    assert np.isfinite(compiled).all()


@pytest.mark.parametrize("n_classes", [1, 3, 4, 5, 70])
def test_the_bits_of_a_row_do_not_depend_on_its_neighbours(n_classes):
    random = np.random.default_rng(n_classes)
    y = np.arange(400) % n_classes
    X = random.normal(size=(400, 7)) + y[:, None]
    X[random.random(X.shape) < 0.05] = np.nan
    X[:3] = np.nan
    model = textbook(prior="uniform").fit(X, y)
    for whole, alone, among in on_both(
        lambda: [
            model.predict_joint_log_proba(X),
            np.vstack([model.predict_joint_log_proba(X[place : place + 1]) for place in range(60)]),
            model.predict_joint_log_proba(X[::-1])[::-1],
        ]
    ):
        np.testing.assert_array_equal(whole[:60], alone)
        np.testing.assert_array_equal(whole, among)
        np.testing.assert_array_equal(whole[:3], np.full((3, n_classes), np.log(1 / n_classes)))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 7])
def test_the_probabilities_of_a_row_have_the_same_bits_alone(n_classes):
    random = np.random.default_rng(n_classes)
    scores = random.normal(size=(99, n_classes)) * np.logspace(-3, 3, 99)[:, None]
    if n_classes != 2:  # two of them are told apart in another way, unless one is impossible
        scores[1, 0], scores[2], scores[3, -1], scores[4, 0] = -np.inf, -np.inf, np.nan, np.inf
    prior = np.log(np.linspace(1, 2, n_classes) / np.linspace(1, 2, n_classes).sum())
    together, alone = scores.copy(), scores.copy()
    of_all, of_each = Decider(prior), Decider(prior)
    of_all.probabilities(together, slice(0, 99))
    for row in range(99):
        of_each.probabilities(alone[row : row + 1], slice(row, row + 1))
    np.testing.assert_array_equal(alone, together)
    assert of_each.n_impossible == of_all.n_impossible
    np.testing.assert_allclose(together.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 31, 40])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_sparse_products_are_those_of_matrices(n_classes, dtype):
    random = np.random.default_rng(n_classes)
    cells = random.poisson(0.3, (30, 20)).astype(np.float64)
    cells[3] = 0.0
    rows = sparse.csr_array(cells)
    slope = random.normal(size=(20, n_classes))
    found = np.ones((30, n_classes))
    add_sparse_products(rows.data, rows.indices.astype(dtype), rows.indptr.astype(dtype), in_strips(slope), found)
    np.testing.assert_allclose(found, 1.0 + cells @ slope, rtol=1e-13, atol=1e-13)
