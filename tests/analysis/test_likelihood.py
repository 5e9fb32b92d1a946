"""The likelihood of what was learnt, from counts alone, and how many parameters it took."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import norm

from naively import NaiveBayes
from naively.analysis._likelihood import parameter_counts
from naively.analysis._parameter_counts import discrete_parameter_counts
from naively.errors import NaivelyError, ParameterError, RecipeError
from naively.families import (
    Bernoulli,
    Binned,
    Categorical,
    Gaussian,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
)
from naively.families._gaussian import gaussian_parameter_count
from naively.families.base import Count
from naively.smoothing import Beta, Dirichlet, Jeffreys, Laplace
from tests.models import textbook
from tests.strategies import cases


def of_rows(model, X, y, weights):
    """The log-likelihood of the rows, one by one, and what its terms add up to in size."""
    joint = model.predict_joint_log_proba(X)
    place = [model.classes_.tolist().index(label) for label in y]
    rows = np.arange(len(place))
    terms = np.abs(model.evidence(X))[rows, :, place].sum(axis=1) + np.abs(np.log(model.class_prior_))[place]
    return float(weights @ joint[rows, place]), 1.0 + float(weights @ terms)


def has_interval(case):
    return any(isinstance(one, Gaussian) and one.interval for one in case.parameters["families"].values())


@given(cases())
def test_it_is_the_joint_probability_of_the_rows_at_their_own_classes(case):
    assume(case.is_a_distribution)
    assume(not has_interval(case))
    model, rows = case.fitted(), case.rows
    weights = np.ones(len(rows)) if rows.weights is None else np.array(rows.weights)
    expected, scale = of_rows(model, rows.columns, rows.y, weights)
    for name, family in case.parameters["families"].items():
        if isinstance(family, Poisson) and max(filter(None, rows.columns[name]), default=0) > 0:
            counts = np.array([cell or 0 for cell in rows.columns[name]], dtype=float)
            expected += float(weights @ gammaln(counts + 1))  # what is left out, as documented
    assert model.log_likelihood_ == pytest.approx(expected, rel=0, abs=1e-11 * scale)


@given(cases(), st.data())
def test_so_it_is_under_a_given_prior(case, data):
    assume(case.is_a_distribution)
    assume(not has_interval(case))
    model = case.fitted()
    weight = model.class_count_
    shares = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(weight), max_size=len(weight))), dtype=float)
    shares /= shares.sum()
    change = float(weight @ (np.log(shares) - np.log(model.class_prior_)))
    before = model.log_likelihood_
    assert model.set_params(prior=shares).log_likelihood_ == pytest.approx(before + change, rel=1e-9, abs=1e-9)


@given(cases(min_rows=2), st.integers(0, 99))
def test_it_does_not_know_how_the_rows_were_cut(case, place):
    assume(case.is_a_distribution)
    assume(not has_interval(case))
    place = 1 + place % (len(case.rows) - 1)
    parts = [case.rows.take(range(place)), case.rows.take(range(place, len(case.rows)))]
    merged = case.fitted(parts[0]) + case.fitted(parts[1])
    assert merged.log_likelihood_ == pytest.approx(case.fitted().log_likelihood_, rel=1e-12)


def test_the_count_form():
    table = {"coat": ["striped", "plain", "plain", "plain", "black"], "tail": [True, True, None, False, True]}
    y = ["cat", "cat", "dog", "dog", "dog"]
    model = textbook(smoothing="none").fit(table, y)
    u = {"cat": 2, "dog": 3}
    v = {("coat", "cat"): (1, 1), ("coat", "dog"): (2, 1), ("tail", "cat"): (2,), ("tail", "dog"): (1, 1)}
    expected = sum(count * math.log(count / 5) for count in u.values())
    expected += sum(count * math.log(count / sum(counts)) for counts in v.values() for count in counts)
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("ties", ["none", "feature", "class", "all"])
@pytest.mark.parametrize("ddof", [0, 1])
def test_normal_columns_from_their_moments(ties, ddof):
    random = np.random.default_rng(4)
    X, y = random.normal(size=(30, 3)) * [1, 5, 1e-3] + 1e4, np.arange(30) % 2
    model = textbook(families=Gaussian(ties=ties, ddof=ddof)).fit(X, y)
    found = model.parameters()
    expected = 30 * math.log(0.5)
    for column, name in enumerate(found):
        for code in (0, 1):
            own = X[y == code, column]
            mean, variance = found[name]["mean"][code], found[name]["variance"][code]
            expected += norm.logpdf(own, mean, np.sqrt(variance)).sum()
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-9)


def test_maximum_likelihood_is_the_maximum():
    """No smoothing, no other ddof and no tie fits the learnt rows better."""
    random = np.random.default_rng(5)
    y = np.arange(40) % 3
    table = {"x": random.normal(y), "k": random.integers(0, 4, 40).astype(str), "c": random.poisson(2 + y)}
    families = {"c": "poisson"}
    best = textbook(families=families, smoothing="none").fit(table, y)
    others = [
        {"smoothing": Laplace()},
        {"smoothing": Jeffreys()},
        {"prior": "uniform"},
        {"prior_smoothing": Dirichlet(3.0)},
        {"families": {**families, "x": Gaussian(ddof=1)}},
        {"families": {**families, "x": Gaussian(ties="feature")}},
    ]
    for change in others:
        other = textbook(**{"families": families, "smoothing": "none", **change}).fit(table, y)
        assert other.log_likelihood_ < best.log_likelihood_


@pytest.mark.parametrize("family", [Kernel(), Kernel(0.5, scores=True), Binned(), Binned(3), Binned("mdl")])
def test_histograms_are_read_cell_by_cell(family):
    random = np.random.default_rng(6)
    X, y, weights = random.normal(size=(50, 2)).round(1), np.arange(50) % 2, random.integers(1, 5, 50) / 2
    X[::7, 1] = np.nan
    model = textbook(families=family).fit(X, y, weights)
    expected, scale = of_rows(model, X, y, weights)
    assert model.log_likelihood_ == pytest.approx(expected, abs=1e-12 * scale)


@pytest.mark.parametrize("family", [Binned(), Kernel()])
def test_coarse_cells_will_do_for_bins_and_not_for_curves(family):
    random = np.random.default_rng(7)
    X, y = random.normal(size=(5000, 1)), np.arange(5000) % 2
    model = textbook(families=family).fit(X, y)
    if isinstance(family, Binned):
        expected, scale = of_rows(model, X, y, np.ones(5000))
        assert model.log_likelihood_ == pytest.approx(expected, abs=1e-12 * scale)
    else:
        with pytest.raises(RecipeError, match="'x0' has no log-likelihood: it has more than 2048 distinct values"):
            _ = model.log_likelihood_


@pytest.mark.parametrize("family", [StudentT(), StudentT(pooled=True), Gaussian(interval=0.1)])
def test_where_an_exact_histogram_was_kept_any_family_has_it(family):
    random = np.random.default_rng(8)
    X, y = {"x": random.normal(size=60).round(1)}, np.arange(60) % 2
    with pytest.raises(RecipeError, match=r"Column 'x' has no log-likelihood.*no histogram was kept"):
        _ = textbook(families=family).fit(X, y).log_likelihood_
    model = NaiveBayes().fit(X, y).set_params(recipe="textbook", families=family)
    expected, scale = of_rows(model, X, y, np.ones(60))
    assert model.log_likelihood_ == pytest.approx(expected, abs=1e-12 * scale)


def test_a_class_that_the_prior_excludes_makes_its_rows_impossible():
    model = textbook(prior={"a": 1.0, "b": 0.0}).fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
    assert model.log_likelihood_ == -np.inf


@pytest.mark.parametrize("recipe", ["fast", "auto", "strong"])
@pytest.mark.parametrize("attribute", ["log_likelihood_", "aic_", "bic_", "n_parameters_"])
def test_weighed_evidence_has_no_likelihood(recipe, attribute):
    model = NaiveBayes(recipe).fit([[1.0], [2.0], [7.0], [8.0]], ["a", "a", "b", "b"])
    with pytest.raises(RecipeError, match=f"the recipe '{recipe}' weighs evidence.*recipe='textbook'"):
        getattr(model, attribute)
    assert not hasattr(model, attribute)


def test_no_density_no_likelihood():
    model = textbook(families=Stacked()).fit({"x": [1.0, 2.0, 7.0, 8.0]}, ["a", "a", "b", "b"])
    with pytest.raises(RecipeError, match="'x' has no log-likelihood: 'stacked'"):
        _ = model.log_likelihood_
    for family in (Stacked(), Kernel()):
        with pytest.raises(RecipeError, match=f"'x' is read as '{family.name()}', which has no fixed number"):
            _ = textbook(families=family).fit({"x": [1.0, 2.0, 7.0]}, ["a", "a", "b"]).n_parameters_


def test_one_prior_per_row_is_refused_and_so_is_what_was_never_fitted():
    model = textbook(prior=np.full((2, 2), 0.5)).fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ParameterError, match="one prior for all rows"):
        _ = model.log_likelihood_
    for attribute in ("log_likelihood_", "n_parameters_", "aic_", "bic_"):
        assert not hasattr(textbook(), attribute)


# -- numbers of parameters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_classes", "sizes", "stored", "free"), [(2, (2, 2, 2), 14, 7), (3, (2, 5, 4), 36, 26), (2, (2,) * 5, 22, 11)]
)
def test_what_is_stored_and_what_is_free(n_classes, sizes, stored, free):
    """The notes' J (sum K_i + 1) is what is stored; what sums to one leaves one less free."""
    counts = discrete_parameter_counts(n_classes, sizes)
    assert counts.naive_bayes == Count(stored, free)
    table = {f"x{place}": Categorical([f"v{value}" for value in range(size)]) for place, size in enumerate(sizes)}
    rows = {name: ["v0"] * n_classes for name in table}
    model = textbook(families=table).fit(rows, list(range(n_classes)))
    assert parameter_counts(model) == counts
    assert model.n_parameters_ == free


