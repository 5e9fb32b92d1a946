"""Leave-one-out in closed form equals forgetting the row and asking for it."""

import copy
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy import sparse

from naively import NaiveBayes
from naively.errors import ForgetError, ParameterError
from naively.families import (
    FAMILIES,
    Bernoulli,
    Binned,
    Categorical,
    Gaussian,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Thresholded,
)
from naively.families._densities import Sample, kernel
from naively.smoothing import Dirichlet, Laplace, MEstimate, NoSmoothing
from tests.strategies import CLASSES, Rows, cases, smoothings

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")


def by_forgetting(model, rows):
    """The log-probabilities of each row by the model without it: refits, one by one."""
    answers = []
    for place in range(len(rows)):
        row = rows.take([place])
        without = copy.deepcopy(model).forget(row.columns, row.y, row.weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers.append(without.predict_log_proba(row.columns)[0])
    return np.array(answers)


def assert_close(actual, expected, tolerance=1e-10):
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(actual[infinite], expected[infinite])
    np.testing.assert_allclose(actual[~infinite], expected[~infinite], rtol=tolerance, atol=tolerance)


def log_softmax(scores):
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def iris_like(seed=0, n=150, weighted=False):
    """Three classes, two columns of numbers, rounded and not."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    y[:6] = [0, 0, 1, 1, 2, 2]
    columns = {
        "length": np.round(random.normal(5 + y, 0.8), 1).tolist(),
        "width": random.normal(3 - 0.5 * y, 0.4).tolist(),
    }
    columns["width"][3] = None
    return Rows(columns, y.tolist(), (random.integers(1, 9, n) / 4).tolist() if weighted else None)


def textbook(rows, families, **parameters):
    return NaiveBayes("textbook", families=families, **parameters).fit(rows.columns, rows.y, rows.weights)


def loo(model, rows):
    return model.loo(rows.columns, rows.y, rows.weights)


# -- families that are exact ----------------------------------------------------------------------------------------


@given(cases(min_rows=2, smoothing=smoothings.filter(lambda rule: rule != MEstimate(1.0, "features"))))
def test_it_is_forgetting_the_row_and_asking_for_it(case):
    parameters = {"classes": list(CLASSES), "sample_weight": case.rows.weights}
    model = case.model(recipe="textbook").partial_fit(case.rows.columns, case.rows.y, **parameters)
    assert_close(loo(model, case.rows), by_forgetting(model, case.rows))


EXACT = [
    Gaussian(ties, ddof, floor, rule)
    for ties in ("none", "feature", "class", "all")
    for ddof in (0, 1)
    for floor, rule in ((1e-9, "column"), (0.5, "column"), (0.1, "scikit-learn"))
] + [
    Gaussian(ddof=1, rule="threshold", floor=0.001, eps=0.6),
    Gaussian(ddof=1, rule="threshold", floor=0.001, lone="silent"),
    Thresholded(Gaussian(ddof=1), 0.01, 0.2),
    Thresholded(StudentT(), 0.01, 0.2),
    StudentT(),
    StudentT(pooled=True),
    StudentT(prior_rows=2.0, prior_shape=0.5, floor=0.9),
    Bernoulli(5.5),
]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("family", EXACT, ids=repr)
def test_families_of_numbers_are_exact(family, weighted):
    rows = iris_like(n=20, weighted=weighted)
    model = textbook(rows, family)
    assert_close(loo(model, rows), by_forgetting(model, rows))


@pytest.mark.parametrize("family", [Gaussian(), Gaussian(ties="all"), StudentT(), StudentT(pooled=True)], ids=repr)
def test_numbers_far_from_zero_stay_exact(family):
    random = np.random.default_rng(1)
    rows = Rows({"x": (1e8 + random.normal(size=30)).tolist()}, random.integers(0, 2, 30).tolist())
    model = textbook(rows, family)
    assert_close(loo(model, rows), by_forgetting(model, rows), 1e-7)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "family",
    [Poisson(), Poisson("events"), Thresholded(Poisson("events"), 0.01, 0.05), Multinomial(), Bernoulli()],
    ids=repr,
)
@pytest.mark.parametrize(
    "smoothing", [Laplace(), NoSmoothing(), MEstimate(2.0, "marginal"), MEstimate(1.0, "classes")], ids=repr
)
def test_families_of_counts_are_exact(family, weighted, smoothing):
    random = np.random.default_rng(2)
    y = random.integers(0, 3, 40)
    columns = {f"word {place}": random.poisson(0.5 + y * place / 3).tolist() for place in range(5)}
    weights = (random.integers(1, 9, 40) / 4).tolist() if weighted else None
    model = textbook(Rows(columns, y.tolist(), weights), family, smoothing=smoothing)
    rows = Rows(columns, y.tolist(), weights)
    assert_close(loo(model, rows), by_forgetting(model, rows))


@pytest.mark.parametrize(
    "family",
    [Categorical(), Categorical(list("abcdefgh")), Thresholded(Categorical(), eps=0.2)],
    ids=["open", "declared", "thresholded"],
)
@pytest.mark.parametrize(
    "smoothing",
    [
        Laplace(),
        NoSmoothing(),
        0.3,
        MEstimate(2.0),
        MEstimate(2.0, "marginal"),
        MEstimate(1.0, "classes"),
        Dirichlet(0.7, "mean"),
    ],
    ids=repr,
)
def test_categories_are_exact_though_a_value_may_vanish(family, smoothing):
    values = list("aaabbcabdaeb")
    rows = Rows(
        {"letter": values, "other": values[::-1]}, list("xxyyxzyxyxzy"), [1, 2, 0.5, 0.1, 0.2, 1, 3, 1, 1, 1, 1, 1]
    )
    for weights in (None, rows.weights):
        rows = rows.weighing(weights)
        model = textbook(rows, family, smoothing=smoothing)
        assert_close(loo(model, rows), by_forgetting(model, rows))


@pytest.mark.parametrize("prior", ["uniform", [0.2, 0.3, 0.5]])
def test_a_prior_that_is_given_stays(prior):
    rows = iris_like(n=30)
    model = textbook(rows, None, prior=prior)
    assert_close(loo(model, rows), by_forgetting(model, rows))


@pytest.mark.parametrize("smoothing", [None, "laplace", MEstimate(3.0)])
def test_the_prior_loses_the_row_too(smoothing):
    rows = iris_like(n=30, weighted=True)
    model = textbook(rows, None, prior_smoothing=smoothing)
    assert_close(loo(model, rows), by_forgetting(model, rows))


def test_a_class_of_one_row_is_left_without_any():
    model = NaiveBayes("textbook").fit([[1.0], [2.0], [3.0]], ["a", "a", "b"])
    assert model.loo([[3.0]], ["b"])[0].tolist() == [0.0, -np.inf]


def test_storage_and_column_order_do_not_matter():
    rows = iris_like(n=30)
    frame = pd.DataFrame(rows.columns, dtype=float)
    model = textbook(rows, {"length": "studentt", "width": "gaussian"})
    expected = loo(model, rows)
    np.testing.assert_array_equal(model.loo(frame[["width", "length"]], rows.y), expected)
    np.testing.assert_array_equal(model.loo(frame.assign(y=rows.y), "y"), expected)
    np.testing.assert_array_equal(model.set_params(n_threads=2).loo(frame, rows.y), expected)


@pytest.mark.parametrize(
    ("family", "smoothing"),
    [
        *product(["multinomial", "bernoulli", "poisson"], [Laplace(), NoSmoothing(), MEstimate(2.0, "marginal")]),
        ("gaussian", None),  # which has no pseudo-counts
    ],
    ids=repr,
)
def test_sparse_tables(family, smoothing):
    random = np.random.default_rng(4)
    X, y = random.poisson(0.3, (50, 20)).astype(float), random.integers(0, 3, 50)
    X[random.random(X.shape) < 0.05] = np.nan
    weights = random.integers(1, 9, 50) / 4
    model = NaiveBayes("textbook", families=family, smoothing=smoothing).fit(X, y, weights)
    assert_close(model.loo(sparse.csr_array(X), y, weights), model.loo(X, y, weights))


def test_many_rows_are_read_in_blocks():
    random = np.random.default_rng(5)
    X, y = random.normal(size=(5000, 30)), random.integers(0, 4, 5000)
    model = NaiveBayes("textbook", n_threads=1).fit(X, y)
    together = model.loo(X, y)
    np.testing.assert_array_equal(together[4000:], model.loo(X[4000:], y[4000:]))


def test_a_row_without_weight_is_answered_as_it_is():
    rows = iris_like(n=20)
    model = textbook(rows, {"length": "binned", "width": "kernel"})
    row = {"length": [-7.25], "width": [99.0]}
    np.testing.assert_allclose(
        model.loo(row, [0], [0.0]), textbook(rows, {"length": "binned", "width": "kernel"}).loo(row, [1], [0.0])
    )


# -- families that do not choose again ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("bins", ["pkid", "mdl", 4])
@pytest.mark.parametrize("smoothing", [Laplace(), NoSmoothing(), MEstimate(1.0, "marginal")], ids=repr)
def test_bins_are_categories_once_cut(bins, smoothing, weighted):
    rows = iris_like(weighted=weighted)
    model = textbook(rows, Binned(bins), smoothing=smoothing)
    coded, families = {}, {}
    for name, cells in rows.columns.items():
        cuts = model.parameters()[name]["cuts"]
        coded[name] = [None if cell is None else int(np.searchsorted(cuts, cell, side="right")) for cell in cells]
        families[name] = Categorical(range(len(cuts) + 1))
    coded = Rows(coded, rows.y, rows.weights)
    same = textbook(coded, families, smoothing=smoothing)
    np.testing.assert_allclose(
        model.predict_log_proba(rows.columns), same.predict_log_proba(coded.columns), rtol=1e-12, atol=1e-12
    )
    some = range(0, len(rows), 5)
    assert_close(loo(model, rows.take(some)), by_forgetting(same, coded.take(some)))


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_kernels_without_a_row_are_the_other_rows_bells(weight):
    values = np.array([0.0, 1.0, 1.5, 2.5, 4.0, 5.5, 6.0])
    counts = np.array([[3.0, 4, 5, 0, 3, 0, 4], [3, 0, 4, 5, 3, 6, 3]])
    full = kernel(moments_of(values, counts), 1.5, room=5.0)
    for code, cell in np.argwhere(counts >= 3):
        left = counts.copy()
        left[code, cell] -= weight
        # Its moments stay, and so does the grid; the bandwidth is given.
        sample = moments_of(values, counts)
        without = kernel(Sample(values, left, sample.n, sample.mean, sample.m2), 1.5, room=5.0)
        np.testing.assert_allclose(full.without(code, cell, weight), without.full[code, cell], rtol=1e-10)


def moments_of(values, counts):
    n = counts.sum(axis=1)
    mean = counts @ values / n
    return Sample(values, counts, n, mean, (counts * (values - mean[:, None]) ** 2).sum(axis=1))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("family", [Kernel(), Kernel(scores=True), Kernel(0.5), Stacked(), Stacked(("t",))], ids=repr)
def test_what_is_not_chosen_again_matters_little(family, weighted):
    rows = iris_like(n=120, weighted=weighted)
    model = textbook(rows, family)
    some = rows.take(range(0, 120, 4))
    expected = np.exp(by_forgetting(model, some))
    gap = np.abs(np.exp(loo(model, some)) - expected)
    assert gap.mean() < 0.4 * np.abs(model.predict_proba(some.columns) - expected).mean()
    assert gap.max() < 0.1


def test_stacked_weights_of_one_are_no_weights():
    rows = iris_like()
    model = textbook(rows, Stacked())
    heavier = model.loo(rows.columns, rows.y, np.full(len(rows), 1 + 1e-13))
    np.testing.assert_allclose(heavier, loo(model, rows), rtol=1e-6, atol=1e-9)


# -- the recipes that weigh evidence --------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
def test_recipes_that_keep_rows_answer_for_them(recipe):
    rows = iris_like()
    model = NaiveBayes(recipe).fit(rows.columns, rows.y)
    answer = model.loo()
    assert answer.shape == (len(rows), 3)
    np.testing.assert_allclose(np.exp(answer).sum(axis=1), 1.0)
    codes = model._estimated()[0].weighed.model.loo.codes
    assert model.calibration_.accuracy == pytest.approx((answer.argmax(axis=1) == codes).mean())
    with pytest.raises(ParameterError, match="without arguments"):
        loo(model, rows)


def test_textbook_needs_rows():
    with pytest.raises(ParameterError, match="Give it X and y"):
        textbook(iris_like(), None).loo()


# -- rows that were not learnt --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "value"), [("categorical", 9), ("binned", 99.0), ("kernel", 99.0), ("stacked", 99.0), ("poisson", 99)]
)
def test_a_value_that_was_never_learnt_is_refused(family, value):
    model = NaiveBayes("textbook", families=family).fit([[1], [2], [3], [1]], ["a", "a", "b", "b"])
    with pytest.raises(ForgetError):
        model.loo([[value]], ["a"])


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_class_or_weight_that_was_never_learnt_is_refused(family):
    rows = {
        "text": [["1"], ["2"], ["3"], ["1"]],
        "date": [["2024-01-01"], ["2024-02-02"], ["2024-03-03"], ["2024-01-01"]],
    }
    rows = rows.get(family, [[1], [2], [3], [1]])
    model = NaiveBayes("textbook", families=family).fit(rows, ["a", "a", "b", "b"])
    with pytest.raises(ForgetError, match="'c' was never learnt"):
        model.loo(rows[:1], ["c"])
    with pytest.raises(ForgetError, match="weighs more"):
        model.loo(rows[:1], ["a"], [2.5])


def test_a_value_learnt_less_often_is_refused():
    model = NaiveBayes("textbook").fit({"colour": ["red", "red", "blue"]}, ["a", "a", "b"])
    with pytest.raises(ForgetError, match="less often"):
        model.loo({"colour": ["blue"]}, ["a"])


def test_rows_and_classes_must_fit():
    model = NaiveBayes("textbook").fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="as many rows"):
        model.loo([[1.0]], ["a", "b"])
