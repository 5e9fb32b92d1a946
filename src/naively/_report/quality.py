"""How good the answers are: by leave-one-out on the kept rows, or on rows that were given."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._report.sources import Sources
from naively._scoring.calibration import calibration
from naively.typing import FloatArray, IntArray

MOST_CLASSES = 30
"""Of more classes, the matrix has too many cells to be looked at."""

MOST_CONFUSED = 20


def quality(sources: Sources) -> dict[str, Any]:
    """Accuracy, log-loss, reliability and confusion, or under ``reason`` why these are not known."""
    found = _left_out(sources) if sources.judged is None else _on_given_rows(sources)
    if found is None:
        return {
            "reason": f"Recipe {sources.model.recipe!r} keeps no rows to judge itself by. "
            "Give some: model.report(path, data=(X, y))."
        }
    log_proba, codes, weights = found
    measured = calibration(log_proba, codes, weights)
    confusion = np.zeros((len(sources.model.classes_),) * 2)
    np.add.at(confusion, (codes, log_proba.argmax(axis=1)), weights)
    return {
        "how": "leave-one-out" if sources.judged is None else "given rows",
        "rows": float(weights.sum()),
        "accuracy": measured.accuracy,
        "log_loss": measured.log_loss if np.isfinite(measured.log_loss) else None,
        "brier": measured.brier,
        "ece": measured.ece,
        "guess": _guess(confusion),
        "bins": len(measured.reliability),
        "reliability": [line for line in measured.reliability.tolist() if line[0] > 0],
        "confusion": confusion.round(6).tolist() if len(confusion) <= MOST_CLASSES else None,
        "confused": _most_confused(confusion),
        "found": _shares(confusion, 1),
        "right": _shares(confusion, 0),
    }


def _left_out(sources: Sources) -> tuple[FloatArray, IntArray, FloatArray] | None:
    """The answers of models without the row, of the kept rows; None where none were kept."""
    left_out = sources.model._left_out_rows()
    if left_out is None or not len(left_out.codes):
        return None
    return left_out.log_posterior, left_out.codes, left_out.weights


def _on_given_rows(sources: Sources) -> tuple[FloatArray, IntArray, FloatArray]:
    rows = sources.judged
    assert rows is not None
    return sources.model.predict_log_proba(rows.table), rows.codes, rows.weights


def _guess(confusion: FloatArray) -> dict[str, float]:
    """What the class shares alone would give."""
    share = confusion.sum(axis=1) / confusion.sum()
    some = share[share > 0]
    return {"accuracy": float(share.max()), "log_loss": float(-(some * np.log(some)).sum())}


def _most_confused(confusion: FloatArray) -> list[list[Any]]:
    """True class, predicted class and rows of the mistakes that are made most."""
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    places = zip(*np.unravel_index(order, wrong.shape), strict=True)
    return [[int(true), int(said), float(wrong[true, said])] for true, said in places if wrong[true, said] > 0]


def _shares(confusion: FloatArray, axis: int) -> list[float | None]:
    """The share of each class that was found (1), or of what was called so that is right (0); None for no rows."""
    total = confusion.sum(axis=axis)
    shares = zip(np.diag(confusion).tolist(), total.tolist(), strict=True)
    return [own / all_ if all_ > 0 else None for own, all_ in shares]
