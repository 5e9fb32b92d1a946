"""Rows: word counts in a sparse matrix."""

from __future__ import annotations

import numpy as np
from sklearn.naive_bayes import MultinomialNB

from bench import data
from bench.measure import Scale, side_by_side
from bench.result import Result, Target, at_least, at_most, duration, size
from naively import NaiveBayes

N_TOKENS = 100


def multinomial_fit_20_classes(scale: Scale) -> Result:
    return _fit(scale, 20, 5)


def multinomial_fit_200_classes(scale: Scale) -> Result:
    return _fit(scale, 200, 20, against=20)


def _fit(scale: Scale, n_classes: int, faster: float, against: int | None = None) -> Result:
    X, y = data.documents(scale.rows(100_000), scale.choose(50_000, quick=5_000), N_TOKENS, n_classes)
    works = {
        "ours": lambda: NaiveBayes("textbook", families="multinomial").fit(X, y),
        "peer": lambda: MultinomialNB().fit(X, y),
    }
    if against is not None:
        fewer = y % against
        works["fewer"] = lambda: NaiveBayes("textbook", families="multinomial").fit(X, fewer)
    times = side_by_side(scale, **works)
    np.testing.assert_allclose(works["ours"]().predict_proba(X[:99]), works["peer"]().predict_proba(X[:99]), atol=1e-9)
    targets: list[Target] = [at_least(faster, "x scikit-learn", times["peer"] / times["ours"])]
    notes = f"{size(X.nnz)} stored cells; fit alone"
    if against is not None:
        targets.append(at_most(1.5, f"x its time with {against} classes", times["ours"] / times["fewer"]))
        notes += f"; {against} classes: {duration(times['fewer'])}"
    return Result(
        work=f"Multinomial fit, CSR, {size(X.shape[0])} documents x {size(X.shape[1])} words, {n_classes} classes",
        ours=times["ours"],
        peer=times["peer"],
        peer_name="scikit-learn",
        must_move=X.data.nbytes + X.indices.nbytes + X.indptr.nbytes,
        targets=targets,
        notes=notes,
    )
