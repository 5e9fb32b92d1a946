"""`to_onnx`: ONNX Runtime answers as the model does."""

import warnings

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from naively import NaiveBayes
from naively.errors import GapError, ParameterError
from tests.export.exported import DATED, LABELS, NAMES, models, rows

MODELS = models()
MISSING = "\x7f nothing"


def session_of(model, **options):
    return onnxruntime.InferenceSession(
        model.to_onnx(**options).SerializeToString(), providers=["CPUExecutionProvider"]
    )


def numbers_of(cells):
    """Numbers as they are, dates and times as seconds."""
    if cells.name not in DATED:
        return cells.astype(float).to_numpy(dtype=np.float64)
    if cells.name == "at":
        return np.array(
            [np.nan if pd.isna(cell) else (pd.Timestamp(f"1970-01-01 {cell}").timestamp()) for cell in cells]
        )
    return np.array([np.nan if pd.isna(cell) else pd.Timestamp(cell).timestamp() for cell in cells])


def feed_of(session, frame):
    """The columns as the inputs want them, missing cells as NaN or as a text."""
    feed = {}
    for given in session.get_inputs():
        cells = frame[given.name]
        if given.type == "tensor(string)":
            values = np.array([MISSING if cell is None or cell != cell else cell for cell in cells], dtype=object)
        else:
            values = numbers_of(cells)
        feed[given.name] = values[:, None]
    return feed


@pytest.mark.parametrize("name", MODELS)
def test_the_runtime_answers_as_the_model(name):
    model, frame = MODELS[name]
    session = session_of(model, missing=MISSING)
    label, probability = session.run(None, feed_of(session, frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that no class could have produced
        expected, answers = model.predict_proba(frame), model.predict(frame)
    np.testing.assert_allclose(probability, expected, rtol=0, atol=1e-6)
    sure = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, :-1].max(axis=1, initial=0) > 1e-6
    assert label[sure].tolist() == answers[sure].tolist()


@pytest.mark.parametrize("recipe", ["textbook", "auto"])
def test_an_array_of_numbers_is_one_input(recipe):
    X, y = np.random.default_rng(0).normal(size=(80, 3)), np.arange(80) % 2
    X[::7, 1] = np.nan
    model = NaiveBayes(recipe).fit(X, y)
    label, probability = session_of(model).run(None, {"X": X})
    np.testing.assert_allclose(probability, model.predict_proba(X), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(X).tolist()


def test_infinity_is_missing():
    X, y = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 2
    model = NaiveBayes().fit(X, y)
    odd = session_of(model).run(None, {"X": np.array([[np.inf, 0.3], [-np.inf, 0.3]])})[1]
    np.testing.assert_allclose(odd, model.predict_proba(np.array([[np.nan, 0.3]] * 2)), rtol=0, atol=1e-9)


def test_what_stands_for_a_missing_text_is_no_label():
    model = NaiveBayes("textbook").fit({"x": ["", "a"]}, [0, 1])
    with pytest.raises(ParameterError, match="missing='' is a label of column 'x'"):
        model.to_onnx()


def test_what_has_no_graph_is_a_gap():
    frame, y = rows()
    with pytest.raises(GapError, match="strong"):
        NaiveBayes("strong").fit(frame, y).to_onnx()
    mixed = NaiveBayes("textbook", families="categorical").fit({"x": [1, "a"]}, [0, 1])
    with pytest.raises(GapError, match="text and numbers"):
        mixed.to_onnx()


def test_hostile_names_are_names_of_inputs():
    session = session_of(MODELS["textbook"][0], missing=MISSING)
    assert [given.name for given in session.get_inputs()] == NAMES
    assert LABELS[0] in MODELS["textbook"][0].parameters()[NAMES[3]]["probability"]


def test_a_column_may_have_the_name_of_an_output():
    rows = {"label": ["a", "b", "a", "b"], "probabilities": [1.0, 2.0, 1.5, 4.0]}
    graph = NaiveBayes("textbook", smoothing=1).fit(rows, ["u", "v", "u", "v"]).to_onnx()
    assert [one.name for one in graph.graph.output] == ["_label", "_probabilities"]
