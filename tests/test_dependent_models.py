"""JointBayes and TAN as scikit-learn classifiers, and the laws of a tree's statistics."""

import pickle
from functools import reduce
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from naively import TAN, JointBayes, NaiveBayes, load
from naively.errors import ForgetError, InputError, ParameterError, SchemaError
from naively.families import ByKind, Categorical, Gaussian, Joint, Poisson, Tree
from naively.smoothing import Dirichlet, ImaginarySample, Laplace, MEstimate, NoSmoothing
from tests.models import textbook
from tests.strategies import CLASSES, COLOURS, Rows, assert_close, cut, learn, quarters

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")  # without smoothing, that is right


def all_checks():
    mark = parametrize_with_checks([JointBayes(), JointBayes(ties="all", ddof=1), TAN(), TAN(bins=8, smoothing=0.5)])
    names, pairs = mark.args
    return pytest.mark.parametrize(
        names, [pair for pair in pairs if "check_array_api_input" not in str(pair)], **mark.kwargs
    )


@all_checks()
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# -- JointBayes -------------------------------------------------------------------------------------------------------

SHARE = [0.253122, 0.0245895, 0.0421768, 0.0116293, 0.331313, 0.0971295, 0.134106, 0.105933]


def test_wealth_by_gender_and_hours():
    cells = list(product("FM", ["40.5-", "40.5+"], ["poor", "rich"]))
    table = {"gender": [cell[0] for cell in cells], "hours": [cell[1] for cell in cells]}
    model = JointBayes(smoothing=0).fit(table, [cell[2] for cell in cells], sample_weight=SHARE)
    rich = model.predict_proba(table)[::2, 1]
    np.testing.assert_allclose(rich, [0.0885, 0.2161, 0.2267, 0.4413], atol=5e-5)
    np.testing.assert_allclose(rich, np.array(SHARE[1::2]) / (np.array(SHARE[::2]) + SHARE[1::2]), rtol=1e-12)


def test_exclusive_or():
    X = np.array(list(product([0, 1], repeat=2)) * 25)
    y = X[:, 0] ^ X[:, 1]
    assert textbook(families="categorical").fit(X, y).score(X, y) == 0.5
    assert JointBayes(families="categorical").fit(X, y).score(X, y) == 1.0
    assert TAN(families="categorical").fit(X, y).score(X, y) == 1.0


def test_it_is_one_joint_factor(iris):
    model, factor = JointBayes(ddof=1).fit(*iris), textbook(factors=[Joint(0, 1, 2, 3, ddof=1)]).fit(*iris)
    assert model.statistics_ == factor.statistics_
    assert np.array_equal(model.loo(*iris), factor.loo(*iris))
    assert not np.allclose(model.predict_proba(iris[0]), model.set_params(ties="all").predict_proba(iris[0]))


@pytest.mark.parametrize("model", [JointBayes(ties="class"), TAN(bins=4, root=2), TAN(smoothing=ImaginarySample(2))])
def test_life_among_scikit_learn_and_files(model, iris, tmp_path):
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(make_pipeline(StandardScaler(), model), *iris, cv=5).mean() > 0.9
    fitted = clone(model).fit(*iris)
    fitted.save(tmp_path / "model.json")
    for copy in (load(tmp_path / "model.json"), pickle.loads(pickle.dumps(fitted))):
        assert type(copy) is type(model)
        assert copy.get_params() == fitted.get_params()
        assert copy.statistics_ == fitted.statistics_
        assert np.array_equal(copy.predict_log_proba(iris[0]), fitted.predict_log_proba(iris[0]))
    with pytest.raises(SchemaError):
        fitted + textbook().fit(*iris)


MIXED = {
    "a": list("uvwuvvwu"),
    "x": [0.5, 1.0, 2.5, 0.0, 3.0, 1.5, 2.0, 4.0],
    "b": list("pqpqqpqp"),
    "z": [1.0, 3.0] * 4,
}
STAY = [0, 0, 0, 1, 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        (JointBayes(ties="class", ddof=1), Joint.all(ties="class", ddof=1)),
        (TAN(root="x", bins=3), Tree(root="x", bins=3)),
        (TAN(cuts={"x": [1.0]}, bins=2), Tree(cuts={"x": [1.0]}, bins=2)),
    ],
)
def test_a_model_is_naive_bayes_with_one_factor(model, factor, tmp_path):
    model, same = model.fit(MIXED, STAY), textbook(factors=factor).fit(MIXED, STAY)
    assert model.statistics_ == same.statistics_
    assert model.families_ == same.families_
    assert np.array_equal(model.loo(MIXED, STAY), same.loo(MIXED, STAY))
    same.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").factors == factor
    with pytest.warns(UserWarning, match="ignored"):  # no column joins later
        assert model.partial_fit({**MIXED, "new": STAY}, STAY).schema_.names == tuple(MIXED)


