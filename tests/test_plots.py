"""Pictures: they show the numbers that the model gives, for all recipes and families, and return their Axes."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_digits, load_iris

from naively import NaiveBayes
from naively._scoring.calibration import calibration
from naively.demo import penguins
from naively.errors import ParameterError, RecipeError
from naively.families import Bernoulli, Binned, Gaussian, Kernel, Multinomial, Poisson, Stacked, StudentT
from naively.plots import (
    plot_decision_surface,
    plot_densities,
    plot_evidence,
    plot_images,
    plot_reliability,
    plot_ties,
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
    with pytest.raises(ParameterError, match="lacks one of the columns"):
        plot_decision_surface(model, {"island": ["Dream"]}, columns=("body_mass_g", "bill_depth_mm"))


# -- Densities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian(), StudentT(), Kernel()])
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
    ("recipe", "family"), [("auto", None), ("textbook", Stacked()), ("textbook", Kernel(scores=True))]
)
def test_evidence_where_there_is_no_density(recipe, family):
    model = NaiveBayes(recipe, families=family).fit(X, Y)
    assert drawn(plot_densities(model, 0)).get_ylabel() == "evidence (nats)"


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
