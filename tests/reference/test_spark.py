"""The answers of Spark's NaiveBayes, which smooths the class prior too, to 1e-12 on log-probabilities."""

import numpy as np
import pytest

from tests.models import textbook
from tests.reference.golden import ask, assert_logs_equal, numbers, read_cases

# Left out: multinomial_s0, whose probabilities are not a number; complement_s1, which is not a family of ours.
CASES = ["multinomial_s1", "multinomial_s0.5", "multinomial_weight", "bernoulli_gt0"]


@pytest.mark.parametrize(("document", "case"), read_cases("spark", ["counts-synthetic"], CASES))
def test_probability(document, case):
    smoothing = case["params"]["smoothing"]
    model = textbook(families=case["params"]["modelType"], smoothing=smoothing, prior_smoothing=smoothing)
    query = ask(model, document, case)
    assert_logs_equal(model.predict_log_proba(query), np.log(numbers(case["probability"])))
