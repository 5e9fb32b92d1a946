"""Selecting columns: by evidence, forward by leave-one-out, and without those that repeat others."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from naively import NaiveBayes
from naively.analysis.selection import SelectByEvidence, drop_correlated, forward_selection
from naively.demo import penguins
from naively.errors import InputError, ParameterError
from naively.families import Gaussian, Stacked
from tests.models import textbook

# -- by evidence ----------------------------------------------------------------------------------------------------

SELECTORS = [
    SelectByEvidence(),
    SelectByEvidence(2, by="weight"),
    SelectByEvidence(1, by="likelihood_ratio"),
    SelectByEvidence("all", by="effect"),
    SelectByEvidence(3, families=Stacked()),
]


def all_checks():
    """scikit-learn's checks, without the one that skips itself wherever SCIPY_ARRAY_API is not set."""
    mark = parametrize_with_checks(SELECTORS)
    names, pairs = mark.args
    chosen = [pair for pair in pairs if "check_array_api_input" not in str(pair)]
    return pytest.mark.parametrize(names, chosen, **mark.kwargs)


@all_checks()
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def birds():
    rows, species = penguins()
    return pd.DataFrame(rows), np.array(species)


def test_the_best_of_a_mixed_frame(birds):
    selector = SelectByEvidence(3).fit(*birds)
    assert selector.get_feature_names_out().tolist() == ["island", "bill_length_mm", "flipper_length_mm"]
    ranking = textbook().fit(*birds).rank_features()
    assert set(ranking["column"][:3]) == set(selector.get_feature_names_out())
    assert selector.get_support(indices=True).tolist() == [0, 1, 3]
    assert selector.transform(birds[0]).shape == (344, 3)


def test_frames_come_out_where_scikit_learn_makes_them(birds):
    selector = SelectByEvidence(3).set_output(transform="pandas").fit(*birds)
    frame = selector.transform(birds[0])
    pd.testing.assert_frame_equal(frame, birds[0][["island", "bill_length_mm", "flipper_length_mm"]])
    as_polars = SelectByEvidence(3).set_output(transform="polars").fit_transform(*birds)
    assert as_polars.columns == frame.columns.tolist()
    assert SelectByEvidence(3).fit(pl.from_pandas(birds[0]), birds[1]).get_support(indices=True).tolist() == [0, 1, 3]


@pytest.mark.parametrize("by", ["information", "likelihood_ratio", "effect", "weight"])
def test_in_a_pipeline_and_a_search(birds, by):
    pipeline = make_pipeline(SelectByEvidence(2, by=by), textbook())
    search = GridSearchCV(pipeline, {"selectbyevidence__k": [1, 3, "all"]}, cv=3).fit(*birds)
    assert search.best_score_ > 0.9
    assert clone(pipeline)[0].get_params() == pipeline[0].get_params()


def test_a_sparse_matrix():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    dense = rng.poisson(0.5, (200, 20))
    dense[:, 7] += 3 * y
    chosen = SelectByEvidence(1, families="multinomial").fit(sparse.csr_matrix(dense), y)
    assert chosen.get_support(indices=True).tolist() == [7]
    assert sparse.issparse(chosen.transform(sparse.csr_matrix(dense)))


def test_weights_are_repetitions(birds):
    weights = np.random.default_rng(0).integers(1, 4, len(birds[1]))
    repeated = SelectByEvidence().fit(birds[0].loc[np.repeat(birds[0].index, weights)], np.repeat(birds[1], weights))
    np.testing.assert_allclose(
        SelectByEvidence().fit(*birds, sample_weight=weights).scores_, repeated.scores_, rtol=1e-9
    )


def test_what_the_selector_refuses(birds):
    for k in (0, -1, 2.5, True, "some"):
        with pytest.raises(ParameterError, match=r"SelectByEvidence\(k\)"):
            SelectByEvidence(k).fit(*birds)
    with pytest.raises(ParameterError, match="by must be one of"):
        SelectByEvidence(by="merit").fit(*birds)
    with pytest.raises(NotFittedError):
        SelectByEvidence().get_support()
    with pytest.raises(InputError, match="one per row, got y='sex'"):
        SelectByEvidence().fit(birds[0], "sex")


