"""A recipe may be given as an object."""

import numpy as np
import pytest
from sklearn.base import clone

from naively import NaiveBayes, load
from naively._weighing.auto import Tempering
from naively.errors import ModelFileError, ParameterError
from naively.families import Gaussian, Stacked, Text
from naively.recipes import RECIPES, Recipe
from naively.smoothing import Laplace, Lidstone, NoSmoothing

from .tables import table

CUSTOM = {
    "gaussians": Recipe(numeric="gaussian", tempering=["T", "W"]),
    "unweighed": Recipe(Stacked(("t",)), smoothing=0.5, prior_smoothing="none", kept_rows=0, tempering=None),
    "pooled": Recipe(kept_rows=200, tempering=Tempering(("W",), rows=100), pooled=True),
}


def test_a_name_is_short_for_an_object():
    frame, y, _ = table("categorical")
    for name, recipe in RECIPES.items():
        mine, theirs = (NaiveBayes(one).fit(frame, y).predict_proba(frame) for one in (recipe, name))
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_a_recipe_of_ones_own_without_options_is_auto():
    assert Recipe() == RECIPES["auto"]


@pytest.mark.parametrize("name", CUSTOM)
def test_a_recipe_of_ones_own(name, tmp_path):
    frame, y, _ = table("categorical")
    model = NaiveBayes(CUSTOM[name]).fit(frame, y)
    proba = model.predict_proba(frame)
    assert np.isfinite(proba).all()
    copy = clone(model)
    assert copy.get_params()["recipe"] == CUSTOM[name]
    assert repr(copy) == repr(model)
    assert "Recipe(" in repr(model)
    np.testing.assert_allclose(copy.fit(frame, y).predict_proba(frame), proba, atol=1e-12)
    model.save(tmp_path / "model.json")
    read = load(tmp_path / "model.json")
    assert read.recipe == CUSTOM[name]
    np.testing.assert_allclose(read.predict_proba(frame), proba, atol=1e-12)


def test_what_a_recipe_says_is_done():
    frame, y, _ = table("categorical")
    model = NaiveBayes(CUSTOM["gaussians"]).fit(frame, y)
    assert model.parameters()["beside"]["family"] == Gaussian()
    assert model._estimated()[0].weighed.model.loo.candidates == ("T", "W")
    assert hasattr(NaiveBayes(CUSTOM["unweighed"]), "score_samples")
    assert not hasattr(model, "score_samples")
    loo = NaiveBayes(CUSTOM["pooled"]).fit(frame, y)._estimated()[0].weighed.model.loo
    assert len(np.unique(loo.rows)) <= 110 < 200  # 100 distinct rows, some of them in several classes
    assert (CUSTOM["unweighed"].smoothing, CUSTOM["unweighed"].prior_smoothing) == (Lidstone(0.5), NoSmoothing())


def test_parameters_override_a_recipe():
    frame, y, _ = table("categorical")
    mine = NaiveBayes(Recipe(smoothing=7.0)).fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(NaiveBayes(smoothing=7.0).fit(frame, y).predict_proba(frame), mine, atol=1e-12)
    over = NaiveBayes(Recipe(smoothing=7.0), smoothing=Laplace()).fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(NaiveBayes(smoothing=1).fit(frame, y).predict_proba(frame), over, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric": "normal"}, r"Recipe\(numeric\) must be a family.*'normal'"),
        ({"smoothing": -1}, r"Recipe\(smoothing\) must be a finite number of at least 0"),
        ({"kept_rows": -1}, r"Recipe\(kept_rows\) must be a whole number of at least 0"),
        ({"kept_rows": 0}, r"Recipe\(kept_rows\) must be at least 1 where evidence is weighed"),
        ({"tempering": ["X"]}, r"Tempering\(candidates\) must be some of.*X"),
        ({"tempering": "X"}, r"Tempering\(candidates\) must be some of.*'X'"),
        ({"tempering": None, "pooled": True}, r"Recipe\(pooled=True\) needs a tempering"),
        ({"pooled": "yes"}, r"Recipe\(pooled\) must be True or False"),
    ],
)
def test_a_bad_recipe_is_refused_by_name(options, message):
    with pytest.raises(ParameterError, match=message):
        Recipe(**options)


def test_a_recipe_that_no_file_can_hold_is_refused(tmp_path):
    frame, y, _ = table("text")
    model = NaiveBayes(Recipe(text=Text(1, tokenizer=str.split))).fit(frame, y)
    with pytest.raises(ModelFileError, match="tokenizer"):
        model.save(tmp_path / "model.json")
