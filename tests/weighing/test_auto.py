"""Categories, tempering and the whole recipe."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize

import naively._weighing.categories as categories
import naively._weighing.weights as tempering
from naively._scoring.calibration import calibration
from naively._weighing.design import AllScores, Design, RivalScores
from naively._weighing.kept import dealt_folds
from naively._weighing.softmax import best_temperature
from naively._weighing.terms import is_missing
from naively._weighing.weights import CANDIDATES, fit_candidates, fit_temperature, log_softmax, mixed, scores
from naively.families._curves import Curve, Curves

from .additive_tables import fit


def table(n=300, classes=3, seed=0, missing=0.1):
    """Draw a mixed table with missing cells."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    number = rng.normal(size=n) + codes
    other = np.exp(rng.normal(size=n))
    category = np.where(rng.random(n) < 0.6, codes, rng.integers(0, 5, n))
    number[rng.random(n) < missing] = np.nan
    category[rng.random(n) < missing] = -1
    return [("numeric", number), ("categorical", category), ("numeric", other)], codes.astype(np.int64)


def test_category_leave_one_out_equals_refits():
    columns, codes = table()
    values = columns[1][1]
    seen = values >= 0
    counts = np.zeros((3, 5))
    np.add.at(counts, (codes[seen], values[seen]), 1)
    result = categories.estimate(counts).leave_one_out(values, codes, np.ones(len(codes)))
    marginal = (counts.sum(axis=0) + 1) / (counts.sum() + 5)
    for row in np.flatnonzero(seen)[:50]:
        left = counts.copy()
        left[codes[row], values[row]] -= 1
        expected = np.log((left[:, values[row]] + marginal[values[row]]) / (left.sum(axis=1) + 1))
        np.testing.assert_allclose(result[:, row], expected - expected.mean(), atol=1e-10)
    assert not result[:, ~seen].any()


@pytest.mark.parametrize("estimate", [categories.estimate, categories.stacked])
def test_likelihoods_of_values_sum_to_one_and_an_unseen_one_says_nothing(estimate):
    estimated = estimate(np.array([[3.0, 0.0, 2.0], [1.0, 5.0, 0.0]]))
    np.testing.assert_allclose(estimated.likelihood.sum(axis=2), 1)
    assert estimated.table.shape == (2, 4)
    assert not estimated.evidence(np.array([3, 7, -1])).any()


def test_the_stack_of_smoothings_is_what_left_out_rows_say():
    """Six rows of one class for each value: one pseudo-row. Six rows of any class: as many as values, or any number."""
    values = np.repeat(np.arange(200), 6)
    told = np.zeros((2, 200))
    np.add.at(told, (values % 2, values), 1)
    chance = np.zeros((2, 200))
    np.add.at(chance, (np.random.default_rng(0).integers(0, 2, 1200), values), 1)
    assert categories.stacked(told)._shares(told)[0] > 0.9
    assert categories.stacked(chance)._shares(chance)[0] < 0.05
    once = np.vstack([np.arange(50) % 2 == 0, np.arange(50) % 2 == 1]).astype(float)
    np.testing.assert_allclose(categories.stacked(once)._shares(once), categories.STACK_COUNTS, atol=1e-4)
    assert not categories.stacked(once).leave_one_out(np.arange(50), np.arange(50) % 2, np.ones(50)).any()


def test_leave_one_out_prior_equals_refits():
    codes = np.array([0, 0, 1, 2, 2, 2])
    counts = np.bincount(codes).astype(float)
    result = categories.leave_one_out_log_prior(counts, codes)
    for row in range(6):
        left = np.bincount(np.delete(codes, row), minlength=3) + 1
        np.testing.assert_allclose(result[:, row], np.log(left / left.sum()), atol=1e-12)


def test_a_missing_indicator_must_pay():
    rows = np.array([500.0, 500.0])
    assert categories.missing_indicator(np.array([50.0, 50.0]), rows, np.ones(2)) is None
    assert categories.missing_indicator(np.array([0.0, 0.0]), rows, np.ones(2)) is None
    kept = categories.missing_indicator(np.array([10.0, 300.0]), rows, np.ones(2))
    assert kept is not None
    assert kept.table[1, 1] > kept.table[0, 1]


