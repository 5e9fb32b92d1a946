"""What carries labels is matched by label: priors, losses, pseudo-counts, columns and weights, in any order."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes, compat, load
from naively.analysis.thresholds import trade_off
from naively.errors import InputError, NaivelyError, NaivelyWarning, ParameterError, SchemaError
from naively.sklearn import GaussianNB, MultinomialNB
from naively.smoothing import Dirichlet, MEstimate, PerColumn
from tests.models import textbook

X = [[1.0], [2.0], [3.0], [4.5], [5.0], [9.0]]
Y = ["a", "b", "b", "c", "c", "a"]
CELLS = [["u"], ["v"], ["v"], ["w"], ["u"], ["w"]]
LABELS = ["a", "b", "c"]
orders = st.permutations(LABELS)
probabilities = st.lists(st.integers(1, 9), min_size=3, max_size=3).map(
    lambda numbers: np.array(numbers) / sum(numbers)
)


def fitted(**parameters):
    return textbook(**parameters).fit(X, Y)


@given(orders, probabilities)
def test_a_prior_is_matched_by_class_whatever_its_order(order, probability):
    by_class = dict(zip(LABELS, probability.tolist(), strict=True))
    shuffled = {label: by_class[label] for label in order}
    expected = fitted(prior=probability).predict_proba(X)
    series = pd.Series(shuffled)
    for prior in (shuffled, series, series.to_frame().T, pl.DataFrame({label: [p] for label, p in shuffled.items()})):
        if not hasattr(prior, "columns"):
            np.testing.assert_array_equal(fitted(prior=prior).predict_proba(X), expected)
            np.testing.assert_allclose(compat.klar(prior=prior).fit(X, Y).class_prior_, probability)
            np.testing.assert_allclose(GaussianNB(priors=prior).fit(X, Y).class_prior_, probability)
        rows = X if not hasattr(prior, "columns") else X[:1]
        np.testing.assert_array_equal(fitted().predict_proba(rows, prior=prior), expected[: len(rows)])
    counted = MultinomialNB(class_prior=series).fit(X, Y)
    np.testing.assert_allclose(np.exp(counted.class_log_prior_), probability)


def test_classes_that_are_numbers_are_matched_too():
    y = [2, 10, 10, 30, 30, 2]
    prior = pd.Series(y).value_counts(normalize=True).sort_values(kind="stable")
    for given_prior in (prior, prior[::-1], pd.DataFrame({"y": y})[["y"]].value_counts(normalize=True)):
        np.testing.assert_allclose(textbook(prior=given_prior).fit(X, y).class_prior_, 1 / 3)
    frame = pl.DataFrame({"30": [0.5], "2": [0.2], "10": [0.3]})
    found = textbook().fit(X, y).predict_proba(X[:1], prior=frame)
    np.testing.assert_array_equal(found, textbook().fit(X, y).predict_proba(X[:1], prior=[0.2, 0.3, 0.5]))


def test_an_index_that_only_counts_is_no_label():
    np.testing.assert_array_equal(fitted(prior=pd.Series([0.2, 0.3, 0.5])).class_prior_, [0.2, 0.3, 0.5])
    frame = pd.DataFrame([[0.2, 0.3, 0.5]] * 6)
    expected = fitted().predict_proba(X, prior=[0.2, 0.3, 0.5])
    np.testing.assert_array_equal(fitted().predict_proba(X, prior=frame), expected)


@pytest.mark.parametrize(
    "prior",
    [
        {"a": 0.5, "b": 0.25, "z": 0.25},
        {"a": 0.5, "b": 0.25, "c": 0.0, "z": 0.25},
        pd.Series({"a": 0.5, "b": 0.25, "c": 0.0, "z": 0.25}),
        pd.Series([0.5, 0.25, 0.25], index=["a", "b", "b"]),
        pd.DataFrame([[0.5, 0.25, 0.25]], columns=["a", "b", "z"]),
        np.ma.array([0.5, 0.25, 0.25], mask=[0, 0, 1]),
    ],
)
def test_a_prior_for_a_class_that_is_not_known_is_refused(prior):
    with pytest.raises(ParameterError, match="prior"):
        fitted().predict_proba(X[:1], prior=prior)


@given(orders, orders, st.lists(st.integers(0, 9), min_size=9, max_size=9))
def test_a_loss_is_matched_by_true_and_predicted_class(rows, columns, costs):
    loss = np.array(costs, dtype=float).reshape(3, 3)
    frame = pd.DataFrame(loss, index=LABELS, columns=LABELS).loc[rows, columns]
    expected = fitted().predict(X, loss=loss)
    for given_loss in (frame, frame.stack(), {true: frame.loc[true] for true in rows}):
        np.testing.assert_array_equal(fitted().predict(X, loss=given_loss), expected)


def test_a_loss_with_half_of_its_labels_is_refused_unless_its_order_is_that_of_the_classes():
    loss = np.arange(9.0).reshape(3, 3)
    in_order = pl.DataFrame(loss, schema=LABELS)
    np.testing.assert_array_equal(fitted().predict(X, loss=in_order), fitted().predict(X, loss=loss))
    for frame in (in_order.select("b", "a", "c"), pd.DataFrame(loss, columns=["b", "a", "c"])):
        with pytest.raises(ParameterError, match="but not its rows"):
            fitted().predict(X, loss=frame)
    with pytest.raises(ParameterError, match="loss has no row for 'c'"):
        fitted().predict(X, loss=pd.DataFrame(loss, index=["a", "b", "z"], columns=LABELS))


@given(st.permutations(["u", "v", "w"]), probabilities)
def test_pseudo_counts_are_matched_by_value(order, probability):
    series = pd.Series(dict(zip("uvw", probability, strict=True)))[order]
    for rule in (lambda numbers: MEstimate(3, numbers), lambda numbers: Dirichlet(numbers, "mean")):
        by_label, in_order = (textbook(smoothing=rule(given)).fit(CELLS, Y) for given in (series, tuple(probability)))
        np.testing.assert_array_equal(by_label.predict_proba(CELLS), in_order.predict_proba(CELLS))


def test_numbers_by_position_refuse_labels():
    with pytest.raises(ParameterError, match="dict by column"):
        PerColumn(pd.Series({"a": 1.0, "b": 2.0}))
    assert PerColumn(pd.Series([1.0, 2.0])).tau == (1.0, 2.0)


def test_a_prior_with_labels_is_saved_and_seen_when_its_labels_change(tmp_path):
    prior = pd.Series({"c": 0.5, "b": 0.3, "a": 0.2})
    model = fitted(prior=prior)
    before = model.predict_proba(X)
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(load(tmp_path / "m.json").predict_proba(X), before)
    prior.index = ["a", "b", "c"]
    np.testing.assert_array_equal(model.class_prior_, [0.5, 0.3, 0.2])
    assert not np.array_equal(model.predict_proba(X), before)


# -- names of columns -------------------------------------------------------------------------------------------------

NUMBERS = pd.DataFrame([[1.0, 200.0, 0.5], [2.0, 210.0, 0.1], [8.0, 100.0, 0.9], [9.0, 120.0, 0.2]])
Z = list("aabb")


@given(st.permutations([0, 1, 2]), st.permutations([0, 1, 2]), st.integers(-2, 3))
def test_whole_numbers_are_names_of_columns(fitted_order, asked_order, offset):
    frame = NUMBERS.set_axis([offset, offset + 1, offset + 2], axis=1)
    expected = textbook().fit(frame, Z).predict_proba(frame)
    model = textbook().fit(frame[[offset + place for place in fitted_order]], Z)
    found = model.predict_proba(frame[[offset + place for place in asked_order]])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_frame_that_counts_its_columns_is_an_array():
    model = textbook().fit(NUMBERS, Z)
    np.testing.assert_array_equal(model.predict_proba(NUMBERS.to_numpy()), model.predict_proba(NUMBERS[[2, 0, 1]]))
    assert not hasattr(model, "feature_names_in_")


def test_the_column_of_the_classes_and_families_by_whole_numbers():
    frame = pd.DataFrame({7: [1.0, 2.0, 8.0, 9.0], 3: [0.0, 1.0, 1.0, 0.0], 5: [0, 0, 1, 1]})
    model = textbook(families={3: "categorical"}).fit(frame, 5)
    assert model.feature_names_in_.tolist() == ["7", "3"]
    assert model.parameters()["3"]["family"].name() == "categorical"
    np.testing.assert_array_equal(model.predict(frame), [0, 0, 1, 1])
    with pytest.raises(SchemaError, match="y=4 names no column of X, which has 7, 3, 5"):
        textbook().fit(frame, 4)


def test_named_and_unnamed_models_do_not_merge():
    named, unnamed = textbook().fit(NUMBERS.rename(columns=str), Z), textbook().fit(NUMBERS.to_numpy(), Z)
    for one, other in ((named, unnamed), (unnamed, named)):
        with pytest.raises(SchemaError, match="with names and the other"):
            one + other


def test_a_record_batch_keeps_its_names():
    table = pa.table({"x": [1.0, 2.0, 8.0, 9.0], "kind": Z})
    model = textbook().fit(table.to_batches()[0], "kind")
    assert model.feature_names_in_.tolist() == ["x"]
    assert model.statistics_ == textbook().fit(table, "kind").statistics_


# -- masks ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=12, max_size=12), st.sampled_from([float, int, bool, object]))
def test_masked_cells_are_missing(mask, dtype):
    values = np.arange(12).reshape(4, 3).astype(dtype)
    hidden = np.array(mask).reshape(4, 3)
    masked = np.ma.array(values, mask=hidden)
    cells = values.astype(object)
    cells[hidden] = None
    expected = textbook().fit(cells.tolist(), Z)
    for table in (masked, list(masked), cells):
        assert textbook().fit(table, Z).statistics_ == expected.statistics_
    columns = {name: masked[:, place] for place, name in enumerate("pqr")}
    assert textbook().fit(columns, Z).class_count_.tolist() == [2, 2]
    for place, name in enumerate("pqr"):
        known = textbook().fit({name: columns[name]}, Z).statistics_
        assert known == textbook().fit({name: cells[:, place].tolist()}, Z).statistics_


def test_masked_classes_and_weights_are_refused():
    with pytest.raises(InputError, match="row 1 has no class"):
        textbook().fit(NUMBERS, np.ma.array([0, 1, 1, 0], mask=[0, 1, 0, 0]))
    with pytest.raises(InputError, match="row 1"):
        textbook().fit(NUMBERS, Z, sample_weight=np.ma.array([1.0, 1, 1, 0], mask=[0, 1, 0, 0]))


# -- labels of rows ---------------------------------------------------------------------------------------------------


@given(st.permutations(range(4)))
def test_weights_with_the_row_labels_of_the_table_are_matched_by_them(order):
    frame = NUMBERS.rename(columns=str).set_axis(list("pqrs"))
    weights = pd.Series([1.0, 2.0, 3.0, 4.0], index=list("pqrs"))
    expected = textbook().fit(frame, Z, sample_weight=weights)
    found = textbook().fit(frame, Z, sample_weight=weights.iloc[list(order)])
    assert found.statistics_ == expected.statistics_


def test_classes_in_another_order_of_rows_are_warned_about():
    frame = NUMBERS.rename(columns=str).set_axis(list("pqrs"))
    with pytest.warns(NaivelyWarning, match="same row labels in another order"):
        textbook().fit(frame, pd.Series(Z, index=list("srqp")))


def test_weights_in_a_column():
    frame = pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0], "n": [1.0, 2.0, 3.0, 4.0], "kind": Z})
    model = NaiveBayes("textbook").fit(frame, "kind", sample_weight="n")
    assert model.statistics_ == textbook().fit(frame[["x"]], Z, sample_weight=frame["n"]).statistics_
    assert model.score(frame, "kind", sample_weight="n") == model.score(frame[["x"]], Z, frame["n"]) == 1.0
    model.predict(frame)  # the columns that were set aside come along without a warning
    model.partial_fit(frame, "kind", sample_weight="n").forget(frame, frame["kind"], frame["n"])
    assert model.feature_names_in_.tolist() == ["x"]


# -- one class -----------------------------------------------------------------------------------------------------


ONE_CLASS = {
    "discriminant": lambda model, label: model.discriminant(base=label),
    "log_odds": lambda model, label: model.log_odds(base=label),
    "explain": lambda model, label: model.explain(ROWS_OF_TWO, target=label),
    "sample": lambda model, label: model.sample(3, y=label),
    "scorecard": lambda model, label: model.scorecard(good=label),
    "trade_off": lambda model, label: trade_off(model, ROWS_OF_TWO, list("abab"), positive=label),
}
ROWS_OF_TWO = {"coat": ["red", "blue", "red", "red"]}
NO_CLASS = (pd.NA, pd.NaT, float("nan"), "z", 7, [], ["a", "b"], {}, np.array(["a", "b"]), pd.Series(["a"]), object())


@pytest.mark.parametrize("question", ONE_CLASS)
@pytest.mark.parametrize("label", NO_CLASS, ids=lambda label: type(label).__name__ + str(label)[:4])
def test_what_is_no_class_is_refused_wherever_one_is_named(question, label):
    model = NaiveBayes("textbook").fit(ROWS_OF_TWO, list("abab"))
    with pytest.raises(NaivelyError, match=r"one of|class"):
        ONE_CLASS[question](model, label)


@pytest.mark.parametrize("question", ONE_CLASS)
def test_a_class_of_numpy_is_a_class(question):
    model = NaiveBayes("textbook").fit(ROWS_OF_TWO, list("abab"))
    ONE_CLASS[question](model, np.str_("a"))
