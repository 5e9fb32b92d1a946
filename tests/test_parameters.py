"""Parameters of the model, the families, the smoothings: what they mean, and that bad ones are refused by name."""

import numpy as np
import pytest

from naively.errors import ParameterError
from naively.families import Bernoulli, Categorical, Gaussian
from naively.smoothing import Dirichlet, Jeffreys, Laplace, Lidstone, MEstimate, NoSmoothing
from tests.models import textbook

TABLE = {"colour": ["red", "red", "red", "blue"], "size": [1.0, 2.0, 5.0, 6.0]}
Y = ["a", "a", "b", "b"]
NAN, INF = float("nan"), float("inf")

BAD_PARAMETERS = {
    "recipe": ({"recipe": "secret"}, "recipe must be one of 'textbook'.*'secret'"),
    "recipe type": ({"recipe": 3}, "recipe must be one of.*3"),
    "family name": ({"families": "normal"}, "families must be a family.*'gaussian'.*'normal'"),
    "family type": ({"families": 3}, "families must be a family"),
    "family class": ({"families": Gaussian}, "families must be a family"),
    "family of a column": ({"families": {"size": "normal"}}, r"families\['size'\].*'normal'"),
    "family of no column": (
        {"families": {"weight": "gaussian"}},
        "families names the column 'weight'.*'colour', 'size'",
    ),
    "smoothing name": ({"smoothing": "much"}, "smoothing must be.*'laplace'.*'much'"),
    "smoothing below zero": ({"smoothing": -1.0}, "smoothing must be a finite number of at least 0, got -1.0"),
    "smoothing of NaN": ({"smoothing": NAN}, "smoothing must be a finite number"),
    "smoothing of infinity": ({"smoothing": INF}, "smoothing must be a finite number"),
    "smoothing type": ({"smoothing": [1, 2]}, "smoothing must be"),
    "smoothing truth": ({"smoothing": True}, "smoothing must be"),
    "smoothing of a column": ({"smoothing": {"colour": "much"}}, r"smoothing\['colour'\].*'much'"),
    "smoothing of no column": ({"smoothing": {"weight": 1.0}}, "smoothing names the column 'weight'"),
    "prior name": ({"prior": "flat"}, "prior must be 'estimated', 'uniform'.*'flat'"),
    "prior length": ({"prior": [0.2, 0.3, 0.5]}, r"one probability per class \(2.*\(3,\)"),
    "prior sum": ({"prior": [0.5, 0.6]}, "sum of the priors should be 1, got 1.1"),
    "prior below zero": ({"prior": [-0.5, 1.5]}, "zero or more"),
    "prior of NaN": ({"prior": [NAN, 1.0]}, "zero or more"),
    "prior of text": ({"prior": ["x", "y"]}, "one number per class"),
    "prior without a class": ({"prior": {"a": 1.0}}, "prior has no entry for the value 'b'"),
    "prior of three axes": ({"prior": np.full((1, 1, 2), 0.5)}, "shape"),
    "prior smoothing": ({"prior_smoothing": "much"}, "prior_smoothing must be"),
    "prior smoothing below zero": ({"prior_smoothing": -1}, "prior_smoothing must be a finite number of at least 0"),
    "no threads": ({"n_threads": 0}, "n_threads.*at least 1, got 0"),
    "threads of text": ({"n_threads": "all"}, "n_threads.*'all'"),
    "threads truth": ({"n_threads": True}, "n_threads.*whole number"),
}


@pytest.mark.parametrize(
    ("parameters", "message"), [pytest.param(*case, id=name) for name, case in BAD_PARAMETERS.items()]
)
def test_a_bad_parameter_is_refused_by_name(parameters, message):
    with pytest.raises(ParameterError, match=message):
        textbook(**parameters).fit(TABLE, Y).predict_proba(TABLE)


