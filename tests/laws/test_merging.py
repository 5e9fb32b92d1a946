"""Law 2: the empty model is the identity; + is associative and commutative; it aligns by label and takes the union."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.errors import SchemaError
from naively.statistics._statistics import Statistics
from tests.models import textbook
from tests.strategies import Rows, assert_same_answer, cases

pytestmark = pytest.mark.usefixtures("kernels")


@given(cases())
def test_the_unfitted_model_is_the_identity(case):
    model = case.fitted()
    for merged in (model + case.model(), case.model() + model):
        assert merged.statistics_ == model.statistics_
        assert merged.schema_ == model.schema_
        assert merged.classes_.tolist() == model.classes_.tolist()


@given(cases())
def test_empty_statistics_are_the_identity(case):
    statistics, empty = case.fitted().statistics_, Statistics.empty()
    assert statistics + empty == statistics
    assert empty + statistics == statistics
    assert empty + empty == empty


def test_two_unfitted_models_make_an_unfitted_model():
    merged = textbook(smoothing=2.0) + textbook()
    assert not hasattr(merged, "statistics_")
    assert merged.smoothing == 2.0


@given(cases(min_rows=3))
def test_merging_is_commutative_and_associative(case):
    a, b, c = (case.fitted(case.rows.take(range(start, len(case.rows), 3))).statistics_ for start in range(3))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert (c + a) + b == a + (b + c)


@given(cases(kinds=("gaussian", "colour", "events", "words", "yes"), min_rows=2), st.data())
def test_models_of_different_columns_merge_to_the_union_with_missing_cells(case, data):
    names = list(case.rows.columns)
    half = len(case.rows) // 2
    parts, padded = [], {name: [] for name in names}
    y, weights = [], []
    for places in (range(half), range(half, len(case.rows))):
        kept = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        rows = case.rows.take(places)
        families = {name: family for name, family in case.parameters["families"].items() if name in kept}
        parts.append(case.fitted(rows.only(kept), families=families))
        for name in names:
            padded[name] += rows.columns[name] if name in kept else [None] * len(rows)
        y, weights = y + rows.y, weights + (rows.weights or [1.0] * len(rows))
    seen = [name for name in names if any(name in part.schema_.names for part in parts)]
    union = Rows({name: padded[name] for name in seen}, y, weights)
    merged = parts[0] + parts[1]
    families = {name: case.parameters["families"][name] for name in seen}
    assert merged.statistics_ == case.fitted(union, families=families).statistics_
    assert sorted(merged.schema_.names) == sorted(seen)
    assert (parts[1] + parts[0]).statistics_ == merged.statistics_


def test_classes_and_categories_are_aligned_by_label_not_by_position():
    first = textbook().fit({"colour": ["blue", "red"], "size": [1.0, 2.0]}, ["b", "c"])
    second = textbook().fit({"size": [4.0, 8.0], "colour": ["amber", "blue"]}, ["a", "b"])
    merged = first + second
    whole = textbook().fit(
        {"colour": ["blue", "red", "amber", "blue"], "size": [1.0, 2.0, 4.0, 8.0]}, ["b", "c", "a", "b"]
    )
    assert merged.statistics_ == whole.statistics_
    assert merged.classes_.tolist() == ["a", "b", "c"]
    query = {"size": [3.0, None], "colour": ["amber", "red"]}
    assert_same_answer(merged, whole, query)


def test_merging_changes_neither_side():
    first, second = textbook().fit([[1.0], [2.0]], [0, 1]), textbook().fit([[5.0]], [2])
    before = first.statistics_, second.statistics_
    merged = first + second
    merged.partial_fit([[3.0]], [1])
    assert (first.statistics_, second.statistics_) == before
    assert first.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "other", "merged"),
    [
        ([0, 1], [1, 2], [0, 1, 2]),
        ([False, True], [True, True], [False, True]),
        (["a", "b"], ["bb", "c"], ["a", "b", "bb", "c"]),
        (np.array([0, 1], dtype=np.int8), np.array([300, 1]), [0, 1, 300]),
        ([0.0, 1.0], [1, 2], [0, 1, 2]),
    ],
)
def test_class_labels_of_several_types_merge(y, other, merged):
    X = [[1.0], [2.0]]
    model = textbook().fit(X, y) + textbook().fit(X, other)
    assert model.classes_.tolist() == merged
    assert model.class_count_.sum() == 4
    assert textbook().fit(X, y).partial_fit(X, other).statistics_ == model.statistics_


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (([[1.0]], ["a"]), ([[1.0]], [1]), "one type.*Convert"),
        (([[1.0]], ["a"]), ([[1.0, 2.0]], ["a"]), "1 and 2 columns.*data frames"),
        (({"x": [1.0]}, ["a"]), ({"x": ["red"]}, ["a"]), "'x'.*same families"),
    ],
    ids=["class types", "unnamed columns", "families"],
)
def test_models_that_do_not_fit_each_other_say_why(first, second, message):
    with pytest.raises(SchemaError, match=message):
        textbook().fit(*first) + textbook().fit(*second)


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError):
        textbook() + 1


@given(st.permutations(range(4)))
def test_declared_classes_survive_merging(order):
    parts = [textbook().partial_fit([[float(place)]], ["x"], classes=[f"class {place}"]) for place in order]
    merged = parts[0] + parts[1] + parts[2] + parts[3]
    assert merged.classes_.tolist() == ["class 0", "class 1", "class 2", "class 3", "x"]
    assert merged.class_count_.tolist() == [0, 0, 0, 0, 4]
    assert merged.predict_proba([[1.0]]).tolist() == [[0, 0, 0, 0, 1]]


@given(cases(min_rows=3), st.integers(1, 99))
def test_models_subtract_and_sum(case, place):
    place = 1 + place % (len(case.rows) - 2)
    first, second = case.rows.take(range(place)), case.rows.take(range(place, len(case.rows)))
    whole, left, right = case.fitted(), case.fitted(first), case.fitted(second)
    assert sum([left, right]).statistics_ == whole.statistics_
    assert (whole - right).statistics_ == left.statistics_
    assert whole.statistics_ == case.fitted().statistics_  # what was subtracted from is as it was


def test_what_is_no_model_is_neither_added_nor_subtracted():
    model = textbook().fit([[1.0], [2.0]], [0, 1])
    for operation in (lambda: model - 1, lambda: model + 1, lambda: 1 + model):
        with pytest.raises(TypeError):
            operation()
