"""Whole numbers as categories, up to the ends of 64 bits: no two of them become one, on either kind of kernel."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.models import textbook

pytestmark = pytest.mark.usefixtures("kernels")


@pytest.mark.parametrize("values", [[2**64 - 1, 5], [2**63, 5], [2**64 - 1, 2**63, 5]])
def test_categories_beyond_the_signed_integers_are_kept_apart(values):
    X, y = np.array(values, dtype=np.uint64)[:, None], list(range(len(values)))
    model = textbook(families="categorical").fit(X, y)
    assert list(model.parameters()["x0"]["probability"]) == sorted(values)
    assert model.predict(X).tolist() == y
    assert (model.evidence(np.array([[-1]])) == 0).all()


INTEGER_TABLES = {
    "array": lambda values: np.array(values)[:, None],
    "columns": lambda values: {"x0": values},
    "pandas": lambda values: pd.DataFrame({"x0": values}),
    "pandas nullable": lambda values: pd.DataFrame({"x0": pd.array(values, dtype="Int64")}),
    "polars": lambda values: pl.DataFrame({"x0": values}),
    "arrow": lambda values: pa.table({"x0": values}),
}


@pytest.mark.parametrize("value", [2**53, 2**63 - 2, -(2**63)])
@pytest.mark.parametrize("kind", INTEGER_TABLES)
def test_large_integers_stay_exact_as_categories(value, kind):
    table = INTEGER_TABLES[kind]([value, value + 1])
    model = textbook(families="categorical").fit(table, ["a", "b"])
    assert list(model.parameters()["x0"]["probability"]) == [value, value + 1]
    assert model.predict(table).tolist() == ["a", "b"]
