"""Tuning: cross-validation by adding and subtracting statistics is cross-validation by fitting."""

import copy
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, cohen_kappa_score, get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold, cross_val_score

from naively import NaiveBayes, compat, tune
from naively.analysis._folds import Folds, as_folds, sums_of_others
from naively.analysis._measures import MEASURES
from naively.demo import penguins
from naively.engines._local import LocalEngine
from naively.errors import InputError, ParameterError
from naively.families import ByKind, Gaussian, Kernel
from naively.smoothing import Jeffreys, Laplace, Lidstone, MEstimate
from tests.models import textbook
from tests.strategies import cases

X, Y = load_iris(return_X_y=True)
EVERY_MEASURE = list(MEASURES)


def dealt(n_rows, n_folds, codes=None, seed=0):
    codes = np.zeros(n_rows, dtype=int) if codes is None else codes
    return as_folds(n_folds, codes, codes, stratify=True, seed=seed)


# -- Folds ----------------------------------------------------------------------------------------------------------


@given(cases(min_rows=4, max_rows=12), st.integers(2, 4), st.integers(0, 5))
def test_a_model_without_a_fold_is_the_model_of_the_other_rows_to_the_last_bit(case, n_folds, seed):
    folds = dealt(len(case.rows), n_folds, seed=seed)
    whole = case.fitted()

    def count(places):
        rows = case.rows.take(places.tolist())
        return whole._count(whole._read_batch(rows.columns, rows.y, rows.weights), whole.schema_)[1]

    everything = np.arange(len(case.rows))
    refitted = [count(np.setdiff1d(everything, test)) for test in folds.tests]
    for subtractable in (True, False):
        total, left_out = folds.statistics(count, subtractable)
        assert total == whole.statistics_
        assert left_out == refitted


def test_where_subtraction_is_not_exact_the_other_folds_are_added():
    rng = np.random.default_rng(0)
    # more distinct values than a histogram has cells, more rows than are kept, and sums without rounding
    many = np.round(rng.normal(size=(6000, 2)) * 2**20) / 2**20
    y = (many[:, 0] > rng.normal(size=6000)).astype(int)
    folds = dealt(6000, 3, y)

    def count(places):
        return NaiveBayes("fast", kept_rows=500).fit(many[places], y[places]).statistics_

    total, added = folds.statistics(count, subtractable=False)
    refitted = [count(np.setdiff1d(np.arange(6000), test)) for test in folds.tests]
    assert total == count(np.arange(6000))
    assert added == refitted
    subtracted = folds.statistics(count, subtractable=True)[1]
    assert any(one.kept != other.kept for one, other in zip(subtracted, refitted, strict=True))


def test_sums_of_others():
    parts = [textbook().fit(X[[place]], Y[[place]]).statistics_ for place in (0, 60, 120, 121)]
    for place, rest in enumerate(sums_of_others(parts)):
        others = [part for number, part in enumerate(parts) if number != place]
        assert rest == others[0] + others[1] + others[2]


@given(st.integers(2, 10), st.integers(0, 3), st.lists(st.integers(0, 2), min_size=10, max_size=40))
def test_stratified_folds_share_every_class_evenly(n_folds, seed, codes):
    codes = np.array(codes)
    folds = dealt(len(codes), n_folds, codes, seed)
    assert folds.is_partition
    for code in range(3):
        shares = [int((codes[test] == code).sum()) for test in folds.tests]
        assert max(shares) - min(shares) <= 1


def test_folds_that_are_no_partition():
    overlapping = Folds(4, [np.array([0, 1]), np.array([1, 2])])
    assert not overlapping.is_partition

    halves = np.rint(2 * X) / 2  # sums of these and of their squares are exact

    def count(places):
        return textbook().fit(halves[places * 40], Y[places * 40]).statistics_

    for subtractable in (True, False):
        total, left_out = overlapping.statistics(count, subtractable)
        assert total == count(np.arange(4))
        assert left_out == [count(np.array([2, 3])), count(np.array([0, 3]))]


