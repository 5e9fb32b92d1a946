"""Exponential and Gamma: families of one file each, right in every question against SciPy."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import naively
from naively import NaiveBayes
from naively.analysis import drift
from naively.errors import ForgetError, InputError
from naively.families import Exponential, Gamma

FAMILIES = [Exponential(), Gamma()]
NAMES = [family.name() for family in FAMILIES]
by_family = pytest.mark.parametrize("family", FAMILIES, ids=NAMES)


def rows(n=400, missing=False, seed=0):
    """Two columns of numbers above 0 and two classes of other sizes and scales."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, "b", "a")
    X = rng.gamma(np.where(y == "b", 3.0, 0.8)[:, None], np.where(y == "b", 2.0, 5.0)[:, None], size=(n, 2))
    if missing:
        X[rng.random((n, 2)) < 0.2] = np.nan
    return X, y


def textbook(family, **parameters):
    return NaiveBayes("textbook", **{"families": family, "smoothing": "none", **parameters})


def of_scipy(family, values):
    """SciPy's distribution, fitted to some values."""
    if isinstance(family, Exponential):
        return stats.expon(scale=values.mean())
    shape, _, scale = stats.gamma.fit(values, floc=0)
    return stats.gamma(shape, scale=scale)


def distributions(family, X, y, column=0):
    return [of_scipy(family, X[(y == label) & ~np.isnan(X[:, column]), column]) for label in ("a", "b")]


@by_family
@pytest.mark.parametrize("missing", [False, True])
def test_evidence(family, missing):
    X, y = rows(missing=missing)
    evidence = textbook(family).fit(X, y).evidence(X)
    for column in range(2):
        known = ~np.isnan(X[:, column])
        for code, distribution in enumerate(distributions(family, X, y, column)):
            expected = np.where(known, distribution.logpdf(np.where(known, X[:, column], 1.0)), 0.0)
            np.testing.assert_allclose(evidence[:, column, code], expected, rtol=1e-5, atol=1e-5)


def test_shapes_solve_the_likelihood_equation():
    X, y = rows()
    shape = textbook(Gamma()).fit(X, y).parameters()["x0"]["shape"]
    for code, label in enumerate("ab"):
        x = X[y == label, 0]
        spread = np.log(x.mean()) - np.log(x).mean()
        assert np.log(shape[code]) - special.digamma(shape[code]) == pytest.approx(spread, rel=1e-12)


@by_family
def test_log_likelihood_and_number_of_parameters(family):
    X, y = rows(missing=True)
    model = textbook(family).fit(X, y)
    own = model.predict_joint_log_proba(X)[np.arange(len(y)), np.searchsorted(["a", "b"], y)].sum()
    assert model.log_likelihood_ == pytest.approx(own, rel=1e-12)
    assert model.n_parameters_ == 1 + 2 * 2 * (1 if isinstance(family, Exponential) else 2)


@by_family
def test_rows_that_are_drawn(family):
    X, y = rows()
    model = textbook(family).fit(X, y)
    drawn, _ = model.sample(n=40_000, y="b", seed=1)
    one = distributions(family, X, y)[1]
    assert stats.kstest(drawn[:, 0], one.cdf).pvalue > 0.001
    assert drawn[:, 0].mean() == pytest.approx(one.mean(), rel=0.05)


@by_family
def test_densities_of_rows_and_what_is_imputed(family):
    X, y = rows()
    model = textbook(family).fit(X, y)
    prior = model.class_prior_
    columns = [distributions(family, X, y, column) for column in range(2)]
    joint = np.stack([np.log(prior[c]) + sum(columns[i][c].logpdf(X[:, i]) for i in range(2)) for c in range(2)])
    np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(joint, axis=0), rtol=1e-4)
    posterior = np.array([prior[c] * columns[1][c].pdf(4.0) for c in range(2)])
    expected = posterior @ [columns[0][c].mean() for c in range(2)] / posterior.sum()
    assert model.impute([[np.nan, 4.0]])[0][0] == pytest.approx(expected, rel=1e-4)


