"""R's caret, method "nb": the same scores in every fold, and the same best row of its grids."""

import numpy as np
import pytest

from naively import tune
from naively.families import Gaussian, Kernel
from tests.models import textbook
from tests.reference.golden import read_cases, read_data

CASES = read_cases("caret_nb", ["iris"], ["default_grid", "larger_grid"])


def point(row):
    """A row of caret's grid in our words: klaR's Gaussian divides by n - 1, its `fL` is a pseudo-count."""
    family = Kernel(adjust=row["adjust"]) if row["usekernel"] else Gaussian(ddof=1)
    return {"families": family, "smoothing": row["fL"]}


@pytest.mark.parametrize(("document", "case"), CASES)
def test_accuracy_and_kappa_are_those_of_caret_in_every_fold(document, case):
    columns, y, _ = read_data(document)
    everything = np.arange(len(y))
    folds = [(np.array(train), np.setdiff1d(everything, train)) for train in document["folds_train_rows"]]
    grid = [point(row) for row in case["results"]]
    found = tune(textbook(), columns, y, grid, folds=folds, scoring=["accuracy", "kappa"])
    for ours, theirs in (("accuracy", "Accuracy"), ("kappa", "Kappa")):
        expected = [[_score(case, row, fold, theirs) for fold in document["fold_names"]] for row in case["results"]]
        np.testing.assert_allclose(found.scores[ours], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.table[ours], [row[theirs] for row in case["results"]], rtol=1e-12)
        np.testing.assert_allclose(found.table[f"{ours}_sd"], [row[f"{theirs}SD"] for row in case["results"]])
    best = case["results"][found.best_index_]
    assert {name: best[name] for name in case["best_tune"]} == case["best_tune"]


def _score(case, row, fold, name):
    wanted = {"Resample": fold, **{key: row[key] for key in ("usekernel", "fL", "adjust")}}
    (found,) = [one[name] for one in case["resample"] if all(one[key] == value for key, value in wanted.items())]
    return found
