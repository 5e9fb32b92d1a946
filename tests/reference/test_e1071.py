"""The answers of R's e1071::naiveBayes, to 1e-12 on log-probabilities."""

import numpy as np
import pytest

from naively.families import Categorical, Gaussian
from tests.models import textbook
from tests.reference.golden import ask, assert_logs_equal, numbers, read_cases

# Left out, as this model has no thresholds (`test_compat` has them):
# - laplace0_thr0.01_eps0.001 (all tables): every probability, and every density, of at most eps becomes `threshold`. In
#   the cases below the same rule has nothing to do: no probability in them is zero.
CASES = ["laplace0", "laplace1", "laplace3", "split_laplace0"]
TABLES = ("iris", "pima-diabetes", "german-credit", "house-votes-84", "titanic-2201")


@pytest.mark.parametrize(("document", "case"), read_cases("e1071", TABLES, CASES))
def test_posterior(document, case):
    families = {name: Gaussian(ddof=1) for name in document.get("numeric", [])}
    families |= {name: Categorical(levels) for name, levels in document.get("levels", {}).items()}
    model = textbook(families=families, smoothing=case["params"]["laplace"])
    query = ask(model, document, case)
    assert_logs_equal(model.predict_log_proba(query), np.log(numbers(case["posterior"])))
