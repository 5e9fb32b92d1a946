"""What messages say: the words of the user, never the internals of the package, and never a whole table."""

import re

import numpy as np
import pandas as pd
import pytest

from naively import TAN, NaiveBayes, tune
from naively.errors import NaivelyError, ParameterError, brief
from naively.families import (
    FAMILIES,
    Bernoulli,
    Binned,
    Categorical,
    Codes,
    Complement,
    Gaussian,
    Joint,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Text,
)
from naively.statistics.base import Summary, in_words
from tests.models import textbook

INTERNALS = re.compile(
    r"\b(Summary|View|Schema|Sum|Statistics|Moments|Counts|Histograms|JointSums|JointFamily|TreeFamily|Tokens|Reservoir|"
    r"Scorer|Factor|Decider|\w*Table|(?!MEstimate)\w*Estimate)\(|array\(|<naively\.| object at 0x|dtype="
)
LONGEST = 1000
X, Y = pd.DataFrame({"a": [1, 2, 3, 4, 0, 1], "b": [1, 0, 1, 1, 0, 0]}), [0, 1, 0, 1, 0, 1]
PROSE = {"a": ["one two three four five six seven eight", "nine ten eleven twelve thirteen"] * 3}
READINGS = {
    "gaussian": {"families": Gaussian()},
    "student": {"families": StudentT()},
    "categorical": {"families": Categorical()},
    "codes": {"families": Codes()},
    "bernoulli": {"families": Bernoulli(0.5)},
    "bernoulli 2": {"families": Bernoulli(2.0)},
    "poisson": {"families": Poisson()},
    "multinomial": {"families": Multinomial()},
    "complement": {"families": Complement()},
    "kernel": {"families": Kernel()},
    "binned": {"families": Binned()},
    "stacked": {"families": Stacked()},
    "joint": {"factors": [Joint("a", "b")]},
    "joint of labels": {"families": Categorical(), "factors": [Joint("a", "b")]},
}


def message_of(call):
    """The message of the error, if there is one: it must be ours, short, and say nothing of the internals."""
    try:
        call()
    except NaivelyError as error:
        message = str(error)
    else:
        return None
    assert not INTERNALS.search(message), message
    assert len(message) < LONGEST
    return message


def refused(call):
    """The same, where there must be an error."""
    message = message_of(call)
    assert message is not None
    return message


def needs(parameters):
    return textbook(**parameters).fit(X, Y).schema_.summaries


PAIRS = [(one, other) for one in READINGS for other in READINGS if needs(READINGS[one]) != needs(READINGS[other])]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_models_that_do_not_fit_each_other_say_how_in_words(one, other):
    first, second = (textbook(**READINGS[name]).fit(X, Y) for name in (one, other))
    message = refused(lambda: first + second)
    assert "Column 'a'" in message
    assert "Use the same families" in message


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_statistics_that_do_not_fit_each_other_say_how_in_words(one, other):
    first, second = (textbook(**READINGS[name]).fit(X, Y).statistics_ for name in (one, other))
    for call in (lambda: first + second, lambda: second - first):
        _ = message_of(call)  # joint statistics stand beside all others


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_families_changed_after_fitting_say_in_words_what_is_missing(one, other):
    model = textbook(**READINGS[one]).fit(X, Y)
    model.set_params(**{"families": None, "factors": None, **READINGS[other]})
    message = message_of(lambda: model.predict(X))  # some families need no more than others have kept
    assert message is None or re.search("for another family: '.*' needs .*, but what was kept is ", message)


def test_columns_counted_in_two_ways_are_told_in_words():
    first, second = (textbook(families=name).fit(X, Y).statistics_ for name in ("gaussian", "categorical"))
    message = refused(lambda: first + second)
    assert "counted in two ways" in message
    assert "Gaussian()" in message
    assert "Categorical()" in message


def test_texts_of_other_options_are_told_in_words():
    first, second = (
        textbook(families=family).fit(PROSE, Y) for family in (Text(), Text(lowercase=False, stop_words=("the",)))
    )
    message = refused(lambda: first + second)
    assert "lowercase=False" in message
    assert "stop_words=('the',)" in message


def test_trees_with_other_cuts_are_told_in_words():
    refused(lambda: TAN().fit(X, Y) + textbook().fit(X, Y))


def test_joint_factors_are_named_as_they_were_written():
    model = textbook(factors=[Joint("a", "b")]).fit(X, Y)
    for call in (
        lambda: model.credible_interval(X),
        lambda: model.sample(2),
        lambda: model.impute(X),
        lambda: model.discriminant(),
        lambda: model.log_odds(),
        lambda: TAN().fit(X, Y).credible_interval(X),
        lambda: TAN().fit(X, Y).discriminant(),
    ):
        _ = message_of(call)
    assert repr(model.parameters()["a & b"]["family"]) == "Joint('a', 'b')"


LARGE = {
    "a list": list(range(5000)),
    "an array": np.arange(5000.0),
    "a small array": np.array([[np.nan, 1.0], [2.0, 3.0]]),
    "a frame": pd.DataFrame({"a": range(500)}),
    "a dict": {f"column {number}": 0.5 for number in range(500)},
    "a long text": "x" * 5000,
}
GIVEN = {
    "families": lambda value: NaiveBayes(families=value).fit(X, Y),
    "a family of a column": lambda value: NaiveBayes(families={"a": value}).fit(X, Y),
    "smoothing": lambda value: textbook(smoothing=value).fit(X, Y),
    "factors": lambda value: textbook(factors=value).fit(X, Y),
    "prior": lambda value: textbook(prior=value).fit(X, Y).predict(X),
    "loss": lambda value: textbook().fit(X, Y).predict(X, loss=value),
    "recipe": lambda value: NaiveBayes(recipe=value).fit(X, Y),
    "kept_rows": lambda value: NaiveBayes(kept_rows=value).fit(X, Y),
    "grid": lambda value: tune(textbook(), X, Y, value, folds=2),
    "folds": lambda value: tune(textbook(), X, Y, {"smoothing": [1]}, folds=value),
    "cuts": lambda value: TAN(cuts=value).fit(X, Y),
}


@pytest.mark.parametrize("value", LARGE)
@pytest.mark.parametrize("parameter", GIVEN)
def test_a_large_value_is_told_by_its_type_and_size(parameter, value):
    refused(lambda: GIVEN[parameter](LARGE[value]))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.__name__)
def test_what_every_family_keeps_has_words(family):
    chosen = family(Gaussian()) if family.__name__ == "Thresholded" else family()
    words = in_words(chosen.summaries)
    assert words != "nothing"
    assert not INTERNALS.search(words)


def test_different_statistics_have_different_words():
    summaries = {summary for parameters in READINGS.values() for summary in sum(needs(parameters), ())}
    assert len({summary.words for summary in summaries}) == len(summaries)
    assert in_words([]) == "nothing"
    assert "in bins" in Summary("joint", labels=("a", "b"), cuts=((1.0,), None)).words


def test_a_short_value_is_shown_as_it_is():
    for value in (1.5, "laplas", [0.5, 0.6], {"a": 1}, Gaussian()):
        assert brief(value) == repr(value)
    assert brief(np.zeros((2, 3))) == "a ndarray of shape (2, 3)"
    assert brief(np.float64(2.0)) == brief(np.array(2.0)) == "2.0"
    assert brief("x" * 300) == "a str of length 300"


def test_a_bad_parameter_is_still_shown():
    with pytest.raises(ParameterError, match="got 'gausian'"):
        NaiveBayes(families="gausian").fit(X, Y)
