"""A sample of the rows that merges, forgets and does not depend on their order.

Every row has a 64-bit hash of its content. The sample is all rows whose hash is no larger than a threshold, equal rows
once, with the weight they have together and the number of times that they occurred. The threshold starts at the largest
hash there is, so that all rows are kept; when more distinct rows come than there are places it falls, and it never
rises again. Beside it each class has a threshold of its own, for an equal share of half as many places, which falls
only after the first has: a row is kept if its hash is no larger than the higher of the two, so that rare classes stay
in the sample. The thresholds depend on the rows alone, not on the order in which they came or on how they were cut; two
samples merge at the lower of their thresholds. What is forgotten was in the sample just if its hash says so, so a row
that was learnt can always be forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from naively._kernels import frozen, repays_compiler, with_reference
from naively.errors import ForgetError
from naively.statistics._sums import WEIGHT_NOISE
from naively.typing import AnyArray, FloatArray, IntArray, Label

LARGEST_HASH = 2**64 - 1
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def places_of_class(capacity: int, n_classes: int) -> int:
    """The number of places that each class has for itself: half as many as there are, shared equally, at least one."""
    return max(capacity // (2 * max(n_classes, 1)), 1)


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The kept rows, in the order of their hashes.

    Parameters
    ----------
    capacity : int
        The number of distinct hashes up to the threshold is at most this; the classes' own places come on top.
    hashes : ndarray of uint64
    codes : ndarray of int
        Each row's position among the classes.
    weights : ndarray of float
        What all occurrences of the row weigh together.
    occurrences : ndarray of int
        How often the row was learnt, whatever it weighed; scaling does not change it.
    columns : mapping from str to ndarray
        The cells: float64 with NaN, or objects (labels, None where missing).
    threshold : int
        All rows with a hash up to this one are kept.
    class_thresholds : mapping from int to int
        All rows of a class with a hash up to this one are kept too; the largest hash for a class that is not named.
    """

    capacity: int
    hashes: AnyArray
    codes: IntArray
    weights: FloatArray
    occurrences: IntArray
    columns: Mapping[str, AnyArray]
    threshold: int = LARGEST_HASH
    class_thresholds: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def empty(cls, capacity: int) -> KeptRows:
        """No rows at all."""
        return cls(capacity, np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), {})

    def __len__(self) -> int:
        return len(self.hashes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptRows):
            return NotImplemented
        return (
            (self.capacity, self.threshold) == (other.capacity, other.threshold)
            and self.class_thresholds == other.class_thresholds
            and np.array_equal(self.hashes, other.hashes)
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.occurrences, other.occurrences)
            and self.columns.keys() == other.columns.keys()
            and all(_same_cells(cells, other.columns[name]) for name, cells in self.columns.items())
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of_rows(
        cls,
        capacity: int,
        hashes: AnyArray,
        codes: IntArray,
        weights: FloatArray,
        occurrences: IntArray,
        columns: Mapping[str, AnyArray],
        threshold: int = LARGEST_HASH,
        class_thresholds: Mapping[int, int] | None = None,
    ) -> KeptRows:
        """From rows in any order: merge equal ones, and lower the thresholds if there are too many."""
        order = np.lexsort((codes, hashes))
        hashes, codes = hashes[order], codes[order]
        new = np.ones(len(hashes), dtype=bool)
        new[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
        first = np.flatnonzero(new)
        if len(first):
            weights = np.add.reduceat(weights[order], first)
            occurrences = np.add.reduceat(occurrences[order], first)
        cells = {name: values[order[first]] for name, values in columns.items()}
        every = cls(capacity, hashes[first], codes[first], weights, occurrences, cells)
        return every._below(threshold, class_thresholds or {}).within_capacity()

    def within_capacity(self) -> KeptRows:
        """The rows that there are places for: thresholds fall where there are more."""
        distinct = np.unique(self.hashes[self.hashes <= np.uint64(self.threshold)])
        threshold, of_class = self.threshold, dict(self.class_thresholds)
        if len(distinct) > self.capacity:
            threshold = int(distinct[self.capacity - 1])
        if threshold == LARGEST_HASH:
            return self
        places = places_of_class(self.capacity, len(np.unique(self.codes)))
        within = np.flatnonzero(self.hashes <= self.limits(0, of_class))
        within = within[np.argsort(self.codes[within], kind="stable")]  # by class, and within it by hash
        present, first, n_rows = np.unique(self.codes[within], return_index=True, return_counts=True)
        full = n_rows > places
        last = self.hashes[within[first[full] + places - 1]]
        of_class.update(zip(present[full].tolist(), last.tolist(), strict=True))
        return self._below(threshold, of_class)

    def __add__(self, other: KeptRows) -> KeptRows:
        """Merge the samples of two sets of rows."""
        names = dict.fromkeys([*self.columns, *other.columns])
        columns = {name: np.concatenate([self._cells(name, other), other._cells(name, self)]) for name in names}
        return KeptRows.of_rows(
            min(self.capacity, other.capacity),
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.occurrences, other.occurrences]),
            columns,
            *self._common_thresholds(other),
        )

    def _common_thresholds(self, other: KeptRows) -> tuple[int, dict[int, int]]:
        """The thresholds up to which both hold all of their rows."""
        first, second = self.class_thresholds, other.class_thresholds
        of_class = {
            code: min(first.get(code, LARGEST_HASH), second.get(code, LARGEST_HASH)) for code in {**first, **second}
        }
        return min(self.threshold, other.threshold), of_class

    def _cells(self, name: str, other: KeptRows) -> AnyArray:
        """The cells of a column, missing ones if only the other has it; objects where either side holds labels."""
        mine, theirs = self.columns.get(name), other.columns.get(name)
        if mine is not None:
            return mine if theirs is None or theirs.dtype == mine.dtype else _as_labels(mine)
        assert theirs is not None
        return np.full(len(self), np.nan if theirs.dtype.kind == "f" else None, dtype=theirs.dtype)

    def less(self, other: KeptRows | None, peak: FloatArray) -> KeptRows:
        """Forget rows: those that are kept lose their weight, and leave when they have none.

        A row that still weighs something has occurred at least once, whatever was forgotten of it.

        Parameters
        ----------
        other : KeptRows or None
            The rows to forget, with thresholds of their own; None where no sample of them was kept.
        peak : ndarray (classes,)
            The largest weight that each class has had: rounding is judged by it.
        """
        if other is None:
            raise ForgetError(
                "What is to be forgotten has no sample of its rows, so it cannot be taken out of the kept rows. "
                "Forget the rows themselves, or a model of the same recipe."
            )
        common = self._common_thresholds(other)
        left, gone = self._below(*common), other._below(*common)
        place_of = {key: place for place, key in enumerate(zip(left.hashes.tolist(), left.codes.tolist(), strict=True))}
        weights, occurrences = left.weights.copy(), left.occurrences.copy()
        rounding = WEIGHT_NOISE * peak
        for key, weight, times in zip(
            zip(gone.hashes.tolist(), gone.codes.tolist(), strict=True), gone.weights, gone.occurrences, strict=True
        ):
            place, code = place_of.get(key), key[1]
            if place is not None:
                weights[place] -= weight
                occurrences[place] = max(occurrences[place] - times, 1)
                if abs(weights[place]) <= rounding[code]:
                    weights[place] = 0.0
            elif weight > rounding[code]:
                raise ForgetError("One of these rows was never learnt: it would be among the kept rows if it had been.")
        if (weights < 0).any():
            raise ForgetError("A row would be forgotten more often than it was learnt.")
        return replace(left, weights=weights, occurrences=occurrences)._chosen(weights > 0)

    def without(self, shares: FloatArray) -> KeptRows:
        """The rows less a share (rows,) of what each weighs, and of its occurrences; one that is all gone leaves."""
        left = 1.0 - shares
        occurrences = np.maximum(np.rint(left * self.occurrences).astype(np.int64), 1)
        return replace(self, weights=left * self.weights, occurrences=occurrences)._chosen(left * self.weights > 0)

    def limits(self, threshold: int, class_thresholds: Mapping[int, int]) -> AnyArray:
        """The largest hash (rows,) that each row could have and be kept at these thresholds."""
        of_class = np.full(int(self.codes.max(initial=-1)) + 1, LARGEST_HASH, dtype=np.uint64)
        for code, limit in class_thresholds.items():
            if code < len(of_class):
                of_class[code] = limit
        return np.maximum(of_class, np.uint64(threshold))[self.codes]

    def _below(self, threshold: int, class_thresholds: Mapping[int, int]) -> KeptRows:
        """The sample at lower thresholds."""
        lowered = replace(self, threshold=threshold, class_thresholds=dict(class_thresholds))
        kept = self.hashes <= self.limits(threshold, class_thresholds)
        return lowered if kept.all() else lowered._chosen(kept)

    def _chosen(self, kept: AnyArray) -> KeptRows:
        return replace(
            self,
            hashes=self.hashes[kept],
            codes=self.codes[kept],
            weights=self.weights[kept],
            occurrences=self.occurrences[kept],
            columns={name: cells[kept] for name, cells in self.columns.items()},
        )

    def scaled(self, factor: float) -> KeptRows:
        """Every row's weight times a factor."""
        return replace(self, weights=self.weights * factor)

    def for_classes(self, positions: IntArray) -> KeptRows:
        """The rows under another numbering of the classes; rows of dropped classes have no weight and leave."""
        of_class = {
            int(positions[code]): limit for code, limit in self.class_thresholds.items() if positions[code] >= 0
        }
        codes = positions[self.codes] if len(self) else self.codes
        renumbered = replace(self, codes=codes, class_thresholds=of_class)
        if (codes < 0).any():
            renumbered = renumbered._chosen(codes >= 0)
        order = np.lexsort((renumbered.codes, renumbered.hashes))
        if (order == np.arange(len(order))).all():
            return renumbered
        return renumbered._chosen(order)

    def smallest(self, n: int) -> KeptRows:
        """The sample that a smaller capacity would have kept."""
        return replace(self, capacity=n).within_capacity() if n < self.capacity else self


