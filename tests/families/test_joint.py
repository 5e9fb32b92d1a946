"""Joint factors: the laws of the sum, exact marginals, leave-one-out, and the normal densities of other libraries."""

from functools import reduce
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from naively import NaiveBayes, load
from naively.analysis.drift import compare
from naively.errors import ForgetError, InputError, ModelFileError, ParameterError, SchemaError
from naively.families import Categorical, Gaussian, Joint, Poisson
from naively.smoothing import Dirichlet, ImaginarySample, Jeffreys, Laplace, Lidstone, MEstimate, NoSmoothing
from tests.models import textbook
from tests.strategies import CLASSES, COLOURS, Case, Rows, assert_close, assert_same_answer, cut, learn, quarters
from tests.versions import SCIKIT_LEARN

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")  # without smoothing, that is right

KINDS = {
    "colour": (st.sampled_from([Categorical(), Categorical(COLOURS)]), st.sampled_from(COLOURS[:3])),
    "code": (st.just(Categorical()), st.integers(-1, 2)),
    "truth": (st.just(Categorical()), st.booleans()),
    "length": (st.just(Gaussian()), quarters(-4, 4)),
}
RULES = [NoSmoothing(), Laplace(), Lidstone(0.125), Jeffreys(), MEstimate(2.0), MEstimate(0.5, "marginal")]
RULES += [Dirichlet(1.5), ImaginarySample(2.0)]