def test_a_tree_of_some_columns_stands_beside_the_others():
    tree = Tree("x", "b", "a", root="a", bins=3)
    model = textbook(factors=[tree], smoothing=dict.fromkeys(["a", "b", "x"], 2.0)).fit(MIXED, STAY)
    inner = {name: MIXED[name] for name in ("a", "x", "b")}
    alone = TAN(root="a", bins=3, smoothing=2.0).fit(inner, STAY)
    other = textbook().fit({"z": MIXED["z"]}, STAY)
    together = alone.predict_log_proba(inner) + other.predict_log_proba({"z": MIXED["z"]}) - np.log(model.class_prior_)
    together -= np.logaddexp.reduce(together, axis=1)[:, None]
    np.testing.assert_allclose(model.predict_log_proba(MIXED), together, atol=1e-12)
    assert set(model.explain(MIXED, target=1)["column"]) == {"prior", *MIXED}
    with pytest.raises(ParameterError, match="one smoothing for all of its columns"):
        textbook(factors=[tree], smoothing={"a": 2.0}).fit(MIXED, STAY)
    with pytest.raises(ParameterError, match="'a' stands more than once"):
        textbook(factors=[tree, Joint("a", "z")]).fit(MIXED, STAY)


def test_numbers_in_a_factor_are_numbers_whatever_else_counts_may_be():
    families = ByKind(numbers=Gaussian(), counts=Poisson())
    counts = {"n": [0, 1, 2, 3, 1, 0, 2, 5], "x": MIXED["x"], "m": [1, 0, 2, 2, 0, 1, 3, 4]}
    model = textbook(families=families, factors=[Joint("n", "x")]).fit(counts, STAY)
    alone = textbook(families={"m": Poisson()}, factors=[Joint("n", "x")]).fit(counts, STAY)
    assert np.array_equal(model.predict_proba(counts), alone.predict_proba(counts))


# -- TAN --------------------------------------------------------------------------------------------------------------

KINDS = {"colour": st.sampled_from(COLOURS[:3]), "code": st.integers(0, 2), "length": quarters(-2, 2)}
CUTS = (-1.0, 0.25, 0.5)


@st.composite
def cases(draw, least=1):
    chosen = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=4))
    names = [f"{kind} {place}" for place, kind in enumerate(chosen)]
    n_rows = draw(st.integers(least, 12))

    def cells(strategy, length):
        return draw(st.lists(strategy, min_size=length, max_size=length))

    columns = {name: cells(st.none() | KINDS[name.split()[0]], n_rows) for name in names}
    query = {name: cells(st.none() | KINDS[name.split()[0]], 4) for name in names}
    weights = cells(st.integers(1, 8).map(lambda number: number / 4), n_rows) if draw(st.booleans()) else None
    parameters = {
        "families": {name: Categorical() if "length" not in name else Gaussian() for name in names},
        "cuts": {name: CUTS for name in names if "length" in name},
        "root": draw(st.sampled_from(names)),
        "smoothing": draw(st.sampled_from([NoSmoothing(), Laplace(), MEstimate(2.0), ImaginarySample(1)])),
    }
    return Rows(columns, cells(st.sampled_from(CLASSES[:3]), n_rows), weights), query, parameters


@given(cases(least=2), st.lists(st.integers(0, 99), max_size=3))
def test_a_tree_is_learnt_in_chunks_merged_and_forgotten_exactly(case, places):
    rows, query, parameters = case
    whole = learn(TAN(**parameters), rows)
    chunks = cut(rows, places)
    assert reduce(learn, chunks, TAN(**parameters)).statistics_ == whole.statistics_
    merged = reduce(lambda a, b: a + b, [learn(TAN(**parameters), chunk) for chunk in reversed(chunks)])
    assert merged.statistics_ == whole.statistics_
    assert merged.tree_ == whole.tree_
    assert_close(merged.predict_proba(query), whole.predict_proba(query))
    gone, kept = rows.take([0]), rows.take(range(1, len(rows)))
    forgotten = whole.forget(gone.columns, gone.y, gone.weights)
    assert forgotten.statistics_ == learn(TAN(**parameters), kept).statistics_


