"""What an engine is: it counts rows where they lie, and scores them there.

An engine sees neither smoothing nor prior: it turns rows into `Statistics`, and hands the scores of rows, block by
block, to whoever decides. Files, databases, clusters and other devices are engines of their own; families, estimates
and the classifier do not change for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from naively._schema import Schema
from naively.statistics._statistics import Statistics
from naively.typing import AnyArray, FloatArray, IntArray

Finish = Callable[[FloatArray, slice], None]
"""Takes the scores (rows, classes) of a block of rows, which it may overwrite, and which rows they are."""


class Target(NamedTuple):
    """The classes of rows.

    Parameters
    ----------
    classes : ndarray
        The class labels, sorted.
    codes : ndarray of shape (n_rows,)
        Each row's position among them.
    weights : ndarray of shape (n_rows,) or None
        The rows' weights, where rows of weight 0 count as absent; None: each weighs one.
    """

    classes: AnyArray
    codes: IntArray
    weights: FloatArray | None


class RowScorer(Protocol):
    """What turns rows into scores: the estimates of a model, weighed or not."""

    def run(self, table: Any, positions: IntArray | None, finish: Finish, n_threads: int) -> None:
        """Score the rows of a table, block by block, and hand each block of scores to `finish`."""


class Engine(ABC):
    """Counts and scores rows of one kind of source.

    `naively.testing.check_engine` checks that an engine gives the numbers of the local one.

    Attributes
    ----------
    name : str
        What it is called in `ENGINES`.
    sources : str
        What it reads, in words.
    kinds : frozenset of str
        The kinds of statistics that it counts: keys of `naively.statistics._registry.STATISTICS`.
    keeps_rows : bool
        Whether it keeps a sample of the rows, which the recipes that weigh evidence need.
    """

    name: ClassVar[str]
    sources: ClassVar[str]
    kinds: ClassVar[frozenset[str]]
    keeps_rows: ClassVar[bool]

    @abstractmethod
    def reads(self, source: Any) -> bool:
        """Whether the source is one of its own."""

    @abstractmethod
    def count(
        self,
        source: Any,
        schema: Schema,
        positions: IntArray | None,
        target: Target,
        n_threads: int,
        kept_rows: int = 0,
    ) -> Statistics:
        """The statistics of rows.

        Parameters
        ----------
        source : object
            The rows, as the engine reads them.
        schema : Schema
            What to add up for which column.
        positions : ndarray or None
            Where the schema's columns stand in the source (-1: absent); None if in the same order.
        target : Target
        n_threads : int
        kept_rows : int, default=0
            The number of rows to keep as a sample.
        """

    @abstractmethod
    def score(self, source: Any, positions: IntArray | None, scorer: RowScorer, finish: Finish, n_threads: int) -> None:
        """Score rows, and hand the scores to `finish`, block by block."""

    def scores(
        self, source: Any, positions: IntArray | None, scorer: Any, decider: Any, step: str, n_threads: int
    ) -> Any:
        """The scores (rows, classes) of all rows as a step of the decider leaves them, where the rows are.

        Parameters
        ----------
        source, positions, n_threads
            As in `count`.
        scorer : RowScorer
        decider : Decider
            It knows the class prior.
        step : str
            "probabilities", "normalise" (log-probabilities) or "add_prior".
        """
        result = np.empty((source.n_rows, decider.log_prior.shape[-1]))
        change = getattr(decider, step)

        def finish(scores: FloatArray, rows: slice) -> None:
            change(scores, rows)
            result[rows] = scores

        self.score(source, positions, scorer, finish, n_threads)
        return result

    def choose(self, source: Any, positions: IntArray | None, scorer: Any, decider: Any, n_threads: int) -> Any:
        """The position (rows,) of the class that the decider chooses for each row."""
        best = np.empty(source.n_rows, dtype=np.int64)

        def finish(scores: FloatArray, rows: slice) -> None:
            best[rows] = decider.choose(scores, rows)

        self.score(source, positions, scorer, finish, n_threads)
        return best

    def evidence(self, source: Any, positions: IntArray | None, scorer: Any) -> Any:
        """The evidence (rows, terms, classes) of every cell."""
        return scorer.evidence(source, positions)


def capabilities(engines: Mapping[str, Engine]) -> list[dict[str, Any]]:
    """What each engine can do, a dict for each.

    Examples
    --------
    >>> from naively.engines._registry import ENGINES
    >>> [(row["engine"], row["moments"], row["kept rows"]) for row in capabilities(ENGINES)]
    [('gpu', True, True), ('local', True, True)]
    """
    from naively.statistics._registry import STATISTICS

    return [
        {
            "engine": name,
            "sources": engine.sources,
            **{kind: kind in engine.kinds for kind in STATISTICS},
            "kept rows": engine.keeps_rows,
        }
        for name, engine in engines.items()
    ]
