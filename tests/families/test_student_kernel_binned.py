"""StudentT, Kernel and Binned: honest densities, cuts as published, the laws, refusals."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from naively import NaiveBayes, load
from naively.errors import ParameterError
from naively.families import Binned, Categorical, Gaussian, Kernel, Stacked, StudentT
from naively.smoothing import MEstimate, NoSmoothing
from naively.statistics._histogram import Histogram
from tests.kernels.both import on_both

FAMILIES = [
    StudentT(),
    StudentT(pooled=True),
    Kernel(),
    Kernel(0.5, adjust=2.0),
    Kernel(scores=True),
    Binned(),
    Binned("mdl"),
    Binned(4),
]


def iris_like(n=150, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    X = np.column_stack([np.round(random.normal(5 + y, 0.8), 1), random.gamma(2.0 + y, 0.5), random.normal(size=n)])
    return X, y


def textbook(family, X, y, weights=None, **parameters):
    return NaiveBayes("textbook", families=family, **parameters).fit(X, y, weights)


# -- Student's t ----------------------------------------------------------------------------------------------------


def test_student_is_the_predictive_of_a_normal_inverse_gamma_prior():
    X, y = iris_like()
    model = textbook(StudentT(prior_rows=0.3, prior_shape=2.0), X, y)
    within = sum(((X[y == code] - X[y == code].mean(axis=0)) ** 2).sum(axis=0) for code in range(3)) / (len(X) - 3)
    evidence = model.evidence(X)
    for code in range(3):
        rows = X[y == code]
        n, mean, scatter = len(rows), rows.mean(axis=0), ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
        k, a = 0.3 + n, 2.0 + n / 2
        b = 2.0 * within + scatter / 2 + 0.3 * n * (mean - X.mean(axis=0)) ** 2 / (2 * k)
        location = (0.3 * X.mean(axis=0) + n * mean) / k
        expected = stats.t.logpdf(X, 2 * a, location, np.sqrt(b * (k + 1) / (a * k)))
        np.testing.assert_allclose(evidence[:, :, code], expected, rtol=1e-10, atol=1e-12)


def test_the_student_of_stacked_is_the_same():
    X, y = iris_like()
    for pooled, name in ((False, "t"), (True, "pool")):
        stacked = textbook(Stacked((name,)), X, y).predict_log_proba(X)
        np.testing.assert_allclose(textbook(StudentT(pooled), X, y).predict_log_proba(X), stacked, rtol=1e-4, atol=1e-4)


def test_a_pooled_variance_is_shared():
    X, y = iris_like()
    described = textbook(StudentT(pooled=True), X, y).parameters()["x1"]
    n = np.bincount(y)
    shared = described["scale"] ** 2 / (1 + 1 / (n + 0.1))
    np.testing.assert_allclose(shared, shared[0])
    assert described["freedom"].tolist() == [147.0] * 3


def test_student_approaches_the_normal_density():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200_000, 1)), np.repeat([0, 1], 100_000)
    grid = np.linspace(-3, 3, 13)[:, None]
    gap = textbook(StudentT(), X, y).evidence(grid) - textbook(Gaussian(), X, y).evidence(grid)
    assert np.abs(gap).max() < 1e-3


@pytest.mark.parametrize("family", [StudentT(), StudentT(pooled=True), Kernel(), Binned(), Binned("mdl")], ids=repr)
def test_a_constant_column_and_an_empty_one_say_nothing(family):
    table = {"x": [0.1, 0.1, 0.1, 0.1], "y": [np.nan] * 4, "z": [1.0, 2.0, 3.0, 4.0]}
    model = textbook(family, table, ["a", "a", "b", "c"])
    evidence = model.evidence({"x": [0.1, 7.0], "y": [1.0, 2.0], "z": [1.0, 2.0]})
    assert np.ptp(evidence[:, :2], axis=2).max() == 0.0


# -- densities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family", [f for f in FAMILIES if isinstance(f, (StudentT, Kernel)) and not getattr(f, "scores", False)], ids=repr
)
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
def test_densities_integrate_to_one(family, unit):
    X, y = iris_like()
    if isinstance(family, Kernel) and family.bandwidth != "silverman":
        family = Kernel(family.bandwidth * unit, family.adjust)
    model = textbook(family, X * unit, y)
    for column in range(3):
        middle, spread = X[:, column].mean(), X[:, column].std()
        reach = 60 if isinstance(family, StudentT) else 9
        grid = np.linspace(middle - reach * spread, middle + reach * spread, 40_001) * unit
        cells = np.full((len(grid), 3), np.nan)
        cells[:, column] = grid
        density = np.exp(model.evidence(cells)[:, column])
        np.testing.assert_allclose(np.trapezoid(density, grid, axis=0), 1.0, atol=2e-3)


@pytest.mark.parametrize("bandwidth", [0.3, 3.0])
def test_kernels_are_bells_on_the_values_and_one_row_of_all_classes(bandwidth):
    X, y = iris_like(60)
    grid = np.linspace(3, 8, 41)
    actual = np.exp(textbook(Kernel(bandwidth), X[:, :1], y).evidence(grid[:, None])[:, 0])
    pooled = stats.norm.pdf(grid[:, None], X[:, 0], 2 * bandwidth).mean(axis=1)
    for code in range(3):
        own = stats.norm.pdf(grid[:, None], X[y == code, 0], bandwidth)
        expected = (own.sum(axis=1) + pooled) / (own.shape[1] + 1)
        np.testing.assert_allclose(actual[:, code], expected, rtol=2e-3)


def test_adjust_multiplies_the_bandwidth():
    X, y = iris_like()
    np.testing.assert_array_equal(
        textbook(Kernel(0.2, adjust=3.0), X, y).evidence(X), textbook(Kernel(0.2 * 3.0), X, y).evidence(X)
    )
    assert np.ptp(textbook(Kernel(adjust=10.0), X, y).evidence(X)) < np.ptp(textbook(Kernel(), X, y).evidence(X))


def test_normal_scores_do_not_see_an_increasing_transformation():
    X, y = iris_like()
    first, second = textbook(Kernel(scores=True), X[:, 1:], y), textbook(Kernel(scores=True), np.exp(X[:, 1:]), y)
    np.testing.assert_allclose(first.evidence(X[:, 1:]), second.evidence(np.exp(X[:, 1:])), rtol=1e-9)


def test_the_scale_of_a_kernel_column_moves_log_densities_by_its_logarithm():
    X, y = iris_like()
    for power in (10, 400, -400):
        gap = textbook(Kernel(), X, y).evidence(X) - textbook(Kernel(), np.ldexp(X, power), y).evidence(
            np.ldexp(X, power)
        )
        np.testing.assert_allclose(gap, power * np.log(2), rtol=1e-6)


# -- bins -----------------------------------------------------------------------------------------------------------


def plain_mdl(x, y):
    """Fayyad and Irani's cuts, as in the paper: one interval at a time."""

    def entropy(labels):
        share = np.unique(labels, return_counts=True)[1] / len(labels)
        return -(share * np.log2(share)).sum()

    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    places = np.flatnonzero(np.diff(x) > 0) + 1
    if not len(places):
        return []
    after = [(place * entropy(y[:place]) + (len(y) - place) * entropy(y[place:])) / len(y) for place in places]
    best = places[int(np.argmin(after))]
    left, right = y[:best], y[best:]
    classes = [len(np.unique(part)) for part in (y, left, right)]
    told = classes[0] * entropy(y) - classes[1] * entropy(left) - classes[2] * entropy(right)
    needed = (np.log2(len(y) - 1) + np.log2(3 ** classes[0] - 2) - told) / len(y)
    if entropy(y) - min(after) <= needed:
        return []
    cut = (x[best - 1] + x[best]) / 2
    return [*plain_mdl(x[:best], left), cut, *plain_mdl(x[best:], right)]


