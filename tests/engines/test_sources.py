"""Rows that are no table in memory: what reads them, and that a model is all of them or as it was."""

from typing import Any, ClassVar

import numpy as np
import pytest

from naively import TAN, NaiveBayes
from naively._table.read import read_table
from naively._table.target import set_aside
from naively.engines import _registry
from naively.engines._registry import source_of
from naively.engines.base import Piece, ReadAgainError, Source, Target
from naively.errors import InputError, InputTypeError

ROWS = {"size": [1.0, 2.0, None, 6.0, 7.0, 8.0], "coat": ["a", "b", "a", "c", None, "c"], "kind": list("xxxyyy")}


def _some(start: int, stop: int) -> dict[str, list[Any]]:
    return {name: cells[start:stop] for name, cells in ROWS.items()}


@pytest.mark.parametrize("recipe", ["textbook", "auto", "fast"])
def test_an_iterator_of_tables_is_one_table(recipe: str) -> None:
    whole = NaiveBayes(recipe).fit(ROWS, "kind")
    pieces = NaiveBayes(recipe).fit(iter([_some(0, 1), _some(1, 4), _some(4, 6)]), "kind")
    assert pieces.statistics_ == whole.statistics_
    assert np.array_equal(pieces.predict_proba(ROWS), whole.predict_proba(ROWS))


def test_pairs_have_their_classes_with_them() -> None:
    pairs = ((np.full((2, 2), start), [start, start]) for start in range(3))
    assert NaiveBayes("textbook").fit(pairs).class_count_.tolist() == [2, 2, 2]
    triples = ((np.full((1, 2), start), [start], [start + 1.0]) for start in range(3))
    assert NaiveBayes("textbook").fit(triples).class_count_.tolist() == [1, 2, 3]
    with pytest.raises(InputTypeError, match="has its classes with it: give no y"):
        NaiveBayes().fit(iter([([[1.0]], ["a"])]), "kind")
    with pytest.raises(InputTypeError, match=r"must be a table, \(X, y\) or \(X, y, sample_weight\), got 4 elements"):
        NaiveBayes().fit(iter([(1, 2, 3, 4)]))
    with pytest.raises(InputTypeError, match="y must be the name of the column"):
        NaiveBayes().fit(iter([ROWS]), [1, 2])


def test_all_methods_take_an_iterator() -> None:
    model = NaiveBayes("textbook").fit(ROWS, "kind")
    halves = [_some(0, 3), _some(3, 6)]
    assert model.score(iter(halves), "kind") == model.score(ROWS, "kind")
    assert np.array_equal(model.loo(iter(halves), "kind"), model.loo(ROWS, "kind"))
    twice = NaiveBayes("textbook").partial_fit(iter(halves), "kind").partial_fit(iter(halves), "kind")
    assert twice.class_count_.tolist() == [6, 6]
    assert twice.forget(iter(halves), "kind").statistics_ == model.statistics_


def test_a_bad_piece_is_named_and_leaves_the_model_as_it_was() -> None:
    model = NaiveBayes("textbook").fit(ROWS, "kind")
    before = model.statistics_
    bad = {**_some(0, 2), "kind": ["x", None]}
    for learn in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(InputError, match=r"^Piece 1 of the iterator: Input y contains NaN or None: row 1"):
            learn(iter([_some(0, 3), bad]), "kind")
        assert model.statistics_ is before


def test_an_interrupt_leaves_the_model_as_it_was() -> None:
    def interrupted() -> Any:
        yield _some(0, 3)
        raise KeyboardInterrupt

    model = NaiveBayes("textbook").fit(ROWS, "kind")
    before = model.statistics_
    for learn in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(KeyboardInterrupt):
            learn(interrupted(), "kind")
        assert model.statistics_ is before


def test_a_source_without_rows_or_weight_is_refused() -> None:
    with pytest.raises(InputError, match="X has no rows: the source ended before the first"):
        NaiveBayes().fit(iter([]), "kind")
    nothing = {"size": [1.0], "n": [0], "kind": ["x"]}
    with pytest.raises(InputError, match="sample_weight must not be zero for every row"):
        NaiveBayes().fit(iter([nothing, nothing]), "kind", sample_weight="n")
    model = NaiveBayes("textbook").fit(iter([nothing, {**nothing, "n": [2]}]), "kind", sample_weight="n")
    assert model.class_count_.tolist() == [2]


class _Pushed(Source):
    """Counts by itself, where nothing but moments is asked for."""

    name: ClassVar[str] = "pushed"
    sources: ClassVar[str] = "dicts in a box"
    counts_there: ClassVar[frozenset[str]] = frozenset({"moments"})

    @classmethod
    def reads(cls, X: Any) -> bool:
        return isinstance(X, set)

    def pieces(self, y: Any, sample_weight: Any, columns: Any = None) -> Any:
        yield Piece(ROWS, y, sample_weight)

    def count(self, plan: Any) -> Any:
        table, _ = set_aside(read_table(ROWS), plan.y, "y")
        schema, positions = plan.schema_of(table)
        if not all(summary.kind in self.counts_there for summary in schema.by_summary):
            return None
        target = Target(np.array(["x", "y"]), np.repeat([0, 1], 3), None)
        engine = _registry.engine_of(table)
        return schema, engine.count(table, schema, positions, target, plan.n_threads, plan.kept_rows)


def test_a_source_counts_for_itself_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "SOURCES", [_Pushed, *_registry.SOURCES])
    assert source_of({1}).name == "pushed"
    whole = NaiveBayes("textbook").fit(ROWS, "kind")
    assert NaiveBayes("textbook").fit({1}, "kind").statistics_ == whole.statistics_
    monkeypatch.setattr(_Pushed, "pieces", None)
    numbers = {"size": ROWS["size"], "kind": ROWS["kind"]}
    monkeypatch.setitem(globals(), "ROWS", numbers)
    assert (
        NaiveBayes("textbook").fit({1}, "kind").statistics_ == NaiveBayes("textbook").fit(numbers, "kind").statistics_
    )


def test_a_source_may_be_read_again_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pieces(_: Any, y: Any, sample_weight: Any, *__: Any) -> Any:
        asked.append(1)
        yield Piece(_some(0, 3), y, sample_weight)
        if len(asked) == 1:
            raise ReadAgainError
        yield Piece(_some(3, 6), y, sample_weight)

    monkeypatch.setattr(_registry, "SOURCES", [_Pushed, *_registry.SOURCES])
    monkeypatch.setattr(_Pushed, "pieces", pieces)
    assert NaiveBayes("textbook").fit({1}, "kind").statistics_ == NaiveBayes("textbook").fit(ROWS, "kind").statistics_
    assert len(asked) == 2


def test_a_source_that_cannot_annotate_says_so() -> None:
    with pytest.raises(InputTypeError, match="annotate cannot write dicts in a box"):
        _Pushed({1}).annotate(None, None, False)


def test_a_tree_whose_bins_the_first_rows_would_choose_is_refused() -> None:
    parts, whole = [_some(0, 2), _some(2, 6)], ROWS
    with pytest.raises(InputError, match="cuts numbers into bins of equal weight"):
        TAN().fit(iter(parts), "kind")
    at_once = TAN().fit(whole, "kind")
    assert TAN().fit(iter([whole]), "kind").statistics_ == at_once.statistics_
    given = TAN(cuts=at_once.cuts_).fit(iter(parts), "kind")
    assert given.statistics_ == at_once.statistics_
