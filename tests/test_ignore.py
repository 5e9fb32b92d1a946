"""Columns that are left out: in every recipe, in streams, in merges and in files, as if they had never been there."""

import numpy as np
import pandas as pd
import pytest

from naively import TAN, JointBayes, NaiveBayes, load
from naively.errors import NaivelyWarning, ParameterError
from naively.families import Gaussian, Joint
from naively.recipes import RECIPES

N = 120
random = np.random.default_rng(0)
Y = random.integers(0, 2, N)
KEPT = pd.DataFrame(
    {"size": np.round(4 * random.normal(size=N)) / 4 + Y, "coat": random.choice(["plain", "striped"], N)}
)
FRAME = KEPT.assign(client_id=[f"client {row}" for row in range(N)], mixed=[1, "one"] * (N // 2))
WAYS = {
    "names": {"ignore": ["client_id", "mixed"]},
    "positions": {"ignore": [2, -1]},
    "families": {"families": {"client_id": "ignore", "mixed": "ignore"}},
    "both": {"families": {"mixed": "ignore"}, "ignore": "client_id"},
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("way", WAYS)
def test_an_ignored_column_changes_no_answer_and_need_not_be_there(recipe, way):
    model = NaiveBayes(recipe, **WAYS[way]).fit(FRAME, Y)
    expected = NaiveBayes(recipe).fit(KEPT, Y).predict_proba(KEPT)
    for X in (FRAME, FRAME.drop(columns="client_id"), FRAME.assign(client_id=3.0)):
        np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert set(model.explain(FRAME[:1])["column"]) & {"client_id", "mixed"} == set()
    assert model.families_["client_id"] is None
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("recipe", RECIPES)
def test_streams_merges_and_files_leave_it_out(recipe, tmp_path):
    half, rest = slice(0, N // 2), slice(N // 2, N)
    make = lambda: NaiveBayes(recipe, ignore=["client_id", "mixed"])  # noqa: E731
    model = make().fit(FRAME, Y)
    stream = make().partial_fit(FRAME[half], Y[half]).partial_fit(FRAME[rest], Y[rest])
    assert stream.statistics_ == model.statistics_
    assert (make().fit(FRAME[half], Y[half]) + make().fit(FRAME[rest], Y[rest])).statistics_ == model.statistics_
    other = FRAME.assign(client_id="of no importance")
    assert stream.forget(other[half], Y[half]).statistics_ == make().fit(FRAME[rest], Y[rest]).statistics_
    model.save(tmp_path / "model.json")
    assert "client 7" not in (tmp_path / "model.json").read_text()
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(FRAME), model.predict_proba(FRAME))


def test_columns_can_be_ignored_after_fitting_and_learnt_from_later():
    frame = FRAME.drop(columns="mixed")
    with pytest.warns(NaivelyWarning, match="'client_id' looks like an identifier"):
        model = NaiveBayes("textbook").fit(frame, Y)
    expected = NaiveBayes("textbook").fit(KEPT, Y).predict_proba(KEPT)
    np.testing.assert_array_equal(model.set_params(ignore=["client_id"]).predict_proba(frame), expected)
    model = NaiveBayes("textbook", ignore="coat").fit(KEPT, Y).set_params(ignore=None)
    model.partial_fit(KEPT, Y)
    assert model.families_["coat"] is not None
    assert model.parameters()["coat"]["probability"]["plain"].shape == (2,)


def test_one_family_for_all_columns_but_the_ignored():
    numbers = np.column_stack([np.arange(N), KEPT["size"]])
    model = NaiveBayes("textbook", families=Gaussian(), ignore=0).fit(numbers, Y)
    expected = NaiveBayes("textbook").fit(numbers[:, 1:], Y).predict_proba(numbers[:, 1:])
    np.testing.assert_array_equal(model.predict_proba(numbers), expected)


@pytest.mark.parametrize("make", [TAN, JointBayes])
def test_a_model_that_joins_all_columns_refuses_to_ignore_one(make):
    with pytest.raises(ParameterError, match=r"join.*'coat'"):
        make(families={"coat": "ignore"}).fit(KEPT, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ignore": ["client"]}, "ignore names the column 'client', which is not among"),
        ({"ignore": [7]}, "ignore names the column 7"),
        ({"ignore": 1.5}, "ignore must be a list of columns"),
        ({"ignore": {"client_id": True}}, "ignore must be a list of columns"),
        ({"families": "ignore"}, "families must be a family"),
        ({"ignore": ["size"], "factors": [Joint("size", "coat")], "recipe": "textbook"}, "factors join.*'size'"),
    ],
)
def test_what_cannot_be_ignored_is_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        NaiveBayes(**parameters).fit(KEPT[:50].assign(client_id="a"), Y[:50])