def design(seed=0, rows=80, terms=4, classes=3, effects=5):
    """Draw a design."""
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(classes, rows, terms))
    return Design(
        evidence=evidence - evidence.mean(axis=0),
        log_prior=log_softmax(rng.normal(size=(classes, rows))),
        codes=rng.integers(0, classes, rows),
        weights=rng.integers(1, 4, rows).astype(np.float64),
        effects=rng.normal(size=(rows, effects)),
        counted=np.array([1.0, 1.0, 1.0, 0.0]),
        penalty=np.array([1.0, 1.0, 1.0, 30.0]),
        temperature=0.7,
    )


def at(problem, point):
    """The loss and the gradient of a problem of one fit."""
    losses, gradients = problem.losses_and_gradients(point[None], np.arange(1))
    return losses[0], gradients[0]


@pytest.mark.parametrize("name", ["W", "V3", "V.3", "CV"])
def test_the_gradient_is_right(name):
    problem = tempering.CandidateProblem(design(), CANDIDATES[name])
    point = np.random.default_rng(1).normal(size=problem.size) ** 2
    error = check_grad(lambda x: at(problem, x)[0], lambda x: at(problem, x)[1], point)
    assert error < 1e-3


def test_fits_side_by_side_are_those_of_each():
    """Rows that do not count in a fit change nothing there, and what another fit does changes nothing either."""
    one = design(rows=90)
    folds = np.arange(90) % 3
    weights = np.where(folds == np.arange(3)[:, None], 0.0, one.weights)
    together = fit_candidates(one, CANDIDATES, weights)
    for fold in range(3):
        left = one.rows(folds != fold)
        alone = fit_candidates(replace(left, penalty=one.penalty), CANDIDATES)
        for name in ("T", "W", "V3"):  # what differs by class is drawn together the more, the fewer rows there are
            np.testing.assert_allclose(together[name][fold].weights, alone[name][0].weights, atol=1e-3)
            np.testing.assert_allclose(together[name][fold].effects, alone[name][0].effects, atol=1e-3)


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_weight_equals_repetitions_of_the_row(name):
    weighted = design()
    repeated = weighted.rows(np.repeat(np.arange(80), weighted.weights.astype(int)))
    repeated = replace(repeated, weights=np.ones(len(repeated.codes)))
    a, b = (fit_candidates(one, {name: CANDIDATES[name]})[name][0] for one in (weighted, repeated))
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-4)
    np.testing.assert_allclose(a.effects, b.effects, atol=1e-4)
    np.testing.assert_allclose(a.bias, b.bias, atol=1e-4)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), share=st.floats(0.02, 0.5))
def test_evidence_of_nothing_leaves_the_prior_in_force(seed, share):
    rng = np.random.default_rng(seed)
    codes = (rng.random(500) < share).astype(np.int64)
    said = rng.normal(size=500) * rng.choice([0.1, 1.0, 30.0])
    one = replace(
        design(rows=500, classes=2, effects=0),
        evidence=np.stack([said, -said])[:, :, None],
        log_prior=np.log([[1 - share], [share]]).repeat(500, axis=1),
        codes=codes,
        weights=np.ones(500),
        counted=np.ones(1),
        penalty=np.ones(1),
    )
    tempered = fit_candidates(one, {"T": CANDIDATES["T"]})["T"][0]
    losses = [-log_softmax(of_rows)[codes, np.arange(500)].mean() for of_rows in (scores(one, tempered), one.log_prior)]
    assert losses[0] < losses[1] + 0.005


def test_no_weight_is_negative():
    one = design(rows=400)
    one.evidence[one.codes, np.arange(400)] -= 2.0  # evidence against the row's own class: a negative weight would pay
    assert all((fitted.weights >= 0).all() for (fitted,) in tempering.fit_candidates(one).values())


def test_class_wise_weights_are_pulled_to_the_best_shared_one():
    problem = tempering.CandidateProblem(design(), CANDIDATES["CV"])
    weights = np.random.default_rng(2).random((3, 4))
    strength, target = problem.design.penalty, problem.design.target

    def penalty(shared):
        return 0.5 * float((strength * (shared - target) ** 2).sum() + 5.0 * ((weights - shared) ** 2).sum())

    best = minimize(penalty, target).fun
    assert problem.pull(weights[None])[0] == pytest.approx(best, rel=1e-6)


