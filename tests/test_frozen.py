"""Models that only answer: as the model does that they were made from, without its rows, and without learning."""

import copy
import json
import pickle

import numpy as np
import pytest

from naively import TAN, JointBayes, NaiveBayes, load
from naively._export import estimates
from naively.errors import FrozenError, ModelFileError, ParameterError
from naively.families import FAMILIES, Gaussian, Text
from tests.models import textbook

RECIPES = ("textbook", "fast", "auto", "strong")
WORDS = ["free", "prize", "lunch", "home", "now", "call", "später", "🐧"]


def table(n_rows=120, seed=0):
    random = np.random.default_rng(seed)
    size = random.normal(size=n_rows)
    rows = {
        "size": np.where(random.random(n_rows) < 0.1, np.nan, size),
        "coat": random.choice(["plain", "striped", None], n_rows),
        "rank": random.integers(0, 4, n_rows),
        "tame": random.random(n_rows) < 0.5,
        "remark": [f"{' '.join(random.choice(WORDS, 9))} no{place}no" for place in range(n_rows)],
    }
    return rows, np.where(size + (rows["coat"] == "plain") > 0.3, "yes", "no")


ROWS, Y = table()
NEW, _ = table(40, seed=1)
ANSWERS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "evidence")


@pytest.fixture(scope="module", params=RECIPES)
def model(request):
    return NaiveBayes(request.param, families={"remark": Text()}).fit(ROWS, Y)


def assert_same_answers(one, other):
    for method in ANSWERS:
        assert np.array_equal(getattr(one, method)(NEW), getattr(other, method)(NEW)), method
    assert one.evidence_names_ == other.evidence_names_
    assert one.score(ROWS, Y) == other.score(ROWS, Y)
    for told in ("explain", "predict_proba"):
        some = {name: cells[:5] for name, cells in NEW.items()}
        assert np.array_equal(np.asarray(getattr(one, told)(some), str), np.asarray(getattr(other, told)(some), str))
    assert np.array_equal(one.predict_proba(NEW, prior="uniform"), other.predict_proba(NEW, prior="uniform"))
    assert one.classes_.tolist() == other.classes_.tolist()
    assert np.array_equal(one.class_prior_, other.class_prior_)
    assert np.array_equal(one.class_count_, other.class_count_)
    assert one.json_schema() == other.json_schema()
    if one.recipe != "textbook":
        assert one.calibration_.log_loss == other.calibration_.log_loss
        assert np.array_equal(one.loo(), other.loo())


def test_a_frozen_model_answers_to_the_last_bit(model, tmp_path):
    frozen = model.frozen()
    assert (model.frozen_, frozen.frozen_, frozen.frozen().frozen_) == (False, True, True)
    assert_same_answers(frozen, model)
    model.save(tmp_path / "m.json", rows=False)
    loaded = load(tmp_path / "m.json")
    assert loaded.frozen_
    assert_same_answers(loaded, model)
    for copied in (pickle.loads(pickle.dumps(frozen)), copy.copy(frozen), copy.deepcopy(loaded)):
        assert copied.frozen_
        assert_same_answers(copied, model)


def test_the_file_of_a_frozen_model_holds_no_row(model, tmp_path):
    model.save(tmp_path / "m.json", rows=False)
    document = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert document["content"]["kept"] is None
    written = (tmp_path / "m.json").read_bytes() + pickle.dumps(model.frozen())
    for text in ROWS["remark"]:
        assert text.encode() not in written
        assert json.dumps(text).encode() not in written


@pytest.mark.parametrize("recipe", RECIPES[1:])
def test_a_model_that_goes_on_learning_keeps_rows_and_its_file_does(recipe, tmp_path):
    model = NaiveBayes(recipe, families={"remark": Text()}).fit(ROWS, Y)
    model.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))["content"]
    assert ROWS["remark"][0] in content["kept"]["columns"]["remark"]["cells"]