# -- The same as fitting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto"])
@pytest.mark.parametrize(
    "splitter", [StratifiedKFold(4), KFold(5, shuffle=True, random_state=1), ShuffleSplit(3, random_state=1)]
)
def test_scores_are_those_of_scikit_learn(recipe, splitter):
    splits = list(splitter.split(X, Y))
    model = NaiveBayes(recipe, kept_rows=60)
    found = tune(model, X, Y, {"prior": ["estimated"]}, folds=splits, scoring=["log_loss", "accuracy"])
    expected = -cross_val_score(model, X, Y, cv=splits, scoring="neg_log_loss")
    np.testing.assert_allclose(found.scores["log_loss"][0], expected, rtol=1e-9)
    np.testing.assert_allclose(found.scores["accuracy"][0], cross_val_score(model, X, Y, cv=splits), rtol=1e-12)


def test_a_splitter_is_asked_for_its_splits():
    splitter = StratifiedKFold(4)
    one = tune(textbook(), X, Y, {"prior": ["uniform"]}, folds=splitter)
    other = tune(textbook(), X, Y, {"prior": ["uniform"]}, folds=splitter.split(X, Y))
    np.testing.assert_array_equal(one.scores["accuracy"], other.scores["accuracy"])


def test_the_seed_and_the_strata():
    def folds(**arguments):
        return tune(textbook(), X, Y, {"prior": ["uniform"]}, scoring="log_loss", **arguments).scores["log_loss"]

    assert (folds(seed=1) == folds(seed=1)).all()
    assert (folds(seed=1) != folds(seed=2)).any()
    assert (folds(stratify=True) != folds(stratify=False)).any()


def test_leave_one_out_is_as_many_folds_as_rows():
    rows = slice(0, 150, 5)
    grid = {"families": [Gaussian(), Gaussian(ties="feature")]}
    closed = tune(textbook(), X[rows], Y[rows], grid, folds="loo", scoring=EVERY_MEASURE)
    folded = tune(textbook(), X[rows], Y[rows], grid, folds=30, scoring=["log_loss", "accuracy", "brier"])
    for name in folded.scores:
        np.testing.assert_allclose(closed.scores[name][:, 0], folded.scores[name].mean(axis=1), rtol=1e-10)
    assert closed.scores["kappa"].shape == (2, 1)
    assert "kappa_sd" not in closed.table


@pytest.mark.parametrize("name", EVERY_MEASURE)
def test_the_measures_are_those_of_scikit_learn(name):
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([1, 1, 1], 50)
    codes, weights = rng.integers(0, 3, 50), rng.integers(1, 4, 50).astype(float)
    chosen = proba.argmax(axis=1)
    expected = {
        "accuracy": lambda: np.average(chosen == codes, weights=weights),
        "balanced_accuracy": lambda: balanced_accuracy_score(codes, chosen, sample_weight=weights),
        "kappa": lambda: cohen_kappa_score(codes, chosen, sample_weight=weights),
        "log_loss": lambda: log_loss(codes, proba, sample_weight=weights),
        "brier": lambda: sum(
            brier_score_loss(codes == code, proba[:, code], sample_weight=weights) for code in range(3)
        ),
    }[name]()
    assert MEASURES[name].of(np.log(proba), codes, weights) == pytest.approx(expected, rel=1e-12)


def test_kappa_where_chance_is_always_right():
    assert np.isnan(MEASURES["kappa"].of(np.log([[0.9, 0.1]]), np.array([0]), np.ones(1)))


@pytest.mark.parametrize(
    "name", ["roc_auc", "f1", "neg_log_loss", "neg_brier_score", "matthews_corrcoef", "average_precision"]
)
def test_scorers_of_scikit_learn_score_as_in_cross_validation(name):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, :5], y[::3]
    folds = list(StratifiedKFold(3).split(X, y))
    result = tune(textbook(), X, y, {"prior": ["estimated"]}, folds=folds, scoring=name)
    np.testing.assert_allclose(
        result.scores[name][0], cross_val_score(textbook(), X, y, cv=folds, scoring=name), rtol=1e-9
    )
    scorer = get_scorer(name)
    by_object = tune(textbook(), X, y, {"prior": ["estimated"]}, folds=folds, scoring=scorer)
    np.testing.assert_allclose(by_object.scores["score"], result.scores[name], rtol=1e-9)


