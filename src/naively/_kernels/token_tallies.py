"""Counting a stream of tokens text by text: all that come, or those that a hash table knows."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively._kernels.tokens import grown
from naively.typing import AnyArray, IntArray


@kernel
def tally(hashes: AnyArray, bounds: IntArray) -> tuple[AnyArray, IntArray, IntArray, AnyArray, AnyArray]:
    """The distinct tokens of a stream (hash, first position), and each text's as rows (bounds, tokens, counts)."""
    n_texts = bounds.shape[0] - 1
    mask = (1 << 14) - 1
    keys, ids = np.zeros(mask + 1, np.uint64), np.zeros(mask + 1, np.int32)
    room = (mask + 1) // 2
    vocabulary, first = np.empty(room, np.uint64), np.empty(room, np.int64)
    last, place = np.empty(room, np.int32), np.empty(room, np.int64)  # the last text that had it, and where
    n_tokens, size = 0, 0
    pointer = np.zeros(n_texts + 1, np.int64)
    tokens, counts = np.empty(hashes.shape[0], np.int32), np.empty(hashes.shape[0], np.int32)
    for document in range(n_texts):
        for position in range(bounds[document], bounds[document + 1]):
            bits = hashes[position]
            slot = np.int64(bits & np.uint64(mask))
            while keys[slot] != bits and keys[slot] != 0:
                slot = (slot + 1) & mask
            if keys[slot] == bits:
                token = ids[slot]
            else:
                if n_tokens >= room:
                    mask = 2 * mask + 1
                    keys, ids = np.zeros(mask + 1, np.uint64), np.zeros(mask + 1, np.int32)
                    for known in range(n_tokens):
                        slot = np.int64(vocabulary[known] & np.uint64(mask))
                        while keys[slot] != 0:
                            slot = (slot + 1) & mask
                        keys[slot], ids[slot] = vocabulary[known], known
                    room = (mask + 1) // 2
                    vocabulary, first = grown(vocabulary, room), grown(first, room)
                    last, place = grown(last, room), grown(place, room)
                    slot = np.int64(bits & np.uint64(mask))
                    while keys[slot] != 0:
                        slot = (slot + 1) & mask
                token = n_tokens
                keys[slot], ids[slot] = bits, token
                vocabulary[token], first[token], last[token] = bits, position, -1
                n_tokens += 1
            if last[token] != document:
                last[token], place[token] = document, size
                tokens[size], counts[size] = token, 1
                size += 1
            else:
                counts[place[token]] += 1
        pointer[document + 1] = size
    return vocabulary[:n_tokens].copy(), first[:n_tokens].copy(), pointer, tokens[:size].copy(), counts[:size].copy()


@kernel
def indexed(hashes: AnyArray) -> tuple[AnyArray, AnyArray]:
    """A hash table of distinct tokens: keys, and where each stands; half of it or more is empty (0)."""
    mask = 15
    while mask + 1 < 2 * hashes.shape[0]:
        mask = 2 * mask + 1
    keys, ids = np.zeros(mask + 1, np.uint64), np.zeros(mask + 1, np.int32)
    for token in range(hashes.shape[0]):
        slot = np.int64(hashes[token] & np.uint64(mask))
        while keys[slot] != 0:
            slot = (slot + 1) & mask
        keys[slot], ids[slot] = hashes[token], token
    return keys, ids


@kernel
def tally_known(
    hashes: AnyArray, bounds: IntArray, keys: AnyArray, ids: AnyArray, n_tokens: int
) -> tuple[IntArray, AnyArray, AnyArray]:
    """Each text's tokens that a hash table knows, as rows: bounds, tokens, counts."""
    n_texts, mask = bounds.shape[0] - 1, keys.shape[0] - 1
    last, place = np.full(n_tokens, -1, np.int32), np.empty(n_tokens, np.int32)  # the last text that had it, and where
    pointer = np.zeros(n_texts + 1, np.int64)
    tokens, counts = np.empty(hashes.shape[0], np.int32), np.empty(hashes.shape[0], np.int32)
    size = 0
    for document in range(n_texts):
        for position in range(bounds[document], bounds[document + 1]):
            bits = hashes[position]
            slot = np.int64(bits & np.uint64(mask))
            while keys[slot] != bits and keys[slot] != 0:
                slot = (slot + 1) & mask
            if keys[slot] == 0:
                continue
            token = ids[slot]
            if last[token] != document:
                last[token], place[token] = document, size
                tokens[size], counts[size] = token, 1
                size += 1
            else:
                counts[place[token]] += 1
        pointer[document + 1] = size
    return pointer, tokens[:size].copy(), counts[:size].copy()
