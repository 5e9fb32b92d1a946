"""Rows: categorical columns, as codes in an array and as text in data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from bench import data
from bench.measure import Scale, estimation, seconds, side_by_side
from bench.result import Result, at_least, duration, fit_alone, size
from naively import NaiveBayes

PEER = "scikit-learn"


def categorical_fit_int64(scale: Scale) -> Result:
    return _fit_codes(scale, np.int64, 50)


def categorical_fit_uint8(scale: Scale) -> Result:
    return _fit_codes(scale, np.uint8, 100)


def categorical_predict_int64(scale: Scale) -> Result:
    return _predict_codes(scale, np.int64)


def categorical_predict_uint8(scale: Scale) -> Result:
    return _predict_codes(scale, np.uint8)


def text_fit_pandas(scale: Scale) -> Result:
    columns, y = data.text_columns(scale.rows(1_000_000), 10, 16, 2)
    frame = pd.DataFrame(columns)
    return _fit_text(scale, frame, frame, y, "pandas", int(frame.memory_usage(deep=True).sum()))


def text_fit_polars(scale: Scale) -> Result:
    columns, y = data.text_columns(scale.rows(1_000_000), 10, 16, 2)
    frame = pl.DataFrame(columns)
    return _fit_text(scale, frame, pd.DataFrame(columns), y, "Polars", int(frame.estimated_size()))


def _fit_codes(scale: Scale, dtype: Any, faster: float) -> Result:
    X, y = data.codes(scale.rows(1_000_000), 30, 16, 2, dtype)

    def fit() -> NaiveBayes:
        return NaiveBayes("textbook", families="categorical").fit(X, y)

    times = side_by_side(scale, ours=fit, peer=lambda: CategoricalNB().fit(X, y))
    return Result(
        work=f"Categorical fit, {size(len(X))} x 30 {X.dtype} codes of 16 values, 2 classes",
        **times,
        peer_name=PEER,
        must_move=X.nbytes,
        targets=[at_least(faster, "x scikit-learn", times["peer"] / times["ours"])],
        notes=fit_alone(estimation(fit, scale, X[:1])),
    )


def _predict_codes(scale: Scale, dtype: Any) -> Result:
    X, y = data.codes(scale.rows(1_000_000), 30, 16, 2, dtype)
    ours, peer = NaiveBayes("textbook", families="categorical").fit(X, y), CategoricalNB().fit(X, y)
    first = seconds(lambda: ours.predict_proba(X))
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-9)
    times = side_by_side(scale, ours=lambda: ours.predict_proba(X), peer=lambda: peer.predict_proba(X))
    return Result(
        work=f"Categorical predict_proba, {size(len(X))} x 30 {X.dtype} codes of 16 values, 2 classes",
        **times,
        peer_name=PEER,
        must_move=X.nbytes + 8 * len(X) * 2,
        targets=[at_least(8, "x scikit-learn", times["peer"] / times["ours"])],
        notes=f"first call, with the estimates: {duration(first)}",
    )


def _fit_text(scale: Scale, frame: Any, peer_frame: Any, y: Any, library: str, n_bytes: int) -> Result:
    def fit() -> NaiveBayes:
        return NaiveBayes("textbook").fit(frame, y)

    peer = make_pipeline(OrdinalEncoder(), CategoricalNB())
    times = side_by_side(scale, ours=fit, peer=lambda: peer.fit(peer_frame, y))
    np.testing.assert_allclose(fit().predict_proba(frame[:99]), peer.predict_proba(peer_frame[:99]), atol=1e-9)
    return Result(
        work=f"Categorical fit from a {library} frame of text, {size(len(frame))} x 10, 16 values, 2 classes",
        **times,
        peer_name=PEER,
        must_move=n_bytes,
        targets=[at_least(5, "x scikit-learn", times["peer"] / times["ours"])],
        notes=f"peer: OrdinalEncoder + CategoricalNB on pandas; {fit_alone(estimation(fit, scale, frame[:1]))}",
    )