def test_scorers_of_several_classes_and_names_that_do_not_exist():
    X, y = load_iris(return_X_y=True)
    for name in ("roc_auc_ovr", "f1_macro", "top_k_accuracy"):
        assert 0.9 < tune(textbook(), X, y, [{}], folds=3, scoring=name).best_score_ <= 1
    with pytest.raises(ParameterError, match="'roc_auc' or 'f1_macro'"):
        tune(textbook(), X, y, [{}], scoring="roc_auk")
    with pytest.raises(InputError, match="'roc_auc' has no answer"):
        tune(textbook(), X, y, [{}], folds=3, scoring="roc_auc")


def test_folds_without_a_score_do_not_count():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1])
    folds = [([2, 3, 4, 5], [0, 1]), ([0, 1, 4, 5], [3, 6])]
    result = tune(textbook(), X, y, [{}], folds=folds, scoring="kappa")
    assert np.isnan(result.scores["kappa"][0, 0])
    assert result.best_score_ == result.scores["kappa"][0, 1]


# -- Options of objects -----------------------------------------------------------------------------------------------


def test_options_of_objects_are_tried_by_name():
    X, y = load_iris(return_X_y=True)
    by_name = tune(textbook(families="gaussian"), X, y, {"families__ties": ["none", "feature"]}, folds=3)
    by_object = tune(textbook(), X, y, {"families": [Gaussian(), Gaussian(ties="feature")]}, folds=3)
    np.testing.assert_array_equal(by_name.scores["accuracy"], by_object.scores["accuracy"])
    search = GridSearchCV(textbook(families="gaussian"), {"families__ties": ["none", "feature"]}, cv=3).fit(X, y)
    assert set(search.cv_results_["param_families__ties"]) == {"none", "feature"}


@pytest.mark.parametrize(
    ("parameters", "change", "found"),
    [
        ({"families": {"a": Gaussian()}}, {"families__a__ddof": 1}, {"a": Gaussian(ddof=1)}),
        ({"smoothing": "laplace"}, {"smoothing__tau": 0.5}, Laplace(0.5)),
        ({"smoothing": MEstimate(2)}, {"smoothing__m": 3, "smoothing__p": "marginal"}, MEstimate(3, "marginal")),
        (
            {"families": ByKind()},
            {"families__numbers__ddof": 1, "families__numbers__ties": "all"},
            ByKind(Gaussian("all", 1)),
        ),
        ({}, {"families": Gaussian(), "families__ddof": 1}, Gaussian(ddof=1)),
    ],
)
def test_options_are_set_in_a_copy(parameters, change, found):
    model = textbook(**parameters)
    before = copy.deepcopy(parameters)
    name = next(iter(change)).partition("__")[0]
    assert getattr(model.set_params(**change), name) == found
    assert parameters == before


@pytest.mark.parametrize("name", ["families__tie", "families__ties__x", "famile__ties", "prior__x", "families__"])
def test_options_that_do_not_exist_are_refused(name):
    with pytest.raises((ParameterError, ValueError), match=r"no (option|parameter) of|Invalid parameter"):
        textbook(families="gaussian").set_params(**{name: "feature"})