@given(cases())
def test_evidence_sums_to_the_answer_and_missing_cells_give_none(case):
    rows, query, parameters = case
    model = learn(TAN(**parameters), rows)
    evidence = model.evidence(query)
    assert evidence.shape == (4, len(query), len(model.classes_))
    expected = evidence.sum(axis=1) + np.log(model.class_prior_)
    possible = np.isfinite(expected).any(axis=1)
    joint = model.predict_joint_log_proba(query)
    assert_close(joint[possible], expected[possible], 1.0 + np.abs(np.maximum(joint[possible], -1e99)))
    for place, cells in enumerate(query.values()):
        missing = [cell is None for cell in cells]
        assert (evidence[missing, place] == 0).all()
    assert np.isfinite(model.predict_proba(query)).all()


@given(cases())
def test_missing_cells_are_summed_over(case):
    """The likelihood of a row with missing cells is the sum over all that they could be."""
    rows, query, parameters = case
    model = learn(TAN(**parameters), rows)
    values = {name: column["values"] for name, column in model.parameters().items()}
    likelihood = np.exp(model.evidence(query).sum(axis=1))
    bins = {0: -1.5, 1: 0.0, 2: 0.25, 3: 1.0}
    for row in range(4):
        cells = {name: query[name][row] for name in query}
        options = []
        for name, cell in cells.items():
            known = [bins[value] for value in values[name]] if "length" in name else list(values[name])
            code = int(np.searchsorted(CUTS, cell, side="right")) if "length" in name and cell is not None else cell
            options.append(known or [None] if cell is None or code not in values[name] else [cell])
        every = list(product(*options))
        filled = {name: [cells[place] for cells in every] for place, name in enumerate(query)}
        total = np.exp(model.evidence(filled).sum(axis=1)).sum(axis=0)
        np.testing.assert_allclose(likelihood[row], total, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("smoothing", [Laplace(), ImaginarySample(1), NoSmoothing()])
def test_leave_one_out_with_the_tree_as_it_is(smoothing):
    """Leave-one-out is `forget` where the tree and the values stay the same."""
    random = np.random.default_rng(3)
    n = 120
    y = random.integers(0, 2, n)
    a = np.where(random.random(n) < 0.2, random.integers(0, 2, n), y)
    b = np.where(random.random(n) < 0.1, random.integers(0, 3, n), a)
    table = {"a": a.tolist(), "b": b.tolist(), "c": random.integers(0, 2, n).tolist()}
    for row in range(0, n, 9):
        table["abc"[row % 3]][row] = None
    weights = random.integers(1, 4, n) / 2
    families = {name: Categorical([0, 1, 2] if name == "b" else [0, 1]) for name in table}
    model = TAN(families=families, smoothing=smoothing).fit(table, y, weights)
    answers = model.loo(table, y, weights)
    compared = 0
    for row in range(n):
        one = {name: [cells[row]] for name, cells in table.items()}
        without = model.with_statistics(model.statistics_).forget(one, y[[row]], weights[[row]])
        if without.tree_ == model.tree_:
            compared += 1
            np.testing.assert_allclose(answers[row], without.predict_log_proba(one)[0], rtol=1e-9, atol=1e-9)
    assert compared > n // 2
    with pytest.raises(ForgetError):
        model.loo({"a": [0], "b": [0], "c": [0]}, [y[0]], [1e6])


def test_numbers_are_cut_once(iris):
    X, y = iris
    model = TAN(bins=3).fit(X, y)
    assert {name: len(cuts) for name, cuts in model.cuts_.items()} == dict.fromkeys(["x0", "x1", "x2", "x3"], 2)
    cuts = model.cuts_
    assert model.partial_fit(X[:10] + 3, y[:10]).cuts_ == cuts
    halves = [TAN(cuts=cuts).fit(X[half::2], y[half::2]) for half in (0, 1)]
    assert (halves[0] + halves[1]).statistics_ == TAN(cuts=cuts).fit(X, y).statistics_
    with pytest.raises(SchemaError):
        TAN().fit(X[::2], y[::2]) + TAN().fit(X[1::2], y[1::2])


def test_constant_empty_and_single_columns():
    n, y = 30, [0, 0, 0, 1, 1, 1] * 5
    table = {"one": [1.0] * n, "none": [None] * n, "x": [0, 1, 2, 5, 6, 7.0] * 5, "text": list("aabbbb") * 5}
    for root in table:
        model = TAN(root=root, bins=6).fit(table, y)
        assert model.score(table, y) == 1.0
    assert TAN().fit({"x": table["x"]}, y).tree_ == []
    frame = pd.DataFrame(table).assign(none=np.nan)
    assert TAN(bins=6).fit(frame, y).score(frame, y) == 1.0
    with pytest.raises(InputError, match="empty when the model was first fitted"):
        model.partial_fit({**table, "none": np.arange(30.0).tolist()}, y)
    later = model.partial_fit({**table, "none": ["u", "v"] * 15}, y)
    assert "none" in {name for arc in later.tree_ for name in arc}


def test_a_copied_column_becomes_a_child_and_adds_nothing():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 400)
    a = np.where(random.random(400) < 0.3, 1 - y, y)
    X = np.column_stack([a, a, a])
    once = textbook(families="categorical", smoothing=0).fit(X[:, :1], y).predict_proba(X[:, :1])
    np.testing.assert_allclose(TAN(families="categorical", smoothing=0).fit(X, y).predict_proba(X), once, rtol=1e-12)
    naive = textbook(families="categorical", smoothing=0, prior="uniform").fit(X, y).predict_log_proba(X)
    alone = textbook(families="categorical", smoothing=0, prior="uniform").fit(X[:, :1], y).predict_log_proba(X[:, :1])
    np.testing.assert_allclose(np.diff(naive), 3 * np.diff(alone), rtol=1e-9)  # log-odds, counted three times


