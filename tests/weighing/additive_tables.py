"""Statistics and additive models of columns that tests draw."""

import numpy as np

from naively._weighing.additive import Prior, fit_additive
from naively._weighing.kept import FOLDS, FittedRows, dealt_folds
from naively._weighing.sources import LabelColumn, NumericColumn
from naively._weighing.weights import CANDIDATES
from naively.families._densities import FAMILIES
from naively.statistics._histogram import Histogram


def class_moments(values, codes, n_classes, weights=None):
    """Weight, mean and scatter of each class, by the definition."""
    weights = np.ones(len(codes)) if weights is None else weights
    n, mean, scatter = np.zeros((3, n_classes))
    for code in range(n_classes):
        rows = (codes == code) & ~np.isnan(values)
        n[code] = weights[rows].sum()
        if n[code]:
            mean[code] = weights[rows] @ values[rows] / n[code]
            with np.errstate(over="ignore"):
                scatter[code] = weights[rows] @ (values[rows] - mean[code]) ** 2
    return n, mean, scatter


def fit(columns, codes, n_classes, weights=None, n_threads=1):
    """The additive model with all densities and candidates, every row kept."""
    statistics = []
    for column, (kind, values) in enumerate(columns):
        if kind == "numeric":
            histogram = Histogram.of(values, codes, n_classes, weights)
            moments = class_moments(values, codes, n_classes, weights)
            statistics.append(NumericColumn(column, histogram, moments, tuple(FAMILIES)))
        else:
            counts = np.zeros((n_classes, int(values.max(initial=-1)) + 1))
            seen = values >= 0
            np.add.at(counts, (codes[seen], values[seen]), 1.0 if weights is None else weights[seen])
            statistics.append(LabelColumn(column, counts))
    kept = np.ones(len(codes)) if weights is None else weights
    class_weights = np.bincount(codes, kept, n_classes)
    prior = Prior(class_weights, np.ones(n_classes))
    once = np.ones(len(codes), dtype=np.int64)
    rows = FittedRows(np.arange(len(codes)), dealt_folds(codes, FOLDS), codes, kept, once, kept)
    typical = np.bincount(codes, kept**2, n_classes) / np.maximum(class_weights, 1e-300)
    return fit_additive(statistics, prior, columns, rows, typical, tuple(CANDIDATES), n_threads)
