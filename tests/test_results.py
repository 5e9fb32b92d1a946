"""Every result prints as a table, is a frame of the library of the data, and is HTML in which data is text."""

import importlib
import pkgutil
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest

import naively
from naively import NaiveBayes, shift, tune
from naively._scoring.explanation import Explanation
from naively._table.results import SHOWN_ROWS, Result, as_cell
from naively.analysis import diagnostics, drift, selection, thresholds
from naively.analysis._likelihood import parameter_counts
from naively.analysis._parameter_counts import discrete_parameter_counts
from naively.families import Gaussian

MARKUP = "<script>alert('x')</script> & more"
"""A name and a label as a page must not run it."""

TIED = Gaussian(ties="feature")
N = 60
CLASSES = np.array(["<b>a</b>", "z & y"])[np.arange(N) % 2]


def data():
    random = np.random.default_rng(0)
    number = random.normal(size=N) + (np.arange(N) % 2)
    coats = np.array([MARKUP, "plain"])[random.integers(0, 2, N)]
    return {MARKUP: number, "again": number + 0.0, "coat": coats.tolist()}


def numbers(X):
    return X[[MARKUP, "again"]]


def textbook(X, **options):
    return NaiveBayes("textbook", **options).fit(X, CLASSES)


OF_DATA = {
    "TradeOff": lambda X: thresholds.trade_off(textbook(X), X, CLASSES, positive=CLASSES[0]),
    "Tuning": lambda X: tune(NaiveBayes("textbook"), X, CLASSES, {"smoothing": [1, "none"], "prior": [None]}, folds=3),
    "ForwardSelection": lambda X: selection.forward_selection(NaiveBayes("textbook"), X, CLASSES),
    "Correlated": lambda X: selection.drop_correlated(X)[1],
    "Checked": lambda X: drift.check(textbook(X), X),
    "Check": lambda X: naively.check(X, CLASSES),
    "EstimatedPrior": lambda X: shift.estimate_prior(textbook(X), X),
    "Evaluation": lambda X: naively.evaluate(textbook(X), X, CLASSES),
    "Comparison": lambda X: naively.compare(X, CLASSES, {MARKUP: NaiveBayes("textbook")}, folds=2),
}
"""Results that are computed from rows: their frames are of the rows' library."""

