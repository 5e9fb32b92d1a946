"""Law 9: save, load: the same answer to the last bit."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from naively import TAN, JointBayes, NaiveBayes, load
from naively._export.json import _estimates as json_estimates
from naively.errors import InputError
from naively.families import (
    Bernoulli,
    Binned,
    ByKind,
    Categorical,
    Codes,
    Complement,
    Gaussian,
    Joint,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Text,
    Thresholded,
)
from naively.recipes import as_recipe
from tests.models import textbook
from tests.strategies import cases, learn

pytestmark = [
    pytest.mark.usefixtures("kernels"),
    pytest.mark.filterwarnings("ignore:.*every class had probability zero"),  # without smoothing, that is right
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.json"


def through_a_file(model, file):
    model.save(file)
    return load(file)


def assert_same_model(copy, model, query):
    assert copy.statistics_ == model.statistics_
    assert copy.schema_ == model.schema_
    assert copy.get_params(deep=False) == model.get_params(deep=False)
    assert copy.classes_.dtype == model.classes_.dtype
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "evidence"):
        assert np.array_equal(getattr(copy, method)(query), getattr(model, method)(query))


@given(case=cases())
def test_a_model_comes_back_the_same(file, case):
    model = case.fitted()
    assert_same_model(through_a_file(model, file), model, case.query)


@given(case=cases(inferred=True))
def test_a_model_with_inferred_families_comes_back_the_same(file, case):
    model = case.fitted()
    assert_same_model(through_a_file(model, file), model, case.query)


@given(case=cases(min_rows=2))
def test_a_loaded_model_goes_on_learning_and_forgetting(file, case):
    half = len(case.rows) // 2
    model = learn(
        through_a_file(case.fitted(case.rows.take(range(half))), file), case.rows.take(range(half, len(case.rows)))
    )
    assert model.statistics_ == case.fitted().statistics_
    gone = case.rows.take(range(half))
    model.forget(gone.columns, gone.y, gone.weights)
    assert model.statistics_ == case.fitted(case.rows.take(range(half, len(case.rows)))).statistics_


@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-100, 100))
def test_sums_that_are_not_exact_come_back_to_the_last_bit(file, seed, exponent):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 2)) * 10.0**exponent + random.normal()
    y, weights = random.integers(0, 2, 30), random.uniform(1e-9, 1e9, 30)
    model = textbook().fit(X, y, weights)
    assert_same_model(through_a_file(model, file), model, X)


@given(case=cases())
def test_pickling_and_copying_keep_every_bit(case):
    model = case.fitted()
    model.predict_proba(case.query)
    assert_same_model(pickle.loads(pickle.dumps(model)), model, case.query)
    assert_same_model(deepcopy(model), model, case.query)


# -- any magnitude, any weight, any type of class, any recipe and family ----------------------------------------------

SPECIAL_NUMBERS = st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e150, -1e150])


def numbers_of_size(exponents):
    parts = (st.sampled_from([-1.0, 1.0]), st.floats(1.0, 9.99), exponents)
    return st.tuples(*parts).map(lambda parts: parts[0] * parts[1] * 10.0 ** parts[2])


mixed_numbers = numbers_of_size(st.integers(-323, 149)) | SPECIAL_NUMBERS
wild_columns = st.just(mixed_numbers) | st.integers(-323, 149).map(lambda one: numbers_of_size(st.just(one)))
"""What the numbers of a column are drawn from: all sizes at once, or one, on both sides of zero."""

shares = st.floats(0.01, 1.0)
weights = (
    st.just(st.none())
    | st.just(shares)
    | st.integers(-300, 100).map(lambda exponent: shares.map(lambda share: share * 10.0**exponent))
    | st.just(st.integers(-40, 40).map(lambda power: 3.0**power))
)
WORDS = ("free", "prize", "lunch", "home", "now", "é", "🐧")
CLASS_TYPES = ("bool", "str", "object", "float16", "float32", "float64", *np.typecodes["AllInteger"])

ANY_NUMBER = (
    *(Gaussian(), Gaussian(ties="all", ddof=1), StudentT(), StudentT(pooled=True), Kernel(), Kernel(scores=True)),
    *(Kernel(background=False), Kernel(background=False, points=64), Binned(), Binned("mdl"), Binned(3), Stacked()),
    *(Bernoulli(), Bernoulli(0.5), Categorical(), Thresholded(Gaussian(rule="threshold", floor=0.001))),
)
COUNT = (Poisson(), Multinomial(), Complement(), Bernoulli(None), Poisson("events"))
TEMPERED = ("auto", "fast", "strong")


def classes_of(codes, dtype):
    """Classes of a type: of numbers, both ends of what it holds, where that is not too much for a float."""
    if dtype in ("str", "object"):
        return np.array(["x", "yy", ""], dtype=dtype)[codes]
    if dtype == "bool":
        return np.array(codes) > 0
    least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max) if np.dtype(dtype).kind in "iu" else (-2048, 2048)
    return np.array([least, 0 if least else 1, most], dtype=dtype)[codes]


@st.composite
def tables(draw, n_rows):
    """Columns of numbers (x), of counts (n), of codes (k), of labels (c) and perhaps of prose (t)."""

    def cells(values, known=False):
        return draw(st.lists(values if known else st.none() | values, min_size=n_rows, max_size=n_rows))

    return {
        "x": cells(draw(wild_columns), known=True),
        "z": cells(draw(wild_columns)),
        "n": cells(st.sampled_from([0.0, 1.0]) | st.floats(0, 1)),
        "k": cells(st.integers(0, 4)),
        "c": cells(st.sampled_from(["red", "blue", ""])),
        "t": cells(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)),
    }


@st.composite
def wild_models(draw, recipes):
    """A fitted model, and a table to ask it about."""
    n_rows = draw(st.integers(2, 12))
    table = draw(tables(n_rows))
    recipe = draw(st.sampled_from(recipes))
    kept = ["x", *draw(st.sets(st.sampled_from(["z", "n", "k", "c", "t"]), max_size=3))]
    families = {"k": draw(st.sampled_from([Codes(), Codes(7), "categorical"])), "t": Text()}
    model = NaiveBayes(recipe, families={name: family for name, family in families.items() if name in kept})
    if recipe == "textbook":
        families |= {name: draw(st.sampled_from(ANY_NUMBER)) for name in ("x", "z")}
        families |= {
            "n": draw(st.sampled_from(COUNT)),
            "t": Text(1, event=draw(st.sampled_from(["bernoulli", "complement"]))),
        }
        model.families = {name: family for name, family in families.items() if name in kept}
        if draw(st.booleans()):
            kept, model.families = ["x", "z", "c"], None
            model = draw(st.sampled_from([JointBayes(), TAN(), textbook(factors=[Joint("x", "z")]), model]))
            model.families = draw(st.none() | st.just(ByKind(numbers=Gaussian(), labels=Categorical())))
    table = {name: table[name] for name in kept}
    codes = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    y = classes_of(codes, draw(st.sampled_from(CLASS_TYPES)))
    weight = draw(st.lists(draw(weights), min_size=n_rows, max_size=n_rows))
    try:
        return model.fit(table, y, None if weight[0] is None else weight), table
    except InputError:  # too large to be squared and summed, or more than a "yes"
        reject()


def writable_without_rows(model):
    """Whether no family estimates what a file cannot hold."""
    return as_recipe(model.recipe).tempering is None or json_estimates(model) is not None


def assert_same_to_the_last_bit(model, query, file):
    expected = model.predict_proba(query)
    assert np.isfinite(expected).all()
    loaded = through_a_file(model, file)
    assert loaded.statistics_ == model.statistics_
    assert loaded.schema_ == model.schema_
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert np.array_equal(loaded.predict_proba(query), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(query), expected)
    assert np.array_equal(model.frozen().predict_proba(query), expected)
    written = file.read_bytes()
    loaded.save(file)
    assert file.read_bytes() == written
    if writable_without_rows(model):
        model.save(file, rows=False)
        assert np.array_equal(load(file).predict_proba(query), expected)


@pytest.fixture
def plain_kernels(monkeypatch):
    monkeypatch.setenv("NAIVELY_KERNELS", "reference")  # the compiled ones add up in another order


of_any_size = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::naively.errors.NaivelyWarning")


@of_any_size
@settings(max_examples=150)
@given(case=wild_models(["textbook"]))
def test_any_textbook_model_comes_back_to_the_last_bit(file, case):
    assert_same_to_the_last_bit(*case, file)


@of_any_size
@pytest.mark.usefixtures("plain_kernels")
@pytest.mark.parametrize("recipe", TEMPERED)
def test_any_model_that_keeps_rows_comes_back_to_the_last_bit(recipe, file):
    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(case=wild_models([recipe]))
    def law(case):
        assert_same_to_the_last_bit(*case, file)

    law()


@pytest.mark.parametrize("recipe", ["textbook", *TEMPERED])
def test_numbers_on_both_sides_of_zero_come_back(recipe, file):
    """Their keys are further apart than an int64 reaches."""
    model = NaiveBayes(recipe).fit([[-3.0], [3.0], [-1e150], [1e150]], [0, 1, 0, 1])
    assert through_a_file(model, file).statistics_ == model.statistics_


def test_fractional_weights_come_back_to_the_last_bit(file):
    """Categories are put in order when they are counted: as columns of an array, which lay in memory as they came."""
    random = np.random.default_rng(0)
    for _ in range(10):
        X = random.choice(list("abcdefgh"), (60, 3))
        model = NaiveBayes("fast").fit(X, random.integers(0, 3, 60), random.uniform(0, 1, 60))
        loaded = through_a_file(model, file)
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        merged = model + model
        assert np.array_equal(through_a_file(merged, file).predict_proba(X), merged.predict_proba(X))


PROSE = [" ".join(WORDS[(place * step) % 7] for step in range(1, 10)) for place in range(60)]


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("recipe", ["textbook", *TEMPERED])
def test_a_saved_model_answers_the_same_whichever_kernels_run(recipe, frozen, file, monkeypatch):
    random = np.random.default_rng(1)
    rows = {
        "x": np.where(random.random(60) < 0.1, np.nan, random.normal(size=60)),
        "c": random.choice(["red", "blue"], 60),
        "k": random.integers(0, 4, 60),
        "d": np.datetime64("2024-01-01T00") + random.integers(0, 9000, 60),
        "t": PROSE,
    }
    y = np.where(rows["c"] == "red", "a", "b")
    y[::7] = "c"
    model = NaiveBayes(recipe, families={"k": "categorical", "t": Text()}).fit(rows, y)
    model.save(file, rows=not frozen)
    answers = []
    for kernels in ("reference", "compiled", "reference"):
        monkeypatch.setenv("NAIVELY_KERNELS", kernels)
        loaded = load(file)
        answers.append([loaded.predict_joint_log_proba(rows), loaded.evidence(rows), loaded.predict_proba(rows)])
    for answer in answers[1:]:
        for one, other in zip(answer, answers[0], strict=True):
            assert np.array_equal(one, other)
    assert np.array_equal(answers[0][2], model.predict_proba(rows))