def test_models_of_other_systems_are_tuned_over_their_own_parameters():
    X, y = load_iris(return_X_y=True)
    grid = {"usekernel": [False, True], "adjust": [1, 2], "fL": [0, 1]}
    result = tune(compat.klar(), X, y, grid, folds=3, scoring="log_loss")
    for point, scores in zip(result.points, result.scores["log_loss"], strict=True):
        alone = tune(compat.klar(**point), X, y, [{}], folds=3, scoring="log_loss")
        np.testing.assert_array_equal(scores, alone.scores["log_loss"][0])
    assert isinstance(result.best_model_, compat.klar)
    assert repr(compat.klar(usekernel=True)) == "klar(usekernel=True)"
    search = GridSearchCV(compat.naivebayes(), {"usekernel": [False, True], "laplace": [0, 1]}, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 4


# -- The grid and the result ----------------------------------------------------------------------------------------


def test_rows_are_counted_once_per_set_of_statistics(monkeypatch):
    counted = []
    honest = LocalEngine.count

    def count(engine, table, *rest):
        counted.append(table.n_rows)
        return honest(engine, table, *rest)

    monkeypatch.setattr(LocalEngine, "count", count)
    grid = {"families": [Gaussian(), Gaussian(ddof=1), "studentt", Kernel(), Kernel(adjust=2)], "prior": ["uniform"]}
    result = tune(textbook(), X, Y, grid, folds=5)
    assert counted == [30] * 5 * 2  # Gaussian and Student's t share their sums; the kernels have a histogram as well
    fitted = textbook(**result.best_params_).fit(X, Y)
    np.testing.assert_allclose(result.best_model_.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)


def test_the_best_model_is_the_fitted_one_and_the_given_one_is_left_alone():
    rows, species = penguins()
    model = textbook(smoothing=3)
    grid = {"smoothing": [Lidstone(0.01), Jeffreys(), {"island": 1.0}], "prior": ["estimated", "uniform"]}
    result = tune(model, rows, species, grid, scoring="log_loss", folds=5)
    assert model.get_params() == textbook(smoothing=3).get_params()
    assert not hasattr(model, "statistics_")
    fitted = textbook(**result.best_params_).fit(rows, species)
    np.testing.assert_allclose(result.best_model_.predict_proba(rows), fitted.predict_proba(rows), rtol=1e-12)
    assert result.best_score_ == result.scores["log_loss"].mean(axis=1).min()
    assert len(result.table) == 6
    assert result.table["log_loss_5"].tolist() == result.scores["log_loss"][:, 4].tolist()
    text = repr(result)
    assert text.count("\n") == 6
    assert text.splitlines()[1 + result.best_index_].startswith("*")
    assert "Jeffreys(" in text


def test_a_function_can_be_the_score_and_more_of_it_is_better():
    def worst_class(y, proba, weights):
        hit = proba[np.arange(len(y)), np.searchsorted(["ant", "bee", "cat"], y)] * weights
        return min(hit[y == label].mean() for label in np.unique(y))

    names = np.array(["ant", "bee", "cat"])[Y]
    result = tune(textbook(), X, names, {"prior": ["uniform", [0.98, 0.01, 0.01]]}, scoring=worst_class, folds=3)
    assert result.best_params_ == {"prior": "uniform"}
    assert list(result.scores) == ["worst_class"]


@pytest.mark.parametrize("kind", ["array", "dict", "records", "pandas", "polars", "sparse", "column name"])
def test_all_kinds_of_tables(kind):
    frame = pd.DataFrame(X, columns=list("abcd"))
    y = Y
    table = {
        "array": X,
        "dict": frame.to_dict("list"),
        "records": frame.to_dict("records"),
        "pandas": frame.set_index(np.arange(150) * 2),
        "polars": pl.DataFrame(frame.to_dict("list")),
        "sparse": sparse.csr_array(X),
        "column name": frame.assign(kind=Y),
    }[kind]
    if kind == "column name":
        y = "kind"
    result = tune(textbook(), table, y, {"prior": ["estimated", "uniform"]}, scoring="log_loss")
    expected = tune(textbook(), X, Y, {"prior": ["estimated", "uniform"]}, scoring="log_loss")
    np.testing.assert_allclose(result.scores["log_loss"], expected.scores["log_loss"], rtol=1e-12)
    assert isinstance(result.table, pl.DataFrame if kind == "polars" else pd.DataFrame)


def test_without_a_data_frame_library_the_table_is_a_dict(monkeypatch):
    monkeypatch.setattr("naively._table.frames.find_spec", lambda name: None)
    result = tune(textbook(), X, Y, [{"smoothing": 1}, {"prior": "uniform"}])
    assert result.table["smoothing"] == ["1", "None"]
    assert len(result.table["accuracy_10"]) == 2


def test_weights_count_as_repetitions():
    weights = np.where(np.arange(150) % 3 == 0, 2.0, 1.0)
    places = np.repeat(np.arange(150), weights.astype(int))
    fold_of = np.arange(150) % 5
    folds = [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(5)]
    repeated = [(np.flatnonzero(fold_of[places] != fold), np.flatnonzero(fold_of[places] == fold)) for fold in range(5)]
    grid = {"families": ["gaussian"]}
    one = tune(textbook(), X, Y, grid, folds=folds, scoring=EVERY_MEASURE, sample_weight=weights)
    other = tune(textbook(), X[places], Y[places], grid, folds=repeated, scoring=EVERY_MEASURE)
    for name in EVERY_MEASURE:
        np.testing.assert_allclose(one.scores[name], other.scores[name], rtol=1e-12)


def test_a_class_that_a_fold_has_for_itself_is_impossible_there():
    x, y = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]), ["a", "a", "b", "b", "c"]
    folds = [([0, 1, 2, 3], [4]), ([1, 3, 4], [0, 2])]
    result = tune(textbook(), x, y, {"prior": ["uniform"]}, folds=folds, scoring=["log_loss", "accuracy"])
    assert result.scores["log_loss"][0, 0] == pytest.approx(-np.log(np.finfo(float).eps))
    assert result.scores["accuracy"][0, 0] == 0


