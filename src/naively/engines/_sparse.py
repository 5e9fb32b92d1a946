"""Power sums of a CSR matrix: classes are shared out among the threads, so no two ever add to the same sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from naively._kernels import repays_compiler, with_reference
from naively.engines._threads import in_order
from naively.statistics._sums import Grouping, Sum, exact_slices, two_product
from naively.typing import FloatArray, IntArray


@with_reference
def sparse_power_sums(
    matrix: Any, codes: IntArray, weights: FloatArray | None, n_classes: int, squares: bool, n_threads: int
) -> tuple[Sum, Sum, Sum | None]:
    """The sums, the sums of squares (zeros unless wanted) and the weight of missing cells, (classes, columns)."""
    if repays_compiler(matrix.nnz):
        return _compiled(matrix, codes, weights, n_classes, squares, n_threads)
    return _reference(matrix, codes, weights, n_classes, squares)


def _reference(
    matrix: Any, codes: IntArray, weights: FloatArray | None, n_classes: int, squares: bool
) -> tuple[Sum, Sum, Sum | None]:
    row_weights = np.ones(matrix.shape[0]) if weights is None else weights
    missing = np.isnan(matrix.data)
    values = np.where(missing, 0.0, matrix.data)
    spread = np.repeat(row_weights, np.diff(matrix.indptr))
    with np.errstate(over="ignore", invalid="ignore"):
        high, low = two_product(values, spread)
        total = _class_sums(matrix, codes, n_classes, high, low)
        square = Sum.zeros(total.shape)
        if squares:
            square = _class_sums(matrix, codes, n_classes, *two_product(high, values), *two_product(low, values))
    absent = _class_sums(matrix, codes, n_classes, missing * spread) if missing.any() else None
    return total, square, absent


def _class_sums(matrix: Any, codes: IntArray, n_classes: int, *parts: FloatArray) -> Sum:
    """Exact sums by class of values that sit in the matrix's cells, as products with the matrix of memberships."""
    from scipy import sparse

    known = np.flatnonzero(codes >= 0)
    membership = sparse.csr_array((np.ones(len(known)), (codes[known], known)), shape=(n_classes, matrix.shape[0]))
    result = Sum.zeros((n_classes, matrix.shape[1]))
    for part in parts:
        for slice_ in exact_slices(part, matrix.shape[0]):
            cells = sparse.csr_array((slice_, matrix.indices, matrix.indptr), shape=matrix.shape)
            result = result + Sum((membership @ cells).toarray())
    return result


def _compiled(
    matrix: Any, codes: IntArray, weights: FloatArray | None, n_classes: int, squares: bool, n_threads: int
) -> tuple[Sum, Sum, Sum | None]:
    from naively._kernels.sparse_sums import add_sparse_counts, add_sparse_power_sums

    grouping = Grouping(codes, n_classes)
    order, bounds = grouping.order, np.searchsorted(grouping.ordered, np.arange(n_classes + 1))
    cells = (matrix.data, matrix.indices, matrix.indptr, order, bounds)
    shape = (n_classes, matrix.shape[1])
    shares = _shares(bounds, n_threads)
    if weights is None and not squares:
        counts = np.zeros(shape)
        if all(list(in_order(lambda share: add_sparse_counts(*cells, *share, counts), shares, n_threads))):
            return Sum(counts), Sum.zeros(shape), None
    # np.zeros touches no memory until it is written to, so the parts that stay zero are free.
    total, total_low, absent, absent_low = (np.zeros(shape) for _ in range(4))
    square, square_low = (np.zeros(shape if squares else (0, 0)) for _ in range(2))
    row_weights = np.zeros(0) if weights is None else weights
    sums = (total, total_low, square, square_low, absent, absent_low)
    list(in_order(lambda share: add_sparse_power_sums(*cells, row_weights, squares, *share, *sums), shares, n_threads))
    missing = bool(np.isnan(matrix.data).any())
    return (
        Sum.of_parts(total, total_low),
        Sum.of_parts(square, square_low) if squares else Sum.zeros(shape),
        Sum.of_parts(absent, absent_low) if missing else None,
    )


def _shares(bounds: IntArray, n_threads: int) -> list[tuple[int, int]]:
    """Ranges of classes with about as many rows each."""
    n_classes = len(bounds) - 1
    cuts = np.searchsorted(bounds, np.linspace(0, bounds[-1], n_threads + 1)[1:-1])
    edges = [0, *np.unique(np.clip(cuts, 0, n_classes)).tolist(), n_classes]
    return [(first, last) for first, last in itertools.pairwise(edges) if last > first]
