"""What the model uses: mean absolute weighed evidence, overall, for a class, and for a pair of classes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from naively import NaiveBayes
from naively.errors import ParameterError, RecipeError

N = 300
random = np.random.default_rng(0)
Y = random.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
FRAME = pd.DataFrame(
    {
        "strong": random.normal(size=N) + 3 * (Y == "a"),
        "weak": random.normal(size=N) + 0.5 * (Y == "b"),
        "noise": random.choice(list("pqr"), N),
        "client": [f"c{row}" for row in range(N)],
    }
)
WEIGHING = ["fast", "auto", "strong"]


def fitted(recipe, **options):
    with pytest.warns(UserWarning, match="looks like an identifier"):
        return NaiveBayes(recipe, **options).fit(FRAME, Y)


@pytest.mark.parametrize("recipe", WEIGHING)
def test_the_columns_are_ranked_by_what_the_model_uses(recipe):
    model = fitted(recipe)
    score = model.rank_features(by="evidence").set_index("column")["score"]
    assert score[["strong", "weak", "noise", "client"]].idxmax() == "strong"
    assert score["strong"] > 4 * score["noise"]
    assert (score >= 0).all()
    own = model.feature_importances_
    assert own.shape == (4,)
    assert own.sum() == pytest.approx(1)
    assert own.argmax() == 0


@pytest.mark.parametrize("recipe", WEIGHING)
def test_an_identifier_does_not_fool_the_information(recipe):
    score = fitted(recipe).rank_features().set_index("column")["score"]
    assert score.index[0] == "strong"
    assert abs(score["client"]) < 0.01


@pytest.mark.parametrize("recipe", ["textbook", *WEIGHING])
def test_the_scores_are_means_over_the_rows_of_the_evidence(recipe):
    model = NaiveBayes(recipe).fit(FRAME.drop(columns="client"), Y)
    X = FRAME.drop(columns="client")
    evidence, names = model.evidence(X) / np.log(2), model.evidence_names_
    pairs = [(0, 1), (0, 2), (1, 2)]
    gaps = np.array([np.abs(evidence[..., j] - evidence[..., k]).mean(axis=0) for j, k in pairs])
    overall = model.rank_features(by="evidence", X=X).set_index("column")["score"]
    np.testing.assert_allclose(overall[names[:3]], gaps.mean(axis=0)[:3], rtol=1e-9)
    of_pair = model.rank_features(by="evidence", X=X, classes=("a", "c")).set_index("column")["score"]
    np.testing.assert_allclose(of_pair[names[:3]], gaps[1][:3], rtol=1e-9)
    of_class = model.rank_features(by="evidence", X=X, classes="a").set_index("column")["score"]
    bits = model.explain(X, target="a")
    expected = bits["bits"].abs().groupby(bits["column"]).mean()
    np.testing.assert_allclose(of_class[names[:3]], expected[names[:3]], rtol=1e-9)


def test_the_kept_rows_stand_for_all_rows():
    X = FRAME.drop(columns="client")
    model = NaiveBayes().fit(X, Y)
    kept, given = model.rank_features(by="evidence"), model.rank_features(by="evidence", X=X)
    np.testing.assert_allclose(kept["score"], given["score"], rtol=1e-9)
    assert type(model.rank_features(by="evidence", X=pl.DataFrame(X.to_dict("list")))) is pl.DataFrame


def test_ignored_columns_have_no_importance():
    model = NaiveBayes(ignore=["client", "weak"]).fit(FRAME, Y)
    assert model.feature_importances_[[1, 3]].tolist() == [0, 0]


def test_without_rows_there_is_no_answer():
    model = NaiveBayes("textbook").fit(FRAME.drop(columns="client"), Y)
    with pytest.raises(RecipeError, match="this model has kept none"):
        model.rank_features(by="evidence")
    assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "evidence", "classes": "d"}, "classes must be one of the classes 'a', 'b', 'c', got 'd'"),
        ({"by": "evidence", "classes": ("a", "a")}, "a pair of two"),
        ({"by": "information", "classes": "a"}, "takes no 'classes'"),
        ({"by": "effect", "X": FRAME}, "takes no 'X'"),
        ({"by": "beauty"}, "by must be one of"),
    ],
)
def test_bad_questions_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        NaiveBayes().fit(FRAME.drop(columns="client"), Y).rank_features(**options)
