"""Why a row of a wide sparse matrix got its class: the cells that are stored, and all others in one line.

What the cells that are not stored say together is known without looking at each of them, so the work follows the length
of a text and not the size of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from naively._scoring.decision import Decider
from naively._scoring.explained_tokens import check_most
from naively._scoring.explanation import FIELDS, PRIOR, attribute
from naively._scoring.model import Scorer, checked_cells, chosen_columns
from naively._table.table import SparseTable
from naively.families._linear import LinearEstimate
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively._weighing.scorer import PooledScorer

WIDE = 100
"""A sparse matrix with more columns is explained by what is stored."""

OTHER_COLUMNS = "(all other columns)"


def explained_cells(
    scorer: Scorer | PooledScorer,
    table: SparseTable,
    positions: IntArray | None,
    decider: Decider,
    classes: AnyArray,
    wanted: int | None,
    most: int,
) -> dict[str, list[Any]]:
    """The lines of an explanation, row by row.

    Parameters
    ----------
    scorer : Scorer or PooledScorer
    table, positions
        The rows that are explained, and where the model's columns stand.
    decider : Decider
    classes : ndarray
    wanted : int or None
        The class to speak for; None for each row's answer.
    most : int
        How many columns of a row to name, those that say most.
    """
    check_most(most)
    data: dict[str, list[Any]] = {field: [] for field in FIELDS}
    for row, (terms, evidence) in enumerate(_by_row(scorer, table, positions)):
        prior = decider.log_prior if decider.log_prior.ndim == 1 else decider.log_prior[row]
        answer = decider.choose(evidence.sum(axis=0, keepdims=True), slice(row, row + 1))
        chosen = answer if wanted is None else np.array([wanted])
        bits = attribute(prior, evidence[None], chosen)[0]
        named = _strongest(bits[1 : 1 + len(terms)], most)
        rest = bits[1:].sum() - bits[1 + named].sum() if np.isfinite(bits).all() else _left(bits[1:], named)
        names = [scorer.names[place] for place in terms[named].tolist()]
        cells = [_cell(table, row, place, positions) for place in terms[named].tolist()]
        data["row"] += [row] * (len(names) + 2)
        data["column"] += [PRIOR, *names, OTHER_COLUMNS]
        data["value"] += [None, *cells, None]
        data["class"] += [classes[chosen[0]]] * (len(names) + 2)
        data["bits"] += [float(bits[0]), *bits[1 + named].tolist(), float(rest)]
    return data


def _strongest(bits: FloatArray, most: int) -> IntArray:
    """The places with the most bits either way; of equals the first."""
    return np.argsort(-np.abs(bits), kind="stable")[:most]


def _left(bits: FloatArray, named: IntArray) -> float:
    """The bits of all that is not named, where some are infinite."""
    left = np.delete(bits, named)
    return -np.inf if np.isneginf(left).any() else float(left.sum())


def _cell(table: SparseTable, row: int, place: int, positions: IntArray | None) -> str | None:
    position = place if positions is None else int(positions[place])
    if position < 0:
        return None
    value = table.matrix[row, position]
    return None if value != value else str(bool(value)) if table.matrix.dtype.kind == "b" else f"{value:.15g}"


def _by_row(
    scorer: Scorer | PooledScorer, table: SparseTable, positions: IntArray | None
) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each row the terms that it stores, and the evidence (terms + 1, classes) of these and of all others."""
    linear = isinstance(scorer, Scorer) and all(
        factor.estimate.reads_sparse and not factor.joins for factor in scorer.factors
    )
    for row in range(table.n_rows):
        rows = slice(row, row + 1)
        if linear:
            yield _of_linear(scorer, table, positions, rows)
            continue
        whole = scorer.evidence(table.only_rows(np.array([row])), positions)[0]
        stored = np.zeros(len(whole), dtype=bool)
        stored[: scorer.n_columns][table.rows(positions, rows).indices] = True
        yield np.flatnonzero(stored), np.concatenate([whole[stored], whole[~stored].sum(axis=0, keepdims=True)])


def _of_linear(scorer: Any, table: SparseTable, positions: IntArray | None, rows: slice) -> tuple[IntArray, FloatArray]:
    """The stored terms of a row and their evidence, without looking at cells that are not stored."""
    terms, parts = [], []
    rest = np.zeros(scorer.n_classes) if scorer.bias is None else scorer.bias.copy()
    for factor in scorer.factors:
        estimate: LinearEstimate = factor.estimate
        cells = checked_cells(table, chosen_columns(factor.members, positions, scorer.n_columns), rows, estimate)
        stored = cells.indices.astype(np.int64)
        terms.append(factor.members[stored])
        parts.append(estimate.only(stored).evidence(cells.data[None, :])[0])
        rest += estimate.of_zeros_but(stored)
    return np.concatenate(terms), np.concatenate([*parts, rest[None, :]])
