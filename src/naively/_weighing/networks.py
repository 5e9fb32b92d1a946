"""Networks: small neural networks that read all columns at once, each of which learns the rows of all folds but one.

A network has two layers of units, each the positive part of a weighted sum, and starts at the prior. It learns by steps
down the log-loss of a few rows at a time (Adam; Kingma and Ba, 2015), and answers by the running mean of its weights.
From time to time all networks are asked about the rows of their folds: they stop when that gets no better, and go back
to where it was best. A row's left-out scores are those of the network of its fold, and those of a new row are the mean.

Weights and steps are in double precision: rounding grows from step to step, by some six digits, and in single precision
answers would differ with the order of the classes and from machine to machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri

from naively._weighing.experts import FittedExpert, LearntRows
from naively._weighing.joint_gaussian import Rescaling
from naively._weighing.similar import LEAST_ROWS, cells_of, plan_columns
from naively._weighing.softmax import log_loss, log_softmax, loss_and_residual
from naively._weighing.terms import Column
from naively.typing import FloatArray, IntArray

N_UNITS, N_LAYERS = 64, 2

MOST_INPUTS = 512
"""With more nothing is learnt: columns chosen since they seem to tell most would tell the rows they were chosen by."""

ROWS_PER_LABEL = 8
"""Labels of which there are fewer rows each are not read: networks would learn by heart whose identifier it is."""

N_FILLS = 8
"""So many cells stand for an unknown one, in turn."""

LARGEST_UNIT = 4.5
"""What a label weighs beside numbers, at most: a rare one would weigh very much."""

ROWS_OF_A_STEP, ROWS_OF_MANY, MANY_ROWS = 32, 256, 5000
"""Of so many rows at once a step lowers the loss, and of so many where there are more rows than the last of these."""

MOST_STEPS, MOST_ROWS_SEEN = 3000, 1 << 18
"""Steps, and rows that each network sees in them, after which learning stops in any case."""

STEP = 0.016
STEP_OF_SCALES = 3.0
"""By how many times longer steps than the other weights the scales of the inputs find what matters."""

SHRINKAGE = 0.0016
"""The share of itself that each weight loses in a step."""

MOMENTUM, SQUARES_KEPT, LEAST_ROOT = 0.9, 0.99, 1e-6
"""What stays, from step to step, of the running means of gradients and of their squares; what is added to the root."""

LOOKS_OF_AN_EPOCH, LEAST_STEPS_OF_A_LOOK = 2, 5
"""How often the networks are asked, while they see each row once, about the rows that they do not see."""

ROWS_OF_A_LOOK = 4096
"""So many rows, at most, are asked about at a look."""

FIRST_LOOKS, SHARE_OF_FIRST_LOOKS, SHARE_OF_A_LOOK = 3, 0.5, 0.2
"""How much the weights at a look count in their running mean; at the first looks they get better fast."""

PATIENCE, PATIENCE_OF_LOOKS = 4, 1 / 4
"""Looks without a lower loss after which learning stops, and as many more as this share of those until the least."""

LEAST_GAIN = 1e-5
"""Nats per row by which the left-out loss must fall below its least so far, to count as lower."""

LEAST_GAIN_OF_ALL = 2.0
"""Nats, over all left-out rows, that networks must gain together: less may be chance."""


DIGITS = 9
"""So many digits after the point of an input are learnt: what rounding makes of others would grow."""


@dataclass(frozen=True)
class Inputs:
    """What networks read: of each number its normal score, of each label whether it is there.

    Parameters
    ----------
    columns : tuple of int
        The columns that are read.
    scales : tuple
        For each, how its numbers become normal scores, or how many labels it has.
    usual : ndarray (inputs,)
        The mean of each; an unknown cell has it while networks learn.
    """

    columns: tuple[int, ...]
    scales: tuple[Rescaling | int, ...]
    usual: FloatArray

    def __call__(self, columns: Sequence[Column]) -> FloatArray:
        """The inputs of rows (rows, inputs), NaN where a cell is unknown."""
        return np.concatenate(cells_of(columns, self.columns, self.scales), axis=1)

    @cached_property
    def fills(self) -> FloatArray:
        """What may stand for unknown cells (fills, inputs): of each column, cells that are spread like those it has."""
        random, start, parts = np.random.RandomState(0), 0, []
        for scale in self.scales:
            levels = (random.permutation(N_FILLS) + 0.5) / N_FILLS
            stop = start + n_inputs(scale)
            parts.append(
                np.searchsorted(np.cumsum(self.usual[start:stop])[:-1], levels)[:, None] == np.arange(scale)
                if isinstance(scale, int)
                else ndtri(levels)[:, None]
            )
            start = stop
        return np.concatenate(parts, axis=1)

    @cached_property
    def of_columns(self) -> IntArray:
        """The first input of each column."""
        return np.cumsum([0, *map(n_inputs, self.scales[:-1])])


def n_inputs(scale: Rescaling | int) -> int:
    """How many inputs a column has."""
    return scale if isinstance(scale, int) else 1


@dataclass(frozen=True)
class NetworksExpert:
    """The mean of the scores of several networks.

    Parameters
    ----------
    inputs : Inputs
    weights : tuple of ndarray (networks, from, to)
        Of each layer.
    biases : tuple of ndarray (networks, 1, to)
    log_prior : ndarray (classes,)
    """

    inputs: Inputs
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    log_prior: FloatArray
    name: str = "networks"

    def log_proba(self, columns: Sequence[Column]) -> FloatArray:
        """Log-probabilities (rows, classes); a row of which nothing is known has the prior."""
        return self._answers(self.inputs(columns), np.arange(len(self.weights[0])))

    def left_out(self, table: FloatArray, folds: IntArray) -> tuple[FloatArray, FloatArray | None]:
        """Log-probabilities of rows (rows, classes), each by the network that did not see its fold, and their noise.

        How far two networks are apart that both saw a row tells how much of an answer is the chance of one network.

        Parameters
        ----------
        table : ndarray (rows, inputs)
            NaN where a cell is unknown.
        folds : ndarray (rows,)
        """
        count = len(self.weights[0])
        log_proba, noise = np.empty((2, len(table), len(self.log_prior)))
        for fold in range(count):
            rows = np.flatnonzero(folds == fold)
            own, one, other = (self._answers(table[rows], np.array([(fold + by) % count])) for by in range(3))
            log_proba[rows], noise[rows] = own, one - other
        return log_proba, noise * (0.5 * (1.0 - 1.0 / count)) ** 0.5 if count > 2 else None

    def _answers(self, table: FloatArray, networks: IntArray) -> FloatArray:
        """The log-probabilities (rows, classes) of some networks together.

        Where cells are unknown it is the mean of the probabilities with several cells in their place, less what that
        mean is beyond the prior if nothing is known, by the share of cells that are not.
        """
        unknown = np.isnan(table)
        some = unknown.any(axis=1)
        log_proba = self._of_known(np.where(unknown, 0.0, table) if some.any() else table, networks)
        if some.any():
            missing = unknown[some][:, self.inputs.of_columns].mean(axis=1)
            of_unknown = self._of_filled(np.full((1, table.shape[1]), np.nan), networks) - self.log_prior
            said = self._of_filled(table[some], networks) - np.outer(missing, of_unknown)
            log_proba[some] = log_softmax(said, axis=1)
        return log_proba

    def _of_filled(self, table: FloatArray, networks: IntArray) -> FloatArray:
        unknown = np.isnan(table)
        each = [self._of_known(np.where(unknown, fill, table), networks) for fill in self.inputs.fills]
        return np.asarray(logsumexp(each, axis=0) - np.log(len(each)))

    def _of_known(self, table: FloatArray, networks: IntArray) -> FloatArray:
        weights, biases = self.weights, self.biases
        if len(networks) < len(weights[0]):
            weights, biases = (tuple(one[networks] for one in part) for part in (weights, biases))
        return log_softmax(scores_of(table, weights, biases).mean(axis=0), axis=1)


def scores_of(table: FloatArray, weights: Sequence[FloatArray], biases: Sequence[FloatArray]) -> FloatArray:
    """The scores (networks, rows, classes) of rows (rows, inputs), or of other rows for each network."""
    units = table
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        units = units @ weight
        units += bias
        np.maximum(units, 0.0, out=units)
    return np.asarray(units @ weights[-1] + biases[-1])


def fit_networks(learnt: LearntRows, n_labels: Sequence[int], names: Sequence[str]) -> FittedExpert | None:
    """Networks, and the left-out log-probabilities of the kept rows, each by the network that did not see its fold.

    None without columns that vary, with few rows, with very many inputs, or if the networks tell nothing.

    Parameters
    ----------
    learnt : LearntRows
    n_labels : sequence of int
        How many labels each categorical column has.
    names : sequence of str
        What the columns are called: networks read them in this order, whatever the order of the columns in the table.
    """
    log_prior, target, weights = learnt.additive.log_prior, learnt.target, learnt.weights
    folds = np.unique(learnt.folds, return_inverse=True)[1]
    inputs, units = plan_inputs(learnt, n_labels, names)
    if not 0 < len(units) <= MOST_INPUTS or len(target) < LEAST_ROWS or folds.max() == 0:
        return None
    table = inputs(learnt.columns)
    rounded = np.round(table, DIGITS) + 0.0  # no sign of 0, nor last bits, which differ from kernel to kernel
    order = order_of_content(rounded, np.exp(log_prior)[target])
    seen = np.nan_to_num((rounded - inputs.usual) * units)[order]
    found = learn(seen, target[order], weights[order], folds[order], np.exp(log_prior))
    if log_loss(np.tile(log_prior, (len(target), 1)), target, weights) - found.loss < LEAST_GAIN_OF_ALL:
        return None
    (first, *others), (bias, *biases) = found.layers[0::2], found.layers[1::2]
    first = units[:, None] * first
    expert = NetworksExpert(inputs, (first, *others), (bias - (inputs.usual @ first)[:, None], *biases), log_prior)
    return FittedExpert(expert, *expert.left_out(table, folds))


def plan_inputs(learnt: LearntRows, n_labels: Sequence[int], names: Sequence[str]) -> tuple[Inputs, FloatArray]:
    """The columns that vary and may bend, in the order of their names, and the units in which networks learn them."""
    found = plan_columns(learnt, n_labels, np.zeros(len(names)), n_inputs)
    most_labels = len(learnt.target) // ROWS_PER_LABEL
    found = {place: read for place, read in found.items() if n_inputs(read[0]) <= most_labels}
    places = tuple(sorted(found, key=names.__getitem__))
    scales = tuple(found[place][0] for place in places)
    pairs = zip(places, scales, strict=True)
    units = [np.full(n_inputs(scale), min(found[place][1], LARGEST_UNIT)) for place, scale in pairs]
    usual = [_mean_of_known(part, learnt.weights) for part in cells_of(learnt.columns, places, scales)]
    return Inputs(places, scales, np.concatenate([*usual, np.empty(0)])), np.concatenate([*units, np.empty(0)])


def order_of_content(table: FloatArray, shares: FloatArray) -> IntArray:
    """An order of the rows (rows, inputs) by what they hold, and by the share of their class where they hold the same.

    The kept rows come in an order that depends on the order of the classes, which should mean nothing.
    """
    keys = [int.from_bytes(blake2b(row, digest_size=8).digest()) for row in table]
    return np.lexsort((shares, np.array(keys, dtype=np.uint64)))


def _mean_of_known(part: FloatArray, weights: FloatArray) -> FloatArray:
    known = ~np.isnan(part[:, 0])
    return np.round(np.average(part[known], axis=0, weights=weights[known]), DIGITS)


class Learned(NamedTuple):
    """Networks that have learnt.

    Parameters
    ----------
    layers : list of ndarray (networks, from, to)
        For each layer its weights and its biases.
    loss : float
        The log-loss of all rows, each by the network that did not see its fold.
    """

    layers: list[FloatArray]
    loss: float


def learn(table: FloatArray, target: IntArray, weights: FloatArray, folds: IntArray, prior: FloatArray) -> Learned:
    """Let one network for each fold learn the rows of the others, as long as they answer better for those of their own.

    Parameters
    ----------
    table : ndarray (rows, inputs)
    target, weights, folds : ndarray (rows,)
    prior : ndarray (classes,)
    """
    random = np.random.RandomState(0)
    rows_at_once = ROWS_OF_A_STEP if len(target) <= MANY_ROWS else ROWS_OF_MANY
    networks, look_at = (
        _Networks(table.shape[1], int(folds.max()) + 1, prior, random),
        _Looks(table, target, weights, folds),
    )
    seen = [np.flatnonzero(folds != fold) for fold in range(networks.count)]
    n_seen, most_steps = min(map(len, seen)), min(MOST_STEPS, MOST_ROWS_SEEN // rows_at_once)
    n_steps = max(1, n_seen // rows_at_once)  # in which each row is seen once
    steps_of_a_look = max(LEAST_STEPS_OF_A_LOOK, n_steps // LOOKS_OF_AN_EPOCH)
    mean, best, least, least_at, n_looks = networks.numbers.copy(), networks.numbers, np.inf, 0, 0
    for step, rows in enumerate(_batches(seen, n_seen, n_steps, random), 1):
        networks.step(table[rows], target[rows], weights[rows] / weights.mean())
        if step % steps_of_a_look == 0:
            n_looks += 1
            mean += (SHARE_OF_FIRST_LOOKS if n_looks <= FIRST_LOOKS else SHARE_OF_A_LOOK) * (networks.numbers - mean)
            loss = look_at(networks.layers(mean))
            if loss < least - LEAST_GAIN * weights.sum():
                least, least_at, best = loss, n_looks, mean.copy()
            elif n_looks - least_at >= PATIENCE + PATIENCE_OF_LOOKS * least_at:
                break
        if step >= most_steps:
            break
    return Learned(networks.layers(best), least)


def _batches(seen: Sequence[IntArray], n_seen: int, n_steps: int, random: np.random.RandomState) -> Iterator[IntArray]:
    """The rows (networks, rows) of one step after the other: each network sees its rows in an order of chance."""
    while True:
        order = np.stack([random.permutation(rows)[:n_seen] for rows in seen])
        yield from np.split(order[:, : n_seen // n_steps * n_steps], n_steps, axis=1)


class _Looks:
    """How well networks answer for the rows of their folds, or for as many as are needed to tell."""

    def __init__(self, table: FloatArray, target: IntArray, weights: FloatArray, folds: IntArray) -> None:
        every = -(-len(target) // ROWS_OF_A_LOOK)
        self.parts = []
        for fold in range(int(folds.max()) + 1):
            all_rows = np.flatnonzero(folds == fold)
            rows = all_rows[::every]
            worth = weights[all_rows].sum() / weights[rows].sum()
            self.parts.append((table[rows], target[rows], weights[rows] * worth))

    def __call__(self, layers: Sequence[FloatArray]) -> float:
        """The log-loss of all rows."""
        loss = 0.0
        for network, (table, target, weights) in enumerate(self.parts):
            scores = scores_of(table, *([one[network] for one in layers[kind::2]] for kind in (0, 1)))
            loss += loss_and_residual(scores, target, weights)[0]
        return loss


class _Networks:
    """Networks that learn side by side: their weights are one table, of which the layers are parts.

    Parameters
    ----------
    n_inputs, count : int
        How many inputs each has, and how many networks there are.
    prior : ndarray (classes,)
        What they say before they have learnt anything.
    random : RandomState
    """

    def __init__(self, n_inputs: int, count: int, prior: FloatArray, random: np.random.RandomState) -> None:
        self.count = count
        self.shapes = [(1, n_inputs)]  # of the scales of the inputs; then the weights and biases of each layer
        for size, next_size in pairwise([n_inputs, *[N_UNITS] * N_LAYERS, len(prior)]):
            self.shapes += [(size, next_size), (1, next_size)]
        self.numbers, self._gradient, self._mean, self._squares, self._free = np.zeros(
            (5, count, sum(size * next_size for size, next_size in self.shapes))
        )
        scales, *layers = self._parts(self.numbers)
        scales[:] = 1.0
        layers[-1][:] = np.log(prior)
        for weights, biases in zip(layers[0:-2:2], layers[1:-2:2], strict=True):
            weights[:] = random.standard_normal(weights.shape) * (2.0 / weights.shape[1]) ** 0.5
            biases[:] = random.uniform(-0.5, 0.5, biases.shape)
        self._steps, self._kept = np.full((2, *self.numbers.shape), STEP)
        self._kept[:] = 1.0
        self._parts(self._steps)[0][:] *= STEP_OF_SCALES
        for weights in self._parts(self._kept)[1::2]:
            weights[:] = 1.0 - SHRINKAGE
        self._n_steps = 0
        self._sums = [np.empty((count, 0, 1))]

    def _parts(self, numbers: FloatArray) -> list[FloatArray]:
        """The scales of the inputs (networks, 1, inputs), and the weights and biases of each layer."""
        parts, start = [], 0
        for size, next_size in self.shapes:
            stop = start + size * next_size
            parts.append(numbers[:, start:stop].reshape(len(numbers), size, next_size))
            start = stop
        return parts

    def layers(self, numbers: FloatArray) -> list[FloatArray]:
        """The weights, which the scales of the inputs are part of, and the biases of each layer."""
        scales, weights, *others = self._parts(numbers)
        return [scales.transpose(0, 2, 1) * weights, *others]

    def step(self, table: FloatArray, target: IntArray, weights: FloatArray) -> None:
        """One step down the mean log-loss of some rows for each network: inputs (networks, rows, inputs)."""
        scales, *parts = self._parts(self.numbers)
        of_scales, *slopes = self._parts(self._gradient)
        layers = self.layers(self.numbers)
        units = [table, *self._room(table.shape[1])]
        for place, (weights_of, biases) in enumerate(zip(layers[0::2], layers[1::2], strict=True)):
            sums = np.matmul(units[place], weights_of, out=units[place + 1])
            sums += biases
            if place < N_LAYERS:
                np.maximum(sums, 0.0, out=sums)
        residual = _residuals(units.pop(), target, weights / target.shape[1])
        for layer in range(N_LAYERS, -1, -1):
            np.matmul(units[layer].transpose(0, 2, 1), residual, out=slopes[2 * layer])
            residual.sum(axis=1, keepdims=True, out=slopes[2 * layer + 1])
            if layer:
                is_on = units[layer] > 0.0
                residual = np.matmul(residual, layers[2 * layer].transpose(0, 2, 1), out=units[layer])
                residual *= is_on
        np.einsum("nij,nij->ni", slopes[0], parts[0], out=of_scales[:, 0])
        slopes[0] *= scales.transpose(0, 2, 1)
        self._descend()

    def _room(self, n_rows: int) -> list[FloatArray]:
        """Room for the sums of each layer, which is kept: asking for it in each step would take half of the time."""
        if self._sums[0].shape[1] != n_rows:
            self._sums = [np.empty((self.count, n_rows, size)) for _, size in self.shapes[1::2]]
        return self._sums

    def _descend(self) -> None:
        """A step of Adam, in place."""
        self._n_steps += 1
        gradient, mean, squares, free = self._gradient, self._mean, self._squares, self._free
        mean *= MOMENTUM
        mean += np.multiply(1.0 - MOMENTUM, gradient, out=free)
        squares *= SQUARES_KEPT
        gradient *= gradient
        squares += np.multiply(1.0 - SQUARES_KEPT, gradient, out=free)
        # The running means set out at 0: each is divided by how much of it is known.
        of_mean, of_squares = (1.0 - kept**self._n_steps for kept in (MOMENTUM, SQUARES_KEPT))
        np.sqrt(squares, out=free)
        free *= of_mean / of_squares**0.5
        free += of_mean * LEAST_ROOT
        np.divide(mean, free, out=free)
        free *= self._steps
        self.numbers *= self._kept
        self.numbers -= free


def _residuals(scores: FloatArray, target: IntArray, weights: FloatArray) -> FloatArray:
    """The gradient of the weighted log-loss by scores (networks, rows, classes), which it overwrites."""
    scores -= scores.max(axis=2, keepdims=True)
    np.exp(scores, out=scores)
    scores *= (weights / scores.sum(axis=2))[:, :, None]
    n_networks, n_rows = target.shape
    scores[np.arange(n_networks)[:, None], np.arange(n_rows), target] -= weights
    return scores
