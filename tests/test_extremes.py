"""Tables at the edge of sense that must work all the same."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from naively.errors import InputError
from naively.families import Bernoulli, Categorical, Complement, Gaussian, Multinomial, Poisson
from tests.models import textbook

FAMILIES = [
    Gaussian(),
    Gaussian(ties="all", ddof=1),
    Categorical(),
    Bernoulli(),
    Poisson(),
    Multinomial(),
    Complement(),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_one_row(family):
    model = textbook(families=family).fit([[3]], ["a"])
    assert model.predict([[3], [9]]).tolist() == ["a", "a"]
    assert model.predict_proba([[3]]).tolist() == [[1.0]]


@pytest.mark.parametrize("family", FAMILIES)
def test_one_class(family):
    model = textbook(families=family).fit([[3], [0], [1]], [7, 7, 7])
    assert model.classes_.tolist() == [7]
    assert model.predict_proba([[5], [np.nan]]).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("family", [None, *FAMILIES])
def test_a_column_without_a_known_cell(family):
    families = None if family is None else {"nothing": family}
    model = textbook(families=families).fit({"nothing": [None] * 4, "size": [1.0, 2.0, 7.0, 8.0]}, list("aabb"))
    alone = textbook().fit({"size": [1.0, 2.0, 7.0, 8.0]}, list("aabb"))
    answer = model.predict_proba({"nothing": [None, None], "size": [1.5, 7.5]})
    np.testing.assert_allclose(answer, alone.predict_proba({"size": [1.5, 7.5]}), rtol=1e-12)
    assert np.isfinite(model.predict_proba({"nothing": [1, 0], "size": [1.5, 7.5]})).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_column_without_a_known_cell_in_a_frame(frame):
    model = textbook().fit(frame({"nothing": [None, None], "size": [1.0, 2.0]}), ["a", "b"])
    assert model.predict(frame({"nothing": [None], "size": [1.0]})).tolist() == ["a"]
    numbers = textbook().fit(frame({"nothing": [np.nan, np.nan], "size": [1.0, 2.0]}), ["a", "b"])
    assert numbers.predict(frame({"nothing": [3.0], "size": [1.0]})).tolist() == ["a"]


def test_nothing_but_a_column_without_a_known_cell():
    model = textbook().fit({"nothing": [None, None, None]}, list("aab"))
    np.testing.assert_allclose(model.predict_proba({"nothing": [None]}), [[2 / 3, 1 / 3]], rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_constant_column(family):
    model = textbook(families={0: family}).fit([[1, 1.0], [1, 2.0], [1, 7.0], [1, 8.0]], list("aabb"))
    alone = textbook().fit([[1.0], [2.0], [7.0], [8.0]], list("aabb"))
    if not isinstance(family, Gaussian) or family.ties == "none":
        np.testing.assert_allclose(model.predict_proba([[1, 1.5]]), alone.predict_proba([[1.5]]), rtol=1e-12)
    assert np.isfinite(model.predict_log_proba([[1, 1.5], [0, 7.5]])).all()


def test_a_million_categories():
    n = 1_000_000
    codes = np.random.default_rng(0).permutation(n)
    y = (codes % 2).astype(np.int8)
    model = textbook(families="categorical").fit(codes[:, None], y)
    (table,) = model.statistics_.tables.values()
    assert len(table.categories[0]) == n
    assert (model.predict(codes[:1000, None]) == y[:1000]).all()


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_a_hundred_thousand_categories_of_text():
    names = [f"user {place}" for place in range(100_000)]
    y = [place % 2 for place in range(100_000)]
    frame = pl.DataFrame({"user": names})
    model = textbook().fit(frame, y)
    assert model.predict(frame[:100]).tolist() == y[:100]
    assert np.isfinite(model.predict_proba(pl.DataFrame({"user": ["stranger"]}))).all()


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_ten_thousand_classes():
    n = 10_000
    y = np.repeat(np.arange(n), 2)
    X = np.column_stack([y + np.tile([-0.1, 0.1], n), y % 7])
    model = textbook(families={1: "categorical"}).fit(X, y)
    assert len(model.classes_) == n
    places = [0, 1, 4999, 9999]
    assert model.predict(X[::2][places]).tolist() == places
    np.testing.assert_allclose(model.predict_proba(X[:3]).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_ten_thousand_classes_of_text_learnt_in_two_batches():
    labels = [f"class {place}" for place in range(10_000)]
    X = np.arange(10_000.0)[:, None]
    model = textbook().partial_fit(X[:5000], labels[:5000]).partial_fit(X[5000:], labels[5000:])
    assert model.statistics_ == textbook().fit(X, labels).statistics_


def test_a_table_of_classes_and_categories_that_no_memory_holds_is_refused():
    n = 40_000
    X = {"user": [f"user {place}" for place in range(n)]}
    with pytest.raises(InputError, match=r"'user' has 40,000 values and y has 40,000 classes.*GiB.*Drop the column"):
        textbook().fit(X, list(range(n)))


@pytest.mark.parametrize("spread", [10**9, 2**62])
def test_codes_far_apart_take_no_room(spread):
    X = np.array([[0], [spread], [-spread], [spread]])
    model = textbook(families="categorical").fit(X, list("aabb"))
    assert sorted(model.parameters()["x0"]["probability"]) == [-spread, 0, spread]
    assert model.predict([[0], [-spread]]).tolist() == ["a", "b"]
