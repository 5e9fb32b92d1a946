"""Networks: how they learn, what they say of missing cells, and answers on tables with known truth."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import log_softmax

from naively import NaiveBayes, load
from naively._weighing import networks
from naively._weighing.joint_gaussian import normal_scores
from naively._weighing.kept import dealt_folds
from naively._weighing.networks import fit_networks, learn, plan_inputs, scores_of

pytestmark = pytest.mark.every_tree


def learnt(columns: list, target: np.ndarray, n_classes: int = 2, **given: object) -> SimpleNamespace:
    """Kept rows, as experts are given them."""
    prior = (np.bincount(target, minlength=n_classes) + 1.0) / (len(target) + n_classes)
    usual = {
        "weights": np.ones(len(target)),
        "folds": dealt_folds(target, 4),
        "additive": SimpleNamespace(log_prior=np.log(prior), monotone={}),
    }
    rows = SimpleNamespace(columns=columns, target=target, **{**usual, **given})
    rows.normal_scores = lambda place: normal_scores(columns[place][1], rows.weights)
    return rows


def fit(rows: SimpleNamespace, n_labels: list | None = None):
    count = len(rows.columns)
    names = [f"c{place}" for place in range(count)]
    return fit_networks(rows, n_labels or [0] * count, names)


def circle(seed: int, n_rows: int = 400) -> tuple[list, np.ndarray]:
    """A disc among rows around it: neither number tells much by itself, and their product nothing."""
    points = np.random.default_rng(seed).normal(size=(2, n_rows))
    return [("numeric", values) for values in points], (np.hypot(*points) < 1.18).astype(int)


def balance(seed: int, n_rows: int = 400) -> tuple[list, np.ndarray]:
    """Which of two products of numbers of few values is larger."""
    cells = np.random.default_rng(seed).integers(1, 6, (4, n_rows)).astype(float)
    return [("numeric", values) for values in cells], (cells[0] * cells[1] > cells[2] * cells[3]).astype(int)


def parity(seed: int, n_rows: int = 400) -> tuple[list, np.ndarray]:
    codes = np.random.default_rng(seed).integers(0, 2, (3, n_rows))
    return [("categorical", one) for one in codes], codes[0] ^ codes[1]


def loss(log_proba: np.ndarray, target: np.ndarray) -> float:
    return -float(log_proba[np.arange(len(target)), target].mean())


@pytest.mark.parametrize("table", [circle, balance, parity])
def test_they_see_what_no_column_tells_and_know_how_well(table) -> None:
    columns, target = table(0)
    n_labels = [2 * (kind == "categorical") for kind, _ in columns]
    expert, left_out, noise = fit(learnt(columns, target), n_labels)
    fresh, truth = table(1)
    np.testing.assert_allclose(np.exp(left_out).sum(axis=1), 1.0)
    assert loss(left_out, target) < 0.25
    assert loss(expert.log_proba(fresh), truth) < loss(left_out, target) + 0.05
    assert noise.shape == left_out.shape


def test_noise_is_left_as_it_is() -> None:
    losses = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        numbers, target = random.normal(size=(5, 600)), random.integers(0, 2, 600)
        found = fit(learnt([("numeric", values) for values in numbers[:, :300]], target[:300]))
        fresh = [("numeric", values) for values in numbers[:, 300:]]
        losses.append(np.log(2) if found is None else loss(found.expert.log_proba(fresh), target[300:]))
    np.testing.assert_allclose(np.mean(losses), np.log(2), atol=0.01)


def test_a_step_goes_down_the_slope_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.RandomState(0)
    nets = networks._Networks(3, 2, np.array([0.5, 0.3, 0.2]), random)
    nets.numbers += 0.1 * random.standard_normal(nets.numbers.shape)
    table, target, weights = random.standard_normal((2, 7, 3)), random.randint(0, 3, (2, 7)), random.rand(2, 7)

    def total(numbers: np.ndarray) -> float:
        layers = nets.layers(numbers)
        said = log_softmax(scores_of(table, layers[0::2], layers[1::2]), axis=2)
        own = np.take_along_axis(said, target[:, :, None], axis=2)[:, :, 0]
        return -float((weights * own).sum()) / 7

    monkeypatch.setattr(networks._Networks, "_descend", lambda self: None)
    nets.step(table, target, weights)
    slope, start = nets._gradient.copy(), nets.numbers.copy()
    for place in random.randint(0, start.shape[1], 60):
        for network in range(2):
            moved = []
            for by in (1e-6, -1e-6):
                numbers = start.copy()
                numbers[network, place] += by
                moved.append(total(numbers))
            assert slope[network, place] == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-4, abs=1e-8)


def test_rounding_stays_rounding() -> None:
    """In single precision a hundred steps would make percents of it."""
    columns, target = circle(3)
    table, folds = np.stack([values for _, values in columns], axis=1), dealt_folds(target, 4)
    turned = table * (1.0 + 1e-15 * np.random.default_rng(0).normal(size=table.shape))
    each = [learn(one, target, np.ones(400), folds, np.array([0.5, 0.5])) for one in (table, turned)]
    for one, other in zip(*(found.layers for found in each), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_row_of_which_nothing_is_known_has_the_prior() -> None:
    random = np.random.default_rng(1)
    codes, number = random.integers(0, 3, 300), random.normal(size=300)
    target = ((codes == 1) ^ (number > 0)).astype(int)
    rows = learnt([("categorical", codes), ("numeric", number)], target)
    expert, _, _ = fit(rows, [3, 0])
    unknown = [("categorical", np.array([-1, 9])), ("numeric", np.full(2, np.nan))]
    np.testing.assert_allclose(expert.log_proba(unknown), np.tile(rows.additive.log_prior, (2, 1)), atol=1e-12)


def test_an_unknown_cell_is_averaged_out() -> None:
    """Of a parity nothing is left where one of two labels is unknown, whatever a network says of cells in between."""
    columns, target = parity(2)
    expert, _, _ = fit(learnt(columns, target), [2, 2, 2])
    some = [("categorical", values[:50]) for _, values in columns]
    known = expert.log_proba(some)
    assert loss(known, target[:50]) < 0.05
    for place in range(2):
        less = [(kind, np.full(50, -1) if at == place else values) for at, (kind, values) in enumerate(some)]
        assert np.exp(expert.log_proba(less)).max() < 0.75
    unimportant = [*some[:2], ("categorical", np.full(50, -1))]
    np.testing.assert_allclose(np.exp(expert.log_proba(unimportant)), np.exp(known), atol=0.15)


def test_labels_and_numbers_stand_for_unknown_cells_as_often_as_they_occur() -> None:
    codes = np.repeat([0, 1, 2], [200, 100, 100])
    rows = learnt([("categorical", codes), ("numeric", np.arange(400.0))], codes % 2)
    inputs, units = plan_inputs(rows, [3, 0], ["label", "number"])
    np.testing.assert_allclose(inputs.fills[:, :3].sum(axis=0), [4, 2, 2])
    assert abs(inputs.fills[:, 3].mean()) < 1e-12
    assert len(units) == inputs.fills.shape[1] == 4


def test_inputs_come_in_the_order_of_their_names() -> None:
    columns = [("numeric", np.random.default_rng(place).normal(size=60)) for place in range(3)]
    inputs, _ = plan_inputs(learnt(columns, np.arange(60) // 30), [0, 0, 0], list("bca"))
    assert inputs.columns == (2, 0, 1)


def test_very_many_columns_are_not_learnt() -> None:
    """Some would have to be chosen, and those that seem to tell most tell the rows by which they were chosen."""
    numbers, target = np.random.default_rng(0).normal(size=(513, 60)), np.arange(60) % 2
    numbers[0] += 5 * target
    assert fit(learnt([("numeric", values) for values in numbers], target)) is None
    assert fit(learnt([("numeric", values) for values in numbers[:5]], target)) is not None


def test_identifiers_are_not_learnt_by_heart() -> None:
    columns, target = circle(0, 200)
    identifiers = [("categorical", np.arange(200)), ("categorical", np.arange(200) // 4)]
    inputs, _ = plan_inputs(learnt([*identifiers, *columns], target), [200, 50, 0, 0], list("abcd"))
    assert inputs.columns == (2, 3)


def test_of_many_rows_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, target = circle(5, 1200)
    whole = fit(learnt(columns, target))
    monkeypatch.setattr(networks, "ROWS_OF_A_LOOK", 300)
    part = fit(learnt(columns, target))
    assert abs(loss(whole.left_out, target) - loss(part.left_out, target)) < 0.03


def test_a_row_counts_by_its_weight() -> None:
    """Weights of 0 take rows away."""
    columns, target = circle(3, 600)
    some = np.arange(600) < 400
    turned = np.where(some, target, 1 - target)
    expert, left_out, _ = fit(learnt(columns, turned, weights=some.astype(float)))
    assert loss(left_out[some], target[some]) < 0.25
    assert loss(expert.log_proba(columns)[~some], target[~some]) < 0.25


@pytest.mark.parametrize("n_rows", [1, 30])
def test_without_rows_or_columns_that_vary_there_are_none(n_rows: int) -> None:
    columns, target = circle(0, n_rows)
    assert fit(learnt(columns, target)) is None
    constant = [("numeric", np.ones(100)), ("categorical", np.zeros(100, dtype=int))]
    assert fit(learnt(constant, np.arange(100) % 2), [0, 1]) is None


def test_a_monotone_column_is_not_read() -> None:
    columns, target = circle(0)
    rows = learnt(columns, target)
    rows.additive.monotone = {0: 1}
    inputs, _ = plan_inputs(rows, [0, 0], ["a", "b"])
    assert inputs.columns == (1,)


def test_models_say_what_networks_say_and_keep_them_in_files(tmp_path) -> None:
    columns, target = balance(0)
    X = {f"c{place}": values for place, (_, values) in enumerate(columns)}
    model = NaiveBayes("strong").fit(X, target)
    said = model.evidence(X)[:, list(model.evidence_names_).index("expert: networks")]
    assert np.abs(said).mean() > 0.5
    model.save(tmp_path / "model.json", rows=False)
    np.testing.assert_allclose(load(tmp_path / "model.json").predict_proba(X), model.predict_proba(X), atol=1e-12)
