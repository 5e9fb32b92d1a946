"""The answers of Spark's NaiveBayes, which smooths the class prior too, to 1e-12 on log-probabilities."""

import numpy as np
import pytest

from tests.models import textbook
from tests.reference.golden import ask, assert_logs_equal, numbers, read_cases

# Left out: multinomial_s0, whose probabilities are not a number.
CASES = ["multinomial_s1", "multinomial_s0.5", "multinomial_weight", "bernoulli_gt0", "complement_s1"]


@pytest.mark.parametrize(("document", "case"), read_cases("spark", ["counts-synthetic"], CASES))
def test_probability(document, case):
    smoothing = case["params"]["smoothing"]
    family = case["params"]["modelType"]
    prior = "uniform" if family == "complement" else "estimated"  # which it leaves out there
    model = textbook(families=family, smoothing=smoothing, prior_smoothing=smoothing, prior=prior)
    query = ask(model, document, case)
    assert_logs_equal(model.predict_log_proba(query), np.log(numbers(case["probability"])))
