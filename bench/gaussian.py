"""Rows: Gaussian columns of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

from bench import data
from bench.measure import Scale, estimation, seconds, side_by_side
from bench.result import Result, Target, at_least, at_most, duration, fit_alone, size
from naively import NaiveBayes

PEER = "scikit-learn"


def gaussian_fit_float64(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(1_000_000), 50, 10)
    return _fit(scale, X, y, "float64", 20, also_sum=True)


def gaussian_fit_float32(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(1_000_000), 50, 10, dtype=np.float32)
    return _fit(scale, X, y, "float32", 25)


def gaussian_fit_f_order(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(1_000_000), 50, 10, order="F")
    return _fit(scale, X, y, "float64 in F order", 25)


def gaussian_predict(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(200_000), 50, 10)
    ours, peer = NaiveBayes("textbook").fit(X, y), GaussianNB().fit(X, y)
    first = seconds(lambda: ours.predict_proba(X))
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    times = side_by_side(scale, ours=lambda: ours.predict_proba(X), peer=lambda: peer.predict_proba(X))
    return Result(
        work=f"Gaussian predict_proba, {size(len(X))} x 50, 10 classes",
        **times,
        peer_name=PEER,
        must_move=X.nbytes + 8 * len(X) * 10,
        targets=[at_least(20, "x scikit-learn", times["peer"] / times["ours"])],
        notes=f"first call, with the estimates: {duration(first)}",
    )


def gaussian_fit_1000_classes(scale: Scale) -> Result:
    n_rows, n_classes = scale.rows(200_000), 1000
    X, y = data.numbers(n_rows, 20, n_classes)
    X_two, y_two = data.numbers(n_rows, 20, 2)
    times = side_by_side(
        scale,
        ours=lambda: NaiveBayes("textbook").fit(X, y),
        two=lambda: NaiveBayes("textbook").fit(X_two, y_two),
        peer=lambda: GaussianNB().fit(X, y),
    )
    return Result(
        work=f"Gaussian fit, {size(n_rows)} x 20, 1000 classes",
        ours=times["ours"],
        peer=times["peer"],
        peer_name=PEER,
        must_move=X.nbytes,
        targets=[at_most(2, "x its time with 2 classes", times["ours"] / times["two"])],
        notes=f"2 classes: {duration(times['two'])}; {_estimates(scale, X, y)}",
    )


def gaussian_predict_1000_classes(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(200_000), 20, 1000)
    ours, peer = NaiveBayes("textbook").fit(X, y), GaussianNB().fit(X, y)
    first = seconds(lambda: ours.predict(X))
    times = side_by_side(scale, ours=lambda: ours.predict(X), peer=lambda: peer.predict(X))
    return Result(
        work=f"Gaussian predict, {size(len(X))} x 20, 1000 classes",
        **times,
        peer_name=PEER,
        must_move=X.nbytes + 8 * len(X),
        targets=[at_least(60, "x scikit-learn", times["peer"] / times["ours"])],
        notes=f"first call, with the estimates: {duration(first)}; {size(len(X) * 20 * 1000)} densities",
    )


def _fit(scale: Scale, X: Any, y: Any, kind: str, faster: float, also_sum: bool = False) -> Result:
    times = side_by_side(
        scale,
        ours=lambda: NaiveBayes("textbook").fit(X, y),
        peer=lambda: GaussianNB().fit(X, y),
        sum=lambda: X.sum(),
    )
    targets: list[Target] = [at_least(faster, "x scikit-learn", times["peer"] / times["ours"])]
    if also_sum:
        targets.append(at_most(1.4, "x the time of X.sum()", times["ours"] / times["sum"]))
    return Result(
        work=f"Gaussian fit, {size(len(X))} x 50 {kind}, 10 classes",
        ours=times["ours"],
        peer=times["peer"],
        peer_name=PEER,
        must_move=X.nbytes,
        targets=targets,
        notes=f"X.sum(): {duration(times['sum'])}; {_estimates(scale, X, y)}",
    )


def _estimates(scale: Scale, X: Any, y: Any) -> str:
    return fit_alone(estimation(lambda: NaiveBayes("textbook").fit(X, y), scale, X[:1]))