# -- forward --------------------------------------------------------------------------------------------------------


def left_out(model, X, y):
    """The leave-one-out log-likelihood of the classes."""
    model = clone(model).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    return model.loo(X, y)[np.arange(len(y)), codes].sum()


@pytest.mark.parametrize("families", [None, Gaussian(ties="feature"), Stacked()], ids=repr)
def test_forward_selection_is_greedy_leave_one_out(families):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["noise"] = np.random.default_rng(0).normal(size=150)
    model = textbook(families=families)
    found = forward_selection(model, X, y)
    chosen: list[str] = []
    for name, value in zip(found.columns, found.log_likelihood[1:], strict=True):
        trials = {other: left_out(model, X[[*chosen, other]], y) for other in X.columns if other not in chosen}
        assert max(trials, key=trials.get) == name
        assert trials[name] == pytest.approx(value, rel=1e-9)
        chosen.append(name)
    for name, gain in found.rejected.items():
        assert gain == pytest.approx(left_out(model, X[[*chosen, name]], y) - found.log_likelihood[-1], abs=1e-8)
        assert gain <= 0
    assert found.reason == "no gain"
    assert "noise" in found.rejected
    np.testing.assert_allclose(found.gains, np.diff(found.log_likelihood))


def test_forward_selection_takes_mixed_frames_weights_and_labels(birds):
    found = forward_selection(textbook(), *birds)
    assert found.columns[0] in ("flipper_length_mm", "bill_length_mm")
    assert set(found.columns) | set(found.rejected) == set(birds[0].columns)
    weights = np.random.default_rng(0).integers(0, 3, len(birds[1]))
    weighed = forward_selection(textbook(), *birds, sample_weight=weights)
    fitted = textbook().fit(*birds, sample_weight=weights)
    prior = np.log(fitted.class_prior_)[np.searchsorted(fitted.classes_, birds[1])]
    assert weighed.log_likelihood[0] == pytest.approx((weights * prior).sum(), rel=0.02)
    assert weighed.log_likelihood[0] != found.log_likelihood[0]
    named = forward_selection(textbook(), birds[0].assign(species=birds[1]), "species")
    assert named == found


def test_where_forward_selection_ends(birds):
    assert forward_selection(textbook(), *birds, max_features=1).reason == "max_features"
    assert len(forward_selection(textbook(), *birds, max_features=2).columns) == 2
    assert forward_selection(textbook(), *birds, min_gain=1e6).columns == []
    assert forward_selection(textbook(), *birds, min_gain=-1e9).reason == "all chosen"
    assert "ended: max_features" in repr(forward_selection(textbook(), *birds, max_features=1))


def test_a_duplicate_is_not_chosen():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    x = rng.normal(size=300) + y
    found = forward_selection(textbook(), {"x": x.tolist(), "copy": x.tolist()}, y)
    assert found.columns == ["x"]
    assert found.rejected["copy"] < 0


def test_a_class_of_one_row_does_not_spoil_forward_selection():
    rng = np.random.default_rng(0)
    y = np.array([0, 1] * 50 + [2])
    found = forward_selection(textbook(), rng.normal(size=(101, 1)) + 2 * y[:, None], y)
    assert found.columns == ["x0"]
    assert np.isfinite(found.log_likelihood).all()


def test_forward_selection_leaves_the_model_alone(birds):
    model = textbook().fit(*birds)
    before = model.statistics_
    forward_selection(model, *birds, max_features=1)
    assert model.statistics_ is before


@pytest.mark.parametrize("library", [pd, pl])
def test_the_frame_of_forward_selection(birds, library):
    frame = forward_selection(textbook(), *birds, max_features=2).frame(like=library.DataFrame())
    assert isinstance(frame, library.DataFrame)
    assert list(frame.columns) == ["column", "gain", "log_likelihood"]
    assert len(frame) == 2