@pytest.mark.parametrize("seed", range(5))
def test_mdl_cuts_are_those_of_the_paper(seed):
    X, y = iris_like(seed=seed)
    described = textbook(Binned("mdl"), X, y).parameters()
    found = 0
    for column in range(3):
        expected = plain_mdl(X[:, column], y)
        np.testing.assert_allclose(described[f"x{column}"]["cuts"], expected, rtol=1e-12)
        found += len(expected)
    assert found >= 2


def test_mdl_takes_many_classes():
    y = np.repeat(np.arange(700), 8)
    assert len(textbook(Binned("mdl"), y[:, None] + 0.5, y).parameters()["x0"]["cuts"]) > 0


@pytest.mark.parametrize("bins", [3, 7])
def test_bins_have_about_equal_weight(bins):
    x = np.random.default_rng(0).normal(size=700)
    model = textbook(Binned(bins), x[:, None], np.repeat([0, 1], 350))
    cuts = model.parameters()["x0"]["cuts"]
    counts = np.bincount(np.searchsorted(cuts, x, side="right"))
    assert len(cuts) == bins - 1
    np.testing.assert_allclose(counts, 700 / bins, atol=1)


def test_pkid_has_as_many_bins_as_rows_in_each():
    x = np.random.default_rng(0).normal(size=400)
    assert len(textbook(Binned(), x[:, None], np.repeat([0, 1], 200)).parameters()["x0"]["cuts"]) == 19


