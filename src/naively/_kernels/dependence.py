"""The hot loops of pair and triple statistics, compiled by Numba.

Import this module only when the work repays loading the compiler; `ande` and `pairs` hold a plain
NumPy reference of each function, which small tables use and the tests compare with.
Cells number the codes of all columns in one row; ``-1`` is missing. The class axis is always last,
so the innermost loop over classes runs over neighbouring memory.
"""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively.typing import AnyArray, FloatArray, IntArray


@kernel
def count_pairs(cells: IntArray, target: IntArray, weights: FloatArray, counts: FloatArray) -> None:
    """Add the rows' cell pairs to ``counts`` (cells, cells, classes), the upper triangle and the diagonal."""
    for n in range(cells.shape[0]):
        y = target[n]
        w = weights[n]
        for i in range(cells.shape[1]):
            u = cells[n, i]
            if u < 0:
                continue
            for k in range(i, cells.shape[1]):
                v = cells[n, k]
                if v >= 0:
                    counts[u, v, y] += w


@kernel
def count_triples(
    codes: IntArray, target: IntArray, weights: FloatArray, sizes: IntArray, starts: IntArray, counts: FloatArray
) -> None:
    """Add the rows' code triples to the packed ``counts`` (cells of all column triples, classes)."""
    n_columns = codes.shape[1]
    for n in range(codes.shape[0]):
        y = target[n]
        w = weights[n]
        t = -1
        for i in range(n_columns):
            for k in range(i + 1, n_columns):
                for m in range(k + 1, n_columns):
                    t += 1
                    a = codes[n, i]
                    b = codes[n, k]
                    c = codes[n, m]
                    if a >= 0 and b >= 0 and c >= 0:
                        counts[starts[t] + (a * sizes[k] + b) * sizes[m] + c, y] += w


@kernel
def _add_in_probability_space(best: FloatArray, total: FloatArray, term: FloatArray) -> None:
    """Running log-sum-exp: ``best + log(total)`` becomes that plus ``term``."""
    for j in range(len(term)):
        if term[j] <= best[j]:
            total[j] += np.exp(term[j] - best[j])
        else:
            total[j] = total[j] * np.exp(best[j] - term[j]) + 1.0
            best[j] = term[j]


@kernel
def score_one_parent(
    cells: IntArray,
    own: IntArray,
    log_own_marginal: FloatArray,
    log_own_conditional: FloatArray,
    log_prior: FloatArray,
    log_marginal: FloatArray,
    log_conditional: FloatArray,
    is_parent: AnyArray,
    scores: FloatArray,
) -> None:
    """Log of the mean over parents of P(y, x_i) prod_k P(x_k | y, x_i); naive Bayes without a parent.

    ``own[n]`` is the class whose numbers come from ``log_own_*`` (its row left out), or -1 for none.
    """
    n_columns = cells.shape[1]
    n_classes = log_prior.shape[1]
    term = np.empty(n_classes)
    best = np.empty(n_classes)
    total = np.empty(n_classes)
    for n in range(cells.shape[0]):
        y = own[n]
        best[:] = -np.inf
        total[:] = 0.0
        found = False
        for i in range(n_columns):
            u = cells[n, i]
            if u < 0 or not is_parent[n, i]:
                continue
            found = True
            for j in range(n_classes):
                term[j] = log_prior[n, j] + log_marginal[u, j]
            own_term = 0.0
            if y >= 0:
                own_term = log_prior[n, y] + log_own_marginal[n, i]
            for k in range(n_columns):
                v = cells[n, k]
                if v < 0 or k == i:
                    continue
                for j in range(n_classes):
                    term[j] += log_conditional[u, v, j]
                if y >= 0:
                    own_term += log_own_conditional[n, i, k]
            if y >= 0:
                term[y] = own_term
            _add_in_probability_space(best, total, term)
        if found:
            for j in range(n_classes):
                scores[n, j] = best[j] + np.log(total[j])
        else:
            for j in range(n_classes):
                scores[n, j] = log_prior[n, j]
            for k in range(n_columns):
                v = cells[n, k]
                if v < 0:
                    continue
                for j in range(n_classes):
                    scores[n, j] += log_own_marginal[n, k] if j == y else log_marginal[v, j]


