"""Rows: small batches and single rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from river.naive_bayes import GaussianNB as RiverGaussianNB
from sklearn.naive_bayes import GaussianNB

from bench import data
from bench.measure import Scale, per_call, side_by_side
from bench.result import Result, at_least, at_most, duration
from naively import NaiveBayes

N_COLUMNS, N_CLASSES, BATCH, N_BATCHES = 20, 3, 100, 1000


def partial_fit_arrays(scale: Scale) -> Result:
    return _partial_fit(scale, "array", lambda rows: rows, 15)


def partial_fit_pandas(scale: Scale) -> Result:
    return _partial_fit(scale, "pandas", frame, 10)


def frame(rows: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[f"n{place}" for place in range(rows.shape[1])])


def _partial_fit(scale: Scale, kind: str, convert: Callable[[Any], Any], faster: float) -> Result:
    X, y = data.numbers(BATCH * N_BATCHES, N_COLUMNS, N_CLASSES)
    batches = [(X[start : start + BATCH], y[start : start + BATCH]) for start in range(0, len(X), BATCH)]
    ours = [(convert(rows), labels) for rows, labels in batches]
    rivers = [(frame(rows), pd.Series(labels)) for rows, labels in batches]
    times = side_by_side(
        scale,
        ours=lambda: _learn_and_ask(NaiveBayes("textbook"), ours),
        scikit=lambda: _learn(partial(GaussianNB().partial_fit, classes=range(N_CLASSES)), batches),
        peer=lambda: _learn(RiverGaussianNB().learn_many, rivers),
    )
    each = {name: time / N_BATCHES for name, time in times.items()}
    return Result(
        work=f"partial_fit, a batch of {BATCH} rows x {N_COLUMNS} ({kind}), {N_CLASSES} classes",
        ours=each["ours"],
        peer=each["peer"],
        peer_name="river",
        targets=[at_least(faster, "x river", each["peer"] / each["ours"])],
        notes=f"{N_BATCHES} batches and one question, which counts what waits; peer: GaussianNB.learn_many on pandas; "
        f"scikit-learn on arrays: {duration(each['scikit'])}",
    )


def _learn_and_ask(model: NaiveBayes, batches: list[tuple[Any, Any]]) -> None:
    """Learn, until the last row is in the sums."""
    _learn(model.partial_fit, batches)
    assert model.class_count_.sum() == BATCH * len(batches)


def _learn(learn: Callable[[Any, Any], Any], batches: list[tuple[Any, Any]]) -> None:
    for rows, labels in batches:
        learn(rows, labels)


def single_row_textbook(scale: Scale) -> Result:
    return _single_row(scale, "textbook", 15e-6)


def single_row_auto(scale: Scale) -> Result:
    return _single_row(scale, "auto", 30e-6)


def _single_row(scale: Scale, recipe: str, most: float) -> Result:
    X, y = data.numbers(scale.rows(100_000), N_COLUMNS, N_CLASSES)
    ours, peer, row, n_calls = NaiveBayes(recipe).fit(X, y), GaussianNB().fit(X, y), X[:1], 200
    times = side_by_side(
        scale,
        ours=per_call(lambda: ours.predict_proba(row), n_calls),
        peer=per_call(lambda: peer.predict_proba(row), n_calls),
    )
    return Result(
        work=f"predict_proba of a single row x {N_COLUMNS}, {N_CLASSES} classes, {recipe}",
        ours=times["ours"] / n_calls,
        peer=times["peer"] / n_calls,
        peer_name="scikit-learn",
        targets=[
            at_least(5, "x scikit-learn (a fifth of its latency)", times["peer"] / times["ours"]),
            at_most(most * 1e6, "µs", times["ours"] / n_calls * 1e6),
        ],
        notes="the estimates are made at an earlier call",
    )
