"""`drift.check`: unlabelled rows against what was learnt."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from naively import NaiveBayes, drift
from naively.errors import InputError

COATS = np.array(["plain", "striped", "spotted"])


def rows(seed, n=600):
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    frame = pd.DataFrame(
        {"age": random.normal(2.0 * y), "size": random.normal(size=n), "coat": COATS[random.integers(0, 3, n)]}
    )
    frame.loc[random.random(n) < 0.1, "size"] = None
    return frame, y


@pytest.fixture(params=["textbook", "auto"])
def model(request):
    return NaiveBayes(request.param).fit(*rows(0))


def by_column(found):
    return {record["column"]: record for record in found}


def test_rows_of_the_same_kind_have_not_moved(model):
    found = drift.check(model, rows(1)[0])
    assert np.nanmin([record["p_adjusted"] for record in found]) > 0.01
    assert {record["column"] for record in found} == {"age", "size", "coat", "mixture of classes"}


def test_each_way_to_drift_is_seen(model):
    frame, _ = rows(2)
    frame.loc[:200, "coat"] = "never seen"
    frame.loc[:300, "size"] = None
    frame["age"] += 30.0
    found = by_column(drift.check(model, frame))
    assert found["coat"]["unseen"] == pytest.approx(201 / 600)
    assert found["size"]["missing_now"] > 0.5
    assert found["size"]["missing_before"] == pytest.approx(0.1, abs=0.04)
    assert found["age"]["outside"] == 1.0
    assert all(found[name]["p_adjusted"] < 1e-6 for name in ("coat", "age"))


def test_another_mixture_of_classes_is_seen(model):
    frame, y = rows(3, 1200)
    found = by_column(drift.check(model, frame[(y == 1) | (np.arange(1200) % 5 == 0)]))
    assert found["mixture of classes"]["bits"] > 10 * found["mixture of classes"]["expected"]
    if model.recipe == "textbook":  # which keeps no rows, and so cannot tell a change from a bias of its own
        assert np.isnan(found["mixture of classes"]["p_adjusted"])
    else:
        assert found["mixture of classes"]["p_adjusted"] < 1e-6
    assert found["size"]["p_value"] > 1e-3


def test_p_values_are_nominal():
    frame, y = rows(0, 20_000)
    model = NaiveBayes("textbook").fit(frame, y)
    found = [by_column(drift.check(model, rows(seed, 300)[0])) for seed in range(100, 160)]
    for name in ("age", "coat"):
        small = np.mean([one[name]["p_value"] < 0.1 for one in found])
        assert small < 0.27  # 60 samples: four standard deviations above 0.1


def rows_that_mislead(random, n):
    """Copies of one column, heavy tails, and a class of few rows: a model is far from calibrated."""
    y = (random.random(n) < 0.5).astype(int) + (random.random(n) < 0.01)
    one = random.standard_t(3, size=(n, 1)) + y[:, None]
    return np.concatenate([one] * 4 + [random.lognormal(size=(n, 2))], axis=1), y


@pytest.mark.parametrize("options", [{}, {"prior": "uniform"}], ids=str)
@pytest.mark.parametrize("draw", [rows_that_mislead, lambda random, n: (random.normal(size=(n, 6)), np.arange(n) % 2)])
def test_a_model_does_not_take_its_own_bias_for_another_mixture(draw, options):
    found = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        model = NaiveBayes("fast", kept_rows=150, **options).partial_fit(*draw(random, 200))
        found.append(by_column(drift.check(model, draw(random, 500)[0]))["mixture of classes"]["p_value"] < 0.1)
    assert np.mean(found) < 0.27  # four standard deviations above 0.1


def test_a_mixture_with_a_class_of_hardly_any_rows():
    """Its share is too small for a test of its own; two classes, and one of two rows in a thousand."""
    random = np.random.default_rng(0)
    y = np.array([0, 1] * 500)
    y[:2] = 2
    model = NaiveBayes("fast").fit(random.normal(size=(1000, 2)) + y[:, None], y)
    new = np.arange(600) % 2
    found = by_column(drift.check(model, random.normal(size=(600, 2)) + new[:, None]))
    assert found["mixture of classes"]["p_value"] > 0.01
    found = by_column(drift.check(model, random.normal(size=(600, 2)) + (np.arange(600)[:, None] % 4 > 0)))
    assert found["mixture of classes"]["p_value"] < 1e-6


def test_the_result_is_a_frame(model):
    frame = drift.check(model, rows(1)[0]).frame()
    assert isinstance(frame, pd.DataFrame)
    assert next(iter(frame.columns)) == "column"


def test_one_row_is_refused(model):
    with pytest.raises(InputError, match="at least two rows"):
        drift.check(model, rows(1)[0].iloc[:1])


@pytest.mark.parametrize("form", ["frame", "array", "sparse"])
@pytest.mark.parametrize("family", [None, "poisson", "gamma", "multinomial", "kernel"])
def test_any_finite_number_is_outside_and_no_error(form, family):
    X, y = np.random.default_rng(0).poisson(3, size=(80, 2)) + 1.0, np.arange(80) % 2
    as_form = {"frame": lambda rows: pd.DataFrame(rows, columns=["x0", "x1"]), "array": np.asarray, "sparse": csr_array}
    as_form = as_form[form]
    model = NaiveBayes("textbook", families=family).fit(as_form(X), y)
    far = X.copy()
    far[:40, 1] = np.geomspace(1e150, 1.7e308, 40)
    found = by_column(drift.check(model, as_form(far)))
    assert found["x1"]["p_adjusted"] < 0.01 < found["x0"]["p_adjusted"]
    assert found["x1"]["bits"] > 0.1
    assert found["x1"]["outside"] == 0.5 or family == "multinomial"
    assert (far[:40, 1] >= 1e150).all()


def test_infinity_is_refused_as_predict_refuses_it(model):
    frame, _ = rows(1)
    frame.loc[3, "age"] = np.inf
    for ask in (model.predict, lambda X: drift.check(model, X)):
        with pytest.raises(InputError, match=r"infinity: column 'age', row 3"):
            ask(frame)
