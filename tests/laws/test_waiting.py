"""Small batches wait and are counted together: nobody who asks can tell, and none of them is lost."""

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import NaiveBayes, named
from naively._export import records
from naively.errors import InputError, NaivelyWarning, SchemaError

RECIPES = ("textbook", "fast", "auto")
NAMES = ("a", "b", "c")


def drawn(seed, n, classes=("u", "v")):
    random = np.random.default_rng(seed)
    X = random.integers(-50, 50, (n, 3)) / 4
    X[random.random((n, 3)) < 0.1] = np.nan
    return X, random.choice(classes, n)


def first(recipe="textbook", **parameters):
    return NaiveBayes(recipe, **parameters).partial_fit(*drawn(0, 40))


def n_waiting(model):
    waiting = model.__dict__.get("_records")
    return 0 if waiting is None else len(waiting.batches)


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=15)
@given(data=st.data())
def test_whenever_it_is_asked_the_model_is_that_of_all_rows(recipe, data):
    """Sums of quarters are exact, so that statistics are equal to the last bit."""
    batches, model = [drawn(0, 40)], first(recipe)
    for seed in range(1, data.draw(st.integers(1, 12))):
        batches.append(drawn(seed, data.draw(st.integers(1, 9))))
        model.partial_fit(*batches[-1])
        if data.draw(st.booleans()):
            assert model.class_count_.sum() == sum(len(y) for _, y in batches)
    X, y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    assert model.statistics_ == NaiveBayes(recipe).partial_fit(X, y).statistics_


@pytest.mark.parametrize(
    "convert", [lambda X: X.astype(np.float32), np.asfortranarray, lambda X: np.nan_to_num(X).astype(int), np.ma.array]
)
def test_arrays_of_any_numbers_wait(convert):
    model, (X, y) = first(), drawn(1, 9)
    model.partial_fit(convert(X), y)
    assert n_waiting(model) == 1
    assert model.statistics_ == first().partial_fit(convert(X), y, sample_weight=np.full(9, 1.0)).statistics_


@pytest.mark.parametrize("convert", [lambda X: pd.DataFrame(X, columns=NAMES), lambda X: named(X, NAMES)])
def test_tables_with_names_wait(convert):
    (X, y), (more, of_more) = drawn(0, 40), drawn(1, 9)
    model = NaiveBayes("textbook").partial_fit(convert(X), y).partial_fit(convert(more), of_more)
    assert n_waiting(model) == 1
    whole = NaiveBayes("textbook").fit(convert(np.concatenate([X, more])), np.concatenate([y, of_more]))
    assert model.statistics_ == whole.statistics_
    assert model.feature_names_in_.tolist() == list(NAMES)


@pytest.mark.parametrize("ask", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_what_waits_goes_with_a_copy(ask):
    model = first().partial_fit(*drawn(1, 9))
    assert n_waiting(model) == 1
    assert ask(model).statistics_ == first().partial_fit(*drawn(1, 9)).statistics_
    assert n_waiting(model) == 0


def test_a_record_is_answered_with_what_waits():
    frames = [(pd.DataFrame(X, columns=NAMES), y) for X, y in (drawn(0, 40), drawn(1, 30), drawn(2, 1))]
    model, whole = NaiveBayes("textbook"), NaiveBayes("textbook")
    for X, y in frames:
        record = dict.fromkeys(NAMES, 1.5)
        if "_state" in model.__dict__:
            model.learn_one(record, "u")
            whole.partial_fit([record], ["u"])
        model.partial_fit(X, y)
        whole.partial_fit(X, y).class_count_  # noqa: B018
        asked, expected = model.predict_proba_one(record), whole.predict_proba([record])[0]
        assert list(asked.values()) == pytest.approx(expected.tolist(), rel=1e-12)


def test_a_batch_is_copied():
    X, y = drawn(1, 9)
    model, expected = first().partial_fit(X, y), first().partial_fit(X.copy(), y.copy()).statistics_
    X[:], y[:] = 0.0, "u"
    assert model.statistics_ == expected


def test_what_is_wrong_with_a_batch_is_said_at_once():
    model = first()
    for X, error in ((np.full((2, 3), np.inf), InputError), (np.full((2, 3), 1e200), InputError)):
        with pytest.raises(error):
            model.partial_fit(X, ["u", "v"])
    with pytest.raises(SchemaError):
        model.partial_fit(np.zeros((2, 4)), ["u", "v"])
    with pytest.raises(InputError, match="as many rows"):
        model.partial_fit(np.zeros((2, 3)), ["u"])
    counts = NaiveBayes("textbook", families="poisson").partial_fit(np.ones((4, 3)), ["u", "v"] * 2)
    with pytest.raises(InputError, match="Negative values"):
        counts.partial_fit(-np.ones((2, 3)), ["u", "v"])
    table = NaiveBayes("textbook").partial_fit(pd.DataFrame(drawn(0, 40)[0], columns=NAMES), drawn(0, 40)[1])
    with pytest.warns(NaivelyWarning, match="lacks the columns"):
        table.partial_fit(pd.DataFrame({"a": [1.0], "b": [2.0]}), ["u"])
    assert n_waiting(model) == 0
    assert model.statistics_ == first().statistics_


def test_new_classes_and_declared_ones_do_not_wait():
    model = first()
    model.partial_fit(*drawn(1, 9, ("u", "w")))
    assert n_waiting(model) == 0
    model.partial_fit(*drawn(2, 9), classes=["u", "v", "x"])
    assert n_waiting(model) == 0
    assert model.classes_.tolist() == ["u", "v", "w", "x"]


def test_the_type_of_the_classes_is_that_of_counting_at_once():
    X = np.arange(8.0)[:, None]
    model = NaiveBayes("textbook").partial_fit(X, [0, 1] * 4).partial_fit(X[:2], np.array([0.0, 1.0]))
    assert n_waiting(model) == 0
    assert model.partial_fit(X[:2], [1, 1]).classes_.dtype == NaiveBayes("textbook").fit(X, [0, 1] * 4).classes_.dtype


def test_no_more_wait_than_may():
    model, (X, y) = first(), drawn(1, 100)
    for _ in range(2 * records.MOST_WAITING_CELLS // X.size):
        model.partial_fit(X, y)
        assert n_waiting(model) * X.size < records.MOST_WAITING_CELLS
    assert model.class_count_.sum() == 40 + 100 * (2 * records.MOST_WAITING_CELLS // X.size)


def test_what_is_interrupted_waits_on(monkeypatch):
    model = first().partial_fit(*drawn(1, 9))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(NaiveBayes, "_count", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.class_count_  # noqa: B018
    assert model.class_count_.sum() == 49


def test_fit_replaces_what_waits():
    model = first().partial_fit(*drawn(1, 9))
    assert model.fit(*drawn(2, 20)).statistics_ == NaiveBayes("textbook").fit(*drawn(2, 20)).statistics_


def test_threads_lose_no_batch():
    model = first()

    def learn(seed):
        for place in range(40):
            model.partial_fit(*drawn(seed, 5))
            if place % 7 == seed:
                model.class_count_  # noqa: B018

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(learn, range(4)))
    rows = [drawn(0, 40), *(drawn(seed, 5) for seed in range(4) for _ in range(40))]
    X, y = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    assert model.statistics_ == NaiveBayes("textbook").fit(X, y).statistics_


def test_nothing_is_said_when_waiting_batches_are_counted():
    model = first().partial_fit(*drawn(1, 9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.class_count_.sum() == 49
