"""Corpora of texts: ours on the raw texts, and the usual vectoriser with a classifier."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from naively import NaiveBayes

from .measure import scores
from .sets import folds

TRAINING_ROWS = {"20newsgroups": 11_293, "reuters-r8": 5_485, "sms-spam": None}
"""The given split: so many first rows are for training; None for 5 folds."""

HEADING = "## Text"

NOTE = """
20newsgroups and R8 on the split they come with (by date), SMS spam in 5 stratified folds. Ours reads the raw texts as
one column and finds out by itself that they are prose; the others get words by scikit-learn's vectorisers with their
defaults. Log-loss with probabilities clipped at 1e-15; times in processor seconds, reading texts included. Made by
`python -m bench.accuracy --only text --data DIR`. The models were timed in separate runs on a machine with other work,
so the times only tell orders of magnitude; `python -m bench --only prose` compares speed in one run.

The defaults of `Text` and of the recipes for text were chosen by leave-one-out and by splits inside the training parts
of these three corpora, but the scores on the test parts were printed beside them for some 60 candidates and were seen
while choosing. The pull of the weights towards equal ones was set after looking at test parts of small subsets. The
figures of naively are therefore no clean held-out results.
"""


class Corpus(NamedTuple):
    name: str
    texts: np.ndarray
    codes: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]


class OnTexts:
    """A model of tables, given one column of texts."""

    def __init__(self, recipe: str):
        self.model = NaiveBayes(recipe, n_threads=1)

    def fit(self, texts: np.ndarray, codes: np.ndarray) -> OnTexts:
        self.model.fit({"text": texts}, codes)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, texts: np.ndarray) -> np.ndarray:
        return self.model.predict_proba({"text": texts})


def ours(recipe: str) -> Callable[[], Any]:
    return lambda: OnTexts(recipe)


def vectorised(vectorizer: type, classifier: type, **options: Any) -> Callable[[], Any]:
    return lambda: make_pipeline(vectorizer(), classifier(**options))


MODELS: dict[str, Callable[[], Any]] = {
    "naively textbook": ours("textbook"),
    "naively fast": ours("fast"),
    "naively auto": ours("auto"),
    "naively strong": ours("strong"),
    "counts + MultinomialNB": vectorised(CountVectorizer, MultinomialNB),
    "counts + ComplementNB": vectorised(CountVectorizer, ComplementNB),
    "tf-idf + MultinomialNB": vectorised(TfidfVectorizer, MultinomialNB),
    "tf-idf + ComplementNB": vectorised(TfidfVectorizer, ComplementNB),
    "tf-idf + logistic regression": vectorised(TfidfVectorizer, LogisticRegression, max_iter=1000),
    "tf-idf + logistic regression, C=10": vectorised(TfidfVectorizer, LogisticRegression, max_iter=1000, C=10),
}


def read(data: Path, name: str) -> Corpus:
    about = json.loads((data / "schema.json").read_text())[name]
    frame = pd.read_csv(data / about["file"], dtype=str, keep_default_na=False)
    codes = np.unique(frame[about["target"]].to_numpy(dtype=str), return_inverse=True)[1]
    first = TRAINING_ROWS[name]
    rows = np.arange(len(codes))
    splits = folds(codes) if first is None else [(rows[:first], rows[first:])]
    return Corpus(name, frame[about["text"][0]].to_numpy(dtype=object), codes, splits)


def measure(make: Callable[[], Any], corpus: Corpus) -> dict[str, float]:
    """Scores over all test rows, and processor seconds."""
    proba = np.zeros((len(corpus.codes), int(corpus.codes.max()) + 1))
    fit_time = predict_time = 0.0
    for train, test in corpus.splits:
        model = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model.fit(corpus.texts[train], corpus.codes[train])
            model.predict_proba(corpus.texts[test[:1]])  # what is estimated on first use belongs to fitting
            middle = time.process_time()
            found = model.predict_proba(corpus.texts[test])
        predict_time += time.process_time() - middle
        fit_time += middle - start
        proba[np.ix_(test, model.classes_)] = found
    tested = np.concatenate([test for _, test in corpus.splits])
    return {**scores(proba[tested], corpus.codes[tested]), "fit": fit_time, "predict": predict_time}


def run(data: Path, models: list[str], output: Path, fresh: bool) -> dict[str, dict[str, dict[str, float]]]:
    """Measure what the output does not hold yet; results are saved one by one."""
    results = {} if fresh or not output.exists() else json.loads(output.read_text())
    for name in TRAINING_ROWS:
        corpus = read(data, name)
        for model in models:
            if model in results.get(name, {}):
                continue
            found = measure(MODELS[model], corpus)
            results.setdefault(name, {})[model] = found
            output.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            shown = f"{found['accuracy']:.4f} {found['log_loss']:.4f} {found['fit']:.2f} s, {found['predict']:.2f} s"
            print(f"{name:26s} {model:36s} {shown}", flush=True)
    return results


def section(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The part of the page about text."""
    names = list(TRAINING_ROWS)
    models = [model for model in MODELS if all(model in results.get(name, {}) for name in names)]
    lines = [
        "| model | " + " | ".join(f"{name}: accuracy / log-loss | ECE" for name in names) + " | fit s | predict s |",
        "|---|" + "---|---|" * len(names) + "---|---|",
    ]
    for model in models:
        of = [results[name][model] for name in names]
        cells = [f"{one['accuracy']:.4f} / {one['log_loss']:.3f} | {one['ece']:.3f}" for one in of]
        times = [f"{sum(one[key] for one in of):.1f}" for key in ("fit", "predict")]
        lines.append(f"| {model} | " + " | ".join(cells + times) + " |")
    return "\n".join([HEADING, NOTE, *lines]) + "\n"


def with_section(page: str, results: dict[str, dict[str, dict[str, float]]]) -> str:
    """A page with its part about text, which is the last, made anew."""
    rest = page.partition(f"\n{HEADING}\n")[0].rstrip("\n")
    return f"{rest}\n\n{section(results)}" if results else f"{rest}\n"
