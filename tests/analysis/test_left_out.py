"""The kept rows as seen by models without their folds: what `calibration_`, `loo` and `evaluate` say of themselves."""

import numpy as np
import pandas as pd
import pytest

from naively import NaiveBayes
from naively.demo import penguins

rows, species = penguins()
NUMBER = np.random.default_rng(0).permutation(len(species)).astype(float)  # by which a kept row is known again
ROWS, SPECIES = pd.DataFrame(rows).assign(number=NUMBER), np.array(species)


def held_out(model):
    """Of each answer: where its row stands among those that were given, its fold, and its class."""
    fitted = model._estimated()[0].weighed.model.loo.fitted_on
    numbers = model.statistics_.kept.columns["number"][fitted.rows]
    return np.argsort(NUMBER)[numbers.astype(int)], fitted.folds, fitted.codes


def test_a_fold_is_answered_by_the_model_of_the_others():
    model = NaiveBayes("auto").fit(ROWS, SPECIES)
    answers, (places, folds, codes) = model.loo(), held_out(model)
    assert (model.classes_[codes] == SPECIES[places]).all()
    assert len(np.unique(folds)) == 8
    for fold in np.unique(folds):
        asked = places[folds == fold]
        rest = np.setdiff1d(np.arange(len(SPECIES)), asked)
        other = NaiveBayes("auto").fit(ROWS.iloc[rest], SPECIES[rest])
        np.testing.assert_allclose(answers[folds == fold], other.predict_log_proba(ROWS.iloc[asked]), atol=1e-6)


def test_calibration_evaluation_and_report_of_a_model_read_one_set_of_answers():
    from naively import evaluate

    model = NaiveBayes("auto").fit(ROWS, SPECIES)
    answers, (_, _, codes) = model.loo(), held_out(model)
    loss = -answers[np.arange(len(codes)), codes].mean()
    assert model.calibration_.log_loss == pytest.approx(loss)
    assert evaluate(model)["log_loss"] == pytest.approx(loss)
    frozen = model.frozen()
    np.testing.assert_array_equal(frozen.loo(), answers)
    assert frozen.calibration_.log_loss == model.calibration_.log_loss


def test_occurrences_of_a_row_leave_with_their_folds():
    """Rows of few values are dealt to folds one by one: no fold takes out all of a row that occurred often."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = {name: rng.integers(0, 2, 600) ^ (y & (rng.random(600) < 0.6)) for name in "abc"}
    text = {name: np.where(cells == 1, "yes", "no") for name, cells in X.items()}
    model = NaiveBayes("auto").fit(text, y)
    kept = model.statistics_.kept
    assert len(kept) <= 16
    counts = kept.without(np.full(len(kept), 0.25))
    np.testing.assert_allclose(counts.weights, 0.75 * kept.weights)
    np.testing.assert_array_equal(counts.occurrences, np.maximum(np.rint(0.75 * kept.occurrences), 1))
    assert len(kept.without(np.ones(len(kept)))) == 0
    new = rng.integers(0, 2, 4000)
    fresh = {name: rng.integers(0, 2, 4000) ^ (new & (rng.random(4000) < 0.6)) for name in "abc"}
    log_proba = model.predict_log_proba({name: np.where(cells == 1, "yes", "no") for name, cells in fresh.items()})
    found = -log_proba[np.arange(4000), new].mean()
    assert model.calibration_.log_loss == pytest.approx(found, abs=0.04)


@pytest.mark.parametrize("weight", [20.0, 1e-3])
def test_a_constant_weight_changes_no_answer(weight):
    plain = NaiveBayes("auto").fit(ROWS, SPECIES)
    weighted = NaiveBayes("auto").fit(ROWS, SPECIES, np.full(len(SPECIES), weight))
    np.testing.assert_allclose(weighted.loo(), plain.loo(), atol=1e-6)


def test_a_class_of_one_row_is_left_out_with_it():
    rng = np.random.default_rng(1)
    X, y = {"x": rng.normal(size=61)}, np.array([0, 1] * 30 + [2])
    answers = NaiveBayes("auto").fit(X, y).loo()
    assert np.isfinite(answers).all()
    np.testing.assert_allclose(np.exp(answers).sum(axis=1), 1.0)


def test_models_that_kept_few_of_many_rows_forget_them_only():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 5000)
    X = {"x": rng.normal(size=5000) + y}
    model = NaiveBayes("auto", kept_rows=200).fit(X, y)
    truth = -np.log(1 / (1 + np.exp(-(2 * y - 1) * (X["x"] - 0.5)))).mean()
    assert model.calibration_.log_loss == pytest.approx(truth, abs=0.1)


def test_what_is_estimated_for_it_is_estimated_once(monkeypatch):
    model = NaiveBayes("auto").fit(ROWS, SPECIES)
    first = model.loo()
    monkeypatch.setattr("naively.classifier.left_out_by_fold", None)
    np.testing.assert_array_equal(model.loo(), first)
    assert model.calibration_.accuracy > 0.9


# -- kept rows as a table ---------------------------------------------------------------------------------------------

NUMBERS = np.random.default_rng(3).normal(size=(120, 3))
CLASSES = (NUMBERS[:, 0] + np.random.default_rng(4).normal(size=120) > 0).astype(int)

LEARNT = {
    "an array": (NUMBERS, None),
    "an array, a column of which is ignored": (NUMBERS, [1]),
    "a frame whose columns are whole numbers": (pd.DataFrame(NUMBERS), None),
    "a frame, a column of which is ignored": (pd.DataFrame(NUMBERS, columns=list("abc")), ["b"]),
    "texts that are ignored": (pd.DataFrame(NUMBERS, columns=list("abc")).assign(b="some words"), ["b"]),
}

ASKED = {
    "calibration_": lambda model, X, folder: model.calibration_,
    "loo": lambda model, X, folder: model.loo(),
    "credible_interval": lambda model, X, folder: model.credible_interval(X, n_draws=2),
    "rank_features": lambda model, X, folder: model.rank_features(by="evidence"),
    "report": lambda model, X, folder: model.report(folder / "report.html"),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("learnt", LEARNT.values(), ids=LEARNT)
def test_kept_rows_are_read_like_those_that_were_learnt(learnt, asked, tmp_path):
    """By name and in their order, whatever they are called and whether all of their columns are read: no warning."""
    X, ignored = learnt
    assert asked(NaiveBayes("auto", ignore=ignored).fit(X, CLASSES), X[:2], tmp_path) is not None


def test_rows_that_are_weighed_no_more_are_not_asked():
    """Fewer rows than were kept: those with the lowest hashes."""
    model = NaiveBayes("auto").fit(NUMBERS, CLASSES).set_params(kept_rows=60)
    assert model.loo().shape == (len(model._estimated()[0].left_out.codes), 2)
    assert len(model.loo()) < 120
    assert np.isfinite(model.calibration_.log_loss)
