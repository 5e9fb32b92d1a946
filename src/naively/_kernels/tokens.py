"""Reading UTF-8 bytes as tokens, the compiled twin of `naively._text.tokenise`.

`scan` turns the bytes of texts into a stream of words; `runs` and `character_grams` make other streams of it; `spell`
gives the letters of tokens. A stream is hashes, and where each token starts and ends in the bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from naively._kernels.compiling import inlined, kernel
from naively.typing import AnyArray, IntArray

FNV_START = np.uint64(14695981039346656037)
FNV_PRIME = np.uint64(1099511628211)
MIX = np.uint64(0xD6E8FEB86659FD93)
NEXT = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
SEPARATOR, WORD, JOINER, SYMBOL, WIDE = 0, 1, 2, 3, 4
LAST_HAN = 0x40000


@inlined
def mixed(bits: np.uint64) -> np.uint64:
    """Spread the bits; never 0."""
    bits ^= bits >> HALF
    bits *= MIX
    bits ^= bits >> HALF
    return bits if bits != 0 else np.uint64(1)


@kernel
def code_point(text: AnyArray, at: int, stop: int) -> tuple[Any, int]:
    """The code point that starts at a byte, and the place after it."""
    byte = np.int64(text[at])
    if byte < 0x80:
        return byte, at + 1
    more = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
    point = byte & (0x3F >> more)
    after = min(at + 1 + more, stop)
    for place in range(at + 1, after):
        point = (point << 6) | (np.int64(text[place]) & 0x3F)
    return point, after


@kernel
def next_point(text: AnyArray, at: int, stop: int, kinds: AnyArray, folds: AnyArray) -> tuple[Any, Any, int]:
    """The kind and the folded code point at a byte, and the place after it; past the end there is a separator."""
    if at >= stop:
        return np.int64(SEPARATOR), np.int64(0), at
    point, after = code_point(text, at, stop)
    if point < kinds.shape[0]:
        return np.int64(kinds[point]), np.int64(folds[point]), after
    return np.int64(WIDE if point < LAST_HAN else SEPARATOR), point, after


@kernel
def grown(array: AnyArray, capacity: int) -> AnyArray:
    """A copy of an array with more room at its end."""
    larger = np.empty(capacity, array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def scan_ascii(
    text: AnyArray,
    at: int,
    stop: int,
    letters_of: AnyArray,
    kinds: AnyArray,
    hashes: AnyArray,
    starts: AnyArray,
    ends: AnyArray,
    size: int,
) -> int:
    """Append the words of an ASCII text to the stream; its new size, or -1 if the text is not ASCII.

    `letters_of` folds the bytes of words and is 0 elsewhere.
    """
    bits, start = FNV_START, at
    while at < stop:
        byte = text[at]
        folded = letters_of[byte]
        if folded:
            bits = (bits ^ folded) * FNV_PRIME
            at += 1
            continue
        if byte >= 0x80:
            return -1
        if at > start:
            if kinds[byte] == JOINER and at + 1 < stop and letters_of[text[at + 1]]:
                at += 1
                continue
            hashes[size] = mixed(bits)
            starts[size] = start
            ends[size] = at
            size += 1
            bits = FNV_START
        if kinds[byte] == SYMBOL:
            hashes[size] = mixed((FNV_START ^ np.uint64(byte)) * FNV_PRIME)
            starts[size] = at
            ends[size] = at + 1
            size += 1
        at += 1
        start = at
    if at > start:
        hashes[size] = mixed(bits)
        starts[size] = start
        ends[size] = at
        size += 1
    return size


@kernel
def scan_text(
    text: AnyArray,
    at: int,
    stop: int,
    kinds: AnyArray,
    folds: AnyArray,
    hashes: AnyArray,
    starts: AnyArray,
    ends: AnyArray,
    size: int,
) -> int:
    """Append the words of any text to the stream; its new size."""
    while at < stop:
        start = at
        here, point, at = next_point(text, at, stop, kinds, folds)
        if here == WORD:
            bits = (FNV_START ^ np.uint64(point)) * FNV_PRIME
            while True:
                here, point, after = next_point(text, at, stop, kinds, folds)
                if here == JOINER:
                    here, point, after = next_point(text, after, stop, kinds, folds)
                if here != WORD:
                    break
                bits = (bits ^ np.uint64(point)) * FNV_PRIME
                at = after
            hashes[size] = mixed(bits)
            starts[size] = start
            ends[size] = at
            size += 1
        elif here == SYMBOL:
            hashes[size] = mixed((FNV_START ^ np.uint64(point)) * FNV_PRIME)
            starts[size] = start
            ends[size] = at
            size += 1
        elif here == WIDE:
            alone = True
            while True:
                here, other, after = next_point(text, at, stop, kinds, folds)
                if here != WIDE:
                    break
                hashes[size] = mixed((((FNV_START ^ np.uint64(point)) * FNV_PRIME) ^ np.uint64(other)) * FNV_PRIME)
                starts[size] = start
                ends[size] = after
                size += 1
                alone = False
                start, point, at = at, other, after
            if alone:
                hashes[size] = mixed((FNV_START ^ np.uint64(point)) * FNV_PRIME)
                starts[size] = start
                ends[size] = at
                size += 1
    return size


@kernel
def scan(
    text: AnyArray, bounds: IntArray, kinds: AnyArray, folds: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray, IntArray]:
    """The words of the texts ``text[bounds[i, 0]:bounds[i, 1]]``: hashes, first and last bytes, and texts' bounds.

    `kinds` and `folds` cover the code points below their length; it is enough that they cover ASCII if the texts do.
    """
    letters_of = np.zeros(256, np.uint64)
    for byte in range(128):
        if kinds[byte] == WORD:
            letters_of[byte] = folds[byte]
    n_texts = bounds.shape[0]
    capacity = 1024
    if n_texts:
        capacity += (bounds[n_texts - 1, 1] - bounds[0, 0]) // 5
    hashes = np.empty(capacity, np.uint64)
    starts = np.empty(capacity, np.int32)  # a block is far below 2 GB
    ends = np.empty(capacity, np.int32)
    pointer = np.zeros(n_texts + 1, np.int64)
    size = 0
    for document in range(n_texts):
        at, stop = bounds[document, 0], bounds[document, 1]
        if size + stop - at > capacity:  # a token has at least one byte
            capacity = 2 * capacity + stop - at
            hashes = grown(hashes, capacity)
            starts = grown(starts, capacity)
            ends = grown(ends, capacity)
        after = scan_ascii(text, at, stop, letters_of, kinds, hashes, starts, ends, size)
        if after < 0:
            after = scan_text(text, at, stop, kinds, folds, hashes, starts, ends, size)
        size = after
        pointer[document + 1] = size
    return hashes[:size], starts[:size], ends[:size], pointer


@kernel
def runs(
    hashes: AnyArray, pointer: IntArray, shortest: int, longest: int
) -> tuple[AnyArray, IntArray, AnyArray, IntArray]:
    """The runs of `shortest` to `longest` tokens: hashes, position of the first token, length, and texts' bounds."""
    n_texts = pointer.shape[0] - 1
    capacity = hashes.shape[0] * (longest - shortest + 1)
    out = np.empty(capacity, np.uint64)
    firsts = np.empty(capacity, np.int64)
    lengths = np.empty(capacity, np.int8)
    bounds = np.zeros(n_texts + 1, np.int64)
    size = 0
    for document in range(n_texts):
        stop = pointer[document + 1]
        for n in range(shortest, longest + 1):
            for first in range(pointer[document], stop - n + 1):
                bits = hashes[first]
                for place in range(first + 1, first + n):
                    bits = mixed(bits * NEXT + hashes[place])
                out[size] = bits
                firsts[size] = first
                lengths[size] = n
                size += 1
        bounds[document + 1] = size
    return out[:size], firsts[:size], lengths[:size], bounds


