"""The answers of scikit-learn's naive Bayes classifiers, to 1e-12 on log-probabilities."""

import numpy as np
import pytest

from naively.families import Bernoulli, Categorical, Complement, Gaussian
from tests.models import textbook
from tests.reference.golden import ask, assert_logs_equal, numbers, read_cases

# Left out, because scikit-learn does something else there on purpose or by accident:
# - gauss_weight: its epsilon is a share of the unweighted variance even when there are weights; ours is weighted, since
#   a weight w is w repetitions. The drop-in does as scikit-learn does.
# - gauss_partial_fit_odd_then_even: its epsilon is that of the last chunk, so its answer depends on the chunks.
GAUSSIAN = ["gauss", "gauss_split", "gauss_vs1e-3", "gauss_vs0", "gauss_priors"]
MULTINOMIAL = [
    "multinomial_a1",
    "multinomial_a0.01_weight",
    "multinomial_a1.0",
    "multinomial_a0.5",
    "multinomial_a0.01",
    "multinomial_prior",
    "multinomial_uniform",
    "multinomial_weight",
]
CATEGORICAL = [
    "categorical_a1.0",
    "categorical_a0.5",
    "categorical_a1e-10",
    "categorical_a0.0",
    "categorical_prior",
    "categorical_uniform",
    "categorical_mincat5",
    "categorical_mincat12",
    "categorical_weight",
]
BERNOULLI = [
    "bernoulli_a1.0",
    "bernoulli_a0.1",
    "bernoulli_weight",
    "bernoulli_a1.0_bin0.0",
    "bernoulli_a0.1_bin4.0",
]

COMPLEMENT = [
    "complement_a1.0_normFalse",
    "complement_a1.0_normTrue",
    "complement_a0.1_normFalse",
    "complement_a0.1_normTrue",
    "complement_weight",
]

numeric_tables = ("iris", "pima-diabetes")
discrete_tables = ("house-votes-84", "german-credit", "titanic-2201")


def model_of(families, params):
    """The same model, in our words."""
    prior = params.get("priors", params.get("class_prior", "estimated" if params.get("fit_prior", True) else "uniform"))
    return textbook(families=families, smoothing=params.get("alpha", 1.0), prior=prior)


def assert_same_joint(model, document, case, **how):
    query = ask(model, document, case, **how)
    assert_logs_equal(model.predict_joint_log_proba(query), numbers(case["joint_log_proba"]))


@pytest.mark.parametrize(
    ("document", "case"),
    read_cases("sklearn_numeric", numeric_tables, GAUSSIAN)
    + read_cases("sklearn_counts", ["counts-synthetic"], GAUSSIAN),
)
def test_gaussian(document, case):
    family = Gaussian(rule="scikit-learn", floor=case["params"].get("var_smoothing", 1e-9))
    assert_same_joint(model_of(family, case["params"]), document, case)


@pytest.mark.parametrize(
    ("document", "case"),
    read_cases("sklearn_numeric", numeric_tables, MULTINOMIAL)
    + read_cases("sklearn_counts", ["counts-synthetic"], MULTINOMIAL),
)
def test_multinomial(document, case):
    assert_same_joint(model_of("multinomial", case["params"]), document, case)


@pytest.mark.parametrize(("document", "case"), read_cases("sklearn_counts", ["counts-synthetic", "digits"], COMPLEMENT))
def test_complement(document, case):
    model = model_of(Complement(norm=case["params"].get("norm", False)), {**case["params"], "fit_prior": False})
    query = ask(model, document, case)
    without_prior = model.predict_joint_log_proba(query) - np.log(model.class_prior_)
    assert_logs_equal(without_prior, numbers(case["joint_log_proba"]))


@pytest.mark.parametrize(("document", "case"), read_cases("sklearn_discrete", discrete_tables, CATEGORICAL))
def test_categorical(document, case):
    at_least = case["params"].get("min_categories", 0)
    families = {
        name: Categorical([*levels, *(f"unused {place}" for place in range(len(levels), at_least))])
        for name, levels in document["levels"].items()
    }
    assert_same_joint(model_of(families, case["params"]), document, case)


@pytest.mark.parametrize(
    ("document", "case"),
    read_cases("sklearn_discrete", ["house-votes-84"], BERNOULLI)
    + read_cases("sklearn_counts", ["counts-synthetic"], BERNOULLI),
)
def test_bernoulli(document, case):
    def codes(columns):
        levels = document.get("levels")
        if levels is None:
            return columns
        return {name: [levels[name].index(cell) for cell in cells] for name, cells in columns.items()}

    family = Bernoulli(case["params"].get("binarize", 0.0))
    assert_same_joint(model_of(family, case["params"]), document, case, change=codes)
