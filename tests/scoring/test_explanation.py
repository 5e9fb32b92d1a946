"""Explanations: bits that add up to the log-odds of a class against the rest, in the caller's kind of frame."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from naively import NaiveBayes
from naively._scoring import explanation
from naively._scoring.explanation import Explanation, as_text, attribute, log_odds
from naively._table import frames
from naively.demo import penguins
from naively.errors import NaivelyError, ParameterError

RECIPES = ("textbook", "fast", "auto", "strong")


def rows_of_penguins(n_classes):
    rows, species = penguins()
    if n_classes == 2:
        species = ["Adelie" if label == "Adelie" else "other" for label in species]
    return rows, species


@pytest.fixture(scope="module", params=[(recipe, n) for recipe in RECIPES for n in (2, 3)], ids=str)
def fitted(request):
    """A model of mixed columns with missing cells, and rows to explain."""
    recipe, n_classes = request.param
    rows, species = rows_of_penguins(n_classes)
    return NaiveBayes(recipe).fit(rows, species), [
        *rows[::9],
        {"island": "Dream"},
        {"sex": None, "bill_depth_mm": 99.0},
    ]


def total_bits(frame):
    return frame.groupby("row")["bits"].sum().to_numpy()


def expected_bits(model, X, codes, prior=None):
    return log_odds(model.predict_joint_log_proba(X, prior=prior), codes) / math.log(2)


@pytest.mark.filterwarnings("ignore:X lacks the columns")
def test_the_bits_of_a_row_add_up_to_its_log_odds(fitted):
    model, X = fitted
    best = model.predict_proba(X).argmax(axis=1)
    np.testing.assert_allclose(total_bits(model.explain(X)), expected_bits(model, X, best), rtol=0, atol=1e-9)
    probability = 1 / (1 + 2.0 ** -total_bits(model.explain(X)))
    np.testing.assert_allclose(probability, model.predict_proba(X).max(axis=1), rtol=1e-12)


def test_so_do_those_of_any_class_under_any_prior(fitted):
    model, X = fitted
    X = X[:10]
    rng = np.random.default_rng(0)
    for code, label in enumerate(model.classes_):
        codes = np.full(len(X), code)
        per_row = rng.dirichlet(np.ones(len(model.classes_)), size=len(X))
        for prior in (None, "uniform", per_row):
            bits = total_bits(model.explain(X, target=label, prior=prior))
            np.testing.assert_allclose(bits, expected_bits(model, X, codes, prior), rtol=0, atol=1e-9)


def test_two_classes_have_plain_log_likelihood_ratios():
    rows, species = rows_of_penguins(2)
    for recipe in ("textbook", "auto"):
        model = NaiveBayes(recipe).fit(rows, species)
        evidence = model.evidence(rows)
        ratios = (evidence[:, :, 1] - evidence[:, :, 0]) / math.log(2)
        frame = model.explain(rows, target="other")
        bits = frame["bits"].to_numpy().reshape(len(rows), -1)
        np.testing.assert_allclose(bits[:, 1:], ratios, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(bits[:, 0], np.diff(np.log2(model.class_prior_))[0])


scores = st.floats(-50, 50)
possible = st.one_of(scores, scores, scores, st.just(-math.inf))


@st.composite
def evidences(draw, cells=scores):
    n_terms, n_classes = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    evidence = draw(arrays(np.float64, (3, n_terms, n_classes), elements=cells))
    prior = draw(arrays(np.float64, n_classes, elements=st.floats(0.01, 1.0)))
    chosen = draw(arrays(np.int64, 3, elements=st.integers(0, n_classes - 1)))
    return np.log(prior / prior.sum()), evidence, chosen


@given(evidences())
def test_attribution_is_exact_and_blind_to_the_order_of_terms_and_classes(case):
    prior, evidence, chosen = case
    bits = attribute(prior, evidence, chosen)
    if len(prior) == 1:
        assert np.isposinf(bits[:, 0]).all()
        assert (bits[:, 1:] == 0).all()
        return
    np.testing.assert_allclose(
        bits.sum(axis=1) * math.log(2), log_odds(prior + evidence.sum(axis=1), chosen), atol=1e-9
    )
    np.testing.assert_allclose(attribute(prior, evidence[:, ::-1], chosen)[:, 1:], bits[:, :0:-1], atol=1e-9)
    last = len(prior) - 1
    np.testing.assert_allclose(attribute(prior[::-1], evidence[:, :, ::-1], last - chosen), bits, atol=1e-9)


@given(evidences())
def test_terms_with_equal_evidence_get_equal_bits_and_silent_ones_none(case):
    prior, evidence, chosen = case
    silent = np.full_like(evidence[:, :1], 7.0)
    bits = attribute(prior, np.concatenate([evidence, evidence, silent], axis=1), chosen)[:, 1:]
    n_terms = evidence.shape[1]
    np.testing.assert_allclose(bits[:, :n_terms], bits[:, n_terms : 2 * n_terms], atol=1e-12)
    np.testing.assert_allclose(bits[:, -1], 0.0, atol=1e-12)


@given(evidences(possible))
def test_what_is_impossible_is_infinite_or_worth_what_it_rules_out(case):
    prior, evidence, chosen = case
    bits = attribute(prior, evidence, chosen)
    assert not np.isnan(bits).any()
    total = prior + evidence.sum(axis=1)
    total = np.where(np.isfinite(total).any(axis=1)[:, None], total, prior)
    expected = log_odds(total, chosen) / math.log(2)
    lowest = np.isneginf(bits).any(axis=1)
    actual = np.where(lowest, -np.inf, np.where(lowest[:, None], 0.0, bits).sum(axis=1))
    np.testing.assert_allclose(actual, expected, atol=1e-9)


def test_ruling_a_class_out_is_the_limit_of_ever_stronger_evidence():
    prior, chosen = np.log([0.2, 0.5, 0.3]), np.array([0])
    evidence = np.array([[[0.3, -1.0, 0.4], [0.1, -np.inf, -0.2]]])
    nearly = np.where(np.isfinite(evidence), evidence, -1e9)
    np.testing.assert_allclose(attribute(prior, evidence, chosen), attribute(prior, nearly, chosen), atol=1e-6)


def test_an_impossible_row_is_explained_by_the_prior_with_a_warning():
    model = NaiveBayes("textbook", smoothing="none").fit([["a", "x"], ["b", "y"]], [0, 1])
    with pytest.warns(UserWarning, match="every class had probability zero"):
        frame = model.explain([["a", "y"]])
    assert frame["bits"].tolist() == [0.0, 0.0, 0.0]


def test_the_frame_is_tidy_and_named():
    X = pd.DataFrame({"size": [1.5, np.nan, 3.0], "coat": ["fur", None, "down"], "wild": [True, False, True]})
    model = NaiveBayes("textbook").fit(X, ["cat", "cat", "owl"])
    frame = model.explain(X)
    assert list(frame.columns) == ["row", "column", "value", "class", "bits"]
    assert frame["row"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert frame["column"].tolist() == ["prior", "size", "coat", "wild"] * 3
    values = [None if value != value else value for value in frame["value"].tolist()]
    assert values == [None, "1.5", "fur", "True", None, None, None, "False", None, "3", "down", "True"]
    assert frame["class"].tolist() == ["cat"] * 8 + ["owl"] * 4
    assert frame["bits"].tolist()[5:7] == [0.0, 0.0]
    assert model.explain(X, target="owl")["class"].unique().tolist() == ["owl"]


@pytest.mark.parametrize("classes", [["a", "b", "b"], [0, 1, 1], [False, True, True], [0.0, 2.0, 2.0]], ids=str)
@pytest.mark.parametrize(
    ("make", "library"), [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)]
)
def test_frames_come_back_as_they_went_in(make, library, classes):
    data = {"size": [1.0, 2.0, 4.0], "coat": ["fur", "down", None]}
    model = NaiveBayes("textbook").fit(data, classes)
    frame = model.explain(make(data))
    assert isinstance(frame, library)
    plain = model.explain(data)
    assert isinstance(plain, pd.DataFrame)
    for name in plain.columns:
        there = frame[name].to_pylist() if library is pa.Table else list(frame[name])
        here = plain[name].tolist()
        assert [None if one != one else one for one in there] == [None if one != one else one for one in here]
    assert as_text(frame, 2) == as_text(plain, 2)


def test_columns_without_a_single_value_still_have_text_for_a_type():
    model = NaiveBayes("textbook").fit(pl.DataFrame({"size": [1.0, 2.0]}), [0, 1])
    assert model.explain(pl.DataFrame({"size": [None]}, schema={"size": pl.Float64}))["value"].dtype == pl.String


def test_without_pandas_it_is_a_dict_that_prints(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    model = NaiveBayes("textbook").fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    found = model.explain(np.arange(7.0)[:, None])
    assert isinstance(found, Explanation)
    assert found["column"][:2] == ["prior", "x0"]
    assert repr(found).startswith("row 0: a against the rest, probability 1.000\n")
    assert repr(found).endswith("... and 2 more rows")


@pytest.mark.filterwarnings("ignore:X lacks the columns", "ignore:X has columns that the model does not know")
def test_columns_are_matched_by_name_and_absent_ones_are_empty():
    model = NaiveBayes("textbook").fit({"a": [1.0, 2.0], "b": ["x", "y"]}, [0, 1])
    frame = model.explain({"other": [3], "b": ["y"]})
    assert [None if value != value else value for value in frame["value"].tolist()] == [None, None, "y"]
    assert frame["column"].tolist() == ["prior", "a", "b"]


def test_experts_are_named_and_joint_terms_with_both_values():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    X = pd.DataFrame({"left": left.astype(str), "right": right.astype(str), "noise": rng.normal(size=600)})
    model = NaiveBayes("strong").fit(X, left ^ right)
    frame = model.explain(X[:3])
    assert frame["column"].tolist()[1:4] == ["left", "right", "noise"]
    forest = frame[frame["column"] == "expert: forest"]
    assert forest["value"].isna().all()
    assert (forest["bits"] > 1).all()
    assert explanation._values_of("a & b", {"a": ["1", None], "b": ["x", "y"]}, 2) == ["1 & x", "missing & y"]
    assert explanation._values_of("expert: forest", {"a": ["1"]}, 1) == [None]
    np.testing.assert_allclose(total_bits(frame), expected_bits(model, X[:3], model.predict(X[:3])), atol=1e-9)


def test_sparse_rows_and_numbers_keep_their_digits():
    from scipy import sparse

    matrix = sparse.csr_matrix(np.array([[1, 0], [0, 2]]))
    frame = NaiveBayes("textbook", families="poisson").fit(matrix, [0, 1]).explain(matrix)
    assert frame["value"].tolist()[1:3] == ["1", "0"]
    narrow = np.array([[0.1], [0.7]], dtype=np.float32)
    assert NaiveBayes("textbook").fit(narrow, [0, 1]).explain(narrow)["value"].tolist()[1::2] == ["0.1", "0.7"]


def test_text_is_sorted_by_strength_and_shows_the_sum():
    frame = {
        "row": [4, 4, 4, 5],
        "column": ["prior", "a", "long name", "prior"],
        "value": [None, "1", "text", None],
        "class": ["yes"] * 4,
        "bits": [-0.5, 1.25, -12.0, 3.0],
    }
    assert as_text(frame).splitlines() == [
        "row 4: yes against the rest, probability 0.000",
        "-12.00  long name  text",
        " +1.25  a          1",
        " -0.50  prior",
        "-11.25  log-odds",
    ]
    assert as_text(frame, row=5, digits=0).splitlines()[1:] == ["+3  prior", "+3  log-odds"]
    ruled_out = {**frame, "bits": [math.inf, -math.inf, 1.0, 3.0]}
    assert as_text(ruled_out).splitlines()[-1] == " -inf  log-odds"


def test_errors_say_what_is_wrong():
    model = NaiveBayes("textbook").fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ParameterError, match=r"target must be one of the classes 'a', 'b', got 'c'"):
        model.explain([[0.0]], target="c")
    with pytest.raises(ParameterError, match="row"):
        as_text(model.explain([[0.0]]), row=3)
    with pytest.raises(ParameterError, match="'bits'"):
        as_text({"row": [0], "column": ["a"], "value": ["1"], "class": [0]})
    with pytest.raises(ParameterError, match="got int"):
        as_text(3)


# -- calibration ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_calibration_is_that_of_rows_that_were_left_out(recipe):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    X = rng.normal(y[:, None] * 0.8, size=(1500, 3))
    X[:, 2] = X[:, 1]  # counted twice by a model that does not weigh
    model = NaiveBayes(recipe).fit(X[:500], y[:500])
    seen = model.calibration_
    new = -np.log(model.predict_proba(X[500:])[np.arange(1000), y[500:]]).mean()
    assert abs(seen.log_loss - new) < 0.05
    assert abs(seen.accuracy - model.score(X[500:], y[500:])) < 0.05
    assert seen.ece < 0.06
    assert seen.reliability[:, 0].sum() == pytest.approx(500)


def test_textbook_keeps_no_rows_to_measure_calibration_on():
    model = NaiveBayes("textbook").fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "calibration_")
    with pytest.raises(NaivelyError, match="recipe 'textbook' keeps none"):
        _ = model.calibration_
