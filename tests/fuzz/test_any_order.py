"""Learn, forget, merge, decay, save, load, set parameters in any order: the model is that of the rows that are left."""

import os
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import naively
from naively import NaiveBayes
from naively.families import Gaussian

EXAMPLES = int(os.environ.get("NAIVELY_FUZZ_EXAMPLES", "25"))
"""How many orders are tried; more take longer."""

CLASSES = ("a", "b", "c")
ROW = st.tuples(
    st.one_of(st.none(), st.integers(-8, 8).map(lambda n: n / 4)),
    st.sampled_from(["red", "blue", None]),
    st.sampled_from(CLASSES),
)
BATCH = st.lists(ROW, min_size=1, max_size=5)
WEIGHT = st.sampled_from([0.5, 1.0, 2.0])
PARAMETERS = st.sampled_from(
    [
        {"smoothing": 1.0},
        {"smoothing": 0.5},
        {"smoothing": "jeffreys"},
        {"prior": "uniform"},
        {"prior": "estimated"},
        {"families": {"size": Gaussian(ties="feature")}},
        {"families": None},
        {"prior_smoothing": 2},
    ]
)


def table(rows):
    return {"size": [row[0] for row in rows], "coat": [row[1] for row in rows]}


class Model(RuleBasedStateMachine):
    """A model, and beside it a plain list of the rows that it should know, with their weights."""

    @initialize(rows=BATCH)
    def begin(self, rows):
        # every kind of cell once, so that the columns are known from the start and stay known
        self.rows = [(1.0, "red", "a", 1.0), (2.0, "blue", "b", 1.0)]
        self.safe = 2
        self.model = NaiveBayes("textbook").fit(table(self.rows), [row[2] for row in self.rows])
        self.learn(rows, 1.0)

    @rule(rows=BATCH, weight=WEIGHT)
    def learn(self, rows, weight):
        self.model.partial_fit(table(rows), [row[2] for row in rows], sample_weight=[weight] * len(rows))
        self.rows += [(*row, weight) for row in rows]

    @precondition(lambda self: len(self.rows) > self.safe)
    @rule(data=st.data())
    def forget(self, data):
        places = data.draw(st.sets(st.integers(self.safe, len(self.rows) - 1), min_size=1))
        gone = [self.rows[place] for place in sorted(places)]
        self.model.forget(table(gone), [row[2] for row in gone], sample_weight=[row[3] for row in gone])
        self.rows = [row for place, row in enumerate(self.rows) if place not in places]

    @rule(rows=BATCH, in_place=st.booleans())
    def merge(self, rows, in_place):
        other = NaiveBayes("textbook").fit(table(rows), [row[2] for row in rows])
        if in_place:
            self.model += other
        else:
            self.model = self.model + other
        self.rows += [(*row, 1.0) for row in rows]

    @rule(factor=st.sampled_from([0.5, 2.0]))
    def decay(self, factor):
        if not 2**-12 < min(row[3] for row in self.rows) * factor < 2**12:
            return
        self.model.decay(factor)
        self.rows = [(*row[:3], row[3] * factor) for row in self.rows]

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            self.model.save(path)
            self.model = naively.load(path)

    @rule(parameters=PARAMETERS)
    def set_params(self, parameters):
        self.model.set_params(**parameters)

    @invariant()
    def the_sums_are_a_plain_recount(self):
        for label, found in zip(self.model.classes_.tolist(), self.model.class_count_, strict=True):
            own = [row for row in self.rows if row[2] == label]
            assert found == sum(row[3] for row in own)
        assert set(self.model.classes_.tolist()) == {row[2] for row in self.rows}
        numbers = self.model.parameters()["size"]
        for code, label in enumerate(self.model.classes_.tolist()):
            known = [(row[0], row[3]) for row in self.rows if row[2] == label and row[0] is not None]
            if known:
                x, w = np.array(known).T
                np.testing.assert_allclose(numbers["mean"][code], np.average(x, weights=w), atol=1e-12)

    @invariant()
    def answers_are_those_of_a_fresh_model(self):
        fresh = NaiveBayes(**self.model.get_params(deep=False))
        fresh.fit(table(self.rows), [row[2] for row in self.rows], sample_weight=[row[3] for row in self.rows])
        asked = {"size": [0.3, None, 5.0, -1.0], "coat": ["red", "blue", None, "red"]}
        np.testing.assert_allclose(self.model.predict_proba(asked), fresh.predict_proba(asked), rtol=1e-9, atol=1e-12)


TestAnyOrder = Model.TestCase
TestAnyOrder.settings = settings(max_examples=EXAMPLES, stateful_step_count=15, deadline=None)
