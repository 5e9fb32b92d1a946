"""A model from given parameters, P(D | theta) at any theta, P(theta | D) and P(D)."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import naively
from naively import TAN, JointBayes, NaiveBayes
from naively.errors import ParameterError, RecipeError
from naively.families import Categorical, Gaussian
from naively.smoothing import Beta, Dirichlet, MEstimate

N = 150
FAMILIES = {
    "b": "bernoulli",
    "p": "poisson",
    "e": "exponential",
    "ga": "gamma",
    "m1": "multinomial",
    "m2": "multinomial",
}


def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    columns = {
        "g": rng.normal(size=N) * (1 + y) + 1e3,
        "c": rng.choice(list("abc"), N),
        "b": (rng.random(N) < 0.2 + 0.2 * y).astype(float),
        "p": rng.poisson(1 + y),
        "e": rng.exponential(1 + y),
        "ga": rng.gamma(2, 1 + y),
        "m1": rng.poisson(2, N),
        "m2": rng.poisson(3 + y),
    }
    return pd.DataFrame(columns), np.array(["u", "v", "w"])[y]


# -- from_parameters --------------------------------------------------------------------------------------------------


def test_the_parameters_of_a_model_make_the_same_model():
    X, y = data()
    model = NaiveBayes("textbook", families=FAMILIES).fit(X, y)
    prior = pd.Series(model.class_prior_, index=model.classes_)
    same = NaiveBayes.from_parameters(prior, model.parameters())
    np.testing.assert_allclose(same.predict_joint_log_proba(X), model.predict_joint_log_proba(X), rtol=1e-9)
    np.testing.assert_allclose(same.score_samples(X), model.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(same.class_prior_, model.class_prior_, rtol=1e-12)


@given(
    means=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2),
    variances=st.lists(st.floats(0.01, 1e4), min_size=2, max_size=2),
    share=st.floats(0.01, 0.99),
    p=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=2),
    rows=st.floats(0.01, 1e6),
)
def test_the_density_is_that_of_the_parameters(means, variances, share, p, rows):
    columns = {
        "x": {"variance": dict(zip("ba", variances[::-1], strict=True)), "mean": means},
        "k": {"probability": {"no": [1 - p[0], 1 - p[1]], "yes": p}},
    }
    model = NaiveBayes.from_parameters({"b": 1 - share, "a": share}, columns, rows=rows)
    found = model.predict_proba({"x": [0.5, 7.0], "k": ["yes", None]}, prior="uniform")
    with np.errstate(divide="ignore"):
        logs = stats.norm.logpdf(np.array([[0.5], [7.0]]), means, np.sqrt(variances))
        logs[0] += np.log(p)
    if np.isfinite(logs).any(axis=1).all():
        np.testing.assert_allclose(found, np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None]), atol=1e-6)
    assert model.class_prior_.tolist() == pytest.approx([share, 1 - share])


def test_it_draws_saves_and_goes_on_to_learn(tmp_path):
    columns = {"x": {"mean": [0.0, 4.0], "variance": [1.0, 1.0]}}
    model = NaiveBayes.from_parameters({"a": 0.5, "b": 0.5}, columns, rows=10)
    model.save(tmp_path / "m.json")
    loaded = naively.load(tmp_path / "m.json")
    assert loaded.predict_proba({"x": [1.0]}).tolist() == model.predict_proba({"x": [1.0]}).tolist()
    rows, classes = model.sample(4000, seed=0)
    assert abs(rows["x"][classes == "b"].mean() - 4.0) < 0.1
    model.partial_fit({"x": [10.0] * 5}, ["b"] * 5)  # five rows in the class, and five that the parameters are worth
    assert model.parameters()["x"]["mean"].tolist() == pytest.approx([0.0, 7.0])


@pytest.mark.parametrize(
    ("prior", "columns", "says"),
    [
        ([0.5, 0.5], {}, "prior must be a dict"),
        ({"a": 0.5, "b": 0.6}, {"x": {"rate": [1, 2]}}, "sum to 1"),
        ({"a": 1.0, "b": 0.0}, {"x": {"rate": [1, 2]}}, "above 0"),
        ({"a": 0.5, 2: 0.5}, {"x": {"rate": [1, 2]}}, "different types"),
        ({"a": 1.0}, {}, "columns must be a dict"),
        ({"a": 1.0}, {3: {"rate": [1]}}, "named by text"),
        ({"a": 1.0}, {"x": [1.0]}, "must be a dict"),
        ({"a": 1.0}, {"x": {"mean": [0]}}, "no family that could be guessed"),
        ({"a": 1.0}, {"x": {"family": "gaussian", "mean": [0]}}, "lacks 'variance'"),
        ({"a": 1.0}, {"x": {"mean": [0], "variance": [0]}}, "variance must be above 0"),
        ({"a": 1.0}, {"x": {"mean": [np.nan], "variance": [1]}}, "one finite number"),
        ({"a": 0.5, "b": 0.5}, {"x": {"mean": [0], "variance": [1]}}, "one finite number for each"),
        ({"a": 0.5, "b": 0.5}, {"x": {"mean": {"a": 0}, "variance": [1, 1]}}, "no number for the class 'b'"),
        ({"a": 1.0}, {"x": {"rate": [-1]}}, "rate must be 0 or more"),
        ({"a": 1.0}, {"x": {"family": "exponential", "rate": [0]}}, "above 0"),
        ({"a": 1.0}, {"x": {"probability": [1.5]}}, "from 0 to 1"),
        ({"a": 1.0}, {"x": {"probability": {"u": [0.5], "v": [0.6]}}}, "cannot be"),
        (
            {"a": 0.5, "b": 0.5},
            {"x": {"family": Gaussian(ties="all"), "mean": [0, 1], "variance": [1, 2]}},
            "it would be",
        ),
        ({"a": 1.0}, {"x": {"family": "kernel"}}, "cannot be made from given parameters"),
    ],
)
def test_what_are_no_parameters_is_refused(prior, columns, says):
    with pytest.raises(ParameterError, match=says):
        NaiveBayes.from_parameters(prior, columns)


def test_other_models_are_not_made():
    with pytest.raises(ParameterError, match="makes a NaiveBayes model, not a TAN"):
        TAN.from_parameters({"a": 1.0}, {"x": {"rate": [1]}})


# -- P(D | theta) -----------------------------------------------------------------------------------------------------


def test_the_log_likelihood_of_rows_is_that_of_scipy():
    X, y = data()
    model = NaiveBayes("textbook", families=FAMILIES).fit(X, y)
    found, weights = model.parameters(), np.linspace(0, 2, N)
    code = np.searchsorted(model.classes_, y)
    logs = np.log(model.class_prior_)[code]
    logs = logs + stats.norm.logpdf(X["g"], found["g"]["mean"][code], np.sqrt(found["g"]["variance"][code]))
    logs += [np.log(found["c"]["probability"][value][j]) for value, j in zip(X["c"], code, strict=True)]
    logs += stats.bernoulli.logpmf(X["b"], found["b"]["probability"][code])
    logs += stats.poisson.logpmf(X["p"], found["p"]["rate"][code])
    logs += stats.expon.logpdf(X["e"], scale=1 / found["e"]["rate"][code])
    logs += stats.gamma.logpdf(X["ga"], found["ga"]["shape"][code], scale=found["ga"]["scale"][code])
    shares = np.stack([found["m1"]["probability"], found["m2"]["probability"]], axis=1)[code]
    counts = X[["m1", "m2"]].to_numpy()
    logs += stats.multinomial.logpmf(counts, counts.sum(axis=1), shares)
    np.testing.assert_allclose(model.log_likelihood(X, y, weights), weights @ logs, rtol=1e-10)


def test_what_is_learnt_has_the_greatest_likelihood():
    X, y = data()
    best = NaiveBayes("textbook", smoothing="none").fit(X[["g", "c"]], y)
    prior = dict(zip(best.classes_, best.class_prior_, strict=True))
    at_best = best.log_likelihood(X[["g", "c"]], y)
    assert at_best == pytest.approx(best.log_likelihood_, rel=1e-12)
    for factor in (0.9, 1.1):
        other = best.parameters()
        other["g"]["variance"] = other["g"]["variance"] * factor
        assert NaiveBayes.from_parameters(prior, other).log_likelihood(X[["g", "c"]], y) < at_best


def test_rows_without_a_chance_and_unknown_classes():
    coin = NaiveBayes.from_parameters({"c": 1.0}, {"x": {"probability": [1.0]}})
    assert coin.log_likelihood({"x": [0, 1]}, ["c", "c"]) == -np.inf
    assert coin.log_likelihood({"x": [0, 1]}, ["c", "c"], [0.0, 1.0]) == 0.0
    with pytest.raises(ParameterError, match="y must be one of the classes 'c'"):
        coin.log_likelihood({"x": [0]}, ["d"])
    with pytest.raises(RecipeError, match="textbook"):
        NaiveBayes().fit([[1.0], [2.0]], [0, 1]).log_likelihood([[1.0]], [0])


# -- P(theta | D) -----------------------------------------------------------------------------------------------------


def test_posteriors_are_those_of_conjugate_priors():
    X, y = data()
    rest = [name for name in X if name != "ga"]
    model = NaiveBayes("textbook", families={n: f for n, f in FAMILIES.items() if n != "ga"}, prior_smoothing=2)
    found = model.fit(X[rest], y).posterior()
    own = X[y == "v"]
    n = len(own)
    np.testing.assert_allclose(found.class_prior.alpha, [(y == k).sum() + 2 for k in "uvw"])
    counts = [(own["c"] == value).sum() + 1 for value in "abc"]
    np.testing.assert_allclose(found.columns["c"]["probability"]["v"].alpha, counts)
    assert found.columns["b"]["probability"]["v"].args == (own["b"].sum() + 1, n - own["b"].sum() + 1)
    rate = found.columns["p"]["rate"]["v"]
    assert rate.mean() == pytest.approx((own["p"].sum() + X["p"].mean()) / (n + 1))
    assert found.columns["e"]["rate"]["v"].mean() == pytest.approx((n + 1) / (own["e"].sum() + X["e"].mean()))
    mean, variance = (found.columns["g"][name]["v"] for name in ("mean", "variance"))
    s2 = own["g"].var(ddof=1)
    assert mean.interval(0.9) == pytest.approx(stats.t(n - 1, own["g"].mean(), np.sqrt(s2 / n)).interval(0.9))
    assert variance.mean() == pytest.approx((n - 1) * s2 / (n - 3))
    share = found.columns["m1"]["probability"]["v"]
    assert share.args == pytest.approx((own["m1"].sum() + 1, own["m2"].sum() + 1))
    frame = found.frame()
    assert list(frame) == ["column", "class", "parameter", "value", "mean", "low", "high"]
    assert (frame["low"] < frame["mean"]).all() and (frame["mean"] < frame["high"]).all()  # noqa: PT018


def test_shared_variances_have_one_posterior():
    X, y = data()
    found = NaiveBayes("textbook", families=Gaussian(ties="feature")).fit(X[["g"]], y).posterior().columns["g"]
    freedom = N - 3
    scatter = sum(((X["g"][y == k] - X["g"][y == k].mean()) ** 2).sum() for k in "uvw")
    assert [d.mean() for d in found["variance"].values()] == pytest.approx([scatter / (freedom - 2)] * 3)


@pytest.mark.parametrize(
    ("smoothing", "args"), [(Beta(3, 2), (6, 3)), (Beta(3, 2, "mean"), (6, 3)), ("laplace", (4, 2)), (0.5, (3.5, 1.5))]
)
def test_the_smoothing_says_the_prior(smoothing, args):
    model = NaiveBayes("textbook", families="bernoulli", smoothing=smoothing, prior="uniform")
    assert model.fit([[1], [1], [1], [0]], ["c"] * 4).posterior().columns["x0"]["probability"]["c"].args == args


@pytest.mark.parametrize(
    ("model", "X", "says"),
    [
        (NaiveBayes("textbook", smoothing="none"), [["a"], ["b"], ["a"]], "a value that a class never had"),
        (NaiveBayes("textbook"), [[1.0], [2.0], [3.0]], "less than two different values"),
        (NaiveBayes("textbook", families="kernel"), [[1.0], [2.0], [3.0]], "no posterior distribution"),
        (JointBayes(), [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]], "joins numbers"),
    ],
)
def test_posteriors_that_are_none_say_so(model, X, says):
    with pytest.raises(ParameterError, match=says):
        model.fit(X, [0, 1, 1]).posterior()


# -- P(D) -------------------------------------------------------------------------------------------------------------


@given(st.data())
def test_the_probability_of_the_data_is_the_product_of_predictions(data):
    """P(D) = P(d_1) P(d_2 | d_1) ...: the posterior mean predicts each row from those before."""
    n = data.draw(st.integers(1, 6))
    rows = data.draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), min_size=n + 1, max_size=n + 1))
    y = [0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 1, max_size=n - 1))]
    beta = data.draw(st.floats(0.1, 5))

    def learnt(k):
        families = {"x0": Categorical(["a", "b"]), "x1": "bernoulli"}
        rule = Dirichlet(beta, "mean")
        model = NaiveBayes("textbook", families=families, smoothing=rule, prior_smoothing=rule)
        return model.partial_fit([list(row) for row in rows[:k]], y[:k], classes=[0, 1])

    step = learnt(n).log_likelihood([list(rows[n])], [y[n]])
    assert learnt(n + 1).log_marginal_likelihood_ - learnt(n).log_marginal_likelihood_ == pytest.approx(step, abs=1e-9)


def test_the_probability_of_the_data_is_the_integral_over_theta():
    X, y, prior = {"x": [1, 1, 1, 0]}, ["c"] * 4, stats.beta(2.0, 3.0)
    model = NaiveBayes("textbook", families="bernoulli", smoothing=Beta(2, 3), prior={"c": 1.0}).fit(X, y)

    def joint(theta):
        given = NaiveBayes.from_parameters({"c": 1.0}, {"x": {"probability": [theta]}})
        return np.exp(given.log_likelihood(X, y)) * prior.pdf(theta)

    assert np.exp(model.log_marginal_likelihood_) == pytest.approx(integrate.quad(joint, 0, 1, limit=20)[0], rel=1e-6)
    at = 0.3
    assert joint(at) / np.exp(model.log_marginal_likelihood_) == pytest.approx(
        model.posterior().columns["x"]["probability"]["c"].pdf(at)
    )


def test_a_tree_of_one_column_is_a_column():
    X, y = data()
    plain = NaiveBayes("textbook", prior_smoothing=1).fit(X[["c"]], y).log_marginal_likelihood_
    assert TAN(prior_smoothing=1).fit(X[["c"]], y).log_marginal_likelihood_ == pytest.approx(plain)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "prior_smoothing='laplace'"),
        ({"prior": "uniform", "smoothing": "none"}, "a prior of 0"),
        ({"prior": "uniform", "smoothing": MEstimate(1, "marginal")}, "taken from the data"),
        ({"prior": "uniform", "families": "codes", "smoothing": MEstimate(1, "classes")}, "taken from the data"),
    ],
)
def test_without_a_prior_the_data_have_no_probability(options, says):
    X = [[0], [1], [1]] if "families" in options else [["a"], ["b"], ["b"]]
    with pytest.raises(RecipeError, match=says):
        _ = NaiveBayes("textbook", **options).fit(X, [0, 1, 1]).log_marginal_likelihood_


def test_numbers_have_no_proper_prior():
    model = NaiveBayes("textbook", prior="uniform").fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    with pytest.raises(RecipeError, match="no prior under which"):
        _ = model.log_marginal_likelihood_
