"""Pictures: they show the numbers that the model gives, for all recipes and families, and return their Axes."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from naively import TAN, NaiveBayes, drift
from naively._scoring.calibration import calibration
from naively._table.read import read_table
from naively.demo import penguins
from naively.errors import ParameterError, RecipeError
from naively.families import (
    Bernoulli,
    Binned,
    Gaussian,
    Joint,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Text,
)
from naively.plots import (
    plot_bayes_error,
    plot_confusion,
    plot_copies,
    plot_decision_surface,
    plot_densities,
    plot_drift,
    plot_effect,
    plot_evidence,
    plot_images,
    plot_importance,
    plot_model,
    plot_nomogram,
    plot_outliers,
    plot_precision_recall,
    plot_prior,
    plot_reliability,
    plot_roc,
    plot_smoothing,
    plot_ties,
    plot_words,
)
from tests.models import textbook

matplotlib.use("Agg")
X, Y = load_iris(return_X_y=True)
TWO = Y > 0
ROWS, SPECIES = penguins()


def drawn(axes):
    """Everything must also survive being drawn."""
    axes.figure.canvas.draw()
    return axes


def boundary(ax):
    """The vertices of the boundary between two classes."""
    (lines,) = [one for one in ax.collections if len(one.get_edgecolor()) and one.get_linewidth()[0] == 0.8][:1]
    return np.concatenate([path.vertices for path in lines.get_paths()])


# -- Decision surfaces ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_the_boundary_is_where_two_classes_are_equally_probable():
    model = textbook().fit(X[TWO], Y[TWO])
    ax = drawn(plot_decision_surface(model, X[TWO], Y[TWO], columns=(1, 3)))
    cells = np.full((len(boundary(ax)), 4), np.nan)
    cells[:, [1, 3]] = boundary(ax)
    assert np.abs(model.predict_proba(cells)[:, 0] - 0.5).max() < 0.05
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2"]


@pytest.mark.parametrize(("place", "straight"), [(0, False), (1, True), (2, False), (3, True)])
def test_boundaries_are_straight_if_and_only_if_variances_do_not_depend_on_the_class(place, straight):
    axes = plot_ties(X[TWO][:, :2], Y[TWO])
    ax = drawn(np.ravel(axes)[place])
    points = boundary(ax) - boundary(ax).mean(axis=0)
    thickness = np.linalg.svd(points, compute_uv=False)[1] / np.linalg.svd(points, compute_uv=False)[0]
    assert (thickness < 0.005) == straight
    assert ("straight" in ax.get_title()) == straight


def test_numbers_in_bins_have_a_surface():
    drawn(plot_decision_surface(TAN().fit(X[:, :2], Y), X[:, :2], Y))


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_every_recipe_has_a_surface(recipe):
    model = NaiveBayes(recipe, kept_rows=200).fit(ROWS, SPECIES)
    known = [row for row in ROWS if row["bill_depth_mm"]]
    ax = plot_decision_surface(model, known, columns=("bill_length_mm", "bill_depth_mm"))
    assert drawn(ax).get_xlabel() == "bill_length_mm"
    assert ax.get_legend() is None


def test_the_axes_that_are_given_are_used():
    _, ax = pyplot.subplots()
    assert plot_decision_surface(textbook().fit(X, Y), X, Y, ax=ax) is ax


def test_a_class_that_never_wins_and_a_class_alone():
    lost = textbook(prior=[1.0, 0.0, 0.0]).fit(X, Y)
    drawn(plot_decision_surface(lost, X, Y))
    drawn(plot_decision_surface(textbook().fit(X[:50], Y[:50]), X[:50]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("island", "body_mass_g"), "'island' holds no numbers"),
        (("wings", "body_mass_g"), "names the column 'wings'"),
        (("body_mass_g",), "two names or positions"),
        ("xy", "two names or positions"),
    ],
)
def test_bad_columns(columns, message):
    with pytest.raises(ParameterError, match=message):
        plot_decision_surface(textbook().fit(ROWS, SPECIES), ROWS, columns=columns)


@pytest.mark.filterwarnings("ignore:X lacks the columns")
def test_rows_without_the_columns():
    model = textbook().fit(ROWS, SPECIES)
    with pytest.raises(ParameterError, match="X has no number in the column"):
        plot_decision_surface(model, {"island": ["Dream"]}, columns=("body_mass_g", "bill_depth_mm"))


# -- Densities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian(), StudentT(), Kernel()])
@pytest.mark.filterwarnings("ignore:The data deserve a look")
def test_curves_are_the_densities(family):
    model = textbook(families=family).fit(X, Y)
    ax = drawn(plot_densities(model, 2))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x2", "density")
    for code, line in enumerate(ax.get_lines()):
        cells = np.full((len(line.get_xdata()), 4), np.nan)
        cells[:, 2] = line.get_xdata()
        np.testing.assert_allclose(line.get_ydata(), np.exp(model.evidence(cells)[:, 2, code]), rtol=1e-10)
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.06)


def test_bins_are_steps():
    ax = drawn(plot_densities(textbook(families=Binned(4)).fit(X, Y), 0))
    assert len(set(ax.get_lines()[0].get_ydata())) == 4


@pytest.mark.parametrize(
    ("recipe", "family"), [("auto", None), ("fast", None), ("textbook", Stacked()), ("textbook", Kernel(scores=True))]
)
def test_where_the_evidence_is_no_density_the_expected_one_is_drawn_over_the_rows(recipe, family):
    ax = drawn(plot_densities(NaiveBayes(recipe, families=family).fit(X, Y), 0))
    assert ax.get_ylabel() == "density"
    assert len(ax.patches) == 3
    for line, rows in zip(ax.get_lines(), ax.patches, strict=True):
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.1)
        values, edges, _ = rows.get_data()
        assert (values * np.diff(edges)).sum() == pytest.approx(1)


@pytest.mark.parametrize("family", ["multinomial", "poisson"])
def test_counts_are_drawn_as_far_as_a_row_has_them_however_many_rows(family):
    counts = np.random.default_rng(0).poisson(3, (400, 2))
    ax = drawn(plot_densities(textbook(families=family).fit(counts, np.arange(400) % 2), 0))
    assert counts.max() / 2 < ax.get_xlim()[1] < 2 * counts.max()


def test_counts_that_share_a_total_have_evidence_in_nats():
    model = textbook(families=Multinomial()).fit(X, Y)
    ax = drawn(plot_densities(model, 0))
    assert ax.get_ylabel() == "evidence (nats)"
    line = ax.get_lines()[0]
    share = model.parameters()["x0"]["probability"][0]
    np.testing.assert_allclose(line.get_ydata(), line.get_xdata() * np.log(share), atol=1e-9)


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_bars_of_labels(recipe):
    model = NaiveBayes(recipe).fit(ROWS, SPECIES)
    ax = drawn(plot_densities(model, "island"))
    heights = np.array([[bar.get_height() for bar in bars] for bars in ax.containers])
    np.testing.assert_allclose(heights.sum(axis=1), 1)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["Biscoe", "Dream", "Torgersen"]
    if recipe == "textbook":
        expected = model.parameters()["island"]["probability"]
        np.testing.assert_allclose(heights, np.stack(list(expected.values()), axis=1))


def test_bars_of_counts_and_of_yes_and_no():
    counts = np.random.default_rng(0).poisson(4, (60, 2))
    model = textbook(families={0: Poisson(), 1: Bernoulli(3)}).fit(counts, np.arange(60) % 2)
    heights = [bar.get_height() for bar in drawn(plot_densities(model, 0)).containers[0]]
    assert sum(heights) == pytest.approx(1, abs=0.01)
    assert [tick.get_text() for tick in drawn(plot_densities(model, 1)).get_xticklabels()] == ["3", "4"]


def test_constant_columns_shares_and_unknown_columns():
    drawn(plot_densities(textbook().fit([[2.0], [2.0]], [0, 1])))
    drawn(plot_densities(textbook(families=Multinomial()).fit([[2, 1], [1, 3]], [0, 1])))
    model = textbook().fit({"size": [1.0, 2.0], "void": [None, None]}, [0, 1])
    with pytest.raises(ParameterError, match="Nothing is known of column 'void'"):
        plot_densities(model, "void")


# -- Images ---------------------------------------------------------------------------------------------------------


def test_images_are_the_means():
    digits = load_digits()
    model = textbook(families="gaussian").fit(digits.data, digits.target)
    axes = plot_images(model, (8, 8))
    assert len(axes) == 10
    expected = digits.data[digits.target == 3].mean(axis=0).reshape(8, 8)
    np.testing.assert_allclose(drawn(axes[3]).get_images()[0].get_array(), expected)
    assert len(plot_images(model, (8, 8), "variance")) == 10
    with pytest.raises(ParameterError, match="35 pixels; there are 64 columns"):
        plot_images(model, (5, 7))
    with pytest.raises(ParameterError, match="no parameter 'rate'"):
        plot_images(model, (8, 8), "rate")


# -- Reliability and evidence ---------------------------------------------------------------------------------------


def test_reliability_of_models_and_calibrations():
    auto = NaiveBayes("auto").fit(X, Y)
    plain = calibration(textbook().fit(X, Y).loo(X, Y), Y)
    ax = drawn(plot_reliability({"auto": auto, "textbook": plain}))
    assert f"textbook: calibration error {plain.ece:.3f}" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(ax.get_lines()) == 3
    known = auto.calibration_.reliability[:, 0] > 0
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), auto.calibration_.reliability[known, 2])
    drawn(plot_reliability(auto))
    with pytest.raises(RecipeError, match="calibration_"):
        plot_reliability(textbook().fit(X, Y))
    with pytest.raises(ParameterError, match="got str"):
        plot_reliability("auto")


@pytest.mark.parametrize("frame", [ROWS[:2], pd.DataFrame(ROWS[:2])])
def test_the_bars_of_evidence_add_up_to_the_log_odds(frame):
    model = textbook().fit(ROWS, SPECIES)
    shown = model.explain(frame)
    ax = drawn(plot_evidence(shown, row=1))
    (bars,) = ax.containers
    p = model.predict_proba(frame)[1].max()
    assert sum(bar.get_width() for bar in bars) == pytest.approx(np.log2(p / (1 - p)))
    assert ax.get_yticklabels()[0].get_text() == "prior"
    few = drawn(plot_evidence(shown, row=1, most=3))
    assert len(few.containers[0]) == 4
    assert few.get_yticklabels()[-1].get_text() == "4 others"
    with pytest.raises(ParameterError, match="one of the explained rows"):
        plot_evidence(shown, row=9)


def test_a_column_called_prior_has_a_bar_of_its_own():
    model = textbook().fit({"prior": [1.0, 2.0, 8.0, 9.0], "z": [0.0, 1.0, 0.5, 2.0]}, [0, 0, 1, 1])
    names = drawn(plot_evidence(model.explain({"prior": [1.5], "z": [1.0]}))).get_yticklabels()
    assert [name.get_text() for name in names] == ["prior", "prior = 1.5", "z = 1"]


def test_evidence_without_end_has_no_picture():
    model = textbook(smoothing="none", families="categorical").fit([["x"], ["y"], ["y"]], [0, 1, 1])
    with pytest.raises(ParameterError, match="rules a class out"):
        plot_evidence(model.explain([["x"]]))


# -- Imports --------------------------------------------------------------------------------------------------------


def test_matplotlib_is_imported_when_something_is_drawn():
    code = "import sys, naively.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"naively\[plots\]"):
        plot_densities(textbook().fit(X, Y))


def test_bars_of_counts_are_probabilities_in_a_recipe_that_weighs_them():
    X, y = np.random.default_rng(0).poisson(3, size=(200, 1)).astype(float), np.arange(200) % 2
    for recipe in ("textbook", "auto"):
        ax = plot_densities(NaiveBayes(recipe, families="poisson").fit(X, y))
        heights = [sum(bar.get_height() for bar in bars) for bars in ax.containers]
        assert ax.get_ylabel() == "probability"
        np.testing.assert_allclose(heights, 1.0, atol=0.01)


# -- A whole model ----------------------------------------------------------------------------------------------------


def test_all_columns_by_information():
    model = NaiveBayes().fit(ROWS, SPECIES)
    axes = model.plot(most=4)
    assert [ax.get_xlabel() for ax in axes] == list(model.rank_features()["column"])[:4]
    drawn(axes[0])
    _, given = pyplot.subplots(1, 2)
    assert list(plot_model(model, 2, given)) == list(given)
    with pytest.raises(ParameterError, match="needs 4 Axes, got 2"):
        plot_model(model, 4, given)
    joined = textbook(factors=[Joint("bill_length_mm", "bill_depth_mm")]).fit(ROWS, SPECIES)
    assert len(plot_model(joined)) == 4
    with pytest.raises(ParameterError, match="No column"):
        plot_model(textbook(families="text").fit({"text": ["a b", "c d"]}, [0, 1]))


def test_importance_is_the_ranking():
    model = NaiveBayes().fit(ROWS, SPECIES)
    ax = drawn(plot_importance(model))
    ranked = model.rank_features()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(ranked["column"])
    np.testing.assert_allclose([bar.get_width() for bar in ax.containers[0]], np.maximum(ranked["score"], 0))
    assert drawn(plot_importance(model, "effect", 2)).get_xlabel() == "effect"


def test_words_are_those_that_speak_for_a_class():
    texts = ["free prize now", "free cash now", "home for lunch", "lunch after home"]
    model = textbook(families={"text": "text"}).fit({"text": texts, "n": [1.0, 2.0, 3.0, 4.0]}, list("sshh"))
    ham, spam = plot_words(model, most=2)
    assert [tick.get_text() for tick in drawn(ham).get_yticklabels()] == ["home", "lunch"]
    assert [tick.get_text() for tick in drawn(spam).get_yticklabels()] == ["free", "now"]
    said = model._estimated()[0].evidence(read_table({"text": ["free", ""], "n": [None, None]}), None)[:, 0]
    bits = ((said[0] - said[1]) @ [-1, 1]) / np.log(2)
    assert spam.containers[0][0].get_width() == pytest.approx(bits)
    with pytest.raises(ParameterError, match="no column of prose"):
        plot_words(textbook().fit(X, Y))
    with pytest.raises(ParameterError, match="'n' holds no prose"):
        plot_words(model, "n")
    nameless = textbook(families={"text": Text(buckets=64)}).fit({"text": texts}, list("sshh"))
    with pytest.raises(ParameterError, match="have no names"):
        plot_words(nameless)


@pytest.mark.parametrize("recipe", ["textbook", "auto", "fast"])
def test_effects_are_the_evidence_against_the_rest(recipe):
    model = NaiveBayes(recipe).fit(ROWS, [kind == "Gentoo" for kind in SPECIES])
    ax = drawn(plot_effect(model, "body_mass_g"))
    (line,) = [one for one in ax.get_lines() if len(one.get_xdata()) > 9]
    evidence = model.log_odds(base=False).columns["body_mass_g"](line.get_xdata())[:, 1]
    np.testing.assert_allclose(line.get_ydata(), evidence / np.log(2), atol=1e-9)
    bars = drawn(plot_effect(model, "island", target=True))
    heard = {
        tick.get_text(): bar.get_width() for tick, bar in zip(bars.get_yticklabels(), bars.containers[0], strict=True)
    }
    table = model.log_odds(base=False).columns["island"].table
    assert heard == pytest.approx({label: ratios[1] / np.log(2) for label, ratios in table.items()})


def test_effects_of_many_classes_and_of_no_sum():
    ax = drawn(plot_effect(NaiveBayes().fit(ROWS, SPECIES), "sex"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Adelie", "Chinstrap", "Gentoo"]
    with pytest.raises(RecipeError, match="strong"):
        plot_effect(NaiveBayes("strong", kept_rows=200).fit(ROWS, SPECIES), "sex")


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_the_nomogram_marks_the_row_and_has_its_probability(recipe):
    model = NaiveBayes(recipe).fit(ROWS, SPECIES)
    row = ROWS[200]
    ax = drawn(plot_nomogram(model, "Chinstrap", "Adelie", row=row, most=3))
    p = model.predict_proba([row])[0]
    shown = float(ax.get_title().split(": ")[1].rstrip("%")) / 100
    assert shown == pytest.approx(p[1] / (p[0] + p[1]), abs=6e-4)
    assert len(ax.get_yticks()) == 3
    drawn(plot_nomogram(model))


def test_nomograms_that_cannot_be():
    model = textbook().fit(ROWS, SPECIES)
    with pytest.raises(ParameterError, match="another class"):
        plot_nomogram(model, "Adelie", "Adelie")
    with pytest.raises(ParameterError, match="only one"):
        plot_nomogram(textbook().fit([[1.0]], [0]))
    with pytest.raises(ParameterError, match="No column"):
        plot_nomogram(textbook(families="text").fit({"text": ["a b", "c d"]}, [0, 1]))


def test_long_labels_lie_and_very_many_are_lines():
    labels = [f"a rather long label, number {place}" for place in range(8)]
    ax = drawn(plot_densities(textbook().fit({"x": labels}, [0, 1] * 4)))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("probability", "x")
    assert "\n" in ax.get_yticklabels()[0].get_text()
    many = drawn(plot_densities(textbook(families="categorical").fit({"x": list(range(40))}, [0, 1] * 20)))
    assert len(many.get_lines()) == 2


# -- On rows whose class is known -------------------------------------------------------------------------------------


def test_confusion_counts_the_rows():
    model = textbook().fit(X, Y)
    ax = drawn(plot_confusion(model, X, Y))
    counts = np.array([int(text.get_text()) for text in ax.texts]).reshape(3, 3)
    np.testing.assert_array_equal(counts, confusion_matrix(Y, model.predict(X)))
    left = drawn(plot_confusion(model, X, Y, left_out=True))
    counts = np.array([int(text.get_text()) for text in left.texts]).reshape(3, 3)
    np.testing.assert_array_equal(counts, confusion_matrix(Y, model.loo(X, Y).argmax(axis=1)))


def test_curves_are_those_of_scikit_learn():
    model = textbook().fit(X[TWO][:, :2], Y[TWO])
    scores, wanted = model.predict_proba(X[TWO][:, :2])[:, 1], Y[TWO] == 2
    (text,) = drawn(plot_roc(model, X[TWO][:, :2], Y[TWO])).get_legend().get_texts()
    assert text.get_text() == f"2: area {roc_auc_score(wanted, scores):.3f}"
    (text,) = drawn(plot_precision_recall(model, X[TWO][:, :2], Y[TWO], 2)).get_legend().get_texts()
    assert text.get_text() == f"2: mean {average_precision_score(wanted, scores):.3f}"
    both = drawn(plot_roc({"a": model, "b": model}, X[TWO][:, :2], Y[TWO]))
    assert [one.get_text()[:3] for one in both.get_legend().get_texts()] == ["a 2", "b 2"]
    assert len(plot_roc(textbook().fit(X, Y), X, Y, left_out=True).get_legend().get_texts()) == 3
    with pytest.raises(ParameterError, match="and of others"):
        plot_roc(model, X[100:, :2], Y[100:])
    with pytest.raises(ParameterError, match="only one"):
        plot_roc(textbook().fit(X[:9], Y[:9]), X[:9], Y[:9])
    with pytest.raises(ParameterError, match="needs y"):
        plot_roc(model, X[TWO][:, :2], None)


def test_reliability_of_any_recipe_on_any_rows():
    model = textbook().fit(X[::2], Y[::2])
    ax = drawn(plot_reliability(model, X[1::2], Y[1::2]))
    expected = calibration(model.predict_log_proba(X[1::2]), Y[1::2])
    assert ax.get_legend().get_texts()[0].get_text() == f"calibration error {expected.ece:.3f}"
    left = drawn(plot_reliability({"loo": model}, X[::2], Y[::2], left_out=True))
    assert f"{calibration(model.loo(X[::2], Y[::2]), Y[::2]).ece:.3f}" in left.get_legend().get_texts()[0].get_text()


def test_the_prior_is_a_threshold():
    model = textbook().fit(X[TWO], Y[TWO])
    ax = drawn(plot_prior(model, X[TWO], Y[TWO], 1))
    precision, recall = (line.get_ydata() for line in ax.get_lines()[:2])
    said = model.predict(X[TWO], prior={1: 0.3, 2: 0.7})
    place = 29  # of 0.01, 0.02, ...
    assert recall[place] == pytest.approx(((said == 1) & (Y[TWO] == 1)).sum() / 50)
    assert precision[place] == pytest.approx((Y[TWO][said == 1] == 1).mean())
    with pytest.raises(ParameterError, match="two classes"):
        plot_prior(textbook().fit(X, Y), X, Y)


# -- Drift, and the pictures of the course ----------------------------------------------------------------------------


def test_drift_shows_what_moved():
    before, after = (textbook().fit(rows, Y[::2]) for rows in (X[::2], X[::2] + np.array([0, 0, 3, 0])))
    ax = drawn(plot_drift(before, after))
    assert ax.get_yticklabels()[0].get_text() == "x2"
    assert len(drawn(plot_drift(drift.compare(before, after), most=2)).get_yticks()) == 2
    with pytest.raises(ParameterError, match="two models"):
        plot_drift(before)


def test_copies_smoothing_outliers_and_the_bayes_error():
    ax = drawn(plot_copies(X[TWO][:, 0], Y[TWO], most=3, recipes=["textbook"]))
    one = textbook().fit(X[TWO][:, :1], Y[TWO])
    value = X[TWO][Y[TWO] == 2][:, 0].mean()
    assert ax.get_lines()[0].get_ydata()[0] == pytest.approx(one.predict_proba([[value]])[0, 1])
    with pytest.raises(ParameterError, match="two classes"):
        plot_copies(X[:, 0], Y)
    smoothed = drawn(plot_smoothing(textbook(families="categorical"), X.round(), Y, [0.1, 1.0]))
    assert len(smoothed.get_lines()[0].get_ydata()) == 2
    marked = drawn(plot_outliers(textbook().fit(X, Y), X, X[:2] + 9, columns=(2, 3)))
    assert [text.get_text() for text in marked.get_legend().get_texts()] == ["learnt", "outliers"]
    model = textbook().fit(X, Y)
    ax = drawn(plot_bayes_error(model, sizes=(10, 1000), repeats=2))
    errors = ax.get_lines()[1].get_ydata()
    assert errors[1] < errors[0]
    assert errors[1] == pytest.approx(model.bayes_error(20_000, seed=0).error, abs=0.01)
