"""Labels stay what they are: equal ones are one, all others are told apart, whatever holds them."""

import decimal
import enum

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from naively import NaiveBayes, load
from naively._table.labels import encode_array, encode_objects, encode_series, exact_array, label_array
from naively.errors import InputError, InputTypeError
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from tests.models import textbook

BIG = 2**53
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = [np.dtype(bool), *INTEGERS, *map(np.dtype, (np.float16, np.float32, np.float64, np.longdouble))]
DROP_INS = [BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB]


def integers_of(dtype):
    """Whole numbers of a type: any, the extremes among them, and close neighbours."""
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max - 1, info.max, 0]
    edges = [edge for edge in (*ends, BIG, BIG + 1, -BIG - 1, 2**62 + 1) if info.min <= edge <= info.max]
    return st.integers(int(info.min), int(info.max)) | st.sampled_from([int(edge) for edge in edges])


def whole_numbers_of(dtype):
    """Whole numbers that a type of any kind holds exactly."""
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind != "f":
        return integers_of(dtype)
    most = {2: 2**11, 4: 2**24, 8: 2**53}.get(dtype.itemsize, 2**64)
    if dtype.itemsize > 8:
        return st.integers(-most, most).map(lambda whole: whole if int(np.longdouble(whole)) == whole else 0)
    return st.integers(-most, most)


def arrays_of(dtype, most=30):
    return st.lists(whole_numbers_of(dtype), min_size=1, max_size=most).map(lambda cells: _array(cells, dtype))


def _array(cells, dtype):
    if dtype.itemsize > 8:
        return np.array([np.longdouble(str(cell)) for cell in cells])
    return np.array(cells, dtype=dtype)


def as_python(y):
    """The labels of an array as Python's own numbers; longdouble has none but int."""
    return [int(label) for label in y.tolist()]


def told_apart(y, recipe="textbook"):
    """A model of one row per label, in which the only column says which label it is."""
    names = sorted(set(y))
    place = {label: position for position, label in enumerate(names)}
    X = [[f"column of {place[label]}"] for label in y]
    return NaiveBayes(recipe).fit(X, y), X


# -- classes of one type ----------------------------------------------------------------------------------------------


@given(st.sampled_from(NUMBERS).flatmap(arrays_of))
@example(np.array([-100, 100, -100, 100], np.int8))
@example(np.arange(-128, 128).astype(np.int8))
@example(np.array([2**64 - 1, 2**64 - 3], np.uint64))
@example(np.array([2**15, 0], np.float16))
def test_classes_are_the_sorted_distinct_labels(y):
    X = np.array(as_python(y), dtype=object)[:, None].astype(str).astype(object)
    model = textbook(families="categorical", prior="uniform").fit(X, y)
    assert model.classes_.tolist() == sorted(set(as_python(y)))
    assert model.class_count_.tolist() == [as_python(y).count(label) for label in model.classes_.tolist()]
    assert model.predict(X).tolist() == as_python(y)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_labels_at_both_ends_of_a_narrow_type(dtype):
    info = np.iinfo(dtype)
    labels = [info.min + 7, -1, 0, info.max - 9]
    y = np.tile(np.array(labels, dtype=dtype), 20_000)
    model = textbook().fit(np.tile([[0.0], [5.0], [10.0], [20.0]], (20_000, 1)), y)
    assert model.classes_.tolist() == labels
    assert model.classes_.dtype == dtype
    assert model.predict([[0.0], [20.0]]).tolist() == [labels[0], labels[-1]]