def test_shares_of_candidates_minimise_the_loss_of_their_sum():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 500)
    prior = log_softmax(rng.normal(size=(3, 500)))
    told = log_softmax(2.0 * (codes == np.arange(3)[:, None]) + rng.normal(size=(3, 500)))
    crossed = np.stack([told, log_softmax(rng.normal(size=(3, 500))), log_softmax(5 * rng.normal(size=(3, 500)))])
    shares = tempering.candidate_shares(crossed, codes, np.ones(500), prior)

    def loss(q):
        total = log_softmax(prior + np.tensordot(q, crossed - prior, axes=1))
        return -total[codes, np.arange(500)].sum() - np.log(q).sum() + 3 * q.sum()

    for other in rng.dirichlet(np.ones(3), 50) * rng.uniform(0.2, 3.0, 50)[:, None]:
        assert loss(shares) <= loss(0.9 * shares + 0.1 * other) + 1e-3


@pytest.mark.parametrize(("factor", "total"), [(0.6, 0.6), (1.15, 1.15), (1.6, tempering.MOST_TOGETHER)])
def test_shares_add_up_to_what_rows_bear_out(factor, total):
    """Candidates that say too much have shares that add up to less than one, and to more, to a limit, if too little."""
    rng = np.random.default_rng(4)
    prior = np.log(np.full((2, 4000), 0.5))
    scores = rng.normal(size=(2, 4000))
    codes = (rng.random(4000) < np.exp(log_softmax(factor * scores)[1])).astype(np.int64)
    crossed = np.repeat(log_softmax(scores)[None], 2, axis=0)
    assert tempering.candidate_shares(crossed, codes, np.ones(4000), prior).sum() == pytest.approx(total, rel=0.1)


def test_a_sum_of_candidates_is_one_additive_score():
    one = design()
    fitted = [fits[0] for fits in tempering.fit_candidates(one).values()]
    shares = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    expected = sum(q * log_softmax(scores(one, c)) for q, c in zip(shares, fitted, strict=True))
    averaged = log_softmax(scores(one, mixed(fitted, shares)))
    np.testing.assert_allclose(averaged, log_softmax(expected), atol=1e-10)


def test_folds_hold_a_part_of_every_class():
    codes = np.repeat([0, 1, 2], [40, 20, 4])
    folds = dealt_folds(codes, 4)
    assert {tuple(np.bincount(folds[codes == k], minlength=4)) for k in range(3)} == {(10,) * 4, (5,) * 4, (1,) * 4}


@pytest.fixture(scope="module")
def fitted():
    """A fitted model with its table."""
    columns, codes = table()
    return fit(columns, codes, 3), columns, codes


def test_probabilities_are_the_softmax_of_the_sum_of_terms(fitted):
    model, columns, _codes = fitted
    total = model.log_prior + model.bias
    evidence = sum(term.evidence(columns[term.column][1]).T for term in model.terms)
    np.testing.assert_allclose(model.log_proba(columns), log_softmax((total + evidence).T).T, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.log_proba(columns)).sum(axis=1), 1)


def test_tables_reproduce_the_scores_of_the_weighed_rows(fitted):
    """Folding weights and effects into tables loses nothing: full-data evidence through Design equals the terms."""
    model, columns, _codes = fitted
    for term in model.terms:
        x = columns[term.column][1]
        assert not term.evidence(x)[:, is_missing(x)].any() or term.kind == "missing"


def test_missing_and_unseen_cells(fitted):
    model, _, _ = fitted
    empty = [("numeric", np.array([np.nan])), ("categorical", np.array([-1])), ("numeric", np.array([np.nan]))]
    np.testing.assert_allclose(model.log_proba(empty)[0], log_softmax((model.log_prior + model.bias)[:, None])[:, 0])
    odd = [("numeric", np.array([1e300])), ("categorical", np.array([99])), ("numeric", np.array([-1e300]))]
    assert np.isfinite(model.log_proba(odd)).all()


def test_leave_one_out_shapes(fitted):
    model, columns, _codes = fitted
    loo, terms = model.loo, len(model.terms)
    evidence = model.left_out(columns, loo.fitted_on).evidence
    assert evidence.shape == (3, 300, terms)
    assert loo.log_posterior.shape == (300, 3)
    np.testing.assert_allclose(np.exp(loo.log_posterior).sum(axis=1), 1)
    np.testing.assert_allclose(evidence.sum(axis=0), 0, atol=1e-9)
    assert calibration(loo.log_posterior, loo.codes).log_loss < np.log(3)


def test_columns_and_classes_can_be_permuted(fitted):
    model, columns, codes = fitted
    reversed_model = fit(columns[::-1], codes, 3)
    np.testing.assert_allclose(reversed_model.log_proba(columns[::-1]), model.log_proba(columns), atol=0.02)


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_tables_give_finite_probabilities(n, classes):
    columns, codes = table(n=n, classes=classes)
    model = fit(columns, codes, classes)
    assert np.isfinite(model.log_proba(columns)).all()
    np.testing.assert_allclose(np.exp(model.log_proba(columns)).sum(axis=1), 1)