@pytest.mark.parametrize(
    "name", sorted(set(BAD_PARAMETERS) - {"prior length", "prior without a class", "prior of three axes"})
)
def test_a_parameter_that_is_wrong_whatever_the_classes_is_refused_before_any_work(name):
    model = textbook(**BAD_PARAMETERS[name][0])
    with pytest.raises(ParameterError):
        model.fit(TABLE, Y)
    assert not hasattr(model, "statistics_")


BAD_OBJECTS = {
    "ties": (lambda: Gaussian(ties="column"), r"Gaussian\(ties\).*'column'"),
    "ddof": (lambda: Gaussian(ddof=2), r"Gaussian\(ddof\) must be 0 or 1, got 2"),
    "floor": (lambda: Gaussian(floor=-1e-9), r"Gaussian\(floor\).*at least 0"),
    "floor of NaN": (lambda: Gaussian(floor=NAN), r"Gaussian\(floor\)"),
    "rule": (lambda: Gaussian(rule="global"), r"Gaussian\(rule\).*'global'"),
    "threshold": (lambda: Bernoulli("high"), r"Bernoulli\(threshold\)"),
    "threshold of NaN": (lambda: Bernoulli(NAN), r"Bernoulli\(threshold\)"),
    "categories of text": (lambda: Categorical("abc"), r"Categorical\(categories\).*'abc'"),
    "no categories": (lambda: Categorical([]), r"Categorical\(categories\).*non-empty"),
    "tau": (lambda: Lidstone(-1), r"Lidstone\(tau\).*at least 0, got -1"),
    "tau of text": (lambda: Lidstone("1"), r"Lidstone\(tau\)"),
    "m": (lambda: MEstimate(-1), r"MEstimate\(m\).*at least 0"),
    "p": (lambda: MEstimate(1, "flat"), r"MEstimate\(p\).*'flat'"),
    "p's sum": (lambda: MEstimate(1, [0.5, 0.6]), r"MEstimate\(p\).*sum to 1"),
    "p below zero": (lambda: MEstimate(1, [1.5, -0.5]), r"MEstimate\(p\)"),
    "p of nothing": (lambda: MEstimate(1, []), r"MEstimate\(p\)"),
    "p of NaN": (lambda: MEstimate(1, [NAN, 1.0]), r"MEstimate\(p\)"),
    "p of text": (lambda: MEstimate(1, ["x", "y"]), r"MEstimate\(p\)"),
    "p of nothing at all": (lambda: MEstimate(1, None), r"MEstimate\(p\)"),
    "beta for the mode": (lambda: Dirichlet(0.5), r"Dirichlet\(beta\) must be at least 1.*estimator='mean'"),
    "beta below zero": (lambda: Dirichlet(-1.0, "mean"), r"Dirichlet\(beta\)"),
    "beta of infinity": (lambda: Dirichlet(INF, "mean"), r"Dirichlet\(beta\)"),
    "beta of NaN": (lambda: Dirichlet(NAN), r"Dirichlet\(beta\)"),
    "beta of text": (lambda: Dirichlet("flat"), r"Dirichlet\(beta\)"),
    "estimator": (lambda: Dirichlet(2.0, "mode"), r"Dirichlet\(estimator\).*'mode'"),
}