@pytest.mark.parametrize("drop_in", DROP_INS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_drop_ins_keep_labels_of_any_width(drop_in, dtype):
    info = np.iinfo(dtype)
    labels = [info.min + 28, info.max - 27]
    y = np.array(labels * 10, dtype=dtype)
    model = drop_in().fit(np.tile([[1, 0], [0, 1]], (10, 1)), y)
    assert model.classes_.tolist() == labels
    assert model.predict([[1, 0], [0, 1]]).tolist() == labels


@pytest.mark.parametrize("recipe", ["textbook", "fast", "auto"])
@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_classes_of_rare_floats_survive_a_file(recipe, dtype, tmp_path):
    y = np.array([1, 2, 2048, 1], dtype=dtype)
    X = [[0.0], [1.0], [5.0], [0.5]]
    model = NaiveBayes(recipe).fit(X, y)
    assert model.classes_.dtype == np.float64
    model.save(tmp_path / "model.json")
    assert (
        load(tmp_path / "model.json").predict(X).tolist() == NaiveBayes(recipe).fit(X, y.tolist()).predict(X).tolist()
    )


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is float64 here")
def test_long_doubles_that_float64_would_round():
    y = np.array([BIG, BIG + 1, BIG + 2], dtype=np.int64).astype(np.longdouble)
    model = textbook().fit([[0.0], [5.0], [9.0]], y)
    assert model.classes_.tolist() == [BIG, BIG + 1, BIG + 2]
    huge = np.longdouble(2) ** 70
    assert textbook().fit([[0.0], [5.0]], np.array([huge, huge + np.longdouble(2) ** 10])).classes_.tolist() == [
        2**70,
        2**70 + 2**10,
    ]
    with pytest.raises(InputError, match="continuous"):
        textbook().fit([[0.0], [5.0]], np.array([1, np.longdouble(1) + np.finfo(np.longdouble).eps]))


@given(st.lists(st.integers(-(2**70), 2**70) | st.integers(2**63 - 2, 2**63 + 2) | st.integers(-3, 3), min_size=1))
@example([2**63, -1, 2**63 + 1])
def test_whole_numbers_of_any_size_are_told_apart(y):
    for given_y in (y, tuple(y), np.array(y, dtype=object), [[label] for label in y]):
        codes, labels = encode_objects(y, "y")
        assert [labels[code] for code in codes] == y
        array = exact_array(given_y)
        assert array.ravel().tolist() == y
    model, X = told_apart(y)
    assert model.classes_.tolist() == sorted(set(y))
    assert set(model.predict(X).tolist()) <= set(y)


def test_a_list_that_mixes_large_whole_numbers_and_floats():
    model = textbook().fit([[0.0], [5.0], [9.0]], [BIG + 1, float(BIG), 1.0])
    assert model.classes_.tolist() == [1, BIG, BIG + 1]
    assert textbook().fit([[0.0], [5.0]], [1, 2.0]).classes_.dtype == np.float64


# -- classes of two types ---------------------------------------------------------------------------------------------


pairs_of_arrays = st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)).flatmap(
    lambda dtypes: st.tuples(arrays_of(dtypes[0], 5), arrays_of(dtypes[1], 5))
)


@given(pairs_of_arrays)
@settings(max_examples=300)
@example((np.array([BIG + 1] * 2), np.array([1], np.uint64)))
@example((np.array([BIG + 1]), np.array([float(BIG)])))
@example((np.array([2**64 - 1], np.uint64), np.array([-1])))
def test_classes_that_meet_are_the_union_of_their_numbers(pair):
    first, second = pair
    both = as_python(first) + as_python(second)
    union = sorted(set(both))
    rows = [[0.0]] * len(first), [[5.0]] * len(second)
    one, other = textbook().fit(rows[0], first), textbook().fit(rows[1], second)
    declared = textbook().partial_fit(rows[0], first, classes=second)
    later = textbook().fit(rows[0], first).partial_fit(rows[1], second)
    for model in (one + other, other + one, later):
        assert model.classes_.tolist() == union
        assert model.class_count_.tolist() == [both.count(label) for label in union]
        assert set(model.predict([[0.0], [5.0]]).tolist()) <= set(union)
    assert declared.classes_.tolist() == union
    assert later.forget(rows[1], second).statistics_ == one.statistics_


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (np.int8, np.int8, np.int8),
        (np.int8, np.uint8, np.int16),
        (np.int64, np.uint64, np.int64),
        (np.int64, np.float64, np.float64),
        (np.float32, np.int16, np.float32),
        (np.bool_, np.int8, np.int8),
        (np.bool_, np.bool_, np.bool_),
    ],
)
def test_the_type_of_classes_that_meet(first, second, expected):
    one = textbook().fit([[0.0]], np.array([0], first))
    assert one.partial_fit([[1.0]], np.array([1], second)).classes_.dtype == expected


def test_no_type_holds_them_all(tmp_path):
    model = textbook().fit([[0.0]], np.array([2**64 - 1], np.uint64)).partial_fit([[5.0]], np.array([-1]))
    assert model.classes_.dtype == object
    assert model.predict([[0.0], [5.0]]).tolist() == [2**64 - 1, -1]
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.classes_.tolist() == [-1, 2**64 - 1]
    assert again.statistics_ == model.statistics_


