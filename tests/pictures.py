"""The pictures of the documentation: each function draws one, from data that everybody has."""

import csv
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from naively import NaiveBayes
from naively._scoring.calibration import calibration
from naively.demo import penguins
from naively.families import Gaussian
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
from naively.plots._axes import SOFT

DATA = Path(__file__).parent / "reference" / "data"


def read(name):
    """The rows and the classes of a data set."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, [row.pop("target") for row in rows]


def typed(rows):
    """Rows with numbers where a column holds nothing but numbers."""
    return [
        {name: float(cell) if cell.replace(".", "", 1).isdigit() else cell for name, cell in row.items()}
        for row in rows
    ]


def figure(n_rows=1, n_columns=1, size=(4.8, 3.2)):
    return pyplot.subplots(n_rows, n_columns, figsize=size, layout="constrained")


def ties():
    """The four ties of Gaussian variances: straight boundaries where variances do not depend on the class."""
    iris = load_iris(as_frame=True)
    axes = plot_ties(iris.data[::7], iris.target_names[iris.target[::7]], ("sepal length (cm)", "sepal width (cm)"))
    for ax in np.ravel(axes)[1:]:
        ax.get_legend().remove()
    return axes[0, 0].figure


def surface():
    """Two columns of a model of six; the others are not known."""
    rows, species = penguins()
    known = [place for place, row in enumerate(rows) if row["bill_depth_mm"] is not None][::2]
    model = NaiveBayes("textbook").fit(rows, species)
    fig, ax = figure()
    columns = ("bill_length_mm", "bill_depth_mm")
    plot_decision_surface(model, [rows[place] for place in known], [species[place] for place in known], columns, ax)
    return fig


def densities():
    """A column of numbers and a column of labels, class by class."""
    rows, species = penguins()
    model = NaiveBayes("textbook").fit(rows, species)
    fig, (left, right) = figure(1, 2, (7.2, 2.8))
    plot_densities(model, "flipper_length_mm", left)
    plot_densities(model, "island", right).get_legend().remove()
    return fig


def copies():
    """One column, several times: the textbook becomes surer with every copy, "auto" does not."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    x = rng.normal(size=2000) + y
    ax = plot_copies(x, y, value=1.0)
    truth = stats.norm.pdf(0) / (stats.norm.pdf(0) + stats.norm.pdf(1))
    ax.axhline(truth, color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)), label="the truth")
    ax.legend(frameon=False, fontsize="small")
    return ax.figure


def prior():
    """Moving the class prior moves the threshold: precision against recall, leave-one-out."""
    X, y = load_breast_cancer(return_X_y=True)
    return plot_prior(NaiveBayes("textbook").fit(X[:, :4], y), X[:, :4], y, left_out=True).figure


def bayes_error():
    """Where the columns are independent, the error of a fitted model goes to the Bayes error, not to zero."""
    rng = np.random.default_rng(1)
    start = rng.normal(size=(40, 4)) + np.repeat([[0.0], [0.8]], 20, axis=0)
    truth = NaiveBayes("textbook").fit(start, np.repeat([0, 1], 20))
    return plot_bayes_error(truth, (10, 20, 50, 100, 200, 500, 1000, 5000, 20_000)).figure


def reliability():
    """How far probabilities can be believed: the textbook against "auto", on left-out rows."""
    rows, y = read("pima-diabetes")
    X = np.array([[float(cell) for cell in row.values()] for row in rows])
    codes = np.unique(y, return_inverse=True)[1]
    plain = calibration(NaiveBayes("textbook").fit(X, y).loo(X, y), codes)
    fig, ax = figure(size=(4.8, 4.0))
    plot_reliability({"auto": NaiveBayes("auto").fit(X, y), "textbook": plain}, ax=ax)
    return fig


def smoothing():
    """How much smoothing: the log-loss of left-out rows against the pseudo-count."""
    rows, survived = read("titanic-2201")
    weights = np.array([float(row.pop("count")) for row in rows])
    sample = np.random.default_rng(0).choice(len(rows), 30, p=weights / weights.sum())
    few, y = [rows[place] for place in sample], [survived[place] for place in sample]
    return plot_smoothing(NaiveBayes("textbook"), few, y).figure


