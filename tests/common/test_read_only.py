"""Nothing that a model hands out can be written through to what it has learnt, and nothing that it was given."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest

from naively import TAN, JointBayes, NaiveBayes
from naively._export.json import model_to_content
from naively.errors import NaivelyError
from naively.families import Joint
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tests.models import textbook

RANDOM = np.random.default_rng(5)
N = 60
Y = np.array(["ant", "bee", "cat"])[RANDOM.integers(0, 3, N)]
NUMBERS = RANDOM.normal(size=(N, 3)) + (Y == "ant")[:, None]
CODES = RANDOM.integers(0, 4, (N, 3))
WORDS = np.array([f"word{number}" for number in range(30)])
MIXED = pd.DataFrame(
    {
        "number": NUMBERS[:, 0],
        "label": np.array(["red", "green", "blue"])[CODES[:, 0] % 3],
        "prose": [" ".join(RANDOM.choice(WORDS, 10)) for _ in range(N)],
        "type": pd.Categorical(np.array(["x", "y"])[CODES[:, 1] % 2], categories=["x", "y", "z"]),
    }
)
PROSE = {"prose": "text"}
LABELS = MIXED[["label", "type"]]

CASES = {
    "textbook": (textbook(families=PROSE), MIXED),
    "fast": (NaiveBayes("fast", families=PROSE), MIXED),
    "auto": (NaiveBayes(families=PROSE), MIXED),
    "strong": (NaiveBayes("strong", families=PROSE), MIXED),
    "numbers": (textbook(), NUMBERS),
    "one class": (textbook(), NUMBERS),
    "declared": (textbook(families={"type": "categorical"}, smoothing={"type": 2.0}), LABELS),
    "joint": (textbook(factors=[Joint(0, 1)]), NUMBERS),
    "bernoulli": (textbook(families="bernoulli"), NUMBERS),
    "multinomial": (textbook(families="multinomial"), CODES),
    "poisson": (textbook(families="poisson"), CODES),
    "studentt": (textbook(families="studentt"), NUMBERS),
    "kernel": (textbook(families="kernel"), NUMBERS),
    "binned": (textbook(families="binned"), NUMBERS),
    "TAN": (TAN(), LABELS),
    "JointBayes": (JointBayes(), MIXED[["number", "label"]]),
    "GaussianNB": (GaussianNB(), NUMBERS),
    "BernoulliNB": (BernoulliNB(), CODES),
    "MultinomialNB": (MultinomialNB(), CODES),
    "ComplementNB": (ComplementNB(), CODES),
    "CategoricalNB": (CategoricalNB(), CODES),
}


@pytest.fixture(autouse=True)
def _one_kernel(monkeypatch):
    """Answers are compared to the last bit, which is up to the kernel."""
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")


LEARNS = {"fit", "partial_fit", "forget", "decay", "set_params", "save", "with_statistics", "learn_one", "forget_one"}
DRAWS = {"plot", "report"}
ARGUMENTS = {
    "impute_proba": lambda X: [X, 1],
    "score": lambda X: [X, Y],
    "rank_features": lambda X: [],
    "log_likelihood": lambda X: [X, Y],
    "to_sql": lambda X: ["rows"],
    "predict_one": lambda X: [{}],
    "predict_proba_one": lambda X: [{}],
}


def handed_out(model, X):
    """All public attributes, and the results of all public methods, that a fitted model has; parameters are not its."""
    given = set(model.get_params())
    for name in dir(model):
        if name.startswith(("_", "set_")) or name in LEARNS | DRAWS | given | {
            "get_metadata_routing",
            "from_parameters",
            "frozen",
        }:
            continue
        try:
            value = getattr(model, name)
            if callable(value) and not hasattr(type(value), "predict"):
                value = value(*(ARGUMENTS[name](X) if name in ARGUMENTS else _arguments(value, X)))
        except (NaivelyError, AttributeError):  # other recipes have it
            continue
        yield name, value


def _arguments(method, X):
    needed = [one for one in inspect.signature(method).parameters.values() if one.default is inspect.Parameter.empty]
    return [X] if any(one.name == "X" for one in needed) else []


def arrays_in(value, path, seen):
    """All arrays that can be reached from a value by public names, with the way there."""
    if id(value) in seen:
        return
    seen[id(value)] = value  # which keeps it alive, and its number its own
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from arrays_in(element, f"{path}[{key!r:.30}]", seen)
    elif isinstance(value, (list, tuple)):
        for place, element in enumerate(value):
            yield from arrays_in(element, f"{path}[{place}]", seen)
    elif type(value).__module__.startswith("naively") and not isinstance(value, type):
        for name in dir(value):
            if not name.startswith("_"):
                try:
                    element = getattr(value, name)
                except (NaivelyError, AttributeError, NotImplementedError):
                    continue
                if not callable(element) or type(element).__module__.startswith("naively"):
                    yield from arrays_in(element, f"{path}.{name}", seen)


def written(array):
    """Write to an array; whether that was possible."""
    try:
        array[...] = array[::-1].copy() if array.dtype.kind in "OUb" else np.asarray(array) + 3
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nothing_can_be_written_through(case):
    model, X = CASES[case]
    y = np.where(case == "one class", "ant", Y)
    model = copy.deepcopy(model).fit(X, y)
    answer = model.predict_proba(X)
    behind = getattr(model, "model_", model)
    content, classes = pickle.dumps(model_to_content(behind)), model.classes_.tolist()
    n_written = 0
    for name, value in handed_out(model, X):
        reached = [(way, array) for way, array in arrays_in(value, name, {}) if array.size]
        ways = [way for way, array in reached if written(array)]
        n_written += len(ways)
        assert pickle.dumps(model_to_content(behind)) == content, ways
        assert np.array_equal(model.predict_proba(X), answer, equal_nan=True), ways
    assert model.classes_.tolist() == classes
    fresh = pickle.loads(pickle.dumps(model))  # computes all estimates again
    assert np.array_equal(fresh.predict_proba(X), answer)
    assert n_written  # copies may be written to


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_cannot_be_written_to_either(make):
    model = make(NaiveBayes("fast", families=PROSE).fit(MIXED, Y))
    answer = model.predict_proba(MIXED)
    reached = [(way, array) for way, array in arrays_in(model.statistics_, "", {}) if array.size]
    ways = [way for way, array in reached if written(array)]
    assert np.array_equal(make(model).predict_proba(MIXED), answer), ways
    with pytest.raises(TypeError, match="cannot be changed in place"):
        model.statistics_.tables.clear()
    with pytest.raises(TypeError, match="cannot be changed in place"):
        model.schema_.declared["label"] = ("red",)


def test_dividing_the_class_counts_leaves_the_model_alone():
    model = textbook().fit(NUMBERS, Y)
    shares = model.class_count_
    shares /= shares.sum()
    assert model.class_count_.sum() == N
    model.forget(NUMBERS, Y)
    assert model.class_count_.tolist() == []


@pytest.mark.parametrize("name", ["classes_", "statistics_", "schema_", "n_features_in_", "feature_names_in_"])
def test_what_was_learnt_cannot_be_set(name):
    model = textbook().fit(MIXED, Y)
    with pytest.raises(AttributeError):
        setattr(model, name, None)


@pytest.mark.parametrize("recipe", ["textbook", "fast"])
def test_what_was_given_stays_the_users(recipe):
    """Arrays that were learnt from can be written to, and that changes nothing of the model."""
    X, y, weights = NUMBERS.copy(), RANDOM.integers(0, 3, N), np.ones(N)
    classes = np.array([0, 1, 2])
    model = NaiveBayes(recipe).partial_fit(X, y, classes=classes, sample_weight=weights)
    content, answer = pickle.dumps(model_to_content(model)), model.predict_proba(NUMBERS)
    for given in (X, y, weights, classes):
        given[...] = 7
    assert pickle.dumps(model_to_content(model)) == content
    fresh = pickle.loads(pickle.dumps(model))
    assert np.array_equal(fresh.predict_proba(NUMBERS), answer)