@pytest.mark.parametrize("like", [None, pl.DataFrame({"x0": [1.0]}), pa.table({"x0": [1.0]})])
@pytest.mark.parametrize("y", [[2**64 - 1, 1], [2**64 - 1, -1], ["a\0", "a"], ["\ud800", "\ud801"]])
def test_odd_classes_are_explained(y, like):
    model = textbook().fit([[0.0], [5.0]] if like is None else pl.DataFrame({"x0": [0.0, 5.0]}), y)
    frame = nw.from_native(model.explain([[0.0]] if like is None else like), eager_only=True)
    written = {str(label).encode("utf-8", "backslashreplace").decode() for label in y}
    assert {str(label) for label in frame["class"].to_list()} <= written


@pytest.mark.parametrize("reject_label", [-1, 2**64 - 1, 2**70])
def test_a_label_for_rejected_rows_leaves_the_others_as_they_are(reject_label):
    y = np.array([2**63 + 1, 2**63 + 3], np.uint64)
    model = textbook().fit([[0.0], [5.0]], y)
    assert model.predict([[0.0], [5.0]], reject=0.4, reject_label=reject_label).tolist() == y.tolist()
    assert model.predict([[2.5]], reject=0.1, reject_label=reject_label).tolist() == [reject_label]


# -- text -------------------------------------------------------------------------------------------------------------


texts = st.text(max_size=3) | st.sampled_from(["", "\0", "a", "a\0", "a\0\0", "a\0b", "a ", " a", "\ud800", "1", "1\0"])


def without_surrogates(labels):
    return not any("\ud800" <= letter <= "\udfff" for label in labels for letter in label)


@given(st.lists(texts, min_size=1, max_size=12))
@example(["a\0", "a"])
def test_texts_are_told_apart_as_classes(y):
    for given_y in (y, tuple(y), np.array(y, dtype=object)):
        model, X = told_apart(y)
        model.fit(X, given_y)
        assert model.classes_.tolist() == sorted(set(y))
        counts = {label: 1 + y.count(label) for label in y}
        model.set_params(prior={label: count / sum(counts.values()) for label, count in counts.items()})
        assert set(model.predict(X).tolist()) <= set(y)
    half = len(y) // 2 or 1
    one, other = told_apart(y[:half])[0], textbook().fit([["b"]], ["z"]) + textbook().fit([["b"]], np.array(["y"]))
    assert (one + other).classes_.tolist() == sorted({*y[:half], "y", "z"})
    declared = textbook().partial_fit([["b"]], ["z"], classes=[*y, "z"])
    assert declared.classes_.tolist() == sorted({*y, "z"})


@given(st.lists(texts, min_size=1, max_size=12))
@example(["a\0", "a"])
def test_texts_are_told_apart_as_categories(cells):
    forms = {
        "lists": [[cell] for cell in cells],
        "objects": np.array(cells, dtype=object)[:, None],
        "dicts": [{"x0": cell} for cell in cells],
        "columns": {"x0": cells},
        "pandas objects": pd.DataFrame({"x0": np.array(cells, dtype=object)}, dtype=object),
    }
    if without_surrogates(cells):
        forms["pandas"] = pd.DataFrame({"x0": cells})
        forms["pandas, in Python"] = pd.DataFrame({"x0": pd.array(cells, dtype="string[python]")})
        forms["polars"] = pl.DataFrame({"x0": cells})
        forms["polars categories"] = pl.DataFrame({"x0": cells}, schema={"x0": pl.Categorical})
        forms["arrow"] = pa.table({"x0": cells})
        forms["arrow dictionary"] = pa.table({"x0": pa.array(cells).dictionary_encode()})
    y = np.arange(len(cells)) % 2
    for name, X in forms.items():
        model = textbook(families="categorical").fit(X, y)
        assert list(model.parameters()["x0"]["probability"]) == sorted(set(cells)), name
        plain = forms["dicts" if model.schema_.named else "lists"]
        assert np.array_equal(model.predict_proba(X), model.predict_proba(plain)), name


def test_many_texts_are_told_apart(monkeypatch):
    cells = np.array(["a", "a\0", "a\0b", None] * 500, dtype=object)
    for exactly in (True, False):
        monkeypatch.setattr("naively._table.labels._factorizes_exactly", lambda _, exactly=exactly: exactly)
        codes, labels = encode_array(cells, "x")
        assert labels == ["a", "a\0", "a\0b"]
        assert codes[:4].tolist() == [0, 1, 2, -1]


