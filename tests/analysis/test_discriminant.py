"""Linear discriminants: w and b where the log-odds are linear, the reason where they are not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from naively import NaiveBayes
from naively.errors import ParameterError, RecipeError
from naively.families import (
    Bernoulli,
    Binned,
    Categorical,
    Gaussian,
    Kernel,
    Multinomial,
    Poisson,
    Stacked,
    StudentT,
    Thresholded,
)
from naively.smoothing import Laplace
from tests.models import textbook
from tests.strategies import assert_close, cases


def by_hand(F, columns):
    """w . x + b in plain Python, a missing cell dropping the column's weights and offset."""
    n_rows = len(next(iter(columns.values())))
    names = list(F.contrast.schema.names)
    result = np.tile(F.intercept, (n_rows, 1))
    for row in range(n_rows):
        for name, cells in columns.items():
            cell = cells[row]
            if cell is None:
                continue
            result[row] += F.offsets[:, names.index(name)]
            for place, (column, term) in enumerate(zip(F.term_columns, F.terms, strict=True)):
                if column == name:
                    result[row] += F.weights[:, place] * design(term, name, cell)
    return result


def design(term, name, cell):
    if term == name:
        return float(cell)
    if term.startswith(f"{name} > "):
        return float(cell > float(term.removeprefix(f"{name} > ")))
    label = term.removeprefix(f"{name} = ")
    return float(float(label) == cell if type(cell) is float else label == str(cell))


LINEAR = {
    "gaussian": st.sampled_from([Gaussian(ties="feature"), Gaussian(ties="all", ddof=1)]),
    "offset": st.just(Gaussian(ties="feature", ddof=1)),
}


@given(cases(smoothing=st.just(Laplace())), st.integers(0, 3), st.data())
def test_f_is_the_log_odds(case, place, data):
    families = {
        name: data.draw(LINEAR[name.split()[0]]) if name.split()[0] in LINEAR else family
        for name, family in case.parameters["families"].items()
    }
    assume(not any(isinstance(one, Thresholded) and isinstance(one.family, Poisson) for one in families.values()))
    model = case.fitted(families=families)
    base = model.classes_.tolist()[place % len(model.classes_)]
    variances = [column["variance"] for column in model.parameters().values() if "variance" in column]
    # Where nothing varies within the classes, one without a known cell borrows the overall variance.
    assume(all((variance == variance[0]).all() for variance in variances))
    F = model.discriminant(base)
    logs = model.predict_joint_log_proba(case.query)
    expected = logs - logs[:, [place % len(model.classes_)]]
    sizes = np.abs(F.weights).max(initial=0.0) * 1100 + np.abs(F.offsets).sum() + np.abs(logs).max() + 1
    assert_close(F.decision(case.query), expected, np.abs(model.evidence(case.query)).sum() + 1)
    assert_close(by_hand(F, case.query), expected, sizes * len(F.terms))
    assert_close(F.bias, F.intercept + F.offsets.sum(axis=1))


def test_the_weight_of_a_normal_column_is_not_halved():
    X, y = [[0.0], [2.0], [2.0], [4.0]], ["low", "low", "high", "high"]
    F = textbook(families=Gaussian(ties="feature")).fit(X, y).discriminant("low")
    assert F.weights[0].tolist() == [2.0]  # (3 - 1) / 1
    assert F.bias[0] == -4.0  # (1 - 9) / 2
    assert F.decision([[2.0]])[0, 0] == 0.0  # half-way between the means


def test_numbers_far_from_zero_do_not_cancel():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = (rng.normal(size=200) + y)[:, None] + 1e12
    model = textbook(families=Gaussian(ties="feature")).fit(X, y)
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(model.discriminant().decision(X)[:, 0], logs[:, 0] - logs[:, 1], rtol=1e-9, atol=1e-9)


def test_the_pooled_variance_weighs_by_degrees_of_freedom():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 1, 30), rng.normal(1, 4, 5)
    X, y = np.concatenate([first, second])[:, None], [0] * 30 + [1] * 5
    pooled = (29 * first.var(ddof=1) + 4 * second.var(ddof=1)) / 33
    F = textbook(families=Gaussian(ties="feature", ddof=1)).fit(X, y).discriminant(0)
    assert F.weights[1, 0] == pytest.approx((second.mean() - first.mean()) / pooled, rel=1e-12)