def test_empty_and_constant_columns():
    _, codes = table(n=50)
    columns = [("numeric", np.full(50, np.nan)), ("numeric", np.full(50, 2.0)), ("categorical", np.full(50, -1))]
    model = fit(columns, codes, 3)
    np.testing.assert_allclose(model.log_proba(columns), np.tile(model.log_proba(columns)[:1], (50, 1)))


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e-30, 1e30, 1e150, 1e300])
def test_extreme_scales(factor):
    columns, codes = table(n=100)
    scaled = [(kind, x * factor if kind == "numeric" else x) for kind, x in columns]
    model = fit(scaled, codes, 3)
    assert np.isfinite(model.log_proba(scaled)).all()


def test_calibration_of_certain_and_right_rows():
    report = calibration(np.log(np.clip(np.eye(2), 1e-15, 1)), np.array([0, 1]))
    assert (report.accuracy, report.ece) == (1.0, pytest.approx(0, abs=1e-9))
    assert report.brier < 1e-9
    assert report.reliability[-1, 0] == 2


@pytest.mark.parametrize("kernels", ["reference", "compiled"])
def test_curves_equal_their_terms(fitted, monkeypatch, kernels):
    monkeypatch.setenv("NAIVELY_KERNELS", kernels)
    model, _, _ = fitted
    term = model.terms[0]
    x = np.concatenate([np.random.default_rng(3).standard_cauchy(5000), term.knots, [np.nan, 1e300, -1e300]])
    missing = np.array([0.5, 0.0, -0.5])
    expected = np.where(np.isnan(x)[:, None], missing, term.evidence(x).T)
    curves = Curves((Curve(term.knots, term.table, missing),))
    found = np.zeros((len(x), 3))
    curves.add_to(found, x[:, None])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(curves.evidence(x[:, None])[:, 0], expected, atol=1e-12)


def test_two_threads_give_the_same_model(fitted):
    model, columns, codes = fitted
    assert np.array_equal(fit(columns, codes, 3, n_threads=2).log_proba(columns), model.log_proba(columns))


def test_few_rivals_and_some_others_stand_for_very_many_classes():
    """The sum over all classes is estimated: loss and gradient are near those of all classes."""
    rng = np.random.default_rng(4)
    centres, codes = rng.normal(size=(300, 3)), rng.integers(0, 300, 500)
    distance = (centres[:, None] - centres[codes] - 0.5 * rng.normal(size=(500, 3))) ** 2
    many = Design(
        evidence=-distance + distance.mean(axis=0),
        log_prior=np.full((300, 500), -np.log(300)),
        codes=codes,
        weights=np.ones(500),
        effects=np.zeros((500, 0)),
        counted=np.ones(3),
        penalty=np.ones(3),
    )
    some = tempering.CandidateProblem(many, CANDIDATES["W"])
    every = tempering.CandidateProblem(many, CANDIDATES["W"], AllScores(many))
    assert isinstance(some.linear, RivalScores)
    point = some.pack([None])[0] + 0.1 * rng.random(some.size)
    (loss, slope), (true_loss, true_slope) = at(some, point), at(every, point)
    assert loss == pytest.approx(true_loss, rel=0.01)
    assert np.linalg.norm(slope - true_slope) < 0.1 * np.linalg.norm(true_slope)
    assert check_grad(lambda x: at(some, x)[0], lambda x: at(some, x)[1], point) < 1e-2
    assert fit_temperature(many) == pytest.approx(
        best_temperature((many.counted_evidence + many.log_prior).T, codes, many.weights), rel=0.05
    )


def test_two_classes_are_scored_by_their_difference():
    two = design(classes=2)
    for name in ("W", "V3", "CV"):
        half = tempering.CandidateProblem(two, CANDIDATES[name])
        whole = tempering.CandidateProblem(two, CANDIDATES[name], AllScores(two))
        point = np.random.default_rng(1).normal(size=half.size) ** 2
        if name == "CV":  # what differs between the weights of two classes moves nothing that the classes do not share
            weights = half.split(point[None])[1][0]
            weights[1] = weights[0]
        (loss, slope), (true_loss, true_slope) = at(half, point), at(whole, point)
        assert loss == pytest.approx(true_loss)
        np.testing.assert_allclose(slope, true_slope, atol=1e-9)
