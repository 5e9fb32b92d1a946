"""What `naively.engines.gpu.chunks` refuses, wherever there is no GPU, and the hashes that a GPU gives to kept rows."""

import numpy as np
import pytest

from naively import NaiveBayes
from naively._table.table import ArrayTable
from naively.engines._kept_rows import sample_rows
from naively.engines._rows import Rows
from naively.engines.gpu import chunks
from naively.errors import InputError, InputTypeError, ParameterError
from naively.statistics._kept_rows import add_number_hashes, mixed, text_hash
from naively.statistics._sums import Sum

X, y = np.zeros((10, 2)), np.zeros(10)


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ((X.tolist(),), {}, InputTypeError, "got list"),
        ((X[0],), {}, InputTypeError, r"got float64 of shape \(2,\)"),
        ((X.astype(str),), {}, InputTypeError, "numbers that a GPU reads"),
        ((X, y[1:]), {}, InputError, r"as many rows, got \[10, 9\]"),
        ((X, y, y[1:]), {}, InputError, r"as many rows, got \[10, 10, 9\]"),
        ((X, None, y), {}, ParameterError, "sample_weight needs y"),
        ((X, y), {"rows": 0}, ParameterError, "at least 1, got 0"),
    ],
)
def test_what_is_refused_before_anything_is_copied(given, options, error, message):
    with pytest.raises(error, match=message):
        chunks(*given, **options)


def test_kept_rows_are_those_of_hashes_that_are_known():
    rng = np.random.default_rng(0)
    cells, codes = rng.normal(size=(3000, 3)), rng.integers(0, 4, 3000)
    schema = NaiveBayes().fit(cells[:100], codes[:100]).schema_
    rows = Rows(ArrayTable(cells), codes, None, Sum.zeros(4), 1)
    hashes = np.zeros(3000, dtype=np.uint64)
    with np.errstate(over="ignore"):
        add_number_hashes(hashes, cells, mixed(np.array([text_hash(name) for name in schema.names], dtype=np.uint64)))
    assert sample_rows(rows, schema, None, 500, hashes) == sample_rows(rows, schema, None, 500)
