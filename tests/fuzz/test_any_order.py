"""Learn, forget, merge, decay, save, load, set parameters in any order: the model is that of the rows that are left."""

import os
import tempfile
import warnings
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import naively
from naively import NaiveBayes
from naively.families import Binned, Date, Gaussian, Joint, Kernel, Text, Tree

EXAMPLES = int(os.environ.get("NAIVELY_FUZZ_EXAMPLES", "25"))
"""How many orders are tried; more take longer."""

COLUMNS = ("size", "coat", "shade", "when", "note", "tag")
CELLS = (
    st.one_of(st.none(), st.integers(-8, 8).map(lambda n: n / 4)),
    st.sampled_from(["red", "blue", None]),
    st.sampled_from(["dark", "light"]),
    st.one_of(st.none(), st.integers(0, 30).map(lambda days: datetime(2024, 1 + days % 12, 1 + days, days % 24))),
    st.sampled_from(["free prize now", "lunch at home", "free free", "", None]),
    st.integers(0, 99).map(str),
)
WEIGHT = st.sampled_from([0.5, 1.0, 2.0])
USUAL = {"families": {"note": Text()}, "ignore": ["tag"]}
MODELS = {
    "textbook": [
        {"smoothing": 1.0},
        {"smoothing": 0.5},
        {"smoothing": "jeffreys"},
        {"prior": "uniform"},
        {"prior": "estimated"},
        {"families": {"note": Text(), "size": Gaussian(ties="feature")}},
        {"families": {"note": Text(), "when": Date(["month", "hour"])}},
        {"families": {"note": Text()}},
        {"prior_smoothing": 2},
    ],
    "textbook, joint": [{"smoothing": 1.0}, {"prior": "uniform"}],
    "textbook, tree": [{"smoothing": 1.0}, {"smoothing": "jeffreys"}],
    "textbook, histograms": [{"smoothing": 1.0}, {"prior": "uniform"}],
    "fast": [{"prior": "uniform"}, {"prior": "estimated"}, {"families": {"note": Text()}}],
    "fast, monotone": [{"monotone": {"size": 1}}, {"monotone": {"size": -1}}, {"monotone": None}],
    "auto": [{"prior": "uniform"}, {"prior": "estimated"}],
    "strong": [{"prior": "uniform"}, {"prior": "estimated"}],
}
"""What is set on the way, by model."""

GIVEN = {
    "textbook, joint": {"factors": [Joint("size", "coat")]},
    "textbook, tree": {"factors": [Tree("coat", "shade")]},
    "textbook, histograms": {"families": {"note": Text(), "size": Kernel(), "when": Date(trend=Binned(4))}},
    "fast, monotone": {"monotone": {"size": 1}},
}
SHARE = {"textbook": 1, "fast": 2, "fast, monotone": 2, "auto": 3, "strong": 6}
"""Models that are slow to estimate are tried in a fraction of the orders."""


def table(rows):
    return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


def kinds(rows):
    return [row[-2] for row in rows]


def weights(rows):
    return [row[-1] for row in rows]


def machine(name):
    """The steps for one kind of model."""
    classes = ("a", "b") if "monotone" in name else ("a", "b", "c")
    batches = st.lists(st.tuples(*CELLS, st.sampled_from(classes)), min_size=1, max_size=5)

    def new():
        return NaiveBayes(name.partition(",")[0], **{**USUAL, **GIVEN.get(name, {})})

    class Model(RuleBasedStateMachine):
        """A model, and beside it a plain list of the rows that it should know, with their weights."""

        @initialize(rows=batches)
        def begin(self, rows):
            # every kind of cell once, so that the columns are known from the start and stay known
            day = datetime(2024, 5, 6, 7)
            self.rows = [
                (1.0, "red", "dark", day, "free prize", "0", "a", 1.0),
                (2.0, "blue", "light", day.replace(month=8, hour=9), "lunch at home", "1", "b", 1.0),
            ]
            self.safe = 2
            self.model = new().fit(table(self.rows), kinds(self.rows))
            self.learn(rows, 1.0)

        @rule(rows=batches, weight=WEIGHT)
        def learn(self, rows, weight):
            rows = [(*row, weight) for row in rows]
            self.model.partial_fit(table(rows), kinds(rows), sample_weight=weights(rows))
            self.rows += rows

        @precondition(lambda self: len(self.rows) > self.safe)
        @rule(data=st.data())
        def forget(self, data):
            places = data.draw(st.sets(st.integers(self.safe, len(self.rows) - 1), min_size=1))
            gone = [self.rows[place] for place in sorted(places)]
            self.model.forget(table(gone), kinds(gone), sample_weight=weights(gone))
            self.rows = [row for place, row in enumerate(self.rows) if place not in places]

        @rule(rows=batches, in_place=st.booleans())
        def merge(self, rows, in_place):
            rows = [(*row, 1.0) for row in rows]
            other = new().fit(table(rows), kinds(rows))
            if in_place:
                self.model += other
            else:
                self.model = self.model + other
            self.rows += rows

        @rule(factor=st.sampled_from([0.5, 2.0]))
        def decay(self, factor):
            if not 2**-12 < min(weights(self.rows)) * factor < 2**12:
                return
            self.model.decay(factor)
            self.rows = [(*row[:-1], row[-1] * factor) for row in self.rows]

        @rule()
        def save_and_load(self):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.json"
                self.model.save(path)
                self.model = naively.load(path)

        @rule(parameters=st.sampled_from(MODELS[name]))
        def set_params(self, parameters):
            self.model.set_params(**parameters)

        @invariant()
        def the_sums_are_a_plain_recount(self):
            for label, found in zip(self.model.classes_.tolist(), self.model.class_count_, strict=True):
                assert found == sum(row[-1] for row in self.rows if row[-2] == label)
            assert set(self.model.classes_.tolist()) == set(kinds(self.rows))
            if name == "textbook":
                numbers = self.model.parameters()["size"]
                for code, label in enumerate(self.model.classes_.tolist()):
                    known = [(row[0], row[-1]) for row in self.rows if row[-2] == label and row[0] is not None]
                    if known:
                        x, w = np.array(known).T
                        np.testing.assert_allclose(numbers["mean"][code], np.average(x, weights=w), atol=1e-12)

        @invariant()
        def answers_are_those_of_a_fresh_model(self):
            if name == "textbook":  # which estimates in no time
                self.compare()

        def teardown(self):
            self.compare()

        def compare(self):
            rtol = 1e-9 if name.startswith("textbook") else 1e-5
            fresh = NaiveBayes(**self.model.get_params(deep=False))
            fresh.fit(table(self.rows), kinds(self.rows), sample_weight=weights(self.rows))
            asked = [
                (0.3, "red", "dark", datetime(2024, 2, 3, 4), "free lunch", "7"),
                (None, "blue", "light", None, None, "7"),
                (5.0, None, "dark", datetime(2025, 6, 1, 9), "prize", "7"),
                (-1.0, "red", "light", datetime(2024, 5, 6, 7), "", "7"),
            ]
            answers = [model.predict_proba(table(asked)) for model in (self.model, fresh)]
            np.testing.assert_allclose(*answers, rtol=rtol, atol=1e-12)

    return Model


@pytest.mark.parametrize("name", MODELS)
def test_any_order(name):
    examples = EXAMPLES // SHARE.get(name, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the made-up rows
        run_state_machine_as_test(
            machine(name),
            settings=settings(
                max_examples=examples, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