@kernel
def score_two_parents(
    codes: IntArray,
    offsets: IntArray,
    sizes: IntArray,
    starts: IntArray,
    own: IntArray,
    log_own_joint: FloatArray,
    log_own_conditional: FloatArray,
    log_prior: FloatArray,
    log_joint: FloatArray,
    log_conditional: FloatArray,
    is_parent: AnyArray,
    fallback: FloatArray,
    scores: FloatArray,
) -> None:
    """Log of the mean over parent pairs of P(y, x_i, x_k) prod_m P(x_m | y, x_i, x_k).

    One walk over the column triples i < k < m serves all three choices of the child, as the packed
    table holds them side by side. Rows without a parent pair take ``fallback``.
    """
    n_columns = codes.shape[1]
    n_classes = log_prior.shape[1]
    n_pairs = n_columns * (n_columns - 1) // 2
    pair_number = np.empty((n_columns, n_columns), dtype=np.int64)
    pair = 0
    for i in range(n_columns):
        for k in range(i + 1, n_columns):
            pair_number[i, k] = pair
            pair += 1
    terms = np.empty((n_pairs, n_classes))
    own_terms = np.empty(n_pairs)
    best = np.empty(n_classes)
    total = np.empty(n_classes)
    for n in range(codes.shape[0]):
        y = own[n]
        found = False
        for i in range(n_columns):
            for k in range(i + 1, n_columns):
                pair = pair_number[i, k]
                if not is_parent[n, pair]:
                    continue
                found = True
                for j in range(n_classes):
                    terms[pair, j] = log_prior[n, j] + log_joint[offsets[i] + codes[n, i], offsets[k] + codes[n, k], j]
                if y >= 0:
                    own_terms[pair] = log_prior[n, y] + log_own_joint[n, pair]
        if not found:
            scores[n] = fallback[n]
            continue
        t = -1
        for i in range(n_columns):
            for k in range(i + 1, n_columns):
                for m in range(k + 1, n_columns):
                    t += 1
                    a = codes[n, i]
                    b = codes[n, k]
                    c = codes[n, m]
                    if a < 0 or b < 0 or c < 0:
                        continue
                    position = starts[t] + (a * sizes[k] + b) * sizes[m] + c
                    # The child is the last, the middle, the first column of the triple in turn.
                    parents = (pair_number[i, k], pair_number[i, m], pair_number[k, m])
                    for role in range(3):
                        pair = parents[role]
                        if not is_parent[n, pair]:
                            continue
                        for j in range(n_classes):
                            terms[pair, j] += log_conditional[position, role, j]
                        if y >= 0:
                            own_terms[pair] += log_own_conditional[n, t, role]
        best[:] = -np.inf
        total[:] = 0.0
        for pair in range(n_pairs):
            if is_parent[n, pair]:
                if y >= 0:
                    terms[pair, y] = own_terms[pair]
                _add_in_probability_space(best, total, terms[pair])
        for j in range(n_classes):
            scores[n, j] = best[j] + np.log(total[j])


@kernel
def screen_pairs(
    cells: IntArray,
    first: IntArray,
    second: IntArray,
    own: IntArray,
    log_own_ratio: FloatArray,
    log_ratio: FloatArray,
    proba: FloatArray,
    row_weights: FloatArray,
    slope: FloatArray,
    curvature: FloatArray,
) -> None:
    """Slope and curvature (models, pairs) of the log-likelihood in each pair's weight, at weight 0.

    ``proba`` (models, rows, classes) and ``row_weights`` (models, rows) belong to the fitted models; a
    weight of 0 keeps a row out. The correction of a row is shared by all models.
    """
    n_models, n_rows, n_classes = proba.shape
    ratio = np.empty(n_classes)
    for q in range(len(first)):
        for n in range(n_rows):
            u = cells[n, first[q]]
            v = cells[n, second[q]]
            if u < 0 or v < 0:
                continue
            y = own[n]
            for j in range(n_classes):
                ratio[j] = log_ratio[u, v, j]
            ratio[y] = log_own_ratio[n, q]
            for f in range(n_models):
                w = row_weights[f, n]
                if w == 0.0:
                    continue
                mean = 0.0
                square = 0.0
                for j in range(n_classes):
                    weighted = proba[f, n, j] * ratio[j]
                    mean += weighted
                    square += weighted * ratio[j]
                slope[f, q] += w * (ratio[y] - mean)
                curvature[f, q] += w * (square - mean * mean)
