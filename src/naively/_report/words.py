"""What the words of a text column say: the strongest, each alone and each two in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively._report.numbers import logs
from naively._scoring.model import Factor
from naively.typing import FloatArray

MOST_WORDS = 40
FEWEST_TEXTS = 2
"""A word of a single text might tell whose text it was."""

CANDIDATES = 4000
"""Of so many words, the commonest, the strongest are chosen."""


def words_of(factor: Factor, place: int, statistics: Sequence[Any], room: int) -> dict[str, Any]:
    """A text column for the page: the evidence of a text that is some of `words`, in their order.

    It is ``given + stretch[n] * (sum of single + sum of pairs)``: n is the number of words, and a pair counts where its
    two words follow each other.

    Raises
    ------
    GapError
        Where words say nothing by themselves.
    """
    estimate: Any = factor.estimate
    names, lines = strongest_words(factor, place, statistics)
    words = names[: min(room, MOST_WORDS)]
    said = dict(zip(words, lines, strict=False))
    return {
        "kind": "text",
        "words": words,
        "single": logs(np.array([said[word] for word in words]).T) if words else [],
        "pairs": _pairs(estimate, place, words, said),
        "stretch": [estimate.length_factor(" ".join(words[:n])) for n in range(len(words) + 1)],
        "given": logs(_of_text(factor, place, "")),
    }


def strongest_words(factor: Factor, place: int, statistics: Sequence[Any]) -> tuple[list[str], FloatArray]:
    """Words of at least two texts, those that tell classes apart most first, and what each says, (words, classes).

    Raises
    ------
    GapError
        Where words say nothing by themselves.
    """
    factor.family.as_words()
    said = {word: _of_word(factor.estimate, place, word) for word in _commonest(statistics[0], place)}
    spread = {word: float(np.ptp(line)) for word, line in said.items() if np.isfinite(line).all()}
    words = sorted(spread, key=lambda word: (-spread[word], word))
    n_classes = statistics[0].tables[0].n_classes
    return words, np.array([said[word] for word in words]).reshape(-1, n_classes)


def _commonest(tokens: Any, place: int) -> list[str]:
    """The words that most texts have."""
    table = tokens.tables[place]
    often = table.document_frequency
    order = np.argsort(-often, kind="stable")[:CANDIDATES]
    return [str(word) for word in table.vocabulary.texts(order[often[order] >= FEWEST_TEXTS])]


def _of_word(estimate: Any, place: int, word: str) -> FloatArray:
    """What one word adds to the evidence, (classes,), in a text of any length."""
    return np.asarray(estimate.token_evidence(place, word)[1].sum(axis=0) / estimate.length_factor(word))


def _pairs(estimate: Any, place: int, words: list[str], said: dict[str, FloatArray]) -> list[list[Any]]:
    """What two words in a row say beyond what each says: first, second, evidence by class."""
    found = []
    for first, one in enumerate(words):
        for second in range(first + 1, len(words)):
            text = f"{one} {words[second]}"
            names, evidence = estimate.token_evidence(place, text)
            if len(names) > 2:
                more = evidence.sum(axis=0) / estimate.length_factor(text) - said[one] - said[words[second]]
                found.append([first, second, logs(more)])
    return found


def _of_text(factor: Factor, place: int, text: str) -> FloatArray:
    """The evidence of one text of one column, (classes,)."""
    return np.asarray(factor.estimate.evidence([[text]] * len(factor.members))[0, place])
