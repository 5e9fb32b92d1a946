"""A model from given parameters: imaginary rows that have just these parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from naively._common.by_label import by_label, refuse_unknown
from naively._common.checks import require_number
from naively.errors import GapError, ParameterError, brief, listed
from naively.families import Family, as_family
from naively.typing import FloatArray, Label


class GivenColumn(NamedTuple):
    """A column's family and its parameters: arrays by class, or dicts of them by value."""

    family: Family
    parameters: dict[str, Any]


class ImaginaryRows(NamedTuple):
    """Rows of which one cell is known each, their classes and their weights."""

    X: dict[str, list[Any]]
    y: list[Label]
    weights: list[float]


def given_prior(prior: Any) -> dict[Label, float]:
    """The probability of each class, sorted by class, checked."""
    prior = by_label(prior, "prior")
    if not isinstance(prior, Mapping) or not prior:
        raise ParameterError(f"prior must be a dict from each class to its probability, got {brief(prior)}.")
    for label, share in prior.items():
        require_number(f"prior[{label!r}]", share, at_least=0)
    if min(prior.values()) <= 0 or not np.isclose(sum(prior.values()), 1.0, rtol=0, atol=1e-9):
        raise ParameterError(
            f"prior must hold probabilities above 0 that sum to 1, got {brief(dict(prior))}. A prior of 0 can be given "
            "to predict(prior=)."
        )
    try:
        return {label: float(prior[label]) for label in sorted(prior)}
    except TypeError:
        raise ParameterError(f"prior has classes of different types: {listed(list(prior), 10)}.") from None


def given_columns(columns: Any, classes: Sequence[Label]) -> dict[str, GivenColumn]:
    """The family and the parameters of each column, checked."""
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError(
            "columns must be a dict from names to parameters, as in {'x': {'mean': [0, 1], 'variance': [1, 1]}}; got "
            f"{brief(columns)}."
        )
    return {_name(name): _given(name, given, classes) for name, given in columns.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ParameterError(f"columns must be named by text, got {brief(name)}.")
    return name


def _given(name: str, given: Any, classes: Sequence[Label]) -> GivenColumn:
    where = f"columns[{name!r}]"
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{where} must be a dict such as {{'mean': [0, 1], 'variance': [1, 1]}}; got {brief(given)}."
        )
    own = {key: value for key, value in given.items() if key != "family"}
    family = (
        as_family(given["family"], where) if "family" in given else as_family(_inferred(own, classes, where), where)
    )
    return GivenColumn(family, {key: _by_class(key, value, classes, f"{where}[{key!r}]") for key, value in own.items()})


LEAST = {"variance": 0.0, "shape": 0.0, "scale": 0.0, "rate": -5e-324, "probability": -5e-324}
"""What parameters must be above."""

POSSIBLE = {"variance": "above 0", "shape": "above 0", "scale": "above 0"}
POSSIBLE |= {"rate": "0 or more", "probability": "from 0 to 1"}

INFERRED = (({"mean", "variance"}, "gaussian"), ({"shape", "scale"}, "gamma"), ({"rate"}, "poisson"))
"""The families that parameters belong to where none is named."""


def _inferred(own: Mapping[str, Any], classes: Sequence[Label], where: str) -> str:
    for keys, family in INFERRED:
        if set(own) == keys:
            return family
    if set(own) == {"probability"}:
        given = own["probability"]
        of_values = isinstance(given, Mapping) and not set(given) <= set(classes)
        return "categorical" if of_values else "bernoulli"
    raise ParameterError(
        f"{where} has {listed(list(own)) or 'nothing'}, which belongs to no family that could be guessed. Name it, "
        "as in {'family': 'exponential', 'rate': [1, 2]}."
    )


def _by_class(key: str, value: Any, classes: Sequence[Label], where: str) -> Any:
    """Numbers in the order of the classes, or dicts of them by value."""
    value = by_label(value, where)
    if isinstance(value, Mapping) and not set(value) <= set(classes):
        return {label: _by_class(key, own, classes, f"{where}[{label!r}]") for label, own in value.items()}
    if isinstance(value, Mapping):
        refuse_unknown(where, value, classes)
        absent = [label for label in classes if label not in value]
        if absent:
            raise ParameterError(f"{where} has no number for the class {absent[0]!r}.")
        value = [value[label] for label in classes]
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (len(classes),) or not np.isfinite(numbers).all():
        raise ParameterError(
            f"{where} must hold one finite number for each of the classes {listed(list(classes), 10)}, by class or in "
            f"this order; got {brief(value)}."
        )
    bad = LEAST.get(key) is not None and bool((numbers <= LEAST[key]).any())
    if bad or (key == "probability" and (numbers > 1).any()):
        raise ParameterError(f"{where} cannot be {numbers.tolist()}: {key} must be {POSSIBLE[key]}.")
    return numbers


def _shown(value: Any) -> str:
    """Parameters as they may stand in a message."""
    if isinstance(value, Mapping):
        value = {label: np.asarray(own).tolist() for label, own in value.items()}
    return brief(value.tolist() if isinstance(value, np.ndarray) else value)


def imaginary_rows(columns: Mapping[str, GivenColumn], classes: Sequence[Label], weight: FloatArray) -> ImaginaryRows:
    """Rows of `weight` (classes,) that have these parameters in every column."""
    cells: list[tuple[str, Any, Label, float]] = []
    for name, column in columns.items():
        try:
            by_class = column.family.rows_of(column.parameters)
        except GapError as gap:
            raise ParameterError(
                f"columns[{name!r}]: {column.family!r} {gap.reason}. Use Gaussian(), Categorical(), Bernoulli(), "
                "Poisson(), Exponential(), Gamma() or Multinomial()."
            ) from None
        except KeyError as key:
            raise ParameterError(f"columns[{name!r}] lacks {key}, which {column.family!r} needs.") from None
        for code, rows in enumerate(by_class):
            cells += [(name, value, classes[code], float(share * weight[code])) for value, share in rows if share > 0]
    X: dict[str, list[Any]] = {name: [value if name == own else None for own, value, _, _ in cells] for name in columns}
    return ImaginaryRows(X, [label for _, _, label, _ in cells], [share for _, _, _, share in cells])


def refuse_others(found: Mapping[str, Mapping[str, Any]], columns: Mapping[str, GivenColumn]) -> None:
    """Refuse parameters that the family turns into others: by ties, floors, or because shares do not sum to one."""
    for name, column in columns.items():
        for key, given in column.parameters.items():
            own: Any = found[name].get(key)
            pairs = [(given, own)]
            if isinstance(given, Mapping):
                known = own if isinstance(own, Mapping) else {}
                pairs = [(numbers, known.get(label, 0.0)) for label, numbers in given.items()]
            if own is None or not all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in pairs):
                raise ParameterError(
                    f"columns[{name!r}][{key!r}] cannot be {_shown(given)} for {column.family!r}: it would be "
                    f"{_shown(own)}. Probabilities of values sum to one, and shared variances are equal."
                )
