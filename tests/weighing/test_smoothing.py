"""`smoothing=` is obeyed or refused in every recipe; `prior_smoothing=` and `kept_rows=` where evidence is weighed."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively.errors import ParameterError
from naively.families import FAMILIES
from naively.recipes import RECIPES
from naively.smoothing import Beta, Dirichlet, Laplace, Lidstone, MEstimate, StackedMEstimate

from .tables import FAMILY_OF, table

WEIGHED = ["fast", "auto", "strong"]


@pytest.mark.parametrize("recipe", WEIGHED)
@pytest.mark.parametrize(
    "smoothing", [100, "jeffreys", MEstimate(5), Dirichlet(3.0), MEstimate(20, "marginal"), {"categorical": 50}]
)
def test_a_smoothing_changes_the_answers_of_labels(recipe, smoothing):
    frame, y, _ = table("categorical")
    plain, smoothed = (
        NaiveBayes(recipe, smoothing=rule).fit(frame, y).predict_proba(frame) for rule in (None, smoothing)
    )
    assert np.isfinite(smoothed).all()
    assert np.abs(plain - smoothed).max() > 1e-4


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_smoothing_changes_the_evidence_or_is_refused(recipe, name):
    """In every recipe and of every family, for all columns or by name; what no column reads is refused."""
    frame, y, families = table(name, n=150)
    frame = frame[list(families)]
    plain = evidence(NaiveBayes(recipe, families=families).fit(frame, y), frame)
    for smoothing in (200, dict.fromkeys(families, 200)):
        model = NaiveBayes(recipe, families=families, smoothing=smoothing)
        if FAMILY_OF[name].takes_smoothing(weighed=recipe != "textbook"):
            assert np.abs(evidence(model.fit(frame, y), frame) - plain).max() > 1e-4
        else:
            with pytest.raises(ParameterError, match=r"this family has no|no column here has"):
                model.fit(frame, y)


def evidence(model, frame):
    """What the columns say; in "strong" of themselves, for the pool may rely on other experts entirely."""
    if model.recipe != "strong":
        return model.evidence(frame)
    return np.exp(model._estimated()[0].weighed.model.loo.log_posterior)


@pytest.mark.parametrize("recipe", WEIGHED)
def test_the_default_is_an_object_that_can_be_given(recipe):
    frame, y, _ = table("categorical")
    plain = NaiveBayes(recipe).fit(frame, y).predict_proba(frame)
    for rule in (StackedMEstimate(), {"categorical": StackedMEstimate()}):
        given = NaiveBayes(recipe, smoothing=rule).fit(frame, y)
        np.testing.assert_allclose(given.predict_proba(frame), plain, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(low=st.floats(0.01, 10), factor=st.floats(5, 1000), recipe=st.sampled_from(["fast", "auto"]))
def test_more_smoothing_says_less_before_it_is_weighed(low, factor, recipe):
    frame, y, _ = table("categorical", n=120)
    spread = []
    for tau in (low, low * factor):
        model = NaiveBayes(recipe, smoothing=tau).fit(frame, y)
        source = model._estimated()[0].weighed.model.sources[0]
        spread.append(np.ptp(source.estimate.tables[0], axis=0).max())
    assert spread[1] < spread[0]


@pytest.mark.parametrize("recipe", WEIGHED)
def test_a_smoothing_can_be_changed_after_fitting(recipe):
    frame, y, _ = table("categorical")
    changed = NaiveBayes(recipe).fit(frame, y).set_params(smoothing=30, prior_smoothing=9)
    fresh = NaiveBayes(recipe, smoothing=30, prior_smoothing=9).fit(frame, y)
    np.testing.assert_allclose(changed.predict_proba(frame), fresh.predict_proba(frame), atol=1e-12)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_smoothing_of_a_column_without_pseudo_counts_is_refused(recipe):
    frame, y, _ = table("categorical")
    with pytest.raises(ParameterError, match=r"smoothing names the column 'beside', which .*no pseudo-counts"):
        NaiveBayes(recipe, smoothing={"beside": 2.0}).fit(frame, y)
    model = NaiveBayes(recipe).fit(frame, y).set_params(smoothing={"beside": 2.0})
    with pytest.raises(ParameterError, match="smoothing names the column 'beside'"):
        model.predict(frame)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    "columns",
    [
        {"x": [0.5, 1.5, 2.5, 3.5] * 10},
        {"note": ["it came late again", "all was well today"] * 20},
        {"x": [0.5, 1.5, 2.5, 3.5] * 10, "label": [None] * 40},
    ],
    ids=["numbers", "prose", "a column that is empty so far"],
)
def test_a_smoothing_that_no_column_reads_is_refused(recipe, columns):
    y = [0, 1] * 20
    waits = "label" in columns or (recipe == "textbook" and "note" in columns)
    options = {"families": {"note": "text"}} if "note" in columns else {}
    with nullcontext() if waits else pytest.raises(ParameterError, match=r"would change nothing.*no column here has"):
        NaiveBayes(recipe, smoothing=100, **options).fit(columns, y)
    for harmless in ("none", RECIPES[recipe].smoothing):
        NaiveBayes(recipe, smoothing=harmless, **options).fit(columns, y)
    fitted = NaiveBayes(recipe, **options).fit(columns, y).set_params(smoothing=7)
    fitted.partial_fit(columns, y)  # other columns, with pseudo-counts, may come with later rows
    with nullcontext() if waits else pytest.raises(ParameterError, match="would change nothing"):
        fitted.predict(columns)


def test_a_rule_that_does_not_fit_the_values_is_refused():
    frame, y, _ = table("categorical")
    with pytest.raises(ParameterError, match="Beta"):
        NaiveBayes(smoothing=Beta(2, 1)).fit(frame, y).predict(frame)


@pytest.mark.parametrize("recipe", WEIGHED)
def test_the_smoothing_of_the_prior_is_obeyed(recipe):
    frame, y, _ = table("categorical", n=60)
    frame, y = frame[y < 2], y[y < 2]
    rare = np.flatnonzero(y == 1)[5:]
    frame, y = frame.drop(frame.index[rare]), np.delete(y, rare)
    plain = NaiveBayes(recipe).fit(frame, y)
    assert np.array_equal(
        plain.predict_proba(frame), NaiveBayes(recipe, prior_smoothing=Laplace()).fit(frame, y).predict_proba(frame)
    )
    flat = NaiveBayes(recipe, prior_smoothing=Lidstone(1e6)).fit(frame, y)
    np.testing.assert_allclose(flat.class_prior_, 0.5, atol=1e-4)
    weighed = flat._estimated()[0].weighed.model
    np.testing.assert_allclose(np.exp(weighed.log_prior), flat.class_prior_)
    none = NaiveBayes(recipe, prior_smoothing="none").fit(frame, y)
    assert np.isfinite(none.loo()).all()
    assert np.abs(none.predict_proba(frame) - plain.predict_proba(frame)).max() > 1e-5


@pytest.mark.parametrize(("recipe", "kept"), [("fast", 2048), ("auto", 4096), ("strong", 32768)])
def test_the_default_number_of_kept_rows_may_be_given(recipe, kept):
    rng = np.random.default_rng(0)
    n = 5000 if recipe != "fast" else 2500
    y = rng.integers(0, 2, n)
    X = np.round(rng.normal(size=(n, 2)) + y[:, None], 3)
    plain, given = (NaiveBayes(recipe, kept_rows=rows).fit(X, y) for rows in (None, kept))
    assert len(plain.loo()) == len(given.loo())
    np.testing.assert_allclose(given.predict_proba(X[:100]), plain.predict_proba(X[:100]), atol=1e-12)
    assert len(NaiveBayes(recipe, kept_rows=300).fit(X, y).loo()) == 300
