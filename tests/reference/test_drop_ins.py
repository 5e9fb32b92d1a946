"""The answers and attributes of scikit-learn's classifiers from their drop-ins: every case of every golden file."""

import numpy as np
import pytest

from naively import sklearn as drop_ins
from tests.reference.golden import ask, assert_logs_equal, numbers, read_cases, read_data, some

TABLES = {
    "sklearn_numeric": ["iris", "pima-diabetes"],
    "sklearn_counts": ["counts-synthetic", "digits"],
    "sklearn_discrete": ["house-votes-84", "german-credit", "titanic-2201"],
}
ALL_CASES = [case for system, names in TABLES.items() for case in read_cases(system, names)]
IN_BATCHES = "gauss_partial_fit_odd_then_even"
"""Where scikit-learn's answer depends on how the rows were cut."""

CASES = [case for case in ALL_CASES if case.values[1]["id"] != IN_BATCHES]
BATCHES = [case for case in ALL_CASES if case.values[1]["id"] == IN_BATCHES]


def model_of(case):
    """The drop-in of the class that the case's call names, with the same parameters."""
    return getattr(drop_ins, case["call"].split("(")[0])(**case["params"])


def as_codes(document):
    """Columns of text as scikit-learn was given them: the positions of the levels."""
    levels = document.get("levels")
    if levels is None:
        return lambda columns: columns
    return lambda columns: {name: [levels[name].index(cell) for cell in cells] for name, cells in columns.items()}


def fitted(document, case):
    model = model_of(case)
    return model, ask(model, document, case, change=as_codes(document))


@pytest.mark.parametrize(("document", "case"), CASES)
def test_joint_log_probabilities(document, case):
    model, query = fitted(document, case)
    assert_logs_equal(model.predict_joint_log_proba(query), numbers(case["joint_log_proba"]))


@pytest.mark.parametrize(("document", "case"), [case for case in CASES if "attributes" in case.values[1]])
def test_attributes(document, case):
    model, _ = fitted(document, case)
    for name, expected in case["attributes"].items():
        for actual, table in zip_tables(getattr(model, name), expected):
            np.testing.assert_allclose(actual, table, rtol=1e-12, atol=1e-14, err_msg=name)


def zip_tables(actual, expected):
    """Pairs of arrays: one of each, or one for each feature where the attribute is a list."""
    if not isinstance(actual, list):
        return [(actual, numbers(expected) if np.ndim(expected) == 2 else np.array(expected))]
    return [(mine, numbers(theirs)) for mine, theirs in zip(actual, expected, strict=True)]


@pytest.mark.parametrize(("document", "case"), BATCHES)
def test_batches_give_what_one_fit_gives_where_scikit_learn_does_not(document, case):
    columns, y, _ = read_data(document)
    model = drop_ins.GaussianNB()
    for start in (1, 0):
        places = range(start, len(y), 2)
        model.partial_fit(some(columns, places), [y[place] for place in places], classes=document["classes"])
    whole = drop_ins.GaussianNB().fit(columns, y)
    np.testing.assert_array_equal(model.var_, whole.var_)
    assert model.epsilon_ == whole.epsilon_
    assert np.abs(np.array(case["attributes"]["var_"]) / whole.var_ - 1).max() > 1e-11  # theirs differs
    answer = model.predict_joint_log_proba(some(columns, case["predict_rows"]))
    np.testing.assert_allclose(answer, numbers(case["joint_log_proba"]), rtol=1e-5)
