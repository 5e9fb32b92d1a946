"""Texts in the recipes that weigh evidence: beside other columns, on hardly any rows, with any weights."""

import numpy as np
import pytest
from scipy.special import log_softmax

from naively import NaiveBayes
from naively._kernels.text_scores import add_token_scores
from naively._weighing.text import add_scores
from naively.errors import ParameterError
from naively.families import Text
from tests.text.messages import mailbox

RECIPES = ("textbook", "fast", "auto", "strong")
WEIGHING = RECIPES[1:]


@pytest.fixture(scope="module")
def mail():
    return mailbox()


@pytest.fixture(scope="module", params=RECIPES)
def model(request, mail):
    return NaiveBayes(request.param).fit(*mail)


def test_prose_numbers_and_labels_in_one_model(model):
    X, y = mailbox(80, seed=1)
    assert [name for name, found in model.parameters().items() if isinstance(found["family"], Text)] == [
        "body",
        "subject",
    ]
    assert (model.predict(X) == y).mean() > 0.9
    joint = np.log(model.class_prior_) + model.evidence(X).sum(axis=1)
    np.testing.assert_allclose(model.predict_log_proba(X), log_softmax(joint, axis=1), atol=1e-8)


def test_a_missing_text_says_what_a_model_without_it_would(mail):
    X, y = mail
    X = X.assign(body=X["body"].fillna("x"))
    model = NaiveBayes("auto").fit(X, y)
    nothing = X[:5].assign(body=None)
    assert not model.evidence(nothing)[:, 0].any()
    assert np.isfinite(model.predict_proba(nothing)).all()


def test_tokens_are_named_and_their_bits_add_up(model, mail):
    X = mail[0][:6]
    lines = model.explain(X, tokens=3)
    logs = model.predict_log_proba(X)
    for row in range(len(X)):
        own = lines[lines["row"] == row]
        expected = abs(logs[row, 1] - logs[row, 0]) / np.log(2)
        assert own["bits"].sum() == pytest.approx(expected, abs=1e-6)
        named = own[(own["column"] == "subject") & (own["value"] != "(the rest of the text)")]
        assert len(named) == 3
        for token in named["value"]:
            assert f" {token} " in f" {X['subject'].iloc[row]} "
    short = model.explain(X, tokens=0)
    assert (short[short["column"] == "subject"]["value"] == X["subject"].tolist()).all()
    with pytest.raises(ParameterError, match="tokens"):
        model.explain(X, tokens=-1)


def test_updates_follow_the_sum(mail):
    X, y = mail
    for recipe in RECIPES:
        whole = NaiveBayes(recipe).fit(X, y)
        parts = NaiveBayes(recipe).fit(X[:50], y[:50]) + NaiveBayes(recipe).fit(X[50:], y[50:])
        assert parts.statistics_ == whole.statistics_
        np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-9)
        assert whole.forget(X[50:], y[50:]).statistics_ == NaiveBayes(recipe).fit(X[:50], y[:50]).statistics_


@pytest.mark.parametrize("recipe", WEIGHING)
@pytest.mark.parametrize("weight", [1e-4, 0.01, 0.3, 3.0, 1e4, "mixed"])
def test_any_weights_are_finite(recipe, weight, mail):
    """A row that weighs little loses no more than it gave when it is left out."""
    X, y = mail
    random = np.random.default_rng(0)
    weights = random.choice([0.01, 0.5, 1.0, 7.0], len(y)) if weight == "mixed" else np.full(len(y), weight)
    X = X.assign(body=[f"{text} {'free ' * random.integers(0, 60)}" for text in X["body"]])
    model = NaiveBayes(recipe).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.loo()).all()


FEW = {
    "one row": (["hello world"], ["a"]),
    "two rows": (["free cash", "lunch"], ["a", "b"]),
    "one class": (["hello world", "a b"] * 5, ["a"] * 10),
    "all empty": ([""] * 60, ["a", "b"] * 30),
    "all missing": ([None] * 10, ["a", "b"] * 5),
    "one text": (["free cash"] * 60, ["a", "b"] * 30),
    "nothing in common": ([f"w{place}" for place in range(60)], ["a", "b"] * 30),
    "a class without tokens": (["free cash", "lunch", ""] * 20, ["a", "b", "c"] * 20),
    "a class without texts": (["free cash", "lunch", None] * 20, ["a", "b", "c"] * 20),
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("rows", FEW)
@pytest.mark.parametrize("family", [Text(), Text(1, characters=(2, 4)), Text(buckets=4), Text(min_count=1000)], ids=str)
def test_hardly_any_texts(recipe, rows, family):
    texts, y = FEW[rows]
    query = {"text": [*texts[:3], None, "", "zzz", "free cash w1 w2"]}
    model = NaiveBayes(recipe, families={"text": family}).fit({"text": texts}, y)
    proba = model.predict_proba(query)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.isfinite(model.evidence(query)).all()
    assert np.abs(model.evidence(query)).max() < 1e3  # no scale made of nothing
    model.explain(query)


@pytest.mark.parametrize("recipe", WEIGHING)
@pytest.mark.parametrize("family", [Text(event="bernoulli"), Text(event="complement"), Text(idf=True)])
def test_events_belong_to_the_textbook(recipe, family, mail):
    model = NaiveBayes(recipe, families={"body": family})
    with pytest.raises(ParameterError, match=r"'body'.*textbook"):
        model.fit(*mail).predict(mail[0])


def test_the_recipe_changes_without_the_data(mail):
    X, y = mail
    strong = NaiveBayes("strong").fit(X, y)
    np.testing.assert_allclose(
        strong.set_params(recipe="auto").predict_proba(X), NaiveBayes("auto").fit(X, y).predict_proba(X), atol=1e-9
    )


def test_the_compiled_scores_agree_with_the_reference():
    random = np.random.default_rng(3)
    n_rows, n_tokens, n_classes = 30, 12, 3
    counts = random.poisson(0.4, (n_rows, n_tokens)).astype(float)
    own = random.integers(-1, n_classes, n_rows)
    weights = random.choice([0.25, 1.0], n_rows)
    mass = np.array([(counts * weights[:, None])[own == code].sum(axis=0) for code in range(n_classes)]).T
    row, token = np.nonzero(counts)
    bounds = np.searchsorted(row, np.arange(n_rows + 1))
    stored = np.nonzero(mass)
    pointer = np.searchsorted(stored[0], np.arange(n_tokens + 1))
    results = []
    for add in (add_scores, add_token_scores):
        ratio, against = np.zeros((n_rows, n_classes)), np.zeros((n_rows, n_classes))
        table = (pointer, stored[1], mass[stored], mass.sum(axis=1), mass.sum(axis=0))
        add(bounds, token, counts[row, token], own, weights, *table, 0.8, 1.0, ratio, against)
        assert np.isfinite(ratio).all()
        assert np.isfinite(against).all()
        results.append((ratio, against))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12, atol=1e-12)