def test_all_kinds_in_one():
    table = {
        "size": [1.0, 2.0, None, 5.0, 6.0, 4.0],
        "events": [0, 1, 2, 3, 5, 2],
        "word": [1, 0, 2, 3, 0, 1],
        "flag": [0, 1, 0, 1, 1, None],
        "coat": ["red", "red", "blue", "blue", None, "grey"],
    }
    families = {
        "size": Gaussian(ties="feature"),
        "events": Poisson(),
        "word": Multinomial(),
        "flag": Bernoulli(0.5),
        "coat": Categorical(),
    }
    model = textbook(families=families).fit(table, list("aabbcc"))
    F = model.discriminant("b")
    assert F.terms == ["size", "events", "word", "flag > 0.5", "coat = blue", "coat = grey", "coat = red"]
    assert F.term_columns == ["size", "events", "word", "flag", "coat", "coat", "coat"]
    logs = model.predict_log_proba(table)
    np.testing.assert_allclose(F.decision(table), logs - logs[:, [1]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_hand(F, table), logs - logs[:, [1]], rtol=1e-12, atol=1e-12)
    assert (F.weights[1] == 0).all()
    stranger = {**table, "coat": ["green"] * 6}
    logs = model.predict_log_proba(stranger)
    np.testing.assert_allclose(F.decision(stranger), logs - logs[:, [1]], rtol=1e-12, atol=1e-12)


def test_the_recipe_auto_is_linear_in_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    frame = pd.DataFrame(
        {"c": np.array(list("pqrs"))[(y + rng.integers(0, 2, 300)) % 4], "d": rng.choice(list("uv"), 300)}
    )
    model = NaiveBayes("auto").fit(frame, y)
    F = model.discriminant(0)
    asked = pd.concat([frame[:20], pd.DataFrame({"c": ["?", None], "d": ["u", None]})])
    logs = model.predict_log_proba(asked)
    np.testing.assert_allclose(F.decision(asked), logs - logs[:, [0]], rtol=1e-11, atol=1e-11)
    assert not any("unknown" in term for term in F.terms)


def test_sparse_rows():
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(0.3, (60, 30)))
    model = textbook(families="multinomial").fit(X, rng.integers(0, 3, 60))
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(model.discriminant().decision(X), logs - logs[:, [2]], rtol=1e-11, atol=1e-11)


def test_the_prior_moves_the_bias_and_nothing_else():
    X, y = [[0, 1], [0, 0], [1, 1], [1, 0]], ["no", "no", "yes", "yes"]
    model = textbook(families="bernoulli").fit(X, y)
    F, moved = model.discriminant("no"), model.discriminant("no", prior=[0.9, 0.1])
    np.testing.assert_array_equal(F.weights, moved.weights)
    assert moved.bias[1] - F.bias[1] == pytest.approx(np.log(1 / 9))


@pytest.mark.parametrize(
    ("families", "reason"),
    [
        (Gaussian(), r"'x0', 'x1' \(Gaussian\(ties='none'.*variance differs.*quadratic.*ties='feature'"),
        (Gaussian(ties="class"), "variance differs"),
        (StudentT(), "'x0' is read by 'studentt', which has log-odds that bend"),
        (StudentT(True), "'studentt'"),
        (Kernel(), "'kernel'"),
        (Binned(3), "'binned'"),
        (Stacked(), "'stacked'"),
        ({"x0": Gaussian(ties="feature"), "x1": StudentT()}, "'x1' is read by 'studentt'"),
    ],
)
def test_the_reason_where_there_is_none(families, reason):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    model = textbook(families=families).fit(rng.normal(size=(60, 2)), y)
    with pytest.raises(ParameterError, match=reason):
        model.discriminant()


def test_a_weight_that_would_be_infinite():
    table = {"coat": ["red", "blue"], "flag": [0, 1]}
    model = textbook(families={"flag": "bernoulli"}, smoothing={"coat": "none"}).fit(table, ["a", "b"])
    with pytest.raises(ParameterError, match=r"'coat' \(Categorical\(.*probability zero.*smoothing='laplace'"):
        model.discriminant()
    with pytest.raises(ParameterError, match=r"'flag' \(Bernoulli\(.*probability zero"):
        model.set_params(smoothing={"flag": "none"}).discriminant()
    assert len(model.set_params(smoothing=None).discriminant().terms) == 3


def test_other_recipes_and_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    with pytest.raises(ParameterError, match=r"'stacked'.*recipe='textbook'"):
        NaiveBayes("fast").fit(X, y).discriminant()
    with pytest.raises(RecipeError, match=r"discriminant\(\) needs an additive model"):
        NaiveBayes("strong").fit(X, y).discriminant()
    with pytest.raises(ParameterError, match="base must be one of"):
        textbook().fit(X, y).discriminant(base=7)


def test_a_column_that_never_varies_has_no_weight():
    F = textbook(families=Gaussian(ties="feature")).fit([[1.0, 2.0], [1.0, 3.0], [1.0, 7.0]], [0, 0, 1]).discriminant()
    assert F.weights[0, 0] == 0
    assert F.weights[0, 1] != 0


@pytest.mark.parametrize("library", [pd, pl])
def test_the_tidy_frame(library):
    model = textbook(families=Gaussian(ties="feature")).fit([[0.0], [2.0], [2.0], [4.0]], [0, 0, 1, 1])
    frame = model.discriminant(0).frame(like=library.DataFrame())
    assert isinstance(frame, library.DataFrame)
    assert [
        list(row) for row in zip(*(frame[name] for name in ("column", "term", "class", "weight")), strict=True)
    ] == [
        ["x0", "x0", 1, 2.0],
        ["bias", "bias", 1, -4.0],
    ]


def test_how_it_is_printed():
    model = textbook(families="multinomial").fit(np.ones((4, 25)), list("aabb"))
    assert "... and 5 more" in repr(model.discriminant())
