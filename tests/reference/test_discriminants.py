"""Linear discriminants against the formulas of Guyon's CLOP notes, computed apart, with the right weights."""

import json

import numpy as np
import pytest

from naively.families import Bernoulli, Gaussian
from tests.models import textbook
from tests.reference.golden import HERE, read_cases, read_data, some

GAUSSIANS = {"pooled_ddof2": Gaussian(ties="feature", ddof=1, floor=0), "pooled_mle": Gaussian(ties="feature", floor=0)}


@pytest.mark.parametrize(("document", "case"), read_cases("clop_gaussian", ["iris", "pima-diabetes"], list(GAUSSIANS)))
def test_pooled_normal_columns(document, case):
    columns, y, _ = read_data({**document, "columns": document["columns_used"]})
    X, y = some(columns, document["rows"]), [y[row] for row in document["rows"]]
    model = textbook(families=GAUSSIANS[case["id"]]).fit(X, y)
    F = model.discriminant(base=document["class2_negative"])
    own = model.classes_.tolist().index(document["class1_positive"])
    assert F.terms == document["columns_used"]
    np.testing.assert_allclose(F.weights[own], case["w"], rtol=1e-11)
    np.testing.assert_allclose(F.bias[own], case["b"], rtol=1e-11)
    np.testing.assert_allclose(F.intercept[own], case["prior_term"], atol=1e-15)
    np.testing.assert_allclose(F.decision(X)[:, own], case["F"], rtol=1e-9, atol=1e-11)
    assert (F.decision(X)[:, own] > 0).mean() != 1


def test_yes_or_no():
    document = json.loads((HERE / "golden" / "clop_binary__house-votes-84.json").read_text(encoding="utf-8"))
    case = next(case for case in document["cases"] if case["id"] == "unsmoothed")
    columns, y, _ = read_data({**document, "columns": document["columns_used"]})
    rows = document["rows"]
    X = np.array([[float(columns[name][row] == "y") for name in columns] for row in rows])
    model = textbook(families=Bernoulli(), smoothing="none").fit(X, [y[row] for row in rows])
    F = model.discriminant()
    assert (F.base, F.classes[0]) == (document["class2_negative"], document["class1_positive"])
    np.testing.assert_allclose(F.weights[0], case["w"], rtol=1e-11)
    np.testing.assert_allclose(F.bias[0], case["B"], rtol=1e-12)
    np.testing.assert_allclose(F.decision(X)[:, 0], case["F"], rtol=1e-10, atol=1e-12)
