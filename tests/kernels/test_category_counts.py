"""Counts of values, and looking values up again: compiled, reference and plain counting agree."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.both import ROUNDING, exact, on_both
from tests.models import textbook
from tests.strategies import assert_close, cases


@given(cases(kinds=("colour", "code", "truth", "level")))
def test_both_kernels_give_the_same_bits(case):
    reference, compiled = on_both(lambda: case.fitted().statistics_)
    assert reference == compiled


@given(cases(kinds=("colour", "code", "truth", "level"), smoothing=st.sampled_from([1.0, 0.125])))
def test_both_kernels_look_up_the_same_evidence(case):
    def answers():
        model = case.fitted()
        return model.predict_joint_log_proba(case.query)

    reference, compiled = on_both(answers)
    assert_close(compiled, reference, 1.0 + np.abs(reference))


COLUMNS = {
    "close together": lambda random: random.integers(0, 9, 200),
    "negative": lambda random: random.integers(-5, 3, 200),
    "far apart": lambda random: random.choice([-(2**62), -7, 0, 10**9, 2**62], 200),
    "booleans": lambda random: random.integers(0, 2, 200).astype(bool),
    "bytes": lambda random: random.integers(0, 255, 200).astype(np.uint8),
    "halves": lambda random: random.integers(0, 5, 200) / 2,
    "one value": lambda random: np.full(200, 7),
    "missing": lambda random: np.where(random.random(200) < 0.4, np.nan, random.integers(0, 4, 200)),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("column", COLUMNS)
def test_the_counts_are_those_of_plain_counting(column, weighted):
    random = np.random.default_rng(4)
    values, y = COLUMNS[column](random), random.integers(0, 3, 200)
    weights = random.uniform(0.1, 2.0, 200) if weighted else None
    expected = Counter()
    for value, label, weight in zip(
        values.tolist(), y.tolist(), [1.0] * 200 if weights is None else weights, strict=True
    ):
        if value == value:
            expected[label, value] += Fraction(float(weight))
    model = textbook(families="categorical")
    for statistics in on_both(lambda: model.fit(values[:, None], y, weights).statistics_):
        (table,) = statistics.tables.values()
        (categories,) = table.categories
        assert list(categories) == sorted({value for _, value in expected})
        for code, label in enumerate(statistics.classes.tolist()):
            for place, category in enumerate(categories):
                wanted = expected[label, category]
                assert abs(exact(table.cells, (code, place)) - wanted) <= ROUNDING * wanted


@pytest.mark.parametrize("query", [-1, 9, 2**40, -(2**40), 0.5, np.nan, 1e300])
def test_values_outside_the_table_give_no_evidence(query):
    X, y = np.arange(9)[:, None], [0, 1, 2] * 3

    def answers():
        return textbook(families="categorical").fit(X, y).predict_joint_log_proba(np.array([[query], [4.0]]))

    for joint in on_both(answers):
        np.testing.assert_allclose(joint[0], np.log(1 / 3), rtol=1e-12)
        assert joint[1, 1] > joint[1, 0]


@pytest.mark.parametrize("library", ["pandas", "polars", "polars text", "pyarrow"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_columns_of_labels_are_counted_together_whatever_the_width_of_their_codes(library, weighted):
    """Those with up to 255 labels fit a byte beside the mark of the missing."""
    random, n_rows = np.random.default_rng(5), 4000
    y, weights = random.integers(0, 3, n_rows), random.uniform(0.1, 2.0, n_rows) if weighted else None
    columns = {}
    for n_labels in (1, 2, 16, 253, 254, 255, 256, 257, 900):
        for missing in (0.0, 0.3):
            codes = np.concatenate([np.arange(n_labels), random.integers(0, n_labels, n_rows - n_labels)])
            cells = np.array([f"label {code}" for code in codes.tolist()], dtype=object)
            cells[random.random(n_rows) < missing] = None
            columns[f"{n_labels} labels, {missing} missing"] = cells
    model = textbook(families="categorical")
    expected = model.fit({name: cells.tolist() for name, cells in columns.items()}, y, weights).statistics_
    for statistics in on_both(lambda: model.fit(FRAMES[library](columns), y, weights).statistics_):
        assert statistics == expected


def _polars(columns, dtype):
    return pl.DataFrame(
        {name: pl.Series(cells.tolist(), dtype=pl.String).cast(dtype) for name, cells in columns.items()}
    )


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns).astype("category"),
    "polars": lambda columns: _polars(columns, pl.Categorical),
    "polars text": lambda columns: _polars(columns, pl.String),
    "pyarrow": lambda columns: pa.table({name: pa.array(cells).dictionary_encode() for name, cells in columns.items()}),
}


def test_categories_that_no_row_has_are_left_out():
    y, cells = [0, 1, 0, 1], ["b", None, "d", "b"]
    expected = textbook().fit({"x": cells}, y).statistics_
    listed = list("abcde")
    frames = [
        pd.DataFrame({"x": pd.Categorical(cells, categories=listed)}),
        pl.DataFrame({"x": pl.Series(cells, dtype=pl.Enum(listed))}),
        pl.DataFrame({"x": pl.Series([*listed, *cells], dtype=pl.Categorical)})[5:],
    ]
    for frame in frames:
        for statistics in on_both(lambda frame=frame: textbook().fit(frame, y).statistics_):
            assert statistics == expected
