"""Checks for people who write their own statistics: the laws on which learning, forgetting and merging rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations, permutations

import numpy as np

from naively.errors import ForgetError, ParameterError
from naively.statistics.base import Statistic, Summary
from naively.statistics.statistics import added, same, subtracted
from naively.typing import FloatArray

# -- statistics -----------------------------------------------------------------------------------------------------


def check_statistic(
    statistic: type[Statistic], summary: Summary, examples: Sequence[tuple[Statistic, FloatArray]]
) -> None:
    """Check that a kind of statistics keeps the laws of `naively.statistics.base.Statistic`.

    `empty` is the identity of ``+``, which is associative and commutative; `less` undoes ``+`` and refuses what was
    never added; scaling distributes over ``+``; classes and columns can be renumbered, taken apart and put together;
    `from_dict` is the inverse of `to_dict`, by way of JSON; `check` accepts what rows have left; and `compare` finds no
    change between equals, and the same change in both directions.

    Parameters
    ----------
    statistic : subclass of Statistic
    summary : Summary
        What the examples were counted for.
    examples : sequence of (Statistic, ndarray of shape (n_classes,))
        At least three statistics, each of some rows, and the weight of the rows of each class. All are of the same
        classes; their columns may differ. Equality is to the last bit, so take values whose sums are exact, such as
        small whole numbers, and few enough of them that nothing is coarsened or pruned.

    Raises
    ------
    AssertionError
        If a law is broken; the message says which.
    ParameterError
        If there are fewer than three examples.

    Examples
    --------
    >>> from naively.statistics.moments import Moments
    >>> from naively.statistics.sums import Sum
    >>> def moments(x_of_a, x_of_b):
    ...     total, weight = [[sum(x_of_a)], [sum(x_of_b)]], [[len(x_of_a)], [len(x_of_b)]]
    ...     return Moments(("x",), Sum.of(total), Sum.of(weight)), np.array(weight, float)[:, 0]
    >>> examples = [moments([1, 2], [3]), moments([5], []), moments([2, 2, 7], [1, 1])]
    >>> check_statistic(Moments, Summary("moments"), examples)

    A statistic that breaks a law is caught:

    >>> class Forgetful(Moments):
    ...     def __add__(self, other):
    ...         return self
    >>> check_statistic(Forgetful, Summary("moments"), [(Forgetful(*vars(one).values()), w) for one, w in examples])
    Traceback (most recent call last):
        ...
    AssertionError: Forgetful: empty + S is not S
    """
    if len(examples) < 3:
        raise ParameterError(f"check_statistic needs at least 3 examples, got {len(examples)}.")
    weighed = [(one, np.asarray(weight, dtype=np.float64)) for one, weight in examples]

    def require(holds: bool, law: str) -> None:
        if not holds:
            raise AssertionError(f"{statistic.__name__}: {law}")

    for one, weight in weighed:
        require(isinstance(one, statistic), f"an example is a {type(one).__name__}")
        _check_identity(one, summary, weight, require)
        _check_classes(one, len(weight), require)
        _check_columns(one, summary, len(weight), require)
        _check_file(one, summary, len(weight), require)
        _check_accepted(one, summary, weight, require)
    for a, b, c in combinations([one for one, _ in weighed], 3):
        require(same(added(added(a, b), c), added(a, added(b, c))), "(S + T) + U is not S + (T + U)")
    for first, second in permutations(weighed, 2):
        _check_merging(first, second, require)
        _check_comparison(first, second, summary, require)


Require = Callable[[bool, str], None]


def _check_identity(one: Statistic, summary: Summary, weight: FloatArray, require: Require) -> None:
    for columns in (one.columns, ()):
        empty = type(one).empty(summary, columns, len(weight))
        require(same(added(empty, one), one), "empty + S is not S")
        require(same(added(one, empty), one), "S + empty is not S")
    empty = type(one).empty(summary, one.columns, len(weight))
    if not same(one, empty):
        require(_refuses(lambda: subtracted(empty, one, weight)), "less forgets what was never added")
    require(same(one.scaled(1.0), one), "S.scaled(1) is not S")
    require(same(one.scaled(2.0), added(one, one)), "S.scaled(2) is not S + S")
    require(same(one.tidy(), one), "S.tidy() is not S, though all of S was counted")


def _refuses(forget: Callable[[], object]) -> bool:
    try:
        forget()
    except ForgetError:
        return True
    return False


def _check_classes(one: Statistic, n_classes: int, require: Require) -> None:
    codes = np.arange(n_classes)
    twice = one.for_classes(codes[::-1], n_classes).for_classes(codes[::-1], n_classes)
    require(same(twice, one), "for_classes: reversing the classes twice changes S")
    wider = one.for_classes(codes + 1, n_classes + 1)
    require(same(wider.for_classes(np.arange(-1, n_classes), n_classes), one), "for_classes: an empty class changes S")
    each = [one.for_classes(np.where(codes == code, code, -1), n_classes) for code in codes.tolist()]
    require(same(reduce(added, each), one), "for_classes: the sum of S for each class alone is not S")


def _check_columns(one: Statistic, summary: Summary, n_classes: int, require: Require) -> None:
    columns, new = one.columns, "".join(one.columns) + "_new"
    turned = one.for_columns(columns[::-1])
    require(same(turned.for_columns(columns), one), "for_columns: reversing the columns twice changes S")
    if summary.members:  # what several columns do together stays whole
        return
    require(turned.columns == columns[::-1], "for_columns: the columns are not in the order asked for")
    each = [one.for_columns([name]) for name in columns]
    require(same(reduce(added, each), one), "for_columns: the sum of S for each column alone is not S")
    absent = one.for_columns([*columns, new]).for_columns([new])
    empty = type(one).empty(summary, (new,), n_classes)
    require(same(absent, empty), "for_columns: a column S does not have is not empty")


def _check_file(one: Statistic, summary: Summary, n_classes: int, require: Require) -> None:
    entry = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    read = type(one).from_dict(entry, summary, one.columns, n_classes)
    require(same(read, one), "from_dict(to_dict()) is not S")


def _check_accepted(one: Statistic, summary: Summary, weight: FloatArray, require: Require) -> None:
    require(not _refuses(lambda: one.check(summary, weight, weight)), "check refuses what rows have left")
    one.refuse_overflow()


def _check_merging(first: tuple[Statistic, FloatArray], second: tuple[Statistic, FloatArray], require: Require) -> None:
    (one, weight), (other, other_weight) = first, second
    both, n_classes = added(one, other), len(weight)
    require(same(both, added(other, one)), "S + T is not T + S")
    left = subtracted(both, other, weight + other_weight)
    require(same(left.for_columns(one.columns), one), "(S + T) less T is not S")
    scaled = added(one.scaled(0.5), other.scaled(0.5))
    require(same(both.scaled(0.5), scaled), "(S + T).scaled(f) is not S.scaled(f) + T.scaled(f)")
    positions = np.arange(n_classes)[::-1]
    renumbered = added(one.for_classes(positions, n_classes), other.for_classes(positions, n_classes))
    require(same(both.for_classes(positions, n_classes), renumbered), "for_classes does not distribute over S + T")


def _check_comparison(
    first: tuple[Statistic, FloatArray], second: tuple[Statistic, FloatArray], summary: Summary, require: Require
) -> None:
    """Compare with itself and with another; a statistic that several columns share by its margins, if it has any."""
    margins = [one.margins() or {summary: one} for one, _ in (first, second)]
    for key in margins[0].keys() & margins[1].keys():
        one, other = margins[0][key].aligned_with(margins[1][key])
        if type(one).compare is Statistic.compare:  # not defined, which is allowed
            continue
        own, change, back = (
            left.compare(right, key, np.stack(rows))[0]
            for left, right, rows in (
                (one, one, (first[1], first[1])),
                (one, other, (first[1], second[1])),
                (other, one, (second[1], first[1])),
            )
        )
        require(bool((own.bits < 1e-9).all() and (own.p_value > 0.999).all()), "compare finds S different from S")
        alike = np.allclose(change.bits, back.bits) and np.allclose(change.p_value, back.p_value)
        require(alike, "compare finds another change from S to T than from T to S")