def test_sampling_asks_for_the_class_that_was_named():
    model = textbook().fit([[0.0], [1.0], [100.0], [101.0]], ["a", "a", "a\0", "a\0"])
    rows, y = model.sample(5, y="a\0", seed=0)
    assert y.tolist() == ["a\0"] * 5
    assert (rows > 50).all()
    assert model.sample(2, y=["a\0", "a"], seed=0)[1].tolist() == ["a\0", "a"]


def test_text_of_other_types_is_the_text_it_holds():
    class Colour(str, enum.Enum):  # noqa: UP042, its str() is not its text
        RED = "red"

    assert encode_objects([Colour.RED, "red", np.str_("red\0"), "red\0"], "x")[1] == ["red", "red\0"]
    assert textbook().fit([["a"], ["b"]], [Colour.RED, "blue"]).classes_.tolist() == ["blue", "red"]


# -- numbers as categories --------------------------------------------------------------------------------------------


def polars_of_128_bits(ids, extra):
    """Whole numbers of 128 bits, which older versions of Polars do not have."""
    if not hasattr(pl, "Int128"):
        return {}
    return {"polars, 128 bits": pl.DataFrame({"id": ids, "x": extra}, schema_overrides={"id": pl.Int128})}


def frames_with(numbers, extra):
    """The numbers as the first column beside one of another type, in every library."""
    optional = [*numbers, None]
    wide = [*extra, extra[0]]
    return {
        "pandas": pd.DataFrame({"id": numbers, "x": extra}),
        "pandas, nullable": pd.DataFrame({"id": pd.array(optional, dtype="Int64"), "x": wide}),
        "pandas, Arrow": pd.DataFrame({"id": pd.array(optional, dtype="int64[pyarrow]"), "x": wide}),
        "pandas, objects": pd.DataFrame({"id": pd.Series(optional, dtype=object), "x": wide}),
        "polars": pl.DataFrame({"id": numbers, "x": extra}),
        "polars, nulls": pl.DataFrame({"id": optional, "x": wide}),
        **polars_of_128_bits(optional, wide),
        "polars, decimals": pl.DataFrame({"id": optional, "x": wide}, schema_overrides={"id": pl.Decimal(38, 0)}),
        "arrow": pa.table({"id": numbers, "x": extra}),
        "arrow, nulls": pa.table({"id": optional, "x": wide}),
        "dicts": [{"id": number, "x": other} for number, other in zip(optional, wide, strict=True)],
        "columns": {"id": optional, "x": wide},
    }


@given(st.lists(integers_of(np.int64), min_size=1, max_size=12), st.sampled_from([0.5, 1, True, "text"]))
@example([BIG, BIG + 1], 0.0)
@example([-(2**63), -(2**63) + 1, 5], 0.5)
@settings(deadline=None)
def test_whole_numbers_are_told_apart_as_categories(numbers, other):
    for name, X in frames_with(numbers, [other] * len(numbers)).items():
        n_rows = len(X["id"]) if name == "columns" else len(X)
        y = np.arange(n_rows) % 2
        model = textbook(families={"id": "categorical"}).fit(X, y)
        assert list(model.parameters()["id"]["probability"]) == sorted(set(numbers)), name
        said = model.evidence(X)[:, 0]
        for row, number in enumerate(numbers):
            assert np.exp(said[row]).tolist() == [
                pytest.approx(probability) for probability in model.parameters()["id"]["probability"][number]
            ], name
        assert (said[len(numbers) :] == 0).all(), name