@given(st.integers(1, 5), st.lists(st.integers(1, 4), max_size=5))
def test_full_tables_by_enumeration(n_classes, sizes):
    counts = discrete_parameter_counts(n_classes, sizes)
    table = np.zeros((n_classes, *sizes))
    combinations = table[0].size
    assert counts.joint == Count(table.size, table.size - 1)  # one sum is one
    assert counts.columns_given_class == Count(table.size, table.size - n_classes)  # one sum per class
    assert counts.class_given_columns == Count(table.size, table.size - combinations)  # one sum per combination
    # P(X | Y) and P(Y) are the joint; naive Bayes is never larger.
    assert counts.columns_given_class.free + n_classes - 1 == counts.joint.free
    assert counts.naive_bayes.free <= counts.joint.free


def test_the_numbers_of_the_slides():
    counts = discrete_parameter_counts(2, [2] * 5)
    assert (counts.columns_given_class.free, counts.joint.free, counts.class_given_columns.free) == (62, 63, 32)
    assert counts.naive_bayes.free == 11
    assert discrete_parameter_counts(2, [2] * 1000).joint.free == 2**1001 - 1  # no float holds it


@pytest.mark.parametrize(("ties", "variances"), [("none", 12), ("feature", 4), ("class", 3), ("all", 1)])
def test_ties_save_variances(ties, variances):
    random = np.random.default_rng(9)
    X, y = random.normal(size=(30, 4)), np.arange(30) % 3
    model = textbook(families=Gaussian(ties=ties)).fit(X, y)
    assert gaussian_parameter_count(3, 4, ties) == 12 + variances
    assert model.n_parameters_ == 12 + variances + 2
    assert len(np.unique([column["variance"] for column in model.parameters().values()])) == variances
    counts = parameter_counts(model)
    assert counts.joint is counts.columns_given_class is counts.class_given_columns is None
    assert "'x0' is read as 'gaussian'" in counts.reason
    assert "no other table: column 'x0'" in str(counts)


