"""One record at a time: the same model, at any moment."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively.errors import InputError, InputTypeError

N = 120
RECORDS = [
    {"age": float(20 + 3 * (i % 7)), "size": 1.5 * (i % 11) - 4, "coat": ["plain", "striped", "spotted"][i % 3]}
    for i in range(N)
]
LABELS = [["dog", "cat"][(i // 3) % 2] for i in range(N)]


def learnt(records=RECORDS, labels=LABELS, recipe="textbook"):
    model = NaiveBayes(recipe)
    for record, label in zip(records, labels, strict=True):
        model.learn_one(record, label)
    return model


@pytest.mark.parametrize("recipe", ["textbook", "auto", "fast"])
def test_records_one_by_one_are_the_rows(recipe):
    one_by_one, at_once = learnt(recipe=recipe), NaiveBayes(recipe).fit(RECORDS, LABELS)
    assert one_by_one.class_count_.tolist() == at_once.class_count_.tolist()
    np.testing.assert_allclose(one_by_one.predict_proba(RECORDS), at_once.predict_proba(RECORDS), rtol=0, atol=1e-9)


cells = st.fixed_dictionaries(
    {}, optional={"a": st.floats(-1e6, 1e6), "b": st.sampled_from(["x", "y"]), "c": st.booleans()}
)


@given(st.lists(st.tuples(cells, st.sampled_from("pq")), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_any_records_in_any_order_are_the_rows(pairs):
    full = [({"a": 0.5, "b": "x", "c": True}, "p"), *pairs]
    one_by_one = learnt(*zip(*full, strict=True))
    records, labels = zip(*full, strict=True)
    at_once = NaiveBayes("textbook").fit(list(records), list(labels))
    record = {"a": 1.0, "b": "y"}
    expected = at_once.predict_proba([{**record, "c": None}])[0]
    assert list(one_by_one.predict_proba_one(record).values()) == pytest.approx(expected.tolist(), abs=1e-9)
    assert one_by_one.class_count_.tolist() == at_once.class_count_.tolist()


def test_nothing_is_answered_before_anything_is_learnt():
    model = NaiveBayes()
    assert model.predict_one({"x": 1}) is None
    assert model.predict_proba_one({"x": 1}) == {}
    assert not model._is_fitted()


@pytest.mark.parametrize("recipe", ["textbook", "auto", "strong"])
def test_one_record_is_answered_as_a_table_is(recipe):
    model = NaiveBayes(recipe).fit(RECORDS, LABELS)
    for record in (*RECORDS[:4], {"coat": "never seen", "age": None, "size": 2}, {"size": -1.0, "else": 3}):
        table = {name: [record.get(name)] for name in ("age", "size", "coat")}
        expected = model.predict_proba(table)[0]
        found = model.predict_proba_one(record)
        assert list(found.values()) == pytest.approx(expected.tolist(), abs=1e-9)
        assert model.predict_one(record) == model.predict(table)[0]


def test_new_keys_and_new_classes_are_learnt():
    model = learnt()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.learn_one({"age": 30.0, "tail": 4.0}, "fish")
    assert any("new columns" in str(one.message) for one in said)
    model.learn_one({"age": 31.0, "tail": 5.0}, "fish")
    assert model.classes_.tolist() == ["cat", "dog", "fish"]
    assert model.schema_.names == ("age", "size", "coat", "tail")
    more = [*RECORDS, {"age": 30.0, "tail": 4.0}, {"age": 31.0, "tail": 5.0}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class of few rows
        at_once = NaiveBayes("textbook").fit(more, [*LABELS, "fish", "fish"])
    expected = at_once.predict_proba({"age": [30.5], "size": [None], "coat": [None], "tail": [4.5]})[0]
    found = model.predict_proba_one({"tail": 4.5, "age": 30.5})
    assert list(found.values()) == pytest.approx(expected.tolist(), abs=1e-9)


def test_a_bad_record_is_refused_when_it_comes_and_changes_nothing():
    model = learnt()
    before = model.class_count_.tolist()
    with pytest.raises(InputTypeError, match="'age'"):
        model.learn_one({"age": "old"}, "dog")
    with pytest.raises(InputError, match="infinity"):
        model.learn_one({"age": np.inf}, "dog")
    with pytest.raises(InputTypeError, match="A record must be a dict"):
        model.learn_one([1.0], "dog")
    assert model.class_count_.tolist() == before


def test_a_record_may_be_changed_after_it_was_learnt():
    record, model = dict(RECORDS[0]), learnt()
    model.learn_one(record, "dog")
    record["age"] = 1e9
    assert model.parameters()["age"]["mean"].max() < 100


def test_records_are_forgotten():
    model = learnt()
    for record, label in zip(RECORDS[60:], LABELS[60:], strict=True):
        model.forget_one(record, label)
    half = NaiveBayes("textbook").fit(RECORDS[:60], LABELS[:60])
    np.testing.assert_allclose(model.predict_proba(RECORDS), half.predict_proba(RECORDS), rtol=0, atol=1e-9)


@pytest.mark.parametrize("moved", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_what_waits_is_in_every_copy(moved):
    model = learnt()
    other = moved(model)
    assert other.class_count_.sum() == N
    other.learn_one(RECORDS[0], "dog")
    assert (other.class_count_.sum(), model.class_count_.sum()) == (N + 1, N)
    assert (learnt() + learnt()).class_count_.sum() == 2 * N


def test_threads_lose_nothing():
    model = learnt(RECORDS[:6], LABELS[:6])

    def work():
        for record, label in zip(RECORDS, LABELS, strict=True):
            model.learn_one(record, label)
            if record["age"] == 20.0:
                model.predict_one(record)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.class_count_.sum() == 6 + 4 * N


def test_a_parameter_that_changes_is_seen():
    model = learnt()
    model.predict_one(RECORDS[0])
    model.set_params(prior={"cat": 0.0, "dog": 1.0})
    assert model.predict_one(RECORDS[0]) == "dog"


def test_records_that_come_while_rows_with_other_columns_are_counted_are_not_lost(monkeypatch):
    model, count, came = NaiveBayes("textbook").fit(RECORDS, LABELS), NaiveBayes._count, []

    def count_slowly(self, *given):
        counted = count(self, *given)
        if not came:
            came.append(1)
            model.partial_fit([{**RECORDS[0], "other": 1.0}], LABELS[:1])  # as another thread may do meanwhile
            model.learn_one({**RECORDS[0], "other": 2.0}, LABELS[0])
        return counted

    monkeypatch.setattr(NaiveBayes, "_count", count_slowly)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the new column
        model.partial_fit([{**RECORDS[0], "third": 1.0}], LABELS[:1])
    assert model.class_count_.sum() == N + 3
