"""Answers as columns beside the rows that they are about, in the library of the data frame."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from naively.errors import InputTypeError, ParameterError, listed
from naively.typing import AnyArray, FloatArray, IntArray

PREDICTION = "prediction"
PROBABILITY = "probability_"
EVIDENCE = "evidence_"


def annotation_names(classes: AnyArray, terms: Sequence[str] | None) -> list[str]:
    """What the columns of answers are called.

    Parameters
    ----------
    classes : ndarray
    terms : sequence of str or None
        What evidence there is, beside the prior; None if it is not wanted.

    Examples
    --------
    >>> annotation_names(np.array(["no", "yes"]), ["age"])
    ['prediction', 'probability_no', 'probability_yes', 'evidence_prior', 'evidence_age']
    """
    named = [f"{PROBABILITY}{label}" for label in classes.tolist()]
    said = [] if terms is None else [f"{EVIDENCE}{term}" for term in ("prior", *terms)]
    return [PREDICTION, *named, *said]


def known_part(X: Any, known: Sequence[str], added: Sequence[str]) -> Any:
    """A data frame with those of its columns that a model knows: all others need not even be readable.

    Parameters
    ----------
    X : data frame
    known : sequence of str
        The columns of the model; none if they have no names.
    added : sequence of str
        The columns that are to be added, which must not be there.
    """
    frame = _as_frame(X)
    names = frame.columns
    twice = [name for name in added if name in names or list(added).count(name) > 1]
    if twice:
        raise ParameterError(
            f"annotate adds columns that are called {listed(dict.fromkeys(twice))}, and there are such columns "
            "already. Rename or drop them first."
        )
    there = [name for name in names if name in set(known)]
    return frame.select(there).to_native() if there else frame.to_native()


def _as_frame(X: Any) -> Any:
    """X as an eager narwhals frame, which it must be."""
    import narwhals as nw

    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise InputTypeError(
            f"annotate adds columns to data frames and files, and got {type(X).__name__}. Use predict_proba for arrays."
        )
    return frame


def annotated(
    X: Any, names: Sequence[str], classes: AnyArray, chosen: IntArray, posterior: FloatArray, bits: FloatArray | None
) -> Any:
    """A data frame with answers beside its columns.

    Parameters
    ----------
    X : data frame
        Of any library; it is not changed.
    names : sequence of str
        As `annotation_names` gives them.
    classes : ndarray
    chosen : ndarray of shape (n_rows,)
        The position of the class that is predicted.
    posterior : ndarray of shape (n_rows, n_classes)
    bits : ndarray of shape (n_rows, 1 + n_terms) or None
        The evidence for the class that is predicted: the prior's, and that of each term.
    """
    numbers = posterior if bits is None else np.hstack([posterior, bits])
    columns = dict(zip(names[1:], (np.ascontiguousarray(column) for column in numbers.T), strict=True))
    frame = _as_frame(X)
    if frame.implementation.is_pyarrow():
        return _beside_arrow(frame.to_native(), names[0], classes, chosen, columns)
    return _beside(frame, names[0], classes[chosen], columns)


def _beside_arrow(table: Any, name: str, classes: AnyArray, chosen: IntArray, columns: Mapping[str, AnyArray]) -> Any:
    """An Arrow table with more columns; labels are taken, not written one by one."""
    pyarrow = sys.modules["pyarrow"]
    table = table.append_column(name, pyarrow.array(classes.tolist()).take(pyarrow.array(chosen)))
    for column, values in columns.items():
        table = table.append_column(column, pyarrow.array(values))
    return table


def _beside(frame: Any, name: str, labels: AnyArray, columns: Mapping[str, AnyArray]) -> Any:
    import narwhals as nw

    cells = labels if labels.dtype.kind in "biuf" else labels.tolist()
    series = [nw.new_series(name, cells, backend=frame.implementation)]
    series += [nw.new_series(column, values, backend=frame.implementation) for column, values in columns.items()]
    return frame.with_columns(*series).to_native()