def test_works_in_scikit_learns_grid_search():
    rows, species = penguins()
    frame = pd.DataFrame(rows)
    grid = {
        "smoothing": [0.1, "jeffreys", {"island": Lidstone(2.0)}],
        "families": [None, {"body_mass_g": Gaussian(ties="feature")}, {"bill_length_mm": "kernel"}],
        "prior": ["estimated", "uniform"],
    }
    cv = list(StratifiedKFold(3).split(frame, species))
    search = GridSearchCV(textbook(), grid, cv=cv, scoring="neg_log_loss").fit(frame, species)
    ours = tune(textbook(), frame, species, grid, folds=cv, scoring="log_loss")
    key = [tuple(map(str, (p["families"], p["prior"], p["smoothing"]))) for p in search.cv_results_["params"]]
    theirs = dict(zip(key, search.cv_results_["mean_test_score"], strict=True))
    for point, mean in zip(ours.points, ours.scores["log_loss"].mean(axis=1), strict=True):
        assert -theirs[tuple(map(str, (point["families"], point["prior"], point["smoothing"])))] == pytest.approx(mean)
    assert str(search.best_params_["families"]) == str(ours.best_params_["families"])


# -- Bad input ------------------------------------------------------------------------------------------------------

OK = {"prior": ["uniform"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": {"prior": "uniform"}}, "must be a list of values"),
        ({"grid": {"prior": []}}, "no points"),
        ({"grid": 3}, "dict of lists"),
        ({"grid": {"alpha": [1]}}, "no parameter of the model"),
        ({"folds": 1}, "from 2 to the number of rows, 150"),
        ({"folds": 151}, "from 2 to"),
        ({"folds": "many"}, "number of folds, 'loo'"),
        ({"folds": []}, "no pair"),
        ({"folds": [[1, 2, 3]]}, "pair of row numbers"),
        ({"folds": [([0.5], [1])]}, "whole numbers"),
        ({"folds": [([0], [])]}, "whole numbers"),
        ({"scoring": "auc"}, "scoring must be one of 'accuracy'"),
        ({"scoring": []}, "at least one measure"),
        ({"grid": {"recipe": ["auto"]}, "folds": "loo"}, "weighs evidence"),
        ({"grid": {"prior": ["even"]}}, "prior must be"),
        ({"model": "auto"}, "needs a NaiveBayes"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ParameterError, match=message):
        tune(**{"model": textbook(), "X": X, "y": Y, "grid": OK, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"folds": [([0, 1], [1])]}, "row 1 is both learnt and asked about"),
        ({"folds": [([0, 150], [1])]}, "from 0 to 149"),
        ({"sample_weight": np.zeros(150)}, "nothing to learn"),
        ({"sample_weight": np.arange(150) < 1, "folds": [(list(range(1, 9)), [0])]}, "weigh nothing"),
        ({"scoring": lambda *_: np.nan}, "a score that is a number"),
    ],
)
def test_bad_rows(arguments, message):
    with pytest.raises(InputError, match=message):
        tune(textbook(), X, Y, OK, **arguments)


# -- Progress -------------------------------------------------------------------------------------------------------


def test_progress_is_shown_when_it_takes_long(monkeypatch, capsys):
    monkeypatch.setattr("naively._common.progress.PATIENCE", 0.0)
    quiet = tune(textbook(), X, Y, {"prior_smoothing": [1, 2, 3]})
    assert capsys.readouterr().err == ""
    loud = tune(textbook(), X, Y, {"prior_smoothing": [1, 2, 3]}, progress=True)
    assert "tuning" in capsys.readouterr().err
    assert (loud.scores["accuracy"] == quiet.scores["accuracy"]).all()


def test_the_name_is_loaded_when_used():
    code = "import sys, naively; assert 'sklearn' not in sys.modules; naively.tune; assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
