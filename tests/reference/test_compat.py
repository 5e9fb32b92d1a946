"""The settings of `naively.compat` give the posteriors of the other systems, on ordinary pandas frames."""

import warnings

import numpy as np
import pandas as pd
import pytest

from naively import NaiveBayes, compat
from naively.families import ByKind, Kernel, Thresholded
from naively.families._bandwidths import RULES
from naively.smoothing import MEstimate
from tests.reference.golden import HERE, numbers, read_cases, read_golden

SYSTEMS = {"e1071": compat.e1071, "klaR": compat.klar, "naivebayes": compat.naivebayes, "weka": compat.weka}
OPTIONS = {
    "kernel_interpolate": {"interpolate": True},
    "kernel_bwSJ": {"bw": "SJ"},
    "kernel_biweight_bwucv": {"bw": "ucv"},
}
"""Arguments of calls that the files give apart, by case."""
TABLES = {
    "e1071": ["iris", "pima-diabetes", "german-credit", "house-votes-84", "titanic-2201"],
    "klaR": ["iris", "pima-diabetes", "german-credit", "house-votes-84", "titanic-2201"],
    "naivebayes": [
        "iris",
        "pima-diabetes",
        "german-credit",
        "house-votes-84",
        "titanic-2201",
        "counts-synthetic",
        "counts-synthetic-na",
    ],
    "weka": ["iris", "pima-diabetes", "german-credit", "house-votes-84"],
}
OTHER_FUNCTIONS = "_nb_"
"""Cases of naivebayes' functions for one family: see `test_functions_for_one_family`."""


def cases_of(system, wanted):
    documents = [read_golden(system, name) for name in TABLES[system]]
    return [
        pytest.param(system, document, case, id=f"{system}-{document['dataset']}-{case['id']}")
        for document in documents
        for case in document["cases"]
        if wanted(case)
    ]


def all_cases(wanted):
    return [case for system in SYSTEMS for case in cases_of(system, wanted)]


def exact(case):
    return OTHER_FUNCTIONS not in case["id"] and "all_rows_fragile" not in case


def frame_of(document):
    """The data set as a pandas frame, its text columns categorical with the levels of the whole table as in R."""
    table = pd.read_csv(HERE / "data" / f"{document['dataset']}.csv")
    y = table["target"].astype(str)
    return with_levels(table[document["columns"]], document), y, table.get("count")


def with_levels(frame, document):
    levels = document.get("levels", {})
    return frame.assign(**{name: pd.Categorical(frame[name], categories=levels[name]) for name in levels})


def asked(model, document, case):
    """Fit the model as the case says, and give its posteriors and those of the other system."""
    frame, y, counts = frame_of(document)
    rows = case.get("train_rows", slice(None))
    model.fit(frame.iloc[rows], y.iloc[rows], None if counts is None else counts.iloc[rows])
    assert model.classes_.tolist() == document["classes"]
    query = frame.iloc[case["predict_rows"]] if "predict_rows" in case else None
    if query is None:
        query = with_levels(pd.DataFrame(case["predict"]), document)
    return model.predict_proba(query), numbers(case["posterior"])


@pytest.mark.parametrize(("system", "document", "case"), all_cases(exact))
def test_posterior(system, document, case):
    model = SYSTEMS[system](**case["arguments"], **OPTIONS.get(case["id"], {}))
    actual, expected = asked(model, document, case)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("system", "document", "case"), all_cases(lambda case: "bandwidths" in case))
def test_bandwidths(system, document, case):  # noqa: ARG001
    """R's own, to the last digits of its search for them."""
    rule = RULES[OPTIONS[case["id"]]["bw"]]
    frame, y, _ = frame_of(document)
    for name, widths in case["bandwidths"].items():
        for label, width in zip(document["classes"], widths, strict=True):
            own = frame.loc[y == label, name].to_numpy()
            values, counts = np.unique(own, return_counts=True)
            found = rule(values, counts.astype(float), float(((own - own.mean()) ** 2).sum()))
            assert found == pytest.approx(width, rel=1e-9)


@pytest.mark.parametrize(("system", "document", "case"), all_cases(lambda case: "bandwidths" in case))
def test_given_bandwidths(system, document, case):
    """bw = "SJ" and "ucv": R's bandwidths are given. Compact bells vanish but for the noise of R's transform: 0.01."""
    options = {"background": False, "points": 512, "nearest": system == "klaR"}
    options["kernel"] = case["arguments"].get("kernel", "gaussian")
    families = {name: Thresholded(Kernel(widths, **options)) for name, widths in case["bandwidths"].items()}
    actual, expected = asked(NaiveBayes("textbook", families=families), document, case)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=0.01 if "all_rows_fragile" in case else 1e-10)


