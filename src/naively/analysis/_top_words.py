"""The words of a column of prose that say most for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from naively._common.by_label import code_of
from naively._common.checks import position_of, require_whole
from naively._scoring.model import statistics_of
from naively._table.results import SHOWN_ROWS, Columns, Result, Shown, as_cell, more
from naively.errors import ParameterError, listed
from naively.typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from naively.classifier import NaiveBayes


SHOWN_CLASSES = 6
"""How many classes are printed beside each other; the frame has all."""


class Words(NamedTuple):
    """Words of a column.

    Parameters
    ----------
    words : list of str
    bits : ndarray (words, classes)
        What one of each says for a class, against the mean of the other classes.
    texts : ndarray (words, classes)
        How many texts of a class have it.
    """

    words: list[str]
    bits: FloatArray
    texts: FloatArray


class TopWords(Result):
    """The words that say most for each class; its `frame` has a row for each word and class.

    Parameters
    ----------
    column : str
    classes : ndarray
    words : Words
        All that were looked at.
    most : int
        How many are listed for each class.
    """

    def __init__(self, column: str, classes: AnyArray, words: Words, most: int):
        self.column, self.classes, self.words, self.most = column, classes, words, most

    def of(self, label: Any) -> list[str]:
        """The words for one class, the strongest first."""
        return [self.words.words[place] for place in self._places(self._code(label))]

    def bits_of(self, label: Any) -> FloatArray:
        """The bits of these words."""
        code = self._code(label)
        return np.asarray(self.words.bits[self._places(code), code])

    def _code(self, label: Any) -> int:
        return code_of(label, self.classes.tolist(), "label")

    def _places(self, code: int) -> list[int]:
        """The strongest words for a class; of equal ones those that more of its texts have."""
        bits = self.words.bits[:, code]
        if not len(bits):
            return []
        order: IntArray = np.lexsort((np.array(self.words.words), -self.words.texts[:, code], -bits))
        return [place for place in order[: self.most].tolist() if bits[place] > 0]

    def _columns(self) -> Columns:
        kinds = {"column": "U", "class": self.classes.dtype.kind, "rank": "i", "word": "U", "bits": "f", "texts": "f"}
        words, bits, texts = self.words
        records = [
            (self.column, label, rank, words[place], float(bits[place, code]), float(texts[place, code]))
            for code, label in enumerate(self.classes.tolist())
            for rank, place in enumerate(self._places(code), start=1)
        ]
        return {name: (kind, [one[place] for one in records]) for place, (name, kind) in enumerate(kinds.items())}

    def _shown(self) -> Shown:
        """A column for each class: words and their bits."""
        codes = range(min(len(self.classes), SHOWN_CLASSES))
        lists = [self._lines(code) for code in codes]
        longest = max(map(len, lists), default=0)
        padded = [lines + [("", "")] * (longest - len(lines)) for lines in lists]
        lines = [[cell for pair in row for cell in pair] for row in zip(*padded, strict=True)]
        head = [cell for code in codes for cell in (str(self.classes[code]), "bits")]
        hidden = [(len(self.classes) - len(codes), "classes"), (self.most - SHOWN_ROWS, "words of each class")]
        note = ", ".join(said for number, what in hidden if (said := more(number, what)))
        return Shown([head, *lines], range(1, 2 * len(codes), 2), f"Words of {self.column!r} for each class", note)

    def _lines(self, code: int) -> list[tuple[str, str]]:
        places = self._places(code)[:SHOWN_ROWS]
        return [(self.words.words[place], as_cell(float(self.words.bits[place, code]))) for place in places]


def top_words(model: NaiveBayes, column: Any, most: int, runs: bool, min_texts: int) -> TopWords:
    """The strongest words of a fitted model: see `NaiveBayes.top_words`."""
    require_whole("most", most)
    require_whole("min_texts", min_texts, at_least=1)
    member = _prose(model, column)
    return TopWords(model.schema_.names[member], model.classes_, words_of(model, member, runs, min_texts), most)


def _prose(model: NaiveBayes, column: Any) -> int:
    """The place of a column of prose, by name or position; the first if none is named."""
    names = model.schema_.names
    prose = [place for place in range(len(names)) if model.schema_.is_text(place)]
    if not prose:
        raise ParameterError("top_words: the model has no column of prose. Short texts are prose if families= says so.")
    member = prose[0] if column is None else position_of(column, {name: at for at, name in enumerate(names)}, "column")
    if member not in prose:
        raise ParameterError(
            f"top_words: column {names[member]!r} holds no prose. {listed([names[place] for place in prose])} does."
        )
    return member


def words_of(model: NaiveBayes, member: int, runs: bool, min_texts: int) -> Words:
    """The words of a column that so many texts have, and what each says."""
    factor, place = next(
        (factor, factor.members.tolist().index(member))
        for factor in model._estimated()[0].factors
        if member in factor.members
    )
    if getattr(factor.family, "buckets", None) is not None:
        name = model.schema_.names[member]
        raise ParameterError(
            f"top_words: the words of {name!r} have no names, as Text(buckets=...) knows them by hashes."
        )
    statistics: list[Any] = statistics_of(model.schema_, factor.family, [member], model.statistics_)
    words: list[str] = []
    said: list[FloatArray] = []
    texts: list[FloatArray] = []
    views = list(zip(factor.estimate.token_weights(place), statistics, strict=True))
    for view, tokens in views if runs else views[:1]:
        table = tokens.tables[0]
        there = table.vocabulary.places(view.vocabulary.hashes)
        often = np.flatnonzero(table.document_frequency[there] >= min_texts)
        weights = view.weights(often)
        possible = np.isfinite(weights).all(axis=1)
        words += view.vocabulary.texts(often[possible])
        said.append(weights[possible])
        texts.append(table.at(table.documents.high, there[often[possible]]))
    evidence = np.concatenate(said)
    others = evidence.sum(axis=1, keepdims=True) - evidence
    bits = (evidence - others / max(1, evidence.shape[1] - 1)) / np.log(2)
    return Words(words, bits, np.concatenate(texts))
