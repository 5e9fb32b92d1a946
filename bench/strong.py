"""Rows: answers of the recipe "strong", beside gradient boosting."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from bench.measure import Scale, per_call, side_by_side
from bench.result import Result, at_most, size
from naively import NaiveBayes

PEER = "HistGradientBoosting"


def strong_predict(scale: Scale) -> Result:
    X, ours, peer = _models(scale)
    times = side_by_side(scale, ours=lambda: ours.predict_proba(X), peer=lambda: peer.predict_proba(X))
    return Result(
        work=f"strong: predict_proba of {size(len(X))} x {X.shape[1]}",
        ours=times["ours"],
        peer=times["peer"],
        peer_name=PEER,
        must_move=X.nbytes,
        targets=[at_most(1, f"x the time of {PEER}", times["ours"] / times["peer"])],
    )


def strong_row(scale: Scale) -> Result:
    X, ours, peer = _models(scale)
    row, n_calls = X[:1], 50
    times = side_by_side(
        scale,
        ours=per_call(lambda: ours.predict_proba(row), n_calls),
        peer=per_call(lambda: peer.predict_proba(row), n_calls),
    )
    return Result(
        work=f"strong: predict_proba of a single row x {X.shape[1]}",
        ours=times["ours"] / n_calls,
        peer=times["peer"] / n_calls,
        peer_name=PEER,
        targets=[at_most(300, "µs", times["ours"] / n_calls * 1e6)],
    )


@cache
def _models(scale: Scale) -> tuple[np.ndarray, Any, Any]:
    """Rows of which two columns interact, and both models, fitted on them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(scale.choose(200_000, quick=500), scale.choose(30, quick=8)))
    score = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(X[:, 3]) + 0.5 * X[:, 4]
    y = (score + random.normal(size=len(X)) > 0).astype(int)
    ours = NaiveBayes("strong").fit(X, y)
    ours.predict_proba(X[:1])
    return X, ours, HistGradientBoostingClassifier(random_state=0).fit(X, y)
