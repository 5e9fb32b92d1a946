"""Models whose reports are looked at, and what a page computes, in Python."""

import itertools
import math

import numpy as np
from sklearn.datasets import load_iris

from naively import NaiveBayes
from naively._report.contract import contract
from naively._report.sources import Sources
from naively.demo import penguins
from naively.families import Bernoulli, Gamma, Joint, Poisson

ROWS, SPECIES = penguins()
TEXTS = [
    "win a free prize now",
    "free cash, call now",
    "are you home for lunch",
    "call me after lunch",
    "free lunch",
] * 6
KINDS = ["spam", "spam", "ham", "ham", "ham"] * 6


def pages():
    """By name: a model, and the columns of the table that it learnt."""
    rng = np.random.default_rng(0)
    flowers, kinds = load_iris(return_X_y=True)
    letters = np.arange(600) % 12
    shapes = rng.normal(size=(600, 14)) + rng.normal(size=(12, 14))[letters]
    counts = {"n": rng.poisson(4, 200), "wait": rng.gamma(2, 2, 200) + 0.1, "flag": rng.integers(0, 2, 200)}
    parts = {"n": Poisson(), "wait": Gamma(), "flag": Bernoulli()}
    messages = {"text": TEXTS, "length": [float(len(text)) for text in TEXTS]}
    pair = [Joint("bill_length_mm", "bill_depth_mm")]
    return {
        "auto": NaiveBayes().fit(ROWS, SPECIES),
        "textbook": NaiveBayes("textbook").fit(ROWS, SPECIES),
        "fast": NaiveBayes("fast").fit(ROWS, SPECIES),
        "two": NaiveBayes().fit(named("f", flowers[50:]), kinds[50:] == 1),
        "many": NaiveBayes("textbook").fit(named("a_rather_long_name_", shapes), letters),
        "families": NaiveBayes("textbook", families=parts).fit(counts, rng.integers(0, 2, 200)),
        "joined": NaiveBayes("textbook", factors=pair).fit(ROWS, SPECIES),
        "text": NaiveBayes("textbook", families={"text": "text"}).fit(messages, KINDS),
        "weighed text": NaiveBayes("auto", families={"text": "text"}).fit(messages, KINDS),
        "impossible": NaiveBayes("textbook", smoothing="none").fit({"a": ["x", "y", "y", "z"]}, [0, 1, 1, 0]),
    }


def named(name, X):
    return {f"{name}{place}": column for place, column in enumerate(X.T)}


def told(model, **given):
    return contract(Sources(model._taken(), **given), "A title")


def random_cells(page, rng):
    """A cell of each column of a page, as the page has it."""
    return [_random_cell(column, rng) for column in page["columns"]]


def _random_cell(column, rng):
    if rng.random() < 0.2:
        return None
    if column["kind"] == "text":
        return sorted(
            rng.choice(len(column["words"]), rng.integers(0, min(5, len(column["words"]))), replace=False).tolist()
        )
    if column["kind"] == "label" and column["other"] and rng.random() < 0.1:
        return "other"
    return int(rng.integers(len(column["evidence"][0])))


def as_row(page, cells):
    """The same cells as a row that a model reads."""
    row = {}
    for column, cell in zip(page["columns"], cells, strict=True):
        if cell is None:
            value = None
        elif cell == "other":
            value = "a value that was never learnt"
        elif column["kind"] == "text":
            value = " ".join(column["words"][place] for place in cell)
        elif column["kind"] == "label":
            value = eval(column["literals"][cell])
        else:
            value = column["at"][cell]
        row[column["name"]] = value
    return row


def answer(page, cells):
    """The probabilities that a page shows."""
    scores = np.array([number(one["log_prior"]) for one in page["classes"]])
    prior = scores.copy()
    for term in page["fixed"]:
        scores = scores + [number(x) for x in term["evidence"]]
    for column, cell in zip(page["columns"], cells, strict=True):
        scores = scores + [said(column, code, cell) for code in range(len(scores))]
    scores = scores if np.isfinite(scores).any() else prior
    odds = np.exp(scores - scores.max())
    return odds / odds.sum()


def said(column, code, cell):
    if cell is None:
        return number(column["unknown"][code])
    if cell in ("other", "text"):
        return number(column["other"][code] if cell == "other" else column["text"]["evidence"][code])
    if column["kind"] != "text":
        return number(column["evidence"][code][cell])
    words = sum(number(column["single"][code][place]) for place in cell)
    pairs = {(first, second): line for first, second, line in column["pairs"]}
    words += sum(number(pairs[two][code]) for two in itertools.pairwise(cell) if two in pairs)
    return number(column["given"][code]) + column["stretch"][len(cell)] * words


def number(x):
    return -math.inf if x is None else x
