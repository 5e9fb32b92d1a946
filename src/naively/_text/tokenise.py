"""What a token is: the rule, its plain Python reference, and the views of a text that are counted.

A text is read code point by code point. Each is of one of five kinds:

=========  ============================================================================================================
word       letters, marks and numbers (Unicode's L, M and N) and the underscore: a run of them is a token
joiner     an apostrophe between two of those is dropped ("don't" is ``dont``); elsewhere it separates
symbol     emoji and other symbols, currency signs: each is a token by itself
wide       letters of scripts that put no spaces between words (Han, kana, Thai, Lao, Khmer, Burmese): a run of them
           gives its overlapping pairs, and itself if it is one letter
separator  everything else
=========  ============================================================================================================

Capitals are folded one code point to one code point, the final sigma to a sigma. A token is known by a 64-bit hash of
its code points (FNV-1a, then mixed); a run of n tokens by a hash of theirs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from naively._text.entities import marked
from naively.errors import InputTypeError, brief
from naively.typing import AnyArray, IntArray

SEPARATOR, WORD, JOINER, SYMBOL, WIDE = range(5)

PLANES = 0x20000
"""Code points above are Han, up to 0x40000, or separators."""

LAST_HAN = 0x40000
JOINERS = (0x27, 0x2019, 0x2BC)
WIDE_RANGES = (
    (0x0E00, 0x0E7F),  # Thai
    (0x0E80, 0x0EFF),  # Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),
    (0x3021, 0x302F),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # half-width kana
    (0x16FE0, 0x18DFF),
    (0x1AFF0, 0x1B2FF),
)
KIND_OF_CATEGORY = {"L": WORD, "M": WORD, "N": WORD, "So": SYMBOL, "Sc": SYMBOL}
CASED = ("Lu", "Lt", "Nl", "So")
"""The categories of code points that have a lower case."""

FINAL_SIGMA, SIGMA = 0x3C2, 0x3C3

FNV_START, FNV_PRIME, MIX, NEXT = 14695981039346656037, 1099511628211, 0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class View:
    """Which tokens of a text are counted, and how: what an engine must know.

    Parameters
    ----------
    unit : "words" or "characters"
        Runs of words, or runs of characters within a word with a space at both ends.
    shortest, longest : int
        The lengths of the runs.
    lowercase : bool
    stop_words : tuple of str
        Words that are left out.
    tally : "count", "presence" or "log"
        What an occurrence adds: each one its own, all of a text together 1, or ``log(1 + count)`` for all.
    unit_length : bool
        Whether each text's tallies are scaled to a Euclidean norm of 1.
    buckets : int or None
        Tokens are known by their hash modulo this number, and not by name.
    most_tokens : int or None
        Keep only so many tokens, those with the largest mass.
    tokenizer : callable or None
        From a text to its words, in place of the rule.
    entities : tuple of str
        What is a token of its own: some of `naively._text.entities.ENTITIES`.
    """

    unit: Literal["words", "characters"] = "words"
    shortest: int = 1
    longest: int = 1
    lowercase: bool = True
    stop_words: tuple[str, ...] = ()
    tally: Literal["count", "presence", "log"] = "count"
    unit_length: bool = False
    buckets: int | None = None
    most_tokens: int | None = None
    tokenizer: Callable[[str], Sequence[str]] | None = None
    entities: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call it in a report."""
        lengths = f"{self.shortest}" if self.shortest == self.longest else f"{self.shortest} to {self.longest}"
        return f"{self.unit} {lengths}"

    @property
    def words(self) -> str:
        """The view and its options that are not the usual ones, in the words of a message."""
        usual = View(self.unit, self.shortest, self.longest)
        changed = [field.name for field in fields(self) if getattr(self, field.name) != getattr(usual, field.name)]
        return ", ".join([self.name, *(f"{name}={brief(getattr(self, name), 80)}" for name in changed)])


@lru_cache(maxsize=4)
def code_points(size: int = PLANES, lowercase: bool = True) -> tuple[AnyArray, AnyArray]:
    """The kind (uint8) and the folded code point (int32) of the first `size` code points."""
    categories = list(map(unicodedata.category, map(chr, range(size))))
    of = {name: KIND_OF_CATEGORY.get(name, KIND_OF_CATEGORY.get(name[0], SEPARATOR)) for name in set(categories)}
    kind = np.array([of[name] for name in categories], dtype=np.uint8)
    fold = np.arange(size, dtype=np.int32)
    if lowercase:
        cased = [point for point, name in enumerate(categories) if name in CASED]
        fold[cased] = [ord(chr(point).lower()[0]) for point in cased]
        fold[fold == FINAL_SIGMA] = SIGMA
    for low, high in WIDE_RANGES:
        part = kind[low : high + 1]
        part[part == WORD] = WIDE
    kind[0xFE00:0xFE10] = SEPARATOR  # variation selectors are marks by name only
    kind[[point for point in JOINERS if point < size]] = JOINER
    kind[ord("_")] = WORD
    for table in (kind, fold):
        table.flags.writeable = False
    return kind, fold


_ASCII = re.compile(r"(?:\w|(?<=\w)'(?=\w))+|\$", re.ASCII)


def words(text: str, lowercase: bool = True) -> list[str]:
    """The tokens of a text, in order.

    Examples
    --------
    >>> words("Don't panic: it's £5, 3rd_try ☕!")
    ['dont', 'panic', 'its', '£', '5', '3rd_try', '☕']
    >>> words("東京都 ΟΔΟΣ naïve")
    ['東京', '京都', 'οδοσ', 'naïve']
    """
    if text.isascii():
        return [word.replace("'", "") for word in _ASCII.findall(text.lower() if lowercase else text)]
    kinds, folded = _classified(text, lowercase)
    found: list[str] = []
    at, end = 0, len(kinds)
    while at < end:
        here, start = kinds[at], at
        at += 1
        if here == SYMBOL:
            found.append(folded[start])
        elif here == WORD:
            at, word = _word(kinds, folded, start)
            found.append(word)
        elif here == WIDE:
            while at < end and kinds[at] == WIDE:
                at += 1
            if at - start == 1:
                found.append(folded[start])
            found.extend(folded[place : place + 2] for place in range(start, at - 1))
    return found


