"""One record at a time: records to learn wait until something is asked, and answers come from the additive form.

A record that waits has been checked to be one that the model will take, so that learning it later cannot fail: any
other is learnt at once, which raises whatever is wrong with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from naively._export.additive import additive
from naively._export.python import compiled
from naively._schema import Schema
from naively._state import State, learning_lock
from naively._table.read import named
from naively.errors import GapError, InputTypeError, brief
from naively.statistics._statistics import Statistics
from naively.typing import Label

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes

MOST_WAITING = 4096
LARGEST_NUMBER = 1e150
PLAIN = {"number": (float, int), "truth": (bool,), "label": (str,)}
ANY_NUMBER = ("gaussian", "stacked", "studentt", "kernel")
"""Families that take all numbers: those of other columns of numbers are not left waiting."""


Shape = tuple[tuple[str, ...], tuple[type, ...]]
"""The keys of a record, and the types of its cells."""


class Known(NamedTuple):
    """What is known of records that a state of a model is sure to take. A thread uses one, whatever others find.

    Parameters
    ----------
    schema : Schema
    statistics : Statistics
    classes : frozenset
        The classes of the statistics.
    shapes : dict
        The places of the numbers in records of a shape; None where such records are not sure to be taken.
    """

    schema: Schema
    statistics: Statistics
    classes: frozenset[Any]
    shapes: dict[Shape, list[int] | None]


class Waiting:
    """Records that have been taken and not been counted yet.

    Attributes
    ----------
    rows : deque of (keys, cells, label)
        Appending to it is atomic, and it is never replaced, so that no thread's record is lost.
    settling : bool
        Whether some thread is counting records that are no longer among the rows.
    known : Known, optional
        Of the state that was last asked about.
    """

    def __init__(self) -> None:
        self.rows: deque[tuple[tuple[str, ...], tuple[Any, ...], Label]] = deque()
        self.settling = False
        self.known: Known | None = None

    def learn(self, model: NaiveBayes, record: Mapping[str, Any], label: Label) -> None:
        """Learn one record: at once where it tells of new columns or classes, else before the next answer."""
        if type(record) is dict:
            keys, cells = tuple(record), tuple(record.values())
            if _is_plain(model, self, keys, cells, label):
                self.rows.append((keys, cells, label))
                if len(self.rows) >= MOST_WAITING:
                    settle(model, self)
                return
        model.partial_fit(_columns(model, [_checked(record)]), [label])


def waiting_of(model: NaiveBayes) -> Waiting:
    """The records of a model that wait; the same for all threads."""
    with learning_lock(model):
        waiting: Waiting = model.__dict__.setdefault("_records", Waiting())
    return waiting


def _checked(record: Any) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise InputTypeError(f"A record must be a dict of cells by column name, got {brief(record)}.")
    return record


def _is_plain(model: NaiveBayes, waiting: Waiting, keys: tuple[str, ...], cells: tuple[Any, ...], label: Any) -> bool:
    """Whether a record holds nothing but what the model is sure to take."""
    state = model.__dict__.get("_state")
    if state is None:
        return False
    known = waiting.known
    if known is None or known.schema is not state.schema or known.statistics is not state.statistics:
        known = waiting.known = _known_of(state, known)
    shape = (keys, tuple(map(type, cells)))
    if shape not in known.shapes:
        known.shapes[shape] = _number_places(model, state, shape)
    places = known.shapes[shape]
    if places is None or label not in known.classes:
        return False
    numbers = cells if len(places) == len(cells) else [cells[place] for place in places]
    return bool(sum(map(abs, numbers)) < LARGEST_NUMBER)  # which is not so if one of them is not a number


def _known_of(state: State, before: Known | None) -> Known:
    shapes = {} if before is None or before.schema is not state.schema else before.shapes
    return Known(state.schema, state.statistics, frozenset(state.statistics.classes.tolist()), shapes)


def _number_places(model: NaiveBayes, state: Any, shape: Shape) -> list[int] | None:
    """The places of the numbers in records of a shape that is sure to be taken; None if it is not."""
    if state.frozen or not state.schema.named:
        return None
    families = model.families_
    kinds = dict(zip(state.schema.names, state.schema.kinds, strict=True))
    places = []
    for place, (name, kind) in enumerate(zip(*shape, strict=True)):
        if kind not in PLAIN.get(kinds.get(name, ""), ()):
            return None
        if kinds[name] == "number":
            family = families[name]
            if family is None or family.name() not in ANY_NUMBER:
                return None
            places.append(place)
    return places


def settle(model: NaiveBayes, waiting: Waiting) -> None:
    """Learn the records that wait. Whoever comes meanwhile waits until they are learnt."""
    with learning_lock(model):
        rows = []
        waiting.settling = True
        try:
            while waiting.rows:
                rows.append(waiting.rows.popleft())
            if rows:
                model.partial_fit(_waiting_columns(model, rows), [label for *_, label in rows])
        finally:
            waiting.settling = False


def _waiting_columns(model: NaiveBayes, rows: Sequence[tuple[tuple[str, ...], tuple[Any, ...], Label]]) -> Any:
    """The records that waited as a table: of numbers that all have, as an array."""
    schema, keys = model.__dict__["_state"].schema, rows[0][0]
    alike = len(keys) == len(schema.names) > 1 and all(row[0] == keys for row in rows)
    if alike and len(rows) > 1 and set(schema.kinds) == {"number"}:
        return named(np.array([cells for _, cells, _ in rows], dtype=np.float64), keys)
    return _columns(model, [dict(zip(names, cells, strict=True)) for names, cells, _ in rows])


def _columns(model: NaiveBayes, records: Sequence[Mapping[str, Any]]) -> Any:
    """Records as a table that has all columns of the model: a key that a record lacks is a missing cell."""
    state = model.__dict__.get("_state")
    if state is None or not state.schema.named:
        return list(records)
    names = dict.fromkeys((*state.schema.names, *(name for record in records for name in record)))
    return {name: [record.get(name) for record in records] for name in names}


# -- answers ----------------------------------------------------------------------------------------------------------


def predict_proba_one(model: NaiveBayes, record: Mapping[str, Any]) -> dict[Label, float]:
    """The probability of each class; nothing before the first record was learnt."""
    program = _program(model)
    if program is None:
        return {}
    found: dict[Label, float] = program["predict_proba"](_checked(record))
    return found


def predict_one(model: NaiveBayes, record: Mapping[str, Any]) -> Label | None:
    """The most probable class; None before the first record was learnt."""
    program = _program(model)
    return None if program is None else program["predict"](_checked(record))


def _program(model: NaiveBayes) -> dict[str, Any] | None:
    """What answers for single records, made anew when something was learnt or a parameter has changed."""
    if not model._is_fitted():
        return None
    taken = model._taken()
    if not len(taken.classes_):
        return None
    scorer, logs = taken._estimated()
    known = model.__dict__.get("_program")
    if known is None or known[0] is not scorer or known[1] is not logs:
        try:
            program = compiled(additive(taken))
        except GapError:
            program = _by_table(taken)
        known = scorer, logs, program
        model.__dict__["_program"] = known
    answers: dict[str, Any] = known[2]
    return answers


def _by_table(model: NaiveBayes) -> dict[str, Any]:
    """The answers of a model that has no additive form: those to tables of one row."""
    classes = model.classes_.tolist()

    def predict_proba(record: Mapping[str, Any]) -> dict[Label, float]:
        return dict(zip(classes, model.predict_proba(_known_columns(model, record))[0].tolist(), strict=True))

    def predict(record: Mapping[str, Any]) -> Label:
        answer: Label = model.predict(_known_columns(model, record)).tolist()[0]
        return answer

    return {"predict_proba": predict_proba, "predict": predict}


def _known_columns(model: NaiveBayes, record: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {name: [record.get(name)] for name in model.schema_.names}
