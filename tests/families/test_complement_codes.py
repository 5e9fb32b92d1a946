"""Families `Complement` and `Codes`, and what else the drop-ins stand on: formulas, leave-one-out, files, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from naively import load
from naively.errors import ForgetError, InputError, NaivelyWarning, ParameterError
from naively.families import Bernoulli, Categorical, Codes, Complement, Gaussian, Multinomial
from naively.smoothing import Dirichlet, Lidstone, MEstimate, PerColumn
from tests.models import textbook

WORDS = np.array([[3, 0, 1, 0], [1, 2, 0, 0], [0, 1, 4, 1], [2, 0, 0, 5], [0, 3, 1, 1], [1, 1, 1, 0]], dtype=float)
TOPICS = np.array(["a", "a", "b", "c", "c", "c"])
SMOOTHINGS = [Lidstone(0.5), Dirichlet((1.0, 2.0, 0.5, 0.25), "mean"), MEstimate(2.0, "marginal"), Lidstone(0.0)]

tables = st.tuples(st.integers(4, 8), st.integers(2, 4)).flatmap(
    lambda shape: arrays.arrays(np.float64, shape, elements=st.integers(0, 5).map(float))
)


def complement_weights(X, y, alpha, norm):
    """The published recipe, class by class."""
    rows = []
    for label in np.unique(y):
        counts = X[y != label].sum(axis=0) + alpha
        logs = np.log(counts / counts.sum())
        rows.append(logs / logs.sum() if norm else -logs)
    return np.array(rows)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.1, np.array([1.0, 2.0, 0.5, 0.25])])
def test_weights_are_those_of_the_formula(norm, alpha):
    smoothing = Dirichlet(tuple(alpha), "mean") if np.ndim(alpha) else alpha
    model = textbook(families=Complement(norm=norm), smoothing=smoothing).fit(WORDS, TOPICS)
    expected = complement_weights(WORDS, TOPICS, alpha, norm)
    np.testing.assert_allclose([found["weight"] for found in model.parameters().values()], expected.T, rtol=1e-13)
    for table in (WORDS, sparse.csr_array(WORDS)):
        np.testing.assert_allclose(
            model.predict_joint_log_proba(table), WORDS @ expected.T + np.log([2 / 6, 1 / 6, 3 / 6]), rtol=1e-13
        )


def test_groups_have_their_own_totals():
    families = {0: Complement(), 1: Complement(), 2: Complement(group="title"), 3: Complement(group="title")}
    together = textbook(families=families).fit(WORDS, TOPICS)
    parts = [WORDS[:, :2], WORDS[:, 2:]]
    apart = [textbook(families=Complement()).fit(part, TOPICS).evidence(part) for part in parts]
    np.testing.assert_allclose(together.evidence(WORDS), np.concatenate(apart, axis=1), rtol=1e-14)


def test_a_word_that_only_one_class_has_rules_out_the_others_without_smoothing():
    model = textbook(families="complement", smoothing="none", prior="uniform").fit(
        [[2, 1, 0, 0], [0, 1, 3, 0]], ["a", "b"]
    )
    np.testing.assert_allclose(model.parameters()["x0"]["weight"], [np.inf, -np.log(2 / 3)])
    for table in (np.array([[1.0, 0, 0, 0]]), sparse.csr_array([[1.0, 0, 0, 0]])):
        assert model.predict_proba(table).tolist() == [[1.0, 0.0]]
    assert model.predict_proba([[0, 0, 0, 5]]).tolist() == [[0.5, 0.5]]  # a word that nobody has
    with pytest.warns(NaivelyWarning, match="every class had probability zero"):
        assert model.predict_proba([[1, 0, 1, 0]]).tolist() == [[0.5, 0.5]]


def test_a_single_class_says_the_same_of_all_words():
    model = textbook(families="complement").fit(WORDS, ["a"] * 6)
    np.testing.assert_allclose(model.evidence(WORDS)[:, :, 0], WORDS * np.log(4))
    assert model.predict(WORDS).tolist() == ["a"] * 6


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.filterwarnings("ignore:In .* every class had probability zero")
def test_leaving_a_row_out_is_forgetting_it(norm, smoothing, weighted, make):
    X, y = make(WORDS), TOPICS
    weights = np.array([1.0, 0.5, 2.0, 1.0, 3.0, 0.25]) if weighted else None
    model = textbook(families=Complement(norm=norm), smoothing=smoothing).fit(X, y, weights)
    left_out = model.loo(X, y, weights)
    for row in [0, 1, 3, 4, 5]:  # row 2 is the whole of its class
        part = slice(row, row + 1)
        again = textbook(**model.get_params()).fit(X, y, weights)
        again.forget(X[part], y[part], None if weights is None else weights[part])
        np.testing.assert_allclose(left_out[row], again.predict_log_proba(X[part])[0], rtol=1e-11, atol=1e-11)


@given(tables, st.sampled_from([0.5, 1.0, MEstimate(1.0, "marginal")]))
def test_sparse_and_dense_leave_one_out_agree(X, smoothing):
    y = np.arange(len(X)) % 3
    model = textbook(families="complement", smoothing=smoothing).fit(X, y)
    np.testing.assert_allclose(model.loo(sparse.csr_array(X), y), model.loo(X, y), rtol=1e-11, atol=1e-11)


def test_only_learnt_rows_can_be_left_out_of_a_complement():
    model = textbook(families="complement").fit(WORDS, TOPICS)
    for table in (WORDS + 9, sparse.csr_array(WORDS + 9)):
        with pytest.raises(ForgetError, match="learnt"):
            model.loo(table, TOPICS)


def test_complement_and_multinomial_stand_on_the_same_statistics():
    model = textbook(families="multinomial").fit(WORDS, TOPICS)
    fresh = textbook(families="complement").fit(WORDS, TOPICS)
    assert np.array_equal(model.set_params(families="complement").predict_proba(WORDS), fresh.predict_proba(WORDS))
    assert model.set_params(families=Multinomial()).predict(WORDS).shape == (6,)


def test_complement_among_other_families_and_missing_cells():
    table = {"size": [1.0, 2.0, None, 8.0], "tea": [3, 0, 1, None], "oil": [0, 1, 2, 2]}
    families = {"tea": "complement", "oil": "complement"}
    model = textbook(families=families).fit(table, ["a", "a", "b", "b"])
    evidence = model.evidence({"size": [None], "tea": [None], "oil": [2]})
    assert (evidence[0, :2] == 0).all()
    np.testing.assert_allclose(evidence[0, 2], -2 * np.log([5 / 7, 2 / 6]), rtol=1e-14)


def test_refusals_of_complement():
    with pytest.raises(ParameterError, match="norm"):
        Complement(norm="yes")
    with pytest.raises(InputError, match="Negative values"):
        textbook(families="complement").fit(-WORDS, TOPICS)


# -- Codes ----------------------------------------------------------------------------------------------------------


def test_every_code_up_to_the_largest_is_a_category():
    model = textbook(families="codes").fit([[0, 1], [3, 0]], ["a", "b"])
    assert [list(found["probability"]) for found in model.parameters().values()] == [[0, 1, 2, 3], [0, 1]]
    model.partial_fit([[5, 0]], ["a"])
    assert list(model.parameters()["x0"]["probability"]) == [0, 1, 2, 3, 4, 5]
    model.set_params(families=Codes([2, 4]))
    assert [len(found["probability"]) for found in model.parameters().values()] == [6, 4]


def test_codes_beyond_the_largest_and_missing_cells_say_nothing():
    model = textbook(families="codes").fit([[0, 1], [3, 0]], ["a", "b"])
    assert (model.evidence([[9, np.nan], [-1, 0.5]]) == 0).all()
    assert (model.evidence([[2, 0]])[0, 0] == np.log(1 / 5)).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [([[0], [-1]], "Negative values"), ([[0.5], [1]], "holds 0.5"), ([[1e300], [1]], "must be below")],
)
def test_what_is_no_code_is_refused(rows, message):
    with pytest.raises(InputError, match=message):
        textbook(families="codes").fit(rows, ["a", "b"]).predict(rows)


def test_text_is_no_code():
    with pytest.raises(InputError, match="codes"):
        textbook(families="codes").fit([["red"], ["blue"]], ["a", "b"])


@pytest.mark.parametrize("at_least", [-1, 1.5, "3", [[1, 2]], [1, -2]])
def test_bad_least_numbers_of_codes(at_least):
    with pytest.raises(ParameterError, match="at_least"):
        Codes(at_least)


def test_one_least_number_per_column():
    with pytest.raises(ParameterError, match="3 numbers for 2 columns"):
        textbook(families=Codes([1, 2, 3])).fit([[0, 1]], ["a"]).predict([[0, 1]])


# -- what the drop-ins need besides -----------------------------------------------------------------------------------


def test_pseudo_counts_per_column_are_those_of_a_dict():
    X, y = WORDS > 0, TOPICS
    tau = [0.5, 1.0, 2.0, 0.0]
    at_once = textbook(families="bernoulli", smoothing=PerColumn(tau)).fit(X, y)
    one_by_one = textbook(families="bernoulli", smoothing=dict(enumerate(tau))).fit(X, y)
    np.testing.assert_allclose(at_once.evidence(X), one_by_one.evidence(X), rtol=1e-15)
    np.testing.assert_allclose(at_once.loo(X, y), one_by_one.loo(X, y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tau", [[], [1.0, -1.0], "12", None])
def test_bad_pseudo_counts_per_column(tau):
    with pytest.raises(ParameterError, match="PerColumn"):
        PerColumn(tau)


def test_pseudo_counts_per_column_want_as_many_columns():
    for families in ("bernoulli", "multinomial", "poisson", "categorical"):
        with pytest.raises(ParameterError, match="PerColumn"):
            textbook(families=families, smoothing=PerColumn([1, 2])).fit([[1, 0, 1]], ["a"]).predict([[1, 0, 1]])


def test_shares_of_a_yes():
    model = textbook(families=Bernoulli(None)).fit([[0.5], [1.0], [0.0]], ["a", "a", "b"])
    np.testing.assert_allclose(model.parameters()["x0"]["probability"], [2.5 / 4, 1 / 3])
    np.testing.assert_allclose(
        model.evidence([[0.25]])[0, 0], 0.25 * np.log([2.5 / 4, 1 / 3]) + 0.75 * np.log([1.5 / 4, 2 / 3])
    )
    with pytest.raises(InputError, match="above 1"):
        textbook(families=Bernoulli(None)).fit([[3.0], [1.0]], ["a", "a"]).predict([[1.0]])
    with pytest.raises(InputError, match="Negative"):
        textbook(families=Bernoulli(None)).fit([[-1.0]], ["a"])


def test_an_absolute_floor_is_added_to_every_variance():
    X, y = [[1.0, 5.0], [3.0, 5.0], [7.0, 6.0]], ["a", "a", "b"]
    model = textbook(families=Gaussian(rule="absolute", floor=0.25)).fit(X, y)
    assert model.parameters()["x0"]["variance"].tolist() == [1.25, 0.25]
    assert model.parameters()["x1"]["variance"].tolist() == [0.25, 0.25]
    with pytest.raises(ParameterError, match="rule"):
        Gaussian(rule="relative")


@pytest.mark.parametrize(
    "parameters",
    [
        {"families": Complement(norm=True, group="title")},
        {"families": Codes(8)},
        {"families": Codes([8, 9, 10, 11])},
        {"families": Bernoulli(None), "smoothing": PerColumn([1, 2, 3, 4])},
        {"families": Gaussian(rule="absolute", floor=0.5)},
    ],
    ids=repr,
)
def test_a_saved_model_answers_the_same(parameters, tmp_path):
    X = (WORDS > 0).astype(float) if "smoothing" in parameters else WORDS
    model = textbook(**parameters).fit(X, TOPICS)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.statistics_ == model.statistics_
    assert again.families == model.families
    assert np.array_equal(again.predict_log_proba(X), model.predict_log_proba(X))


@pytest.mark.parametrize("recipe", ["fast", "auto"])
def test_recipes_that_weigh_evidence_read_codes_as_declared_categories(recipe):
    random = np.random.default_rng(3)
    X = random.integers(0, 4, (120, 2))
    y = (X[:, 0] + random.integers(0, 2, 120) > 2).astype(int)
    codes = textbook(recipe=recipe, families=Codes([4, 6])).fit(X, y)
    declared = {0: Categorical(range(4)), 1: Categorical(range(6))}
    expected = textbook(recipe=recipe, families=declared).fit(X, y).predict_log_proba(X)
    np.testing.assert_array_equal(codes.predict_log_proba(X), expected)
    weighed = textbook(recipe=recipe, families="complement").fit(X, y)
    assert np.isfinite(weighed.predict_log_proba(X)).all()


def test_codes_say_what_they_are():
    assert repr(Codes([2, 3])) == "Codes(at_least=(2, 3))"
    assert Codes(2) == Codes(2) != Codes(3)
