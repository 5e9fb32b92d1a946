"""A little work for every kernel; run as a program it prints the results, so that two processes can be compared."""

import json

import numpy as np
from scipy import sparse

from naively.families import Gaussian
from tests.models import textbook


def numbers(values):
    """Statistics as plain lists of exact numbers."""
    low = [0.0] if values.low is None else values.low.ravel().tolist()
    return [values.high.ravel().tolist(), low]


def results():
    """The statistics and answers of several small models, by name."""
    random = np.random.default_rng(0)
    X, y = random.normal(1e3, 1.0, (40, 3)), random.integers(0, 3, 40)
    holes = np.where(random.random(X.shape) < 0.2, np.nan, X)
    weights = random.uniform(0.5, 2.0, 40)
    counts = random.poisson(1.0, (40, 3)).astype(float)
    counts[3, 1] = np.nan
    works = {
        "dense": (Gaussian(), X, None),
        "dense, weighted": (Gaussian(ties="feature"), X, weights),
        "holes": (Gaussian(ddof=1), holes, None),
        "holes, weighted": (Gaussian(ties="all"), holes, weights),
        "sparse": (Gaussian(), sparse.csr_array(counts), None),
        "sparse, weighted": ("poisson", sparse.csr_array(counts), weights),
        "words": ("multinomial", sparse.csr_array(counts), weights),
        "codes": ("categorical", counts, None),
        "codes from 1": ("categorical", counts + 1, None),
        "codes, weighted": ("categorical", counts, weights),
        "many rows": (Gaussian(), random.normal(1e6, 1.0, (700, 1)), None),
    }
    found = {}
    for name, (family, table, row_weights) in works.items():
        classes = y if table.shape[0] == 40 else np.zeros(700, dtype=int)
        model = textbook(families=family).fit(table, classes, row_weights)
        (statistics,) = model.statistics_.tables.values()
        parts = (
            [statistics.cells]
            if family == "categorical"
            else [statistics.total, statistics.observed, statistics.square]
        )
        found[name] = {
            "sums": [numbers(part) for part in parts if part is not None],
            "scores": model.predict_joint_log_proba(table[:5]).ravel().tolist(),
        }
    return found


if __name__ == "__main__":
    print(json.dumps(results()))
