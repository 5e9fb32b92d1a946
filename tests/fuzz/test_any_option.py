"""Whatever is given as an option of a family, a factor, a rule of smoothing or a model: it works, or is refused."""

import datetime
import inspect
import warnings

import numpy as np
import pandas as pd
import pytest

from naively import TAN, JointBayes, NaiveBayes, compat, families, smoothing
from naively.errors import NaivelyError
from naively.families.base import Family
from naively.recipes import Recipe, Tempering

ROWS = {
    "number": [1.0, 2.0, 0.0, 4.0, 3.0, 1.0],
    "label": list("ababab"),
    "date": [datetime.date(2024, 1, day) for day in range(1, 7)],
    "text": ["a b c d e", "b c d e f", "a a", "d e", "f f f", "a"],
}
KINDS = list("pqpqpq")

NUMBERS = (True, -1, 0, 5, 0.5, float("nan"), float("inf"), 10**30, 1j, np.float64(2), np.array([1]), np.array([[1.5]]))
LISTS = ([], ["x"], [1, 2], ["x", 1], [[]], [None], [pd.NA], (), (1, 2), set())
DICTS = ({}, {"number": 1}, {"number": None}, {"number": pd.NA}, {None: 1}, pd.Series({"number": 1}))
OTHERS = (None, "x", "", b"b", pd.NA, pd.NaT, datetime.date(2020, 1, 1), object(), object)
GIVEN = (*NUMBERS, *LISTS, *DICTS, *OTHERS)


def classes():
    found = {name: kind for module in (families, smoothing) for name, kind in vars(module).items()}
    found |= {kind.__name__: kind for kind in (NaiveBayes, TAN, JointBayes, Recipe, Tempering)}
    found |= {name: getattr(compat, name) for name in ("e1071", "klar", "naivebayes", "clop", "weka")}
    return {name: kind for name, kind in found.items() if inspect.isclass(kind) and not _is_general(kind)}


def _is_general(kind):
    return not kind.__module__.startswith("naively") or inspect.isabstract(kind) or issubclass(kind, Exception)


def options_of(kind):
    parameters = inspect.signature(kind).parameters.values()
    others = [option for option in parameters if option.default is option.empty and option.kind in (0, 1, 3)]
    return [option for option in parameters if option.kind != option.VAR_KEYWORD and set(others) <= {option}]


OPTIONS = [(name, option) for name, kind in classes().items() for option in options_of(kind)]


def use(made):
    """Fit a model with what was made, and ask it."""
    if isinstance(made, (Recipe, Tempering)):
        made = NaiveBayes(made if isinstance(made, Recipe) else Recipe(tempering=made))
    if isinstance(made, NaiveBayes):
        model, columns = made, ["number", "label"]
    elif isinstance(made, (families.Joint, families.Tree)):
        model, columns = NaiveBayes("textbook", factors=[made]), ["number", "label"]
    elif isinstance(made, Family):
        columns = [{"Date": "date", "Text": "text", "Categorical": "label"}.get(type(made).__name__, "number")]
        model = NaiveBayes("textbook", families={columns[0]: made})
    else:
        model, columns = NaiveBayes("textbook", smoothing=made), ["label"]
    rows = {name: ROWS[name] for name in columns}
    return model.fit(rows, KINDS).predict_proba(rows)


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=[f"{name}-{option.name}" for name, option in OPTIONS])
def test_options_work_or_are_refused(name, option):
    kind = classes()[name]
    for given in GIVEN:
        if option.name in ("tokenizer", "analyzer") and callable(given):
            continue  # what a function of the user's raises is the user's
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = kind(given) if option.kind == option.VAR_POSITIONAL else kind(**{option.name: given})
                found = use(made)
            except NaivelyError:
                continue
            assert np.isfinite(found).all()
            np.testing.assert_allclose(found.sum(axis=1), 1.0)
            assert repr(made)
