"""The law of exports: over all families and recipes, an export answers as the model does, or refuses with a reason."""

import warnings

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from naively import NaiveBayes
from naively._export.additive import POOLED
from naively.errors import GapError, InputError, ParameterError
from naively.families import FAMILIES, Categorical, gaps
from naively.families.base import NO_TABLE
from naively.recipes import RECIPES
from tests.export.databases import duckdb_answers, sqlite_answers
from tests.export.exported import LABELS

KINDS = {"number": "DOUBLE", "truth": "BOOLEAN", "label": "TEXT", "date": "TIMESTAMP"}
NAMES = ["true", "x0", "T2", "prediction", "probability_0", "one", "held", "a.b`c", "'; drop table x; --"]
CLASSES = [[0, 1, 2], ["a", "A", "'"], [True, False], [-7, 2**60, 0]]
SCALES = [1.0, 1e-60, 1e60, 5e-6]
MISSING = "\x7f nothing"
POSITIVE = {"poisson", "multinomial", "complement", "exponential", "gamma"}
"""Families that refuse numbers below zero."""

FARTHEST = 1e70
"""Deviations of more than 1e150 scales are not told apart."""

MOST_COUNTED = 1e4
"""Larger counts have evidence whose rounding errors alone can be seen in the ninth digit."""


def families_of(kind):
    """By name, the families that read a kind of column and need no options."""
    named = (name for name, family in FAMILIES.items() if isinstance(family.accepts, tuple) and kind in family.accepts)
    return [None, *named]


def python_answers(model, frame, _):
    program = {}
    exec(model.to_python(), program)
    records = [dict(zip(frame, row, strict=True)) for row in frame.itertuples(index=False)]
    return [program["predict"](one) for one in records], [
        list(program["predict_proba"](one).values()) for one in records
    ]


def onnx_answers(model, frame, types):
    graph = model.to_onnx(missing=MISSING).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    feed = {one.name: _input(frame[one.name], types[one.name], one.type)[:, None] for one in session.get_inputs()}
    labels, probabilities = session.run(None, feed)
    for n_rows in (0, 1):
        few = session.run(None, {name: cells[:n_rows] for name, cells in feed.items()})[1]
        np.testing.assert_allclose(few, probabilities[:n_rows], rtol=0, atol=1e-12)
    return labels.tolist(), probabilities


def _input(cells, kind, given):
    if given == "tensor(string)":
        return np.array([MISSING if cell is None else cell for cell in cells], dtype=object)
    if kind == "TIMESTAMP":
        return np.array([np.nan if cell is None else (cell - pd.Timestamp(0)).total_seconds() for cell in cells])
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)


EXPORTS = {
    "to_python": (python_answers, 1e-9),
    "to_onnx": (onnx_answers, 1e-6),
    "duckdb": (lambda model, frame, types: duckdb_answers(model, frame, types=types), 1e-9),
    "sqlite": (lambda model, frame, types: sqlite_answers(model, frame, types=types), 1e-9),
}


@st.composite
def tables(draw):
    """Learnt columns, classes, columns to answer, the types that a database has for them, and families by name."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([6, 40]))
    classes = draw(st.sampled_from(CLASSES))
    y = random.integers(0, draw(st.integers(1, len(classes))), n_rows)
    learnt, asked, types, families = {}, {}, {}, {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)):
        kind = draw(st.sampled_from(list(KINDS)))
        family = draw(st.sampled_from(families_of(kind)))
        cells, more = drawn_cells(kind, family, random, y, draw(st.sampled_from(SCALES)))
        cells[random.random(n_rows) < draw(st.sampled_from([0.0, 0.2]))] = None
        learnt[name], types[name] = cells.tolist(), KINDS[kind]
        asked[name] = [*cells[:5], *more, None][:10]
        if family is not None:
            families[name] = family
    longest = max(map(len, asked.values()))
    asked = {name: [*cells, *[None] * (longest - len(cells))] for name, cells in asked.items()}
    return learnt, [classes[code] for code in y], pd.DataFrame(asked, dtype=object), types, families


def drawn_cells(kind, family, random, y, scale):
    """Cells to learn, as an array of objects, and cells that were never seen."""
    n_rows = len(y)
    if kind == "number":
        numbers = random.normal(y, 1.5) * scale
        more = [0.0, -0.0, FARTHEST, -FARTHEST, scale]
        if family == "codes":
            numbers, more = random.integers(0, 4, n_rows).astype(float), [0.0, 1.0]
        elif family in POSITIVE:
            numbers, more = np.floor(np.abs(random.normal(3 + y, 2))) + 1, [1.0, 3.5, MOST_COUNTED]
        return numbers.astype(object), more
    if kind == "truth":
        return (random.random(n_rows) < 0.3 + 0.2 * y).astype(object), [True, False]
    if kind == "label":
        return np.array(LABELS, dtype=object)[(random.integers(0, 4, n_rows) + y) % len(LABELS)], [
            "never seen",
            *LABELS,
        ]
    seconds = random.uniform(-1e8, 1e8, n_rows) + 1e8 * y
    moments = [pd.Timestamp(0) + pd.Timedelta(microseconds=int(1e6 * second)) for second in seconds]
    return np.array(moments, dtype=object), [pd.Timestamp(1904, 2, 29), pd.Timestamp(2100, 3, 1)]


def reason_to_refuse(model, export, types):
    """Why an export cannot answer as a model does; None where it must."""
    families = model.families_
    whole_dates = any(
        types[name] == "TIMESTAMP" and isinstance(family, Categorical) for name, family in families.items()
    )
    if whole_dates and export != "to_python":
        return {"holds dates as labels", NO_TABLE, POOLED.reason}
    if any("as_table" in gaps()[family.name()] for family in families.values() if family is not None):
        return {NO_TABLE, POOLED.reason}
    return {POOLED.reason} if model.recipe == "strong" else None


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("recipe", RECIPES)
@given(table=tables(), weighted=st.booleans(), forgotten=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_export_answers_as_the_model_or_refuses(recipe, export, table, weighted, forgotten):
    learnt, y, frame, types, families = table
    weight = 1.0 + np.arange(len(y)) % 3 if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few rows, rows that no class could have produced
        try:
            model = NaiveBayes(recipe, families=families or None).fit(learnt, y, sample_weight=weight)
            if forgotten and weight is None:
                model.forget({name: cells[:1] for name, cells in learnt.items()}, y[:1])
            expected, labels = model.predict_proba(frame), model.predict(frame)
        except (InputError, ParameterError):  # a column that its family refuses
            reject()
        reasons = reason_to_refuse(model, export, types)
        answers, within = EXPORTS[export]
        if reasons is not None:
            with pytest.raises(GapError) as refused:
                answers(model, frame, types)
            assert refused.value.reason in reasons
            return
        found, probabilities = answers(model, frame, types)
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=within)
    ordered = np.sort(expected, axis=1)
    sure = ordered[:, -1] - ordered[:, :-1].max(axis=1, initial=0.0) > within
    assert [label for label, one in zip(found, sure, strict=True) if one] == labels[sure].tolist()
