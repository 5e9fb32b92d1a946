"""`to_python`: one file of the standard library that answers as the model does."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from naively import NaiveBayes
from naively.errors import GapError
from naively.families import Joint
from tests.export.exported import NAMES, models, rows

MODELS = models()


def program_of(model):
    program = {}
    exec(model.to_python(), program)
    return program


def records(frame):
    return [{name: cell for name, cell in row.items() if cell is not None} for row in frame.to_dict("records")]


@pytest.mark.parametrize("name", MODELS)
def test_the_program_answers_as_the_model(name):
    model, frame = MODELS[name]
    program = program_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that no class could have produced
        expected, labels = model.predict_proba(frame), model.predict(frame)
    found = [program["predict_proba"](record) for record in records(frame)]
    np.testing.assert_allclose([list(one.values()) for one in found], expected, rtol=0, atol=1e-9)
    sure = np.sort(expected, axis=1)[:, -1] - (np.sort(expected, axis=1)[:, -2] if expected.shape[1] > 1 else 0) > 1e-9
    answers = [program["predict"](record) for record in records(frame)]
    assert [a for a, s in zip(answers, sure, strict=True) if s] == labels[sure].tolist()
    assert list(found[0]) == model.classes_.tolist()


def test_the_program_needs_nothing_but_the_standard_library(tmp_path):
    model, frame = MODELS["auto"]
    (tmp_path / "scored.py").write_text(model.to_python(), encoding="ascii")
    code = f"import scored, sys; print(scored.predict({records(frame)[100]!r})); assert 'numpy' not in sys.modules"
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path[0:0] = [{str(tmp_path)!r}]\n{code}"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == model.predict(frame.iloc[[100]])[0]


def test_lists_stand_for_rows_of_arrays():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    model = NaiveBayes("textbook").fit(X, y)
    found = program_of(model)["predict_proba"](X[0].tolist())
    assert list(found.values()) == pytest.approx(model.predict_proba(X[:1])[0].tolist(), abs=1e-12)


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_what_the_model_refuses_the_program_refuses(cell):
    program = program_of(MODELS["textbook"][0])
    with pytest.raises(ValueError, match="'age' must hold a finite number"):
        program["predict"]({NAMES[0]: cell})
    with pytest.raises(TypeError, match="'age' must hold a number"):
        program["predict"]({NAMES[0]: "12"})
    with pytest.raises(TypeError, match="must hold text"):
        program["predict"]({NAMES[3]: 12})
    with pytest.raises(ValueError, match="of 0 or more"):
        program_of(MODELS["auto families"][0])["predict"]({NAMES[5]: -1})


def test_what_has_no_additive_form_says_why():
    frame, y = rows()
    with pytest.raises(GapError, match="strong"):
        NaiveBayes("strong").fit(frame, y).to_python()
    joint = NaiveBayes("textbook", factors=[Joint("age", NAMES[3])]).fit(frame, y)
    with pytest.raises(GapError, match="reads several columns together"):
        joint.to_python()
    prose = NaiveBayes().fit(["free cash prize now", "lunch at noon then"] * 20, ["spam", "ham"] * 20)
    with pytest.raises(GapError, match="'x0' cannot be exported: 'text'"):
        prose.to_python()
