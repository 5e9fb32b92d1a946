"""Arrays and sparse matrices with names for their columns, and explanations of wide sparse rows."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score

import naively
from naively import NaiveBayes, named
from naively._scoring.explained_cells import OTHER_COLUMNS, WIDE
from naively.errors import InputTypeError, NaivelyWarning, ParameterError, SchemaError
from naively.families import Bernoulli, Complement, Multinomial, Poisson

TEXTS = ["free prize now", "lunch now", "free cash free", "home for lunch", "cash prize", "home now"]
LABELS = ["spam", "ham", "spam", "ham", "spam", "ham"]
FAMILIES = [Multinomial(), Bernoulli(), Complement(), Poisson()]


@pytest.fixture(scope="module")
def vectorised():
    vectorizer = CountVectorizer()
    return vectorizer.fit_transform(TEXTS), vectorizer.get_feature_names_out()


def wide(n_rows=40, n_columns=3 * WIDE, n_classes=3, seed=0, dtype=float):
    random = np.random.default_rng(seed)
    X = random.poisson(0.05, size=(n_rows, n_columns)) * (random.random((n_rows, n_columns)) < 0.7)
    return X.astype(dtype), np.arange(n_rows) % n_classes, [f"word {place}" for place in range(n_columns)]


# -- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name())
@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
def test_names_come_through(vectorised, family, form):
    counts, names = vectorised
    X = counts.toarray() if form == "dense" else counts.asformat(form)
    plain = NaiveBayes("textbook", families=family).fit(X, LABELS)
    model = NaiveBayes("textbook", families=family).fit(named(X, names), LABELS)
    assert model.feature_names_in_.tolist() == list(names)
    assert list(model.parameters()) == list(names)
    assert model.evidence_names_ == list(names)
    assert set(model.explain(named(X, names))["column"]) == {"prior", *names}
    np.testing.assert_array_equal(model.predict_proba(named(X, names)), plain.predict_proba(X))


def test_columns_are_matched_by_name(vectorised):
    counts, names = vectorised
    model = NaiveBayes("textbook", families="multinomial").fit(named(counts, names), LABELS)
    order = np.arange(len(names))[::-1]
    turned = named(counts[:, order], names[order])
    np.testing.assert_allclose(model.predict_proba(turned), model.predict_proba(named(counts, names)), rtol=1e-12)
    assert (model.partial_fit(turned, LABELS).class_count_ == 6).all()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name())
def test_a_column_that_is_not_there_is_missing_not_zero_and_not_another(vectorised, family):
    counts, names = vectorised
    model = NaiveBayes("textbook", families=family).fit(named(counts, names), LABELS)
    dense = counts.toarray().astype(float)
    dense[:, 2] = np.nan
    fewer = [place for place in range(len(names)) if place != 2]
    for X in (counts[:, fewer], counts[:, fewer].toarray()):
        with pytest.warns(NaivelyWarning, match=f"lacks the columns '{names[2]}'"):
            found = model.predict_proba(named(X, names[fewer]))
        np.testing.assert_allclose(found, model.predict_proba(named(dense, names)), rtol=1e-12)


def test_learning_from_a_matrix_that_lacks_columns(vectorised):
    counts, names = vectorised
    dense = counts.toarray().astype(float)
    dense[:, [0, 4]] = np.nan
    fewer = [place for place in range(len(names)) if place not in (0, 4)]
    models = []
    for X in (named(counts[:, fewer], names[fewer]), named(dense, names)):
        model = NaiveBayes("textbook", families="bernoulli").fit(named(counts, names), LABELS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NaivelyWarning)
            models.append(model.partial_fit(X, LABELS))
    assert models[0].statistics_ == models[1].statistics_


def test_families_by_name_and_the_class_as_a_column(vectorised):
    counts, names = vectorised
    model = NaiveBayes("textbook", families=dict.fromkeys(names, "bernoulli")).fit(named(counts, names), LABELS)
    assert model.parameters()["free"]["family"] == Bernoulli()
    table = sparse.hstack([counts, sparse.csr_array(np.array([[1], [0], [1], [0], [1], [0]]))])
    together = NaiveBayes("textbook", families="multinomial").fit(named(table, [*names, "is spam"]), "is spam")
    alone = NaiveBayes("textbook", families="multinomial").fit(named(counts, names), [1, 0, 1, 0, 1, 0])
    assert together.statistics_ == alone.statistics_


def test_named_tables_are_cut_by_cross_validation(vectorised):
    counts, names = vectorised
    X, y = named(counts, names), np.array(LABELS)
    assert X.shape == counts.shape
    assert len(X) == 6
    model = NaiveBayes("textbook", families="multinomial")
    np.testing.assert_array_equal(cross_val_score(model, X, y, cv=3), cross_val_score(model, counts, y, cv=3))
    assert X[y == "spam"].n_rows == 3
    assert X[1:3].names == X.names


def test_objects_can_be_named_too():
    X = np.array([["red", 1.0], ["blue", 2.0], ["red", 3.0]], dtype=object)
    model = NaiveBayes("textbook").fit(named(X, ["colour", "size"]), [0, 1, 0])
    assert model.feature_names_in_.tolist() == ["colour", "size"]


def test_missing_cells_of_named_tables_are_filled_in():
    X = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 4.0], [1.0, 3.0]])
    for given in (X, sparse.csr_array(X)):
        model = NaiveBayes("textbook").fit(named(given, ["a", "b"]), [0, 0, 1, 1])
        filled = model.impute(named(given, ["a", "b"]))
        assert list(filled.names) == ["a", "b"]
        block = filled.numbers(None, slice(None))
        assert not np.isnan(block).any()
        np.testing.assert_array_equal(block[~np.isnan(X)], X[~np.isnan(X)])


def test_a_named_model_is_saved_with_its_names(vectorised, tmp_path):
    counts, names = vectorised
    model = NaiveBayes("textbook", families="complement").fit(named(counts, names), LABELS)
    model.save(tmp_path / "model.json")
    again = naively.load(tmp_path / "model.json")
    assert again.feature_names_in_.tolist() == list(names)
    assert again.statistics_ == model.statistics_


def test_bad_names_are_refused(vectorised):
    counts, names = vectorised
    for bad, error, says in [
        (names[:-1], SchemaError, r"a name for each of the 7 columns, got 6"),
        (["a"] * 7, SchemaError, "distinct, but 'a'"),
        ("abcdefg", InputTypeError, "a list of names"),
        (None, InputTypeError, "a list of names"),
        ([1.5] * 7, SchemaError, "must be strings, got 1.5"),
    ]:
        with pytest.raises(error, match=says):
            named(counts, bad)
    with pytest.raises(InputTypeError, match="has names already: 'a'"):
        named({"a": [1, 2]}, ["b"])
    with pytest.raises(InputTypeError, match="has names already"):
        named(named(counts, names), names)


# -- explanations of wide sparse rows -------------------------------------------------------------------------------


@pytest.mark.parametrize(("recipe", "families"), [*(("textbook", family) for family in FAMILIES), ("auto", None)])
@pytest.mark.parametrize("prior", [None, "uniform"])
def test_a_wide_row_is_told_by_its_stored_cells_and_one_line_for_the_rest(recipe, families, prior):
    X, y, names = wide()
    model = NaiveBayes(recipe, families=families).fit(named(X, names), y)
    matrix = sparse.csr_array(X)
    whole = model.explain(named(X[:5], names), prior=prior)
    told = model.explain(named(matrix[:5], names), prior=prior, tokens=4)
    for row in range(5):
        full = whole[whole["row"] == row].set_index("column")["bits"]
        short = told[told["row"] == row].set_index("column")
        stored = [names[place] for place in matrix[[row]].indices]
        strongest = sorted(stored, key=lambda name: -abs(full[name]))[:4]
        assert short.index.tolist()[0] == "prior"
        assert short.index.tolist()[-1] == OTHER_COLUMNS
        named_ones = short.index.tolist()[1:-1]
        assert len(named_ones) == min(4, len(stored))
        assert set(named_ones) <= set(stored)
        np.testing.assert_allclose(np.abs(full[named_ones]), np.abs(full[strongest]), atol=1e-9)
        np.testing.assert_allclose(short["bits"][["prior", *named_ones]], full[["prior", *named_ones]], atol=1e-9)
        np.testing.assert_allclose(short["bits"].sum(), full.sum(), atol=1e-8)
        assert [float(value) for value in short["value"].iloc[1:-1]] == [X[row, names.index(n)] for n in named_ones]
    answers = model.predict(named(X[:5], names), prior=prior)
    assert told.drop_duplicates("row")["class"].tolist() == answers.tolist()


@pytest.mark.parametrize("family", [Bernoulli(), Multinomial(), Poisson()], ids=lambda family: family.name())
def test_impossible_cells_and_impossible_absences(family):
    X, y, names = wide(n_rows=12, seed=3)
    X[y == 1, 0] = 1.0  # without smoothing, a row without it cannot be of class 1
    model = NaiveBayes("textbook", families=family, smoothing=0).fit(named(X, names), y)
    for target in (0, 1):
        told = model.explain(named(sparse.csr_array(X), names), target=target, tokens=WIDE * 3)
        whole = model.explain(named(X, names), target=target)
        for row in range(12):
            expected, found = (one[one["row"] == row]["bits"].to_numpy() for one in (whole, told))
            assert np.isneginf(expected).any() == np.isneginf(found).any()
            assert np.isposinf(expected).any() == np.isposinf(found).any()
            if np.isfinite(expected).all():
                np.testing.assert_allclose(found.sum(), expected.sum(), atol=1e-8)


def test_booleans_missing_cells_and_no_names_at_all():
    X, y, _ = wide(dtype=bool)
    model = NaiveBayes("textbook", families="bernoulli").fit(sparse.csr_array(X), y)
    told = model.explain(sparse.csr_array(X[:1]), tokens=2)
    assert told["value"].tolist()[1:3] == ["True", "True"]
    assert all(column.startswith("x") for column in told["column"].tolist()[1:3])
    assert len(model.explain(sparse.csr_array(X[:1]), tokens=0)) == 2
    numbers = X[:1].astype(float)
    numbers[0, 7] = np.nan
    told = model.explain(sparse.csr_array(numbers), tokens=1000).set_index("column")
    assert told["bits"]["x7"] == 0.0
    with pytest.raises(ParameterError, match="tokens"):
        model.explain(sparse.csr_array(X[:1]), tokens=-1)


def test_a_prior_for_each_row():
    X, y, _ = wide()
    model = NaiveBayes("textbook", families="multinomial").fit(X, y)
    prior = np.random.default_rng(1).dirichlet(np.ones(3), size=5)
    told, whole = (model.explain(one, prior=prior) for one in (sparse.csr_array(X[:5]), X[:5]))
    totals = [one.groupby("row")["bits"].sum() for one in (told, whole)]
    np.testing.assert_allclose(totals[0], totals[1], atol=1e-9)


def test_a_row_of_fifty_thousand_columns_is_told_without_reading_them_all(monkeypatch):
    rng = np.random.default_rng(0)
    places = (np.repeat(np.arange(60), 50), rng.integers(0, 50_000, 3000))
    matrix = sparse.csr_array((rng.integers(1, 4, 3000).astype(float), places), shape=(60, 50_000))
    model = NaiveBayes("textbook", families="multinomial").fit(named(matrix, np.arange(50_000)), np.arange(60) % 20)
    model.predict(named(matrix[:1], np.arange(50_000)))
    monkeypatch.setattr("naively._scoring.model.Scorer.evidence", None)
    monkeypatch.setattr("naively._table.table.SparseTable.column", None)
    told = model.explain(named(matrix[:3], np.arange(50_000)))
    assert len(told) == 3 * 12
    proba = model.predict_proba(named(matrix[:3], np.arange(50_000)))
    for row in range(3):
        odds = told[told["row"] == row]["bits"].sum()
        np.testing.assert_allclose(1 / (1 + 2.0**-odds), proba[row].max(), rtol=1e-9)


def test_the_recipe_strong_has_a_short_explanation_too():
    X, y, names = wide(n_rows=90, n_columns=WIDE + 1)
    model = NaiveBayes("strong").fit(named(X, names), y)
    told = model.explain(named(sparse.csr_array(X[:2]), names), tokens=3)
    whole = model.explain(named(X[:2], names))
    assert len(told) == 2 * 5
    np.testing.assert_allclose(
        told.groupby("row")["bits"].sum(), whole.groupby("row")["bits"].sum(), rtol=1e-6, atol=1e-6
    )
