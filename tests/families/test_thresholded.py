"""Thresholds: densities, probabilities and standard deviations that vanish are replaced, and nothing else is."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from naively import NaiveBayes, load
from naively.errors import InputError, ParameterError
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
from naively.families._thresholded import as_float64

NUMERIC = [Gaussian(ddof=1), StudentT(), Kernel(), Kernel("nrd0", background=False), Binned(3), Poisson(), Bernoulli(2)]


def rows(n=60, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    return random.poisson(2.0 + y).astype(float)[:, None], y


def fitted(family, X, y, **parameters):
    return NaiveBayes("textbook", families=family, **parameters).fit(X, y)


@pytest.mark.parametrize("family", NUMERIC, ids=repr)
@pytest.mark.parametrize("eps", [0.0, 0.05, 0.3])
def test_only_what_is_at_most_eps_is_replaced(family, eps):
    X, y = rows()
    query = np.array([[0.0], [3.0], [7.0], [40.0], [np.nan]])
    plain = fitted(family, X, y).evidence(query)
    actual = fitted(Thresholded(family, 0.25, eps), X, y).evidence(query)
    vanishes = (np.exp(plain) <= eps) & ~np.isnan(query)[:, :, None]
    np.testing.assert_array_equal(actual, np.where(vanishes, np.log(0.25), plain))
    assert vanishes.any() or eps < 0.3
    assert not vanishes.all()


@pytest.mark.parametrize("family", [*NUMERIC, Categorical()], ids=repr)
def test_a_prediction_sums_the_same_evidence(family):
    X, y = rows(500)
    model = fitted(Thresholded(family, 0.02, 0.1), X, y)
    joint = np.log(model.class_prior_) + model.evidence(X).sum(axis=1)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-13)


@given(st.integers(0, 99))
def test_a_category_that_never_occurred_has_the_threshold(seed):
    random = np.random.default_rng(seed)
    letters, y = random.choice(list("abcd"), 12), random.integers(0, 2, 12)
    model = fitted(Thresholded(Categorical(list("abcd")), 0.003), letters[:, None], y, smoothing="none")
    for place, letter in enumerate("abcd"):
        for code, label in enumerate(model.classes_):
            share = (letters[y == label] == letter).mean()
            evidence = model.evidence(np.array(list("abcd"), dtype=object)[:, None])[place, 0, code]
            assert evidence == pytest.approx(np.log(share or 0.003), rel=1e-12)


def test_an_unknown_category_still_says_nothing():
    model = fitted(Thresholded(Categorical()), [["a"], ["b"]], [0, 1])
    assert model.evidence([["z"], [None]]).tolist() == [[[0.0, 0.0]], [[0.0, 0.0]]]


def test_gaussian_densities_vanish_where_those_of_r_do():
    """R's dnorm(x) is 0 beyond 38.57 deviations, and has few digits just before."""
    z = np.array([0.0, 5.0, 37.0, 38.5, 38.6, 50.0])
    exact = stats.norm.logpdf(z)[:, None, None]
    rounded = as_float64(exact, np.full((1, 1), stats.norm.logpdf(0.0)))[:, 0, 0]
    assert np.isinf(rounded).tolist() == [False] * 4 + [True] * 2
    np.testing.assert_allclose(rounded[:3], exact[:3, 0, 0], rtol=1e-12)
    smallest = 5e-324  # the value of dnorm(38.5) is a small multiple of it
    assert np.exp(rounded[3]) / smallest == pytest.approx(round(np.exp(rounded[3]) / smallest))


def test_standard_deviations_are_replaced_by_the_rule_threshold():
    X = pd.DataFrame({"x": [2.0, 2.0, 2.0, 1.0, 5.0, 9.0]})
    y = list("aaabbc")
    variance = fitted(Gaussian(ddof=1, rule="threshold", floor=0.5), X, y).parameters()["x"]["variance"]
    np.testing.assert_allclose(variance, [0.25, 8.0, 0.25])
    variance = fitted(Gaussian(ddof=1, rule="threshold", floor=0.5, eps=3.0), X, y).parameters()["x"]["variance"]
    np.testing.assert_allclose(variance, [0.25, 0.25, 0.25])
    silent = fitted(Gaussian(ddof=1, rule="threshold", floor=0.5, lone="silent"), X, y)
    assert np.isnan(silent.parameters()["x"]["variance"]).tolist() == [False, False, True]
    assert silent.evidence(pd.DataFrame({"x": [4.0]}))[0, 0, 2] == 0.0
    np.testing.assert_allclose(silent.evidence(pd.DataFrame({"x": [4.0]}))[0, 0, 1], stats.norm.logpdf(4, 3, 8**0.5))


@pytest.mark.parametrize("family", [*NUMERIC, Categorical()], ids=repr)
def test_a_model_file_keeps_the_thresholds(family, tmp_path):
    X, y = rows()
    model = fitted(Thresholded(family, 0.02, 0.1), X, y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.families == model.families
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_sparse_rows_are_read():
    X, y = rows()
    model = fitted(Thresholded(Poisson(), 0.02, 0.1), X, y)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(X)), model.predict_proba(X), rtol=1e-12)


def test_counts_are_still_refused_where_negative():
    X, y = rows()
    with pytest.raises(InputError, match="Negative values"):
        fitted(Thresholded(Poisson()), X, y).predict([[-1.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Thresholded(Multinomial()), "density or probability of its own"),
        (lambda: Thresholded(Stacked()), "density or probability of its own"),
        (lambda: Thresholded(Thresholded()), "density or probability of its own"),
        (lambda: Thresholded("gaussian"), "density or probability of its own"),
        (lambda: Thresholded(threshold=0), "threshold above 0"),
        (lambda: Thresholded(eps=1), "eps below 1"),
        (lambda: Thresholded(eps=-1), r"Thresholded\(eps\)"),
        (lambda: Gaussian(rule="threshold", lone="no"), r"Gaussian\(lone\)"),
        (lambda: Gaussian(rule="threshold", eps=-1), r"Gaussian\(eps\)"),
        (lambda: Poisson("both"), r"Poisson\(pseudo\)"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_recipes_that_weigh_evidence_weigh_what_thresholds_leave():
    X, y = rows()
    X, y = (
        np.tile(X, (10, 1)) + np.repeat(np.arange(10) / 100, len(X))[:, None],
        np.tile(y, 10),
    )  # few rows prove little
    plain, weighed = (NaiveBayes(recipe, families=Thresholded(Gaussian())).fit(X, y) for recipe in ("textbook", "auto"))
    assert np.isfinite(weighed.predict_proba(X)).all()
    assert weighed.score(X, y) >= plain.score(X, y) - 0.05
