"""The evidence of the tokens of a text, and of the parts of a date, in bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from naively._scoring.explanation import opponents
from naively._scoring.model import Scorer, chosen_columns, text_reader
from naively._table.table import Table
from naively.errors import ParameterError
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively._weighing.scorer import PooledScorer

TokenBits = dict[tuple[int, str], list[tuple[str, float]]]
"""By row and column: tokens and their bits, the strongest first."""


def strongest_tokens(
    scorer: Scorer | PooledScorer,
    table: Table,
    positions: IntArray | None,
    log_prior: FloatArray,
    evidence: FloatArray,
    chosen: IntArray,
    most: int,
) -> TokenBits:
    """The tokens that say most about the chosen class of each row, in each column of prose.

    Parameters
    ----------
    scorer : Scorer or PooledScorer
    table, positions
        The rows that are explained.
    log_prior, evidence, chosen
        As in `naively._scoring.explanation.attribute`.
    most : int
        How many tokens of a text to name.
    """
    check_most(most)
    prose = [factor for factor in scorer.factors if factor.estimate.reads == "texts"]
    if not prose or not most:
        return {}
    finite, weights = _opponents(log_prior, evidence, chosen)
    named_tokens: TokenBits = {}
    for factor in prose:
        chosen_in_table = chosen_columns(factor.members, positions, scorer.n_columns)
        places = range(table.n_columns) if chosen_in_table is None else chosen_in_table.tolist()
        texts = text_reader(table, places)(slice(0, table.n_rows))
        for place, member in enumerate(factor.members.tolist()):
            for row in np.flatnonzero(finite).tolist():
                text = texts[place][row]
                if text:
                    names, by_token = scorer.token_evidence(factor, place, text)
                    bits = (by_token[:, chosen[row]] - by_token @ weights[row]) / math.log(2)
                    named_tokens[row, scorer.names[member]] = _strongest(names, bits, int(most))
    return named_tokens


def parts_of_dates(
    scorer: Scorer | PooledScorer,
    table: Table,
    positions: IntArray | None,
    log_prior: FloatArray,
    evidence: FloatArray,
    chosen: IntArray,
) -> TokenBits:
    """The parts of every known date and what they say about the chosen class of their row.

    Parameters
    ----------
    scorer : Scorer or PooledScorer
    table, positions
        The rows that are explained.
    log_prior, evidence, chosen
        As in `naively._scoring.explanation.attribute`.
    """
    dates = [factor for factor in scorer.factors if factor.estimate.kind == "part"]
    if not dates:
        return {}
    finite, weights = _opponents(log_prior, evidence, chosen)
    named_parts: TokenBits = {}
    for factor in dates:
        block = table.numbers(chosen_columns(factor.members, positions, scorer.n_columns), slice(0, table.n_rows))
        known = ~np.isnan(block) & finite[:, None]
        for row, place in np.argwhere(known).tolist():
            names, by_part = scorer.token_evidence(factor, place, block[row, place])
            bits = (by_part[:, chosen[row]] - by_part @ weights[row]) / math.log(2)
            column = scorer.names[int(factor.members[place])]
            named_parts[row, column] = list(zip(names, bits.tolist(), strict=True))
    return named_parts


def _opponents(log_prior: FloatArray, evidence: FloatArray, chosen: IntArray) -> tuple[AnyArray, FloatArray]:
    """The rows whose evidence is finite, and by what weights (rows, classes) the other classes are one opponent."""
    finite = np.asarray(np.isfinite(evidence).all(axis=(1, 2)) & np.isfinite(log_prior).all(axis=-1))
    return finite, opponents(log_prior, np.where(finite[:, None, None], evidence, 0.0), chosen)


def check_most(most: int) -> None:
    """Refuse what is not the number of tokens to name."""
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 0:
        raise ParameterError(f"explain(tokens) must be a whole number of at least 0, got {most!r}.")


def _strongest(names: Sequence[str], bits: FloatArray, most: int) -> list[tuple[str, float]]:
    """The tokens with the most bits either way; one that occurs in two views is named once."""
    total: dict[str, float] = {}
    for name, number in zip(names, bits.tolist(), strict=True):
        total[name] = total.get(name, 0.0) + number
    return sorted(total.items(), key=lambda line: (-abs(line[1]), line[0]))[:most]
