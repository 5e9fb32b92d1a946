"""What must be so of each part of the estimates in a model file: shapes, order, and numbers that become places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from naively._export.tables import view_from
from naively._model.schema import Schema
from naively._table.labels import label_order
from naively._text.analyzer import Analyzer
from naively._weighing.networks import n_inputs
from naively._weighing.scorer import PooledScorer
from naively._weighing.strong import CAUTIONS
from naively.families._date import PARTS, TREND
from naively.statistics._calendar import N_CELLS, NAMES
from naively.statistics._plain import ascends, label_from, require
from naively.typing import AnyArray

KINDS = ("numeric", "categorical", "text")


@dataclass(frozen=True)
class Known:
    """What the parts of a model have to fit: the number of its classes, and of its columns."""

    n_classes: int
    n_columns: int


def _by_class(known: Known, *arrays: AnyArray) -> bool:
    """Whether arrays have one number for each class."""
    return all(array.shape == (known.n_classes,) for array in arrays)


def _inside(places: AnyArray, size: int) -> bool:
    return bool(((places >= 0) & (places < size)).all())


def _knots(knots: AnyArray) -> bool:
    return knots.ndim == 1 and len(knots) > 0 and bool((knots[1:] >= knots[:-1]).all())


def _curve(part: Any, known: Known) -> bool:
    shape = (known.n_classes, len(part.knots))
    return _knots(part.knots) and part.table.shape == shape and _by_class(known, part.missing)


def _label_tables(part: Any, known: Known) -> bool:
    fits = part.n_classes == known.n_classes and 0 < len(part.categories) == len(part.tables)
    for labels, table in zip(part.categories, part.tables, strict=True):
        fits &= [label_from(label) for label in labels] == sorted(set(labels), key=label_order)
        fits &= table.shape == (known.n_classes, len(labels) + 2)
    return fits


# -- prose ----------------------------------------------------------------------------------------------------------


def _view(part: Any, _known: Known) -> bool:
    return bool(view_from(asdict(part)) == part)


def _analyzer(part: Any, _known: Known) -> bool:
    return bool(Analyzer.from_options(part.options) == part)


def _vocabulary(part: Any, _known: Known) -> bool:
    shape = part.hashes.shape
    fits = part.hashes.dtype == np.uint64 and part.letters.dtype == np.uint8 and part.letters.ndim == 1
    fits &= len(shape) == 1 and part.starts.shape == part.lengths.shape == shape and ascends(part.hashes)
    ends = part.starts + part.lengths
    fits &= bool((part.starts >= 0).all() and (part.lengths >= 0).all() and (ends <= len(part.letters)).all())
    return fits and len(part.texts()) == len(part)


def _sum(part: Any, _known: Known) -> bool:
    if part.low is None:
        return True
    return part.low.shape == part.high.shape and bool((np.abs(part.low) <= np.spacing(np.abs(part.high))).all())


def _token_table(part: Any, known: Known) -> bool:
    cells = part.cells
    fits = part.n_classes == known.n_classes and cells.ndim == 1 and ascends(cells)
    fits &= _inside(cells, len(part.vocabulary) * known.n_classes)
    fits &= part.mass.shape == part.documents.shape == cells.shape and bool((part.mass.high >= 0).all())
    return fits and _by_class(known, part.observed.high, part.dropped.high)


def _token_scores(part: Any, _known: Known) -> bool:
    hashes, buckets = part.table.vocabulary.hashes, part.view.buckets
    return buckets is None or not len(hashes) or int(hashes[-1]) < buckets


def _text_pool(part: Any, _known: Known) -> bool:
    return bool(part.weights.ndim == 1 and part.typical > 0 and abs(part.power) < 100)


def _text_evidence(part: Any, _known: Known) -> bool:
    n_scores = sum(1 + scorer.with_complement for scorer in part.scorers)
    return bool(part.scorers) and part.pool.weights.shape == (n_scores,)


def _weighed_text(part: Any, known: Known) -> bool:
    return _by_class(known, part.weights, part.offset, part.missing)


# -- terms ----------------------------------------------------------------------------------------------------------


def _weighed_estimate(part: Any, known: Known) -> bool:
    n_columns = part.weights.shape[-1]
    shape = (known.n_classes, n_columns)
    said = part.estimate.evidence(np.array([[np.nan] * n_columns, [1.0] * n_columns]))
    fits = part.weights.shape == part.known.shape == part.missing.shape == shape
    return bool(fits and said.shape == (2, *shape[::-1]))


def _student(part: Any, _known: Known) -> bool:
    shape = part.location.shape
    return part.far is None or (part.far.anchor.shape, part.far.location.shape) == (shape[1:], shape)


def _estimated_numbers(part: Any, known: Known) -> bool:
    said = part.estimate.evidence(np.ones((1, len(part.columns))))
    return _inside(np.array(part.columns), known.n_columns) and said.shape == (1, len(part.columns), known.n_classes)


def _term(part: Any, known: Known) -> bool:
    inside = 0 <= part.column < known.n_columns and part.table.ndim == 2 and len(part.table) == known.n_classes
    if part.kind == "numeric":
        return inside and _knots(part.knots) and part.table.shape[1] == len(part.knots)
    n_values = part.table.shape[1]
    if part.kind == "missing":
        return inside and n_values == 2
    return inside and part.kind == "categorical" and n_values > 0


def _text_term(part: Any, known: Known) -> bool:
    fits = part.kind == "text" and 0 <= part.column < known.n_columns and _by_class(known, part.weights)
    return fits and part.table.shape == (known.n_classes, 1)


def _family_term(part: Any, known: Known) -> bool:
    return bool(part.kind == "numbers" and part.weights.shape == (known.n_classes, len(part.source.columns)))


def _part_term(part: Any, known: Known) -> bool:
    inside = part.kind == "part" and 0 <= part.column < known.n_columns and part.part in NAMES
    return inside and part.table.shape == (known.n_classes, len(NAMES[part.part]))


def _date_estimate(part: Any, known: Known) -> bool:
    n_columns = len(part.tables)
    fits = part.missing.shape == (known.n_classes, n_columns) and n_columns > 0
    fits &= all(table.shape == (known.n_classes, N_CELLS) for table in part.tables)
    fits &= set(part.parts) <= set(PARTS) and (part.trend is not None) == (TREND in part.parts)
    if not fits or part.trend is None:
        return fits
    return bool(part.trend.evidence(np.ones((1, n_columns))).shape == (1, n_columns, known.n_classes))


def _reweighted(part: Any, known: Known) -> bool:
    return _by_class(known, part.start)


# -- experts --------------------------------------------------------------------------------------------------------


def _rescaling(part: Any, _known: Known) -> bool:
    return (
        part.knots.ndim == 1 and len(part.knots) > 1 and ascends(part.knots) and part.scores.shape == part.knots.shape
    )


def _joint_gaussian(part: Any, known: Known) -> bool:
    n_classes, n_columns = known.n_classes, part.centres.shape[-1]
    fits = part.centres.shape == (n_classes, n_columns) and part.inverses.shape == (n_classes, n_columns, n_columns)
    fits &= _by_class(known, part.row_weights, part.log_determinants, part.moments.weights)
    return fits and part.strength >= 0 and bool((part.row_weights > 0).all() and (part.moments.weights >= 0).all())


def _gaussian_expert(part: Any, known: Known) -> bool:
    n_columns = part.model.centres.shape[1]
    fits = part.chosen.shape == (n_columns,) and len(part.rescalings) == n_columns > 0
    fits &= part.temperature > 0 and _by_class(known, part.log_prior)
    return fits and _inside(part.chosen, known.n_columns)


def _coordinates(part: Any, known: Known) -> bool:
    fits = 0 < len(part.columns) == len(part.scales) and _inside(np.array(part.columns), known.n_columns)
    fits &= all(scale > 1 for scale in part.scales if isinstance(scale, int))
    return fits and part.units.shape == (len(part.columns),) and bool((part.units > 0).all())


def _resemblance(part: Any, _known: Known) -> bool:
    n_coordinates = part.coordinates.places[-1].stop
    fits = part.landmarks.ndim == 2 and part.landmarks.shape[1] == n_coordinates and len(part.landmarks) > 0
    return fits and part.narrowness > 0


def _similar_rows(part: Any, known: Known) -> bool:
    return part.weights.shape == (len(part.resemblance.landmarks), known.n_classes) and _by_class(known, part.log_prior)


def _inputs(part: Any, known: Known) -> bool:
    fits = 0 < len(part.columns) == len(part.scales) and _inside(np.array(part.columns), known.n_columns)
    fits &= all(scale > 1 for scale in part.scales if isinstance(scale, int))
    return fits and part.usual.shape == (sum(map(n_inputs, part.scales)),)


def _networks(part: Any, known: Known) -> bool:
    fits = 0 < len(part.weights) == len(part.biases) and all(one.ndim == 3 for one in (*part.weights, *part.biases))
    if not fits:
        return False
    sizes = [*(one.shape[1] for one in part.weights), known.n_classes]
    count = len(part.weights[0])
    for weights, biases, size, next_size in zip(part.weights, part.biases, sizes[:-1], sizes[1:], strict=True):
        fits &= weights.shape == (count, size, next_size) and biases.shape == (count, 1, next_size)
    return fits and count > 0 and sizes[0] == len(part.inputs.usual) and _by_class(known, part.log_prior)


def _features(part: Any, known: Known) -> bool:
    fits = len(part.columns) == len(part.scales) and _inside(np.array(part.columns), known.n_columns)
    for scale in part.scales:
        fits &= scale > 1 if isinstance(scale, int) else scale.ndim == 1 and len(scale) > 1 and ascends(scale)
    return fits


def _trees(part: Any, known: Known) -> bool:
    n_nodes = len(part.feature)
    each = (part.feature, part.cut, part.right, part.share)
    fits = all(one.shape == (n_nodes,) for one in each) and part.values.shape == (n_nodes, known.n_classes)
    fits &= [one.dtype.str[1:] for one in (*each, part.values)] == ["i4", "f8", "i4", "f4", "f4"]
    fits &= part.roots.ndim == 1 and _inside(part.roots, n_nodes) and bool((part.feature >= -1).all())
    asking = np.flatnonzero(part.feature >= 0)  # a walk goes down only, the left node is the next one: so it ends
    fits &= bool((part.right[asking] > asking + 1).all()) and _inside(part.right, n_nodes)
    return fits and bool(((part.share >= 0) & (part.share <= 1)).all())


def _asks_for(part: Any) -> bool:
    """Whether trees ask for features that there are."""
    return bool((part.trees.feature < part.features.count).all())


def _forest(part: Any, known: Known) -> bool:
    values = part.trees.values
    fits = bool((values >= 0).all() and (values.sum(axis=1) > 0).all()) and len(part.trees.roots) > 0
    return fits and _asks_for(part) and _shares(part.prior, part.floor, known)


def _shares(prior: AnyArray, floor: float, known: Known) -> bool:
    return _by_class(known, prior) and bool((prior > 0).all()) and 0 < floor < 1


def _word_features(part: Any, known: Known) -> bool:
    return bool(0 <= part.column < known.n_columns and part.strength.shape == (len(part.scores.table.vocabulary),))


def _word_expert(part: Any, known: Known) -> bool:
    n_words = sum(len(one.strength) for one in part.features)
    return bool(part.features) and part.weights.shape == (n_words, known.n_classes)


def _strong(part: Any, known: Known) -> bool:
    fits = part.pool.expert_weights.shape == (len(part.experts),) and _by_class(
        known, part.pool.bias, part.pool.log_prior
    )
    fits &= bool(part.experts) and bool((part.pool.expert_weights >= 0).all())
    fits &= part.left_out.ndim == 2 and part.left_out.shape[1] == known.n_classes
    fits &= part.caution in CAUTIONS and 0.0 < part.usually_known <= 1.0
    return fits and _shares(part.prior, part.floor, known)


# -- the whole ------------------------------------------------------------------------------------------------------


def _factor(part: Any, known: Known) -> bool:
    members = part.members
    return members.ndim == 1 and _inside(members, known.n_columns) and len(set(members.tolist())) == len(members) > 0


def _left_out(part: Any, known: Known) -> bool:
    n_rows = len(part.codes)
    fits = part.log_posterior.shape == (n_rows, known.n_classes) and part.weights.shape == part.codes.shape == (n_rows,)
    return (
        fits
        and _inside(part.codes, known.n_classes)
        and bool((part.weights >= 0).all())
        and _by_class(known, part.log_prior)
    )


def _pooled(part: Any, known: Known) -> bool:
    n_read = len(part.readable)
    fits = 0 < n_read == len(part.kinds) == len(part.labels) and all(kind in KINDS for kind in part.kinds)
    fits &= len(part.columns) == known.n_columns and _inside(np.array(part.readable), known.n_columns)
    fits &= len(set(part.readable)) == n_read and _by_class(known, part.log_prior)
    fits &= part.model.n_labels == tuple(len(labels or ()) for labels in part.labels)
    return fits and all((labels is not None) == (kind == "categorical") for kind, labels in _read(part))


def _read(part: Any) -> Any:
    return zip(part.kinds, part.labels, strict=True)


CHECKS: dict[str, Callable[[Any, Known], bool]] = {
    "Curve": _curve,
    "LabelTables": _label_tables,
    "View": _view,
    "Analyzer": _analyzer,
    "Vocabulary": _vocabulary,
    "Sum": _sum,
    "TokenTable": _token_table,
    "TokenScores": _token_scores,
    "TextPool": _text_pool,
    "TextEvidence": _text_evidence,
    "WeighedText": _weighed_text,
    "WeighedEstimate": _weighed_estimate,
    "StudentEstimate": _student,
    "EstimatedNumbers": _estimated_numbers,
    "Term": _term,
    "TextTerm": _text_term,
    "FamilyTerm": _family_term,
    "PartTerm": _part_term,
    "DateEstimate": _date_estimate,
    "Reweighted": _reweighted,
    "Rescaling": _rescaling,
    "JointGaussian": _joint_gaussian,
    "GaussianExpert": _gaussian_expert,
    "Features": _features,
    "Trees": _trees,
    "ForestExpert": _forest,
    "Coordinates": _coordinates,
    "Resemblance": _resemblance,
    "SimilarRowsExpert": _similar_rows,
    "Inputs": _inputs,
    "NetworksExpert": _networks,
    "BoostedExpert": lambda part, known: _asks_for(part) and _by_class(known, part.log_prior),
    "WordFeatures": _word_features,
    "WordExpert": _word_expert,
    "StrongModel": _strong,
    "Factor": _factor,
    "LeftOutRows": _left_out,
    "PooledScorer": _pooled,
}
"""The check of each kind of part; what has none is checked by those that hold it, and by answering."""


def check_scorer(scorer: Any, schema: Schema, n_classes: int) -> None:
    """Refuse a scorer whose parts, each right by itself, do not fit together or the columns."""
    if isinstance(scorer, PooledScorer):
        require(scorer.columns == schema.names, "the estimates are of other columns")
    else:
        require(scorer.bias is None or scorer.bias.shape == (n_classes,), "a bias of another shape")
    members = [member for factor in scorer.factors for member in factor.members.tolist()]
    require(len(set(members)) == len(members), "two estimates of one column")
