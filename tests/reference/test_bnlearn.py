"""The answers of R's bnlearn (tree.bayes and naive.bayes): trees, information, tables and posteriors."""

import numpy as np
import pytest

from naively import TAN
from naively.families import Categorical
from naively.smoothing import ImaginarySample, NoSmoothing
from tests.models import textbook
from tests.reference.golden import ask, read_cases, read_data

TABLES = ("titanic-2201", "house-votes-84")
RULES = {
    "tan_mle": NoSmoothing(),
    "tan_mle_replace_unidentifiable": NoSmoothing(),
    "tan_bayes_iss1": ImaginarySample(1),
    "tan_bayes_iss10_lastroot": ImaginarySample(10),
    "naive_mle": NoSmoothing(),
    "naive_bayes_iss1": ImaginarySample(1),
}
TANS = read_cases("bnlearn_tan", TABLES, [name for name in RULES if name.startswith("tan")])
NAIVES = read_cases("bnlearn_tan", TABLES, [name for name in RULES if name.startswith("naive")])


def fitted(make, document, case):
    """The model fitted as the case says, and the rows that it is asked about."""
    families = {name: Categorical(levels) for name, levels in document["levels"].items()}
    rule = RULES[case["id"]]
    model = make(families=families, smoothing=rule, prior_smoothing=rule)
    counts = read_data(document)[2]
    if counts is not None:  # one line per distinct row here, one row per person there
        lines = np.searchsorted(np.cumsum(counts), case["predict_rows"], side="right").tolist()
        case = {"predict_rows": lines}
    return model, ask(model, document, case)


@pytest.mark.parametrize(("document", "case"), TANS)
def test_the_tree_and_its_information(document, case):
    root = document["columns"][-1] if case["id"].endswith("lastroot") else 0
    model, _ = fitted(lambda **parameters: TAN(root=root, **parameters), document, case)
    between_columns = {tuple(arc) for arc in case["arcs"] if arc[0] != document["target"]}
    assert set(model.tree_) == between_columns
    expected = np.array(document["conditional_mutual_information_given_class_nats"])
    np.testing.assert_allclose(model.mutual_information_, expected, atol=1e-12)


@pytest.mark.parametrize(("document", "case"), TANS)
def test_the_tables_of_the_tree(document, case):
    root = document["columns"][-1] if case["id"].endswith("lastroot") else 0
    model, _ = fitted(lambda **parameters: TAN(root=root, **parameters), document, case)
    parameters = model.parameters()
    for table in case["cpts"]:
        golden = np.array(table["prob"]).reshape(table["dims"], order="F")
        if table["node"] == document["target"]:
            np.testing.assert_allclose(model.class_prior_, golden, atol=1e-12)
            continue
        mine = parameters[table["node"]]
        assert list(mine["values"]) == document["levels"][table["node"]]
        # bnlearn: (node, class, parent), with the parents in the order of dim_names
        order = [table["dim_names"].index(document["target"]), 0]
        if mine["parent"] is not None:
            order.insert(1, table["dim_names"].index(mine["parent"]))
        np.testing.assert_allclose(mine["probability"], golden.transpose(order), atol=1e-12)


@pytest.mark.parametrize(("document", "case"), TANS + NAIVES)
def test_posteriors(document, case):
    if case["id"].startswith("naive"):
        make = textbook
    else:
        root = document["columns"][-1] if case["id"].endswith("lastroot") else 0

        def make(**parameters):
            return TAN(root=root, **parameters)

    model, query = fitted(make, document, case)
    np.testing.assert_allclose(model.predict_proba(query), np.array(case["posterior"]), atol=1e-10)
    assert model.predict(query).tolist() == [document["classes"][code] for code in case["predicted"]]