@st.composite
def cases(draw, kinds=tuple(KINDS), min_rows=1, max_rows=12):
    """A case with two to four columns, at least two of them joined."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=4))
    names = [f"{kind} {place}" for place, kind in enumerate(chosen)]
    joined = draw(st.permutations(names))[: draw(st.integers(2, len(names)))]
    n_rows = draw(st.integers(min_rows, max_rows))

    def cells(strategy, length):
        return draw(st.lists(strategy, min_size=length, max_size=length))

    values = {name: st.none() | KINDS[kind][1] for name, kind in zip(names, chosen, strict=True)}
    columns = {name: cells(strategy, n_rows) for name, strategy in values.items()}
    query = {name: cells(strategy, 3) for name, strategy in values.items()}
    weights = cells(st.integers(1, 16).map(lambda number: number / 4), n_rows) if draw(st.booleans()) else None
    joint = Joint(*joined, ties=draw(st.sampled_from(["none", "class", "all"])), ddof=draw(st.integers(0, 1)))
    parameters = {
        "smoothing": draw(st.sampled_from(RULES)) if set(chosen) - {"length"} else None,  # which no density reads
        "families": {name: draw(KINDS[kind][0]) for name, kind in zip(names, chosen, strict=True)},
        "factors": [joint],
    }
    return Case(Rows(columns, cells(st.sampled_from(CLASSES), n_rows), weights), query, parameters)


def forget(model, rows):
    return model.forget(rows.columns, rows.y, sample_weight=rows.weights)


# -- the laws -------------------------------------------------------------------------------------------------------


@given(cases(), st.lists(st.integers(0, 99), max_size=4))
def test_learning_in_chunks_is_learning_at_once(case, places):
    whole = case.fitted()
    chunks = cut(case.rows, places)
    assert reduce(learn, chunks, case.model()).statistics_ == whole.statistics_
    merged = reduce(lambda a, b: a + b, [case.fitted(rows) for rows in reversed(chunks)])
    assert merged.statistics_ == whole.statistics_


@given(cases(min_rows=2), st.integers(1, 99))
def test_forgetting_is_never_having_learnt(case, place):
    place = 1 + place % (len(case.rows) - 1)
    kept, gone = case.rows.take(range(place)), case.rows.take(range(place, len(case.rows)))
    assert forget(case.fitted(), gone).statistics_ == case.fitted(kept).statistics_


@given(cases(), st.data())
def test_a_weight_is_so_many_repetitions_and_decay_scales(case, data):
    counts = data.draw(st.lists(st.integers(1, 3), min_size=len(case.rows), max_size=len(case.rows)))
    repeated = case.rows.take([place for place, count in enumerate(counts) for _ in range(count)]).weighing(None)
    weighed = case.fitted(case.rows.weighing([float(count) for count in counts]))
    assert weighed.statistics_ == case.fitted(repeated).statistics_
    halved = case.fitted(case.rows.weighing([count / 2 for count in counts]))
    assert weighed.decay(0.5).statistics_ == halved.statistics_


@given(cases())
def test_evidence_sums_to_the_answer_and_members_are_silent(case):
    model = case.fitted()
    evidence = model.evidence(case.query)
    assert evidence.shape[1] == len(model.evidence_names_) == len(case.query) + 1
    joint = model.predict_joint_log_proba(case.query)
    with np.errstate(divide="ignore"):
        expected = evidence.sum(axis=1) + np.log(model.class_prior_)
    possible = np.isfinite(expected).any(axis=1)
    assert_close(joint[possible], expected[possible], 1.0 + np.abs(np.maximum(joint[possible], -1e99)))
    members = [model.evidence_names_.index(name) for name in case.parameters["factors"][0].columns]
    assert (evidence[:, members] == 0).all()
    assert model.evidence_names_[-1] == " & ".join(case.parameters["factors"][0].columns)
    probabilities = model.predict_proba(case.query)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)


@given(cases(), st.data())
def test_order_of_rows_columns_and_members_changes_nothing(case, data):
    model = case.fitted()
    names = data.draw(st.permutations(list(case.rows.columns)))
    order = data.draw(st.permutations(range(len(case.rows))))
    joint = case.parameters["factors"][0]
    turned = Joint(*reversed(joint.columns), ties=joint.ties, ddof=joint.ddof)
    other = case.fitted(case.rows.take(order).only(names), factors=[turned])
    assert other.statistics_ == model.statistics_
    assert_same_answer(model, other, case.query)


@given(case=cases())
def test_saving_and_loading_changes_no_bit(tmp_path_factory, case):
    file = tmp_path_factory.mktemp("models") / "model.json"
    model = case.fitted()
    model.save(file)
    copy = load(file)
    assert copy.statistics_ == model.statistics_
    assert copy.get_params(deep=False) == model.get_params(deep=False)
    assert np.array_equal(copy.predict_log_proba(case.query), model.predict_log_proba(case.query))


@given(cases())
def test_a_row_of_missing_cells_gets_the_prior(case):
    model = case.fitted()
    assert_close(model.predict_proba({name: [None] for name in case.query})[0], model.class_prior_)


@given(cases(min_rows=2))
def test_a_row_with_a_missing_member_does_not_enter_the_factor(case):
    members = case.parameters["factors"][0].columns
    columns = [case.rows.columns[name] for name in members]
    complete = [place for place in range(len(case.rows)) if all(cells[place] is not None for cells in columns)]
    assume(complete and all(any(cell is not None for cell in cells) for cells in columns))
    rows = case.rows.only(members)
    whole, part = (case.fitted(some, families={name: case.parameters["families"][name] for name in members})
                   for some in (rows, rows.take(complete)))  # fmt: skip
    assert whole.statistics_.with_classes(part.statistics_.classes).tables == part.statistics_.tables


@given(cases(min_rows=2))
def test_leave_one_out_is_forgetting(case):
    model = case.fitted()
    answers = model.loo(case.rows.columns, case.rows.y, case.rows.weights)
    for place in range(len(case.rows)):
        row = case.rows.take([place])
        without = forget(case.fitted(), row)
        if without.classes_.tolist() == model.classes_.tolist():
            expected = without.predict_log_proba(row.columns)[0]
            assert_close(answers[place], expected, 1e4 + 1e4 * np.abs(np.maximum(expected, -1e99)))


# -- tables ---------------------------------------------------------------------------------------------------------


@given(cases(kinds=("colour", "code", "truth")))
def test_missing_labels_are_summed_over(case):
    """A probability with a member missing is the sum of those with each value it could have."""
    model = case.fitted()
    parameters = model.parameters()[" & ".join(case.parameters["factors"][0].columns)]
    assume(parameters["probability"])
    names = case.parameters["factors"][0].columns
    joint = np.exp(model.evidence(case.query)[:, -1])
    for row in range(3):
        cells = [case.query[name][row] for name in names]
        known = [{key[place] for key in parameters["probability"]} for place in range(len(names))]
        cells = [cell if cell in values else None for cell, values in zip(cells, known, strict=True)]
        matching = [
            value
            for key, value in parameters["probability"].items()
            if all(cell is None or cell == part for cell, part in zip(cells, key, strict=True))
        ]
        np.testing.assert_allclose(joint[row], np.sum(matching, axis=0), rtol=1e-9, atol=1e-12)
    total = np.sum(list(parameters["probability"].values()), axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_smoothing_is_over_the_product_of_the_values():
    table = {"a": ["x", "x", "y"], "b": ["u", "v", "u"]}
    model = textbook(factors=[Joint("a", "b")], smoothing=1).fit(table, [0, 0, 0])
    probability = model.parameters()["a & b"]["probability"]
    expected = {("x", "u"): 2 / 7, ("x", "v"): 2 / 7, ("y", "u"): 2 / 7, ("y", "v"): 1 / 7}
    assert {key: float(value[0]) for key, value in probability.items()} == pytest.approx(expected)
    declared = model.set_params(families={"b": Categorical(["u", "v", "w"])}).parameters()["a & b"]["probability"]
    assert declared["y", "w"] == pytest.approx(1 / 9)
    assert textbook(factors=[Joint("a", "b")], smoothing={"b": 0}).fit(table, [0] * 3).parameters()["a & b"][
        "probability"
    ]["y", "v"] == pytest.approx(0)


def test_a_label_that_was_never_seen_is_marginalised():
    table = {"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "u"]}
    model = textbook(factors=[Joint("a", "b")]).fit(table, [0, 0, 1, 1])
    unseen, missing = {"a": ["zebra"], "b": ["u"]}, {"a": [None], "b": ["u"]}
    assert np.array_equal(model.predict_proba(unseen), model.predict_proba(missing))
    assert model.predict_proba({"a": ["zebra"], "b": ["zebra"]}).tolist() == [[0.5, 0.5]]


def test_a_product_that_no_table_could_hold():
    random = np.random.default_rng(0)
    X = random.integers(0, 1000, (300, 40))  # 1000 ** 40 combinations
    model = textbook(families="categorical", factors=[Joint(*range(40))], smoothing=1e-130).fit(X, X[:, 0] % 2)
    assert model.score(X, X[:, 0] % 2) == 1.0
    assert len(next(iter(model.statistics_.tables.values())).cells) == 300
    wide = np.hstack([X] * 4)  # 1e480: more than a float64 can say
    model = textbook(families="categorical", factors=[Joint(*range(160))]).fit(wide, X[:, 0] % 2)
    assert model.score(wide, X[:, 0] % 2) == 1.0
    assert np.isfinite(model.loo(wide, X[:, 0] % 2)).all()


# -- densities ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_one_factor_of_all_numbers_is_quadratic_discriminant_analysis(iris):
    ddof = 0 if SCIKIT_LEARN >= (1, 8) else 1  # scikit-learn divided by n - 1 before
    model = textbook(factors=[Joint(0, 1, 2, 3, ddof=ddof)]).fit(*iris)
    other = QuadraticDiscriminantAnalysis().fit(*iris)
    np.testing.assert_allclose(model.predict_proba(iris[0]), other.predict_proba(iris[0]), atol=1e-12)


def test_with_one_covariance_it_is_linear_discriminant_analysis(iris):
    model = textbook(factors=[Joint(0, 1, 2, 3, ties="all")]).fit(*iris)
    other = LinearDiscriminantAnalysis(solver="lsqr").fit(*iris)
    np.testing.assert_allclose(model.predict_proba(iris[0]), other.predict_proba(iris[0]), atol=1e-12)


def test_missing_numbers_are_integrated_out(iris):
    X, y = iris
    model = textbook(factors=[Joint(3, 1, 0, ddof=1)]).fit(X, y)
    query = X[::7].copy()
    query[:, 1] = np.nan
    for code in range(3):
        rows = X[y == code][:, [0, 3]]
        expected = multivariate_normal(rows.mean(axis=0), np.cov(rows.T)).logpdf(query[:, [0, 3]])
        np.testing.assert_allclose(model.evidence(query)[:, -1, code], expected, rtol=1e-9)
    parameters = model.parameters()["x3 & x1 & x0"]
    np.testing.assert_allclose(parameters["covariance"][2], np.cov(X[y == 2][:, [3, 1, 0]].T), rtol=1e-12)


def mixed_table(n=400, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    d = np.where(random.random(n) < 0.3 + 0.3 * y, "u", "v")
    x = (
        random.normal(size=(n, 2)) @ [[1.0, 0.7], [0.0, 0.7]]
        + np.where(d == "u", 2.0, -1.0)[:, None] * (y - 0.5)[:, None]
    )
    return pd.DataFrame({"d": d, "x": x[:, 0], "z": x[:, 1]}), y


def test_labels_and_numbers_together():
    frame, y = mixed_table()
    model = textbook(factors=[Joint("d", "x", "z")], smoothing=0).fit(frame, y)
    evidence = model.evidence(frame)[:, -1]
    for code, label in product((0, 1), "uv"):
        rows = (frame["d"] == label).to_numpy()
        mine = frame[rows & (y == code)][["x", "z"]].to_numpy()
        density = multivariate_normal(mine.mean(axis=0), np.cov(mine.T, ddof=0)).logpdf(frame[rows][["x", "z"]])
        share = len(mine) / (y == code).sum()
        np.testing.assert_allclose(evidence[rows, code], np.log(share) + density, rtol=1e-9)
    without = frame.assign(d=None)
    both = [model.evidence(frame.assign(d=label))[:, -1] for label in "uv"]
    np.testing.assert_allclose(model.evidence(without)[:, -1], np.logaddexp(*both), rtol=1e-12)


def test_few_rows_borrow_a_covariance():
    frame, y = mixed_table()
    few = frame.copy()
    few.loc[:2, "d"], y[:3] = "w", 0
    model = textbook(factors=[Joint("d", "x", "z")]).fit(few, y)
    covariance = model.parameters()["d & x & z"]["covariance"]
    tied = textbook(factors=[Joint("d", "x", "z", ties="class")]).fit(few, y).parameters()["d & x & z"]["covariance"]
    np.testing.assert_allclose(covariance["w",][0], tied["u",][0], rtol=1e-12)
    assert not np.allclose(covariance["u",][0], tied["u",][0], rtol=1e-3)
    mean = model.parameters()["d & x & z"]["mean"]["w",]
    np.testing.assert_allclose(mean[1], few[y == 1][["x", "z"]].mean(), rtol=1e-12)  # class 1 never had "w"


def test_a_copy_of_a_column_adds_nothing():
    random = np.random.default_rng(1)
    x, y = random.normal(size=(200, 1)), random.integers(0, 2, 200)
    x = x + y[:, None]
    alone = textbook().fit(x, y).predict_log_proba(x)
    copied = np.hstack([x, x, 5 * x + 2])
    np.testing.assert_allclose(
        textbook(factors=[Joint(0, 1, 2)]).fit(copied, y).predict_log_proba(copied), alone, atol=1e-5
    )


@pytest.mark.parametrize("value", [1e300, -1e300, np.finfo(float).max])
def test_huge_numbers_give_probabilities(value, iris):
    model = textbook(factors=[Joint(0, 1, 2)]).fit(*iris)
    answer = model.predict_proba([[value, 1.0, 2.0, 3.0], [value, value, -value, 1.0]])
    assert np.isfinite(answer).all()
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)


def test_constant_numbers_say_nothing():
    X = [[1.0, 2.0, 5.0], [1.0, 3.0, 5.0], [1.0, 2.5, 5.0], [1.0, 4.0, 5.0]]
    model = textbook(factors=[Joint(0, 2)]).fit(X, [0, 0, 1, 1])
    assert (model.evidence([[9.0, 2.0, -9.0]])[:, -1] == 0).all()


# -- storage and size -------------------------------------------------------------------------------------------------


def test_frames_arrays_and_sparse_matrices_agree(iris):
    X, y = iris
    factors = [Joint(0, 2), Joint(3, 1)]
    model = textbook(factors=factors).fit(X, y)
    assert textbook(factors=factors).fit(sparse.csr_array(X), y).statistics_ == model.statistics_
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = textbook(factors=[Joint("a", "c"), Joint("d", "b")]).fit(frame, y)
    assert np.array_equal(named.predict_proba(frame), model.predict_proba(X))
    assert np.array_equal(named.predict_proba(frame[list("dcba")]), model.predict_proba(X))
    assert named.evidence_names_ == ["a", "b", "c", "d", "a & c", "d & b"]


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_chunks_change_no_bit(weighted):
    random = np.random.default_rng(5)
    n = 60_000
    frame = pd.DataFrame({"x": random.normal(1e3, 1, n), "z": random.normal(size=n), "d": random.integers(0, 9, n)})
    frame.loc[::97, "x"] = np.nan
    y, weights = random.integers(0, 3, n), random.uniform(0.1, 2, n) if weighted else None
    parameters = {"families": {"d": "categorical"}, "factors": [Joint("d", "x", "z")]}
    first, *others = [textbook(n_threads=n, **parameters).fit(frame, y, weights).statistics_ for n in (1, 2, 3)]
    assert all(other == first for other in others)
    known = frame["x"].notna()
    table = next(iter(first.tables.values()))
    assert table.weight.high.sum() == pytest.approx((known * (1 if weights is None else weights)).sum(), rel=1e-14)


def test_rows_can_be_kept_beside_a_factor():
    frame, y = mixed_table(50)
    model = textbook(factors=[Joint("d", "x")], kept_rows=20).fit(frame, y)
    assert len(model.statistics_.kept) == 20
    assert model.statistics_.kept.columns["x"].dtype.kind == "f"
    assert model.statistics_.kept.columns["d"].dtype.kind == "O"


def test_learning_a_column_that_was_empty_at_first():
    first = {"a": ["x", "y"], "b": [None, None]}
    second = {"a": ["x", "y", "y"], "b": ["u", "v", "u"]}
    model = textbook(factors=[Joint("a", "b")]).fit(first, [0, 1])
    assert model.predict_proba(second).tolist() == [[0.5, 0.5]] * 3
    model.partial_fit(second, [0, 1, 1])
    both = {name: first[name] + second[name] for name in first}
    assert model.statistics_ == textbook(factors=[Joint("a", "b")]).fit(both, [0, 1, 0, 1, 1]).statistics_


# -- what is refused --------------------------------------------------------------------------------------------------

TABLE = {"a": ["x", "y"], "b": ["u", "v"], "n": [1.0, 2.0]}


@pytest.mark.parametrize("recipe", ["auto", "fast", "strong"])
def test_other_recipes_say_what_to_use(recipe):
    with pytest.raises(ParameterError, match="recipe='textbook'"):
        NaiveBayes(recipe, factors=[Joint("a", "b")]).fit(TABLE, [0, 1])


@pytest.mark.parametrize(
    ("factors", "match"),
    [
        ([Joint("a", "b"), Joint("b", "n")], "'b' stands more than once"),
        ([Joint("a", "a")], "'a' stands more than once"),
        ([Joint("a", "zebra")], "'zebra'"),
        ([("a", "b")], "list of Joint"),
        ("a", "list of Joint"),
    ],
)
def test_bad_factors_are_refused(factors, match):
    with pytest.raises(ParameterError, match=match):
        textbook(factors=factors).fit(TABLE, [0, 1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Joint(),
        lambda: Joint(["a", "b"]),
        lambda: Joint("a", "b", ties="feature"),
        lambda: Joint("a", "b", ddof=2),
        lambda: Joint("a", "b", floor=0.0),
    ],
)
def test_bad_options_are_refused(make):
    with pytest.raises(ParameterError, match="Joint"):
        make()


def test_bad_families_and_smoothings_are_refused():
    with pytest.raises(ParameterError, match=r"'n'.*Poisson"):
        textbook(factors=[Joint("a", "n")], families={"n": Poisson()}).fit(TABLE, [0, 1])
    with pytest.raises(ParameterError, match="Joint\\(ties="):
        textbook(factors=[Joint("a", "n")], families={"n": Gaussian(ddof=1)}).fit(TABLE, [0, 1])
    with pytest.raises(ParameterError, match="factors="):
        textbook(families={"a": Joint("a", "b")}).fit(TABLE, [0, 1])
    with pytest.raises(ParameterError, match="different rules"):
        textbook(factors=[Joint("a", "b")], smoothing={"a": 1, "b": 2}).fit(TABLE, [0, 1])
    model = textbook(factors=[Joint("a", "b")], smoothing=Dirichlet([1.0, 2.0])).fit(TABLE, [0, 1])
    with pytest.raises(ParameterError, match="treats all alike"):
        model.predict(TABLE)


def test_other_factors_need_the_data_again():
    model = textbook(factors=[Joint("a", "b")]).fit(TABLE, [0, 1])
    with pytest.raises(SchemaError, match="Fit again"):
        model.set_params(factors=None).predict(TABLE)
    with pytest.raises(SchemaError):
        textbook(factors=[Joint("a", "b")]).fit(TABLE, [0, 1]) + textbook().fit(TABLE, [0, 1])


def test_rows_that_were_never_learnt_cannot_be_forgotten_or_left_out():
    table = {"a": ["x", "y", "x"], "b": ["u", "v", "v"], "n": [1.0, 2.0, 3.0]}
    model = textbook(factors=[Joint("a", "b", "n")]).fit(table, [0, 1, 1])
    for row in ({"a": ["y"], "b": ["u"], "n": [1.0]}, {"a": ["x"], "b": ["u"], "n": [7.0]}):
        before = model.statistics_
        with pytest.raises(ForgetError):
            model.forget(row, [0])
        assert model.statistics_ == before
    with pytest.raises(ForgetError, match="not learnt"):
        model.loo({"a": ["y"], "b": ["u"], "n": [1.0]}, [0])


def test_infinite_and_too_large_numbers_are_refused(iris):
    X = iris[0].copy()
    X[3, 1] = np.inf
    with pytest.raises(InputError, match="'x1', row 3"):
        textbook(factors=[Joint(0, 1)]).fit(X, iris[1])
    with pytest.raises(InputError, match="infinity"):
        textbook(factors=[Joint(0, 1)]).fit(*iris).predict(X)
    X[3, 1] = 1e200
    with pytest.raises(InputError, match="1e150"):
        textbook(factors=[Joint(0, 1)]).fit(X, iris[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.update(cells=[[0, 0], [0, 9]]),
        lambda table: table["weight"]["high"].__setitem__(0, -1.0),
        lambda table: table["weight"]["high"].__setitem__(0, 99.0),
        lambda table: table["summary"].update(labels=["b", "a"]),
        lambda table: table.update(categories=[["y", "x"], ["u", "v"]]),
        lambda table: table["total"].update(shape=[2, 2, 3]),
    ],
)
def test_an_edited_model_file_is_refused(tmp_path, change):
    import json

    from naively._export.json import _checksum

    model = textbook(factors=[Joint("a", "b")]).fit(TABLE, [0, 1])
    model.save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    table = next(one for one in document["content"]["tables"] if one["summary"]["kind"] == "joint")
    change(table)
    document["checksum"] = _checksum(document["content"])
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError):
        load(tmp_path / "model.json")


def test_cloning_and_printing():
    model = textbook(factors=[Joint("a", 1, ties="all")])
    assert clone(model).get_params() == model.get_params()
    assert repr(model.factors[0]) == "Joint('a', 1, ties='all')"
    explained = model.fit(TABLE, [0, 1]).explain(TABLE, target=0)
    assert set(explained["column"]) == {"prior", "n", "a & b"}


def test_members_can_be_compared_with_an_earlier_model():
    frame, y = mixed_table()
    changed = frame.assign(z=frame["z"] + 3.0, d=frame["d"].replace("u", "w"))
    parameters = {"factors": [Joint("d", "x", "z")]}
    before, same = (textbook(**parameters).fit(frame[half::2], y[half::2]) for half in (0, 1))
    moved = {one["column"] for one in compare(before, same) if one["p_adjusted"] < 0.01}
    assert moved == set()
    after = textbook(**parameters).fit(changed[1::2], y[1::2])
    assert {one["column"] for one in compare(before, after) if one["p_adjusted"] < 0.01} == {"d", "z"}


@given(cases())
def test_margins_are_those_of_the_columns(case):
    members = case.parameters["factors"][0].columns
    table = next((one for one in case.fitted().statistics_.tables.values() if one.margins()), None)
    assume(table is not None)
    complete = [
        place for place in range(len(case.rows)) if all(case.rows.columns[name][place] is not None for name in members)
    ]
    assume(complete)
    families = {name: case.parameters["families"][name] for name in members}
    apart = case.fitted(case.rows.take(complete).only(members), families=families, factors=None).statistics_
    table = table.for_classes(*case_classes(case, apart))
    for margin in table.margins().values():
        expected = next(one for one in apart.tables.values() if type(one) is type(margin))
        assert margin == expected.for_columns(margin.columns)


def case_classes(case, apart):
    """Where the classes of the whole case stand among those of its complete rows."""
    classes = sorted(set(case.rows.y))
    places = [apart.classes.tolist().index(one) if one in apart.classes.tolist() else -1 for one in classes]
    return np.array(places), len(apart.classes)


def test_a_column_that_is_called_as_a_factor_is_refused():
    rows = {"a & b": list("xyxy"), "a": list("uvuv"), "b": list("ppqq")}
    model = NaiveBayes("textbook", factors=[Joint("a", "b")])
    with pytest.raises(ParameterError, match=r"'a & b'.*Rename the column"):
        model.fit(rows, list("ssrr"))
    assert list(model.fit({"a": rows["a"], "b": rows["b"]}, list("ssrr")).parameters()) == ["a & b"]
