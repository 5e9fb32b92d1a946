"""The pictures of the documentation: each function draws one, from data that everybody has."""

import csv
from pathlib import Path

import numpy as np
from matplotlib import pyplot
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from naively import NaiveBayes, tune
from naively._scoring.calibration import calibration
from naively.demo import penguins
from naively.families import Gaussian
from naively.plots import (
    plot_decision_surface,
    plot_densities,
    plot_evidence,
    plot_images,
    plot_reliability,
    plot_ties,
)
from naively.plots._axes import COLOURS

DATA = Path(__file__).parent / "reference" / "data"
BLUE, RED, GREEN = COLOURS[:3]
GREY = "#777777"


def read(name):
    """The rows and the classes of a data set."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, [row.pop("target") for row in rows]


def figure(n_rows=1, n_columns=1, size=(4.8, 3.2)):
    return pyplot.subplots(n_rows, n_columns, figsize=size, layout="constrained")


def ties():
    """The four ties of Gaussian variances: straight boundaries where variances do not depend on the class."""
    iris = load_iris(as_frame=True)
    axes = plot_ties(iris.data[::5], iris.target_names[iris.target[::5]], ("sepal length (cm)", "sepal width (cm)"))
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
    numbers = np.arange(1, 9)

    def probability(recipe, n):
        model = NaiveBayes(recipe).fit(np.column_stack([x] * n), y)
        return model.predict_proba([[1.0] * n])[0, 1]

    fig, ax = figure()
    truth = stats.norm.pdf(0) / (stats.norm.pdf(0) + stats.norm.pdf(1))
    ax.axhline(truth, color=GREY, linewidth=0.8, label="the truth")
    for recipe, colour in (("textbook", RED), ("auto", BLUE)):
        ax.plot(numbers, [probability(recipe, n) for n in numbers], "o-", color=colour, markersize=4, label=recipe)
    ax.set(xlabel="number of copies of the column", ylabel="probability of class 1", ylim=(0.5, 1.01))
    ax.legend()
    return fig


def prior():
    """Moving the class prior moves the threshold: precision against recall, leave-one-out."""
    X, y = load_breast_cancer(return_X_y=True)
    model = NaiveBayes("textbook").fit(X[:, :4], y)
    log_odds = np.diff(model.loo(X[:, :4], y), axis=1)[:, 0] - np.diff(np.log(model.class_prior_))[0]
    shares = np.linspace(0.02, 0.98, 49)
    positive = log_odds[None, :] + np.log(shares / (1 - shares))[:, None] > 0
    precision, recall = positive[:, y == 1].sum(axis=1) / positive.sum(axis=1), positive[:, y == 1].mean(axis=1)
    fig, ax = figure()
    ax.plot(shares, precision, color=BLUE, label="precision")
    ax.plot(shares, recall, color=RED, label="recall")
    ax.axvline(y.mean(), color=GREY, linewidth=0.8, linestyle=":", label="class frequency")
    ax.set(xlabel="prior probability of the class", ylabel="share")
    ax.legend()
    return fig


def bayes_error():
    """Where the columns are independent, the error of a fitted model goes to the Bayes error, not to zero."""
    rng = np.random.default_rng(1)
    start = rng.normal(size=(40, 4)) + np.repeat([[0.0], [0.8]], 20, axis=0)
    truth = NaiveBayes("textbook").fit(start, np.repeat([0, 1], 20))
    best = truth.bayes_error(20_000, seed=0)
    rows, _ = truth.sample(10_000, seed=1)
    doubt = 1 - truth.predict_proba(rows)
    sizes = np.array([10, 20, 50, 100, 200, 500, 1000, 5000, 20_000])

    def error(n):
        """The mean error of ten models of n rows, by the true probabilities."""
        errors = []
        for seed in range(10):
            X, y = truth.sample(n, y=np.arange(n) % 2, seed=seed)
            errors.append(doubt[np.arange(len(rows)), NaiveBayes("textbook").fit(X, y).predict(rows)].mean())
        return np.mean(errors)

    fig, ax = figure()
    ax.axhline(best.error, color=GREY, linewidth=0.8, label="Bayes error")
    ax.semilogx(sizes, [error(n) for n in sizes], "o-", color=BLUE, markersize=4, label="fitted model")
    ax.set(xlabel="rows learnt", ylabel="error")
    ax.legend()
    return fig


def reliability():
    """How far probabilities can be believed: the textbook against "auto", on left-out rows."""
    rows, y = read("pima-diabetes")
    X = np.array([[float(cell) for cell in row.values()] for row in rows])
    codes = np.unique(y, return_inverse=True)[1]
    plain = calibration(NaiveBayes("textbook").fit(X, y).loo(X, y), codes)
    fig, ax = figure(size=(4.8, 4.0))
    plot_reliability({"auto": NaiveBayes("auto").fit(X, y), "textbook": plain}, ax).set(
        xlim=(0.4, 1.03), ylim=(0.4, 1.03)
    )
    return fig


def smoothing():
    """How much smoothing: the log-loss of left-out rows against the pseudo-count."""
    rows, survived = read("titanic-2201")
    weights = np.array([float(row.pop("count")) for row in rows])
    sample = np.random.default_rng(0).choice(len(rows), 30, p=weights / weights.sum())
    few, y = [rows[place] for place in sample], [survived[place] for place in sample]
    taus = np.geomspace(0.01, 100, 25)
    result = tune(NaiveBayes("textbook"), few, y, {"smoothing": taus.tolist()}, folds="loo", scoring="log_loss")
    fig, ax = figure()
    ax.semilogx(taus, result.scores["log_loss"][:, 0], color=BLUE)
    for tau, name in ((1.0, "Laplace"), (0.5, "Jeffreys")):
        ax.axvline(tau, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(name, (tau, ax.get_ylim()[1]), rotation=90, va="top", ha="right", fontsize="small", color=GREY)
    ax.set(xlabel="pseudo-count tau", ylabel="log-loss of left-out rows (nats)")
    return fig


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
    fig, ax = figure(size=(5.2, 2.8))
    plot_evidence(model.explain(rows[place : place + 1]), ax=ax)
    return fig


def outliers():
    """The log-density of rows: low for what is unlike all that was learnt."""
    X, y = load_iris(return_X_y=True)
    X = X[::2, 2:]
    model = NaiveBayes("textbook").fit(X, y[::2])
    odd = np.array([[3.2, 2.3], [6.5, 0.4]])
    fig, ax = figure()
    grid_x, grid_y = np.linspace(0.5, 7.5, 50), np.linspace(-0.2, 2.8, 50)
    cells = np.stack(np.meshgrid(grid_x, grid_y), axis=-1).reshape(-1, 2)
    scores = np.maximum(model.score_samples(cells), -30).reshape(50, 50)
    ax.contourf(grid_x, grid_y, scores, levels=[-30, -20, -10, -5, -2, 3], cmap="Blues")
    ax.plot(*X.T, ".", color=GREY, markersize=3, label="learnt")
    ax.plot(*odd.T, "x", color=RED, label="outliers")
    ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    ax.legend(loc="upper left")
    return fig


PICTURES = (ties, surface, densities, copies, prior, bayes_error, reliability, smoothing, digits, evidence, outliers)
