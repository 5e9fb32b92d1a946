"""Reading the golden values and the data they were computed from."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

HERE = Path(__file__).parent
NUMERIC = {"iris", "pima-diabetes", "counts-synthetic", "counts-synthetic-na"}


def read_golden(system, name=None):
    """The golden values of one system on one data set."""
    file = f"{system}.json" if name is None else f"{system}__{name}.json"
    return json.loads((HERE / "golden" / file).read_text(encoding="utf-8"))


def read_cases(system, names, ids=None):
    """The wanted cases of one system, all if none are named, as pytest parameters of (file, case)."""
    found = []
    for name in names:
        document = read_golden(system, name)
        cases = {case["id"]: case for case in document["cases"]}
        found += [pytest.param(document, cases[key], id=f"{name}-{key}") for key in cases if ids is None or key in ids]
    return found


def read_data(document):
    """The columns used, the classes and the weights of a data set; None stands for a missing cell."""
    if document["dataset"] == "digits":
        X, y = load_digits(return_X_y=True)
        return dict(zip(document["columns"], X.T.tolist(), strict=True)), [str(label) for label in y], None
    with (HERE / "data" / f"{document['dataset']}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numeric = document["columns"] if document["dataset"] in NUMERIC else document.get("numeric", [])
    columns = {name: [_cell(row[name], name in numeric) for row in rows] for name in document["columns"]}
    weights = [float(row["count"]) for row in rows] if "count" in rows[0] else None
    return columns, [row["target"] for row in rows], weights


def _cell(text, numeric):
    if text == "":
        return None
    return float(text) if numeric else text


def some(columns, rows):
    """Some rows of the columns."""
    return {name: [cells[row] for row in rows] for name, cells in columns.items()}


def ask(model, document, case, change=lambda columns: columns):
    """Fit the model as the case says, and give a table of the rows that the case predicts.

    The data may be changed first, for a system that reads codes where we read text.
    """
    columns, y, counts = read_data(document)
    rows = case.get("train_rows", range(len(y)))
    weights = case.get("sample_weight", counts)
    model.fit(change(some(columns, rows)), [y[row] for row in rows], weights)
    assert model.classes_.tolist() == document["classes"]
    if "predict" in case:
        return change({name: [row[name] for row in case["predict"]] for name in columns})
    return change(some(columns, case["predict_rows"]))


def numbers(rows):
    """A golden table as an array; infinities are written as text."""
    words = {"Inf": math.inf, "-Inf": -math.inf, "NaN": math.nan}
    return np.array(
        [[words.get(cell, cell) if isinstance(cell, str) else cell for cell in row] for row in rows], dtype=float
    )


def assert_logs_equal(actual, expected):
    """Log-probabilities agree to 1e-12, relative; those next to zero to 1e-12 of a probability of one."""
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)