def test_every_family_is_counted():
    random = np.random.default_rng(10)
    table = {
        "normal": random.normal(size=40),
        "t": random.normal(size=40),
        "pool": random.normal(size=40),
        "bin": random.normal(size=40),
        "yes": random.integers(0, 2, 40),
        "rate": random.integers(0, 5, 40),
        "w0": random.integers(0, 5, 40),
        "w1": random.integers(0, 5, 40),
        "w2": random.integers(0, 5, 40),
        "label": np.array(list("abcd") * 10),
        "nothing": [None] * 40,
    }
    families = {
        "t": StudentT(),
        "pool": StudentT(pooled=True),
        "bin": Binned(4),
        "yes": Bernoulli(),
        "rate": Poisson(),
        "nothing": Categorical(),
    } | dict.fromkeys(["w0", "w1", "w2"], Multinomial())
    model = textbook(families=families).fit(table, np.arange(40) % 2)
    expected = 1 + 4 + 4 + 3 + 2 * 3 + 2 + 2 + 2 * 2 + 2 * 3
    assert model.n_parameters_ == expected
    assert textbook(families=families, prior="uniform").fit(table, np.arange(40) % 2).n_parameters_ == expected - 1


def test_the_criteria():
    random = np.random.default_rng(11)
    y = np.arange(300) % 2
    same, different = random.normal(y, 1.0), random.normal(y, 1.0 + 2.0 * y)
    for values, ties in ((same, "feature"), (different, "none")):
        fits = {
            option: textbook(families=Gaussian(ties=option)).fit(values[:, None], y) for option in ("none", "feature")
        }
        assert min(fits, key=lambda option: fits[option].bic_) == ties
        model = fits["none"]
        assert model.aic_ == 2 * 5 - 2 * model.log_likelihood_
        assert model.bic_ == pytest.approx(5 * math.log(300) - 2 * model.log_likelihood_, rel=1e-15)


