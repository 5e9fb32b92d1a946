"""Whatever is given to whatever method: a right answer, or an error of our tree that says what is wrong."""

import datetime
import os
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from naively import TAN, JointBayes, NaiveBayes, compat
from naively.errors import NaivelyError

ROWS = {"size": [1.0, 2.5, None, 4.0, 3.0, 2.0], "coat": ["red", "blue", "red", None, "blue", "red"]}
KINDS = ["a", "b", "a", "b", "a", "b"]

MODELS = {
    "textbook": lambda: NaiveBayes("textbook"),
    "fast": lambda: NaiveBayes("fast"),
    "auto": NaiveBayes,
    "JointBayes": JointBayes,
    "TAN": TAN,
    "e1071": compat.e1071,
    "weka": lambda: compat.weka(kernel=True),
}

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.sampled_from(
        [
            Decimal("1.5"),
            Fraction(1, 3),
            datetime.date(2020, 1, 1),
            np.datetime64("NaT"),
            pd.NA,
            object,
            (),
            [],
            {},
            {1},
        ]
    ),
)
NAMES = st.sampled_from(["size", "coat", "other", "", 0, 1, None, "a"])
WHOLE = st.integers(0, 4)


@st.composite
def frames(draw):
    """Data frames with any cells, of any names, even twice the same."""
    n, names = draw(WHOLE), draw(st.lists(NAMES, max_size=3))
    columns = [draw(st.lists(CELLS, min_size=n, max_size=n)) for _ in names]
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = names
    return frame


@st.composite
def arrays(draw):
    """Arrays of any type and up to three dimensions."""
    shape = tuple(draw(st.lists(WHOLE, max_size=3)))
    kind = draw(st.sampled_from(["f8", "f4", "i8", "u1", "b1", "U3", "S2", "c16", "O", "M8[s]"]))
    cells = np.zeros(shape, dtype=kind)
    if kind in ("f8", "f4") and cells.size:
        cells.flat[0] = draw(st.floats(width=32))
    if kind == "O":
        for place in range(cells.size):
            cells.flat[place] = draw(CELLS)
    return cells


ANYTHING = st.one_of(
    CELLS,
    st.lists(CELLS, max_size=4),
    st.lists(st.lists(CELLS, max_size=3), max_size=4),
    st.dictionaries(NAMES, CELLS, max_size=3),
    st.dictionaries(NAMES, st.lists(CELLS, max_size=3), max_size=3),
    st.lists(st.dictionaries(NAMES, CELLS, max_size=3), max_size=3),
    frames(),
    arrays(),
    st.builds(lambda n: sparse.csr_matrix((n, 2)), WHOLE),
    st.builds(lambda n: pd.Series(["red"] * n), WHOLE),
    st.builds(lambda n: pd.DataFrame(ROWS)[:n], WHOLE),
    st.just(ROWS),
)
"""What can be given where a table belongs."""

LEARNING = ["partial_fit", "forget", "fit"]
TARGETS = st.one_of(
    st.just(KINDS), st.lists(CELLS, max_size=6), arrays(), CELLS, st.sampled_from(["size", "coat", "a"]), frames()
)


def ends_well(call, *arguments, **options):
    """Call, and give the answer; None if it was refused in our words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(*arguments, **options)
        except NaivelyError as refusal:
            return _refused(refusal)


def _refused(refusal):
    """Nothing, once the refusal has said something."""
    assert str(refusal).strip()


def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]().fit(ROWS, KINDS)


EXAMPLES = int(os.environ.get("NAIVELY_FUZZ_EXAMPLES", "30"))
"""How many inputs each test tries; more take longer."""

bounded = settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
@bounded
@given(X=ANYTHING)
def test_answers_are_probabilities_or_errors_of_ours(name, X):
    model = fitted(name)
    found = ends_well(model.predict_proba, X)
    if found is not None:
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert len(ends_well(model.predict, X)) == len(found)


@every_model
@bounded
@given(X=ANYTHING, method=st.sampled_from(["evidence", "explain", "score_samples", "impute", "credible_interval"]))
def test_questions_about_rows(name, X, method):
    model = fitted(name)
    if hasattr(model, method):
        few = {"n_draws": 2} if method == "credible_interval" else {}
        ends_well(partial(getattr(model, method), **few), X)


@every_model
@bounded
@given(
    X=ANYTHING,
    y=TARGETS,
    weight=st.one_of(st.none(), TARGETS),
    method=st.sampled_from(LEARNING),
)
def test_what_cannot_be_learnt_changes_nothing(name, X, y, weight, method):
    model = fitted(name)
    before = model.statistics_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            getattr(model, method)(X, y, sample_weight=weight)
        except NaivelyError as refusal:
            _refused(refusal)
            assert model.statistics_ is before
        else:
            assert np.isfinite(model.class_count_).all()


@every_model
@bounded
@given(X=ANYTHING, y=TARGETS, method=st.sampled_from(["score", "loo", "log_likelihood"]))
def test_questions_about_rows_and_classes(name, X, y, method):
    ends_well(getattr(fitted(name), method), X, y)


QUESTIONS = {
    "sample": ["n", "y", "seed", "length"],
    "bayes_error": ["n", "seed"],
    "decay": ["factor"],
    "log_odds": ["base", "prior", "n_points"],
    "discriminant": ["base", "prior"],
    "rank_features": ["by"],
}
SMALL = st.one_of(CELLS.filter(lambda cell: not isinstance(cell, int) or abs(cell) < 100), st.lists(CELLS, max_size=3))


@every_model
@bounded
@given(data=st.data(), method=st.sampled_from(sorted(QUESTIONS)))
def test_questions_about_the_model(name, data, method):
    options = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(QUESTIONS[method], SMALL)))
    if method == "decay":
        options.setdefault("factor", 0.5)
    seed = options.get("seed")
    if not (seed is None or (isinstance(seed, int) and seed >= 0)):
        del options["seed"]  # NumPy reads it
    ends_well(getattr(fitted(name), method), **options)


PARAMETERS = ["recipe", "families", "smoothing", "prior", "prior_smoothing", "factors", "kept_rows", "n_threads"]


@bounded
@given(
    options=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(PARAMETERS, st.one_of(SMALL, st.dictionaries(NAMES, SMALL)))
    )
)
def test_parameters(options):
    def fit_and_ask():
        return NaiveBayes(**{"recipe": "textbook", **options}).fit(ROWS, KINDS).predict_proba(ROWS)

    found = ends_well(fit_and_ask)
    if found is not None:
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


@bounded
@given(
    prior=st.one_of(SMALL, st.dictionaries(CELLS.filter(lambda c: c.__hash__ is not None), CELLS, max_size=3)),
    columns=ANYTHING,
)
def test_given_parameters(prior, columns):
    ends_well(NaiveBayes.from_parameters, prior, columns)
    ends_well(NaiveBayes.from_parameters, {"a": 0.5, "b": 0.5}, columns)
    ends_well(NaiveBayes.from_parameters, {"a": 0.5, "b": 0.5}, {"x": columns})
    ends_well(NaiveBayes.from_parameters, {"a": 0.5, "b": 0.5}, {"x": {"mean": columns, "variance": [1, 1]}})
