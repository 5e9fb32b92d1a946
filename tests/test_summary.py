"""The summary that notebooks show, and Bayes' rule step by step."""

import numpy as np
import pytest

from naively import NaiveBayes
from naively.demo import penguins
from naively.errors import InputError


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_the_last_step_is_the_answer(recipe):
    rows, y = penguins()
    model = NaiveBayes(recipe).fit(rows, y)
    for row in rows[::60]:
        told = model.steps(row)
        np.testing.assert_allclose(told.posteriors[-1], model.predict_proba(row)[0], atol=1e-12)
        np.testing.assert_allclose(told.posteriors[0], model.class_prior_, atol=1e-12)
    frame = told.frame()
    assert len(frame) == 3 * len(told.names)


def test_steps_begin_with_the_prior_of_the_call_and_take_one_row():
    rows, y = penguins()
    model = NaiveBayes("textbook").fit(rows, y)
    told = model.steps(rows[0], prior=[0.1, 0.2, 0.7])
    np.testing.assert_allclose(told.posteriors[0], [0.1, 0.2, 0.7])
    np.testing.assert_allclose(told.posteriors[-1], model.predict_proba(rows[0], prior=[0.1, 0.2, 0.7])[0], atol=1e-12)
    with pytest.raises(InputError, match="one row, got 2"):
        model.steps(rows[:2])


def test_notebooks_show_the_summary_of_a_fitted_model_without_estimating():
    rows, y = penguins()
    model = NaiveBayes()
    assert "NaiveBayes" in model._repr_mimebundle_()["text/html"]
    model.partial_fit(rows, y)
    shown = model._repr_mimebundle_()["text/html"]
    assert "bill_length_mm" in shown
    assert "Gentoo" in shown
    assert shown == model._repr_html_()
    assert (
        model._state.estimates
        == type(model._state).of(model.schema_, model.statistics_, model.declared_classes_).estimates
    )


def test_a_summary_counts_missing_cells_and_is_text():
    rows = {"<b>": ["x", None, None, "y"], "n": [1.0, 2.0, None, 4.0]}
    told = NaiveBayes().fit(rows, ["u", "v", "u", "v"]).summary()
    assert [one.missing for one in told.columns] == [0.5, 0.25]
    assert told.columns[1].values == "1 to 4"
    assert "<b>" not in told._repr_html_()
    assert list(told.frame().columns) == ["column", "holds", "family", "missing", "values"]


def test_ignored_columns_and_frozen_models_have_a_summary():
    rows, y = penguins()
    model = NaiveBayes(ignore=["island"]).fit(rows, y)
    assert next(one for one in model.summary().columns if one.name == "island").family == "ignored"
    assert len(model.frozen().summary().columns) == len(model.schema_.names)


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto", "strong"])
def test_what_notebooks_show_needs_no_estimates(recipe, monkeypatch):
    rows, y = penguins()
    rows = [{**row, "note": "a short note"} for row in rows]
    model = NaiveBayes(recipe, families={"note": "text"}).partial_fit(rows, y)

    def refuse(*_):
        raise AssertionError("estimated for a look")

    monkeypatch.setattr(NaiveBayes, "_scorer", refuse)
    for shown in (model, model.summary(), model.tables()):
        assert "bill_length_mm" in shown._repr_html_()
        assert repr(shown)
    assert model._repr_mimebundle_()["text/html"] == model._repr_html_()
    with pytest.raises(AssertionError, match="for a look"):
        model.predict(rows)


def test_lines_of_a_title_stay_lines_in_html():
    rows, y = penguins()
    assert "white-space: pre" in NaiveBayes("textbook").fit(rows, y).summary()._repr_html_()
