"""Filling in missing cells: what the formula says, in a copy of the same type."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from naively import NaiveBayes
from naively.demo import penguins
from naively.errors import NaivelyWarning, ParameterError
from naively.families import Bernoulli, Binned, Categorical, Gaussian, Kernel, Multinomial, Poisson, Stacked, StudentT
from tests.models import textbook

RNG = np.random.default_rng(4)
Y = np.repeat([0, 1], [30, 20])
X = np.column_stack([RNG.normal(size=50) + 2 * Y, RNG.normal(size=50) - Y, RNG.poisson(3 + 2 * Y)])
GAPS = X[:4].copy()
GAPS[0, 0] = GAPS[1, 1] = GAPS[2, 2] = GAPS[3, :] = np.nan


@pytest.mark.parametrize("family", [Gaussian(), StudentT(), Kernel(), Binned(), Poisson(), Stacked()])
def test_a_number_becomes_its_mean_given_the_rest(family):
    cells = np.abs(X)
    gaps = np.where(np.isnan(GAPS), np.nan, cells[:4])
    model = textbook(families=family).fit(cells, Y)
    posterior = model.predict_proba(gaps)
    if isinstance(family, Poisson):
        means = np.stack([model.parameters()[f"x{place}"]["rate"] for place in range(3)], axis=1)
    elif isinstance(family, StudentT):
        means = np.stack([model.parameters()[f"x{place}"]["location"] for place in range(3)], axis=1)
    elif isinstance(family, (Binned, Kernel)):
        means = np.stack([model.sample(60_000, y=label, seed=label)[0].mean(axis=0) for label in (0, 1)])
    else:
        means = np.stack([cells[label == Y].mean(axis=0) for label in (0, 1)])
    tolerance = 0.06 if isinstance(family, (Binned, Kernel)) else 1e-12
    expected = np.where(np.isnan(gaps), posterior @ means, gaps)
    np.testing.assert_allclose(model.impute(gaps), expected, atol=tolerance, rtol=0)


def test_a_label_becomes_its_most_probable_value_by_the_joint_distribution():
    cells = RNG.integers(0, 3, (200, 3))
    y = np.where(RNG.random(200) < 0.8, cells[:, 0], RNG.integers(0, 3, 200))
    model = textbook(families="categorical").fit(cells, y)
    for row in ([np.nan, 1, 2], [0, np.nan, 2], [2, 2, np.nan], [np.nan, np.nan, 1]):
        for column in np.flatnonzero(np.isnan(row)):
            options = []
            for value in range(3):
                filled = list(row)
                filled[column] = value
                options.append(np.exp(model.score_samples([filled])[0]))
            values, probabilities = model.impute_proba([row], int(column))
            assert values == [0, 1, 2]
            np.testing.assert_allclose(probabilities[0], np.array(options) / sum(options), rtol=1e-10)
            assert model.impute([row])[0][column] == np.argmax(options)


def test_the_cells_of_the_column_itself_are_not_looked_at():
    rows, species = penguins()
    model = textbook().fit(rows, species)
    known = model.impute_proba(rows[:10], "island")[1]
    hidden = model.impute_proba([{**row, "island": None} for row in rows[:10]], "island")[1]
    np.testing.assert_allclose(known, hidden, rtol=1e-12)
    np.testing.assert_allclose(known.sum(axis=1), 1, rtol=1e-12)


def test_yes_or_no():
    model = textbook(families={0: Gaussian(), 1: Bernoulli(0.5)}).fit(
        [[0.0, 0], [1.0, 0], [8.0, 1], [9.0, 1]], list("aabb")
    )
    assert model.impute([[0.5, np.nan], [8.5, np.nan]])[1] == [8.5, 1.0]
    assert model.impute_proba([[8.5, np.nan]], "x1")[1][0].round(2).tolist() == [0.25, 0.75]


def test_missing_counts_follow_the_known_ones():
    model = textbook(families=Multinomial(), smoothing="none").fit([[2, 2, 4], [1, 1, 2]], ["a", "a"])
    assert model.impute([[3.0, 3.0, np.nan], [np.nan] * 3]) == [[3.0, 3.0, 6.0], [1.5, 1.5, 3.0]]


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_all_recipes_fill_in_penguins(recipe):
    rows, species = penguins()
    model = NaiveBayes(recipe, kept_rows=200).fit(rows, species)
    before = copy.deepcopy(rows)
    filled = model.impute(rows)
    assert rows == before
    assert all(value is not None for row in filled for value in row.values())
    for old, new in zip(rows, filled, strict=True):
        assert all(new[name] == value for name, value in old.items() if value is not None)
    nowhere = [place for place, row in enumerate(rows) if row["body_mass_g"] is None]
    proba = model.predict_proba([rows[place] for place in nowhere])
    mean = [
        np.mean([r["body_mass_g"] for r, s in zip(rows, species, strict=True) if s == c and r["body_mass_g"]])
        for c in model.classes_
    ]
    assert [filled[place]["body_mass_g"] for place in nowhere] == pytest.approx((proba @ mean).tolist())


FRAME = {
    "size": [1.0, 2.0, None, 8.0, 9.0],
    "legs": [4, None, 4, 2, 2],
    "coat": ["fur", None, "fur", "down", "down"],
    "tame": [True, False, True, None, False],
}
LABELS = ["cat", "cat", "cat", "owl", "owl"]
EXPECTED_COAT = ["fur", "fur", "fur", "down", "down"]


def tables():
    pandas = pd.DataFrame(FRAME, index=[7, 8, 9, 3, 1])
    typed = pandas.astype({"legs": "Int64", "coat": "category", "tame": "boolean"})
    return {
        "dict": FRAME,
        "dict of arrays": {name: np.array(cells, dtype=object) for name, cells in FRAME.items()},
        "records": pandas.astype(object).where(pandas.notna(), None).to_dict("records"),
        "pandas": pandas,
        "pandas typed": typed,
        "polars": pl.DataFrame(FRAME),
        "polars categories": pl.DataFrame(FRAME).with_columns(pl.col("coat").cast(pl.Categorical)),
        "arrow": pa.table(FRAME),
    }


@pytest.mark.parametrize("name", tables())
def test_a_copy_of_the_same_type(name):
    table, untouched = tables()[name], tables()[name]
    model = textbook().fit(table, LABELS)
    filled = model.impute(table)
    assert type(filled) is type(table)
    assert repr(table) == repr(untouched)
    read = pd.DataFrame(filled.to_pydict() if name == "arrow" else filled.to_dicts() if "polars" in name else filled)
    assert read["coat"].tolist() == EXPECTED_COAT
    assert not read.isna().any().any()
    assert read["size"].tolist()[:2] == [1.0, 2.0]
    assert 1.0 <= float(read["size"].tolist()[2]) < 2.0
    assert 2.0 < float(read["legs"].tolist()[1]) <= 4.0
    assert [bool(value) for value in read["tame"]] == [True, False, True, False, False]
    if "pandas" in name:
        assert filled.index.tolist() == [7, 8, 9, 3, 1]
    if name == "pandas typed":
        assert str(filled["coat"].dtype) == "category"
        assert str(filled["tame"].dtype) == "boolean"
    if name == "polars categories":
        assert filled["coat"].dtype == pl.Categorical


def test_a_category_that_the_frame_does_not_declare():
    model = textbook().fit({"size": [1.0, 9.0], "coat": ["fur", "down"]}, ["cat", "owl"])
    table = pd.DataFrame({"size": [9.0, 1.0], "coat": pd.Categorical([None, "fur"])})
    assert model.impute(table)["coat"].tolist() == ["down", "fur"]


def test_arrays_lists_and_sparse_matrices():
    model = textbook(families="gaussian").fit(X, Y)
    expected = model.impute(GAPS)
    assert np.isnan(GAPS).sum() == 6
    assert model.impute(GAPS.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.impute(GAPS.tolist()), expected)
    stored = sparse.csc_array(GAPS)
    filled = model.impute(stored)
    assert (filled.format, type(filled)) == ("csc", type(stored))
    np.testing.assert_allclose(filled.toarray(), expected)
    assert np.isnan(stored.data).sum() == 6
    memory = memoryview(np.ascontiguousarray(GAPS))
    np.testing.assert_allclose(model.impute(memory), expected)
    whole = model.impute(X.astype(int))
    assert whole.dtype == int
    mixed = textbook().fit(np.array([["x", 1.0], ["y", 2.0]], dtype=object), [0, 1])
    assert mixed.impute(np.array([[None, 2.0]], dtype=object)).tolist() == [["y", 2.0]]


def test_columns_that_the_model_does_not_know_or_x_does_not_have():
    model = textbook().fit({"size": [1.0, 9.0], "coat": ["fur", "down"]}, ["cat", "owl"])
    with pytest.warns(NaivelyWarning):
        filled = model.impute({"other": [None], "size": [None]})
    assert filled == {"other": [None], "size": [5.0]}


def test_a_column_of_which_nothing_is_known():
    model = textbook(families={"void": Categorical()}).fit({"size": [1.0, 9.0], "void": [None, None]}, [0, 1])
    assert model.impute({"size": [None], "void": [None]}) == {"size": [5.0], "void": [None]}


def test_numbers_have_no_table_of_probabilities():
    model = textbook().fit(X, Y)
    with pytest.raises(ParameterError, match="'x0' holds numbers, not labels"):
        model.impute_proba(X, 0)
    with pytest.raises(ParameterError, match="column names the column 'size'"):
        model.impute_proba(X, "size")


def test_another_prior():
    model = textbook().fit({"size": [1.0, 9.0]}, ["cat", "owl"])
    assert model.impute({"size": [None]}, prior=[0.25, 0.75])["size"] == pytest.approx([7.0])
