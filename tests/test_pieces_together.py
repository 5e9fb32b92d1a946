"""What one part of the library makes, taken by the others: families, recipes, factors and the answers about them."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from naively import TAN, JointBayes, NaiveBayes, compat
from naively.analysis import drift
from naively.analysis._likelihood import parameter_counts
from naively.families import (
    Bernoulli,
    Categorical,
    Codes,
    Complement,
    Gaussian,
    Joint,
    Multinomial,
    Poisson,
    Thresholded,
)
from naively.plots import plot_decision_surface, plot_densities

matplotlib.use("Agg")


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[np.arange(n) % 3]
    shift = (y == "b") + 2.0 * (y == "c")
    columns = {
        "coat": np.where(rng.random(n) < 0.2 + 0.3 * shift, "plain", "spots"),
        "tail": np.where(rng.random(n) < 0.5, "long", "short"),
        "size": rng.normal(shift, 1.0),
        "weight": rng.normal(2 * shift, 1.0),
    }
    return columns, y


def counts(n=90, seed=1):
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b"])[np.arange(n) % 2]
    return rng.poisson(1.0 + 2.0 * (y == "b")[:, None], (n, 3)), y


# -- recipes and families -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["auto", "fast", "strong"])
@pytest.mark.parametrize(
    "family", [Poisson(), Bernoulli(None), Multinomial(), Complement(), Gaussian(interval=1.0), Thresholded()]
)
def test_a_recipe_weighs_any_family(recipe, family):
    X, y = counts()
    X = X > 0 if family == Bernoulli(None) else X
    model = NaiveBayes(recipe, families=family).fit(X, y)
    assert np.isfinite(model.loo()).all()
    assert model.calibration_.log_loss < np.log(2) + 0.02  # all columns grow alike: shares of a total tell nothing


# -- drift ----------------------------------------------------------------------------------------------------------


def test_drift_of_a_factor_of_numbers_beside_columns_of_labels():
    X, y = rows()
    X["size"] = np.where(np.arange(120) < 60, X["size"], X["size"] + 3)
    halves = [{name: cells[part] for name, cells in X.items()} for part in (slice(0, 60), slice(60, 120))]
    models = [
        NaiveBayes("textbook", factors=[Joint("size", "weight")]).fit(half, y[part])
        for half, part in zip(halves, (slice(0, 60), slice(60, 120)), strict=True)
    ]
    found = drift.compare(*models)
    assert {record["column"] for record in found} == {"prior", "coat", "tail", "size", "weight"}
    assert found[0]["column"] == "size"


# -- numbers of parameters ------------------------------------------------------------------------------------------


def test_the_full_joint_classifier_has_as_many_parameters_as_the_full_joint():
    X, y = rows()
    labels = {name: X[name] for name in ("coat", "tail")}
    found = parameter_counts(JointBayes().fit(labels, y))
    assert found.joint == (12, 11)
    assert found.naive_bayes == (12 + 3, 11)  # the prior is written down by itself
    assert parameter_counts(NaiveBayes("textbook").fit(labels, y)).joint == found.joint


@pytest.mark.parametrize(
    ("ties", "covariances"),
    [("none", 3 * 2), ("class", 3), ("all", 1)],
)
def test_parameters_of_a_factor_of_labels_and_numbers(ties, covariances):
    X, y = rows()
    model = NaiveBayes("textbook", factors=[Joint("coat", "size", "weight", ties=ties)]).fit(X, y)
    table, means, tail, prior = 3 * 1, 3 * 2 * 2, 3 * 1, 2
    assert model.n_parameters_ == table + means + covariances * 3 + tail + prior


def test_parameters_of_a_tree():
    X, y = rows()
    model = TAN().fit({name: X[name] for name in ("coat", "tail")}, y)
    assert parameter_counts(model).naive_bayes == (3 + 3 * 2 + 3 * 2 * 2, 2 + 3 + 3 * 2)
    assert parameter_counts(model).naive_bayes.free == parameter_counts(model).joint.free  # two columns: no assumption


def test_the_log_likelihood_of_a_factor_is_refused_for_what_it_is():
    X, y = rows()
    X["coat"] = [None, *X["coat"][1:]]  # rows with a missing member are not in the factor
    for model in (NaiveBayes("textbook", factors=[Joint("coat", "tail")]), JointBayes(), TAN()):
        with pytest.raises(AttributeError, match="read together with others"):
            model.fit(X, y).log_likelihood_  # noqa: B018


# -- what is expected of a cell -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [compat.e1071, compat.klar, compat.naivebayes])
def test_models_with_thresholds_fill_cells_as_those_without(make):
    X, y = rows()
    plain = NaiveBayes("textbook", smoothing="none", families={c: Gaussian(ddof=1) for c in ("size", "weight")})
    models = [model.fit(X, y) for model in (make(), plain)]
    holes = {"coat": ["plain", None], "tail": ["long", "long"], "size": [None, 1.0], "weight": [4.0, 2.0]}
    filled = [model.impute(holes) for model in models]
    assert np.isclose(filled[0]["size"][0], filled[1]["size"][0])
    assert filled[0]["coat"][1] == filled[1]["coat"][1]
    proba = [model.impute_proba(holes, "coat") for model in models]
    assert proba[0][0] == proba[1][0]
    np.testing.assert_allclose(proba[0][1], proba[1][1])


def test_codes_are_drawn_and_filled_as_the_categories_that_they_are():
    X, y = counts()
    codes = NaiveBayes("textbook", families=Codes(at_least=int(X.max()) + 1)).fit(X, y)
    same = NaiveBayes("textbook", families=Categorical(range(int(X.max()) + 1))).fit(X, y)
    np.testing.assert_array_equal(codes.sample(50, seed=3)[0], same.sample(50, seed=3)[0])
    holes = X[:4].astype(float)
    holes[:, 1] = np.nan
    assert not np.isnan(codes.impute(holes)).any()
    assert codes.bayes_error(500, seed=0).error < 0.5


# -- pictures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [compat.e1071, compat.klar, compat.naivebayes])
def test_labels_with_thresholds_are_drawn_as_bars(make):
    X, y = rows()
    ax = plot_densities(make().fit(X, y), "coat")
    assert ax.get_ylabel() == "probability"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["plain", "spots"]


def test_the_members_of_factors_have_no_picture_of_their_own_and_the_others_have():
    X, y = rows()
    model = NaiveBayes("textbook", factors=[Joint("size", "weight")]).fit(X, y)
    assert plot_densities(model, "coat").get_ylabel() == "probability"
    for one, column in ((model, "size"), (JointBayes().fit(X, y), "coat"), (TAN().fit(X, y), "weight")):
        with pytest.raises(ValueError, match=f"Column '{column}' is read together with others"):
            plot_densities(one, column)


@pytest.mark.parametrize("family", [Poisson(), Multinomial(), Complement()])
def test_surfaces_of_counts_begin_at_zero(family):
    X, y = counts()
    ax = plot_decision_surface(NaiveBayes("textbook", families=family).fit(X, y), X, y)
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0
    assert ax.get_xlim()[1] > X[:, 0].max()


# -- clear words ----------------------------------------------------------------------------------------------------


def test_rows_are_drawn_into_the_library_that_is_wanted():
    polars = pytest.importorskip("polars")
    X, y = rows()
    model = NaiveBayes("textbook").fit(X, y)
    drawn, labels = model.sample(20, seed=0, like=polars.DataFrame(X))
    assert isinstance(drawn, polars.DataFrame)
    usual, same = model.sample(20, seed=0)
    assert labels.tolist() == same.tolist()
    assert drawn["coat"].to_list() == usual["coat"].tolist()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model, X: model.sample(2, y="d"), "y must be one of the classes 'a', 'b', 'c', got 'd'"),
        (lambda model, X: plot_decision_surface(model, X, columns=None), "columns must be two names or positions"),
        (lambda model, X: drift.compare(model, NaiveBayes()), "not fitted yet"),
        (lambda model, X: drift.since(model, NaiveBayes()), "not fitted yet"),
        (lambda model, X: compat.e1071(laplace=-1), "laplace must be a finite number of at least 0, got -1"),
        (lambda model, X: compat.klar(fL="one"), "fL must be a finite number"),
        (lambda model, X: compat.naivebayes(laplace=None), "laplace must be a finite number"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_given(ask, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        ask(NaiveBayes("textbook").fit(X, y), X)


def test_trees_that_were_cut_apart_do_not_merge_and_say_how_they_would():
    X, y = rows()
    halves = [{name: cells[part] for name, cells in X.items()} for part in (slice(0, 60), slice(60, 120))]
    first = TAN().fit(halves[0], y[:60])
    with pytest.raises(ValueError, match=r"cuts=first.cuts_"):
        first + TAN().fit(halves[1], y[60:])
    merged = first + TAN(cuts=first.cuts_).fit(halves[1], y[60:])
    np.testing.assert_allclose(
        merged.predict_proba(X), TAN(cuts=first.cuts_).fit(X, y).predict_proba(X), rtol=1e-12, atol=1e-15
    )


# -- columns of which nothing is known ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "studentt", "kernel", "binned", "poisson"])
def test_nothing_is_expected_of_a_column_without_a_known_cell(family):
    X = np.column_stack([np.arange(1.0, 9.0), np.full(8, np.nan)])
    model = NaiveBayes("textbook", families=family).fit(X, [0, 1] * 4)
    X[0, 0] = np.nan
    filled = model.impute(X)
    assert not np.isnan(filled[:, 0]).any()
    assert np.isnan(filled[:, 1]).all()
    drawn, _ = model.sample(5, seed=0)
    assert np.isnan(drawn[:, 1]).all()
    assert not np.isnan(drawn[:, 0]).any()
    assert 0 <= model.bayes_error(50, seed=0).error <= 0.5


def test_variances_that_cannot_be_shared_are_refused_for_what_they_are():
    X = np.array([[1.0], [1.0], [2.0], [2.0], [np.nan]])
    model = NaiveBayes("textbook", families=Gaussian(ties="feature")).fit(X, ["a", "a", "b", "b", "c"])
    with pytest.raises(ValueError, match=r"column 'x0' \(Gaussian\(.*\) a class has no known value"):
        model.discriminant()
