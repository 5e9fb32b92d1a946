"""Rows drawn from columns that are read together: from a `Joint`, or down the tree of a `TAN`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from naively.errors import ParameterError
from naively.families._distributions import NO_MEMBERS, Draw, draw_places
from naively.typing import AnyArray, FloatArray, IntArray, Label

if TYPE_CHECKING:
    from naively.families._joint import JointEstimate
    from naively.families._tree import TreeEstimate


@dataclass(frozen=True)
class Together:
    """Columns that depend on each other.

    Parameters
    ----------
    values : sequence
        The values of each column; None for one of numbers.
    draw : Draw
        From class codes to numbers, or places among the values, (rows, columns).
    members : ndarray
        The positions of the columns in the schema.
    """

    numeric: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    mean: ClassVar[Any] = None

    values: Sequence[tuple[Label, ...] | None]
    draw: Draw
    members: IntArray = field(default_factory=lambda: NO_MEMBERS)

    def labels_of(self, place: int) -> tuple[tuple[Label, ...], None] | None:
        """The values of the column at a place; None for numbers. Their probabilities depend on the other columns."""
        values = self.values[place]
        return None if values is None else (values, None)

    def without(self, unknown: AnyArray) -> Together:
        """These distributions: a column without a known cell has no values."""
        return self

    def imputed(self, missing: Any, posterior: Any, read: Any) -> Iterator[tuple[int, list[Any]]]:
        """Refused: what a cell is expected to be depends on the other columns, not on the class alone."""
        raise ParameterError(
            "A missing cell of columns that are read together depends on the others, and there is no closed form for "
            "all kinds of them. Use a model without factors: NaiveBayes('textbook')."
        )


# -- a joint factor -------------------------------------------------------------------------------------------------


def joint_draws(estimate: JointEstimate) -> Together:
    """A combination of labels by its probability, then numbers by the normal density within it."""
    family = estimate.family
    values = dict(zip(family.labels, estimate.sums.categories, strict=True))

    def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
        if not len(estimate.sums.cells):  # no row was ever complete
            nothing = np.where([name in values for name in family.columns], -1.0, np.nan)
            return np.broadcast_to(nothing, (len(codes), len(nothing))).copy()
        labels = _drawn_labels(estimate, codes, rng)
        numbers = _drawn_numbers(estimate, estimate.sums.combinations.find(labels), codes, rng)
        columns = dict(zip((*family.labels, *family.numbers), (*labels.T, *numbers.T), strict=True))
        return np.column_stack([columns[name] for name in family.columns]).astype(np.float64)

    return Together([values.get(name) for name in family.columns], draw)


def _drawn_labels(estimate: JointEstimate, codes: IntArray, rng: np.random.Generator) -> IntArray:
    """Combinations (rows, labels), of the classes of the rows.

    No combination is less probable than one that never occurred. So what each has beyond that is drawn from a short
    list, and the rest is uniform over all combinations, which are never listed.
    """
    sums = estimate.sums
    probability = np.exp(estimate.table.marginal(np.ones(len(sums.labels), dtype=bool)).logs.T)
    seen, unseen = probability[:, : len(sums.cells)], probability[:, -1:]
    beyond = np.maximum(seen - unseen, 0.0)
    uniform = np.maximum(1.0 - beyond.sum(axis=1, keepdims=True), 0.0) * (unseen > 0)
    places = draw_places(np.hstack([beyond, uniform]), codes, rng)
    labels = rng.integers(0, np.array(sums.sizes, dtype=np.int64), (len(codes), len(sums.labels)))
    listed = places < len(sums.cells)
    labels[listed] = sums.cells[places[listed]]
    return np.asarray(labels)


def _drawn_numbers(estimate: JointEstimate, cells: IntArray, codes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Numbers (rows, numbers) of rows with these combinations, -1 for one that never occurred, and classes."""
    normals = estimate.normals
    if normals is None:
        return np.zeros((len(codes), 0))
    result = rng.standard_normal((len(codes), len(estimate.family.numbers)))
    keys, group = np.unique(np.stack([cells, codes], axis=1), axis=0, return_inverse=True)
    for place, (cell, code) in enumerate(keys.tolist()):
        rows = group.reshape(-1) == place
        values, vectors = np.linalg.eigh(normals.covariance[cell, code])
        spread = (vectors * np.sqrt(np.maximum(values, 0.0))) * normals.scale[:, None]
        result[rows] = normals.mean[cell, code] + result[rows] @ spread.T
    return result


# -- a tree -----------------------------------------------------------------------------------------------------------


def tree_draws(estimate: TreeEstimate) -> Together:
    """Each column given its parent, from the roots on; numbers uniformly within the bin that was drawn."""
    cuts = estimate.family.cuts

    def draw(codes: IntArray, rng: np.random.Generator) -> FloatArray:
        places = np.full((len(codes), len(cuts)), -1, dtype=np.int64)
        for (parent, child), table in zip(estimate.arcs, estimate.tables, strict=True):
            if table.shape[2]:
                given = codes * table.shape[1] + (0 if parent is None else places[:, parent])
                places[:, child] = draw_places(table.reshape(-1, table.shape[2]), given, rng)
        cells = places.astype(np.float64)
        for column, cut in enumerate(cuts):
            if cut is not None:
                bins = np.array([*estimate.categories[column], -1], dtype=np.int64)[places[:, column]]
                cells[:, column] = _within(np.asarray(cut, dtype=np.float64), bins, rng)
        return cells

    values = zip(estimate.categories, cuts, strict=True)
    return Together([labels if cut is None else None for labels, cut in values], draw)


def _within(cuts: FloatArray, bins: IntArray, rng: np.random.Generator) -> FloatArray:
    """A number in each of these bins: the first and the last are taken to be as wide as their neighbours."""
    if not len(cuts):
        return np.where(bins < 0, np.nan, 0.0)
    widths = np.diff(cuts) if len(cuts) > 1 else np.ones(1)
    edges = np.concatenate([[cuts[0] - widths[0]], cuts, [cuts[-1] + widths[-1]]])
    low, high = edges[bins], edges[bins + 1]
    drawn = np.clip(low + (high - low) * rng.random(len(bins)), low, np.nextafter(high, -np.inf))
    return np.where(bins < 0, np.nan, drawn)
