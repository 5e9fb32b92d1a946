"""The door: every kind of table, target and weight gives the same statistics for the same values."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from naively._table.read import read_table
from naively.errors import InputTypeError, NaivelyWarning, ParameterError, SchemaError
from naively.families import Bernoulli, Categorical, Gaussian, Poisson
from tests.models import textbook

NUMBERS = [[1.0, 0.0, 3.0], [2.0, 5.0, 0.0], [4.0, 0.0, 0.0], [8.0, 1.0, 2.0]]
Y = ["a", "b", "a", "b"]
X = np.array(NUMBERS)

ARRAYS = {
    **{f"{dtype.__name__}": X.astype(dtype) for dtype in (np.float16, np.float32, np.float64, np.longdouble)},
    **{f"{dtype.__name__}": X.astype(dtype) for dtype in (np.int8, np.int16, np.int32, np.int64)},
    **{f"{dtype.__name__}": X.astype(dtype) for dtype in (np.uint8, np.uint16, np.uint32, np.uint64)},
    "Fortran order": np.asfortranarray(X),
    "every other row and column": np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed twice": X[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": X.T.copy().T,
    "big-endian": X.astype(">f8"),
    "big-endian integers": X.astype(">i4"),
    "objects": X.astype(object),
    "objects of integers": X.astype(int).astype(object),
    "lists": NUMBERS,
    "tuples": tuple(map(tuple, NUMBERS)),
    "list of arrays": list(X),
    "csr": sparse.csr_array(X),
    "csc": sparse.csc_array(X),
    "coo": sparse.coo_array(X),
    "lil": sparse.lil_array(X),
    "csr matrix": sparse.csr_matrix(X),
    "csr of integers": sparse.csr_array(X.astype(int)),
    "csr of float32": sparse.csr_array(X.astype(np.float32)),
    "coo with duplicates": sparse.coo_array(
        ([0.5, 0.5, 3, 2, 5, 4, 8, 1, 2], ([0, 0, 0, 1, 1, 2, 3, 3, 3], [0, 0, 2, 0, 1, 0, 0, 1, 2])), shape=(4, 3)
    ),
    "csr with duplicates": sparse.csr_array(
        ([0.5, 0.5, 3, 2, 5, 4, 8, 1, 2], [0, 0, 2, 0, 1, 0, 0, 1, 2], [0, 3, 5, 6, 9]), shape=(4, 3)
    ),
    "csr with stored zeros": sparse.csr_array((X.ravel(), np.tile([0, 1, 2], 4), [0, 3, 6, 9, 12]), shape=(4, 3)),
    "frame without names": pd.DataFrame(X),
}
ARRAYS["read-only"] = X.copy()
ARRAYS["read-only"].flags.writeable = False


@pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial", "bernoulli", "categorical"])
@pytest.mark.parametrize("kind", ARRAYS)
def test_every_array_gives_the_same_statistics(kind, family):
    model = textbook(families=family).fit(ARRAYS[kind], Y)
    expected = textbook(families=family).fit(X, Y)
    assert model.statistics_ == expected.statistics_
    np.testing.assert_allclose(model.predict_proba(ARRAYS[kind]), expected.predict_proba(X), rtol=1e-12)
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "gaussian"])
def test_booleans_are_zeros_and_ones(family):
    truths = X > 1
    expected = textbook(families=family).fit(truths.astype(int), Y).statistics_
    for table in (truths, truths.astype(object), truths.tolist(), sparse.csr_array(truths), pd.DataFrame(truths)):
        assert textbook(families=family).fit(table, Y).statistics_ == expected


COLUMNS = {
    "size": [1.5, None, 2.25, 8.0],
    "count": [3, 1, None, 4],
    "open": [True, None, False, True],
    "colour": ["red", "blue", None, "red"],
}
EXPECTED = textbook(families={"count": "poisson"}).fit(COLUMNS, Y)


def pandas_frame(**types):
    return pd.DataFrame({name: pd.Series(cells, dtype=types.get(name)) for name, cells in COLUMNS.items()})


ARROW = pa.table(COLUMNS)
POLARS = pl.DataFrame(COLUMNS)
FRAMES = {
    "columns": COLUMNS,
    "arrays": {name: np.array(cells, dtype=object) for name, cells in COLUMNS.items()},
    "series": {name: pd.Series(cells, dtype=object) for name, cells in COLUMNS.items()},
    "records": [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
    "records with gaps": [
        {name: cell for name, cell in zip(COLUMNS, row, strict=True) if cell is not None}
        for row in zip(*COLUMNS.values(), strict=True)
    ],
    "pandas": pandas_frame(),
    "pandas nullable": pandas_frame(size="Float64", count="Int64", open="boolean", colour="string"),
    "pandas small nullable": pandas_frame(size="Float32", count="UInt8", open="boolean", colour="string"),
    "pandas objects": pandas_frame(size=object, count=object, open=object, colour=object),
    "pandas category": pandas_frame(colour="category"),
    "pandas convert_dtypes": pandas_frame().convert_dtypes(),
    "pandas of arrow": ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas dictionary of arrow": ARROW.to_pandas(types_mapper=pd.ArrowDtype).assign(
        colour=pd.Series(COLUMNS["colour"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))
    ),
    "pandas with another index": pandas_frame().set_axis([9, 9, 2, 5]),
    "polars": POLARS,
    "polars categorical": POLARS.with_columns(pl.col("colour").cast(pl.Categorical)),
    "polars enum": POLARS.with_columns(pl.col("colour").cast(pl.Enum(["white", "red", "blue"]))),
    "polars small": POLARS.with_columns(pl.col("count").cast(pl.UInt8), pl.col("size").cast(pl.Float32)),
    "polars chunks": pl.concat([POLARS[:1], POLARS[1:]], rechunk=False),
    "arrow": ARROW,
    "arrow dictionary": ARROW.set_column(3, "colour", ARROW["colour"].dictionary_encode()),
    "arrow large": ARROW.set_column(3, "colour", ARROW["colour"].cast(pa.large_string())),
    "arrow chunks": pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1)]),
    "arrow decimal": ARROW.set_column(0, "size", ARROW["size"].cast(pa.decimal128(6, 2))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_statistics(kind):
    families = {"count": "poisson", "open": "categorical"}
    model = textbook(families=families).fit(FRAMES[kind], Y)
    assert model.statistics_ == EXPECTED.statistics_
    assert model.feature_names_in_.tolist() == list(COLUMNS)
    np.testing.assert_allclose(model.predict_proba(FRAMES[kind]), EXPECTED.predict_proba(COLUMNS), rtol=1e-12)
    np.testing.assert_allclose(EXPECTED.predict_proba(FRAMES[kind]), EXPECTED.predict_proba(COLUMNS), rtol=1e-12)


@pytest.mark.parametrize(
    "kind", ["columns", "pandas", "pandas nullable", "pandas category", "pandas of arrow", "polars", "arrow"]
)
def test_families_are_inferred_alike(kind):
    model = textbook().fit(FRAMES[kind], Y)
    families = [type(column["family"]) for column in model.parameters().values()]
    assert families == [Gaussian, Gaussian, Categorical, Categorical]


def test_a_long_column_of_objects_is_read_like_a_short_one():
    cells = np.array(["red", "blue", None, np.nan] * 500, dtype=object)
    long = textbook().fit({"colour": cells}, Y * 500)
    assert long.statistics_ == textbook().fit({"colour": cells[:4]}, Y, [500] * 4).statistics_


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT], ids=repr)
def test_every_kind_of_missing_cell(missing):
    table = {"size": [1.0, missing, 2.0], "colour": ["red", "blue", missing]}
    expected = textbook().fit({"size": [1.0, None, 2.0], "colour": ["red", "blue", None]}, [0, 1, 0])
    assert textbook().fit(table, [0, 1, 0]).statistics_ == expected.statistics_
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in table.items()})
    assert textbook().fit(frame, [0, 1, 0]).statistics_ == expected.statistics_


TEXT = ["cat", "dog", "cat", "emu"]
TARGETS = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "array": np.array(TEXT),
    "objects": np.array(TEXT, dtype=object),
    "variable-width strings": np.array(TEXT, dtype=np.dtypes.StringDType()),
    "pandas": pd.Series(TEXT),
    "pandas objects": pd.Series(TEXT, dtype=object),
    "pandas category": pd.Series(TEXT, dtype="category"),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas of arrow": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "pandas with another index": pd.Series(TEXT, index=[7, 7, 1, 3]),
    "pandas categorical": pd.Categorical(TEXT),
    "pandas index": pd.Index(TEXT),
    "polars": pl.Series(TEXT),
    "polars categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "arrow": pa.array(TEXT),
    "arrow chunks": pa.chunked_array([TEXT[:1], TEXT[1:]]),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_every_target_of_text_gives_the_same_classes(kind):
    model = textbook().fit(X, TARGETS[kind])
    assert model.classes_.tolist() == ["cat", "dog", "emu"]
    assert model.statistics_ == textbook().fit(X, TEXT).statistics_
    assert model.predict(X).tolist() == TEXT


@pytest.mark.parametrize("values", [[3, 1, 3, 7], [-5, 10**12, -5, 0], [True, False, True, True], [1.0, 2.0, 1.0, 3.0]])
@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        np.array,
        lambda y: np.array(y, dtype=object),
        pd.Series,
        lambda y: pd.Series(y).convert_dtypes(),
        pl.Series,
        pa.array,
    ],
    ids=["list", "tuple", "array", "objects", "pandas", "pandas nullable", "polars", "arrow"],
)
def test_every_target_of_numbers_gives_the_same_classes(container, values):
    model = textbook().fit(X, container(values))
    assert model.classes_.tolist() == sorted(set(values))
    assert model.statistics_ == textbook().fit(X, values).statistics_
    assert model.predict(X).tolist() == values


def test_small_integers_keep_their_type():
    model = textbook().fit(X, np.array([1, 0, 1, 0], dtype=np.uint8))
    assert model.classes_.dtype == np.uint8
    assert model.predict(X).dtype == np.uint8


@pytest.mark.parametrize("kind", FRAMES)
def test_the_target_may_be_a_column(kind):
    model = textbook().fit({**COLUMNS, "kind": Y}, "kind")
    frame = FRAMES[kind]
    if kind.startswith("pandas"):
        frame = frame.assign(kind=Y)
    elif kind.startswith("polars"):
        frame = frame.with_columns(kind=pl.Series(Y))
    elif kind.startswith("arrow"):
        frame = frame.append_column("kind", pa.array(Y))
    elif kind.startswith("records"):
        frame = [{"kind": label, **row} for label, row in zip(Y, frame, strict=True)]
    else:
        frame = {"kind": Y, **frame}
    named = textbook(families={"open": "categorical"}).fit(frame, "kind")
    assert named.statistics_ == model.statistics_ == textbook().fit(COLUMNS, Y).statistics_
    assert named.feature_names_in_.tolist() == list(COLUMNS)


@pytest.mark.parametrize(
    "container", [list, tuple, np.array, pd.Series, pl.Series, lambda w: np.array(w, dtype=np.float32)]
)
def test_every_container_of_weights(container):
    weights = [0.5, 2.0, 1.0, 0.25]
    expected = textbook().fit(X, Y, np.array(weights)).statistics_
    assert textbook().fit(X, Y, container(weights)).statistics_ == expected
    assert textbook().fit(X, Y, 2.0).statistics_ == textbook().fit(X, Y, [2.0] * 4).statistics_


FIT_FRAME = pd.DataFrame({"size": [1.0, 2.0, 8.0, 9.0], "colour": ["red", "red", "blue", "red"], "n": [0, 1, 5, 4]})


@pytest.fixture
def model():
    return textbook(families={"n": Poisson()}).fit(FIT_FRAME, Y)


def test_columns_are_matched_by_name(model):
    shuffled = FIT_FRAME[["n", "colour", "size"]]
    np.testing.assert_allclose(model.predict_proba(shuffled), model.predict_proba(FIT_FRAME), rtol=1e-12)
    assert (
        model.partial_fit(shuffled, Y).statistics_
        == textbook(families={"n": Poisson()}).fit(FIT_FRAME, Y, 2).statistics_
    )


def test_other_columns_are_ignored_with_a_warning(model):
    with pytest.warns(NaivelyWarning, match=r"does not know.*ignored: 'extra'"):
        answer = model.predict_proba(FIT_FRAME.assign(extra=1))
    np.testing.assert_allclose(answer, model.predict_proba(FIT_FRAME), rtol=1e-12)


def test_absent_columns_are_missing_with_a_warning(model):
    with pytest.warns(NaivelyWarning, match=r"lacks the columns 'colour'.*missing"):
        answer = model.predict_proba(FIT_FRAME.drop(columns="colour"))
    np.testing.assert_allclose(answer, model.predict_proba(FIT_FRAME.assign(colour=None)), rtol=1e-12)
    with pytest.warns(NaivelyWarning, match="lacks the columns"):
        model.partial_fit(FIT_FRAME.drop(columns="colour"), Y)
    expected = textbook(families={"n": Poisson()}).fit(FIT_FRAME, Y)
    assert model.statistics_ == expected.partial_fit(FIT_FRAME.assign(colour=None), Y).statistics_


def test_a_table_without_any_of_the_columns_is_refused(model):
    with pytest.raises(SchemaError, match=r"none of the model's columns.*'size'.*'other'"):
        model.predict(pd.DataFrame({"other": [1.0]}))


def test_names_on_one_side_only_are_matched_by_position_with_a_warning():
    named, bare = textbook().fit(pd.DataFrame(X, columns=list("pqr")), Y), textbook().fit(X, Y)
    with pytest.warns(UserWarning, match=r"without feature names|not have valid feature names"):
        assert np.array_equal(named.predict_proba(X), bare.predict_proba(X))
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        bare.predict_proba(pd.DataFrame(X, columns=list("pqr")))


def test_the_wrong_number_of_columns_is_refused():
    with pytest.raises(SchemaError, match=r"2 features, but NaiveBayes is expecting 3.*by name"):
        textbook().fit(X, Y).predict(X[:, :2])


def test_unseen_categories_give_no_evidence(model):
    unseen, missing = FIT_FRAME.assign(colour="green"), FIT_FRAME.assign(colour=None)
    np.testing.assert_allclose(model.predict_proba(unseen), model.predict_proba(missing), rtol=1e-12)


def test_declared_categories_are_known_before_they_are_seen():
    family = Categorical(["red", "blue", "green"])
    model = textbook(families=family).fit([["red"], ["blue"], ["red"]], [0, 0, 1])
    assert model.parameters()["x0"]["probability"]["green"].tolist() == [0.2, 0.25]
    np.testing.assert_allclose(model.evidence([["green"]]), np.log([[[0.2, 0.25]]]), rtol=1e-12)


def test_a_category_that_appears_later_is_learnt(model):
    model.partial_fit(FIT_FRAME[:1].assign(colour="green"), ["a"])
    assert "green" in model.parameters()["colour"]["probability"]


@pytest.mark.parametrize("later", [[1, 0], [True, False], [1.0, 0.0], [1.0, None]])
def test_numbers_that_are_equal_are_one_category(later):
    model = textbook(families="categorical").fit({"x": [True, False]}, ["a", "b"])
    assert (model.evidence({"x": later})[0, 0] == model.evidence({"x": [True]})[0, 0]).all()
    assert len(model.partial_fit({"x": later}, ["a", "b"]).parameters()["x"]["probability"]) == 2


@pytest.mark.parametrize(
    "families",
    [
        {"size": "poisson", "n": Bernoulli(2.0)},
        {0: "poisson", 2: Bernoulli(2.0)},
        {-3: Poisson(), "n": Bernoulli(2.0)},
        {np.int64(0): "POISSON", "n": Bernoulli(2)},
    ],
)
def test_families_by_name_and_by_position(families):
    parameters = textbook(families=families).fit(FIT_FRAME, Y).parameters()
    assert [column["family"] for column in parameters.values()] == [Poisson(), Categorical(), Bernoulli(2.0)]


@pytest.mark.parametrize(
    "family", ["gaussian", Gaussian(ties="feature"), "Poisson", "bernoulli", "multinomial", "categorical"]
)
def test_one_family_for_all(family):
    parameters = textbook(families=family).fit(X, Y).parameters()
    assert len({repr(column["family"]) for column in parameters.values()}) == 1


def test_a_family_for_a_column_that_is_not_there_is_refused():
    for key in ("weight", 3, -4, 1.0, True):
        with pytest.raises(ParameterError, match=r"families names the column.*'size', 'colour', 'n'"):
            textbook(families={key: "gaussian"}).fit(FIT_FRAME, Y)


def test_a_column_that_is_empty_at_first_waits_for_its_first_cells():
    model = textbook().fit({"late": [None, None], "size": [1.0, 2.0]}, ["a", "b"])
    assert list(model.parameters()) == ["size"]
    model.partial_fit({"late": ["red", "blue"], "size": [1.0, 2.0]}, ["a", "b"])
    assert isinstance(model.parameters()["late"]["family"], Categorical)
    with pytest.raises(InputTypeError, match=r"'late' held text.*numbers now"):
        model.partial_fit({"late": [1.0], "size": [1.0]}, ["a"])


@pytest.mark.parametrize("kind", [*ARRAYS, *FRAMES])
def test_the_users_data_are_never_changed(kind):
    table = copy.deepcopy(ARRAYS[kind] if kind in ARRAYS else FRAMES[kind])
    y, weights = np.array(Y, dtype=object), np.array([1.0, 0.0, 0.5, 2.0])
    for array in (y, weights, table):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    before = copy.deepcopy(table)
    families = {0: "poisson", 2: "categorical"} if kind in ARRAYS else {"count": "poisson", "open": "categorical"}
    model = textbook(families=families).fit(table, y, weights).partial_fit(table, y).forget(table, y, weights)
    model.predict_proba(table)
    model.evidence(table)
    assert repr(table) == repr(before)
    for part in ("data", "indices", "indptr"):
        if sparse.issparse(table) and part in vars(table):
            assert np.array_equal(getattr(table, part), getattr(before, part))
    assert y.tolist() == Y
    assert weights.tolist() == [1.0, 0.0, 0.5, 2.0]


@pytest.mark.parametrize("name", [np.nan, 1.5])
def test_columns_that_are_called_alike_are_refused(name):
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[name, name])
    with pytest.raises(SchemaError, match="Column names must be distinct"):
        textbook().fit(frame, [0, 1])


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("wrap", [np.asarray, pd.Series], ids=["array", "series"])
def test_arrays_in_a_dict_are_read_as_their_cells_are(kind, wrap):
    cells = np.array([1, 0, 1, 1]).astype(kind)
    if kind[0] == "f":
        cells[0] = np.nan
    given, listed = read_table({"x": wrap(cells)}), read_table({"x": cells.tolist()})
    assert given.kinds == listed.kinds
    np.testing.assert_array_equal(given.numbers(None, slice(None)), listed.numbers(None, slice(None)))
    assert labels_of(given) == labels_of(listed)


def labels_of(table):
    """The type and the label of each cell of the first column; None where it is missing."""
    codes, labels = table.labels(0)
    return [None if code < 0 else (type(labels[code]), labels[code]) for code in codes]


@pytest.mark.parametrize(
    "cells", [np.full(3, np.nan), np.empty(0), np.ma.masked_array([1, 2, 3], [True, False, False])]
)
def test_arrays_in_a_dict_with_nothing_known_or_a_mask_are_read_as_lists(cells):
    given, listed = (
        read_table({"x": cells}),
        read_table({"x": [None if cell is np.ma.masked else cell for cell in cells]}),
    )
    assert given.kinds == listed.kinds
    np.testing.assert_array_equal(given.numbers(None, slice(None)), listed.numbers(None, slice(None)))