@pytest.mark.parametrize(("make", "message"), [pytest.param(*case, id=name) for name, case in BAD_OBJECTS.items()])
def test_a_bad_option_is_refused_by_name(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def probability_of_blue(smoothing):
    model = textbook(smoothing=smoothing).fit(TABLE, Y)
    return model.parameters()["colour"]["probability"]["blue"].tolist()


@pytest.mark.parametrize(
    ("smoothing", "expected"),
    [
        (0, [0.0, 1 / 2]),
        ("none", [0.0, 1 / 2]),
        (NoSmoothing(), [0.0, 1 / 2]),
        (None, [1 / 4, 2 / 4]),
        (1, [1 / 4, 2 / 4]),
        ("laplace", [1 / 4, 2 / 4]),
        (Laplace(), [1 / 4, 2 / 4]),
        ("jeffreys", [0.5 / 3, 1.5 / 3]),
        (Jeffreys(), [0.5 / 3, 1.5 / 3]),
        (Lidstone(2.0), [2 / 6, 3 / 6]),
        (MEstimate(2.0), [1 / 4, 2 / 4]),
        (MEstimate(4.0, "marginal"), [1 / 6, 2 / 6]),
        (MEstimate(2.0, {"blue": 0.75, "red": 0.25}), [1.5 / 4, 2.5 / 4]),
        (MEstimate(2.0, [0.75, 0.25]), [1.5 / 4, 2.5 / 4]),
        (Dirichlet(2.0), [1 / 4, 2 / 4]),
        (Dirichlet(2.0, "mean"), [2 / 6, 3 / 6]),
        (Dirichlet({"blue": 3.0, "red": 1.0}), [2 / 4, 3 / 4]),
        (Dirichlet([3.0, 1.0], "mean"), [3 / 6, 4 / 6]),
        ({"colour": 2.0}, [2 / 6, 3 / 6]),
        ({0: 2.0}, [2 / 6, 3 / 6]),
    ],
)
def test_what_each_smoothing_means(smoothing, expected):
    np.testing.assert_allclose(probability_of_blue(smoothing), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "smoothing", [MEstimate(1, {"red": 1.0}), MEstimate(1, [0.2, 0.3, 0.5]), Dirichlet([1.0, 2.0, 3.0])]
)
def test_a_smoothing_that_does_not_fit_the_categories_says_so(smoothing):
    with pytest.raises(ParameterError, match=r"no entry for the value 'blue'|3 entries but the column has 2 values"):
        probability_of_blue(smoothing)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, [1 / 4, 3 / 4]),
        ({"prior": "estimated"}, [1 / 4, 3 / 4]),
        ({"prior_smoothing": 1.0}, [2 / 6, 4 / 6]),
        ({"prior_smoothing": "jeffreys"}, [1.5 / 5, 3.5 / 5]),
        ({"prior_smoothing": MEstimate(4.0)}, [3 / 8, 5 / 8]),
        ({"prior": "uniform"}, [1 / 2, 1 / 2]),
        ({"prior": [0.9, 0.1]}, [0.9, 0.1]),
        ({"prior": {"b": 0.1, "a": 0.9}}, [0.9, 0.1]),
        ({"prior": np.array([0.9, 0.1])}, [0.9, 0.1]),
    ],
)
def test_what_each_prior_means(parameters, expected):
    model = textbook(**parameters).fit([[1.0], [2.0], [3.0], [4.0]], list("abbb"))
    np.testing.assert_allclose(model.class_prior_, expected, rtol=1e-14)
    np.testing.assert_allclose(model.predict_proba([[np.nan]])[0], expected, rtol=1e-14)


def test_a_prior_per_row_must_have_as_many_rows():
    model = textbook().fit(TABLE, Y)
    with pytest.raises(ParameterError, match="prior has 3 rows but X has 4"):
        model.predict_proba(TABLE, prior=np.full((3, 2), 0.5))
    assert model.predict(TABLE, prior=[[1, 0], [0, 1], [1, 0], [0, 1]]).tolist() == ["a", "b", "a", "b"]


@pytest.mark.parametrize(("value", "works"), [("1", True), ("3", True), ("", True), ("0", False), ("many", False)])
def test_the_variable_that_bounds_the_threads(monkeypatch, value, works):
    monkeypatch.setenv("NAIVELY_NUM_THREADS", value)
    if works:
        assert textbook().fit(TABLE, Y).predict(TABLE).shape == (4,)
    else:
        with pytest.raises(ParameterError, match=f"NAIVELY_NUM_THREADS.*{value!r}"):
            textbook().fit(TABLE, Y)
    assert textbook(n_threads=2).fit(TABLE, Y).predict(TABLE).shape == (4,)


def test_the_variable_that_chooses_the_kernels(monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", "fastest")
    with pytest.raises(ParameterError, match=r"NAIVELY_KERNELS.*'auto', 'compiled' or 'reference', got 'fastest'"):
        textbook().fit(TABLE, Y)
