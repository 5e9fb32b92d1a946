"""What an engine is: it counts rows where they lie, and scores them there.

An engine sees neither smoothing nor prior: it turns rows into `Statistics`, and hands the scores of rows, block by
block, to whoever decides. There are two kinds of them; families, estimates and the classifier do not change for either.

`Engine` is for rows in one table: this process, another device. `Source` is for rows that are no table in memory:
files, streams, lazy frames, databases, clusters. A source

- is recognised by `reads`, from what the user gave as X (`naively.engines._registry.SOURCES`, the first that reads it);
- gives its rows in `pieces`, tables that fit in memory, which are counted by the local engine and merged by ``+``;
- may `count` all of its rows itself instead, where the summaries that the schema asks for are of kinds that it adds up
  there (`counts_there`); it says None where it cannot, and then its pieces are counted.

Either way the model takes its new state once, after the last row: an error or an interrupt leaves it as it was. The
schema comes from the first piece, and from the declared types of a source that counts for itself: `Plan.schema_of` is
asked once, with a table of some first rows whose kinds are those of the whole source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from naively._model.schema import Schema
from naively._table.table import Table
from naively.errors import InputTypeError
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


# -- rows that are no table in memory ---------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Some rows of a source, as `fit` takes them.

    Parameters
    ----------
    X : table
        Rows that fit in memory; a piece without rows is allowed.
    y : array-like or str
        Their classes, or the name of the column of X that holds them.
    sample_weight : array-like, str or None
    place : object, default=""
        Where the rows come from, for messages: "sales.parquet, row group 3", or what gives such a text by `str`. Errors
        about the piece begin with it.
    """

    X: Any
    y: Any
    sample_weight: Any
    place: object = ""


class Plan(NamedTuple):
    """What is to be counted of a whole source.

    Parameters
    ----------
    y, sample_weight : Any
        What the user gave beside X: as a rule names of columns, or None.
    schema_of : callable
        From a table of some first rows, without the columns of classes and weights (`set_aside` of
        `naively._table.target` takes them out), to the schema that says what to add up for which column, and where its
        columns stand in that table (None: in the same order; -1: absent). The kinds of the table must be those of the
        whole source, by its declared types: a column that is empty in the first rows only must not be "empty".
    kept_rows : int
        The number of rows to keep as a sample; 0: none.
    n_threads : int
    """

    y: Any
    sample_weight: Any
    schema_of: Callable[[Table], tuple[Schema, IntArray | None]]
    kept_rows: int
    n_threads: int


class ReadAgainError(Exception):
    """Raised by `Source.pieces` where a row shows that the rows before had to be read otherwise: begin anew.

    The source has noted what it needs; all that was made of earlier pieces is dropped, and `pieces` is called again. A
    message, if it has one, is a warning to the user.
    """


class Source(ABC):
    """Rows that are no table in memory: files, a stream, a lazy frame, a table of a database or a cluster.

    Parameters
    ----------
    given : object
        What the user gave as X, which `reads` has recognised.

    Attributes
    ----------
    name : str
        What it is called in the table of engines.
    sources : str
        What it reads, in words.
    counts_there : frozenset of str
        The kinds of statistics, keys of `naively.statistics._registry.STATISTICS`, that `count` adds up where the rows
        are. All others are counted here, piece by piece, so that every recipe and family works with every source.
    keeps_rows_there : bool
        Whether `count` keeps a sample of rows, too, which the recipes that weigh evidence need.
    shows_progress : bool
        Whether it shows how far it has come while its pieces are read.
    """

    name: ClassVar[str]
    sources: ClassVar[str]
    shows_progress: ClassVar[bool] = False
    counts_there: ClassVar[frozenset[str]] = frozenset()
    keeps_rows_there: ClassVar[bool] = False

    def __init__(self, given: Any):
        self.given = given

    @classmethod
    @abstractmethod
    def reads(cls, X: Any) -> bool:
        """Whether X is a source of this kind; asked of everything that a model is given, so it must be quick."""

    @abstractmethod
    def pieces(self, y: Any, sample_weight: Any, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """The rows, piece by piece.

        Parameters
        ----------
        y, sample_weight : Any
            What the user gave beside X, None for rows without classes or weights.
        columns : sequence of str, optional
            The columns that are needed, beside those of classes and weights; others need not be read.
        """

    def count(self, plan: Plan) -> tuple[Schema, Statistics] | None:
        """The schema and the statistics of all rows, added up where they are; None if the pieces must be counted."""
        return None

    def annotate(self, model: Any, to: Any, evidence: bool) -> Any:
        """The rows with the answers of a model beside them, as `NaiveBayes.annotate` says.

        A lazy source returns a lazy frame; ``model.annotate(frame, evidence=evidence)`` answers for eager pieces.
        """
        raise InputTypeError(f"annotate cannot write {self.sources}. Give it data frames, or paths of files.")


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
