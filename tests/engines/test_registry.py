"""Engines: each gives the numbers of the local one, and one that does not is caught."""

import numpy as np
import pytest

from naively._table.read import read_table
from naively.engines._local import LocalEngine
from naively.engines._registry import ENGINES, engine_of
from naively.engines.base import capabilities
from naively.errors import InputTypeError
from naively.statistics._registry import STATISTICS
from naively.testing import check_engine

SOURCES = {"local": read_table}
"""How a frame becomes what an engine reads; rows on a GPU, which hold no text, are compared in tests/gpu."""


@pytest.mark.parametrize("name", sorted(set(ENGINES) - {"gpu"}))
def test_every_engine_gives_the_numbers_of_the_local_one(name):
    check_engine(ENGINES[name], SOURCES[name])


class Forgetful(LocalEngine):
    """Leaves the last row out."""

    def count(self, source, schema, positions, target, n_threads, kept_rows=0):
        short = target._replace(codes=np.where(np.arange(source.n_rows) < source.n_rows - 1, target.codes, -1))
        return super().count(source, schema, positions, short._replace(weights=target.weights), n_threads, kept_rows)


class Unweighted(LocalEngine):
    """Forgets that rows have weights."""

    def count(self, source, schema, positions, target, n_threads, kept_rows=0):
        return super().count(source, schema, positions, target._replace(weights=None), n_threads, kept_rows)


class Shifted(LocalEngine):
    """Scores one row for another."""

    def score(self, source, positions, scorer, finish, n_threads):
        def roll(scores, rows):
            finish(np.roll(scores, 1, axis=0), rows)

        super().score(source, positions, scorer, roll, n_threads)


class Sampling(LocalEngine):
    """Keeps fewer rows than were asked for."""

    def count(self, source, schema, positions, target, n_threads, kept_rows=0):
        return super().count(source, schema, positions, target, n_threads, min(kept_rows, 10))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (Forgetful, "counts other numbers"),
        (Unweighted, "counts other numbers"),
        (Shifted, "scores"),
        (Sampling, "keeps"),
    ],
)
def test_a_wrong_engine_is_caught(engine, message):
    with pytest.raises(AssertionError, match=message):
        check_engine(engine(), read_table)


def test_what_no_engine_reads_is_told():
    with pytest.raises(InputTypeError, match=r"No engine reads a object.*tables in memory"):
        engine_of(object())


def test_capabilities_name_every_kind_of_statistic():
    for engine in capabilities(ENGINES):
        assert all(engine[kind] for kind in STATISTICS)