def test_a_frozen_model_learns_nothing(model):
    frozen = model.frozen()
    before = frozen.predict_proba(NEW)
    for learn in (
        lambda: frozen.partial_fit(ROWS, Y),
        lambda: frozen.forget(ROWS, Y),
        lambda: frozen.decay(0.5),
        lambda: frozen + model,
        lambda: model + frozen,
        lambda: model - frozen,
        lambda: frozen.__iadd__(model),
    ):
        with pytest.raises(FrozenError, match="only answers"):
            learn()
    for learn in ("learn_one", "forget_one"):
        with pytest.raises(FrozenError, match=f"^{learn}: this model only answers"):
            getattr(frozen, learn)({name: cells[0] for name, cells in ROWS.items()}, Y[0])
    assert np.array_equal(frozen.predict_proba(NEW), before)
    assert not frozen.fit(ROWS, Y).frozen_


def test_a_frozen_model_without_statistics_says_so(tmp_path):
    model = NaiveBayes().fit(ROWS, Y)
    frozen = model.frozen()
    for ask in (lambda: frozen.statistics_, frozen.rank_features, lambda: frozen.impute(NEW)):
        with pytest.raises(FrozenError, match="only answers"):
            ask()
    assert not hasattr(frozen, "statistics_")
    with pytest.raises(FrozenError, match="only the prior"):
        frozen.set_params(smoothing=3.0).predict(NEW)
    other = model.frozen().set_params(prior="uniform")
    assert np.array_equal(other.predict_proba(NEW), model.predict_proba(NEW, prior="uniform"))
    other.save(tmp_path / "m.json")
    assert np.array_equal(load(tmp_path / "m.json").predict_proba(NEW), other.predict_proba(NEW))
    weights = frozen.set_params(smoothing=None).log_odds()
    assert np.array_equal(weights.intercept, model.log_odds().intercept)


@pytest.mark.parametrize("make", [JointBayes, lambda: TAN(bins=3), lambda: textbook(families={"size": Gaussian()})])
def test_models_that_keep_no_rows_freeze_with_their_statistics(make, tmp_path):
    known, new = ({name: rows[name] for name in ("size", "coat", "rank")} for rows in (ROWS, NEW))
    model = make().fit(known, Y)
    model.save(tmp_path / "m.json", rows=False)
    loaded = load(tmp_path / "m.json")
    assert loaded.statistics_ == model.statistics_
    assert np.array_equal(loaded.predict_proba(new), model.predict_proba(new))
    with pytest.raises(FrozenError):
        loaded.decay(0.5)


OF_NUMBERS = [
    name for name, family in FAMILIES.items() if isinstance(family.accepts, tuple) and "number" in family.accepts
]


@pytest.mark.parametrize(
    ("family", "start"), [(name, start) for name in OF_NUMBERS for start in (1.0, 1e9) if name != "codes" or start == 1]
)
def test_a_frozen_model_that_weighs_any_family_comes_back(family, start, tmp_path):
    rows, new = {"rank": ROWS["rank"] + start}, {"rank": NEW["rank"] + start}
    model = NaiveBayes(families={"rank": family}).fit(rows, Y)
    model.save(tmp_path / "m.json", rows=False)
    assert np.array_equal(load(tmp_path / "m.json").predict_proba(new), model.predict_proba(new))


def test_an_estimate_that_no_file_can_hold_is_refused_only_without_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(estimates, "FUNCTIONS", {})
    rows, new = {"rank": ROWS["rank"]}, {"rank": NEW["rank"]}
    model = NaiveBayes(families={"rank": "poisson"}).fit(rows, Y)
    model.save(tmp_path / "m.json")
    assert np.array_equal(load(tmp_path / "m.json").predict_proba(new), model.predict_proba(new))
    with pytest.raises(ModelFileError, match="without its rows"):
        model.save(tmp_path / "n.json", rows=False)
    assert not (tmp_path / "n.json").exists()


@pytest.mark.parametrize("recipe", RECIPES[1:])
def test_no_rows_can_be_kept_only_where_none_are_needed(recipe):
    assert textbook(kept_rows=0).fit(ROWS, Y).statistics_.kept is None
    with pytest.raises(ParameterError, match=r"kept_rows must be at least 1.*frozen"):
        NaiveBayes(recipe, kept_rows=0).fit(ROWS, Y)


# -- estimates ----------------------------------------------------------------------------------------------------


