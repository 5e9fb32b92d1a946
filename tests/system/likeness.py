"""What "the same model" means for rows that were counted in other places."""

import numpy as np

from naively.statistics._statistics import same


def assert_same_sums(found, expected):
    """Counts, histograms, kept rows and the high words of sums are equal to the last bit."""
    assert found.classes.tolist() == expected.classes.tolist()
    assert np.array_equal(found.class_weight.high, expected.class_weight.high)
    assert found.tables.keys() == expected.tables.keys()
    for summary, table in expected.tables.items():
        other = found.tables[summary]
        if summary.kind != "moments":
            assert same(other, table), summary.words
            continue
        other = other.for_columns(table.columns)
        for part in ("observed", "total", "square"):
            np.testing.assert_allclose(getattr(other, part).high, getattr(table, part).high, rtol=2e-16, err_msg=part)
    assert found.kept == expected.kept


def assert_same_answers(model, local, rows, tolerance=1e-12):
    """Probabilities are equal but for rounding."""
    np.testing.assert_allclose(model.predict_proba(rows), local.predict_proba(rows), atol=tolerance)
