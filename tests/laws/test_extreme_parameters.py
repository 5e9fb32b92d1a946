"""No parameter that is accepted leads to a NaN; what cannot work is refused where it is given."""

import numpy as np
import pytest

from naively import NaiveBayes
from naively.errors import ParameterError
from naively.families import Binned, Categorical, Codes, Complement, Gaussian, Joint, Kernel, Poisson, StudentT, Text
from naively.smoothing import Beta, Dirichlet, ImaginarySample, Lidstone, MEstimate, PerColumn
from tests.models import textbook

pytestmark = pytest.mark.filterwarnings("ignore:.*every class had probability zero")

AMOUNTS = [5e-324, 1e-310, 1e-300, 1e-100, 1.0, 1e50, 1e100]
TOO_MUCH = [1.1e100, 1e300, 1e308]
RULES = {
    "Lidstone": Lidstone,
    "MEstimate": MEstimate,
    "MEstimate, marginal": lambda amount: MEstimate(amount, "marginal"),
    "MEstimate, classes": lambda amount: MEstimate(amount, "classes"),
    "MEstimate, features": lambda amount: MEstimate(amount, "features"),
    "Dirichlet, mean": lambda amount: Dirichlet(amount, "mean"),
    "Dirichlet, map": lambda amount: Dirichlet(max(1.0, amount)),
    "Dirichlet by value": lambda amount: Dirichlet([amount, 1e-320, amount, 1.0], "mean"),
    "ImaginarySample": ImaginarySample,
}
TWO_VALUED = {
    "Beta": lambda amount: Beta(amount, 1e-300, "mean"),
    "Beta, both": lambda amount: Beta(amount, amount, "mean"),
    "PerColumn": lambda amount: PerColumn([amount, 1e-320]),
}
FAMILIES = ["multinomial", "poisson", "complement", Poisson("events"), Complement(norm=True), Codes(), Binned()]
OPTIONS = {
    "floor": lambda amount: Gaussian(floor=amount),
    "floor, scikit-learn": lambda amount: Gaussian(floor=amount, rule="scikit-learn"),
    "floor, absolute": lambda amount: Gaussian(floor=amount, rule="absolute"),
    "floor, threshold": lambda amount: Gaussian(floor=amount, rule="threshold"),
    "interval": lambda amount: Gaussian(interval=amount),
    "eps": lambda amount: Gaussian(eps=amount, rule="threshold"),
    "prior_rows": lambda amount: StudentT(prior_rows=amount),
    "prior_shape": lambda amount: StudentT(prior_shape=amount),
    "floor, pooled": lambda amount: StudentT(floor=amount, pooled=True),
    "bandwidth": lambda amount: Kernel(bandwidth=amount),
    "bandwidth, bells": lambda amount: Kernel(bandwidth=amount, background=False),
    "bandwidth, grid": lambda amount: Kernel(bandwidth=amount, background=False, points=512),
    "adjust": lambda amount: Kernel(adjust=amount),
    "adjust, scores": lambda amount: Kernel(adjust=amount, scores=True),
    "adjust, nearest": lambda amount: Kernel(adjust=amount, background=False, points=512, nearest=True),
}
X = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 0.0], [3.0, 1.0], [2.0, 3.0], [2.0, 0.0]])
Y = [0, 0, 1, 1, 1, 2]
QUERY = np.vstack([X, [[5.0, 9.0], [np.nan, np.nan]]])


def assert_answers(model, weights, table=X, query=QUERY):
    model = model.fit(table, Y, weights)
    assert np.isfinite(model.predict_proba(query)).all()
    assert not np.isnan(model.evidence(query)).any()


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("weight", [1.0, 1e-300, 1e90])
@pytest.mark.parametrize("rule", RULES)
def test_smoothing(rule, amount, weight):
    smoothing, weights = RULES[rule](amount), [weight] * 6
    assert_answers(textbook(families=Categorical([0, 1, 2, 3]), smoothing=smoothing), weights)
    if rule == "Dirichlet by value":
        return
    assert_answers(textbook(families="bernoulli", smoothing=smoothing), weights)
    for recipe in ("textbook", "fast"):
        assert_answers(NaiveBayes(recipe, prior_smoothing=smoothing), weights)
    for family in FAMILIES:
        assert_answers(textbook(families=family, smoothing=smoothing), weights)
    if rule in ("Lidstone", "MEstimate", "MEstimate, marginal", "ImaginarySample"):
        assert_answers(textbook(families="categorical", factors=[Joint(0, 1)], smoothing=smoothing), weights)


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("rule", TWO_VALUED)
def test_smoothing_of_two_values(rule, amount):
    for weight in (1.0, 1e-300, 1e90):
        assert_answers(textbook(families="bernoulli", smoothing=TWO_VALUED[rule](amount)), [weight] * 6)


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("event", ["multinomial", "bernoulli", "complement"])
def test_smoothing_of_texts(event, amount):
    texts = {"text": ["a b", "b c d", None, "hello a", "a", "c c"]}
    assert_answers(textbook(families=Text(event=event), smoothing=amount), None, texts, texts)


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_families(option, amount):
    for weight in (1.0, 1e-300, 1e90):
        assert_answers(textbook(families=OPTIONS[option](amount)), [weight] * 6)
        assert_answers(textbook(families=OPTIONS[option](amount)), [weight] * 6, np.full(X.shape, 7.0))


@pytest.mark.parametrize("amount", TOO_MUCH)
def test_amounts_that_cannot_work_are_refused(amount):
    for name, make in (RULES | TWO_VALUED | OPTIONS).items():
        with pytest.raises(ParameterError, match=r"at most 1e\+100"):
            print(name, make(amount))
    for parameter in ("smoothing", "prior_smoothing"):
        with pytest.raises(ParameterError, match=rf"{parameter} must be at most 1e\+100"):
            textbook(**{parameter: amount}).fit(X, Y)
