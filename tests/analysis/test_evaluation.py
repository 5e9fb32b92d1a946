"""evaluate and compare: the numbers are those of scikit-learn, and the intervals hold what they promise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naively import NaiveBayes, compare, evaluate
from naively.analysis._evaluation import evaluated
from naively.demo import penguins
from naively.errors import InputError, ParameterError

random = np.random.default_rng(0)
ROWS, SPECIES = penguins()
FRAME = pd.DataFrame(ROWS).assign(species=SPECIES)
TRAIN, TEST = FRAME[::2], FRAME[1::2]


def test_the_measures_are_those_of_scikit_learn():
    X, y = random.normal(size=(200, 2)), random.integers(0, 2, 200)
    weights = random.integers(1, 4, 200).astype(float)
    model = NaiveBayes("textbook").fit(X[:100], y[:100])
    proba = model.predict_proba(X)
    for own in (None, weights):
        found = evaluate(model, X, y, own)
        assert found["accuracy"] == pytest.approx(accuracy_score(y, model.predict(X), sample_weight=own))
        assert found["log_loss"] == pytest.approx(log_loss(y, proba, sample_weight=own))
        assert found["auc"] == pytest.approx(roc_auc_score(y, proba[:, 1], sample_weight=own))
        assert found["brier"] == pytest.approx(2 * brier_score_loss(y, proba[:, 1], sample_weight=own))
        np.testing.assert_allclose(found.confusion, confusion_matrix(y, model.predict(X), sample_weight=own))


def test_the_auc_of_several_classes_is_the_mean_over_them():
    model = NaiveBayes("textbook").fit(TRAIN, "species")
    found = evaluate(model, TEST, "species")
    proba = model.predict_proba(TEST.drop(columns="species"))
    assert found["auc"] == pytest.approx(roc_auc_score(TEST["species"], proba, multi_class="ovr"))


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    hits = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        chance = draw.random(300)
        codes = (draw.random(300) < chance).astype(np.int64)
        log_proba = np.log(np.column_stack([1 - chance, chance]).clip(1e-9))
        found = evaluated(log_proba, codes, None, np.array([0, 1]))
        _, low, high = found.measures["accuracy"]
        hits += low <= 0.75 <= high  # the mean of max(p, 1 - p)
    assert 50 <= hits <= 60


@pytest.mark.parametrize("n_rows", [20, 49, 344])
def test_rows_that_are_all_right_may_be_so_by_chance(n_rows):
    """No such interval excludes an accuracy under which all rows are right in one of 20 samples."""
    codes = np.arange(n_rows) % 3
    log_proba = np.log(np.full((n_rows, 3), 0.1) + 0.7 * np.eye(3)[codes])
    value, low, high = evaluated(log_proba, codes, None, np.arange(3)).measures["accuracy"]
    assert value == high == 1.0
    assert low < 0.05 ** (1 / n_rows)


def test_weights_that_are_unequal_count_as_fewer_rows():
    codes = np.arange(400) % 2
    log_proba = np.log(np.full((400, 2), 0.3) + 0.4 * np.eye(2)[codes ^ (np.arange(400) % 5 == 0)])
    wide, narrow = (
        evaluated(log_proba, codes, weights, np.array([0, 1])).measures["accuracy"]
        for weights in (np.where(np.arange(400) % 4 < 2, 1.0, 0.01), np.ones(400))
    )
    assert wide[2] - wide[1] > narrow[2] - narrow[1]
    assert narrow == evaluated(log_proba, codes, np.full(400, 7.0), np.array([0, 1])).measures["accuracy"]


def test_fewer_drawn_rows_give_the_same_intervals(monkeypatch):
    chance = random.random(4000)
    codes = (random.random(4000) < chance).astype(np.int64)
    log_proba = np.log(np.column_stack([1 - chance, chance]).clip(1e-9))
    whole = evaluated(log_proba, codes, None, np.array([0, 1])).measures["log_loss"]
    monkeypatch.setattr("naively.analysis._evaluation.RESAMPLED_ROWS", 1000)
    part = evaluated(log_proba, codes, None, np.array([0, 1])).measures["log_loss"]
    assert part[0] == whole[0]
    assert part[2] - part[1] == pytest.approx(whole[2] - whole[1], rel=0.35)


def test_without_rows_the_kept_ones_are_judged_by_the_others():
    model = NaiveBayes().fit(TRAIN, "species")
    found = evaluate(model)
    assert found["accuracy"] == pytest.approx(model.calibration_.accuracy)
    assert found["log_loss"] == pytest.approx(model.calibration_.log_loss)
    assert found.n_rows == len(TRAIN)
    with pytest.raises(ParameterError, match="keeps none"):
        evaluate(NaiveBayes("textbook").fit(TRAIN, "species"))


def test_classifiers_of_scikit_learn_are_evaluated_too():
    known = TRAIN.dropna()
    numbers = known.select_dtypes("number").assign(species=known["species"])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        numbers.drop(columns="species"), numbers["species"]
    )
    found = evaluate(model, numbers, "species")
    assert found["accuracy"] == pytest.approx(model.score(numbers.drop(columns="species"), numbers["species"]))


def test_one_class_alone_has_no_curve():
    model = NaiveBayes("textbook").fit(TRAIN, "species")
    found = evaluate(model, TEST[TEST["species"] == "Adelie"], "species")
    assert np.isnan(found["auc"])


def test_the_classes_are_needed():
    with pytest.raises(InputError, match="needs the classes"):
        evaluate(NaiveBayes().fit(TRAIN, "species"), TEST)


def test_recipes_and_a_logistic_regression_side_by_side():
    comparison = compare(FRAME, "species", folds=3)
    frame = comparison.frame()
    assert set(frame["model"]) == {"textbook", "fast", "auto", "strong", "logistic regression"}
    assert frame["log_loss"].is_monotonic_increasing
    assert comparison.best == frame["model"][0]
    assert (frame["accuracy"] > 0.95).all()
    assert (frame["seconds"] > 0).all()


def test_a_comparison_is_a_cross_validation():
    comparison = compare(FRAME, "species", {"textbook": NaiveBayes("textbook")}, folds=[(range(200), range(200, 344))])
    model = NaiveBayes("textbook").fit(FRAME[:200], "species")
    expected = evaluate(model, FRAME[200:], "species")
    assert comparison.evaluations["textbook"]["log_loss"] == pytest.approx(expected["log_loss"])


def test_texts_are_compared():
    texts = pd.DataFrame(
        {
            "text": ["please call me about the free prize that you have won today"] * 20
            + ["shall we have lunch at the usual place when you are home again"] * 20,
            "y": [1] * 20 + [0] * 20,
        }
    )
    assert compare(texts, "y", folds=2).frame()["accuracy"].tolist() == pytest.approx([1.0] * 5, abs=1e-12)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ParameterError, match="models must be a dict"):
        compare(FRAME, "species", ["auto"])