@pytest.mark.parametrize(("document", "case"), read_cases("klaR", ["iris"], ["kernel_epanechnikov_n256"]))
def test_density_of_a_compact_kernel(document, case):
    """Inside the bells' reach, R's densities on R's grid, and the exact sums within the rounding of that grid."""
    frame, y, _ = frame_of(document)
    grid = case["density_grid"]
    column = frame[[grid["column"]]]
    on_grid = Kernel("nrd0", kernel="epanechnikov", background=False, points=256)
    exactly = Kernel("nrd0", kernel="epanechnikov", background=False)
    for code, (x, heights) in enumerate(zip(grid["x"], grid["y"], strict=True)):
        heights = np.array(heights)
        inside = heights > 1e-9
        points = pd.DataFrame({grid["column"]: np.array(x)[inside]})
        assert inside.sum() > 30
        for family, tolerance in ((on_grid, 1e-12), (exactly, 5e-3)):
            model = NaiveBayes("textbook", families=family).fit(column, y)
            actual = np.exp(model.evidence(points)[:, 0, code])
            np.testing.assert_allclose(actual, heights[inside], rtol=0, atol=tolerance * heights.max())


# -- functions of naivebayes for one family -------------------------------------------------------------------------

ONE_FAMILY = {
    "poisson_nb_laplace1": lambda: compat.naivebayes(laplace=1, usepoisson=True),
    "multinomial_nb_laplace0.5": lambda: NaiveBayes("textbook", families="multinomial", smoothing=0.5),
    "multinomial_nb_laplace1": lambda: NaiveBayes("textbook", families="multinomial", smoothing=1),
    "bernoulli_nb_laplace1_gt0": lambda: NaiveBayes("textbook", families="bernoulli", smoothing=1),
}
# Left out: poisson_nb_laplace0 puts one event into each empty cell, in silence; multinomial_nb_laplace0 answers NaN.


@pytest.mark.parametrize(
    ("document", "case"), read_cases("naivebayes", ["counts-synthetic", "counts-synthetic-na"], ONE_FAMILY)
)
def test_functions_for_one_family(document, case):
    actual, expected = asked(ONE_FAMILY[case["id"]](), document, case)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10)


# -- edge cases -----------------------------------------------------------------------------------------------------

EDGES = read_golden("edge_cases_R")
STOPS = {
    "Zero variances for at least one class": "klaR refuses a class that is constant in a column: ours gets `threshold`",
    "missing value where TRUE/FALSE needed": "klaR cannot train on missing numbers: ours leaves them out",
    "'x' contains missing values": "klaR cannot train on missing numbers: ours leaves them out",
    "need at least 2 points": "a class with one value has no bandwidth: ours takes that of all classes together",
}
"""Why R stops, and what is answered instead."""


def edge_frames(case):
    def frame(columns):
        table = pd.DataFrame({name: pd.array(columns[name], dtype=float) for name in EDGES["numeric"]})
        return table.assign(cat=pd.Categorical(columns["cat"], categories=EDGES["levels"]["cat"]))

    rows = case["train_rows"]
    train = frame(EDGES["data"]).iloc[rows][case["columns"]]
    query = pd.concat([train, frame(EDGES["new_rows"])[case["columns"]]], ignore_index=True)
    return train, np.array(EDGES["data"]["target"])[rows], query


def edge_model(case):
    call, arguments = case["call"], {}
    for name in ("laplace", "fL"):
        if f"{name} = " in call:
            arguments[name] = int(call.split(f"{name} = ")[1][0])
    if "usekernel = TRUE" in call:
        arguments["usekernel"] = True
    return SYSTEMS[case["system"]](**arguments)


def edge_cases(wanted):
    return [pytest.param(case, id=case["id"]) for case in EDGES["cases"] if wanted(case)]


def answered_by_r(case):
    return "error" not in case


def test_all_edge_cases_are_looked_at():
    assert len(edge_cases(answered_by_r)) == 50
    assert len(edge_cases(lambda case: "error" in case)) == 30


