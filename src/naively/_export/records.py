"""Few rows at a time: records to learn or to forget, and small batches, wait until the model is asked for an answer.

A record that waits has been checked to be one that the model will take, so that learning it later cannot fail: any
other is learnt at once, which raises whatever is wrong with it. Single records are answered from sums that follow the
records that wait (`naively._export.running`) or, where a new record changes more than sums, from the additive form.
Of batches those of numbers wait, in columns that take any.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from naively._export.additive import additive
from naively._export.python import compiled
from naively._export.running import Running, running_of
from naively._model.schema import Schema
from naively._model.state import State, as_it_is, learning_lock, unchanged
from naively._table.labels import LARGEST_EXACT
from naively._table.read import named
from naively._table.table import ArrayTable
from naively._table.target import read_target
from naively.errors import GapError, InputTypeError, brief
from naively.statistics._statistics import Statistics, same_classes
from naively.typing import AnyArray, Label

if TYPE_CHECKING:
    from naively.classifier import Batch, NaiveBayes

MOST_WAITING = 4096
MOST_FOLLOWED = 128
"""More records than this are counted together in less time than one by one."""

MOST_WAITING_CELLS = 1 << 16
MOST_CELLS = 1 << 14
"""Larger batches are counted at once: that takes longer than the steps that are saved."""

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
    last : list
        The last shape and its places: one entry, replaced whole.
    """

    schema: Schema
    statistics: Statistics
    classes: frozenset[Any]
    shapes: dict[Shape, list[int] | None]
    last: list[tuple[Shape, list[int] | None]]


Row = tuple[tuple[str, ...], tuple[Any, ...], Label, bool]
"""A record that waits: its keys, its cells, its class, and whether it is to be forgotten and not learnt."""


class Waiting:
    """Records and batches that have been taken and not been counted yet.

    Attributes
    ----------
    rows : deque of Row
        Appending to it is atomic, and it is never replaced, so that no thread's record is lost.
    batches : list of Batch
        Arrays of numbers that are no-one else's. Only who holds the model's lock may touch them.
    n_cells : int
        How many numbers they have.
    settling : bool
        Whether some thread is counting records that are no longer among the rows.
    known : Known, optional
        Of the state that was last asked about.
    followed : tuple, optional
        A state, parameters, and what follows the records from there: None where that cannot be. Only who holds the
        model's lock may touch it.
    """

    def __init__(self) -> None:
        self.rows: deque[Row] = deque()
        self.batches: list[Batch] = []
        self.n_cells = 0
        self.settling = False
        self.known: Known | None = None
        self.followed: tuple[State, tuple[Any, ...], Running | None] | None = None

    def learn(self, model: NaiveBayes, record: Mapping[str, Any], label: Label) -> None:
        """Learn one record: at once where it tells of new columns or classes, else before the next answer."""
        if type(record) is dict:
            cells = tuple(record.values())
            keys = _plain_keys(model, self, tuple(record), cells, label)
            if keys is not None:
                self.rows.append((keys, cells, label, False))
                if len(self.rows) >= MOST_WAITING:
                    settle(model, self)
                return
        model._refuse_frozen("learn_one")
        model.partial_fit(_columns(model, [_checked(record)]), [label])

    def take(self, model: NaiveBayes, batch: Batch) -> bool:
        """Let a small batch wait that is sure to be taken by the model; whether it does."""
        table = batch.table
        if type(table) is not ArrayTable or table.values.size > MOST_CELLS or batch.weights is not None:
            return False
        numbers = np.array(table.values, dtype=np.float64, order="C")  # whoever gave them may change theirs
        if not np.fmax.reduce(np.abs(numbers), axis=None) < LARGEST_EXACT:  # not so if none is known
            return False
        with learning_lock(model):
            state = model.__dict__["_state"]
            if self.settling or not _is_known(state, table, batch.classes):
                return False
            own = ArrayTable(numbers, state.schema.names if table.named else None)
            self.batches.append(batch._replace(table=own))
            self.n_cells += numbers.size
            if self.n_cells >= MOST_WAITING_CELLS:
                settle(model, self)
        return True

    def forget(self, model: NaiveBayes, record: Mapping[str, Any], label: Label) -> None:
        """Forget one record: at once where it is not sure from the sums that it was learnt."""
        if type(record) is dict:
            cells = tuple(record.values())
            with learning_lock(model):
                keys = _plain_keys(model, self, tuple(record), cells, label)
                running = None if keys is None else following(model, self)
                if keys is not None and running is not None and running.forget(keys, cells, label):
                    self.rows.append((keys, cells, label, True))
                    return
        model._refuse_frozen("forget_one")
        model.forget({name: [_checked(record).get(name)] for name in model.schema_.names}, [label])


def waiting_of(model: NaiveBayes) -> Waiting:
    """The records of a model that wait; the same for all threads."""
    with learning_lock(model):
        waiting: Waiting = model.__dict__.setdefault("_records", Waiting())
    return waiting


def _checked(record: Any) -> Mapping[str, Any]:
    if not isinstance(record, Mapping):
        raise InputTypeError(f"A record must be a dict of cells by column name, got {brief(record)}.")
    return record


