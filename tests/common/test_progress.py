"""Bars for people who watch, and the log for everybody else."""

import logging
import sys
import time

import numpy as np
import pytest

from naively import NaiveBayes
from naively._common import progress
from naively._common.progress import counting, is_watched, shown, told

X, Y = np.arange(40.0)[:, None], np.arange(40) % 2


@pytest.fixture
def no_patience(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)


def test_nothing_is_shown_where_nobody_watches(capsys):
    assert not is_watched()
    NaiveBayes().fit(X, Y).predict(X)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("no_patience")
def test_a_bar_is_shown_on_demand(capsys):
    assert list(shown([1, 2, 3], "trying", wanted=True)) == [1, 2, 3]
    assert "trying" in capsys.readouterr().err
    with counting("learning", "rows", wanted=True) as count:
        count(1000)
    assert "1,000 rows" in capsys.readouterr().err
    assert list(shown([1, 2, 3], "trying", wanted=False)) == [1, 2, 3]
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("no_patience")
def test_one_long_step_is_told(capsys):
    with told("thinking", wanted=True):
        time.sleep(0.3)
    assert "thinking" in capsys.readouterr().err


def test_a_short_step_is_not_told(capsys):
    with told("thinking", wanted=True):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("no_patience")
def test_the_log_is_told_how_long_it_took(caplog):
    with caplog.at_level(logging.INFO, logger="naively"):
        NaiveBayes("fast").fit(X, Y)
        list(shown([1], "trying"))
    words = [record.getMessage() for record in caplog.records if record.name == "naively"]
    for what in ("learning took", "estimating took", "trying took"):
        assert any(word.startswith(what) for word in words)


def test_what_is_short_is_logged_for_those_who_debug(caplog):
    with caplog.at_level(logging.DEBUG, logger="naively"):
        NaiveBayes("textbook").fit(X[:2], Y[:2])
    assert any(record.getMessage().startswith("learning took") for record in caplog.records)


@pytest.mark.usefixtures("no_patience")
def test_verbose_shows_it_anyway(capsys, monkeypatch):
    slow = NaiveBayes._scorer

    def scorer(model, recipe):
        time.sleep(0.3)
        return slow(model, recipe)

    monkeypatch.setattr(NaiveBayes, "_scorer", scorer)
    NaiveBayes("fast", verbose=True).fit(X, Y)
    assert "estimating" in capsys.readouterr().err


def test_a_notebook_is_watched(monkeypatch):
    class ZMQInteractiveShell:
        pass

    class IPython:
        @staticmethod
        def get_ipython():
            return ZMQInteractiveShell()

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    assert is_watched()


@pytest.mark.usefixtures("no_patience")
def test_an_error_takes_the_bar_away(capsys):
    def work():
        with counting("learning", wanted=True) as count:
            count(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert "learning" in capsys.readouterr().err