@pytest.mark.parametrize("case", edge_cases(answered_by_r))
def test_edge_case(case):
    """R's answer wherever it has one. e1071 has NA for a class of one row: it never predicts that class."""
    train, y, query = edge_frames(case)
    actual = edge_model(case).fit(train, y).predict_proba(query)
    expected = numbers(case["posterior"])
    known = ~np.isnan(expected).any(axis=1)
    assert known.all() or (case["system"], case["id"].endswith("_abc")) == ("e1071", True)
    # values that were not learnt are read between the knots of the curve: 1e-6 for a kernel density
    tolerance = 1e-6 if "kernel" in case["id"] else 1e-10
    np.testing.assert_allclose(actual[known], expected[known], rtol=0, atol=tolerance)
    np.testing.assert_allclose(actual.sum(axis=1), 1.0)


@pytest.mark.parametrize("case", edge_cases(lambda case: "error" in case))
def test_where_r_stops_there_is_an_answer(case):
    assert any(case["error"].startswith(reason) for reason in STOPS), case["error"]
    train, y, query = edge_frames(case)
    model = edge_model(case).fit(train, y)
    actual = model.predict_proba(query)
    np.testing.assert_allclose(actual.sum(axis=1), 1.0)
    assert np.isfinite(actual).all()
    several = y != "c"  # class c has one row: it must not change what is said of the others
    rest = edge_model(case).fit(train[several], y[several])
    odds, of_rest = (fitted.predict_joint_log_proba(query) for fitted in (model, rest))
    np.testing.assert_allclose(odds[:, 0] - odds[:, 1], of_rest[:, 0] - of_rest[:, 1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", edge_cases(lambda case: case["id"].startswith("klaR__fL") and "error" in case))
def test_where_klar_stops_the_answer_is_that_of_e1071(case):
    train, y, query = edge_frames(case)
    same = compat.e1071(laplace=int(case["id"][8])).fit(train, y).predict_proba(query)
    np.testing.assert_allclose(edge_model(case).fit(train, y).predict_proba(query), same, rtol=0, atol=1e-15)


# -- CLOP -----------------------------------------------------------------------------------------------------------

READINGS = {
    "mean_over_classes": compat.clop("classes"),
    "mean_over_features": compat.clop("features"),
    "mean_over_classes_weighted": compat.clop().set_params(smoothing=MEstimate(1, "marginal")),
    "unsmoothed": compat.clop().set_params(smoothing="none"),
    "pooled_ddof2": compat.clop(),
}
WAYS = {"numbers": lambda votes: (votes == "y") * 1, "truths": lambda votes: votes == "y", "text": lambda votes: votes}


def discriminant(model, document, change=lambda frame: frame):
    """F(x), the log-odds of class 1 against class 2, on the rows it was fitted on."""
    table = pd.read_csv(HERE / "data" / f"{document['dataset']}.csv").iloc[document["rows"]]
    frame, y = change(table[document["columns_used"]]), table["target"].astype(str)
    joint = model.fit(frame, y).predict_joint_log_proba(frame)
    place = model.classes_.tolist().index(document["class1_positive"])
    return joint[:, place] - joint[:, 1 - place]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("document", "case"), read_cases("clop_binary", ["house-votes-84"], READINGS))
def test_clop_on_binary_columns(document, case, way):
    actual = discriminant(READINGS[case["id"]], document, WAYS[way])
    np.testing.assert_allclose(actual, case["F"], rtol=0, atol=1e-12)
    assert ((actual > 0).mean() > 0) & ((actual < 0).mean() > 0)


@pytest.mark.parametrize(("document", "case"), read_cases("clop_gaussian", ["iris", "pima-diabetes"], ["pooled_ddof2"]))
def test_clop_on_numbers(document, case):
    np.testing.assert_allclose(discriminant(READINGS["pooled_ddof2"], document), case["F"], rtol=0, atol=1e-12)


def test_the_factor_of_one_half_in_the_weight_is_an_erratum():
    """CLOP's notes print w = 0.5 (mu1 - mu2) / sigma^2; their own F(x) has w = (mu1 - mu2) / sigma^2."""
    document = read_golden("clop_gaussian", "iris")
    case = document["cases"][0]
    model = compat.clop()
    discriminant(model, document)
    described = model.parameters()
    for column, printed in zip(document["columns_used"], case["erratum"]["seed_w_wrong"], strict=True):
        mean, variance = described[column]["mean"], described[column]["variance"]
        assert (mean[0] - mean[1]) / variance[0] == pytest.approx(2 * printed, rel=1e-12)


def test_nothing_is_configured_by_hand():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in (*SYSTEMS.values(), compat.clop):
            assert isinstance(make(), NaiveBayes)
            assert isinstance(make().families, ByKind)
