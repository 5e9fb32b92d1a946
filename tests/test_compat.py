"""Models set up like other systems: declared levels, families by kind, and all else that a model can do."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_iris

import naively
from naively import NaiveBayes, compat, load
from naively.errors import InputTypeError, ParameterError
from naively.families import (
    Bernoulli,
    ByKind,
    Categorical,
    Gaussian,
    Kernel,
    Poisson,
    Thresholded,
)
from naively.smoothing import MEstimate

MODELS = {
    "e1071": lambda: compat.e1071(laplace=1),
    "e1071 thresholds": lambda: compat.e1071(threshold=0.01, eps=0.001),
    "klaR": compat.klar,
    "klaR kernel": lambda: compat.klar(usekernel=True, fL=1, adjust=1.5),
    "naivebayes": compat.naivebayes,
    "naivebayes poisson": lambda: compat.naivebayes(laplace=0.5, usepoisson=True, prior=[1, 2, 3]),
    "naivebayes kernel": lambda: compat.naivebayes(usekernel=True, usepoisson=True),
    "clop": compat.clop,
    "clop features": lambda: compat.clop("features"),
}
everywhere = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
LEVELS = ["amber", "blue", "cyan", "dun"]


def table(n=60, seed=0):
    """A frame of every kind of column, with missing cells, a level that never occurs, and classes a, b and c."""
    random = np.random.default_rng(seed)
    y = random.choice(list("abc"), n)
    y[:6] = list("aabbcc")
    code = np.searchsorted(list("abc"), y)
    frame = pd.DataFrame(
        {
            "size": random.normal(code, 1.0),
            "eggs": random.poisson(1.0 + code),
            "coat": pd.Categorical(random.choice(LEVELS[:3], n), categories=LEVELS),
            "mood": random.choice(["calm", "shy"], n),
            "tame": random.random(n) < 0.3 + 0.2 * code,
            "wild": random.integers(0, 2, n),
        }
    )
    frame.loc[random.random(n) < 0.1, "size"] = np.nan
    frame.loc[random.random(n) < 0.1, "eggs"] = np.nan
    frame.loc[random.random(n) < 0.1, "coat"] = None
    frame.loc[random.random(n) < 0.1, "mood"] = None
    return frame, y


# -- what every such model can do -------------------------------------------------------------------------------------


@everywhere
def test_it_is_a_model_like_any_other(make, tmp_path):
    X, y = table()
    model = make().fit(X, y)
    answers = model.predict_proba(X)
    np.testing.assert_allclose(answers.sum(axis=1), 1.0)
    assert (model.predict(X) == y).mean() > 0.4
    chunks = make().partial_fit(X[:25], y[:25]).partial_fit(X[25:], y[25:])
    merged = make().fit(X[:25], y[:25]) + make().fit(X[25:], y[25:])
    more, more_y = table(20, seed=1)
    forgetful = make().fit(pd.concat([X, more]), np.append(y, more_y)).forget(more, more_y)
    model.save(tmp_path / "model.json")
    for other in (chunks, merged, forgetful, load(tmp_path / "model.json"), clone(model).fit(X, y)):
        np.testing.assert_allclose(other.predict_proba(X), answers, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(X), answers)


@pytest.mark.parametrize("make", [make for name, make in MODELS.items() if "kernel" not in name and "feat" not in name])
def test_leave_one_out_is_forgetting(make):
    X, y = table(30)
    model = make().fit(X, y)
    actual = model.loo(X, y)
    for place in range(0, 30, 5):
        row, label = X[place : place + 1], y[place : place + 1]
        without = make().fit(X, y).forget(row, label)
        np.testing.assert_allclose(actual[place], without.predict_log_proba(row)[0], rtol=1e-8, atol=1e-8)


def test_leave_one_out_of_labels_by_a_mean_over_features_is_refused():
    X, y = table()
    with pytest.raises(ParameterError, match="has no leave-one-out for labels"):
        compat.clop("features").fit(X, y).loo(X, y)


@everywhere
def test_polars_is_read_like_pandas(make):
    X, y = table()
    there = pl.DataFrame(
        {
            "size": pl.Series([None if np.isnan(v) else v for v in X["size"]]),
            "eggs": pl.Series([None if np.isnan(v) else int(v) for v in X["eggs"]], dtype=pl.Int64),
            "coat": pl.Series([v if isinstance(v, str) else None for v in X["coat"]], dtype=pl.Enum(LEVELS)),
            "mood": pl.Series([v if isinstance(v, str) else None for v in X["mood"]]),
            "tame": X["tame"].to_list(),
            "wild": X["wild"].to_list(),
        }
    )
    np.testing.assert_allclose(
        make().fit(there, y).predict_proba(there), make().fit(X, y).predict_proba(X), rtol=1e-12, atol=1e-15
    )


def test_arrow_dictionaries_declare_their_values():
    letters = pa.array(["amber", "blue", "dun"]).dictionary_encode()
    coat = pa.DictionaryArray.from_arrays([0, 1, None], letters.dictionary)
    model = compat.e1071(1).fit(pa.table({"coat": coat}), [0, 1, 1])
    assert set(model.parameters()["coat"]["probability"]) == {"amber", "blue", "dun"}


# -- levels that a type declares --------------------------------------------------------------------------------------


def test_unused_categories_count_in_smoothing():
    X = pd.DataFrame({"coat": pd.Categorical(["amber", "blue", "blue"], categories=LEVELS)})
    found = compat.e1071(laplace=1).fit(X, [0, 0, 1]).parameters()["coat"]["probability"]
    assert found["dun"].tolist() == [1 / 6, 1 / 5]
    plain = NaiveBayes("textbook", smoothing=1).fit(X, [0, 0, 1]).parameters()["coat"]["probability"]
    assert "dun" not in plain


def test_text_declares_nothing_and_booleans_both_values():
    X = pd.DataFrame({"mood": ["calm", "shy", "shy"], "tame": [True, True, True]})
    model = compat.e1071(laplace=1).fit(X, [0, 0, 1])
    assert set(model.parameters()["mood"]["probability"]) == {"calm", "shy"}
    assert model.parameters()["tame"]["probability"][False].tolist() == [1 / 4, 1 / 3]
    missing = pd.DataFrame({"tame": [True, None, True]})
    assert set(compat.e1071(laplace=1).fit(missing, [0, 0, 1]).parameters()["tame"]["probability"]) == {False, True}


def test_whole_numbers_can_be_categories():
    X = pd.DataFrame({"grade": pd.Categorical([1, 2, 2], categories=[1, 2, 3])})
    model = compat.e1071(laplace=1).fit(X, [0, 0, 1])
    assert model.parameters()["grade"]["probability"][3].tolist() == [1 / 5, 1 / 4]


def test_levels_of_later_batches_and_of_other_models_are_joined():
    def frame(cells, levels):
        return pd.DataFrame({"coat": pd.Categorical(cells, categories=levels)})

    first, second = frame(["amber"], ["amber", "blue"]), frame(["amber"], ["amber", "cyan"])
    for model in (
        compat.e1071(1).fit(first, [0]).partial_fit(second, [1]),
        compat.e1071(1).fit(first, [0]) + compat.e1071(1).fit(second, [1]),
    ):
        assert set(model.parameters()["coat"]["probability"]) == {"amber", "blue", "cyan"}
        assert set(model.schema_.declared["coat"]) == {"amber", "blue", "cyan"}


def test_levels_are_joined_with_text_in_any_order():
    levels = pd.DataFrame({"coat": pd.Categorical(["amber"], categories=["amber", "blue"])})
    text = pd.DataFrame({"coat": ["cyan"]})
    for first, second in ((levels, text), (text, levels)):
        model = compat.e1071(1).fit(first, [0]).partial_fit(second, [1])
        assert set(model.parameters()["coat"]["probability"]) == {"amber", "blue", "cyan"}


def test_a_level_that_only_the_new_table_has_says_nothing():
    X = pd.DataFrame({"coat": pd.Categorical(["amber", "blue", "blue", "blue"], categories=["amber", "blue"])})
    for make in (compat.e1071, compat.klar, compat.naivebayes):
        model = make().fit(X, [0, 0, 1, 1])
        new = pd.DataFrame({"coat": pd.Categorical(["zebra", None, "amber"])})
        np.testing.assert_allclose(model.predict_proba(new)[:2], [[0.5, 0.5], [0.5, 0.5]])
        assert model.predict_proba(new)[2, 0] > 0.99


def test_a_level_that_never_occurred_has_the_threshold_in_every_class():
    X = pd.DataFrame({"coat": pd.Categorical(["amber", "blue", "blue"], categories=LEVELS)})
    evidence = compat.e1071(threshold=0.01).fit(X, [0, 0, 1]).evidence(pd.DataFrame({"coat": ["dun", "amber"]}))
    np.testing.assert_allclose(evidence[:, 0], np.log([[0.01, 0.01], [0.5, 0.01]]))


def test_categorical_declared_in_a_recipe_that_weighs_evidence():
    X, y = table(200)
    model = NaiveBayes("auto", families={"coat": Categorical("declared")}).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.schema_.declared == {"coat": tuple(LEVELS)}


# -- thresholds, one rule per system ----------------------------------------------------------------------------------


def test_which_of_them_eps_touches():
    X = pd.DataFrame({"salary": [1e4, 2e4, 4e4, 1e5], "coat": list("xxyx")})
    y = [0, 0, 1, 1]
    e1071 = compat.e1071(threshold=0.01, eps=0.6).fit(X, y)
    np.testing.assert_allclose(np.exp(e1071.evidence(X)[:, 0]), 0.01)  # every density of a salary is small
    np.testing.assert_allclose(np.exp(e1071.evidence(X)[0, 1]), [1.0, 0.01])
    naivebayes = compat.naivebayes(threshold=0.01, eps=0.6).fit(X, y)
    assert np.exp(naivebayes.evidence(X)[0, 0, 0]) == pytest.approx(stats.norm.pdf(1e4, 1.5e4, 5e7**0.5))
    np.testing.assert_allclose(np.exp(naivebayes.evidence(X)[0, 1]), [1.0, 0.01])
    smoothed = compat.naivebayes(laplace=1, threshold=0.01, eps=0.6).fit(X, y)
    np.testing.assert_allclose(np.exp(smoothed.evidence(X)[0, 1]), [0.75, 0.5])
    np.testing.assert_allclose(np.exp(compat.klar().fit(X, y).evidence(X)[2, 1]), [0.001, 0.5])


def test_poisson_as_in_naivebayes():
    X = pd.DataFrame({"eggs": [0, 0, 3, 5]})
    model = compat.naivebayes(usepoisson=True).fit(X, list("aabb"))
    evidence = model.evidence(pd.DataFrame({"eggs": [0, 2]}))
    np.testing.assert_allclose(np.exp(evidence[:, 0, 0]), [1.0, 0.001])
    smoothed = compat.naivebayes(usepoisson=True, laplace=1).fit(X, list("aabb"))
    assert smoothed.parameters()["eggs"]["rate"].tolist() == [0.5, 4.5]


# -- families by kind -------------------------------------------------------------------------------------------------


def names_of(model):
    return {name: column["family"].name() for name, column in model.parameters().items()}


def test_families_are_chosen_by_what_a_column_holds():
    X, y = table()
    families = ByKind(Gaussian(), Categorical(), counts=Poisson(), binary=Bernoulli())
    expected = {
        "size": "gaussian",
        "eggs": "poisson",
        "coat": "categorical",
        "mood": "categorical",
        "tame": "bernoulli",
        "wild": "bernoulli",
    }
    assert names_of(NaiveBayes("textbook", families=families).fit(X, y)) == expected
    fewer = NaiveBayes("textbook", families=ByKind(counts=Poisson())).fit(X, y)
    assert names_of(fewer) == {**expected, "tame": "categorical", "wild": "poisson"}
    default = NaiveBayes("textbook", families=ByKind()).fit(X, y)
    np.testing.assert_array_equal(default.predict_proba(X), NaiveBayes("textbook").fit(X, y).predict_proba(X))


def joined(batches):
    return [element for batch in batches for element in batch]


BATCHES = st.lists(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, 2.0, 0.5, -1.0, None]), st.sampled_from("ab")), min_size=1, max_size=4
    ),
    min_size=2,
    max_size=4,
)


@given(BATCHES, st.sampled_from([compat.clop, lambda: compat.naivebayes(usepoisson=True, laplace=1)]))
def test_batches_and_sums_of_models_choose_as_one_fit_does(batches, make):
    rows = [[{"x": value} for value, _ in batch] for batch in batches]
    classes = [[label for _, label in batch] for batch in batches]
    whole = make().fit(joined(rows), joined(classes))
    streamed = make()
    for X, y in zip(rows, classes, strict=True):
        streamed.partial_fit(X, y)
    merged = sum(make().fit(X, y) for X, y in zip(rows, classes, strict=True))
    for model in (streamed, merged):
        assert model.statistics_ == whole.statistics_
        assert names_of(model) == names_of(whole)
    rest = streamed.forget(rows[0], classes[0])
    known = any(value is not None for batch in batches[1:] for value, _ in batch)  # else only a stream knows the column
    if rest.class_count_.sum() and known:
        assert names_of(rest) == names_of(make().fit(joined(rows[1:]), joined(classes[1:])))


def test_the_choice_follows_all_that_was_learnt():
    families = ByKind(Gaussian(), Categorical(), counts=Poisson(), binary=Bernoulli())
    model = NaiveBayes("textbook", families=families).fit([[0.0, 2.0, 0.5], [1.0, 3.0, 1.5]], [0, 1])
    assert list(names_of(model).values()) == ["bernoulli", "poisson", "gaussian"]
    model.partial_fit([[0.0, 0.5, 2.0], [3.0, 1.0, 3.0]], [0, 1])
    assert list(names_of(model).values()) == ["poisson", "gaussian", "gaussian"]
    model.forget([[0.0, 0.5, 2.0], [3.0, 1.0, 3.0]], [0, 1])
    assert list(names_of(model).values()) == ["bernoulli", "poisson", "gaussian"]


def test_the_choice_of_a_sparse_matrix_and_of_weights():
    dense = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 1.5], [1.0, 3.0, 0.0]])
    for X in (dense, sparse.csr_array(dense)):
        families = ByKind(Gaussian(), Categorical(), counts=Poisson(), binary=Bernoulli())
        model = NaiveBayes("textbook", families=families).fit(X, [0, 1, 1], sample_weight=[0.25, 0.1, 0.7])
        assert list(names_of(model).values()) == ["bernoulli", "poisson", "gaussian"]


def test_a_column_that_was_empty_is_chosen_when_it_is_known():
    families = ByKind(Gaussian(), Categorical("declared"), counts=Poisson())
    model = NaiveBayes("textbook", families=families)
    model.fit({"x": [None, None], "z": [1.5, 2.5], "b": [None, None]}, [0, 1])
    model.partial_fit({"b": [True, True], "z": [1.5, 2.5], "x": [3, 4]}, [0, 1])
    assert names_of(model) == {"x": "poisson", "z": "gaussian", "b": "categorical"}
    assert model.schema_.declared == {"b": (False, True)}


def test_mixed_columns_are_still_refused():
    with pytest.raises(InputTypeError, match="mixes text with numbers"):
        compat.e1071().fit({"x": ["a", 1]}, [0, 1])


# -- smoothing by means -----------------------------------------------------------------------------------------------


def test_the_mean_over_classes_weighs_classes_alike():
    X, y = [["x"]] * 3 + [["y"]] + [["y"]] * 2, [0, 0, 0, 0, 1, 1]
    found = NaiveBayes("textbook", smoothing=MEstimate(1, "classes")).fit(X, y).parameters()["x0"]["probability"]
    mean = (0.75 + 0.0) / 2
    np.testing.assert_allclose(found["x"], [(3 + mean) / 5, (0 + mean) / 3])


def test_the_mean_over_features_is_over_columns_with_the_same_values():
    X = pd.DataFrame({"p": list("yyn"), "q": list("ynn"), "r": list("ststs"[:3])})
    model = NaiveBayes("textbook", smoothing=MEstimate(1, "features")).fit(X, [0, 0, 0])
    found = model.parameters()
    np.testing.assert_allclose(found["p"]["probability"]["y"], (2 + 0.5) / 4)
    np.testing.assert_allclose(found["q"]["probability"]["y"], (1 + 0.5) / 4)
    np.testing.assert_allclose(found["r"]["probability"]["s"], 2 / 3)


# -- parameters -------------------------------------------------------------------------------------------------------


def test_priors_are_weights_in_class_order_or_by_class():
    X, y = table()
    first, second = compat.klar(prior=[1, 2, 3]), compat.klar(prior={"c": 3, "b": 2, "a": 1})
    np.testing.assert_allclose(first.fit(X, y).class_prior_, [1 / 6, 2 / 6, 3 / 6])
    np.testing.assert_array_equal(second.fit(X, y).class_prior_, first.class_prior_)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: compat.e1071(threshold=0), "threshold above 0"),
        (lambda: compat.e1071(eps=1), "eps below 1"),
        (lambda: compat.klar(usekernel=True, bw="sj"), "'nrd0', 'silverman', 'ucv' or a number"),
        (lambda: compat.klar(interpolate="yes"), "interpolate must be True or False"),
        (lambda: compat.weka(kernel="K"), "kernel must be True or False"),
        (lambda: compat.naivebayes(usekernel=True, kernel="bell"), "must be 'gaussian', 'rectangular'"),
        (lambda: compat.naivebayes(usekernel=True, adjust=0), "above 0"),
        (lambda: compat.clop("rows"), "'classes' or 'features'"),
        (lambda: compat.klar(prior="even"), "prior must be numbers"),
        (lambda: compat.klar(prior=[0, 0]), "prior must be numbers"),
        (lambda: compat.e1071(laplace=-1).fit([[1.0], [2.0]], [0, 1]), "laplace must be a finite number"),
        (lambda: ByKind(numbers="gaussian"), r"ByKind\(numbers\) must be a family"),
        (lambda: MEstimate(1, "columns"), "must be one of 'uniform'"),
        (lambda: Categorical("levels"), "a non-empty sequence of values or 'declared'"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_parameters_change_after_fitting_without_data():
    X, y = table()
    model = compat.e1071().fit(X, y)
    model.set_params(laplace=1, threshold=0.01, eps=0.001)
    np.testing.assert_array_equal(
        model.predict_proba(X), compat.e1071(1, threshold=0.01, eps=0.001).fit(X, y).predict_proba(X)
    )


def test_the_options_are_those_of_the_families():
    families = compat.naivebayes(usekernel=True, usepoisson=True).families
    assert families.numbers == Thresholded(Kernel("nrd0", 1, background=False, points=512))
    assert families.counts == Thresholded(Poisson("events"))
    assert compat.clop().families.binary == Bernoulli()


# -- Weka and R's print -----------------------------------------------------------------------------------------------

SPACE = " "
"""R ends the lines of a vector with a space."""

PRINTED = f"""
Naive Bayes Classifier for Discrete Predictors

