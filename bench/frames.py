"""Rows: a data frame of numbers and categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.naive_bayes import GaussianNB

from bench import data
from bench.measure import Scale, estimation, side_by_side
from bench.result import Result, at_least, fit_alone, size
from naively import NaiveBayes

N_NUMERIC, N_CATEGORICAL, N_VALUES, N_CLASSES = 20, 10, 16, 10


def mixed_fit_pandas(scale: Scale) -> Result:
    numbers, codes, y = _columns(scale)
    labels = pd.CategoricalDtype(data.names(N_VALUES))
    frame = pd.DataFrame({f"n{place}": column for place, column in enumerate(numbers.T)})
    for place, column in enumerate(codes.T):
        frame[f"c{place}"] = pd.Categorical.from_codes(column, dtype=labels)
    return _fit(scale, frame, numbers, y, "pandas", int(frame.memory_usage().sum()))


def mixed_fit_polars(scale: Scale) -> Result:
    numbers, codes, y = _columns(scale)
    labels = data.names(N_VALUES)
    columns = {f"n{place}": pl.Series(np.ascontiguousarray(column)) for place, column in enumerate(numbers.T)}
    for place, column in enumerate(codes.T):
        columns[f"c{place}"] = pl.Series(labels[column], dtype=pl.Categorical)
    frame = pl.DataFrame(columns)
    return _fit(scale, frame, numbers, y, "Polars", int(frame.estimated_size()))


def _columns(scale: Scale) -> tuple[Any, Any, Any]:
    n_rows = scale.rows(1_000_000)
    numbers, y = data.numbers(n_rows, N_NUMERIC, N_CLASSES)
    return numbers, data.codes(n_rows, N_CATEGORICAL, N_VALUES, N_CLASSES, np.int8)[0], y


def _fit(scale: Scale, frame: Any, numbers: Any, y: Any, library: str, n_bytes: int) -> Result:
    def fit() -> NaiveBayes:
        return NaiveBayes("textbook").fit(frame, y)

    times = side_by_side(scale, ours=fit, peer=lambda: GaussianNB().fit(numbers, y))
    return Result(
        work=f"fit from a {library} frame, {size(len(frame))} x ({N_NUMERIC} numeric + {N_CATEGORICAL} categorical)",
        **times,
        peer_name="scikit-learn, numeric part",
        must_move=n_bytes,
        targets=[at_least(15, "x scikit-learn", times["peer"] / times["ours"])],
        notes=fit_alone(estimation(fit, scale, frame[:1])),
    )