def test_what_forward_selection_refuses(birds, monkeypatch):
    with pytest.raises(ParameterError, match=r"'auto' weighs all columns together.*Stacked"):
        forward_selection(NaiveBayes("auto"), *birds)
    with pytest.raises(ParameterError, match="must be a NaiveBayes, got str"):
        forward_selection("textbook", *birds)
    with pytest.raises(ParameterError, match="max_features"):
        forward_selection(textbook(), *birds, max_features=0)
    with pytest.raises(ParameterError, match="min_gain"):
        forward_selection(textbook(), *birds, min_gain=np.nan)
    monkeypatch.setattr("naively.analysis.selection._forward.LARGEST_EVIDENCE", 10)
    with pytest.raises(InputError, match="344 rows of 6 columns and 3 classes are too many"):
        forward_selection(textbook(), *birds)


# -- correlated -----------------------------------------------------------------------------------------------------


def test_correlated_duplicated_and_renamed_columns():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 100))
    colour = rng.choice(list("rgb"), 100)
    frame = pd.DataFrame(
        {
            "x": x,
            "colour": colour,
            "minus": -2 * x + 1e-3 * z,
            "z": z,
            "same": x,
            "farbe": pd.Series(colour).map({"r": "rot", "g": "gruen", "b": "blau"}),
            "again": colour,
            "copy of minus": -2 * x + 1e-3 * z,
        }
    )
    before = frame.copy()
    reduced, report = drop_correlated(frame)
    assert list(reduced.columns) == report.kept == ["x", "colour", "z"]
    assert report.dropped == ["minus", "same", "farbe", "again", "copy of minus"]
    assert report.because_of == ["x", "x", "colour", "colour", "x"]
    assert report.measure == ["correlation", "duplicate", "symmetric uncertainty", "duplicate", "correlation"]
    assert report.value[0] == pytest.approx(np.corrcoef(x, frame["minus"])[0, 1], abs=1e-12)
    pd.testing.assert_frame_equal(frame, before)
    assert list(report.frame()["column"]) == report.dropped
    assert isinstance(report.frame(like=pl.DataFrame()), pl.DataFrame)


def test_within_the_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    x, z = rng.normal(size=(2, 300)) + 20 * y
    labels = np.array(["low", "high"])[y]
    frame = pd.DataFrame({"x": x, "z": z, "a": labels, "b": np.where(rng.random(300) < 0.02, "odd", labels)})
    assert drop_correlated(frame, 0.8)[1].dropped == ["z", "b"]
    assert drop_correlated(frame, 0.8, y=y)[1].dropped == []
    joined = frame.assign(z=x + 5 * y + 1e-3 * z)
    report = drop_correlated(joined, 0.8, y=y)[1]
    residual = [column - np.array([column[y == code].mean() for code in (0, 1)])[y] for column in (x, joined["z"])]
    assert report.dropped == ["z"]
    assert report.value[0] == pytest.approx(np.corrcoef(*residual)[0, 1], abs=1e-12)


def test_missing_cells_are_left_out_by_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    X[rng.random(X.shape) < 0.2] = np.nan
    report = drop_correlated(X, 0.9)[1]
    assert report.dropped == ["x1"]
    assert report.value[0] == pytest.approx(pd.DataFrame(X).corr()[0][1], abs=1e-12)


def test_what_does_not_vary_or_is_hardly_known_repeats_nothing():
    nothing = [None] * 6
    table = {
        "x": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0],
        "constant": [0.1] * 6,
        "two": [5.0, 6.0, None, None, None, None],
        "empty": nothing,
        "label": ["p"] * 6,
        "other": ["q"] * 6,
        "unknown": nothing,
    }
    report = drop_correlated(table, 0.5)[1]
    assert report.dropped == ["unknown"]  # as empty as the other
    assert report.measure == ["duplicate"]