Call:
naiveBayes.default(x = X, y = Y, laplace = 0)

A-priori probabilities:
Y
    setosa versicolor  virginica{SPACE}
 0.3333333  0.3333333  0.3333333{SPACE}

Conditional probabilities:
            Sepal.Length
Y             [,1]      [,2]
  setosa     5.006 0.3524897
  versicolor 5.936 0.5161711
  virginica  6.588 0.6358796
"""


def test_a_fitted_e1071_prints_as_in_r():
    iris = load_iris()
    y = np.array(["setosa", "versicolor", "virginica"])[iris.target]
    model = compat.e1071()
    assert str(model) == repr(model) == "e1071()"
    model.fit({"Sepal.Length": iris.data[:, 0]}, y)
    assert str(model) == PRINTED


def test_a_table_of_counts_prints_as_in_r():
    X = {"Sex": ["Female", "Male", "Female", "Male"]}
    model = compat.e1071().fit(X, ["No", "No", "Yes", "Yes"], sample_weight=[126, 1364, 344, 367])
    assert str(model).partition("Conditional probabilities:\n")[2].splitlines()[:4] == [
        "     Sex",
        "Y         Female       Male",
        "  No  0.08456376 0.91543624",
        "  Yes 0.48382560 0.51617440",
    ]


@pytest.mark.parametrize("kernel", [False, True])
def test_weka_learns_in_batches_and_answers_for_anything(kernel, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)).round(1), np.arange(60) % 3
    X[::7, 0] = np.nan
    whole = compat.weka(kernel=kernel).fit(X, y)
    parts = compat.weka(kernel=kernel).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    asked = np.array([[0.3, np.nan], [1e6, -1e6], [np.nan, np.nan]])
    np.testing.assert_array_equal(whole.predict_proba(asked), parts.predict_proba(asked))
    assert np.isfinite(whole.predict_proba(asked)).all()
    whole.save(tmp_path / "w.json")
    np.testing.assert_array_equal(naively.load(tmp_path / "w.json").predict_proba(asked), whole.predict_proba(asked))
    np.testing.assert_array_equal(
        whole.forget(X[:20], y[:20]).predict_proba(asked), compat.weka(kernel).fit(X[20:], y[20:]).predict_proba(asked)
    )


def test_weka_with_a_constant_column_and_a_class_without_values():
    model = compat.weka().fit([[1.0, np.nan], [1.0, 2.0], [1.0, 3.0]], ["a", "b", "b"])
    answers = model.predict_proba([[1.0, 2.5], [5.0, np.nan]])
    assert np.isfinite(answers).all()
    assert answers[1].tolist() == pytest.approx([0.4, 0.6])  # all of one value: the classes do not differ in it