def _classified(text: str, lowercase: bool) -> tuple[list[int], str]:
    """The kinds of the code points of a text, and the text folded."""
    kind, fold = code_points(PLANES, lowercase)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    inside = points < PLANES
    clipped = np.where(inside, points, 0)
    kinds = np.where(inside, kind[clipped], np.where(points < LAST_HAN, WIDE, SEPARATOR))
    return kinds.tolist(), "".join(map(chr, np.where(inside, fold[clipped], points).tolist()))


def _word(kinds: list[int], folded: str, start: int) -> tuple[int, str]:
    """Where a word ends, and the word without its apostrophes."""
    at, end, parts = start, len(kinds), []
    while at < end:
        if kinds[at] == WORD:
            parts.append(folded[at])
        elif not (kinds[at] == JOINER and kinds[at - 1] == WORD and at + 1 < end and kinds[at + 1] == WORD):
            break
        at += 1
    return at, "".join(parts)


def grams(tokens: Sequence[str], view: View) -> list[str]:
    """The runs of words, or of characters, that a view counts.

    Examples
    --------
    >>> grams(["to", "be", "or"], View(shortest=1, longest=2))
    ['to', 'be', 'or', 'to be', 'be or']
    >>> grams(["be"], View("characters", 3, 4))
    [' be', 'be ', ' be ']
    """
    lengths = range(view.shortest, view.longest + 1)
    if view.unit == "words":
        return [" ".join(tokens[at : at + n]) for n in lengths for at in range(len(tokens) - n + 1)]
    padded = [f" {token} " for token in tokens]
    return [token[at : at + n] for token in padded for n in lengths for at in range(len(token) - n + 1)]


# -- hashes -------------------------------------------------------------------------------------------------------


def mixed(bits: int) -> int:
    """Spread the bits of a 64-bit number."""
    bits ^= bits >> 32
    bits = bits * MIX & MASK
    return bits ^ bits >> 32


@lru_cache(maxsize=1 << 16)
def token_hash(token: str) -> int:
    """The hash of a token; it is never 0.

    Examples
    --------
    >>> hex(token_hash("free"))
    '0x3094973f45e769e6'
    """
    bits = FNV_START
    for character in token:
        bits = (bits ^ ord(character)) * FNV_PRIME & MASK
    return mixed(bits) or 1


def run_hash(hashes: Sequence[int]) -> int:
    """The hash of a run of tokens, from theirs: that of the token itself if it is one."""
    bits = hashes[0]
    for following in hashes[1:]:
        bits = mixed((bits * NEXT + following) & MASK) or 1
    return bits


def gram_hashes(tokens: Sequence[str], view: View) -> list[int]:
    """The hashes of what `grams` gives, in the same order."""
    if view.unit == "characters":
        return [token_hash(gram) for gram in grams(tokens, view)]
    hashes = [token_hash(token) for token in tokens]
    lengths = range(view.shortest, view.longest + 1)
    return [run_hash(hashes[at : at + n]) for n in lengths for at in range(len(hashes) - n + 1)]


# -- reference ----------------------------------------------------------------------------------------------------


def tokens_of(text: str, view: View) -> list[str]:
    """The words of a text that a view starts from: by the rule or the tokenizer, without stop words."""
    if view.tokenizer is not None:
        found = _custom(view.tokenizer, text)
    else:
        found = words(marked(text, view.entities) if view.entities else text, view.lowercase)
    if not view.stop_words:
        return found
    unwanted = frozenset(view.stop_words)
    return [token for token in found if token not in unwanted]


TOKENIZER = "The function of Text(tokenizer) or Text(analyzer)"


def _custom(tokenizer: Callable[[str], Any], text: str) -> list[str]:
    found = tokenizer(text)
    if isinstance(found, str) or not hasattr(found, "__iter__"):
        raise InputTypeError(f"{TOKENIZER} must give a list of words, got {type(found).__name__}: {found!r:.60}.")
    result = list(found)
    wrong = next((token for token in result if not isinstance(token, str)), None)
    if wrong is not None:
        raise InputTypeError(f"{TOKENIZER} must give words as str, got {type(wrong).__name__}: {wrong!r:.60}.")
    return result


@dataclass(frozen=True)
class Stream:
    """The tokens of some texts, one after the other.

    Parameters
    ----------
    hashes : ndarray of uint64
    bounds : ndarray of int64, one longer than the texts
        Where each text's tokens start, and where the last one's end.
    spell : callable
        From positions in the stream to the tokens' texts, as a list.
    """

    hashes: AnyArray
    bounds: IntArray
    spell: Callable[[IntArray], list[str]]


def read_texts(texts: Sequence[str | None], view: View) -> Stream:
    """The tokens of texts, in plain Python; a missing text has none."""
    found: list[str] = []
    hashes: list[int] = []
    ends = [0]
    for text in texts:
        if text is not None:
            tokens = tokens_of(text, view)
            found.extend(grams(tokens, view))
            hashes.extend(gram_hashes(tokens, view))
        ends.append(len(found))
    return Stream(
        np.array(hashes, dtype=np.uint64),
        np.array(ends, dtype=np.int64),
        lambda places: [found[place] for place in places.tolist()],
    )
