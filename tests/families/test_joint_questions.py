"""Columns that are read together answer what columns that stand alone do: likelihood, draws, uncertainty."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, multivariate_normal, wishart

from naively import TAN, JointBayes, NaiveBayes
from naively.errors import ParameterError, RecipeError
from naively.families import Joint
from naively.smoothing import MEstimate


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    a = np.where(rng.random(n) < 0.3 + 0.3 * y, "u", "v")
    x = rng.normal(size=n) + y
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(n) < 0.7, a, "w"), "x": x})
    frame["z"] = x + rng.normal(size=n) * (0.5 + y)
    return frame, y


MODELS = {
    "labels": (JointBayes(), ["a", "b"]),
    "numbers": (JointBayes(), ["z", "x"]),
    "both": (JointBayes(ddof=1), ["x", "b", "z", "a"]),
    "shared by classes": (JointBayes(ties="class"), ["a", "x", "z"]),
    "shared by all": (JointBayes(ties="all", smoothing="none"), ["a", "x"]),
    "two factors": (NaiveBayes("textbook", factors=[Joint("b", "a"), Joint("x", "z")]), ["a", "b", "x", "z"]),
    "one factor": (NaiveBayes("textbook", factors=[Joint("z", "a")]), ["a", "b", "x", "z"]),
    "tree of labels": (TAN(), ["a", "b"]),
    "tree": (TAN(bins=4, smoothing="none"), ["a", "x", "b", "z"]),
}
each = pytest.mark.parametrize("name", MODELS)


def fitted(name):
    model, columns = MODELS[name]
    X, y = table()
    return model.fit(X[columns], y), X[columns], y


@each
def test_the_log_likelihood_is_that_of_the_rows(name):
    model, X, y = fitted(name)
    of_rows = model.predict_joint_log_proba(X)[np.arange(len(y)), y].sum()
    np.testing.assert_allclose(model.log_likelihood_, of_rows, rtol=1e-10)
    assert model.aic_ == 2 * model.n_parameters_ - 2 * model.log_likelihood_


@given(st.data())
def test_the_log_likelihood_of_any_small_table_is_that_of_its_rows(data):
    n = data.draw(st.integers(1, 12))
    labels = data.draw(st.lists(st.tuples(*[st.sampled_from("uvw")] * 3), min_size=n, max_size=n))
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weights = np.array(data.draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n)))
    tau = data.draw(st.sampled_from([0.01, 1.0, "marginal"]))
    from naively.smoothing import MEstimate

    smoothing = MEstimate(1, "marginal") if tau == "marginal" else tau
    for model in (JointBayes(smoothing=smoothing), TAN(smoothing=tau if tau != "marginal" else 1.0)):
        model.fit(labels, y, sample_weight=weights)
        codes = np.searchsorted(model.classes_, y)
        of_rows = weights @ model.predict_joint_log_proba(labels)[np.arange(n), codes]
        np.testing.assert_allclose(model.log_likelihood_, of_rows, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [JointBayes(), TAN()])
def test_a_missing_cell_leaves_no_log_likelihood(model):
    X, y = table()
    X.loc[3, "a"] = None
    with pytest.raises(RecipeError, match="rows where some of them are missing are not kept"):
        _ = model.fit(X[["a", "b"]], y).log_likelihood_


@pytest.mark.parametrize("model", [JointBayes(), TAN(), JointBayes(smoothing="none")], ids=["joint", "tree", "plain"])
def test_combinations_are_drawn_as_often_as_they_are_probable(model):
    X, y = table()
    model.fit(X[["a", "b"]], y)
    every = list(product("uv", "uvw"))
    chances = model.class_prior_ * np.exp(model.evidence(pd.DataFrame(every, columns=["a", "b"])).sum(axis=1))
    rows, classes = model.sample(20_000, seed=0)
    drawn = [((rows["a"] == a) & (rows["b"] == b) & (classes == j)).sum() for a, b in every for j in (0, 1)]
    possible = chances.ravel() > 0
    assert np.array(drawn)[~possible].sum() == 0
    assert chisquare(np.array(drawn)[possible], 20_000 * chances.ravel()[possible]).pvalue > 1e-4


def test_combinations_that_never_occurred_are_drawn_among_very_many():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (50, 30)).astype(str), np.arange(50) % 2
    model = JointBayes(smoothing=1e-28).fit(X, y)  # 9^30 combinations, which together have half of the probability
    rows, _ = model.sample(2000, seed=1)
    learnt = set(map(tuple, X.tolist()))
    new = np.mean([tuple(row) not in learnt for row in rows.tolist()])
    share = 1e-28 * 9**30 / (25 + 1e-28 * 9**30)
    assert abs(new - share) < 4 * np.sqrt(share * (1 - share) / 2000)


@each
def test_what_is_learnt_from_drawn_rows_is_what_they_were_drawn_from(name):
    model, X, _ = fitted(name)
    rows, classes = model.sample(30_000, seed=1)
    assert list(rows.columns) == list(X.columns)
    options = {"cuts": model.cuts_} if isinstance(model, TAN) else {}
    again = type(model)(**{**model.get_params(), **options}).fit(rows, classes)
    assert np.abs(again.predict_proba(X) - model.predict_proba(X)).max() < 0.08
    error = model.bayes_error(20_000, seed=2)
    assert abs(error.error - np.mean(model.predict(rows) != classes)) < 0.015


def test_the_bayes_error_of_combinations_is_exact_in_the_limit():
    X, y = table()
    model = JointBayes().fit(X[["a", "b"]], y)
    joint = np.exp(model.predict_joint_log_proba(pd.DataFrame(list(product("uv", "uvw")), columns=["a", "b"])))
    found = model.bayes_error(50_000, seed=0)
    assert abs(found.error - (1 - joint.max(axis=1).sum())) < 4 * found.standard_error


def test_intervals_of_combinations_agree_with_draws_from_the_posterior():
    X, y = table(60)
    model = JointBayes(prior="uniform").fit(X[["a", "b"]], y)
    found = model.credible_interval(X[["a", "b"]][:1])[0, 1]
    rng = np.random.default_rng(0)
    cells = list(product("uv", "uvw"))
    row = cells.index(tuple(X[["a", "b"]].iloc[0]))
    draws = []
    for code in (0, 1):
        own = X[y == code]
        counts = np.array([((own["a"] == a) & (own["b"] == b)).sum() for a, b in cells])
        draws.append(rng.dirichlet(counts + 1.0, 100_000)[:, row])
    chance = draws[1] / (draws[0] + draws[1])
    np.testing.assert_allclose(found, np.quantile(chance, [0.025, 0.975]), atol=0.03)


@pytest.mark.parametrize("known", [("x", "z"), ("z",)], ids=["all known", "one missing"])
def test_intervals_of_normal_vectors_agree_with_draws_from_the_posterior(known):
    X, y = table(200)
    model = JointBayes(prior="uniform").fit(X[["x", "z"]], y)
    row = pd.DataFrame({"x": [0.8 if "x" in known else np.nan], "z": [1.9]})
    found = model.credible_interval(row)[0, 1]
    rng, draws = np.random.default_rng(0), []
    places = [["x", "z"].index(name) for name in known]
    for code in (0, 1):
        own = X.loc[y == code, ["x", "z"]].to_numpy()
        n, mean, scatter = len(own), own.mean(axis=0), np.cov(own.T, ddof=0) * len(own)
        densities = []
        for precision in wishart(n - 1, np.linalg.inv(scatter * (n - 1) / n)).rvs(3000, random_state=rng):
            covariance = np.linalg.inv(precision)
            centre = rng.multivariate_normal(mean, covariance / n)
            part = covariance[np.ix_(places, places)]
            densities.append(multivariate_normal(centre[places], part).logpdf(row[list(known)].to_numpy()[0]))
        draws.append(np.array(densities))
    log_odds, ends = draws[1] - draws[0], np.log(found / (1 - found))  # normal, by its mean and variance
    np.testing.assert_allclose(ends.mean(), log_odds.mean(), atol=4 * log_odds.std() / np.sqrt(3000))
    np.testing.assert_allclose(np.diff(ends)[0] / 2 / 1.96, log_odds.std(), rtol=0.06)


def test_intervals_of_labels_and_numbers_agree_with_draws_from_the_posterior():
    """Combinations have a Dirichlet share, and within each the numbers are a normal vector of its own."""
    X, y = table(400)
    model = JointBayes(prior="uniform").fit(X[["a", "x", "z"]], y)
    row = pd.DataFrame({"a": ["u"], "x": [0.8], "z": [1.9]})
    found = model.credible_interval(row)[0, 1]
    rng, draws = np.random.default_rng(0), []
    for code in (0, 1):
        own = X[y == code]
        counts = np.array([(own["a"] == value).sum() for value in "uv"])
        share = np.log(rng.dirichlet(counts + 1.0, 3000)[:, 0])
        cell = own.loc[own["a"] == "u", ["x", "z"]].to_numpy()
        n, mean, scatter = len(cell), cell.mean(axis=0), np.cov(cell.T, ddof=0) * len(cell)
        densities = []
        for precision in wishart(n - 1, np.linalg.inv(scatter * (n - 1) / n)).rvs(3000, random_state=rng):
            covariance = np.linalg.inv(precision)
            centre = rng.multivariate_normal(mean, covariance / n)
            densities.append(multivariate_normal(centre, covariance).logpdf([0.8, 1.9]))
        draws.append(share + densities)
    log_odds, ends = draws[1] - draws[0], np.log(found / (1 - found))
    np.testing.assert_allclose(ends.mean(), log_odds.mean(), atol=4 * log_odds.std() / np.sqrt(3000))
    np.testing.assert_allclose(np.diff(ends)[0] / 2 / 1.96, log_odds.std(), rtol=0.06)


def test_a_combination_of_few_rows_has_no_covariance_of_its_own():
    X, y = table(12)
    model = JointBayes().fit(X[["b", "x", "z"]], y)
    with pytest.raises(ParameterError, match="combination of labels that has, in a class, less than 4 rows"):
        model.credible_interval(X[["b", "x", "z"]])


def test_intervals_of_labels_alone_where_no_number_is_known():
    X, y = table(100)
    both, labels = JointBayes().fit(X[["a", "b", "x"]], y), JointBayes().fit(X[["a", "b"]], y)
    asked = X[["a", "b"]][:5]
    expected = labels.credible_interval(asked)
    np.testing.assert_allclose(both.credible_interval(asked.assign(x=np.nan)), expected, rtol=1e-12)


def test_intervals_of_a_tree_are_narrow_with_many_rows_and_hold_the_answer():
    X, y = table(400)
    columns = ["a", "b", "x"]
    few, many = TAN(cuts={"x": [0.0, 1.0]}).fit(X[columns], y), TAN(cuts={"x": [0.0, 1.0]})
    many.fit(pd.concat([X[columns]] * 50), np.tile(y, 50))
    widths = []
    for model in (few, many):
        bounds, p = model.credible_interval(X[columns][:20]), model.predict_proba(X[columns][:20])
        assert ((bounds[..., 0] < p) & (p < bounds[..., 1])).all()
        widths.append(np.diff(bounds, axis=2).mean())
    assert widths[1] < widths[0] / 5


@pytest.mark.parametrize(
    ("model", "columns", "hidden", "says"),
    [
        (JointBayes(), ["a", "x"], "a", "sums over labels that are missing"),
        (JointBayes(ties="class"), ["x", "z"], None, "shares covariances"),
        (TAN(), ["a", "b"], "a", "depends on 'a', which is missing"),
    ],
)
def test_what_has_no_closed_form_says_so(model, columns, hidden, says):
    X, y = table()
    asked = X[columns][:2].copy()
    if hidden is not None:
        asked[hidden] = None
    with pytest.raises(ParameterError, match=says):
        model.fit(X[columns], y).credible_interval(asked)


@pytest.mark.parametrize("model", [JointBayes(), TAN(), NaiveBayes("textbook", factors=[Joint("a", "b")])])
def test_cells_that_depend_on_others_are_not_filled_in(model):
    X, y = table()
    with pytest.raises(ParameterError, match="read together with others"):
        model.fit(X[["a", "b"]], y).impute(X[["a", "b"]].assign(a=None))
    with pytest.raises(ParameterError, match="read together with others"):
        model.impute_proba(X[["a", "b"]], "a")


# -- The posterior of the parameters --------------------------------------------------------------------------------


def labelled(n=200):
    frame, y = table(n)
    return frame[["a", "b"]].assign(c=np.where(frame["x"] > 0.5, "p", "q")), y


@pytest.mark.parametrize("smoothing", ["laplace", 0.5, MEstimate(3), MEstimate(2, "marginal")])
def test_the_posterior_of_combinations_has_the_estimate_as_its_mean(smoothing):
    X, y = labelled()
    model = NaiveBayes("textbook", factors=[Joint("c", "a")], smoothing=smoothing).fit(X, y)
    found, estimated = model.posterior(), model.parameters()["c & a"]["probability"]
    assert list(found.columns) == ["b", "c & a"]
    for code, label in enumerate(model.classes_.tolist()):
        mean = found.columns["c & a"]["probability"][label].mean()
        assert dict(zip(found.values["c & a"], mean, strict=True)) == pytest.approx(
            {key: shares[code] for key, shares in estimated.items()}
        )
    counts = pd.crosstab([X["c"], X["a"]], y)[1]
    if smoothing == "laplace":
        np.testing.assert_allclose(found.columns["c & a"]["probability"][1].alpha, counts.to_numpy() + 1.0)
    frame = found.frame()
    assert (frame["low"] < frame["mean"]).all()
    assert {"('p', 'u')", "('q', 'v')"} <= set(frame["value"])


def test_combinations_that_never_occurred_are_among_them():
    model = JointBayes().fit(pd.DataFrame({"a": ["u", "v"], "b": ["s", "t"]}), [0, 0])
    found = model.posterior()
    assert dict(zip(found.values["a & b"], found.columns["a & b"]["probability"][0].alpha, strict=True)) == {
        ("u", "s"): 2, ("u", "t"): 1, ("v", "s"): 1, ("v", "t"): 2,
    }  # fmt: skip


@pytest.mark.parametrize("smoothing", ["laplace", 0.5, MEstimate(3)])
def test_the_posterior_of_a_tree_has_the_estimate_as_its_mean(smoothing):
    X, y = labelled()
    model = TAN(smoothing=smoothing).fit(X, y)
    found, estimated = model.posterior(), model.parameters()
    assert list(found.columns) == list(X)
    for name in X:
        one = estimated[name]
        given = [""] if one["parent"] is None else [f" given {one['parent']}: {value}" for value in one["given"]]
        probability = one["probability"][:, None] if one["parent"] is None else one["probability"]
        assert list(found.columns[name]) == [f"probability{which}" for which in given]
        assert list(found.values[name]) == list(one["values"])
        for code, label in enumerate(model.classes_.tolist()):
            means = [by_class[label].mean() for by_class in found.columns[name].values()]
            np.testing.assert_allclose(means, probability[code])
    assert (found.frame()["low"] < found.frame()["high"]).all()


def test_the_posterior_of_a_tree_of_bins_names_them():
    X, y = table()
    frame = TAN().fit(X, y).posterior().frame()
    assert frame["parameter"].str.startswith("probability").all()
    assert frame.loc[frame["column"] == "x", "value"].str.contains("[<>≤≥]|to|\\.").all()


def test_posteriors_that_are_not_told():
    X, y = table()
    with pytest.raises(ParameterError, match="which joins numbers, whose means and covariances"):
        JointBayes().fit(X[["x", "z"]], y).posterior()
    wide = pd.DataFrame({name: [f"{name}{row}" for row in range(30)] for name in "abc"})
    with pytest.raises(ParameterError, match="more than 10,000 combinations"):
        JointBayes().fit(wide, np.arange(30) % 2).posterior()
    with pytest.raises(ParameterError, match="no pseudo-count for it"):
        TAN(smoothing="none").fit(X[["a", "b"]], X["b"]).posterior()