@pytest.mark.parametrize(
    "call",
    [
        lambda: discrete_parameter_counts(0, [2]),
        lambda: discrete_parameter_counts(2, [0]),
        lambda: gaussian_parameter_count(2, 3, "column"),
    ],
)
def test_bad_sizes_are_refused(call):
    with pytest.raises(ParameterError) as caught:
        call()
    assert isinstance(caught.value, NaivelyError)


# -- estimates of discrete columns ----------------------------------------------------------------------------------


def probabilities(smoothing, cells=("a", "a", "b"), values=("a", "b", "c")):
    model = textbook(families=Categorical(values), smoothing=smoothing).fit({"x": list(cells)}, [0] * len(cells))
    return [float(column[0]) for column in model.parameters()["x"]["probability"].values()]


def test_laplace_is_one_mode_and_another_mean():
    expected = [3 / 6, 2 / 6, 1 / 6]
    for rule in (Laplace(), Dirichlet(2.0, "map"), Dirichlet(1.0, "mean")):
        assert probabilities(rule) == pytest.approx(expected, rel=1e-15)
    assert probabilities(Jeffreys()) == pytest.approx(probabilities(Dirichlet(0.5, "mean")), rel=1e-15)
    with pytest.raises(ParameterError, match=r"at least 1 for the 'map' estimator.*use estimator='mean'"):
        Dirichlet(0.5, "map")


def test_the_mode_of_the_posterior():
    """``(c + beta - 1) / (n + sum of (beta - 1))``, the prior by value: sums to one, and none is more probable."""
    beta = {"a": 1.0, "b": 2.5, "c": 4.0}
    mode = np.array(probabilities(Dirichlet(beta)))
    assert mode.sum() == pytest.approx(1.0, rel=1e-15)
    power = np.array([2 + 0.0, 1 + 1.5, 0 + 3.0])
    assert mode == pytest.approx(power / power.sum(), rel=1e-15)
    other = np.random.default_rng(0).dirichlet([1, 1, 1], 200)
    assert (np.log(other) @ power < np.log(mode) @ power).all()