@kernel
def letters(text: AnyArray, start: int, end: int, kinds: AnyArray, folds: AnyArray, out: IntArray) -> int:
    """The folded code points of a token, apostrophes left out; returns how many."""
    planes, size, at = kinds.shape[0], 0, start
    while at < end:
        point, at = code_point(text, at, end)
        if point < planes:
            if kinds[point] == JOINER:
                continue
            point = np.int64(folds[point])
        out[size] = point
        size += 1
    return size


@kernel
def character_grams(
    text: AnyArray,
    starts: IntArray,
    ends: IntArray,
    pointer: IntArray,
    kinds: AnyArray,
    folds: AnyArray,
    shortest: int,
    longest: int,
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, IntArray]:
    """The runs of characters of each token with a space at both ends.

    Returns hashes, the token and the offset of each gram, its length, and texts' bounds.
    """
    n_texts = pointer.shape[0] - 1
    capacity, widest = 16, 0
    for token in range(starts.shape[0]):
        width = ends[token] - starts[token] + 2
        widest = max(widest, width)
        capacity += width * (longest - shortest + 1)
    out = np.empty(capacity, np.uint64)
    tokens = np.empty(capacity, np.int32)
    offsets = np.empty(capacity, np.int32)
    lengths = np.empty(capacity, np.int8)
    bounds = np.zeros(n_texts + 1, np.int64)
    padded = np.empty(widest + 2, np.int64)
    padded[0] = 32
    size = 0
    for document in range(n_texts):
        for token in range(pointer[document], pointer[document + 1]):
            length = letters(text, starts[token], ends[token], kinds, folds, padded[1:]) + 2
            padded[length - 1] = 32
            for n in range(shortest, longest + 1):
                for offset in range(length - n + 1):
                    bits = FNV_START
                    for place in range(offset, offset + n):
                        bits = (bits ^ np.uint64(padded[place])) * FNV_PRIME
                    out[size] = mixed(bits)
                    tokens[size], offsets[size], lengths[size] = token, offset, n
                    size += 1
        bounds[document + 1] = size
    return out[:size], tokens[:size], offsets[:size], lengths[:size], bounds