def test_explanations_and_parameters_of_a_tree():
    table = {"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"]}
    model = TAN().fit(table, [0, 0, 1, 1])
    explained = model.explain(table, target=1)
    assert set(explained["column"]) == {"prior", "a", "b"}
    log_odds = np.log2(model.predict_proba(table)[:, 1] / model.predict_proba(table)[:, 0])
    np.testing.assert_allclose(explained.groupby("row")["bits"].sum(), log_odds, atol=1e-12)
    assert model.parameters()["b"]["parent"] == "a"
    assert model.parameters()["b"]["probability"].shape == (2, 2, 2)


def test_a_table_that_no_memory_holds_is_refused():
    names = [f"row {place}" for place in range(20_000)]
    model = TAN().fit({"a": names, "b": names}, [0, 1] * 10_000)
    with pytest.raises(InputError, match="'a' and 'b' have so many values"):
        model.predict({"a": names[:1], "b": names[:1]})


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"root": "zebra"}, "root"),
        ({"bins": 1}, "bins"),
        ({"cuts": [1, 2]}, "cuts"),
        ({"cuts": {0: [2.0, 1.0]}}, "ascending"),
        ({"cuts": {"zebra": [2.0]}}, "zebra"),
        ({"families": Poisson()}, "reads labels and bins"),
        ({"smoothing": {0: 1.0}}, "one smoothing"),
        ({"smoothing": MEstimate(1, {"x": 0.5, "y": 0.5})}, "one smoothing.*treats values alike"),
        ({"smoothing": MEstimate(1, [0.2] * 5)}, "one smoothing.*treats values alike"),
        ({"smoothing": MEstimate(1, "features")}, "one smoothing.*treats values alike"),
        ({"smoothing": Dirichlet([2.0] * 5)}, "one smoothing.*treats values alike"),
    ],
)
def test_bad_parameters_are_refused(parameters, match, iris):
    with pytest.raises(ParameterError, match=match):
        TAN(**parameters).fit(*iris)


@pytest.mark.parametrize("model", [TAN(), JointBayes(), NaiveBayes("textbook", factors=[Joint("a", "b")])])
def test_what_asks_for_columns_that_stand_alone_says_so(model):
    rows = {"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "v"]}
    model = model.fit(rows, [0, 0, 1, 1])
    for ask in (model.log_odds, model.rank_features):
        with pytest.raises(ParameterError, match="together"):
            ask()
    with pytest.raises(ParameterError, match="no linear discriminant"):
        model.discriminant()