@by_family
def test_information_is_the_integral(family):
    X, y = rows()
    ranked = textbook(family).fit(X, y).rank_features(like=None)
    score = dict(zip(ranked["column"], ranked["score"] + ranked["by_chance"], strict=True))["x0"]
    shares = np.array([np.mean(y == label) for label in "ab"])
    ab = distributions(family, X, y)

    def gain(u):  # over the logarithm of x, where densities have no pole
        densities = np.array([one.pdf(np.exp(u)) for one in ab])
        mixture = shares @ densities
        return np.exp(u) * (shares * special.xlogy(densities, densities / mixture)).sum()

    bits = integrate.quad(gain, -40, 8, limit=500)[0] / np.log(2)
    assert score == pytest.approx(bits, abs=1e-6)


@by_family
def test_likelihood_ratio_and_effect(family):
    X, y = rows()
    model = textbook(family).fit(X, y)
    ratio = model.rank_features("likelihood_ratio")
    place = list(ratio["column"]).index("x0")
    one, parts = of_scipy(family, X[:, 0]), distributions(family, X, y)
    separate = sum(part.logpdf(X[y == label, 0]).sum() for part, label in zip(parts, "ab", strict=True))
    assert ratio["score"][place] == pytest.approx(2 * (separate - one.logpdf(X[:, 0]).sum()), rel=1e-4)
    assert ratio["freedom"][place] == (1 if isinstance(family, Exponential) else 2)
    effect = model.rank_features("effect")
    gap = abs(parts[0].mean() - parts[1].mean())
    within = np.sqrt(sum(np.mean(y == label) * part.var() for part, label in zip(parts, "ab", strict=True)))
    assert effect["score"][list(effect["column"]).index("x0")] == pytest.approx(gap / within, rel=1e-4)


@by_family
def test_two_samples_of_one_distribution_have_not_moved(family):
    lowest = []
    for seed in range(20):
        X, y = rows(seed=seed)
        before, after = (textbook(family).fit(X[half], y[half]) for half in (slice(None, 200), slice(200, None)))
        lowest.append(min(change["p_adjusted"] for change in drift.compare(before, after)))
    assert np.mean(np.array(lowest) < 0.05) <= 0.15


@by_family
def test_log_odds_are_tabulated_where_the_values_are(family):
    X, y = rows()
    odds = textbook(family).fit(X, y).log_odds(base="a").columns["x0"]
    assert odds.kind == "point"
    assert len(odds.table) == 33
    points = np.array(list(odds.table))
    assert points.max() > np.quantile(X[:, 0], 0.99)
    a, b = distributions(family, X, y)
    ratios = np.array(list(odds.table.values()))[:, 1]
    np.testing.assert_allclose(ratios, b.logpdf(points) - a.logpdf(points), rtol=1e-4, atol=1e-3)


@by_family
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_a_refit(family, weighted):
    X, y = rows(40, missing=True)
    weights = np.random.default_rng(1).integers(1, 4, 40) / 2 if weighted else None
    model = textbook(family).fit(X, y, weights)
    left = model.loo(X, y, weights)
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        refit = textbook(family).fit(X[rest], y[rest], None if weights is None else weights[rest])
        np.testing.assert_allclose(left[row], refit.predict_log_proba(X[[row]])[0], rtol=1e-9, atol=1e-9)


@by_family
def test_models_are_sums(family, tmp_path):
    X, y = rows(60, missing=True)
    weights = np.random.default_rng(2).integers(1, 5, 60) / 4
    whole = textbook(family).fit(X, y, weights)
    first, second = (textbook(family).fit(X[half], y[half], weights[half]) for half in (slice(30), slice(30, None)))
    assert (first + second).statistics_ == (second + first).statistics_
    np.testing.assert_allclose((first + second).predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-12)
    forgotten = textbook(family).fit(X, y, weights).forget(X[30:], y[30:], weights[30:])
    np.testing.assert_allclose(forgotten.predict_log_proba(X), first.predict_log_proba(X), rtol=1e-9)
    whole.save(tmp_path / "model.json")
    loaded = naively.load(tmp_path / "model.json")
    assert loaded.statistics_ == whole.statistics_
    assert (loaded.predict_log_proba(X) == whole.predict_log_proba(X)).all()