def test_far_from_zero():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 200))
    X = np.column_stack([x, 1e9 + z, 1e-200 * x, 1e150 * x])
    report = drop_correlated(X, 0.9)[1]
    assert report.dropped == ["x2", "x3"]


def test_threshold_one_takes_what_is_the_same_but_for_scale_and_names():
    x = np.random.default_rng(0).normal(size=50)
    frame = pd.DataFrame(
        {"x": x, "y": 3 * x + 1, "a": x > 0, "b": np.where(x > 0, "p", "q"), "c": np.where(x > 0, "u", "v")}
    )
    assert drop_correlated(frame, 1.0)[1].dropped == ["y", "c"]


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sparse.csr_matrix, np.ndarray.tolist, pl.DataFrame])
def test_what_comes_back_is_what_was_given(make):
    values = np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 1.0], [3.0, 6.0, 2.0], [5.0, 10.0, 0.0]])
    reduced, report = drop_correlated(make(values))
    assert report.dropped == ["x1"] or report.dropped == ["column_1"]
    assert type(reduced) is (np.ndarray if isinstance(make(values), list) else type(make(values)))
    dense = reduced.toarray() if sparse.issparse(reduced) else np.asarray(reduced)
    np.testing.assert_array_equal(dense, values[:, [0, 2]])


def test_records_come_back_as_records():
    rows = [{"a": 1, "b": 2, "c": 1}, {"a": 2, "b": 4, "c": 0}, {"a": 4, "b": 8, "c": 5}, {"a": 3, "b": 6, "c": 5}]
    reduced, _ = drop_correlated(rows)
    assert reduced[0] == {"a": 1, "c": 1}


def test_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 300))
    X[:, 299], X[:, 270] = X[:, 3], -X[:, 260]
    report = drop_correlated(X, 0.99)[1]
    assert dict(zip(report.dropped, report.because_of, strict=True)) == {"x270": "x260", "x299": "x3"}


@pytest.mark.parametrize("threshold", [0, -0.5, 1.5, "high", True, np.nan])
def test_a_threshold_that_makes_no_sense(threshold):
    with pytest.raises(ParameterError, match="threshold must be a number above 0 and at most 1"):
        drop_correlated([[1.0, 2.0]], threshold)


def test_what_drop_correlated_refuses():
    with pytest.raises(InputError, match="infinity"):
        drop_correlated([[1.0, np.inf], [2.0, 3.0]])
    with pytest.raises(InputError, match="one per row"):
        drop_correlated({"a": [1.0], "b": [2.0]}, y="b")
    with pytest.raises(InputError, match="as many rows"):
        drop_correlated([[1.0], [2.0]], y=[0])


def test_dropping_a_copy_cures_what_it_does_to_probabilities():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    x = rng.normal(size=500) + y
    copies = np.column_stack([x] * 5)
    alone = textbook().fit(x[:, None], y).predict_proba(x[:, None])
    reduced, _ = drop_correlated(copies, y=y)
    np.testing.assert_allclose(textbook().fit(reduced, y).predict_proba(reduced), alone, rtol=1e-12)
    assert np.abs(textbook().fit(copies, y).predict_proba(copies) - alone).max() > 0.2


def test_noise_is_not_chosen():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = rng.normal(size=(100, 300))
    X[:, :3] += 1.5 * y[:, None]
    found = forward_selection(NaiveBayes("textbook"), X, y)
    assert {"x0", "x1", "x2"} >= set(found.columns[:2])
    assert len(found.columns) <= 6
    greedy = forward_selection(NaiveBayes("textbook"), X, y, min_gain=0)
    assert len(greedy.columns) > 20


def test_identifiers_and_noise_are_not_selected():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    X = pd.DataFrame({"id": [f"id {n}" for n in range(500)], "noise": rng.integers(0, 80, 500).astype(str)})
    X["weak"] = np.where(rng.random(500) < 0.7, y, 1 - y).astype(str)
    assert SelectByEvidence(k=1).fit(X, y).get_feature_names_out().tolist() == ["weak"]
