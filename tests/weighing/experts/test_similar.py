"""Similar rows: what resembles what, missing cells, and answers on tables with known truth."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively import NaiveBayes, load
from naively._weighing import similar
from naively._weighing.joint_gaussian import normal_scores
from naively._weighing.kept import dealt_folds
from naively._weighing.similar import Resemblance, between_rows, fit_similar_rows, plan_coordinates

N_LABELS = [0, 0, 3, 2]


def learnt(columns: list, target: np.ndarray, n_classes: int = 2, **given: object) -> SimpleNamespace:
    """Kept rows, as experts are given them."""
    prior = (np.bincount(target, minlength=n_classes) + 1.0) / (len(target) + n_classes)
    usual = {
        "weights": np.ones(len(target)),
        "folds": dealt_folds(target, 4),
        "rows": SimpleNamespace(rows=np.arange(len(target))),
        "additive": SimpleNamespace(log_prior=np.log(prior), monotone={}),
    }
    rows = SimpleNamespace(columns=columns, target=target, **{**usual, **given})
    rows.normal_scores = lambda place: normal_scores(columns[place][1], rows.weights)
    return rows


def mixed(seed: int, n_rows: int = 80, missing: float = 0.1) -> list:
    """Two columns of numbers and two of labels; some cells are missing."""
    random = np.random.default_rng(seed)
    numbers = np.where(random.random((2, n_rows)) < missing, np.nan, random.normal(size=(2, n_rows)))
    labels = [np.where(random.random(n_rows) < missing, -1, random.integers(0, n, n_rows)) for n in N_LABELS[2:]]
    return [*(("numeric", values) for values in numbers), *(("categorical", codes) for codes in labels)]


def resemblance(seed: int) -> Resemblance:
    rows = learnt(mixed(seed), np.arange(80) % 2)
    coordinates = plan_coordinates(rows, N_LABELS, np.array([1.0, 0.2, 0.5, 0.0]))
    return Resemblance(coordinates, coordinates(rows.columns)[0][:20], 0.7)


def circle(seed: int, n_rows: int = 400) -> tuple[list, np.ndarray]:
    """A disc among rows around it: neither number tells much by itself, and their product nothing."""
    points = np.random.default_rng(seed).normal(size=(2, n_rows))
    return [("numeric", values) for values in points], (np.hypot(*points) < 1.18).astype(int)


def noise(seed: int, n_rows: int = 300) -> tuple[list, np.ndarray]:
    random = np.random.default_rng(seed)
    return [("numeric", values) for values in random.normal(size=(5, n_rows))], random.integers(0, 2, n_rows)


def loss(log_proba: np.ndarray, target: np.ndarray) -> float:
    return -float(log_proba[np.arange(len(target)), target].mean())


@given(st.integers(0, 1000), st.integers(0, 3))
def test_an_unknown_cell_is_averaged_out(seed: int, column: int) -> None:
    """A row without a cell resembles a landmark as it does, on average, with the cell that each landmark has."""
    resembles = resemblance(seed)
    points, unknown = resembles.coordinates(mixed(seed + 1, 10))
    place = resembles.coordinates.places[column]
    points[:, place], unknown[:, column] = 0.0, True
    found = resembles.of_points(points, unknown)
    filled = []
    for own in resembles.landmarks:
        points[:, place] = own[place]
        filled.append(resembles.of_points(points, unknown & (np.arange(4) != column)))
    np.testing.assert_allclose(found, np.mean(filled, axis=0), rtol=1e-9, atol=1e-12)


def test_a_row_of_which_nothing_is_known_resembles_nothing() -> None:
    """Missing cells, and labels that were never seen."""
    columns = [*[("numeric", np.full(2, np.nan))] * 2, *[("categorical", np.array([-1, 7]))] * 2]
    np.testing.assert_allclose(resemblance(0)(columns), 0.0, atol=1e-15)


def test_rows_are_no_closer_than_to_themselves() -> None:
    between = resemblance(3).between_landmarks
    np.testing.assert_allclose(between, between.T, rtol=1e-12)
    np.testing.assert_allclose(np.diag(between), 1.0)
    assert (between <= 1.0 + 1e-12).all()


def test_it_sees_a_circle_and_knows_how_well() -> None:
    columns, target = circle(0)
    expert, left_out, _ = fit_similar_rows(learnt(columns, target), [0, 0], np.ones(2))
    fresh, truth = circle(1)
    np.testing.assert_allclose(np.exp(left_out).sum(axis=1), 1.0)
    assert loss(left_out, target) < 0.25
    assert abs(loss(expert.log_proba(fresh), truth) - loss(left_out, target)) < 0.06


def test_it_sees_an_interaction_of_labels() -> None:
    codes = np.random.default_rng(2).integers(0, 2, (3, 400))
    target = codes[0] ^ codes[1]
    expert, left_out, _ = fit_similar_rows(
        learnt([("categorical", one) for one in codes], target), [2, 2, 2], np.zeros(3)
    )
    assert loss(left_out, target) < 0.05
    assert (expert.log_proba([("categorical", one) for one in codes]).argmax(axis=1) == target).all()


def test_noise_is_left_as_it_is() -> None:
    losses = []
    for seed in range(8):
        columns, target = noise(seed)
        expert, left_out, _ = fit_similar_rows(learnt(columns, target), [0] * 5, np.ones(5))
        fresh, truth = noise(seed + 100)
        losses.append((loss(left_out, target), loss(expert.log_proba(fresh), truth)))
    np.testing.assert_allclose(np.mean(losses, axis=0), np.log(2), atol=0.01)


def test_a_row_counts_by_its_weight() -> None:
    """Weights of 0 take rows away."""
    columns, target = circle(3, 300)
    some = np.arange(300) < 200
    ordered = SimpleNamespace(rows=np.arange(200))
    part = [(kind, values[some]) for kind, values in columns]
    fewer = learnt(part, target[some], folds=dealt_folds(target, 4)[some], rows=ordered)
    weighed = learnt(columns, target, weights=some.astype(float), additive=fewer.additive, rows=ordered)
    answers = [fit_similar_rows(rows, [0, 0], np.ones(2))[0].log_proba(columns) for rows in (fewer, weighed)]
    assert np.abs(np.exp(answers[0]) - np.exp(answers[1])).mean() < 0.02


@pytest.mark.parametrize("weight", [1.0, 1e4, 1e8])
def test_landmarks_that_are_alike_may_weigh_much(weight: float) -> None:
    """Few combinations of labels, each in every class and fold, are what is kept of millions of rows."""
    codes = np.array(list(product(range(2), repeat=5))).T.repeat(2, axis=1)
    target = np.tile([0, 1], 32)
    weights = weight * np.where(target == (codes[0] ^ codes[1]), 0.9, 0.1)
    four = np.tile(np.arange(64), 4)
    given = learnt(
        [("categorical", one[four]) for one in codes],
        target[four],
        weights=weights[four],
        folds=np.repeat(np.arange(4), 64),
        rows=SimpleNamespace(rows=four),
    )
    expert, left_out, _ = fit_similar_rows(given, [2] * 5, np.ones(5))
    assert np.isfinite(left_out).all()
    answers = np.exp(expert.log_proba([("categorical", one) for one in codes]))[np.arange(64), target]
    np.testing.assert_allclose(answers, weights / weight, atol=0.06)


def test_rows_are_answered_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, target = circle(8, 100)
    expert, *_ = fit_similar_rows(learnt(columns, target), [0, 0], np.ones(2))
    at_once = expert.log_proba(columns)
    monkeypatch.setattr(similar, "COORDINATES_AT_ONCE", 2 * 7)
    np.testing.assert_allclose(expert.log_proba(columns), at_once, rtol=1e-12)
    assert expert.log_proba([(kind, values[:0]) for kind, values in columns]).shape == (0, 2)


def test_monotone_columns_are_not_read() -> None:
    columns, target = circle(4)
    monotone = SimpleNamespace(log_prior=np.log([0.5, 0.5]), monotone={0: 1})
    expert, *_ = fit_similar_rows(learnt(columns, target, additive=monotone), [0, 0], np.ones(2))
    assert expert.resemblance.coordinates.columns == (1,)


def test_columns_that_tell_least_stay_out_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar, "MOST_COORDINATES", 4 * 80)
    coordinates = plan_coordinates(learnt(mixed(0), np.arange(80) % 2), N_LABELS, np.array([0.1, 0.5, 0.9, 0.3]))
    assert coordinates.columns == (1, 2)


@pytest.mark.parametrize("columns", [[("numeric", np.ones(80))], [("categorical", np.full(80, -1))]])
def test_without_columns_that_vary_there_is_no_expert(columns: list) -> None:
    assert fit_similar_rows(learnt(columns, np.arange(80) % 2), [1], np.ones(1)) is None


def test_few_rows_resemble_nothing() -> None:
    columns, target = circle(5, similar.LEAST_ROWS - 1)
    assert fit_similar_rows(learnt(columns, target), [0, 0], np.ones(2)) is None


def test_rows_that_stand_there_twice_are_landmarks_once() -> None:
    columns, target = circle(6, 100)
    twice = np.repeat(np.arange(100), 2)
    given = learnt([(kind, values[twice]) for kind, values in columns], target[twice], rows=SimpleNamespace(rows=twice))
    expert, left_out, _ = fit_similar_rows(given, [0, 0], np.ones(2))
    assert len(expert.resemblance.landmarks) == 100
    assert np.isfinite(left_out).all()


@given(st.integers(0, 1000))
def test_no_landmark_is_a_row_that_was_learnt(seed: int) -> None:
    """Of rows that hold a number; some of them stand there twice."""
    rows = learnt(mixed(seed, 60, missing=0.0), np.arange(60) % 2)
    points, _ = plan_coordinates(rows, N_LABELS, np.ones(4))(rows.columns)
    points = np.concatenate([points, points[:10]])
    landmarks = between_rows(points, 50)
    assert landmarks.shape == (50, points.shape[1])
    distances = np.linalg.norm(landmarks[:, None] - points, axis=2)
    assert (distances > 1e-9).all()
    assert (distances.argmin(axis=1) % 60 == np.arange(50)).mean() > 0.8  # but near the one that it stands for


def test_rows_that_are_all_alike_are_their_own_landmarks() -> None:
    np.testing.assert_array_equal(between_rows(np.ones((60, 2)), 5), np.ones((5, 2)))


def test_strong_says_what_similar_rows_say_and_keeps_it(tmp_path) -> None:
    columns, target = circle(7)
    X = np.stack([values for _, values in columns], axis=1)
    model = NaiveBayes("strong").fit(X, target)
    assert "expert: similar rows" in model.evidence_names_
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict_proba(X), model.predict_proba(X))
