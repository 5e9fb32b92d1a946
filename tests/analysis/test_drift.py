"""Drift: what moved between two models is named, what did not is not."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array

from naively import NaiveBayes
from naively.analysis.drift import check, compare, since
from naively.errors import ForgetError, NaivelyWarning, ParameterError
from naively.families import Complement, Gaussian, Multinomial, Text
from naively.families._gaussian import GaussianEstimate
from naively.statistics._divergence import by_chance, compare_cells, divergence, normal_divergence, poisson_divergences
from naively.statistics.base import Summary

RECIPES = ("textbook", "fast")
FIELDS = ["column", "class", "bits", "expected", "p_value", "p_adjusted", "rows_before", "rows_after"]


def table(seed, n_rows, moved=None):
    """Mixed columns, of which one may have moved."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    columns = {
        "normal": rng.normal(y),
        "skewed": rng.exponential(1 + y),
        "whole": rng.poisson(2, n_rows).astype(float),
        "label": rng.choice(list("abcdef"), n_rows, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]),
        "gappy": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
    }
    if moved == "normal":
        columns["normal"] = columns["normal"] + 0.5
    elif moved == "skewed":
        columns["skewed"] = columns["skewed"] * 2
    elif moved == "label":
        columns["label"] = np.where(rng.random(n_rows) < 0.2, "f", columns["label"])
    elif moved == "gappy":
        columns["gappy"] = np.where(rng.random(n_rows) < 0.2, np.nan, columns["gappy"])
    elif moved == "prior":
        kept = rng.random(n_rows) < np.where(y == 1, 0.5, 1.0)
        columns, y = {name: cells[kept] for name, cells in columns.items()}, y[kept]
    return pd.DataFrame(columns), y


def significant(found):
    return {change["column"] for change in found if change["p_adjusted"] < 0.05}


