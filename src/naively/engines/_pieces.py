"""What is made of a source, piece by piece: statistics that are merged by ``+``, or an answer for each piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Self, TypeVar

from naively._model.schema import Schema
from naively.engines.base import Piece, ReadAgainError
from naively.errors import InputError, NaivelyError, warn
from naively.statistics._statistics import Statistics

Pieces = Callable[[], Iterator[Piece]]
"""Gives the pieces of a source, from the first row on."""

Counter = Callable[[Piece, Schema | None], tuple[Schema, Statistics]]
"""Counts a piece by what is known of the columns so far."""

Result = TypeVar("Result")


class Addable(Protocol):
    """What has a sum."""

    def __add__(self, other: Self) -> Self: ...


Added = TypeVar("Added", bound=Addable)


def counted_pieces(pieces: Pieces, schema: Schema | None, count: Counter) -> tuple[Schema, Statistics]:
    """The schema and the statistics of all rows of a source.

    Parameters
    ----------
    pieces : callable
    schema : Schema or None
        What is known of the columns before the first piece.
    count : callable
    """

    def all_counted() -> tuple[Schema | None, Statistics]:
        known, total = schema, Statistics.empty()
        for piece in rows_of(pieces()):
            with naming(piece):
                known, counted = count(piece, known)
                total = total + counted if len(total.classes) else counted
        return known, total

    known, total = from_the_start(all_counted)
    if known is None or not total.class_weight.high.any():
        raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")
    return known, total


def of_pieces(pieces: Pieces, answer: Callable[[Piece], Result]) -> list[Result]:
    """An answer for each piece of a source, in the order of the rows."""

    def all_answers() -> list[Result]:
        answers = []
        for piece in rows_of(pieces()):
            with naming(piece):
                answers.append(answer(piece))
        return answers

    return from_the_start(all_answers)


def sum_of_pieces(pieces: Pieces, part: Callable[[Piece], Added]) -> Added:
    """What the pieces of a source give, added up by ``+``, so that no more than one of them is held beside the sum."""

    def whole() -> Added:
        total: Added | None = None
        for piece in rows_of(pieces()):
            with naming(piece):
                total = part(piece) if total is None else total + part(piece)
        assert total is not None  # rows_of refuses a source without rows
        return total

    return from_the_start(whole)


def annotated_pieces(model: Any, pieces: Iterable[Piece], evidence: bool) -> Iterator[Any]:
    """Data frames with the answers of a model beside their rows."""
    for piece in rows_of(pieces):
        with naming(piece):
            yield model.annotate(piece.X, evidence=evidence)


def from_the_start(work: Callable[[], Result]) -> Result:
    """Do work that reads a source, again from its first row whenever the source asks for that."""
    while True:
        try:
            return work()
        except ReadAgainError as again:
            if str(again):
                warn(str(again))


def rows_of(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces that have rows, of which there must be one."""
    found = False
    for piece in pieces:
        if _has_rows(piece.X):
            found = True
            yield piece
    if not found:
        raise InputError("X has no rows: the source ended before the first.")


def _has_rows(X: object) -> bool:
    n_rows = getattr(X, "num_rows", None)
    if n_rows is None and hasattr(X, "shape"):
        n_rows = X.shape[0]
    return bool(X) if n_rows is None else n_rows > 0


@contextmanager
def naming(piece: Piece) -> Iterator[None]:
    """Let errors about a piece begin with the place of its rows."""
    try:
        yield
    except NaivelyError as error:
        if piece.place and error.args and isinstance(error.args[0], str):
            error.args = (f"{piece.place}: {error.args[0]}", *error.args[1:])
        raise
