"""Tables for the laws: every family, mixed in one table, with missing cells, weights and several classes.

The values are small whole numbers and quarters, so that every sum is exactly representable and the laws hold to the
last bit.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from naively.families import Bernoulli, Categorical, Codes, Complement, Gaussian, Multinomial, Poisson, Thresholded
from naively.smoothing import Dirichlet, Jeffreys, Laplace, Lidstone, MEstimate, NoSmoothing
from tests.models import textbook

CLASSES = ("ant", "bee", "cat", "dog")
COLOURS = ("amber", "blue", "cyan", "dun", "ecru")


def quarters(least, most):
    return st.integers(4 * least, 4 * most).map(lambda number: number / 4)


as_in_r = st.builds(
    Gaussian,
    ddof=st.sampled_from([0, 1]),
    rule=st.just("threshold"),
    floor=st.just(0.001),
    eps=st.sampled_from([0.0, 0.5]),
    lone=st.sampled_from(["floor", "silent"]),
)
gaussians = (
    st.builds(
        Gaussian,
        ties=st.sampled_from(["none", "feature", "class", "all"]),
        ddof=st.sampled_from([0, 1]),
        rule=st.sampled_from(["column", "scikit-learn"]),
        interval=st.sampled_from([None, None, 0.25, 100.0]),
    )
    | as_in_r
    | as_in_r.map(Thresholded)
)
undeclared = st.sampled_from([Categorical(), Thresholded(Categorical(), eps=0.125)])
labels = undeclared | st.just(Categorical("declared"))
bernoullis = st.sampled_from([Bernoulli(), Bernoulli(0.5), Bernoulli(-1.0)])
counts = st.integers(0, 9)

COLUMN_KINDS = {
    "gaussian": (gaussians, quarters(-16, 16)),
    "offset": (gaussians, quarters(0, 8).map(lambda number: number + 1024)),
    "colour": (st.just(Categorical(COLOURS)) | labels, st.sampled_from(COLOURS)),
    "code": (labels, st.integers(-3, 4)),
    "truth": (undeclared, st.booleans()),  # a list has no type: only its known cells, of any weight, are boolean
    "level": (st.just(Categorical()), quarters(0, 1)),
    "yes": (bernoullis, quarters(-2, 2)),
    "flag": (bernoullis, st.booleans()),
    "events": (st.sampled_from([Poisson(), Poisson("events"), Thresholded(Poisson("events"))]), counts),
    "words": (st.just(Multinomial()), counts),
    "goods": (st.sampled_from([Complement(), Complement(norm=True)]), counts),
    "index": (st.sampled_from([Codes(), Codes(7)]), st.integers(0, 5)),
    "share": (st.just(Bernoulli(None)), quarters(0, 1)),
}
"""For each kind of column: the families that may read it, and its values."""

DENSITIES = {"gaussian", "offset"}
"""The kinds of columns that have no pseudo-counts."""

INFERRED_KINDS = ("gaussian", "colour", "truth")
"""The kinds of columns that get the family that reads them when none is given."""

smoothings = st.sampled_from(
    [
        NoSmoothing(),
        Laplace(),
        Lidstone(0.125),
        Jeffreys(),
        MEstimate(2.0),
        MEstimate(0.5, "marginal"),
        MEstimate(1.0, "classes"),
        MEstimate(1.0, "features"),
        Dirichlet(1.5),
    ]
)


@dataclass(frozen=True)
class Rows:
    """Some rows of a table: columns by name, one class per row, one weight per row or none at all."""

    columns: dict
    y: list
    weights: list | None = None

    def __len__(self):
        return len(self.y)

    def take(self, places):
        columns = {name: [cells[place] for place in places] for name, cells in self.columns.items()}
        weights = None if self.weights is None else [self.weights[place] for place in places]
        return Rows(columns, [self.y[place] for place in places], weights)

    def only(self, names):
        return Rows({name: self.columns[name] for name in names}, self.y, self.weights)

    def weighing(self, weights):
        return Rows(self.columns, self.y, weights)


@dataclass(frozen=True)
class Case:
    """Rows to learn, rows to ask about, and the parameters of a model for them."""

    rows: Rows
    query: dict
    parameters: dict = field(default_factory=dict)

    @property
    def is_a_distribution(self):
        """Whether every column has one: scores are none, nor are shares between no and yes."""
        families = self.parameters.get("families", {}).values()
        return all(family.is_distribution and family != Bernoulli(None) for family in families)

    def model(self, **parameters):
        return textbook(**{**self.parameters, **parameters})

    def fitted(self, rows=None, **parameters):
        return learn(self.model(**parameters), self.rows if rows is None else rows)


def learn(model, rows):
    return model.partial_fit(rows.columns, rows.y, sample_weight=rows.weights)


def cut(rows, cuts):
    """Rows cut into consecutive chunks, none of them empty."""
    edges = sorted({0, len(rows), *(place % len(rows) for place in cuts)})
    return [rows.take(range(start, stop)) for start, stop in pairwise(edges)]


@st.composite
def cases(draw, kinds=None, min_rows=1, max_rows=10, inferred=False, weighted=None, smoothing=smoothings):
    """A case with one to four columns of the given kinds."""
    known = kinds or (INFERRED_KINDS if inferred else tuple(COLUMN_KINDS))
    chosen = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
    names = [f"{kind} {place}" for place, kind in enumerate(chosen)]
    values = [st.none() | COLUMN_KINDS[kind][1] for kind in chosen]
    n_rows, n_query = draw(st.integers(min_rows, max_rows)), draw(st.integers(1, 3))

    def cells(strategy, length):
        return draw(st.lists(strategy, min_size=length, max_size=length))

    columns = {name: cells(strategy, n_rows) for name, strategy in zip(names, values, strict=True)}
    query = {name: cells(strategy, n_query) for name, strategy in zip(names, values, strict=True)}
    has_weights = draw(st.booleans()) if weighted is None else weighted
    weights = cells(st.integers(1, 16).map(lambda number: number / 4), n_rows) if has_weights else None
    rows = Rows(columns, cells(st.sampled_from(CLASSES), n_rows), weights)
    rule = draw(smoothing) if set(chosen) - DENSITIES else None  # one that no column reads is refused
    parameters = {"smoothing": rule, "prior_smoothing": draw(st.sampled_from([None, 1.0, "jeffreys"]))}
    if not inferred:
        parameters["families"] = {name: draw(COLUMN_KINDS[kind][0]) for name, kind in zip(names, chosen, strict=True)}
    return Case(rows, query, parameters)


def permutations_of(length):
    return st.permutations(range(length))


def assert_same_answer(model, other, query, other_query=None):
    """The joint log-probabilities agree to 1e-12 of the size of their terms."""
    expected, terms = (
        other.predict_joint_log_proba(query if other_query is None else other_query),
        model.evidence(query),
    )
    actual = model.predict_joint_log_proba(query)
    assert_close(actual, expected, 1.0 + np.abs(np.where(np.isfinite(terms), terms, 0.0)).sum(axis=1))


def assert_close(actual, expected, scale=1.0):
    """Equal to 1e-12 of the scale; infinities in the same places."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(actual[infinite], expected[infinite])
    gap = np.abs(np.where(infinite, 0.0, actual) - np.where(infinite, 0.0, expected))
    assert (gap <= 1e-12 * np.broadcast_to(scale, actual.shape)).all(), (actual, expected)
