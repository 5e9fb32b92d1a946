"""Every other method and tool on a model with prose: it works, or says which column it cannot read."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from naively import TAN, JointBayes, NaiveBayes, tune
from naively.analysis.diagnostics import dependence
from naively.analysis.drift import compare, since
from naively.analysis.selection import SelectByEvidence, drop_correlated, forward_selection
from naively.analysis.shift import estimate_prior, learn_unlabelled
from naively.errors import InputTypeError, ParameterError, RecipeError
from naively.families import Text
from naively.smoothing import MEstimate, PerColumn
from tests.models import textbook
from tests.text.messages import mailbox

mpl.use("Agg")

RECIPES = ("textbook", "auto", "strong")


@pytest.fixture(scope="module")
def mail():
    return mailbox()


@pytest.fixture(scope="module", params=RECIPES)
def model(request, mail):
    return NaiveBayes(request.param).fit(*mail)


@pytest.fixture(scope="module")
def plain(mail):
    return textbook().fit(*mail)


# -- what works -------------------------------------------------------------------------------------------------------


def test_log_odds_are_those_of_the_answer(mail):
    X = mail[0][:5]
    for recipe in ("textbook", "auto"):
        model = NaiveBayes(recipe).fit(*mail)
        logs = model.predict_log_proba(X)
        expected = logs - logs[:, [0]]
        form = model.log_odds("ham")
        np.testing.assert_allclose(form(X), expected, atol=1e-8)
        said = model.evidence(X)[:, 0]
        np.testing.assert_allclose(form.columns["body"](X["body"]), said - said[:, [0]], atol=1e-8)
        assert form.columns["body"].table == {}
        assert not form.columns["body"].missing.any() or recipe != "textbook"
        assert set(form.frame()["column"]) >= {"body", "size", "domain"}
        assert "body" in repr(form)


def test_columns_are_ranked(model):
    ranked = model.rank_features()
    assert set(ranked["column"]) == {"body", "subject", "size", "domain"}
    assert set(ranked["column"][:2]) == {"body", "subject"}


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_drift_names_the_column_whose_words_moved():
    X, y = mailbox(400)
    later, labels = mailbox(400, seed=7)
    same = compare(textbook().fit(X, y), textbook().fit(later, labels))
    assert not [change for change in same if change["p_adjusted"] < 0.01]
    moved = later.assign(body=[f"{text} bitcoin" for text in later["body"]])
    changes = compare(textbook().fit(X, y), textbook().fit(moved, labels))
    assert {change["column"] for change in changes if change["p_adjusted"] < 1e-6} == {"body"}
    assert all(0 <= change["bits"] <= 1 for change in changes)
    emptied = later.assign(subject=None)
    changes = compare(textbook().fit(X, y), textbook().fit(emptied, labels))
    assert all(np.isfinite(change["p_value"]) for change in changes)


def test_since_is_what_was_learnt_since(mail):
    X, y = mail
    earlier, now = textbook().fit(X[:70], y[:70]), textbook().fit(X, y)
    assert since(now, earlier).statistics_ == textbook().fit(X[70:], y[70:]).statistics_


def test_shifted_priors_and_unlabelled_rows(model, mail):
    X, y = mail
    spam = X[y == "spam"]
    assert estimate_prior(model, spam)["spam"] > 0.9
    learnt = learn_unlabelled(model, X[:10])
    assert learnt.class_count_.sum() == pytest.approx(len(y) + 10, rel=0.2)


def test_repeated_texts_are_found(mail):
    X = mail[0].assign(copy=mail[0]["body"])
    kept, report = drop_correlated(X)
    assert "copy" not in kept.columns
    assert "copy" in repr(report)


def test_dependence_reads_the_other_columns(model, mail):
    found = dependence(model, *mail)
    assert isinstance(found, pd.DataFrame)


def test_columns_are_selected(mail, plain):
    X, y = mail
    assert "body" in forward_selection(plain, X, y).columns or "subject" in forward_selection(plain, X, y).columns
    selected = SelectByEvidence(2).fit(X, y)
    assert selected.get_support().tolist() == [True, True, False, False]


def test_tuning_compares_options_of_texts(mail):
    X, y = mail
    families = [{"body": Text(1)}, {"body": Text(1, event="complement")}, {"body": Text(None, characters=3)}]
    found = tune(textbook(), X, y, {"families": families})
    assert found.points[found.best_index_]["families"] in families
    assert tune(textbook(), X, y, {"smoothing": [0.1, 1.0]}).best_model_.smoothing in (0.1, 1.0)


def test_leave_one_out_says_what_it_cannot_do(mail):
    X, y = mail
    for family in (Text(idf=True), Text(event="complement", normalise=True), Text(buckets=64), Text(most_tokens=64)):
        with pytest.raises(ParameterError, match="closed form"):
            textbook(families={"body": family}).fit(X, y).loo(X, y)
    for smoothing in (MEstimate(2.0), {"body": PerColumn([1.0])}):
        with pytest.raises(ParameterError, match="closed form"):
            textbook(smoothing=smoothing).fit(X, y).loo(X, y)


def test_tokens_are_drawn(model, mail):
    from naively.plots import plot_evidence

    assert plot_evidence(model.explain(mail[0][:2])) is not None


# -- what says why not ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        lambda model, X: model.discriminant(),
        lambda model, X: model.log_likelihood_,
        lambda model, X: model.n_parameters_,
        lambda model, X: model.aic_,
        lambda model, X: model.sample(3),
        lambda model, X: model.impute(X),
        lambda model, X: model.impute_proba(X, "body"),
        lambda model, X: model.score_samples(X),
        lambda model, X: model.credible_interval(X),
        lambda model, X: model.bayes_error(),
    ],
)
def test_what_needs_a_distribution_names_the_column(method, plain, mail):
    with pytest.raises((ParameterError, RecipeError), match=r"'body'|Text\("):
        method(plain, mail[0][:6])


@pytest.mark.parametrize("name", ["plot_densities", "plot_decision_surface", "plot_images", "plot_ties"])
def test_what_cannot_be_drawn_names_the_column(name, model, mail):
    from naively import plots

    draw = getattr(plots, name)
    arguments = {
        "plot_densities": (model, "body"),
        "plot_decision_surface": (model, *mail),
        "plot_images": (model, (2, 2)),
        "plot_ties": (*mail, ["body", "size"]),
    }
    with pytest.raises((ParameterError, InputTypeError), match="'body'"):
        draw(*arguments[name])


@pytest.mark.parametrize("kind", [TAN, JointBayes])
def test_models_of_joint_factors_name_the_column(kind, mail):
    with pytest.raises(ParameterError, match="'body'"):
        kind().fit(*mail)


# -- scikit-learn -----------------------------------------------------------------------------------------------------


def test_clones_and_grids(mail):
    X, y = mail
    model = NaiveBayes("textbook", families={"body": Text(1, stop_words=["the"])})
    assert clone(model).families == model.families
    grid = GridSearchCV(model, {"families": [{"body": Text(1)}, {"body": Text(2)}], "smoothing": [0.1, 1.0]}, cv=3)
    assert grid.fit(X, y).best_score_ > 0.9
    assert cross_val_score(NaiveBayes("auto"), X, y, cv=3).mean() > 0.9


def test_pipelines(mail):
    X, y = mail
    scaled = ColumnTransformer([("scale", StandardScaler(), ["size"])], remainder="passthrough")
    model = make_pipeline(scaled.set_output(transform="pandas"), NaiveBayes("textbook"))
    assert (model.fit(X, y).predict(X) == y).mean() > 0.9
    texts = make_pipeline(FunctionTransformer(lambda frame: frame[["body"]].fillna("")), NaiveBayes("auto"))
    assert (texts.fit(X, y).predict(X) == y).mean() > 0.9