def test_bins_are_smoothed_like_categories():
    X, y = iris_like()
    for smoothing in (1.0, MEstimate(2.0, "marginal"), NoSmoothing()):
        model = textbook(Binned(5), X, y, smoothing=smoothing)
        codes = np.column_stack(
            [np.searchsorted(model.parameters()[f"x{i}"]["cuts"], X[:, i], side="right") for i in range(3)]
        )
        same = textbook(Categorical(), codes, y, smoothing=smoothing)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(
                model.predict_log_proba(X), same.predict_log_proba(codes), rtol=1e-12, atol=1e-12
            )


def test_a_bin_begins_at_its_cut():
    model = textbook(Binned("mdl"), [[float(i)] for i in range(8)], [0] * 4 + [1] * 4)
    assert model.parameters()["x0"]["cuts"].tolist() == [3.5]
    below, at = model.predict([[np.nextafter(3.5, 0)], [3.5]])
    assert (below, at) == (0, 1)


def test_neighbouring_floats_are_told_apart():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    X = np.repeat([[low], [high]], 20, axis=0)
    assert textbook(Binned("mdl"), X, np.repeat([0, 1], 20)).predict([[low], [high]]).tolist() == [0, 1]


def test_no_value_is_counted_in_one_bin_and_read_in_another():
    x = np.random.default_rng(0).lognormal(0, 3, 20_000)
    histogram = Histogram.of(x, np.zeros(len(x), np.int64), 1)
    assert histogram.level > 0
    cells = np.arange(1, len(histogram.keys))
    np.testing.assert_array_equal(np.searchsorted(histogram.cuts_before(cells), x, side="right"), histogram.cell_of(x))


# -- laws -----------------------------------------------------------------------------------------------------------