def test_a_prior_indexed_by_class_would_not_sum_to_one():
    beta_of_class = {"x": 1.3, "y": 3.0}
    counts, n = np.array([5.0, 2.0, 1.0]), 8.0
    wrong = (counts + beta_of_class["x"] - 1) / (n + sum(value - 1 for value in beta_of_class.values()))
    assert abs(wrong.sum() - 1) > 0.01


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.floats(1, 9), st.floats(1, 9))
def test_beta_is_dirichlet_of_two(tosses, b1, b0):
    def probability(rule, family="bernoulli"):
        model = textbook(families=family, smoothing=rule).fit([[toss] for toss in tosses], ["coin"] * len(tosses))
        found = model.parameters()["x0"]["probability"]
        return float(found[True][0] if family != "bernoulli" else found[0])

    yes, n = sum(tosses), len(tosses)
    mean = (yes + b1) / (n + b1 + b0)
    assert probability(Beta(b1, b0, "mean")) == pytest.approx(mean, rel=1e-14)
    assert probability(Beta(b1, b0, "mean"), Categorical([False, True])) == pytest.approx(mean, rel=1e-14)
    mode = (yes + b1 - 1) / (n + b1 + b0 - 2)
    assert probability(Beta(b1, b0)) == pytest.approx(mode, rel=1e-12)
    assert probability(Dirichlet({False: b0, True: b1})) == pytest.approx(mode, rel=1e-12)


def test_a_dirichlet_prior_on_the_classes():
    X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b"]
    model = textbook(prior_smoothing=Dirichlet({"a": 1.0, "b": 3.0})).fit(X, y)
    assert model.class_prior_ == pytest.approx([3 / 6, 3 / 6])
    assert textbook(prior_smoothing=Beta(3, 1)).fit(X, y).class_prior_ == pytest.approx([3 / 6, 3 / 6])
    assert textbook(prior_smoothing=Beta(1, 1, "mean")).fit(X, y).class_prior_ == pytest.approx([4 / 6, 2 / 6])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beta(0.5, 2), "at least 1 for the 'map' estimator"),
        (lambda: Beta(-1, 2, "mean"), r"Beta\(b1\).*at least 0"),
        (lambda: Beta(2, "x"), r"Beta\(b0\)"),
        (lambda: Beta(2, 2, "median"), "estimator"),
        (lambda: probabilities(Beta(2, 2)), "two values, but here are 3: \\['a', 'b', 'c'\\]. Use Dirichlet"),
    ],
)
def test_a_bad_beta_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_beta_goes_through_a_model_file(tmp_path):
    from naively import load

    model = textbook(families="bernoulli", smoothing=Beta(3, 2)).fit([[0], [1], [1]], ["a", "a", "b"])
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").smoothing == Beta(3, 2)


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
def test_a_constant_column_has_no_parameters(family):
    """It says nothing, so nothing of it was chosen: neither the likelihood nor its price knows the column."""
    X, y = np.array([[1.0, 3.0], [2.0, 3.0], [4.0, 3.0], [7.0, 3.0]]), [0, 0, 1, 1]
    with_it, without = (NaiveBayes("textbook", families=family).fit(part, y) for part in (X, X[:, :1]))
    assert with_it.n_parameters_ == without.n_parameters_ == 1 + 4
    assert with_it.aic_ == pytest.approx(without.aic_)


@pytest.mark.parametrize(
    "family",
    [*(Gaussian(ties=ties) for ties in ("none", "feature", "class", "all")), StudentT(), StudentT(pooled=True)],
)
def test_only_constant_columns_leave_the_prior(family):
    model = NaiveBayes("textbook", families=family).fit([[3.0], [3.0], [3.0]], [0, 0, 1])
    assert model.n_parameters_ == 1