OF_MODELS = {
    "Calibration": lambda X: NaiveBayes().fit(X, CLASSES).calibration_,
    "LogOdds": lambda X: textbook(X).log_odds(),
    "ColumnLogOdds": lambda X: textbook(X).log_odds().columns["coat"],
    "Discriminant": lambda X: textbook(X, families=dict.fromkeys([MARKUP, "again"], TIED)).discriminant(),
    "ParameterCounts": lambda X: parameter_counts(textbook(X)),
    "Posterior": lambda X: textbook(X).posterior(),
    "BayesError": lambda X: textbook(X).bayes_error(100, seed=0),
    "Independence": lambda X: diagnostics.independence(X[MARKUP], X["coat"]),
    "ModelSummary": lambda X: textbook(X).summary(),
    "ConditionalTable": lambda X: textbook(X).tables()["coat"],
    "ConditionalTables": lambda X: textbook(X).tables(),
    "TopWords": lambda X: textbook(X[[]].assign(note=[MARKUP, "plain"] * (N // 2)), families="text").top_words(),
    "Steps": lambda X: textbook(X).steps({MARKUP: 1.0, "again": 1.0, "coat": MARKUP}),
    "Scorecard": lambda X: NaiveBayes().fit(X, CLASSES).scorecard(CLASSES[0]),
    "Schema": lambda X: textbook(X).schema_,
    "Statistics": lambda X: NaiveBayes().fit(X, CLASSES).statistics_,
    "Changes": lambda X: drift.compare(textbook(X), textbook(X[::-1])),
    "Explanation": lambda X: Explanation(
        row=[0, 0], column=["prior", "coat"], value=[None, MARKUP], **{"class": ["<b>a</b>"] * 2}, bits=[0.5, -1.0]
    ),
}
"""Results that are computed from a model, or know no rows."""

RESULTS = {**OF_DATA, **OF_MODELS}


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def test_no_result_is_left_out():
    for module in pkgutil.walk_packages(naively.__path__, "naively."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found, known = set(), [Result]
    while known:
        children = known.pop().__subclasses__()
        known += children
        found |= {one.__name__ for one in children if one.__module__.startswith("naively")}
    assert found == set(RESULTS)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_as_a_table(name):
    result = RESULTS[name](data_frame())
    assert repr(result) == str(result) != ""
    assert "object at 0x" not in repr(result)
    assert "array(" not in repr(result)
    assert all(line == line.rstrip() for line in repr(result).splitlines())


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_in_html_is_well_formed_and_runs_nothing(name):
    page = Page(RESULTS[name](data_frame())._repr_html_())
    assert not page.open
    assert page.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}


def test_text_of_the_data_is_in_the_html_as_it_is():
    page = Page(OF_MODELS["LogOdds"](data_frame())._repr_html_())
    assert MARKUP in page.cells


@pytest.mark.parametrize("name", OF_DATA)
@pytest.mark.parametrize("library", [pd, pl])
def test_the_frame_of_a_result_is_of_the_library_of_the_rows(name, library):
    X = library.DataFrame(data())
    result = RESULTS[name](X)
    assert type(result.frame()) is library.DataFrame
    assert type(result.frame(like=pd.DataFrame())) is pd.DataFrame
    assert type(result.frame(like=pl.DataFrame())) is pl.DataFrame
    assert len(result.frame()) > 0


@pytest.mark.parametrize("name", OF_MODELS)
def test_the_frame_of_a_result_is_of_pandas_or_of_the_library_that_is_wanted(name):
    result = RESULTS[name](data_frame())
    frame, other = result.frame(), result.frame(like=pl.DataFrame())
    assert type(frame) is pd.DataFrame
    assert type(other) is pl.DataFrame
    assert list(frame.columns) == other.columns
    assert len(frame) == len(other) > 0


@pytest.mark.parametrize("name", RESULTS)
def test_a_frame_without_pandas_is_a_dict_of_lists(name, monkeypatch):
    result = RESULTS[name](data_frame())
    expected = result.frame(like=pd.DataFrame())
    monkeypatch.setattr("naively._table.frames.find_spec", lambda name: None)
    frame = result.frame(like={})
    assert isinstance(frame, dict)
    assert list(frame) == list(expected.columns)
    assert {len(cells) for cells in frame.values()} == {len(expected)}


def data_frame():
    return pd.DataFrame(data())


def test_changes_are_the_list_that_they_were():
    changes = OF_MODELS["Changes"](data_frame())
    assert [change["column"] for change in changes].count("prior") == 1
    assert changes == list(changes)
    assert pd.DataFrame(changes)["column"].tolist() == changes.frame()["column"].tolist()


def test_changes_of_numbered_classes_keep_their_numbers():
    X, y = np.random.default_rng(0).normal(size=(40, 1)), np.arange(40) % 2
    model = NaiveBayes("textbook").fit(X, y)
    frame = drift.compare(model, model).frame()
    assert set(frame.loc[frame["column"] == "x0", "class"]) == {0, 1}
    assert np.isnan(frame.loc[frame["column"] == "prior", "class"]).all()


def test_long_results_are_cut():
    X, y = np.random.default_rng(0).normal(size=(400, 1)), np.arange(400) % 2
    model = NaiveBayes("textbook").fit(X, y)
    curve = thresholds.trade_off(model, X, y)
    lines = repr(curve).splitlines()
    assert len(lines) == SHOWN_ROWS + 3
    assert lines[-1] == f"... and {len(curve.threshold) - SHOWN_ROWS} more rows"
    assert len(curve.frame()) == len(curve.threshold)


def test_numbers_of_parameters_beyond_every_type_are_text_in_a_frame():
    frame = discrete_parameter_counts(2, [2] * 100).frame()
    assert frame["free"].tolist()[1] == str(2**101 - 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (float("nan"), ""),
        (0.0, "0"),
        (-0.0, "0"),
        (3.0, "3"),
        (0.25, "0.2500"),
        (1e-9, "1e-09"),
        (-np.inf, "-inf"),
    ],
)
def test_cells(value, text):
    assert as_cell(value) == text
