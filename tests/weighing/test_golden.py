"""The recipes that weigh evidence give the answers that they gave."""

import json
from pathlib import Path

import numpy as np
import pytest

from naively import NaiveBayes
from naively.demo import penguins

pytestmark = pytest.mark.every_tree
GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())


@pytest.mark.parametrize("recipe", GOLDEN)
def test_the_defaults_give_the_answers_that_they_always_gave(recipe):
    """Golden answers of this version: solvers differ in where they stop."""
    rows, species = penguins()
    model = NaiveBayes(recipe).fit(rows[::2], species[::2])
    odd = [{**rows[0], "island": "Elsewhere"}, {"island": "Dream"}]
    expected = GOLDEN[recipe]
    np.testing.assert_allclose(model.predict_proba(rows[1::40] + odd), expected["proba"], atol=1e-4)
    np.testing.assert_allclose(model.loo()[:5], expected["loo"], rtol=1e-3)
    assert model.calibration_.log_loss == pytest.approx(expected["log_loss"], abs=1e-4)
