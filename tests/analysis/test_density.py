"""score_samples is the logarithm of a density: it sums, or integrates, to one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from scipy.special import logsumexp

from naively import NaiveBayes
from naively.errors import ParameterError, RecipeError
from naively.families import (
    Bernoulli,
    Binned,
    Categorical,
    Gaussian,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Thresholded,
)
from tests.models import textbook
from tests.strategies import cases

RNG = np.random.default_rng(2)
Y = np.repeat(["a", "b", "c"], [30, 20, 10])
X = RNG.normal(size=(60, 2)) + np.searchsorted(["a", "b", "c"], Y)[:, None]
MISSING = np.nan


@given(cases(kinds=("gaussian", "offset", "colour", "code", "truth", "yes", "events")))
def test_it_is_the_sum_over_the_classes(case):
    model = case.fitted()
    if any(isinstance(family, Thresholded) for family in case.parameters["families"].values()):
        with pytest.raises(ParameterError, match="is no density"):
            model.score_samples(case.query)
        return
    scores = model.evidence(case.query).sum(axis=1)
    with np.errstate(divide="ignore"):
        expected = logsumexp(scores + np.log(model.class_prior_), axis=1)
    np.testing.assert_allclose(model.score_samples(case.query), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "family",
    [Kernel(scores=True), Kernel(background=False), Kernel(0.5, background=False, points=512), Thresholded(Gaussian())],
)
def test_what_does_not_integrate_to_one_is_refused(family):
    model = textbook(families=family).fit(X, Y)
    with pytest.raises(ParameterError, match=r"'x0' is read by .* is no density"):
        model.score_samples(X)
    assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize("family", [Gaussian(), Gaussian(ties="feature"), StudentT(), Kernel()])
def test_numbers_integrate_to_one(family):
    model = textbook(families=family).fit(X, Y)
    grid = np.concatenate([-np.geomspace(1e6, 20, 2000), np.linspace(-20, 20, 40001), np.geomspace(20, 1e6, 2000)])
    if isinstance(family, Kernel):
        grid = np.linspace(-4, 7, 8001)  # beyond its grid a kernel density is constant, and means nothing
    density = np.exp(model.score_samples(np.column_stack([grid, np.full(len(grid), MISSING)])))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=5e-3)


def test_labels_and_counts_sum_to_one():
    cells = np.column_stack([RNG.integers(0, 3, 60), RNG.integers(0, 2, 60), RNG.poisson(2, 60)])
    model = textbook(families={0: Categorical(), 1: Bernoulli(), 2: Poisson()}).fit(cells, Y)
    everything = np.array(list(product(range(3), range(2), range(60))), dtype=float)
    assert np.exp(logsumexp(model.score_samples(everything))) == pytest.approx(1, abs=1e-12)


def test_multinomial_counts_sum_to_one_given_their_total():
    words = RNG.multinomial(8, [0.2, 0.3, 0.5], 60)
    model = textbook(families=Multinomial()).fit(words, Y)
    documents = np.array([row for row in product(range(6), repeat=3) if sum(row) == 5], dtype=float)
    assert np.exp(logsumexp(model.score_samples(documents))) == pytest.approx(1, abs=1e-12)


def test_bins_sum_to_one():
    model = textbook(families=Binned(5)).fit(X, Y)
    cuts = model.parameters()["x0"]["cuts"]
    inside = np.concatenate([[cuts[0] - 1], (cuts[1:] + cuts[:-1]) / 2, [cuts[-1] + 1]])
    scores = model.score_samples(np.column_stack([inside, np.full(len(inside), MISSING)]))
    assert np.exp(logsumexp(scores)) == pytest.approx(1, abs=1e-12)


def test_a_missing_cell_is_marginalised():
    cells = np.column_stack([RNG.integers(0, 3, 60), RNG.integers(0, 4, 60)]).astype(float)
    model = textbook(families="categorical").fit(cells, Y)
    whole = model.score_samples([[1.0, value] for value in range(4)])
    assert model.score_samples([[1.0, MISSING]])[0] == pytest.approx(logsumexp(whole), abs=1e-12)
    assert model.score_samples([[MISSING, MISSING]])[0] == pytest.approx(0, abs=1e-12)


def test_it_is_the_density_of_scipy_and_finds_the_outlier():
    model = textbook().fit(X, Y)
    means, variances = (
        np.stack([model.parameters()[f"x{i}"][name] for i in range(2)], 1) for name in ("mean", "variance")
    )
    density = sum(
        prior * stats.multivariate_normal(mean, np.diag(variance)).pdf(X)
        for prior, mean, variance in zip(model.class_prior_, means, variances, strict=True)
    )
    np.testing.assert_allclose(model.score_samples(X), np.log(density), rtol=1e-10)
    odd = np.vstack([X, [[9.0, -7.0]]])
    assert model.score_samples(odd).argmin() == 60


def test_a_row_that_no_class_can_have():
    model = textbook(smoothing="none", families="categorical").fit([["x", "u"], ["y", "v"]], ["a", "b"])
    assert model.score_samples([["x", "v"]])[0] == -np.inf
    assert model.score_samples([["x", "u"]], prior=[0.25, 0.75])[0] == pytest.approx(np.log(0.25))


def test_a_prior_for_each_row():
    model = textbook().fit(X, Y)
    priors = RNG.dirichlet([1, 1, 1], 60)
    expected = [model.score_samples(X[[row]], prior=priors[row])[0] for row in range(60)]
    np.testing.assert_allclose(model.score_samples(X, prior=priors), expected, rtol=1e-12)


def test_stacked_columns_have_no_density():
    with pytest.raises(ParameterError, match="no density"):
        textbook(families=Stacked()).fit(X, Y).score_samples(X)


def test_scikit_learn_can_ask_whether_a_model_has_densities():
    assert hasattr(textbook(), "score_samples")
    assert not hasattr(NaiveBayes("auto"), "score_samples")
    assert hasattr(NaiveBayes("no such recipe"), "score_samples")
    with pytest.raises(RecipeError, match="recipe='textbook'"):
        NaiveBayes("auto").fit(X, Y).score_samples(X)
    assert "log-density" in NaiveBayes.score_samples.__doc__