@pytest.mark.parametrize("moved", ["normal", "skewed", "label", "gappy", "prior"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_moved_column_is_named_and_no_other(recipe, moved):
    for seed in range(3):
        before = NaiveBayes(recipe).fit(*table(seed, 1500))
        found = compare(before, NaiveBayes(recipe).fit(*table(100 + seed, 1500, moved)))
        assert significant(found) == {moved}
        assert found[0]["column"] == moved
        assert found[0]["bits"] > 3 * found[0]["expected"]


@pytest.mark.parametrize("n_rows", [(40, 40), (600, 600), (1500, 150)], ids=str)
@pytest.mark.parametrize("recipe", RECIPES)
def test_nothing_is_named_where_nothing_moved(recipe, n_rows):
    alarms, p_values = 0, []
    n_seeds = 60
    for seed in range(n_seeds):
        models = [NaiveBayes(recipe).fit(*table([seed, side], n_rows[side])) for side in (0, 1)]
        found = compare(*models)
        alarms += bool(significant(found))
        p_values += [change["p_value"] for change in found]
    assert alarms <= stats.binom.ppf(0.999, n_seeds, 0.05)
    assert np.mean(np.array(p_values) < 0.05) < 0.07


def test_divergence_by_chance_is_about_as_large_as_expected():
    ratios = {}
    for seed in range(60):
        models = [NaiveBayes("fast").fit(*table([seed, side], 800)) for side in (0, 1)]
        for change in compare(*models):
            ratios.setdefault(change["column"], []).append(change["bits"] / change["expected"])
    for column, values in ratios.items():
        assert 0.75 < np.mean(values) < 1.35, column


def test_records_are_sorted_and_make_a_table():
    found = compare(*(NaiveBayes("fast").fit(*table(seed, 300)) for seed in (0, 1)))
    frame = pd.DataFrame(found)
    assert frame.columns.tolist() == FIELDS
    assert len(frame) == 1 + 5 * 2
    assert frame["p_value"].is_monotonic_increasing
    assert frame["p_adjusted"].is_monotonic_increasing
    assert (frame["p_adjusted"] >= frame["p_value"]).all()
    assert frame["bits"].between(0, 1).all()
    prior = frame[frame["column"] == "prior"].iloc[0]
    assert prior["rows_before"] == prior["rows_after"] == 300
    assert set(frame["class"].dropna()) == {0, 1}


def test_equal_models_do_not_differ():
    model = NaiveBayes("fast").fit(*table(0, 300))
    assert all(change["bits"] == 0 and change["p_value"] == 1 for change in compare(model, model))


def test_it_does_not_matter_which_is_first():
    models = [NaiveBayes("textbook").fit(*table(seed, 300)) for seed in (0, 1)]
    there, back = compare(*models), compare(*models[::-1])
    for one, other in zip(there, back, strict=True):
        assert one["p_value"] == pytest.approx(other["p_value"])
        assert one["bits"] == pytest.approx(other["bits"])


@pytest.mark.parametrize("recipe", RECIPES)
def test_models_that_share_only_some_columns_and_classes(recipe):
    X, y = table(0, 400)
    one = NaiveBayes(recipe).fit(X[["normal", "label", "gappy"]], np.where(y == 0, "a", "b"))
    other_X = X[["label", "gappy", "skewed"]].rename(columns={"skewed": "normal"}).astype({"normal": str})
    other = NaiveBayes(recipe).fit(other_X, np.where(y == 0, "b", "c"))
    found = compare(one, other)
    assert {(change["column"], change["class"]) for change in found} == {
        ("prior", None),
        ("label", "b"),
        ("gappy", "b"),
    }
    assert found[0]["column"] == "prior"
    nothing = NaiveBayes(recipe).fit(X[["whole"]], y)
    assert [change["column"] for change in compare(one, nothing)] == ["prior"]


def test_a_column_that_goes_missing_has_moved():
    X, y = table(0, 400)
    gone = X.assign(normal=np.nan)
    for recipe in RECIPES:
        before = NaiveBayes(recipe).fit(X, y)
        after = NaiveBayes(recipe).fit(X[:4], y[:4]).partial_fit(gone[4:], y[4:])
        assert significant(compare(before, after)) == {"normal"}


@pytest.mark.parametrize("family", ["poisson", "multinomial", "bernoulli"])
def test_other_families(family):
    alarms, n_seeds = 0, 40
    y = np.arange(1000) % 2
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        samples = [rng.poisson(rates, size=(1000, 3)) for rates in ([3.0, 1.0, 0.5], [3.0, 1.0, 0.5], [3.0, 1.0, 1.0])]
        first = NaiveBayes("textbook", families=family).fit(samples[0], y)
        found = compare(first, samples[2], y)
        assert {(change["column"], change["class"]) for change in found[:2]} == {("x2", 0), ("x2", 1)}
        assert found[1]["p_adjusted"] < 1e-3
        alarms += bool(significant(compare(first, samples[1], y)))
    assert alarms <= stats.binom.ppf(0.999, n_seeds, 0.05)


def bursts(rng, rates=(0.5,) * 6, n_rows=400):
    """Counts of words: a text that has one of them has many."""
    return rng.poisson(8, size=(n_rows, len(rates))) * (rng.random((n_rows, len(rates))) < np.array(rates) / 8)


@pytest.mark.parametrize("family", [Multinomial(), Complement(), Multinomial(squares=True)], ids=str)
def test_words_that_come_in_bursts_are_no_drift(family):
    rng, y, n_seeds = np.random.default_rng(0), np.arange(400) % 2, 40
    alarms = np.zeros(2)
    for _ in range(n_seeds):
        model = NaiveBayes("textbook", families=family).fit(bursts(rng), y)
        after = bursts(rng)
        other = NaiveBayes("textbook", families=family).fit(after, y) if family == Multinomial(squares=True) else after
        found = compare(model, other) if other is not after else compare(model, after, y)
        alarms += bool(significant(found)), check(model, after)[0]["p_adjusted"] < 0.05
    assert (alarms <= stats.binom.ppf(0.999, n_seeds, 0.05)).all()


@pytest.mark.parametrize("family", ["multinomial", "complement"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_word_that_comes_more_often_is_named(family, form):
    rng, y = np.random.default_rng(0), np.arange(400) % 2
    model = NaiveBayes("textbook", families=family).fit(form(bursts(rng)), y)
    after = form(bursts(rng, (0.5, 0.5, 2.5, 0.5, 0.5, 0.5)))
    assert significant(compare(model, after, y)) == {"x2"}
    assert significant(check(model, after)) - {"mixture of classes"} == {"x2"}


def test_sums_of_counts_alone_are_not_tested():
    rng, y = np.random.default_rng(0), np.arange(400) % 2
    models = [NaiveBayes("textbook", families="multinomial").fit(bursts(rng), y) for _ in range(2)]
    with pytest.warns(NaivelyWarning, match=r"'x0', 'x1'.*not tested.*Multinomial\(squares=True\)"):
        found = compare(*models)
    assert found[0]["column"] == "prior"
    assert found[0]["p_adjusted"] == found[0]["p_value"] == 1.0
    assert all(np.isnan(change["p_value"]) and np.isnan(change["p_adjusted"]) for change in found[1:])


def test_constant_columns_and_single_rows():
    model = NaiveBayes("textbook").fit([[1.0, 2.0]] * 5, [0] * 5)
    same = compare(model, NaiveBayes("textbook").fit([[1.0, 3.0]] * 9, [0] * 9))
    assert (same[0]["column"], same[0]["p_value"]) == ("x1", 0.0)
    assert same[0]["bits"] == pytest.approx(1.0)
    assert all(change["bits"] == 0 for change in same if change["column"] == "x0")
    tiny = compare(NaiveBayes("textbook").fit([[1.0]], [0]), NaiveBayes("textbook").fit([[5.0]], [0]))
    assert all(change["p_value"] == 1 for change in tiny)


def test_since_is_what_was_learnt_in_between():
    X, y = table(0, 300)
    X[["normal", "skewed", "gappy"]] = (4 * X[["normal", "skewed", "gappy"]]).round() / 4  # whose sums are exact
    for recipe in ("textbook", "fast", "auto"):
        earlier = NaiveBayes(recipe).fit(X[:200], y[:200])
        now = NaiveBayes(recipe).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
        between = since(now, earlier)
        assert between.statistics_ == NaiveBayes(recipe).fit(X[200:], y[200:]).statistics_
        assert now.class_count_.sum() == 300
        assert between.get_params() == now.get_params()
    assert since(now, now).class_count_.sum() == 0
    assert [change["column"] for change in compare(now, since(now, now))] == ["prior"]
    with pytest.raises(ForgetError):
        since(earlier, now)


def test_since_finds_what_the_whole_model_hides():
    earlier = NaiveBayes("fast").fit(*table(0, 3000))
    now = NaiveBayes("fast").fit(*table(0, 3000)).partial_fit(*table(1, 300, "normal"))
    assert significant(compare(earlier, since(now, earlier))) == {"normal"}


# -- divergences ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "deviation"), [((0, 1), (1, 1)), ((0, 0), (1, 3)), ((0, 8), (1, 1)), ((2, 1), (0.3, 1))]
)
def test_the_divergence_of_normal_distributions(mean, deviation):
    x = np.linspace(-15, 25, 40001)
    p, q = (stats.norm.pdf(x, *parameters) for parameters in zip(mean, deviation, strict=True))
    expected = float(divergence(p, q)) * (x[1] - x[0])
    actual = normal_divergence(np.array(mean, float), np.square(deviation), np.zeros(2))
    assert float(actual) == pytest.approx(expected, abs=2e-3)


def test_missing_cells_are_a_value_of_their_own():
    same = np.zeros(2), np.ones(2)
    assert float(normal_divergence(*same, np.array([0.0, 1.0]))) == pytest.approx(1.0)
    assert float(normal_divergence(*same, np.array([1.0, 1.0]))) == pytest.approx(0.0)
    expected = float(divergence(np.array([0.9, 0.1]), np.array([0.6, 0.4])))
    assert float(normal_divergence(*same, np.array([0.1, 0.4]))) == pytest.approx(expected, abs=1e-12)
    assert float(poisson_divergences(np.full(2, 2.0), np.array([0.1, 0.4]))) == pytest.approx(expected, abs=1e-9)


def test_large_rates_are_nearly_normal():
    below, above = poisson_divergences(np.array([[9900.0, 10001.0], [9990.0, 10091.0]]), np.zeros((2, 2)))
    assert below == pytest.approx(above, rel=0.05)


def test_the_chi_square_test_is_scipys():
    counts = np.array([[30.0, 50.0, 20.0], [25.0, 40.0, 35.0]])
    change = compare_cells(counts)
    assert float(change.p_value) == pytest.approx(stats.chi2_contingency(counts).pvalue)
    assert float(change.expected) == pytest.approx(float(by_chance(2, np.array([100.0, 100.0]))))


def test_rare_values_are_taken_together():
    common = np.array([[40.0, 60.0], [45.0, 55.0]])
    rare = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 2.0]])  # 11 in all: enough for one more cell, not for three
    together = compare_cells(np.concatenate([common, rare], axis=1))
    expected = compare_cells(np.concatenate([common, rare.sum(axis=1, keepdims=True)], axis=1))
    assert together == expected
    single = compare_cells(np.concatenate([common, [[1.0], [0.0]]], axis=1))
    assert single == compare_cells(common + np.array([[0.0, 1.0], [0.0, 0.0]]))