def _as_labels(cells: AnyArray) -> AnyArray:
    if cells.dtype.kind != "f":
        return cells
    return np.array([None if value != value else value for value in cells.tolist()], dtype=object)


def _same_cells(first: AnyArray, second: AnyArray) -> bool:
    if first.dtype.kind == "f" and second.dtype.kind == "f":
        return bool(np.array_equal(first, second, equal_nan=True))
    return bool(first.tolist() == second.tolist())


# -- hashes ---------------------------------------------------------------------------------------------------------


def text_hash(text: str) -> np.uint64:
    """A stable 64-bit hash of a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def label_hashes(labels: Sequence[Label]) -> AnyArray:
    """The hash of each label: of its text, or of the number it is."""
    return np.array([_label_hash(label) for label in labels], dtype=np.uint64)


def _label_hash(label: Label) -> np.uint64:
    if isinstance(label, str):
        return text_hash(label)
    number = float(label)
    return _float_bits(number) if number == label else text_hash(f"\0{label}")  # float64 does not hold all integers


def _float_bits(value: float) -> np.uint64:
    return np.uint64(np.float64(value + 0.0).view(np.uint64))


def mixed(bits: AnyArray) -> AnyArray:
    """Spread the bits of 64-bit integers evenly (Steele, Lea and Flood's SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * MIX_2
    return np.asarray(bits ^ (bits >> np.uint64(31)))


@with_reference
def add_number_hashes(hashes: AnyArray, block: FloatArray, salts: AnyArray) -> None:
    """Add to each row's hash those of its numbers, each salted by its column; missing cells add nothing.

    Adding makes the hash independent of the columns' order.
    """
    if repays_compiler(block.size):
        from naively._kernels.row_hashes import add_number_hashes as compiled

        compiled(hashes, frozen(block), salts)
        return
    with np.errstate(over="ignore"):
        cells = mixed((block + 0.0).view(np.uint64) ^ salts)
        cells[np.isnan(block)] = 0
        hashes += cells.sum(axis=1, dtype=np.uint64)


def add_label_hashes(hashes: AnyArray, codes: IntArray, label_bits: AnyArray, salt: Any) -> None:
    """Add to each row's hash that of its label in a column, given as codes (-1: missing)."""
    with np.errstate(over="ignore"):
        bits = np.append(mixed(label_bits ^ salt), np.uint64(0))
        hashes += bits[codes]


def add_text_hashes(hashes: AnyArray, texts: Sequence[str | None], salt: Any) -> None:
    """Add to each row's hash that of its text in a column (None: missing)."""
    bits = np.array([0 if text is None else int(text_hash(text)) for text in texts], dtype=np.uint64)
    known = np.array([text is not None for text in texts], dtype=bool)
    with np.errstate(over="ignore"):
        hashes += np.where(known, mixed(bits ^ salt), np.uint64(0))
