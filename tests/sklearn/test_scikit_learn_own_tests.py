"""scikit-learn's own tests of its naive Bayes classifiers, run on ours.

The installed test module is executed once more with our five classes in place of scikit-learn's, and each of its test
functions runs here under its own name and parameters.
"""

import importlib.util
import inspect
import itertools

import numpy as np
import pytest
import sklearn.naive_bayes

import naively.sklearn
from tests.versions import SCIKIT_LEARN

SWAPPED = naively.sklearn.__all__

DIFFERENT_ON_PURPOSE = {
    "test_gnb_check_update_with_no_data": "calls a private function that we have no use for: sums are added, not means",
    "test_gnb_partial_fit[float32]": "answers are float64, whatever X is",
    "test_discretenb_provide_prior[*]": "wants a failed fit to change the classes; ours leaves the model as it was",
}
"""The tests that we fail, and why; * stands for every parameter."""

NOT_FOR_US = {"test_gnb_array_api_compliance"}
"""Only for estimators that claim to support the Array API, which skips itself where its packages are not installed."""

if SCIKIT_LEARN < (1, 8):  # it compares log(1 - 1e-10) to seven digits; later versions allow for rounding
    NOT_FOR_US.add("test_predict_joint_proba")

FIXTURES = {"global_random_seed": [0, 42], "global_dtype": [np.float64, np.float32]}
"""What scikit-learn's own conftest provides."""


def load_their_tests():
    """Their test module, in which the classes are ours from the first line on."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SWAPPED:
            patch.setattr(sklearn.naive_bayes, name, getattr(naively.sklearn, name))
        spec = importlib.util.find_spec("sklearn.tests.test_naive_bayes")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def cases_of(function):
    """Every set of arguments that pytest would call the function with, by a readable name."""
    choices = []
    for mark in getattr(function, "pytestmark", []):
        names = [name.strip() for name in mark.args[0].split(",")]
        rows = [_row(values, len(names)) for values in mark.args[1]]
        choices.append([dict(zip(names, row, strict=True)) for row in rows])
    fixtures = [name for name in inspect.signature(function).parameters if name in FIXTURES]
    choices += [[{name: value} for value in FIXTURES[name]] for name in fixtures]
    for combination in itertools.product(*choices):
        arguments = {name: value for part in combination for name, value in part.items()}
        shown = "-".join(_shown(value) for value in arguments.values())
        yield f"{function.__name__}[{shown}]" if shown else function.__name__, arguments


def _row(values, length):
    """The values of one case, written plainly or as `pytest.param`."""
    if hasattr(values, "marks"):
        return values.values
    return (values,) if length == 1 else values


def _shown(value):
    return value.__name__ if isinstance(value, type) else "".join(str(value).split())


def matches(name, pattern):
    return name == pattern or (pattern.endswith("[*]") and name.startswith(pattern[:-2]))


theirs = load_their_tests()
CASES = {
    name: (function, arguments)
    for function in vars(theirs).values()
    if inspect.isfunction(function) and function.__name__.startswith("test_")
    if function.__name__ not in NOT_FOR_US
    for name, arguments in cases_of(function)
}
FAILING = [name for name in CASES if any(matches(name, pattern) for pattern in DIFFERENT_ON_PURPOSE)]


@pytest.mark.filterwarnings("ignore:alpha too small")
@pytest.mark.parametrize("name", [name for name in CASES if name not in FAILING])
def test_passes(name):
    function, arguments = CASES[name]
    function(**arguments)


@pytest.mark.parametrize("name", FAILING)
def test_what_is_listed_as_different_is_different(name):
    function, arguments = CASES[name]
    with pytest.raises((Exception, pytest.fail.Exception)):
        function(**arguments)


def test_the_list_of_differences_names_nothing_else():
    for pattern in DIFFERENT_ON_PURPOSE:
        has_no_parameters = pattern.partition("[")[0] in CASES  # in scikit-learn before 1.8, one of them has none
        assert any(matches(name, pattern) for name in CASES) or has_no_parameters, pattern


def test_it_is_our_classes_that_are_tested():
    assert len(CASES) > (100 if SCIKIT_LEARN >= (1, 8) else 90)
    for name in SWAPPED:
        assert getattr(theirs, name) is getattr(naively.sklearn, name)
        assert getattr(sklearn.naive_bayes, name) is not getattr(naively.sklearn, name)
    assert set(theirs.ALL_NAIVE_BAYES_CLASSES) == {getattr(naively.sklearn, name) for name in SWAPPED}


def test_arrays_of_other_libraries_are_not_promised():
    assert not naively.sklearn.GaussianNB().__sklearn_tags__().array_api_support