def _plain_keys(
    model: NaiveBayes, waiting: Waiting, keys: tuple[str, ...], cells: tuple[Any, ...], label: Any
) -> tuple[str, ...] | None:
    """The keys of a record that holds nothing but what the model is sure to take, one object for all that are alike."""
    state = model.__dict__.get("_state")
    if state is None:
        return None
    known = waiting.known
    if known is None or known.schema is not state.schema or known.statistics is not state.statistics:
        known = waiting.known = _known_of(state, known)
    shape = (keys, tuple(map(type, cells)))
    last, places = known.last[0]  # compared in less time than looked up, and mostly the same
    if shape != last:
        if shape not in known.shapes:
            known.shapes[shape] = _number_places(model, state, shape)
        last, places = known.last[0] = shape, known.shapes[shape]
    if places is None:
        return None
    numbers = cells if len(places) == len(cells) else [cells[place] for place in places]
    try:
        usual = label in known.classes and hypot(*numbers) < LARGEST_NUMBER  # not so of NaN
    except (OverflowError, TypeError):  # whole numbers beyond all floats; a label that cannot be looked up
        usual = False
    return last[0] if usual else None


def _known_of(state: State, before: Known | None) -> Known:
    shapes = {} if before is None or before.schema is not state.schema else before.shapes
    last: list[tuple[Shape, list[int] | None]] = [(((), ()), None)]
    return Known(state.schema, state.statistics, frozenset(state.statistics.classes.tolist()), shapes, last)


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


def _is_known(state: State, table: ArrayTable, classes: AnyArray) -> bool:
    """Whether a table of numbers has the columns and the classes of a state, so that no learning it can fail."""
    schema, known = state.schema, state.statistics.classes
    if state.frozen or table.named != schema.named or not schema.takes_all_numbers:
        return False
    if table.n_columns != len(schema.names) or (schema.named and tuple(table.names) != schema.names):
        return False
    if table.set_aside and not set(table.set_aside) <= set(schema.set_aside):
        return False
    return classes.dtype == known.dtype and (
        same_classes(classes, known) or set(classes.tolist()) <= set(known.tolist())
    )


def settle(model: NaiveBayes, waiting: Waiting) -> None:
    """Learn and forget the rows that wait. Whoever comes meanwhile waits until that is done."""
    with learning_lock(model):
        if waiting.settling:  # by this thread, which asks for the state to count the records with
            return
        rows = []
        waiting.settling = True
        waiting.followed = None
        try:
            if waiting.batches:
                model._learn(_joined(waiting.batches))
                waiting.batches, waiting.n_cells = [], 0  # not before: an interrupt loses none of them
            while waiting.rows:
                rows.append(waiting.rows.popleft())
            for forgets, change in ((False, model.partial_fit), (True, model.forget)):
                chosen = [row for row in rows if row[3] is forgets]
                if chosen:
                    change(_waiting_columns(model, chosen), [row[2] for row in chosen])
        finally:
            waiting.settling = False


def _joined(batches: Sequence[Batch]) -> Batch:
    """The batches that waited as one."""
    first = batches[0]
    if len(batches) == 1:
        return first
    numbers = np.concatenate([batch.table.numbers(None, slice(None)) for batch in batches])
    classes, codes = read_target(np.concatenate([batch.classes[batch.codes] for batch in batches]), len(numbers))
    table = ArrayTable(numbers, first.table.names if first.table.named else None)
    return first._replace(table=table, classes=classes, codes=codes)


def _waiting_columns(model: NaiveBayes, rows: Sequence[Row]) -> Any:
    """The records that waited as a table: of numbers that all have, as an array."""
    schema, keys = model.__dict__["_state"].schema, rows[0][0]
    alike = len(keys) == len(schema.names) > 1 and all(row[0] is keys or row[0] == keys for row in rows)
    if alike and len(rows) > 1 and set(schema.kinds) == {"number"}:
        cells = chain.from_iterable(row[1] for row in rows)
        return named(np.fromiter(cells, np.float64, len(rows) * len(keys)).reshape(len(rows), -1), keys)
    return _columns(model, [dict(zip(row[0], row[1], strict=True)) for row in rows])


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
    found: dict[Label, float] | None = _answer(model, record, "predict_proba")
    return {} if found is None else found


def predict_one(model: NaiveBayes, record: Mapping[str, Any]) -> Label | None:
    """The most probable class; None before the first record was learnt."""
    found: Label | None = _answer(model, record, "predict")
    return found


def _answer(model: NaiveBayes, record: Mapping[str, Any], asked: str) -> Any:
    """What a model says of a record; None before the first was learnt."""
    with learning_lock(model):
        running = following(model, waiting_of(model))
        if running is not None:
            return running.program[asked](_checked(record))
    program = _program(model)
    return None if program is None else program[asked](_checked(record))


def following(model: NaiveBayes, waiting: Waiting) -> Running | None:
    """What has followed all records that wait; None where a record changes more than sums. Who asks holds the lock."""
    if waiting.batches:
        settle(model, waiting)
    basis = (*model._basis(), model.prior)
    known = waiting.followed
    if known is None or known[0] is not model.__dict__.get("_state") or not unchanged(known[1], basis):
        taken = model._taken()
        if not taken._is_fitted() or not len(taken.classes_):
            return None
        known = waiting.followed = taken._fitted(), as_it_is(basis), running_of(taken)
    running = known[2]
    if running is not None and len(waiting.rows) - running.n_followed > MOST_FOLLOWED:
        settle(model, waiting)
        return following(model, waiting)
    while running is not None and running.n_followed < len(waiting.rows):
        keys, cells, label, forgets = waiting.rows[running.n_followed]
        if not forgets:  # which was done when it was asked for
            running.learn(keys, cells, label)
        running.n_followed += 1
    return running


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