def test_texts_without_a_single_token_have_not_changed():
    model = NaiveBayes("textbook", families=Text()).fit({"x": ["", "", "", ""]}, [0, 1, 0, 1])
    changes = compare(model, model)
    assert [change["column"] for change in changes] == ["prior", "x", "x"]
    assert all(change["bits"] == 0.0 and change["p_value"] == 1.0 for change in changes)


@dataclass(frozen=True)
class OfUnitVariance(Gaussian):
    """A density that needs no squares."""

    @property
    def summaries(self):
        return (Summary("moments"),)

    def estimate(self, moments, *, smoothing):
        mean = moments.total.high / moments.observed.high
        return GaussianEstimate(mean, np.ones_like(mean))


class AsRates(OfUnitVariance):
    @property
    def summaries(self):
        return (Summary("moments", squares=True),)

    def compare(self, before, after, summary, rows):
        return before.compare_rates(after, rows)


def two_samples(family):
    """Models of two samples of one distribution, whose variance is 16 times its mean."""
    X, y = np.random.default_rng(0).normal(100, 40, size=(400, 1)).round().clip(0), np.arange(400) % 2
    return [NaiveBayes("textbook", families=family).fit(X[half::2], y[::2]) for half in range(2)]


def test_a_family_that_keeps_no_squares_is_not_taken_for_numbers_of_events():
    with pytest.raises(ParameterError, match=r"'x0' cannot be compared: OfUnitVariance.*squares"):
        compare(*two_samples(OfUnitVariance()))