def digits():
    """The mean and the variance of every pixel, for each digit."""
    data = load_digits()
    model = NaiveBayes("textbook", families=Gaussian()).fit(data.data, data.target)
    fig, axes = figure(2, 10, (7.0, 1.9))
    plot_images(model, (8, 8), "mean", axes[0])
    for ax in plot_images(model, (8, 8), "variance", axes[1]):
        ax.set_title("")
    return fig


def evidence():
    """Why one penguin is a Chinstrap."""
    rows, species = penguins()
    model = NaiveBayes("auto").fit(rows, species)
    place = species.index("Chinstrap")
    fig, ax = figure(size=(6.0, 3.0))
    plot_evidence(model.explain(rows[place : place + 1]), ax=ax)
    return fig


def outliers():
    """The log-density of rows: low for what is unlike all that was learnt."""
    iris = load_iris(as_frame=True)
    X = iris.data.iloc[::2, 2:]
    model = NaiveBayes("textbook").fit(X, iris.target[::2])
    return plot_outliers(model, X, X.iloc[:2].assign(**{X.columns[0]: [3.2, 6.5], X.columns[1]: [2.3, 0.4]})).figure


# -- the gallery -----------------------------------------------------------------------------------------------------


def model():
    """All columns of a model, the most informative first."""
    return NaiveBayes().fit(*penguins()).plot()[0].figure


def effect():
    """What a column says for each class, over the rows that stand behind it."""
    fig, (left, right) = figure(1, 2, (7.6, 3.0))
    fitted = NaiveBayes().fit(*penguins())
    plot_effect(fitted, "bill_length_mm", ax=left)
    plot_effect(fitted, "island", ax=right).get_legend().remove()
    return fig


def nomogram():
    """What every value adds, and a row on the scales."""
    rows, y = read("german-credit")
    row = {"checking_status": "<0", "duration": "24", "credit_history": "existing paid", "purpose": "new car"}
    return plot_nomogram(NaiveBayes().fit(typed(rows), y), "bad", row=typed([{**rows[0], **row}])[0]).figure


def importance():
    """Which columns tell most of the class."""
    rows, y = read("german-credit")
    return plot_importance(NaiveBayes().fit(typed(rows), y), most=12).figure


def categories():
    """A column with many long values."""
    rows, y = read("german-credit")
    fig, ax = figure(size=(5.6, 4.2))
    plot_densities(NaiveBayes().fit(typed(rows), y), "purpose", ax)
    return fig


def confusion():
    """Which classes are taken for which, on left-out rows."""
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0.5]
    return plot_confusion(NaiveBayes("textbook").fit(X, y), X, y, left_out=True).figure


def roc():
    """ROC, and precision and recall, of two recipes on rows that they have not learnt."""
    rows, y = read("german-credit")
    rows = typed(rows)
    models = {recipe: NaiveBayes(recipe).fit(rows[::2], y[::2]) for recipe in ("auto", "textbook")}
    fig, (left, right) = figure(1, 2, (8.0, 3.8))
    plot_roc(models, rows[1::2], y[1::2], "bad", left)
    plot_precision_recall(models, rows[1::2], y[1::2], "bad", right)
    return fig


def drift():
    """What has changed from the first half of the rows to the second."""
    X, y = load_iris(return_X_y=True)
    first = NaiveBayes().fit(X[::2], y[::2])
    return plot_drift(first, NaiveBayes().fit(X[1::2] + np.array([0.0, 0.0, 0.4, 0.0]), y[1::2])).figure


def words():
    """The words that say most for each class."""
    texts = ["win a free prize now", "free cash prize, call now", "call now to win", "cheap pills, free shipping"]
    texts += ["are you home for lunch", "call me after lunch", "home late, see you", "lunch at home?"]
    fitted = NaiveBayes("textbook", families="text").fit(
        {"text": texts * 3}, ["spam"] * 4 + ["ham"] * 4 + (["spam"] * 4 + ["ham"] * 4) * 2
    )
    return plot_words(fitted, most=8)[0].figure


PICTURES = (
    *(ties, surface, densities, copies, prior, bayes_error, reliability, smoothing, digits, evidence, outliers),
    *(model, effect, nomogram, importance, categories, confusion, roc, drift, words),
)
