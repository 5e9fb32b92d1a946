"""Credible intervals: closed form against drawing the parameters from their posterior."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import digamma, logsumexp, polygamma

from naively.errors import ParameterError
from naively.families import Bernoulli, Binned, Categorical, Gaussian, Kernel, Multinomial, Poisson, StudentT
from naively.families._gaussian import centred
from tests.models import textbook
from tests.strategies import cases

DRAWS = 20_000
LEVEL = 0.9

ACCURACY = {60: 0.05, 1200: 0.012}
"""How far the bounds may be off with so many rows: log-odds become normal as rows become many."""


@pytest.fixture(params=list(ACCURACY))
def rows(request):
    return request.param


def data(n_classes, rows=60):
    return np.random.default_rng(0), np.repeat(np.arange(n_classes), rows // n_classes)


def interval_of(prior_logs, likelihood):
    """The central interval (rows, classes, 2) of the posterior, from draws (draws, rows, classes)."""
    scores = prior_logs[:, None, :] + likelihood
    proba = np.exp(scores - logsumexp(scores, axis=2, keepdims=True))
    return np.moveaxis(np.quantile(proba, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0), 0, -1)


def drawn_prior(model, rng):
    counts = model.class_count_ + (0 if model.prior_smoothing is None else model.prior_smoothing)
    return np.log(rng.dirichlet(counts, DRAWS))


def assert_close(model, query, likelihood, rng):
    expected = interval_of(drawn_prior(model, rng), likelihood)
    found = model.credible_interval(query, LEVEL)
    assert found.shape == expected.shape
    tolerance = ACCURACY[int(model.class_count_.sum())]
    np.testing.assert_allclose(found, expected, atol=tolerance)
    width = expected[..., 1] - expected[..., 0]
    assert width.max() > 4 * tolerance  # a test that bites
    proba = model.predict_proba(query)
    assert ((found[..., 0] <= proba) & (proba <= found[..., 1])).mean() > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels(n_classes, rows):
    rng, y = data(n_classes, rows)
    X = (rng.integers(0, 3, (rows, 2)) + y[:, None] * rng.integers(0, 2, (rows, 2))) % 3
    model = textbook(families=Categorical([0, 1, 2]), prior_smoothing=1).fit(X, y)
    query = np.array([[0, 1], [2, 2], [np.nan, 0], [1, 7]])
    likelihood = np.zeros((DRAWS, len(query), n_classes))
    for label in range(n_classes):
        for column in range(2):
            counts = np.bincount(X[y == label, column], minlength=3) + 1
            logs = np.log(rng.dirichlet(counts, DRAWS))
            for row, value in enumerate(query[:, column]):
                if value in (0, 1, 2):
                    likelihood[:, row, label] += logs[:, int(value)]
    assert_close(model, query, likelihood, rng)


def test_the_numbers_of_the_formula():
    X, y = [["x"]] * 4 + [["y"]] * 2 + [["x"]] * 1 + [["y"]] * 5, [0] * 6 + [1] * 6
    model = textbook(prior="uniform").fit(X, y)
    mean = (digamma(5) - digamma(8)) - (digamma(2) - digamma(8))
    deviation = np.sqrt(polygamma(1, 5) - polygamma(1, 8) + polygamma(1, 2) - polygamma(1, 8))
    expected = 1 / (1 + np.exp(-(mean + np.array([-1, 1]) * 1.959963984540054 * deviation)))
    np.testing.assert_allclose(model.credible_interval([["x"]])[0, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("threshold", [0.0, 2.5])
def test_yes_or_no(threshold, rows):
    rng, y = data(2, rows)
    X = np.where(rng.random((rows, 2)) < 0.3 + 0.3 * y[:, None], threshold + 1, threshold - 1)
    model = textbook(families=Bernoulli(threshold), prior_smoothing=1).fit(X, y)
    query = np.array([[threshold + 1, threshold], [threshold - 1, threshold - 1], [threshold + 1, np.nan]])
    likelihood = np.zeros((DRAWS, 3, 2))
    for label in range(2):
        for column in range(2):
            yes = (X[y == label, column] > threshold).sum()
            p = rng.beta(yes + 1, rows // 2 - yes + 1, DRAWS)[:, None]
            cells = query[:, column]
            likelihood[:, :, label] += np.where(
                np.isnan(cells), 0, np.where(cells > threshold, np.log(p), np.log1p(-p))
            )
    assert_close(model, query, likelihood, rng)


def test_rates(rows):
    rng, y = data(3, rows)
    X = rng.poisson(2 + y[:, None], (rows, 2))
    model = textbook(families=Poisson(), smoothing=1.0, prior_smoothing=1).fit(X, y)
    query = np.array([[2.0, 4.0], [0.0, 1.0], [6.0, np.nan]])
    likelihood = np.zeros((DRAWS, 3, 3))
    for label in range(3):
        for column in range(2):
            own, overall = X[y == label, column], X[:, column].mean()
            rate = rng.gamma(own.sum() + overall, 1 / (len(own) + 1), DRAWS)[:, None]
            cells = query[:, column]
            likelihood[:, :, label] += np.where(np.isnan(cells), 0, cells * np.log(rate) - rate)
    assert_close(model, query, likelihood, rng)


def test_shares(rows):
    rng, y = data(2, rows)
    X = np.stack([rng.multinomial(4, [[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]][label]) for label in y])
    model = textbook(families=Multinomial(), smoothing=0.5, prior_smoothing=1).fit(X, y)
    query = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0], [1.0, np.nan, 2.0]])
    likelihood = np.stack(
        [np.log(rng.dirichlet(X[y == label].sum(axis=0) + 0.5, DRAWS)) @ np.nan_to_num(query).T for label in range(2)],
        axis=2,
    )
    assert_close(model, query, likelihood, rng)


def precision(rng, freedom, variance):
    """Draws of 1 / variance from its posterior: a scaled chi-square."""
    return rng.chisquare(freedom, DRAWS) / (freedom * variance)


@pytest.mark.parametrize("ties", ["none", "feature", "class", "all"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_normal_columns(ties, n_classes, rows):
    rng, y = data(n_classes, rows)
    X = rng.normal(size=(rows, 2)) + 0.7 * y[:, None]
    model = textbook(families=Gaussian(ties=ties), prior_smoothing=1).fit(X, y)
    query = np.array([[0.0, 0.3], [1.0, 1.0], [-1.0, np.nan], [0.6, 2.5]])
    mean, variance = (np.stack([model.parameters()[f"x{c}"][k] for c in range(2)], 1) for k in ("mean", "variance"))
    weight = rows / n_classes
    groups = {}
    likelihood = np.zeros((DRAWS, len(query), n_classes))
    for label in range(n_classes):
        for column in range(2):
            key = {"none": (label, column), "feature": column, "class": label, "all": ()}[ties]
            if key not in groups:
                sharing = {"none": 1, "feature": n_classes, "class": 2, "all": 2 * n_classes}[ties]
                groups[key] = precision(rng, sharing * (weight - 1), variance[label, column])
            t = groups[key]
            centre = mean[label, column] + rng.normal(size=DRAWS) / np.sqrt(weight * t)
            cells = query[:, column]
            logs = 0.5 * np.log(t)[:, None] - 0.5 * t[:, None] * (cells - centre[:, None]) ** 2
            likelihood[:, :, label] += np.where(np.isnan(cells), 0, logs)
    assert_close(model, query, likelihood, rng)


@pytest.mark.parametrize("pooled", [False, True])
def test_student_t(pooled, rows):
    rng, y = data(2, rows)
    X = rng.normal(size=(rows, 1)) + 0.7 * y[:, None]
    family = StudentT(pooled=pooled)
    model = textbook(families=family, prior_smoothing=1).fit(X, y)
    parameters = model.parameters()["x0"]
    weight = centred(model.statistics_.table(family.summaries[0]))[0][:, 0] + family.prior_rows
    variance = parameters["scale"] ** 2 * weight / (weight + 1)
    query = np.array([[0.0], [1.0], [2.5]])
    shared = precision(rng, parameters["freedom"][0], variance[0])
    likelihood = np.zeros((DRAWS, 3, 2))
    for label in range(2):
        t = shared if pooled else precision(rng, parameters["freedom"][label], variance[label])
        centre = parameters["location"][label] + rng.normal(size=DRAWS) / np.sqrt(weight[label] * t)
        likelihood[:, :, label] = 0.5 * np.log(t)[:, None] - 0.5 * t[:, None] * (query[:, 0] - centre[:, None]) ** 2
    assert_close(model, query, likelihood, rng)


def test_bins(rows):
    rng, y = data(2, rows)
    X = rng.normal(size=(rows, 1)) + 0.7 * y[:, None]
    model = textbook(families=Binned(4), prior_smoothing=1).fit(X, y)
    cuts = model.parameters()["x0"]["cuts"]
    query = np.array([[-1.0], [0.5], [2.0], [np.nan]])
    likelihood = np.zeros((DRAWS, 4, 2))
    for label in range(2):
        counts = np.bincount(np.searchsorted(cuts, X[y == label, 0], side="right"), minlength=4)
        logs = np.log(rng.dirichlet(counts + 1, DRAWS))
        likelihood[:, :3, label] = logs[:, np.searchsorted(cuts, query[:3, 0], side="right")]
    assert_close(model, query, likelihood, rng)


# -- Laws -----------------------------------------------------------------------------------------------------------


@given(cases(min_rows=2, smoothing=st.sampled_from([0.5, 1.0])))
def test_bounds_are_probabilities_in_order_and_wider_for_a_higher_level(case):
    assume(case.is_a_distribution)
    model = case.fitted(prior_smoothing=1.0)
    wide, narrow = model.credible_interval(case.query, 0.99), model.credible_interval(case.query, 0.5)
    assert np.isfinite(wide).all()
    assert ((wide >= 0) & (wide <= 1)).all()
    assert (wide[..., 0] <= narrow[..., 0] + 1e-12).all()
    assert (narrow[..., 0] <= narrow[..., 1]).all()
    assert (narrow[..., 1] <= wide[..., 1] + 1e-12).all()
    if len(model.classes_) == 2:
        np.testing.assert_allclose(wide[:, 0, 0], 1 - wide[:, 1, 1], atol=1e-9)


@pytest.mark.parametrize(
    "family", ["gaussian", "studentt", "bernoulli", "poisson", "multinomial", "binned", "categorical"]
)
def test_more_rows_make_it_narrower_and_close_in_on_the_answer(family):
    rng, y = data(2)
    X = np.abs(np.round(rng.normal(size=(60, 2)) + 0.5 * y[:, None]))
    model = textbook(families=family).fit(X, y)
    more = model.with_statistics(model.statistics_.scaled(100.0))
    width, width_of_more = (np.diff(one.credible_interval(X[:5]), axis=2).ravel() for one in (model, more))
    assert (width_of_more < 0.2 * width).all()
    middle = more.credible_interval(X[:5]).mean(axis=2)
    np.testing.assert_allclose(middle, more.predict_proba(X[:5]), atol=0.02)


def test_what_never_occurs_is_impossible_for_certain():
    model = textbook(smoothing="none").fit([["x"], ["x"], ["y"], ["y"], ["y"]], [0, 0, 0, 1, 1])
    bounds = model.credible_interval([["x"]])[0]
    assert bounds[1].tolist() == [0.0, 0.0]
    assert bounds[0].tolist() == [1.0, 1.0]


def test_one_class_is_certain():
    assert textbook().fit([[1.0], [2.0]], [7, 7]).credible_interval([[1.5]]).tolist() == [[[1.0, 1.0]]]


def test_a_given_prior_is_certain():
    empty = [[np.nan]]
    X, y = [[1.0], [2.0], [4.0]], [0, 1, 1]
    np.testing.assert_allclose(textbook(prior=[0.3, 0.7]).fit(X, y).credible_interval(empty)[0, 0], [0.3, 0.3])
    low, high = textbook(prior_smoothing=1).fit(X, y).credible_interval(empty)[0, 0]
    assert low < 0.2 < 0.6 < high


@pytest.mark.parametrize("level", [0, 1, -0.5, "0.9", True, np.nan])
def test_bad_levels(level):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        textbook().fit([[1.0], [2.0]], [0, 1]).credible_interval([[1.0]], level)


def test_families_without_a_posterior():
    model = textbook(families=Kernel()).fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    with pytest.raises(ParameterError, match="no posterior distribution in closed form"):
        model.credible_interval([[1.0]])
