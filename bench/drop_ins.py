"""Rows: the drop-ins for scikit-learn's classifiers against the originals: the same calls, the same answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.naive_bayes as originals

import naively.sklearn as drop_ins
from bench import data
from bench.measure import Scale, seconds, side_by_side
from bench.result import Result, at_least, duration, size

PEER = "scikit-learn"


def drop_in_gaussian_fit(scale: Scale) -> Result:
    return _fit(scale, "GaussianNB", *data.numbers(scale.rows(1_000_000), 50, 10), 20)


def drop_in_gaussian_predict(scale: Scale) -> Result:
    return _predict(scale, "GaussianNB", *data.numbers(scale.rows(1_000_000), 50, 10), 8)


def drop_in_categorical_fit(scale: Scale) -> Result:
    return _fit(scale, "CategoricalNB", *data.codes(scale.rows(1_000_000), 30, 16, 2, np.int64), 20)


def drop_in_categorical_predict(scale: Scale) -> Result:
    return _predict(scale, "CategoricalNB", *data.codes(scale.rows(1_000_000), 30, 16, 2, np.int64), 4)


def drop_in_complement_fit(scale: Scale) -> Result:
    return _fit(scale, "ComplementNB", *data.documents(scale.rows(100_000), 50_000, 100, 20), 5)


def drop_in_multinomial_predict(scale: Scale) -> Result:
    return _predict(scale, "MultinomialNB", *data.documents(scale.rows(100_000), 50_000, 100, 20), 3)


def _both(name: str) -> tuple[Any, Any]:
    return getattr(drop_ins, name), getattr(originals, name)


def _fit(scale: Scale, name: str, X: Any, y: Any, faster: float) -> Result:
    ours, peer = _both(name)
    times = side_by_side(scale, ours=lambda: ours().fit(X, y), peer=lambda: peer().fit(X, y))
    model = ours().fit(X, y)
    first = seconds(lambda: model.predict_proba(X[:1]))
    _assert_same(model, peer().fit(X, y), X[:99])
    return _result(f"Drop-in {name} fit", X, y, times, faster, f"first answer, with the estimates: {duration(first)}")


def _predict(scale: Scale, name: str, X: Any, y: Any, faster: float) -> Result:
    ours, peer = (kind().fit(X, y) for kind in _both(name))
    _assert_same(ours, peer, X[:99])
    times = side_by_side(scale, ours=lambda: ours.predict_proba(X), peer=lambda: peer.predict_proba(X))
    return _result(f"Drop-in {name} predict_proba", X, y, times, faster, "", 8 * X.shape[0] * len(ours.classes_))


def _assert_same(ours: Any, peer: Any, X: Any) -> None:
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-10)


def _result(work: str, X: Any, y: Any, times: dict[str, float], faster: float, notes: str, written: int = 0) -> Result:
    stored = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    kind = str(X.dtype) if isinstance(X, np.ndarray) else "CSR"
    return Result(
        work=f"{work}, {size(X.shape[0])} x {size(X.shape[1])} {kind}, {len(np.unique(y))} classes",
        **times,
        peer_name=PEER,
        must_move=stored + written,
        targets=[at_least(faster, "x scikit-learn", times["peer"] / times["ours"])],
        notes=notes,
    )
