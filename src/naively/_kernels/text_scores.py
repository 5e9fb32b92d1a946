"""What the tokens of texts say about the classes, from a sparse table of tokens by classes."""

from __future__ import annotations

import numpy as np

from naively._kernels.compiling import kernel
from naively._kernels.reference import MOST_OF_A_TOKEN
from naively.typing import FloatArray, IntArray


@kernel
def add_token_scores(
    bounds: IntArray,
    tokens: IntArray,
    tallies: FloatArray,
    own: IntArray,
    own_weight: FloatArray,
    pointer: IntArray,
    codes: IntArray,
    mass: FloatArray,
    marginal: FloatArray,
    totals: FloatArray,
    share: float,
    pseudo: float,
    ratio: FloatArray,
    against: FloatArray,
) -> None:
    """Add to `ratio` and `against` (rows, classes) what the tokens say; see `naively._weighing.text.add_scores`."""
    n_rows, n_classes, n_tokens = bounds.shape[0] - 1, totals.shape[0], marginal.shape[0]
    everything = totals.sum()
    odds = (1.0 - share) / share
    left = totals.copy()
    for row in range(n_rows):
        whole, weight = everything, own_weight[row]
        if own[row] >= 0:
            taken = 0.0
            for entry in range(bounds[row], bounds[row + 1]):
                if tokens[entry] >= 0:
                    taken += weight * tallies[entry]
            left[own[row]] -= taken
            whole -= taken
        length = 0.0
        for entry in range(bounds[row], bounds[row + 1]):
            token, tally = tokens[entry], tallies[entry]
            if token < 0:
                continue
            rest = marginal[token]
            if own[row] >= 0:
                rest -= weight * tally
                if rest <= 1e-9 * marginal[token]:  # no other text has it
                    continue
            length += tally
            expected = (rest + 1.0) / (whole + n_tokens)
            for cell in range(pointer[token], pointer[token + 1]):
                code, count = codes[cell], mass[cell]
                if code == own[row]:
                    count -= weight * tally
                    if count <= 1e-9 * mass[cell]:
                        continue
                ratio[row, code] += tally * np.log1p(odds * (count / max(left[code], count)) / expected)
                if pseudo > 0.0:
                    against[row, code] -= tally * np.log1p(-min(count / (rest + pseudo), MOST_OF_A_TOKEN))
        if pseudo > 0.0:
            for code in range(n_classes):
                against[row, code] += length * np.log(max(whole - left[code], 0.0) + pseudo * max(n_tokens, 1))
        if own[row] >= 0:
            left[own[row]] = totals[own[row]]


@kernel
def add_weights(
    bounds: IntArray,
    tokens: IntArray,
    tallies: FloatArray,
    pointer: IntArray,
    codes: IntArray,
    weights: FloatArray,
    scores: FloatArray,
) -> None:
    """Add to the scores (rows, classes) the weights of each text's tokens, times their tallies."""
    for row in range(bounds.shape[0] - 1):
        for entry in range(bounds[row], bounds[row + 1]):
            token, tally = tokens[entry], tallies[entry]
            for cell in range(pointer[token], pointer[token + 1]):
                scores[row, codes[cell]] += tally * weights[cell]
