"""Every warning points at the line of the user's code, however deep below it something is odd."""

import inspect
import re
import threading
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import naively.sklearn
from naively import NaiveBayes, compat, diagnostics, drift, errors, evaluate, plots, selection, shift, thresholds, tune
from naively.analysis.selection import SelectByEvidence, drop_correlated, forward_selection
from naively.analysis.thresholds import trade_off
from naively.errors import NaivelyWarning
from naively.families import Gaussian
from tests.models import textbook

SOURCES = Path(errors.__file__).parent
Y = np.array([0, 1] * 6)
FRAME = pd.DataFrame({"a": np.arange(12.0) + 9 * Y, "b": np.arange(12.0)[::-1], "c": ["x", "y", "z"] * 4})
NUMBERS = FRAME[["a", "b"]]
COLUMN = Y[:, None]


def pointed(call, message, category=NaivelyWarning):
    """Call, and check that each of the warnings is of that kind and points here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # between other packages: none of ours is one
        call()
    assert any(re.search(message, str(one.message)) and issubclass(one.category, category) for one in caught)
    assert {one.filename for one in caught} == {__file__}
    return caught


# -- the columns of X -----------------------------------------------------------------------------------------------

READ_X = {
    "partial_fit": lambda model, X: model.partial_fit(X, Y),
    "forget": lambda model, X: model.forget(X, Y),
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "predict_log_proba": lambda model, X: model.predict_log_proba(X),
    "predict_joint_log_proba": lambda model, X: model.predict_joint_log_proba(X),
    "score": lambda model, X: model.score(X, Y),
    "evidence": lambda model, X: model.evidence(X),
    "explain": lambda model, X: model.explain(X),
    "loo": lambda model, X: model.loo(X, Y),
    "score_samples": lambda model, X: model.score_samples(X),
    "impute": lambda model, X: model.impute(X),
    "impute_proba": lambda model, X: model.impute_proba(X, "c"),
    "credible_interval": lambda model, X: model.credible_interval(X),
    "log_odds().terms": lambda model, X: model.log_odds().terms(X),
    "log_odds()()": lambda model, X: model.log_odds()(X),
    "discriminant().decision": lambda model, X: model.discriminant().decision(X),
    "estimate_prior": lambda model, X: shift.estimate_prior(model, X),
    "learn_unlabelled": lambda model, X: shift.learn_unlabelled(model, X),
    "trade_off": lambda model, X: trade_off(model, X, Y, positive=1),
    "dependence": lambda model, X: diagnostics.dependence(model, X, Y),
    "annotate": lambda model, X: model.annotate(X),
    "check": lambda model, X: model.check(X),
    "log_likelihood": lambda model, X: model.log_likelihood(X, Y),
    "rank_features": lambda model, X: model.rank_features("evidence", X=X),
    "steps": lambda model, X: model.steps(X[:1]),
    "evaluate": lambda model, X: evaluate(model, X, Y),
    "drift.check": lambda model, X: drift.check(model, X),
    "plot_confusion": lambda model, X: plots.plot_confusion(model, X, Y),
    "plot_decision_surface": lambda model, X: plots.plot_decision_surface(model, X, Y),
    "plot_outliers": lambda model, X: plots.plot_outliers(model, X),
    "plot_precision_recall": lambda model, X: plots.plot_precision_recall(model, X, Y),
    "plot_prior": lambda model, X: plots.plot_prior(model, X, Y),
    "plot_reliability": lambda model, X: plots.plot_reliability(model, X, Y),
    "plot_roc": lambda model, X: plots.plot_roc(model, X, Y),
    "a pipeline": lambda model, X: make_pipeline(FunctionTransformer(), model).predict(X),
    "plot_nomogram(row)": lambda model, X: plots.plot_nomogram(model, row=X[:1]),
}


REFUSE_ABSENT = {"forget", "plot_decision_surface", "plot_outliers"}
"""What can do nothing without one of the columns: that is an error."""

LEARN_ANEW = {
    *("fit", "check", "compare", "tune", "named", "drop_correlated", "forward_selection"),
    *("plot_smoothing", "plot_ties"),
}
"""What reads X without a fitted model, which X could differ from."""

PUBLIC = [naively, drift, shift, thresholds, diagnostics, selection, plots]


def test_all_that_reads_rows_is_among_these():
    places = [NaiveBayes, *PUBLIC]
    named = [(name, getattr(place, name)) for place in places for name in dir(place) if not name.startswith("_")]
    reading = {
        name
        for name, one in named
        if inspect.isfunction(one)
        and one.__module__.startswith("naively")
        and "X" in inspect.signature(one).parameters
        and not re.match(r"read_|source_of", name)  # a module's own tools
    }
    assert reading - LEARN_ANEW == {name.partition("drift.")[2] or name for name in READ_X} - LEARN_ANEW - {
        *("log_odds().terms", "log_odds()()", "discriminant().decision", "a pipeline", "plot_nomogram(row)"),
    }


@pytest.mark.parametrize("method", sorted(READ_X.keys() - {"annotate"}))  # which adds to whatever columns there are
def test_an_unknown_column_is_told_once_where_the_user_stands(method):
    model = textbook().fit(FRAME, Y)
    told = "new columns, which are learnt" if method == "partial_fit" else "columns that the model does not know"
    caught = pointed(lambda: READ_X[method](model, FRAME.assign(d=1.0)), f"{told}.*'d'")
    assert len([one for one in caught if told in str(one.message)]) == 1


@pytest.mark.parametrize("method", sorted(READ_X.keys() - REFUSE_ABSENT))
def test_an_absent_column_is_told_once_where_the_user_stands(method):
    model = textbook().fit(FRAME, Y)
    caught = pointed(lambda: READ_X[method](model, FRAME[["a", "c"]]), "X lacks the columns 'b'")
    assert len([one for one in caught if "X lacks the columns" in str(one.message)]) == 1


@pytest.mark.parametrize("method", sorted(READ_X.keys() - {"impute_proba", "annotate"}))
def test_columns_without_names_are_told_where_the_user_stands(method):
    model = textbook().fit(NUMBERS, Y)
    pointed(lambda: READ_X[method](model, NUMBERS.to_numpy()), "X does not have valid feature names", UserWarning)


def test_columns_with_names_are_told_where_the_user_stands():
    model = textbook().fit(NUMBERS.to_numpy(), Y)
    pointed(lambda: model.predict(NUMBERS), "X has feature names", UserWarning)


# -- the shape of y -------------------------------------------------------------------------------------------------

READ_Y = {
    "fit": lambda y: textbook().fit(FRAME, y),
    "fit of a sub-class": lambda y: naively.TAN().fit(FRAME, y),
    "partial_fit": lambda y: textbook().partial_fit(FRAME, y),
    "classes": lambda y: textbook().partial_fit(FRAME, Y, classes=y),
    "forget": lambda y: textbook().fit(FRAME, Y).forget(FRAME[:3], y[:3]),
    "loo": lambda y: textbook().fit(FRAME, Y).loo(FRAME, y),
    "trade_off": lambda y: trade_off(textbook().fit(FRAME, Y), FRAME, y, positive=1),
    "dependence": lambda y: diagnostics.dependence(textbook().fit(FRAME, Y), FRAME, y),
    "plot_decision_surface": lambda y: plots.plot_decision_surface(textbook().fit(NUMBERS, Y), NUMBERS, y),
    "tune": lambda y: tune(textbook(), FRAME, y, {"smoothing": [1, 2]}, folds=2),
    "SelectByEvidence": lambda y: SelectByEvidence(k=1).fit(FRAME, y),
    "forward_selection": lambda y: forward_selection(textbook(), FRAME, y),
    "drop_correlated": lambda y: drop_correlated(NUMBERS, y=y),
    "the drop-ins": lambda y: naively.sklearn.GaussianNB().fit(NUMBERS, y),
    "partial_fit of the drop-ins": lambda y: naively.sklearn.GaussianNB().partial_fit(NUMBERS, y, classes=[0, 1]),
}


@pytest.mark.parametrize("method", READ_Y)
def test_a_column_of_classes_is_told_where_the_user_stands(method):
    pointed(lambda: READ_Y[method](COLUMN), "A column-vector y was passed", DataConversionWarning)


# -- answers --------------------------------------------------------------------------------------------------------

LABELS, IMPOSSIBLE = [["a", "x"], ["b", "y"]], [["a", "y"]]
THREE = textbook(families="categorical", smoothing="none").fit([["a", "x", "p"], ["b", "y", "q"]], [0, 1])
DECIDE = {
    "predict": lambda model: model.predict(IMPOSSIBLE),
    "predict with a loss": lambda model: model.predict(IMPOSSIBLE, loss=[[0, 1], [2, 0]]),
    "predict_proba": lambda model: model.predict_proba(IMPOSSIBLE),
    "predict_log_proba": lambda model: model.predict_log_proba(IMPOSSIBLE),
    "predict_joint_log_proba": lambda model: model.predict_joint_log_proba(IMPOSSIBLE),
    "score": lambda model: model.score(IMPOSSIBLE, [0]),
    "explain": lambda model: model.explain(IMPOSSIBLE),
    "loo": lambda model: model.partial_fit(IMPOSSIBLE, [0]).loo(IMPOSSIBLE, [0]),
    "impute_proba": lambda _: THREE.impute_proba([["a", "y", None]], 2),
    "log_odds()()": lambda model: model.log_odds()(IMPOSSIBLE),
    "estimate_prior": lambda model: shift.estimate_prior(model, IMPOSSIBLE),
    "trade_off": lambda model: trade_off(model, IMPOSSIBLE * 2, [0, 1], positive=1),
    "cross_val_score": lambda model: cross_val_score(model, LABELS * 2 + IMPOSSIBLE * 2, [0, 1, 0, 1, 0, 1], cv=2),
    "a grid search": lambda model: GridSearchCV(model, {"prior": ["uniform"]}, cv=2).fit(
        LABELS * 2 + IMPOSSIBLE * 2, [0, 1, 0, 1, 0, 1]
    ),
}


@pytest.mark.parametrize("method", DECIDE)
def test_an_impossible_row_is_told_where_the_user_stands(method):
    model = textbook(families="categorical", smoothing="none").fit(LABELS, [0, 1])
    pointed(lambda: DECIDE[method](model), "every class had probability zero")


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_small_alpha_is_told_where_the_user_stands(name, method):
    model = getattr(naively.sklearn, name)(alpha=0.0, force_alpha=False)
    arguments = {"classes": [0, 1]} if method == "partial_fit" else {}
    pointed(lambda: getattr(model, method)([[0, 1], [1, 0]], [0, 1], **arguments), "alpha too small", UserWarning)


def test_em_that_does_not_come_to_rest_is_told_where_the_user_stands():
    model = textbook().fit(NUMBERS, Y)
    call = lambda: shift.estimate_prior(model, NUMBERS[:5], n_iterations=1, tolerance=0.0)  # noqa: E731
    pointed(call, "still moved")


def test_columns_of_very_many_values_are_told_where_the_user_stands(monkeypatch):
    monkeypatch.setattr(diagnostics, "LARGEST_TABLE", 40)
    model = textbook().fit(FRAME, Y)
    pointed(lambda: diagnostics.dependence(model, FRAME, Y), "very many values are left out")


# -- the rule itself ------------------------------------------------------------------------------------------------


def test_the_line_is_that_of_the_call():
    model = textbook().fit(NUMBERS, Y)
    caught = pointed(lambda: model.predict(NUMBERS[["a"]]), "X lacks")
    assert "X lacks" in Path(__file__).read_text(encoding="utf-8").splitlines()[caught[0].lineno - 1]


def test_a_warning_is_shown_once_for_each_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            errors.warn("odd")
        errors.warn("odd")
    assert len(caught) == 2


def test_where_no_line_is_the_users_the_outermost_is_told():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=errors.warn, args=("odd",))
        thread.start()
        thread.join()
    assert caught[0].filename == threading.__file__


def test_levels_are_counted_nowhere():
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "stacklevel" not in text, path
        assert "warnings.warn(" not in text, path


def test_the_default_recipe_points_there_too():
    model = NaiveBayes().fit(FRAME, Y)
    pointed(lambda: model.explain(FRAME[["a", "c"]]), "X lacks the columns 'b'")


# -- weights ----------------------------------------------------------------------------------------------------------

HEIGHTS, KINDS = np.array([[1.0], [2.0], [5.0], [7.0]]), list("aabb")
UNBIASED = {
    "e1071": compat.e1071,
    "klar": compat.klar,
    "ddof=1": lambda: textbook(families=Gaussian(ddof=1)),
    "shared": lambda: textbook(families=Gaussian("feature", ddof=1)),
}


@pytest.mark.parametrize("make", UNBIASED.values(), ids=UNBIASED)
def test_rows_that_weigh_too_little_for_a_variance(make):
    """n - 1 is 0 or less, though the values of a class differ."""
    pointed(lambda: make().fit(HEIGHTS, KINDS, [0.25] * 4).predict(HEIGHTS), "weigh too little together .* in 'x0'")
    pointed(lambda: make().fit(HEIGHTS, KINDS).decay(0.5).predict(HEIGHTS), "weigh too little together .* in 'x0'")


@pytest.mark.parametrize("make", UNBIASED.values(), ids=UNBIASED)
def test_a_lone_row_is_no_mistake(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit([[0.1], [0.2], [0.7]], list("aab"), [1.0, 1.5, 0.3]).predict(HEIGHTS)
        textbook().fit(HEIGHTS, KINDS, [0.25] * 4).predict(HEIGHTS)