def counted(monkeypatch):
    """A list that grows by one whenever a model estimates."""
    calls, estimate = [], NaiveBayes._scorer
    monkeypatch.setattr(NaiveBayes, "_scorer", lambda self, recipe: calls.append(1) or estimate(self, recipe))
    return calls


@pytest.mark.parametrize("recipe", RECIPES[1:])
def test_fit_estimates_and_answers_do_not(recipe, monkeypatch, tmp_path):
    calls = counted(monkeypatch)
    model = NaiveBayes(recipe, smoothing=None, kept_rows=1000).fit(ROWS, Y)
    assert len(calls) == 1
    model.save(tmp_path / "m.json")
    expected = model.predict_proba(NEW)
    copies = [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model), load(tmp_path / "m.json")]
    for one in (model, *copies):
        assert np.array_equal(one.predict_proba(NEW), expected)
        assert one.set_params(prior="uniform").predict(NEW).shape == (40,)
    assert len(calls) == 1
    model.partial_fit(NEW, Y[:40])
    model.decay(0.5)
    assert len(calls) == 1
    model.predict(NEW)
    assert len(calls) == 2
    model.set_params(kept_rows=2000).predict(NEW)
    assert len(calls) == 3


def test_textbook_and_statistics_estimate_when_asked(monkeypatch):
    calls = counted(monkeypatch)
    model = NaiveBayes("textbook").fit(ROWS, Y)
    assert not calls
    weighed = NaiveBayes("fast").fit(ROWS, Y)
    weighed.with_statistics(weighed.statistics_ + weighed.statistics_)
    assert len(calls) == 1
    assert model.predict(NEW).shape == (40,)


def test_a_fit_that_fails_leaves_the_model_as_it_was(monkeypatch):
    model = NaiveBayes().fit(ROWS, Y)
    before = model.predict_proba(NEW)

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(NaiveBayes, "_scorer", fail)
        with pytest.raises(MemoryError):
            model.fit(NEW, Y[:40])
    assert np.array_equal(model.predict_proba(NEW), before)


# -- what a file tells --------------------------------------------------------------------------------------------


def test_notes_come_back_and_stay(tmp_path):
    notes = {"author": "Ada", "auc": 0.9, "tags": ["a", None, True], "deep": {"x": 1}}
    model = textbook().fit(ROWS, Y)
    assert model.notes_ == {}
    model.save(tmp_path / "m.json", notes=notes)
    assert model.notes_ == {}
    loaded = load(tmp_path / "m.json")
    assert loaded.notes_ == notes
    loaded.notes_["author"] = "Eve"
    assert loaded.notes_ == notes
    loaded.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").notes_ == notes


@pytest.mark.parametrize("notes", ["text", {"x": np.nan}, {"x": object()}, {1: 2}, [1]])
def test_notes_that_no_file_can_hold_are_refused(notes, tmp_path):
    with pytest.raises(ParameterError, match="notes must"):
        textbook().fit(ROWS, Y).save(tmp_path / "m.json", notes=notes)
    assert not (tmp_path / "m.json").exists()


def test_a_file_tells_about_its_model(model, tmp_path):
    model.save(tmp_path / "m.json")
    told = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))["content"]["about"]
    assert told["rows"] == 120.0
    assert told["record"] == model.json_schema()
    assert told["learnt"].endswith("+00:00")
    loaded = load(tmp_path / "m.json")
    loaded.save(tmp_path / "n.json")
    assert (tmp_path / "n.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_the_schema_of_a_record():
    schema = textbook().fit(ROWS, Y).json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {name: cell.get("type") for name, cell in schema["properties"].items()} == {
        "size": ["number", "null"],
        "coat": None,
        "rank": ["number", "null"],
        "tame": ["boolean", "null"],
        "remark": ["string", "null"],
    }
    assert schema["properties"]["coat"]["anyOf"][0] == {"enum": ["plain", "striped"]}
    nameless = textbook().fit([[1.0, 2.0], [2.0, 3.0]], [0, 1]).json_schema()
    assert (nameless["type"], nameless["minItems"], len(nameless["prefixItems"])) == ("array", 2, 2)
