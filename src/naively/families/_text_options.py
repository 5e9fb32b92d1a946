"""The options of `Text`, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._common.checks import require_one_of, some_of
from naively._text.analyzer import Analyzer
from naively._text.entities import ENTITIES
from naively.errors import ParameterError

Lengths = tuple[int, int]
MOST = 2**48
"""No more buckets or tokens than this can be asked for: a cell of the table has one 64-bit number."""


def lengths(name: str, given: Any) -> Lengths | None:
    """A length, or a pair of the shortest and the longest."""
    if given is None:
        return None
    pair = (given, given) if isinstance(given, (int, np.integer)) else tuple(given) if _is_pair(given) else ()
    whole = len(pair) == 2 and all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in pair)
    if not whole or not 1 <= pair[0] <= pair[1] <= 8:
        raise ParameterError(
            f"Text({name}) must be a length or a pair of them, shortest and longest, between 1 and 8; got {given!r}."
        )
    return int(pair[0]), int(pair[1])


def _is_pair(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) == 2


def stop_words_of(given: Any) -> tuple[str, ...]:
    """The words that are left out, sorted."""
    if given is None:
        return ()
    if isinstance(given, str):
        if given != "english":
            raise ParameterError(f"Text(stop_words) must be 'english' or a list of words, got {given!r}.")
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        given = ENGLISH_STOP_WORDS
    if not hasattr(given, "__iter__") or not all(isinstance(word, str) for word in given):
        raise ParameterError(f"Text(stop_words) must be 'english' or a list of words, got {given!r:.60}.")
    return tuple(sorted(set(given)))


def entities_of(given: Any) -> tuple[str, ...]:
    """The kinds of things that are tokens of their own, in their order."""
    if given is None or (isinstance(given, (tuple, list)) and not given):
        return ()
    return ENTITIES if isinstance(given, str) and given == "all" else some_of("Text(entities)", given, ENTITIES)


def function_of(name: str, given: Any) -> Any:
    """A function from a text to words, or None."""
    if given is not None and not callable(given):
        raise ParameterError(f"Text({name}) must be a function from a text to its words, got {given!r}.")
    return given


def analyzer_of(given: Any) -> Any:
    """A function from a text to tokens: that of a vectorizer of scikit-learn, as a value, or any."""
    if hasattr(given, "build_analyzer") and hasattr(given, "get_params") and not isinstance(given, type):
        return Analyzer.of(given)
    if isinstance(given, type) or (given is not None and not callable(given)):
        raise ParameterError(
            "Text(analyzer) must be a function from a text to its tokens, or a vectorizer of scikit-learn such as "
            f"CountVectorizer(), got {given!r:.60}."
        )
    return given


def flag(name: str, given: Any) -> bool:
    """True or False."""
    if not isinstance(given, (bool, np.bool_)):
        raise ParameterError(f"Text({name}) must be True or False, got {given!r}.")
    return bool(given)


def at_least(name: str, given: Any, least: float) -> float:
    """A number that is large enough."""
    number = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not number or not least <= given < np.inf:
        raise ParameterError(f"Text({name}) must be a number of at least {least:g}, got {given!r}.")
    return float(given) if isinstance(given, (float, np.floating)) else int(given)


def whole(name: str, given: Any, least: int) -> int | None:
    """A whole number that is large enough, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not least <= given <= MOST:
        raise ParameterError(f"Text({name}) must be a whole number from {least} to {MOST}, got {given!r}.")
    return int(given)


def one_of(name: str, given: Any, known: Sequence[str]) -> Any:
    """One of the known names."""
    require_one_of(f"Text({name})", given, known)
    return given
