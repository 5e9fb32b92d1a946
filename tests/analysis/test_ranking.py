"""Ranking of columns: each score against an independent computation."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

from naively import NaiveBayes
from naively.errors import ParameterError, RecipeError
from naively.families import Bernoulli, Binned, Gaussian, Kernel, Poisson, Stacked, StudentT
from naively.statistics._information import information_by_chance, mutual_information, symmetric_uncertainty
from tests.models import textbook
from tests.strategies import cases


def scores(model, by):
    frame = model.rank_features(by)
    assert list(frame["score"]) == sorted(frame["score"], reverse=True)
    found = frame["score"] + frame["by_chance"] if by == "information" else frame["score"]
    return dict(zip(frame["column"], found, strict=True))


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    y = rng.choice(3, 400, p=[0.5, 0.3, 0.2])
    return {
        "colour": np.array(list("pqrst"))[(y + rng.integers(0, 3, 400)) % 5].tolist(),
        "flag": (rng.random(400) < 0.3 + 0.2 * y).tolist(),
        "size": (rng.normal(size=400) * (1 + y) + y).tolist(),
        "events": rng.poisson(1 + 2 * y).tolist(),
        "noise": rng.normal(size=400).tolist(),
    }, y


# -- information ----------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_information_of_counts(rows):
    counts = np.array(rows, dtype=float)
    codes = np.repeat(np.arange(counts.size), counts.ravel().astype(int))
    expected = mutual_info_score(codes // 3, codes % 3) / np.log(2) if len(codes) else 0.0
    assert mutual_information(counts) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=2, max_size=40))
def test_information_by_chance_is_the_mean_over_all_tables_with_these_margins(rows):
    table = np.zeros((3, 5))
    np.add.at(table, tuple(np.array(rows).T), 1.0)
    expected = expected_mutual_information(table[table.any(axis=1)][:, table.any(axis=0)].astype(np.int64), len(rows))
    assert information_by_chance(table) == pytest.approx(expected / np.log(2), abs=1e-9)


def test_information_by_chance_of_frequent_values_is_that_of_the_chi_square_distribution():
    table = np.array([[3000.0, 2000.0, 1500.0], [2500.0, 4000.0, 1100.0]])
    assert information_by_chance(table) == pytest.approx(2 / (2 * table.sum() * np.log(2)), rel=1e-3)
    assert information_by_chance(table + 0.5) == pytest.approx(information_by_chance(table), rel=1e-3)
    assert information_by_chance(np.round(table / 3)) == pytest.approx(3 * information_by_chance(table), rel=0.01)


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto"])
def test_chance_does_not_rank_high(recipe):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    X = {
        "id": [f"id {number}" for number in range(1000)],
        "noise": [f"v{number}" for number in rng.integers(0, 100, 1000)],
        "pairs": [f"p{number}" for number in np.arange(1000) // 2],
        "weak": np.where(rng.random(1000) < 0.7, y, 1 - y).astype(str).tolist(),
        "number": rng.normal(size=1000).tolist(),
    }
    frame = NaiveBayes(recipe).fit(X, y).rank_features()
    assert frame["column"][0] == "weak"
    assert (frame["score"][1:] < 0.02).all()
    found = NaiveBayes(recipe).fit(X, y).rank_features("likelihood_ratio").set_index("column")["p_value"]
    assert found["id"] == 1.0
    assert found["weak"] < 1e-10
    assert (found[["noise", "pairs", "number"]] > 0.001).all()


def test_labels_and_booleans_are_exact(sample):
    table, y = sample
    model = textbook(families={"flag": Bernoulli(), "events": Poisson()}).fit(table, y)
    found = scores(model, "information")
    for name in ("colour", "flag"):
        assert found[name] == pytest.approx(mutual_info_score(y, table[name]) / np.log(2), rel=1e-12)


@pytest.mark.parametrize(
    "families", [Gaussian(), Gaussian(ties="feature", ddof=1), StudentT(), StudentT(True)], ids=repr
)
def test_densities_are_integrated(sample, families):
    table, y = sample
    X = np.column_stack([table["size"], table["noise"]])
    model = textbook(families=families).fit(X, y)
    described, shares = model.parameters(), model.class_prior_
    found = scores(model, "information")
    for name in ("x0", "x1"):
        column = described[name]
        if "mean" in column:
            densities = [stats.norm(m, np.sqrt(v)) for m, v in zip(column["mean"], column["variance"], strict=True)]
        else:
            parts = (column["freedom"], column["location"], column["scale"])
            densities = [stats.t(*part) for part in zip(*parts, strict=True)]

        def gain(x, densities=densities):
            joint = shares * np.array([density.pdf(x) for density in densities])
            return special.rel_entr(joint, shares * joint.sum()).sum() / np.log(2)

        expected = integrate.quad(gain, -60, 60, limit=400, points=[-5, 0, 5])[0]
        assert found[name] == pytest.approx(expected, rel=2e-4 if "freedom" in column else 1e-7, abs=1e-9)


def test_very_different_spreads_are_integrated():
    y = np.repeat([0, 1], 500)
    z = stats.norm.ppf((np.arange(500) + 0.5) / 500)
    X = np.concatenate([z, 1e-4 * z + 0.5])[:, None]
    found = scores(textbook().fit(X, y), "information")["x0"]
    assert 0.99 < found < 1  # a needle in a haystack tells almost surely


def test_poisson_rates(sample):
    table, y = sample
    model = textbook(families={"events": Poisson()}).fit({"events": table["events"]}, y)
    rates = [np.mean(np.array(table["events"])[y == code]) for code in range(3)]
    joint = np.bincount(y)[:, None] * stats.poisson.pmf(np.arange(80), np.array(rates)[:, None])
    assert scores(model, "information")["events"] == pytest.approx(mutual_information(joint), rel=1e-10)
    large = textbook(families=Poisson()).fit([[20000], [20100], [21000], [21100]], [0, 0, 1, 1])
    assert scores(large, "information")["x0"] > 0.99


def test_bins_and_histograms(sample):
    table, y = sample
    x = np.array(table["size"])[:, None]
    cuts = np.quantile(x, np.arange(1, 10) / 10)
    expected = mutual_info_score(y, np.searchsorted(cuts, x[:, 0])) / np.log(2)
    for model in (textbook(families=Binned(10)), textbook(families=Kernel()), NaiveBayes("auto"), NaiveBayes("strong")):
        assert scores(model.fit(x, y), "information")["x0"] == pytest.approx(expected, rel=0.02)
    three = textbook(families=Binned(3)).fit(x, y)
    bins = np.searchsorted(three.parameters()["x0"]["cuts"], x[:, 0], side="right")
    assert scores(three, "information")["x0"] == pytest.approx(mutual_info_score(y, bins) / np.log(2), rel=1e-12)


def test_a_word_is_one_event_among_all():
    X, y = np.array([[3, 1], [0, 4]]), [0, 1]
    expected = mutual_information(np.array([[1.0, 3.0], [4.0, 0.0]]))
    assert scores(textbook(families="multinomial").fit(X, y), "information")["x0"] == pytest.approx(expected, rel=1e-12)


@given(cases())
def test_information_is_between_nothing_and_the_entropy_of_the_class(case):
    model = case.fitted()
    for by in ("information", "likelihood_ratio", "effect"):
        found = scores(model, by)
        assert all(score >= 0 for score in found.values())
        assert set(found) == set(case.query)
        if by == "information":
            assert all(score <= np.log2(len(model.classes_)) + 1e-6 for score in found.values())


def test_only_known_cells_count():
    rows = {"x": ["p", "p", "q", "q", None, None], "z": [None] * 6}
    found = scores(textbook().fit(rows, [0, 0, 1, 1, 0, 1]), "information")
    assert found == {"x": 1.0, "z": 0.0}


# -- likelihood ratio -----------------------------------------------------------------------------------------------


def test_the_g_statistic(sample):
    table, y = sample
    frame = textbook().fit({"colour": table["colour"]}, y).rank_features("likelihood_ratio")
    expected = stats.chi2_contingency(pd.crosstab(y, table["colour"]), lambda_="log-likelihood")
    assert frame["score"][0] == pytest.approx(expected.statistic, rel=1e-10)
    assert frame["freedom"][0] == expected.dof == 8
    assert frame["p_value"][0] == pytest.approx(expected.pvalue, rel=1e-8)


@pytest.mark.parametrize(("ties", "freedom"), [("none", 4), ("feature", 2), ("all", 2), ("class", 4)])
def test_the_likelihood_ratio_of_normal_columns(sample, ties, freedom):
    table, y = sample
    x = np.array(table["size"])
    parts = [x[y == code] for code in range(3)]
    within = np.sqrt(sum(len(part) * part.var() for part in parts) / len(x))
    together = stats.norm(x.mean(), x.std()).logpdf(x).sum()
    apart = sum(stats.norm(part.mean(), part.std() if freedom == 4 else within).logpdf(part).sum() for part in parts)
    frame = textbook(families=Gaussian(ties=ties)).fit(x[:, None], y).rank_features("likelihood_ratio")
    assert frame["score"][0] == pytest.approx(2 * (apart - together), rel=1e-10)
    assert frame["freedom"][0] == freedom
    assert frame["p_value"][0] == pytest.approx(stats.chi2.sf(2 * (apart - together), freedom), rel=1e-8)


def test_the_likelihood_ratio_of_rates(sample):
    table, y = sample
    x = np.array(table["events"])
    apart = sum(stats.poisson(x[y == code].mean()).logpmf(x[y == code]).sum() for code in range(3))
    frame = textbook(families=Poisson()).fit(x[:, None], y).rank_features("likelihood_ratio")
    assert frame["score"][0] == pytest.approx(2 * (apart - stats.poisson(x.mean()).logpmf(x).sum()), rel=1e-10)
    assert frame["freedom"][0] == 2


@pytest.mark.parametrize(
    "families", [Gaussian(), Gaussian(ties="feature"), "bernoulli", Binned(4), Stacked()], ids=repr
)
def test_p_values_are_uniform_where_nothing_differs(families):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 300)), rng.integers(0, 2, 400)
    found = textbook(families=families).fit(X, y).rank_features("likelihood_ratio")["p_value"]
    assert stats.kstest(found, "uniform").pvalue > 0.001


def test_a_class_of_one_row_proves_nothing():
    frame = textbook().fit([[1.0], [2.0], [4.0], [3.0], [9.0]], [0, 0, 0, 0, 1]).rank_features("likelihood_ratio")
    assert (frame["score"][0], frame["freedom"][0], frame["p_value"][0]) == (0, 0, 1)


# -- effect and weight ----------------------------------------------------------------------------------------------


def test_the_effect_is_the_weight_times_the_deviation(sample):
    table, y = sample
    X = np.column_stack([table["size"], table["noise"]])
    model = textbook(families=Gaussian(ties="feature")).fit(X, y)
    effect, weight = scores(model, "effect"), scores(model, "weight")
    for name in ("x0", "x1"):
        deviation = np.sqrt(model.parameters()[name]["variance"][0])
        assert effect[name] == pytest.approx(weight[name] * deviation, rel=1e-12)


def test_units_change_weights_and_not_effects(sample):
    table, y = sample
    X = np.column_stack([table["size"], table["noise"]])
    metres, millimetres = (
        textbook(families=Gaussian(ties="feature")).fit(X * [unit, 1], y) for unit in (0.001, 1000.0)
    )
    assert next(iter(scores(metres, "weight"))) == "x0"
    assert next(iter(scores(millimetres, "weight"))) == "x1"
    for by in ("effect", "information", "likelihood_ratio"):
        first, second = scores(metres, by), scores(millimetres, by)
        assert list(first) == list(second) == ["x0", "x1"]
        np.testing.assert_allclose(list(first.values()), list(second.values()), rtol=1e-9)


def test_the_effect_of_a_histogram_is_that_of_the_numbers(sample):
    table, y = sample
    x = np.array(table["size"])[:, None]
    expected = scores(textbook().fit(x, y), "effect")["x0"]
    assert scores(textbook(families=Binned()).fit(x, y), "effect")["x0"] == pytest.approx(expected, rel=1e-6)
    assert scores(NaiveBayes("fast").fit(x, y), "effect")["x0"] == pytest.approx(expected, rel=1e-12)


def test_a_boolean_is_the_same_as_label_flag_and_number(sample):
    table, y = sample
    flag = np.array(table["flag"])[:, None]
    families = ["categorical", "bernoulli", "gaussian"]
    found = [scores(textbook(families=family).fit(flag, y), "effect")["x0"] for family in families]
    np.testing.assert_allclose(found, found[0], rtol=1e-9)
    found = [scores(textbook(families=family).fit(flag, y), "weight")["x0"] for family in families[:2]]
    np.testing.assert_allclose(found, found[0], rtol=1e-12)


def test_perfect_separation_has_an_infinite_effect():
    found = scores(textbook().fit({"x": ["p", "p", "q"], "z": [1.0, 1.0, 2.0], "u": ["r"] * 3}, [0, 0, 1]), "effect")
    assert found == {"x": np.inf, "z": np.inf, "u": 0.0}


def test_weights_are_of_any_two_classes():
    X, y = np.array([[0.0, 1.0], [2.0, 2.0], [10.0, 1.5]]), [0, 1, 2]
    X = np.concatenate([X - 0.5, X + 0.5])
    model = textbook(families=Gaussian(ties="feature")).fit(X, y * 2)
    assert scores(model, "weight") == {"x0": pytest.approx(10 / 0.25), "x1": pytest.approx(1 / 0.25)}


# -- the frame and what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd, pl])
def test_the_library_of_the_frame(sample, library):
    frame = textbook().fit(*sample).rank_features(like=library.DataFrame())
    assert isinstance(frame, library.DataFrame)
    assert list(frame.columns) == ["column", "score", "by_chance"]


def test_equal_columns_stay_in_their_order():
    X = np.tile([[1.0], [2.0], [5.0]], (1, 4))
    assert textbook().fit(X, [0, 0, 1]).rank_features()["column"].tolist() == ["x0", "x1", "x2", "x3"]


def test_what_is_refused(sample):
    model = textbook().fit(*sample)
    for by in ("merit", None, 3):
        with pytest.raises(
            ParameterError, match=r"by must be one of 'information', 'likelihood_ratio', 'effect', 'weig"
        ):
            model.rank_features(by)
    with pytest.raises(ParameterError, match=r"'size', 'events', 'noise'.*variance differs"):
        model.rank_features("weight")
    with pytest.raises(RecipeError, match="rank_features"):
        NaiveBayes("strong").fit(*sample).rank_features("weight")


def test_many_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(100), 5)
    frame = textbook().fit(np.column_stack([y + rng.normal(size=500), rng.normal(size=500)]), y).rank_features()
    assert frame["column"].tolist() == ["x0", "x1"]
    assert frame["score"].max() <= np.log2(100) + 1e-6


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=30))
def test_symmetric_uncertainty(rows):
    first, second, classes = np.array(rows).T
    parts = [np.flatnonzero(classes == code) for code in np.unique(classes)]
    shared = sum(len(part) * mutual_info_score(first[part], second[part]) for part in parts)
    each = sum(
        len(part) * (mutual_info_score(first[part], first[part]) + mutual_info_score(second[part], second[part]))
        for part in parts
    )
    expected = 2 * shared / each if each > 1e-12 else 0.0
    assert symmetric_uncertainty(first, second, classes) == pytest.approx(expected, abs=1e-9)


def test_very_large_rates_take_no_more_memory_than_small_ones():
    X, y = [[1e12], [1.1e12], [3e12], [3.1e12]], [0, 0, 1, 1]
    score = NaiveBayes("textbook", families="poisson").fit(X, y).rank_features()["score"][0]
    assert 0.0 < score <= 1.0
