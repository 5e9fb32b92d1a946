"""Trees: the walk, missing cells, the fold forest and the boosted trees."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

from naively._kernels import frozen, tree_reference
from naively._kernels import trees as compiled
from naively._kernels.tree_reference import MOST_LEAVES, TOGETHER
from naively._weighing.boosted import fit_boosted_expert, fit_partitions
from naively._weighing.coded_trees import coded_trees
from naively._weighing.forest import fit_forest, floored_log
from naively._weighing.kept import dealt_folds
from naively._weighing.trees import Features, Trees, TreeTable, joined_trees, plan_features, side_by_side

pytestmark = pytest.mark.every_tree


def grown(seed: int, n_rows: int = 300, n_trees: int = 7) -> tuple[np.ndarray, Trees, list]:
    random = np.random.default_rng(seed)
    table = random.normal(size=(n_rows, 4)).astype(np.float32)
    target = (table[:, 0] * table[:, 1] > 0).astype(int) + (table[:, 2] > 1)
    trees = [ExtraTreeClassifier(random_state=k).fit(table, target).tree_ for k in range(n_trees)]
    return table, joined_trees([(tree, tree.value[:, 0, :]) for tree in trees]), trees


def total(how, trees: Trees, table: np.ndarray) -> np.ndarray:
    result = np.zeros((len(table), trees.values.shape[1]))
    how.total(frozen(table.astype(np.float64)), *trees.for_walk, result)
    return result


@pytest.mark.parametrize("how", [tree_reference, compiled])
def test_rows_go_where_scikit_learn_sends_them(how) -> None:
    table, trees, originals = grown(0)
    cuts = np.concatenate([tree.threshold[tree.children_left >= 0] for tree in originals]).astype(np.float32)
    at_cuts = np.repeat(np.resize(cuts, (200, 1)), 4, axis=1)  # where rounding a cut the wrong way would show
    for rows in (table, at_cuts):
        expected = sum(tree.value[tree.apply(rows), 0, :] for tree in originals)
        np.testing.assert_allclose(total(how, trees, rows), expected, rtol=1e-5)


def test_the_kernel_equals_numpy_with_missing_cells() -> None:
    table, trees, _ = grown(1)
    table[np.random.default_rng(0).random(table.shape) < 0.4] = np.nan
    table[:2] = np.nan
    np.testing.assert_allclose(total(compiled, trees, table), total(tree_reference, trees, table), rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=25)
def test_kernels_send_many_rows_at_once_where_each_goes_alone(seed: int, n_classes: int, n_trees: int) -> None:
    """Small trees and large ones; as many rows as make no whole block; cells at cuts, and beyond all."""
    random = np.random.default_rng(seed)
    n_rows = int(random.integers(100, 3 * TOGETHER))
    table = random.integers(0, 30, (n_rows, 3)).astype(np.float32)
    most_leaves = int(random.choice([2, 5, MOST_LEAVES, 100]))
    grown = [
        ExtraTreeRegressor(max_leaf_nodes=most_leaves, random_state=number).fit(table, random.normal(size=n_rows)).tree_
        for number in range(n_trees)
    ]
    trees = joined_trees([(tree, random.normal(size=(tree.node_count, n_classes))) for tree in grown])
    asked = np.concatenate([table, np.resize(trees.cut, (TOGETHER, 3)), [[np.inf, -np.inf, 0.0]]]).astype(np.float64)
    rows = random.permutation(len(asked))[: int(random.integers(1, len(asked)))]
    coded = coded_trees(trees)
    assert (coded.small is None) == (most_leaves > MOST_LEAVES)
    np.testing.assert_array_equal(coded.total(asked, rows), total(compiled, trees, asked[rows]))
    with_missing = np.where(random.random(asked.shape) < 0.1, np.nan, asked)
    np.testing.assert_allclose(trees.total(with_missing), total(tree_reference, trees, with_missing), rtol=1e-12)


def test_what_kernels_read_is_not_part_of_a_pickle() -> None:
    table, trees, _ = grown(5)
    before = pickle.dumps(trees)
    assert trees.for_walk is not None
    assert trees.coded is not None
    assert pickle.dumps(trees) == before
    again = pickle.loads(before)
    np.testing.assert_array_equal(total(compiled, again, table), total(compiled, trees, table))


def test_trees_that_are_not_small_or_in_no_order_are_walked() -> None:
    _, trees, originals = grown(3)
    assert coded_trees(trees).small is None
    few = joined_trees([(tree, tree.value[:, 0, :]) for tree in originals[:1]])
    stump = few.pruned(np.arange(len(few.feature)) == 0)
    assert coded_trees(stump) is None  # it asks nothing
    crossed = Trees(
        np.array([0]),
        np.array([0, 0, -1, 0, -1, -1, -1], dtype=np.int32),
        np.zeros(7),
        np.array([4, 3, 0, 5, 0, 0, 0], dtype=np.int32),  # the second and the fourth node share what follows
        np.full(7, 0.5, dtype=np.float32),
        np.zeros((7, 2), dtype=np.float32),
    )
    assert coded_trees(crossed).small is None


def test_a_missing_cell_is_averaged_out() -> None:
    """A row without known cells gets the mean of the rows that grew the tree, however the tree cuts them."""
    table, _, originals = grown(2)
    values = np.random.default_rng(3).normal(size=1000)
    for tree in originals:
        node_values = values[: tree.node_count, None]
        weights = tree.weighted_n_node_samples
        for node in range(tree.node_count - 1, -1, -1):
            left, right = tree.children_left[node], tree.children_right[node]
            if left >= 0:
                node_values[node] = (weights[left] * node_values[left] + weights[right] * node_values[right]) / weights[
                    node
                ]
        mean = node_values[tree.apply(table)].mean()
        found = total(tree_reference, joined_trees([(tree, node_values)]), np.full((1, 4), np.nan, np.float32))
        assert found[0, 0] == pytest.approx(mean, abs=1e-5)


def test_features_are_indicators_and_ranks_and_know_what_is_missing_or_unseen() -> None:
    numbers = ("numeric", np.array([1e9 + 1, np.nan, 1e9, 1e9 + 2]))
    labels = ("categorical", np.array([0, 2, -1, 1]))
    features = plan_features([numbers, labels], [0, 3], np.ones(2), ["a", "b"])
    nan = np.nan
    np.testing.assert_array_equal(
        features.ranks([numbers, labels]), [[1, 1, 0, 0], [nan, 0, 0, 1], [0, nan, nan, nan], [2, 0, 1, 0]]
    )
    np.testing.assert_array_equal(
        features.ranks([("numeric", np.array([-1e300, 1e9 + 0.5])), ("categorical", np.array([3, 99]))])[:, :2],
        [[0, nan], [0.5, nan]],
    )
    np.testing.assert_array_equal(
        features([("numeric", np.array([-1e300, nan])), ("categorical", np.array([3, 0]))]),
        [[-1e300, nan, nan, nan], [nan, 1, 0, 0]],
    )


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=12, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5),
    st.integers(0, 99),
)
def test_a_row_goes_the_same_way_by_numbers_as_by_ranks(kept: list[float], others: list[float], seed: int) -> None:
    """Whatever the numbers: neighbours without a number between them, huge gaps, subnormal ones."""
    column = ("numeric", np.array(kept))
    features = plan_features([column], [0], np.ones(1), "a")
    target = np.random.default_rng(seed).integers(0, 2, len(kept))
    tree = (
        ExtraTreeRegressor(random_state=seed).fit(features.ranks([column]), np.arange(len(kept)) * 1.0 + target).tree_
    )
    by_ranks = joined_trees([(tree, tree.value[:, 0, :])])
    by_numbers = features.cut_numbers(by_ranks)
    found = total(tree_reference, by_numbers, features([column]))
    np.testing.assert_array_equal(found, total(tree_reference, by_ranks, features.ranks([column])))
    beyond = [("numeric", np.array([*others, -np.finfo(float).max, np.finfo(float).max]))]
    assert np.isin(total(tree_reference, by_numbers, features(beyond)), by_numbers.values).all()


def test_pruned_trees_end_where_nodes_were_kept_and_trees_can_stand_side_by_side() -> None:
    table, trees, originals = grown(4)
    starts = np.cumsum([0, *(tree.node_count for tree in originals[:-1])])
    parents = np.concatenate([parents_of(tree) + start for tree, start in zip(originals, starts, strict=True)])
    weights = np.concatenate([tree.weighted_n_node_samples for tree in originals])
    kept = (weights[parents] > 20) | (parents == np.arange(len(parents)))
    ends = np.arange(len(parents))
    for node in range(len(parents)):  # a parent comes before its children
        ends[node] = node if kept[node] else ends[parents[node]]
    leaves = [ends[start + tree.apply(table)] for tree, start in zip(originals, starts, strict=True)]
    expected = np.sum([trees.values[each].astype(float) for each in leaves], axis=0)
    pruned = trees.pruned(kept)
    assert len(pruned.feature) == kept.sum() < len(kept)
    np.testing.assert_allclose(total(compiled, pruned, table), expected)
    np.testing.assert_allclose(
        total(compiled, side_by_side([pruned, trees]), table), expected + total(compiled, trees, table)
    )


def parents_of(tree) -> np.ndarray:
    parents = np.arange(tree.node_count)
    for children in (tree.children_left, tree.children_right):
        asks = children >= 0
        parents[children[asks]] = np.flatnonzero(asks)
    return parents


def test_constant_columns_and_prose_have_no_features(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [("numeric", np.full(5, 2.0)), ("text", np.full(5, "a")), ("categorical", np.zeros(5, int))]
    assert plan_features(columns, [0, 0, 1], np.ones(3), "abc").count == 0
    monkeypatch.setattr("naively._weighing.trees.MOST_FEATURE_CELLS", 5)
    wide = [("numeric", np.arange(5.0)) for _ in range(3)]
    assert plan_features(wide, [0] * 3, np.array([0.1, 0.2, 0.3]), "abc").columns == (2,)


def parity(n_rows: int, seed: int = 0) -> tuple[Features, TreeTable, np.ndarray]:
    random = np.random.default_rng(seed)
    columns = [("categorical", random.integers(0, 2, n_rows)) for _ in range(4)]
    features = plan_features(columns, [2] * 4, np.ones(4), "abcd")
    return features, features.table(columns), columns[0][1] ^ columns[1][1]


def noise(n_rows: int, seed: int = 0) -> tuple[Features, TreeTable, np.ndarray]:
    features, table, _ = parity(n_rows, seed)
    return features, table, np.random.default_rng(seed + 100).integers(0, 2, n_rows)


def loss(log_proba: np.ndarray, target: np.ndarray) -> float:
    return -float(log_proba[np.arange(len(target)), target].mean())


def forest(features, table, target, **changed):
    weights = changed.get("weights", np.ones(len(target)))
    half = np.array([0.5, 0.5])
    folds, n_threads = dealt_folds(target, 4), changed.get("threads", 1)
    asked = np.ones(len(target), dtype=bool)
    return fit_forest(features, table, target, weights, folds, asked, half, 1e-3, n_threads)


def test_the_forest_sees_an_interaction_and_its_left_out_answers_are_honest() -> None:
    expert, left_out, _ = forest(*parity(400))
    _, table, target = parity(400, seed=1)
    columns = [("categorical", table.codes[:, column].astype(int)) for column in range(4)]
    assert loss(left_out, parity(400)[2]) < 0.1
    assert loss(expert.log_proba(columns), target) < 0.1
    noisy = forest(*noise(400)).left_out
    assert loss(noisy, noise(400)[2]) > np.log(2) - 0.02


def root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt((values**2).mean()))


def test_the_noise_of_the_forest_is_as_large_as_what_the_mean_of_its_groups_does_away_with() -> None:
    features, table, target, _ = numbers_of_two_classes(400)
    expert, _, found = forest(features, table, target)
    fresh = features(numbers_of_two_classes(400, seed=1)[3])
    of_groups = [replace(expert.trees, roots=roots).total(fresh) for roots in np.split(expert.trees.roots, 4)]
    answers = np.stack([floored_log(one, expert.prior, expert.floor) for one in of_groups])
    assert found.shape == (400, 2)
    assert 0.8 < root_mean_square(found) / root_mean_square(answers - answers.mean(axis=0)) < 1.25


def test_the_noise_of_boosted_trees_is_as_large_as_what_the_mean_of_their_groups_does_away_with() -> None:
    features, table, target, _ = numbers_of_two_classes(400)
    given = features, table, target, np.ones(400), dealt_folds(target, 4)
    trees, _, found = fit_partitions(*given, np.zeros((400, 2)))
    fresh = features(numbers_of_two_classes(400, seed=1)[3])
    scores = 4 * np.stack([replace(trees, roots=roots).total(fresh) for roots in np.split(trees.roots, 4)])
    assert found.shape == (400, 2)
    assert 0.8 < root_mean_square(found) / root_mean_square(scores - scores.mean(axis=0)) < 1.25
    two = features, table, target, np.ones(400), dealt_folds(target, 2)
    assert fit_partitions(*two, np.zeros((400, 2)))[2] is None


def numbers_of_two_classes(n_rows: int, seed: int = 0) -> tuple[Features, TreeTable, np.ndarray, list]:
    """Six numbers, of which two tell the class, now and then."""
    random = np.random.default_rng(seed)
    numbers, target = random.normal(size=(6, n_rows)), random.integers(0, 2, n_rows)
    columns = [("numeric", one) for one in numbers + np.outer([1, 1, 0, 0, 0, 0], target)]
    features = plan_features(columns, [0] * 6, np.ones(6), "abcdef")
    return features, features.table(columns), target, columns


def test_the_forest_is_the_same_on_any_number_of_threads() -> None:
    np.testing.assert_array_equal(forest(*parity(100), threads=1)[1], forest(*parity(100), threads=3)[1])


def test_a_class_that_a_fold_does_not_have_costs_a_bounded_loss() -> None:
    features, table, target = parity(60)
    target = target.copy()
    target[5] = 2
    prior = np.array([0.49, 0.49, 0.02])
    folds = dealt_folds(target, 4)
    asked = np.ones(60, dtype=bool)
    left_out = fit_forest(features, table, target, np.ones(60), folds, asked, prior, 0.01, 1).left_out
    assert np.isfinite(left_out).all()
    np.testing.assert_allclose(np.exp(left_out).sum(axis=1), 1.0)


def boosted(make, seed: int) -> tuple[float, float]:
    """The left-out loss, and the loss of fresh rows, from scores of 0."""
    features, table, target = make(400, seed)
    start, ones = np.zeros((400, 2)), np.ones(400)
    trees, corrected, _ = fit_partitions(features, table, target, ones, dealt_folds(target, 4), start)
    _, fresh, truth = make(400, seed + 1000)
    scores = start if trees is None else trees.total(fresh.ranks.astype(np.float64))
    return loss(log_softmax(corrected, axis=1), target), loss(log_softmax(scores, axis=1), truth)


def test_partitions_correct_what_is_wrong() -> None:
    assert max(boosted(parity, 0)) < 0.1


def test_partitions_leave_noise_nearly_as_it_is() -> None:
    left_out, fresh = np.mean([boosted(noise, seed) for seed in range(20)], axis=0)
    assert np.log(2) - 0.005 < left_out
    assert fresh < np.log(2) + 0.005


def test_the_boosted_expert_sees_an_interaction_and_says_nothing_of_noise() -> None:
    features, table, target = parity(400)
    folds, ones, half = dealt_folds(target, 4), np.ones(400), np.log([0.5, 0.5])
    expert, left_out, _ = fit_boosted_expert(features, table, target, ones, folds, half)
    _, fresh, truth = parity(400, seed=1)
    columns = [("categorical", fresh.codes[:, column].astype(int)) for column in range(4)]
    assert max(loss(left_out, target), loss(expert.log_proba(columns), truth)) < 0.1
    noisy = [noise(400, seed) for seed in range(10)]
    fitted = [fit_boosted_expert(*one, ones, dealt_folds(one[2], 4), half) for one in noisy]
    losses = [
        np.log(2) if one is None else loss(one.left_out, each[2]) for one, each in zip(fitted, noisy, strict=True)
    ]
    assert np.mean(losses) > np.log(2) - 0.005


def test_boosted_trees_are_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naively._weighing.boosted.CELLS_FOR_THREADS", 0)
    features, table, target = parity(100)
    given = (features, table, target, np.ones(100), dealt_folds(target, 4), np.zeros((100, 2)))
    np.testing.assert_array_equal(fit_partitions(*given)[1], fit_partitions(*given, n_threads=3)[1])


def mixed(n_rows: int, n_classes: int) -> tuple[Features, TreeTable, list, np.ndarray]:
    """Numbers, labels and missing cells that tell of classes."""
    random = np.random.default_rng(n_classes)
    target = random.integers(0, n_classes, n_rows)
    labels = np.where(random.random(n_rows) < 0.5, target % 5, random.integers(-1, 5, n_rows))
    numbers = np.where(random.random(n_rows) < 0.1, np.nan, target + random.normal(size=n_rows))
    columns = [("numeric", numbers), ("categorical", labels), ("categorical", random.integers(0, 2, n_rows))]
    features = plan_features(columns, [0, 5, 2], np.ones(3), "abc")
    return features, features.table(columns), columns, target


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_boosted_trees_send_new_rows_where_the_learnt_ones_went(n_classes: int, monkeypatch) -> None:
    """With one group and no missing cell, the scores of the learnt rows are those of the trees that are kept."""
    monkeypatch.setattr("naively._weighing.boosted.ROUNDS", 10)
    features, table, columns, target = mixed(600, n_classes)
    whole = ~np.isnan(table.ranks).any(axis=1)
    folds = np.where(np.arange(600) % 2 == 0, 0, 1)
    start = np.zeros((600, n_classes))
    trees, corrected, _ = fit_partitions(features, table, target, np.ones(600), folds, start)
    asked = features(columns)
    halves = [replace(trees, roots=roots) for roots in np.split(trees.roots, 2)]
    for fold, half in enumerate(halves):  # rows of a fold are answered by the group that did not see it
        of_fold = whole & (folds == fold)
        np.testing.assert_allclose(2 * half.total(asked[of_fold]), corrected[of_fold], rtol=1e-4, atol=1e-6)