def test_a_family_says_how_it_is_compared():
    assert compare(*two_samples(AsRates())) == compare(*two_samples("poisson"))


HEAVY = {
    "lognormal": lambda rng: rng.lognormal(sigma=1.5, size=(300, 4)),
    "t with 3 degrees of freedom": lambda rng: rng.standard_t(3, size=(300, 4)),
    "95 % zeros": lambda rng: rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.05),
}


@pytest.mark.parametrize("kind", [*HEAVY, "counts that vary more than Poisson's"])
def test_heavy_tails_are_no_drift(kind):
    rng = np.random.default_rng(0)
    families = None if kind in HEAVY else "poisson"
    draw = HEAVY.get(kind, lambda rng: rng.poisson(rng.gamma(0.5, 4, size=(300, 4))))
    y = np.arange(300) % 2
    alarms = 0
    for _ in range(40):
        before, after = (NaiveBayes("textbook", families=families).fit(draw(rng), y) for _ in range(2))
        alarms += compare(before, after)[0]["p_adjusted"] < 0.05
    assert alarms <= 5


def test_counts_that_move_are_found():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    before, after = (
        NaiveBayes("textbook", families="poisson").fit(rng.poisson(rate, size=(600, 2)), y) for rate in (2.0, 2.6)
    )
    assert compare(before, after)[0]["p_adjusted"] < 1e-4