@pytest.mark.parametrize("n_rows", [4, 300_000])
@pytest.mark.parametrize("order", [("id", "x"), ("x", "id")])
def test_large_numbers_beside_floats_in_small_and_large_frames(n_rows, order):
    ids = np.tile([BIG, BIG + 1, BIG + 2, BIG + 3], n_rows // 4)
    frame = pd.DataFrame({"id": ids, "x": 0.5})[list(order)]
    model = textbook(families={"id": "categorical"}).fit(frame, np.arange(n_rows) % 2)
    assert list(model.parameters()["id"]["probability"]) == [BIG, BIG + 1, BIG + 2, BIG + 3]
    assert model.predict(frame[:4]).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("recipe", ["textbook", "auto", "fast", "strong"])
def test_every_recipe_tells_large_numbers_apart(recipe):
    ids = [BIG, BIG + 1] * 50
    X = pd.DataFrame({"id": ids, "x": 0.5})
    model = NaiveBayes(recipe, families={"id": "categorical"}).fit(X, ids)
    assert model.predict(X[:2]).tolist() == [BIG, BIG + 1]
    rows = [[number, 0.5] for number in ids]
    model = NaiveBayes(recipe, families={0: "categorical"}).fit(rows, ids)
    assert model.predict(rows[:2]).tolist() == [BIG, BIG + 1]


@pytest.mark.parametrize("recipe", ["textbook", "auto", "fast", "strong"])
def test_every_recipe_tells_texts_apart(recipe):
    cells = ["a", "a\0"] * 50
    for X in ([[cell] for cell in cells], pl.DataFrame({"x0": cells})):
        model = NaiveBayes(recipe).fit(X, cells)
        assert model.predict(X[:2]).tolist() == ["a", "a\0"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("n_rows", [8, 20_000])
def test_categories_at_the_ends_of_a_type(dtype, n_rows):
    info = np.iinfo(dtype)
    values = np.array([info.min, info.min + 1, info.max - 1, info.max], dtype=dtype)
    column = np.tile(values, n_rows // 4)
    y = np.tile([0, 1, 0, 1], n_rows // 4)
    forms = [
        column[:, None],
        pd.DataFrame({"x0": column}),
        pl.DataFrame({"x0": column}),
        sparse.csr_array(column[:, None]),
    ]
    for X in forms:
        model = textbook(families="categorical").fit(X, y)
        assert list(model.parameters()["x0"]["probability"]) == values.tolist()
        assert model.predict(X[:4]).tolist() == [0, 1, 0, 1]
        known = textbook(families="categorical").fit(np.array([[1], [2]]), [0, 1])
        if not isinstance(X, (pd.DataFrame, pl.DataFrame)):
            assert known.predict_proba(X[3:4]).tolist() == [[0.5, 0.5]]


def test_the_least_integer_is_a_value_and_not_a_gap():
    table = pd.DataFrame({"x0": [-(2**63), 1, 2] * 9, "x1": ["a", "b", "b"] * 9})
    model = NaiveBayes(families={"x0": "categorical"}).fit(table, [0, 1, 1] * 9)
    assert model.predict(table[:3]).tolist() == [0, 1, 1]
    assert (
        -(2**63) in textbook(families={"x0": "categorical"}).fit(table, [0, 1, 1] * 9).parameters()["x0"]["probability"]
    )


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
@pytest.mark.parametrize("recipe", ["textbook", "auto", "fast"])
def test_rare_floats_are_read_as_numbers(dtype, recipe):
    X = np.array([[0.5, 1], [1.5, 2], [np.nan, 3], [4.5, 1], [5.5, 2], [0.25, 9]])
    y = [0, 0, 0, 1, 1, 1]
    expected = NaiveBayes(recipe, families={1: "categorical"}).fit(X, y).predict_proba(X)
    narrow = X.astype(dtype)
    assert (
        NaiveBayes(recipe, families={1: "categorical"}).fit(narrow, y).predict_proba(narrow).tolist()
        == expected.tolist()
    )
    frame = pd.DataFrame(narrow, columns=["x0", "x1"])
    assert (
        NaiveBayes(recipe, families={1: "categorical"}).fit(frame, y).predict_proba(frame).tolist() == expected.tolist()
    )


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is float64 here")
def test_long_doubles_as_categories():
    column = np.array([BIG, BIG + 1, BIG, BIG + 1]).astype(np.longdouble)[:, None]
    for X in (column, sparse.csr_array(column), pd.DataFrame(column, columns=["x0"])):
        model = textbook(families="categorical").fit(X, [0, 1, 0, 1])
        assert list(model.parameters()["x0"]["probability"]) == [BIG, BIG + 1]
    above = np.longdouble(1) + np.finfo(np.longdouble).eps
    close = np.array([[1], [above]], dtype=np.longdouble)
    for X in (
        close,
        sparse.csr_array(close),
        pd.DataFrame(close, columns=["x0"]),
        [{"x0": cell} for cell in close[:, 0]],
    ):
        with pytest.raises(InputError, match="float64 cannot hold exactly"):
            textbook(families="categorical").fit(X, [0, 1])
        assert textbook().fit(X, [0, 1]).predict(X).shape == (2,)


def test_decimals_as_categories():
    def frame(*numbers):
        return pl.DataFrame({"x0": [decimal.Decimal(number) for number in numbers]})

    model = textbook(families="categorical").fit(frame("0.10", "2.00", "0.10"), [0, 1, 0])
    assert list(model.parameters()["x0"]["probability"]) == [0.1, 2]
    with pytest.raises(InputError, match="decimals that float64 cannot tell apart"):
        textbook(families="categorical").fit(frame("0.1", "0.10000000000000000001"), [0, 1])


def test_sampled_categories_are_those_that_were_learnt():
    X = pd.DataFrame({"id": [BIG, BIG + 1] * 9, "x": 0.5})
    rows, _ = textbook(families={"id": "categorical"}).fit(X, [0, 1] * 9).sample(50, seed=0)
    assert set(rows["id"].tolist()) == {BIG, BIG + 1}


# -- dictionaries -----------------------------------------------------------------------------------------------------


index_types = st.sampled_from([pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int8(), pa.int64()])


@st.composite
def arrow_dictionaries(draw):
    """Chunks of a dictionary type, each with a list of its own, and the cells they hold."""
    index_type = draw(index_types)
    chunks, cells = [], []
    for _ in range(draw(st.integers(1, 3))):
        values = draw(st.lists(st.sampled_from("abcdef") | st.none(), min_size=1, max_size=4, unique=True))
        indices = draw(st.lists(st.none() | st.integers(0, len(values) - 1), min_size=1, max_size=8))
        chunks.append(pa.DictionaryArray.from_arrays(pa.array(indices, index_type), pa.array(values, pa.string())))
        cells += [None if index is None else values[index] for index in indices]
    return chunks, cells


@given(arrow_dictionaries())
@settings(deadline=None)
def test_arrow_dictionaries_of_any_index(chunks_and_cells):
    chunks, cells = chunks_and_cells
    for array in (pa.chunked_array(chunks), *chunks[: len(chunks) == 1]):
        series = nw.from_native(pa.chunked_array(chunks), series_only=True)
        codes, labels = encode_series(series, "x")
        assert [None if code < 0 else labels[code] for code in codes.tolist()] == cells
        model = textbook().fit(pa.table({"x0": pa.chunked_array(chunks)}), np.arange(len(cells)) % 2)
        plain = textbook().fit([{"x0": cell} for cell in cells], np.arange(len(cells)) % 2)
        assert model.statistics_.class_weight == plain.statistics_.class_weight
        if None in cells:
            with pytest.raises(InputError, match=f"row {cells.index(None)} has no class"):
                textbook().fit([[0.0]] * len(cells), array)
        else:
            model = textbook().fit(np.arange(len(cells))[:, None], array)
            assert model.classes_.tolist() == sorted(set(cells))
            assert model.class_count_.tolist() == [cells.count(label) for label in sorted(set(cells))]
            named = pa.table({"x": np.arange(float(len(cells))), "y": pa.chunked_array(chunks)})
            assert textbook().fit(named, "y").classes_.tolist() == sorted(set(cells))


@pytest.mark.parametrize("n_values", [3, 255, 256, 257])
@pytest.mark.parametrize("gap", [False, True])
def test_categories_of_polars_of_any_width(n_values, gap):
    cells = [f"{number:03}" for number in range(n_values)] * 3
    cells = [*cells, None] if gap else cells
    for dtype in (pl.Enum(sorted(set(cells) - {None})), pl.Categorical):
        series = pl.Series(cells, dtype=dtype)
        for form in (series, series.to_arrow()):
            table = pl.DataFrame({"x0": form}) if form is series else pa.table({"x0": form})
            codes, labels = encode_series(nw.from_native(table, eager_only=True)["x0"], "x")
            assert codes.dtype.kind == "i" or (codes.dtype.kind == "u" and not gap)
            assert [None if code < 0 else labels[code] for code in codes.tolist()] == cells


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, unique=True))
def test_an_array_of_labels_holds_each_exactly(labels):
    assert label_array(labels).tolist() == labels
    assert label_array(labels, np.float32).tolist() == labels


@pytest.mark.parametrize("y", [[None, ()], [1, (2, 3)], ["a", []], [[1], [1, 2]]], ids=str)
def test_a_sequence_is_no_class(y):
    with pytest.raises(InputTypeError, match="Cells that hold collections are not supported"):
        NaiveBayes().fit([[1.0], [2.0]], y)
