"""The analyser of a vectorizer of scikit-learn, as a value: from a text to its tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from naively.errors import ModelFileError, ParameterError

DEFAULTS: dict[str, Any] = {
    "strip_accents": None,
    "lowercase": True,
    "preprocessor": None,
    "tokenizer": None,
    "stop_words": None,
    "token_pattern": r"(?u)\b\w\w+\b",
    "ngram_range": (1, 1),
    "analyzer": "word",
}
"""The parameters of vectorizers that say what a token is, and their defaults."""

INSTEAD = {
    "max_features": "Text(most_tokens=...)",
    "vocabulary": "nothing: the vocabulary of Text is open",
    "max_df": "Text(stop_words=...) or Text(idf=True)",
    "min_df": "Text(min_count=...)",
    "binary": "Text(tally='presence')",
}
"""The parameters that say how tokens are counted, which is for `Text` to say."""


@dataclass(frozen=True, repr=False)
class Analyzer:
    """What a token is for a vectorizer of scikit-learn; two with the same parameters are equal.

    Parameters
    ----------
    options : tuple of pairs
        The parameters of `CountVectorizer` that are not the default, by name.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> analyzer = Analyzer.of(TfidfVectorizer(ngram_range=(1, 2)))
    >>> analyzer
    CountVectorizer(ngram_range=(1, 2))
    >>> analyzer("Free cash!")
    ['free', 'cash', 'free cash']
    """

    options: tuple[Any, ...] = ()

    @classmethod
    def of(cls, vectorizer: Any) -> Analyzer:
        """The analyser of `CountVectorizer`, `TfidfVectorizer`, `HashingVectorizer` or one like them."""
        given = vectorizer.get_params(deep=False)
        if given.get("input", "content") != "content":
            raise ParameterError(f"Text(analyzer) must read texts, got a vectorizer with input={given['input']!r}.")
        usual = type(vectorizer)().get_params(deep=False)
        for name, other in INSTEAD.items():
            if name in given and given[name] != usual[name]:
                raise ParameterError(
                    f"Text(analyzer) takes what a token is from the vectorizer, and not {name}={given[name]!r}. Leave "
                    f"it out there, and use {other}."
                )
        chosen = {name: _fixed(given[name]) for name in DEFAULTS if name in given and given[name] != DEFAULTS[name]}
        return cls(tuple(sorted(chosen.items())))

    @classmethod
    def from_options(cls, options: Any) -> Analyzer:
        """The analyzer of a model file, with every check."""
        given = {name: _fixed(value) for name, value in options}
        for name, value in given.items():
            if name not in DEFAULTS or not _is_plain(value):
                raise ModelFileError(f"an analyser cannot have {name!r:.60} = {value!r:.60}")
        re.compile(given.get("token_pattern") or "")
        found = cls(tuple(sorted(given.items())))
        found("a text")
        return found

    @property
    def is_plain(self) -> bool:
        """Whether it has no function, so that a model file can hold it."""
        return all(_is_plain(value) for _, value in self.options)

    def __call__(self, text: str) -> list[str]:
        found: list[str] = _built(self)(text)
        return found

    def __repr__(self) -> str:
        return f"CountVectorizer({', '.join(f'{name}={value!r}' for name, value in self.options)})"


@lru_cache(maxsize=16)
def _built(analyzer: Analyzer) -> Callable[[str], list[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    made: Callable[[str], list[str]] = CountVectorizer(**dict(analyzer.options)).build_analyzer()
    return made


def _fixed(value: Any) -> Any:
    """A value that can be compared and hashed."""
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(value))
    return tuple(value) if isinstance(value, list) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(one, (str, int)) for one in value)
    return value is None or isinstance(value, (str, bool))
