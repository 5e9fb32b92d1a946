"""How good probabilities are: log-loss, Brier score, calibration error and the reliability table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively._table.results import Columns, Result, Shown, as_cell
from naively.typing import FloatArray, IntArray

BINS = 15


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """Quality of probabilities on rows whose class is known.

    Parameters
    ----------
    accuracy, log_loss, brier, ece : float
        Weighted means; ``brier`` sums over the classes; ``ece`` is the mean gap between confidence and accuracy.
    reliability : float64 array (bins, 3)
        For each bin of confidence: weight of its rows, mean confidence, accuracy (NaN where empty).
    """

    accuracy: float
    log_loss: float
    brier: float
    ece: float
    reliability: FloatArray

    def _columns(self) -> Columns:
        ends = np.arange(len(self.reliability) + 1) / len(self.reliability)
        weight, confidence, accuracy = self.reliability.T.tolist()
        numbers = {"from": ends[:-1].tolist(), "to": ends[1:].tolist(), "weight": weight, "confidence": confidence}
        return {name: ("f", cells) for name, cells in {**numbers, "accuracy": accuracy}.items()}

    def _shown(self) -> Shown:
        measures = (("accuracy", self.accuracy), ("log-loss", self.log_loss), ("Brier", self.brier), ("ECE", self.ece))
        title = ", ".join(f"{name} {as_cell(value)}" for name, value in measures)
        shown = super()._shown()
        lines = [line for line in shown.lines if line[2] != "0"]  # without the bins that are empty
        return shown._replace(lines=lines, title=title)


def calibration(
    log_proba: FloatArray, codes: IntArray, weights: FloatArray | None = None, bins: int = BINS
) -> Calibration:
    """Measure log-probabilities (n, classes) against class codes (n,), such as `LeaveOneOut.log_posterior`."""
    rows = np.arange(len(codes))
    weights = np.ones(len(codes)) if weights is None else weights
    share = weights / weights.sum()
    proba = np.exp(log_proba)
    confidence, hit = proba.max(axis=1), proba.argmax(axis=1) == codes
    error = proba.copy()
    error[rows, codes] -= 1
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    weight, sure, right = (np.bincount(place, weights * x, bins) for x in (1.0, confidence, hit))
    with np.errstate(invalid="ignore"):
        reliability = np.column_stack([weight, sure / weight, right / weight])
    return Calibration(
        accuracy=1.0 if hit.all() else float(share @ hit),  # the shares of all rows may round below 1
        log_loss=-float(share @ log_proba[rows, codes]),
        brier=float(share @ (error**2).sum(axis=1)),
        ece=float(np.abs(sure - right).sum() / weights.sum()),
        reliability=reliability,
    )
