"""Rows: what the default recipe does more than the textbook: histograms and a sample of the rows, and curves."""

from __future__ import annotations

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB

from bench import data
from bench.measure import Scale, side_by_side
from bench.result import Result, at_least, size
from naively import NaiveBayes

N_COLUMNS, N_CLASSES, LEARNT = 30, 2, 100_000


def auto_statistics(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(1_000_000), N_COLUMNS, N_CLASSES)
    times = side_by_side(scale, ours=lambda: NaiveBayes("auto").partial_fit(X, y), peer=lambda: GaussianNB().fit(X, y))
    return Result(
        work=f"auto's statistics, {size(len(X))} x {N_COLUMNS} float64, {N_CLASSES} classes",
        **times,
        peer_name="scikit-learn's GaussianNB.fit",
        must_move=X.nbytes,
        targets=[at_least(5, "x GaussianNB.fit", times["peer"] / times["ours"])],
        notes="partial_fit, which only counts: a histogram of every column and class, and a sample of the rows",
    )


def auto_predict(scale: Scale) -> Result:
    X, y = data.numbers(scale.rows(200_000), N_COLUMNS, N_CLASSES)
    learnt = slice(0, scale.rows(LEARNT))
    ours = NaiveBayes("auto").fit(X[learnt], y[learnt])
    peer = HistGradientBoostingClassifier(random_state=0).fit(X[learnt], y[learnt])
    times = side_by_side(scale, ours=lambda: ours.predict_proba(X), peer=lambda: peer.predict_proba(X))
    return Result(
        work=f"auto predict_proba, {size(len(X))} x {N_COLUMNS} float64, {N_CLASSES} classes",
        **times,
        peer_name="HistGradientBoosting",
        must_move=X.nbytes + 8 * len(X) * N_CLASSES,
        targets=[at_least(12, "x HistGradientBoosting", times["peer"] / times["ours"])],
        notes=f"both fitted on {size(learnt.stop)} rows; the peer uses all cores, too",
    )