@by_family
def test_a_weight_is_a_number_of_rows(family):
    X, y = rows(30)
    weights = np.arange(30) % 3 + 1
    repeated = textbook(family).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        textbook(family).fit(X, y, weights).predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-9
    )


@by_family
def test_columns_of_one_value(family):
    X, y = rows(20)
    constant = np.column_stack([np.full(20, 3.0), X[:, 1]])
    model = textbook(family).fit(constant, y)
    assert np.isfinite(model.evidence(X)).all()
    if isinstance(family, Gamma):
        assert not model.evidence(X)[:, 0].any()
        assert (model.sample(n=5, seed=0)[0][:, 0] == 3.0).all()
    assert np.isfinite(model.predict_log_proba(constant)).all()
    in_one_class = np.where(y == "a", 2.0, X[:, 0])[:, None]
    assert np.isfinite(textbook(family).fit(in_one_class, y).predict_log_proba(in_one_class)).all()


def test_a_column_of_zeros_says_nothing():
    model = textbook(Exponential()).fit([[0.0, 1.0], [0.0, 2.0]], ["a", "b"])
    assert not model.evidence([[0.0, np.nan], [5.0, np.nan]]).any()
    assert np.isfinite(model.rank_features()["score"]).all()


def test_what_the_families_do_not_read_is_refused():
    with pytest.raises(InputError, match=r"'x0' must hold numbers above 0.*row 1 has 0\.0"):
        textbook(Gamma()).fit([[1.0], [0.0]], ["a", "b"])
    with pytest.raises(InputError, match="Negative values"):
        textbook(Exponential()).fit([[1.0], [-1.0]], ["a", "b"])
    with pytest.raises(InputError, match="above 0"):
        textbook(Gamma()).fit([[1.0], [2.0]], ["a", "b"]).predict([[0.0]])
    model = textbook(Gamma()).fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    with pytest.raises(ForgetError):
        model.forget([[50.0], [0.001]], ["b", "b"])


@by_family
def test_scale_changes_nothing(family):
    X, y = rows(50)
    near, far = textbook(family).fit(X, y), textbook(family).fit(X * 2.0**80, y)
    np.testing.assert_allclose(near.predict_log_proba(X), far.predict_log_proba(X * 2.0**80), rtol=1e-9, atol=1e-9)


def test_smoothing_adds_rows_of_the_columns_mean():
    X, y = rows(30)
    rate = textbook(Exponential(), smoothing=2.0).fit(X, y).parameters()["x0"]["rate"]
    of_class = X[y == "a", 0]
    assert rate[0] == pytest.approx((len(of_class) + 2) / (of_class.sum() + 2 * X[:, 0].mean()), rel=1e-12)


def test_credible_intervals_of_rates():
    X, y = rows(60)
    model = textbook(Exponential()).fit(X, y)
    low, high = np.moveaxis(model.credible_interval(X), 2, 0)
    probability = model.predict_proba(X)
    assert ((low <= probability + 0.01) & (probability <= high + 0.01)).all()
    wide = textbook(Exponential()).fit(np.tile(X, (50, 1)), np.tile(y, 50)).credible_interval(X)
    assert (wide[:, :, 1] - wide[:, :, 0]).mean() < (high - low).mean() / 4


def test_log_odds_of_exponential_columns_are_lines():
    X, y = rows(60)
    model = textbook(Exponential()).fit(X, y)
    line = model.discriminant(base="a")
    np.testing.assert_allclose(line.decision(X), model.log_odds(base="a")(X), atol=1e-9)


@by_family
def test_densities_are_drawn_where_they_are_defined(family):
    pytest.importorskip("matplotlib").use("Agg")
    from naively.plots import plot_densities

    X, y = rows(60)
    assert plot_densities(textbook(family).fit(X, y)).get_ylabel() == "density"


@pytest.mark.parametrize("family", ["exponential", "gamma"])
def test_the_largest_numbers_are_of_the_class_with_the_longer_tail(family):
    X = np.array([[1.0], [2.0], [3.0], [10.0], [20.0], [30.0]])
    model = textbook(family).fit(X, list("aaabbb"))
    assert model.predict(np.geomspace(1e3, 1.7e308, 40)[:, None]).tolist() == ["b"] * 40
