"""Dependence given the class: what is found on tables made for it, and what is not."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, pearsonr

from naively import TAN, JointBayes, NaiveBayes
from naively.analysis.diagnostics import dependence, independence
from naively.errors import ForgetError, InputError, NaivelyWarning, ParameterError
from naively.families import Joint
from naively.statistics._independence import (
    _chi_square,
    _chi_square_moments,
    _occurring,
    conditional_mutual_information,
    independence_test,
    maximum_spanning_tree,
)
from tests.models import textbook


@pytest.fixture(scope="module")
def table():
    """Five columns: a copy with noise, a related label, and two that are independent given the class."""
    random = np.random.default_rng(1)
    n = 2000
    y = random.integers(0, 3, n)
    x = random.normal(size=n) + y
    frame = pd.DataFrame(
        {
            "noise": random.normal(size=n),
            "x": x,
            "mark": np.where(random.random(n) < 0.3, "p", "q"),
            "copy": x + 0.05 * random.normal(size=n),
            "sign": np.where(x + random.normal(size=n) > 1, "high", "low"),
        }
    )
    frame.loc[::50, "x"] = np.nan
    return frame, y


def test_a_copied_column_is_found_first_and_independent_ones_are_not(table):
    frame, y = table
    found = dependence(textbook().fit(frame, y), frame, y)
    assert found.loc[0, ["first", "second"]].tolist() == ["x", "copy"]
    assert set(map(tuple, found.loc[found["hurts"], ["first", "second"]].values)) <= {
        ("x", "copy"),
        ("copy", "sign"),
        ("x", "sign"),
    }
    assert found["gain"].is_monotonic_decreasing
    assert len(found) == 10
    innocent = found[found["first"].isin(["noise", "mark"]) | found["second"].isin(["noise", "mark"])]
    assert not innocent["hurts"].any()
    assert (innocent["corrected"].abs() < 0.02).all()
    assert found.loc[0, "correlation"] == pytest.approx(0.9987, abs=2e-3)
    assert found["correlation"].isna().sum() == 7


def test_independent_columns_give_no_alarm():
    random = np.random.default_rng(2)
    alarms = 0
    for _ in range(10):
        y = random.integers(0, 2, 400)
        X = np.column_stack([random.normal(size=(400, 3)) + y[:, None], random.integers(0, 3, 400)])
        alarms += dependence(textbook().fit(X, y), X, y)["hurts"].sum()
    assert alarms == 0


def test_the_overcount_of_a_copy_is_its_evidence():
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 20_000)
    x = np.where(random.random(20_000) < 0.2, 1 - y, y)
    X = np.column_stack([x, x])
    model = textbook(families="categorical").fit(X, y)
    found = dependence(model, X, y)
    evidence = model.evidence(X)[:, 0] / np.log(2)
    rows = np.arange(len(y))
    assert found.loc[0, "overcounted"] == pytest.approx((evidence[rows, y] - evidence[rows, 1 - y]).mean(), rel=0.01)
    assert found.loc[0, "information"] == pytest.approx(-(0.8 * np.log2(0.8) + 0.2 * np.log2(0.2)), abs=0.01)
    repaired = textbook(families="categorical", factors=[Joint(0, 1)]).fit(X, y)
    loss = [-np.log2(np.exp(one.loo(X, y))[rows, y]).mean() for one in (model, repaired)]
    assert found.loc[0, "gain"] == pytest.approx(loss[0] - loss[1], rel=0.02)


def test_a_joined_pair_hurts_no_more(table):
    frame, y = table
    joined = textbook(factors=[Joint("x", "copy", "sign")]).fit(frame, y)
    found = dependence(joined, frame, y)
    pair = found[(found["first"] == "x") & (found["second"] == "copy")]
    assert pair["p_value"].item() < 1e-10
    assert not pair["hurts"].item()


@pytest.mark.parametrize("model", [NaiveBayes("auto"), NaiveBayes("fast"), JointBayes(), TAN()])
def test_any_model_can_be_asked(model, table):
    frame, y = table[0][:400], table[1][:400]
    found = dependence(model.fit(frame, y), frame, y)
    assert len(found) == 10
    assert np.isfinite(found[["gain", "overcounted", "information", "p_value"]].to_numpy()).all()


def test_weights_are_repetitions_and_frames_stay_in_their_library(table):
    frame, y = table[0][:300], table[1][:300]
    weights = np.arange(300) % 3 + 1
    repeated, many = frame.loc[frame.index.repeat(weights)], np.repeat(y, weights)
    weighed = dependence(textbook().fit(frame, y, weights), frame, y, weights)
    again = dependence(textbook().fit(repeated, many), repeated, many)
    for name in ("information", "p_value", "correlation"):
        by_pair = [one.set_index(["first", "second"])[name].sort_index() for one in (weighed, again)]
        pd.testing.assert_series_equal(*by_pair)
    polar = dependence(textbook().fit(pl.from_pandas(frame), y), pl.from_pandas(frame), y)
    assert isinstance(polar, pl.DataFrame)
    assert polar["first"].to_list() == dependence(textbook().fit(frame, y), frame, y)["first"].to_list()


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, dict, lambda columns: pd.DataFrame(columns).to_dict("records")]
)
@pytest.mark.parametrize("recipe", ["textbook", "fast"])
def test_the_classes_may_be_a_column(make, recipe, table):
    columns = {name: table[0][name][1:40].tolist() for name in ("noise", "copy", "sign")}
    X, y = make({**columns, "kind": [f"k{code}" for code in table[1][1:40]]}), [f"k{code}" for code in table[1][1:40]]
    model = NaiveBayes(recipe).fit(columns, y)
    with_column, apart = dependence(model, X, "kind"), dependence(model, columns, y)
    assert list(with_column["gain"]) == list(apart["gain"])


def test_what_cannot_be_asked(table):
    frame, y = table
    model = textbook().fit(frame, y)
    with pytest.raises(ForgetError, match="never learnt"):
        dependence(model, frame, y + 1)
    with pytest.raises(InputError, match="two columns"):
        dependence(textbook().fit(frame[["x"]], y), frame[["x"]], y)
    with pytest.raises(ParameterError, match="bins"):
        dependence(model, frame, y, bins=1)
    with pytest.raises(InputError, match="sample_weight"):
        independence([1, 2], [1, 2], sample_weight=[1, -1])


def test_columns_of_very_many_values_are_left_out():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"row {i}" for i in range(8000)], "a": random.integers(0, 2, 8000)})
    frame["b"] = frame["a"]
    y = random.integers(0, 2, 8000)
    model = textbook(families={"a": "categorical", "b": "categorical"}).fit(frame, y)
    with pytest.warns(NaivelyWarning, match="'id'"):
        assert dependence(model, frame, y)[["first", "second"]].values.tolist() == [["a", "b"]]


# -- the tests ---------------------------------------------------------------------------------------------------------


def test_pearsons_test_is_that_of_scipy():
    random = np.random.default_rng(4)
    counts = random.integers(1, 30, (3, 2, 4)).astype(float)
    expected = [chi2_contingency(one, correction=False) for one in counts]
    by_likelihood = [chi2_contingency(one, correction=False, lambda_="log-likelihood") for one in counts]
    test = independence_test(counts)
    assert test.statistic == pytest.approx(sum(one.statistic for one in expected), rel=1e-12)
    assert test.freedom == sum(one.dof for one in expected)
    many = independence_test(random.integers(1000, 1080, (3, 2, 4)).astype(float))
    assert many.p_value == pytest.approx(chi2(many.freedom).sf(many.statistic), rel=0.02)
    assert test.information == pytest.approx(sum(one.statistic for one in by_likelihood) / (2 * counts.sum()))
    assert independence_test(np.zeros((2, 2, 2))) == (0.0, 0.0, 0.0, 0, 1.0)
    assert conditional_mutual_information(np.zeros((1, 2, 2))) == 0.0


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=6))
def test_the_moments_of_the_statistic_are_those_over_all_orders_of_the_rows(rows):
    first, second = np.array(rows).T
    found = []
    for order in permutations(range(len(rows))):
        table = np.zeros((3, 3))
        np.add.at(table, (first, second[list(order)]), 1.0)
        found.append(_chi_square(_occurring(table)))
    np.testing.assert_allclose(_chi_square_moments(_occurring(table)), (np.mean(found), np.var(found)), atol=1e-9)


ZIPF = 1 / np.arange(1, 51) / (1 / np.arange(1, 51)).sum()


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "first", "second"),
    [
        (100, 4, np.full(5, 0.2), np.full(5, 0.2)),
        (200, 10, np.full(5, 0.2), np.full(5, 0.2)),
        (200, 1, np.full(10, 0.1), np.full(10, 0.1)),
        (200, 1, np.full(50, 0.02), np.full(50, 0.02)),
        (500, 1, ZIPF, ZIPF),
        (300, 3, np.array([0.98, 0.02]), np.array([0.95, 0.05])),
    ],
)
def test_rare_values_are_no_proof_of_dependence(n_rows, n_classes, first, second):
    random = np.random.default_rng(0)
    p_values = []
    for _ in range(300):
        table = np.zeros((n_classes, len(first), len(second)))
        drawn = random.choice(len(first), n_rows, p=first), random.choice(len(second), n_rows, p=second)
        np.add.at(table, (random.integers(0, n_classes, n_rows), *drawn), 1.0)
        p_values.append(independence_test(table).p_value)
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09
    assert np.mean(np.array(p_values) < 0.01) < 0.035


def test_independent_columns_are_rejected_as_often_as_the_level_says():
    random = np.random.default_rng(5)
    p_values = [
        independence(random.integers(0, 3, 300), random.integers(0, 2, 300), random.integers(0, 2, 300)).p_value
        for _ in range(200)
    ]
    assert 0.01 < np.mean(np.array(p_values) < 0.05) < 0.12
    assert pearsonr(np.sort(p_values), np.linspace(0, 1, 200)).statistic > 0.98


def test_pairwise_independence_is_not_mutual_independence():
    """Three truth values of which any two are independent, but the third is the exclusive or of two."""
    first, second = np.array([0, 0, 1, 1] * 50), np.array([0, 1, 0, 1] * 50)
    third = first ^ second
    for a, b in ((first, second), (first, third), (second, third)):
        assert independence(a, b).p_value > 0.99
    assert independence(first, second, given=third).p_value < 1e-10
    X = np.column_stack([first, second, third])
    together = JointBayes(families="categorical", smoothing=0).fit(X, np.zeros(200, dtype=int))
    apart = textbook(families="categorical", smoothing=0).fit(X, np.zeros(200, dtype=int))
    assert np.exp(together.evidence([[1, 1, 1]])).prod() == 0.0
    assert np.exp(apart.evidence([[1, 1, 1]])).prod() == pytest.approx(1 / 8)


def test_missing_cells_and_numbers():
    random = np.random.default_rng(6)
    a = random.normal(size=500)
    b = np.where(random.random(500) < 0.1, np.nan, a)
    assert independence(a, b).p_value < 1e-10
    assert independence(a, random.normal(size=500)).p_value > 1e-3
    assert independence(["u", None, "v"], ["w", "w", None]).freedom == 0


@pytest.mark.parametrize("root", range(5))
def test_no_spanning_tree_is_heavier(root):
    random = np.random.default_rng(root)
    weights = random.random((5, 5))
    weights += weights.T
    arcs = maximum_spanning_tree(weights, root)
    assert arcs[0] == (None, root)
    mine = sum(weights[parent, child] for parent, child in arcs[1:])
    from scipy.sparse.csgraph import minimum_spanning_tree

    assert mine == pytest.approx(-minimum_spanning_tree(-np.triu(weights, 1)).sum())
    seen = {root}
    for parent, child in arcs[1:]:
        assert parent in seen
        seen.add(child)
    assert seen == set(range(5))


def test_the_correlation_is_within_classes_weighted_and_over_known_rows():
    rng = np.random.default_rng(5)
    y, weights = np.arange(200) % 2, rng.integers(0, 3, 200).astype(float)
    X = rng.normal(size=(200, 3)) * [1.0, 1e6, 1.0] + 1e3 * y[:, None]
    X[:, 1] += 1e6 * X[:, 0]
    X[rng.random(200) < 0.2, 1] = np.nan
    X[:, 2] = 7.0
    table = dependence(NaiveBayes("textbook").fit(X, y, weights), X, y, weights).set_index(["first", "second"])
    repeated = np.repeat(np.arange(200), weights.astype(int))
    known = repeated[~np.isnan(X[repeated, 1])]
    left = [X[known, column].copy() for column in (0, 1)]
    for values in left:
        for code in (0, 1):
            values[y[known] == code] -= values[y[known] == code].mean()
    assert np.isclose(table.loc[("x0", "x1"), "correlation"], np.corrcoef(*left)[0, 1], rtol=1e-9)
    assert np.isnan(table.loc[("x0", "x2"), "correlation"])  # a constant has none
