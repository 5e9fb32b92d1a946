"""One model on one data set: cross-validated scores and times."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .sets import DataSet, folds

N_BINS = 15


def cross_validate(make: Callable[[DataSet], Any], data: DataSet) -> dict[str, float]:
    """Means over all rows, each scored by a model that did not see its fold; times in processor seconds."""
    n_classes = int(data.codes.max()) + 1
    proba = np.zeros((len(data.codes), n_classes))
    fit_time = predict_time = 0.0
    for train, test in folds(data.codes):
        model = make(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model.fit(data.frame.iloc[train], data.codes[train])
            model.predict_proba(data.frame.iloc[test[:1]])  # what is estimated on first use belongs to fitting
            middle = time.process_time()
            found = model.predict_proba(data.frame.iloc[test])
        predict_time += time.process_time() - middle
        fit_time += middle - start
        proba[np.ix_(test, model.classes_)] = found
    return {**scores(proba, data.codes), "fit": fit_time, "predict": predict_time}


def scores(proba: np.ndarray, codes: np.ndarray) -> dict[str, float]:
    """Accuracy, log-loss (clipped at 1e-15), Brier score and expected calibration error (15 bins)."""
    rows = np.arange(len(codes))
    clipped = np.clip(proba, 1e-15, 1.0)
    clipped /= clipped.sum(axis=1, keepdims=True)
    error = proba.copy()
    error[rows, codes] -= 1.0
    confidence, hit = proba.max(axis=1), proba.argmax(axis=1) == codes
    place = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gap = np.bincount(place, confidence - hit, N_BINS)
    return {
        "accuracy": float(hit.mean()),
        "log_loss": float(-np.log(clipped[rows, codes]).mean()),
        "brier": float((error**2).sum(axis=1).mean()),
        "ece": float(np.abs(gap).sum() / len(codes)),
    }