@kernel
def spell(
    text: AnyArray,
    starts: IntArray,
    ends: IntArray,
    firsts: AnyArray,
    lengths: AnyArray,
    kinds: AnyArray,
    folds: AnyArray,
) -> tuple[AnyArray, IntArray]:
    """The folded UTF-8 bytes of runs of tokens, a space between the tokens of a run, and the bounds of the runs."""
    n_runs = firsts.shape[0]
    capacity, widest = 16, 0
    for run in range(n_runs):
        for token in range(firsts[run], firsts[run] + lengths[run]):
            width = ends[token] - starts[token]
            widest = max(widest, width)
            capacity += 2 * width + 1
    out = np.empty(capacity, np.uint8)
    points = np.empty(widest + 1, np.int64)
    bounds = np.zeros(n_runs + 1, np.int64)
    size = 0
    for run in range(n_runs):
        for token in range(firsts[run], firsts[run] + lengths[run]):
            if token > firsts[run]:
                out[size] = 32
                size += 1
            for place in range(letters(text, starts[token], ends[token], kinds, folds, points)):
                point = points[place]
                if point < 0x80:
                    out[size] = point
                    size += 1
                elif point < 0x800:
                    out[size], out[size + 1] = 0xC0 | (point >> 6), 0x80 | (point & 0x3F)
                    size += 2
                elif point < 0x10000:
                    out[size] = 0xE0 | (point >> 12)
                    out[size + 1], out[size + 2] = 0x80 | ((point >> 6) & 0x3F), 0x80 | (point & 0x3F)
                    size += 3
                else:
                    out[size], out[size + 1] = 0xF0 | (point >> 18), 0x80 | ((point >> 12) & 0x3F)
                    out[size + 2], out[size + 3] = 0x80 | ((point >> 6) & 0x3F), 0x80 | (point & 0x3F)
                    size += 4
        bounds[run + 1] = size
    return out[:size], bounds