def with_holes(X, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_chunks_merges_and_forgetting(family):
    X, y = iris_like()
    X = with_holes(X)
    whole = textbook(family, X, y)
    chunked = NaiveBayes("textbook", families=family)
    for start in range(0, 150, 40):
        chunked.partial_fit(X[start : start + 40], y[start : start + 40])
    merged = textbook(family, X[90:], y[90:]) + textbook(family, X[:90], y[:90])
    forgotten = textbook(family, np.vstack([X, X[:50] + 1]), np.append(y, y[:50])).forget(X[:50] + 1, y[:50])
    for other in (chunked, merged, forgotten):
        np.testing.assert_allclose(other.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_missing_cell_says_nothing(family):
    X, y = iris_like()
    X = with_holes(X)
    model = textbook(family, X, y)
    evidence = model.evidence(X)
    assert (evidence[np.isnan(X)] == 0).all()
    assert np.isfinite(evidence).all()
    np.testing.assert_allclose(
        model.predict_joint_log_proba(X), np.log(model.class_prior_) + evidence.sum(axis=1), rtol=1e-10
    )


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_a_weight_is_so_many_repetitions(family):
    X, y = iris_like(60)
    weights = np.random.default_rng(2).integers(1, 5, 60)
    weighted = textbook(family, X, y, weights)
    repeated = textbook(family, np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_classes_and_columns_are_matched_by_label(family):
    X, y = iris_like()
    frame = pd.DataFrame(X, columns=list("abc"))
    model = textbook(family, frame, np.array(["x", "y", "z"])[y])
    other = textbook(family, frame[list("cab")], np.array(["z", "y", "x"])[y])
    np.testing.assert_allclose(
        model.predict_log_proba(frame), other.predict_log_proba(frame[list("cab")])[:, ::-1], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_saving_and_loading(family, tmp_path):
    X, y = iris_like()
    model = textbook(family, X, y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.families == family
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_the_compiled_kernels_agree(family):
    X, y = iris_like()
    X = with_holes(X)
    model = textbook(family, X, y)
    first, second = on_both(lambda: copy.deepcopy(model).predict_joint_log_proba(X))
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_no_size_of_numbers_breaks_a_probability(family, size):
    X, y = iris_like(40)
    model = textbook(family, X * size, y)
    query = np.array([[0.0] * 3, [1e300] * 3, [-1e300] * 3, [1e-300] * 3, [size] * 3])
    for proba in on_both(lambda: model.predict_proba(query)):
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_families_mix_by_name_and_by_column():
    X, y = iris_like()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(y == 0, "low", "high"), e=X[:, 0])
    families = {"a": "studentt", "b": "kernel", "c": "binned", "e": "gaussian"}
    model = textbook(families, frame, y)
    assert [column["family"] for column in model.parameters().values()] == [
        StudentT(), Kernel(), Binned(), Categorical(), Gaussian(),
    ]  # fmt: skip
    assert model.score(frame, y) > 0.6


def test_the_family_can_be_changed_after_fitting():
    X, y = iris_like()
    model = textbook(Stacked(), X, y)
    for family in ("kernel", "binned", Binned("mdl"), "studentt", "gaussian"):
        model.set_params(families=family)
        np.testing.assert_array_equal(model.predict_proba(X), textbook(family, X, y).predict_proba(X))


# -- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: StudentT(pooled="yes"),
        lambda: StudentT(prior_rows=0),
        lambda: StudentT(prior_rows=-1.0),
        lambda: StudentT(prior_shape=0.0),
        lambda: StudentT(prior_shape=np.inf),
        lambda: StudentT(floor=-1e-3),
        lambda: StudentT(floor="low"),
        lambda: Kernel("scott"),
        lambda: Kernel(0.0),
        lambda: Kernel(-1.0),
        lambda: Kernel(np.nan),
        lambda: Kernel(None),
        lambda: Kernel(adjust=0),
        lambda: Kernel(adjust="wide"),
        lambda: Kernel(scores=1),
        lambda: Binned("fine"),
        lambda: Binned(1),
        lambda: Binned(2.5),
        lambda: Binned(True),
        lambda: Binned(None),
    ],
)
def test_bad_options_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_far_from_all_values_the_background_of_a_kernel_density_is_one_row_of_each_class():
    x = np.r_[np.linspace(-1, 1, 10), np.linspace(8, 12, 200)][:, None]
    model = NaiveBayes("textbook", families="kernel", prior="uniform").fit(x, [0] * 10 + [1] * 200)
    far = model.predict_proba([[14.0], [1e6]])
    np.testing.assert_allclose(far[:, 0] / far[:, 1], 201 / 11, rtol=0.05)
